# Needs python3 (3.11 or newer, with venv) and make; everything else is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
COMPILE := $(BIN)/pip-compile -q --generate-hashes --allow-unsafe --strip-extras --no-header \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options pyproject.toml

.PHONY: demo up first test check docs format requirements clean

demo: .venv/.ready
	@$(BIN)/purser demo

# The provider of `make first` listens on 4010.
up: .venv/.ready
	@PURSER_ALLOWED_API_BASES=$${PURSER_ALLOWED_API_BASES:-http://127.0.0.1:4010} $(BIN)/purser up

first: .venv/.ready
	@$(BIN)/python docs/examples/first.py

test: .venv/.ready
	@$(BIN)/pytest -q -n 2

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Into site/; a broken link is an error.
docs: .venv/.ready
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q
	@echo "site/index.html"

format: .venv/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Versions and hashes, never addresses: any package index serves them.
requirements:
	$(COMPILE) -o requirements/base.txt
	$(COMPILE) --extra dev -c requirements/base.txt -o requirements/dev.txt
	$(COMPILE) --only-build-deps --build-deps-for wheel -c requirements/dev.txt -o requirements/build.txt

clean:
	rm -rf .venv build dist site artifacts *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

.venv/.ready: pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Purser needs Python 3.11 or newer: set PYTHON=…")'
	@echo "Installing the pinned requirements into .venv (first run: one or two minutes)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --disable-pip-version-check -q --no-deps --no-build-isolation -e .
	@touch $@
