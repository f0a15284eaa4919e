# Needs python3 (3.11 or newer, with venv) and make; everything else is installed into .venv, by uv if it is available.
PYTHON ?= python3
BIN := .venv/bin
UV := $(shell uv --version >/dev/null 2>&1 && echo uv)
ifeq ($(UV),uv)
VENV := uv venv -q --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv
INSTALL := uv pip install -q --python $(BIN)/python
else
VENV := $(PYTHON) -m venv .venv
INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check --root-user-action=ignore
endif
PYTEST := $(BIN)/pytest -q -n 3 --dist worksteal --durations=10
COMPILE := $(BIN)/pip-compile -q --generate-hashes --allow-unsafe --strip-extras --no-header \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options pyproject.toml

# Lets the many processes of the demo and the tests share compiled modules instead of compiling each again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo up first test proof check docs format requirements clean

demo: .venv/.base
	@$(BIN)/purser demo

# Allows the provider of `make first`, which listens on 4010.
up: .venv/.base
	@PURSER_ALLOWED_API_BASES=$${PURSER_ALLOWED_API_BASES:-http://127.0.0.1:4010} $(BIN)/purser up

first: .venv/.base
	@$(BIN)/python docs/examples/first.py

# Leaves out the long tests; PURSER_TEST_PROOF=0.1 adds a tenth of them.
test: .venv/.dev
	@$(PYTEST) $(if $(PURSER_TEST_PROOF),,-m "not proof") $(TESTS)

# Runs the long tests in full, or the share that PURSER_TEST_PROOF names.
proof: .venv/.dev
	@PURSER_TEST_PROOF=$${PURSER_TEST_PROOF:-1} $(PYTEST) -m proof --timeout 3600

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
	$(COMPILE) -o requirements/base.txt
	$(COMPILE) --extra dev -c requirements/base.txt -o requirements/dev.txt
	$(COMPILE) --only-build-deps --build-deps-for wheel -c requirements/dev.txt -o requirements/build.txt

clean:
	rm -rf .venv build dist site artifacts *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# The dependencies of Purser itself; .venv/.dev below adds those of its checks.
.venv/.base: pyproject.toml requirements/base.txt requirements/build.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Purser needs Python 3.11 or newer: set PYTHON=…")'
	@echo "Installing what Purser needs into .venv (only the first time)"
	@$(VENV)
	@$(INSTALL) --require-hashes -r requirements/base.txt -r requirements/build.txt
	@PYTHONWARNINGS=ignore $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

.venv/.dev: .venv/.base requirements/dev.txt
	@echo "Installing what the checks need into .venv (only the first time)"
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@PYTHONWARNINGS=ignore $(INSTALL) --no-deps --no-build-isolation -e ./client
	@touch $@
