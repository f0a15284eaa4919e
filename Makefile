# Needs python3 (3.11 or newer, with venv) and make; everything else is installed into .venv, by uv, which takes a tenth
# of pip's time. Where uv is not available, pip installs it first; where uv finds no packages, pip takes over.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check --root-user-action=ignore
UV := $(shell command -v uv)
NEW = $(UV) venv -q --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(1)
ifneq ($(UV),)
# With pip, which pages tell the reader to use.
NEW_BASE = $(call NEW,--seed .venv) || $(PYTHON) -m venv .venv
else
UV := $(BIN)/uv
NEW_BASE = $(PYTHON) -m venv .venv && $(PIP) --require-hashes -r requirements/uv.txt
endif
INSTALL_INTO = $(UV) pip install -q --python $(1)/bin/python $(2)
INSTALL = $(call INSTALL_INTO,.venv,$(1)) || $(PIP) $(1)
# Tests wait for servers, so that three processes keep two cores busy: a fourth would take longer to import and to collect
# than it gains. Long tests wait longer.
PYTEST = $(BIN)/pytest -q -n $(1) --dist worksteal --durations=10
COMPILE := $(BIN)/pip-compile -q --generate-hashes --allow-unsafe --strip-extras --no-header \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options

# Lets the many processes of the demo and the tests share compiled modules instead of compiling each again.
export PYTHONDONTWRITEBYTECODE :=

# Names in client/requirements: the frameworks that `client/` has an adapter for, and clients of the proxy.
ADAPTERS := google-adk langchain litellm mcp openai-agents pydantic-ai
DOORS := $(ADAPTERS) strands clients openai-2
# What `purser bench gate` and `purser bench proxy` compare with.
PEERS := langchain litellm litellm-proxy pydantic-ai

.PHONY: demo up first test proof doors doors-names peers check docs format requirements doors-requirements clean

demo: .venv/.base
	@$(BIN)/purser demo

# Allows the provider of `make first`, which listens on 4010.
up: .venv/.base
	@PURSER_ALLOWED_API_BASES=$${PURSER_ALLOWED_API_BASES:-http://127.0.0.1:4010} $(BIN)/purser up

first: .venv/.base
	@$(BIN)/python docs/examples/first.py

# Every short test, and with PURSER_TEST_PROOF some of the long ones (tests/support/runs/proof.py). With TESTS, as in
# TESTS=tests/compose, whatever is there but sweeps, long random runs and tables of crashes.
test: .venv/.dev
	@$(call PYTEST,3) $(if $(TESTS),-m "not proof" $(TESTS),$(if $(PURSER_TEST_PROOF),,-m "not proof and not stack"))

# Every long test in full.
proof: .venv/.dev
	@PURSER_TEST_PROOF=$${PURSER_TEST_PROOF:-1} $(call PYTEST,4) -m "proof or stack" --timeout 3600

# Tests the adapters of the client, and clients of the proxy, each in an environment of its own with the framework;
# DOORS="langchain mcp" tests only those.
doors: .venv/.dev $(DOORS:%=.venv-doors/%/.installed)
	@$(BIN)/python client/tests/run.py $(DOORS)

# Prints the names that DOORS may have.
doors-names:
	@echo $(DOORS)

# Installs what those benchmarks compare with.
peers: $(PEERS:%=.venv-doors/%/.installed)

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Builds into site/; a broken link is an error.
docs: .venv/.dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q
	@echo "site/index.html"

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Pins versions and hashes, never addresses, so that any package index can serve them.
requirements:
	$(COMPILE) pyproject.toml -o requirements/base.txt
	$(COMPILE) pyproject.toml --extra dev -c requirements/base.txt -o requirements/dev.txt
	$(COMPILE) pyproject.toml --only-build-deps --build-deps-for wheel -c requirements/dev.txt -o requirements/build.txt
	echo uv | $(COMPILE) - -c requirements/dev.txt -o requirements/uv.txt

# The same for the environments of `make doors`: an extra of the client, and what its tests need besides.
doors-requirements: $(patsubst %,compile-%,$(sort $(DOORS) $(PEERS)))

compile-%:
	$(COMPILE) $(addprefix --extra ,$(filter $*,$(ADAPTERS))) client/pyproject.toml client/requirements/tests.in \
		client/requirements/$*.in -o client/requirements/$*.txt

clean:
	rm -rf .venv .venv-doors build dist site artifacts *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# The dependencies of Purser itself; .venv/.dev below adds those of its checks.
.venv/.base: pyproject.toml requirements/base.txt requirements/build.txt requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Purser needs Python 3.11 or newer: set PYTHON=…")'
	@echo "Installing what Purser needs into .venv (only the first time)"
	@$(NEW_BASE)
	@$(call INSTALL,--require-hashes -r requirements/base.txt -r requirements/build.txt)
	@$(call INSTALL,--no-deps --no-build-isolation -e .)
	@touch $@

.venv/.dev: .venv/.base requirements/dev.txt
	@echo "Installing what the checks need into .venv (only the first time)"
	@$(call INSTALL,--require-hashes -r requirements/dev.txt)
	@$(call INSTALL,--no-deps --no-build-isolation -e ./client)
	@touch $@

.venv-doors/%/.installed: client/requirements/%.txt
	@echo "Installing $* for its tests into .venv-doors (only the first time)"
	@$(call NEW,.venv-doors/$*)
	@$(call INSTALL_INTO,.venv-doors/$*,--require-hashes -r $<)
	@touch $@
