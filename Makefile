# Two commands do everything: `make reproduce-tables` and `make test`. Each sets up what it needs.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# Narrow a reproduction: make reproduce-tables TABLE=moons METHOD="krda ot" JOBS=4 RESULTS=somewhere
# Everything reads and writes reproduction/ unless RESULTS names another directory; the committed
# results are in results/: make status RESULTS=results
TABLE ?=
METHOD ?=
JOBS ?=
RESULTS ?=
# A misspelt variable would run everything.
ifneq ($(findstring command line,$(origin TABLES) $(origin METHODS) $(origin RESULT)),)
$(error The variables are TABLE, METHOD and RESULTS, such as TABLE="moons amazon")
endif
# A sample of the benchmark in under a minute: make bench QUICK=1
QUICK ?=
REPRODUCE = $(PY) -m experiments.reproduce $(if $(TABLE),--table $(TABLE)) \
	$(if $(METHOD),--method $(METHOD)) $(if $(JOBS),--jobs $(JOBS)) \
	$(if $(RESULTS),--results $(RESULTS))

.DEFAULT_GOAL := help
.PHONY: help setup installed reproduce-tables results tables status check-results draws bench bench-setup docs smoke test test-setup unit lint format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/installed ## Make the virtual environment, with the pinned versions (minutes, 2 GB)

# What only tests need comes on top, so that whoever reproduces the tables does without.
test-setup: $(VENV)/test-installed

EXTRAS := benchmark-lean,cli,tables,sweep,dev
# dalib asks for torchvision, which nothing here imports; Ray's launcher for an older cloudpickle
# than Dask's: they come without what they ask for.
WITHOUT_NEEDS := dalib
$(VENV)/test-installed: EXTRAS := $(EXTRAS),test-lean
$(VENV)/test-installed: WITHOUT_NEEDS := $(WITHOUT_NEEDS) hydra-ray-launcher

PIP := $(PY) -m pip install --quiet --constraint constraints.txt

$(VENV)/installed $(VENV)/test-installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@# What an earlier `pip install .` compiled stays behind and would hide the package.
	@rm -rf $(VENV)/lib/python*/site-packages/krda
	$(PIP) setuptools
	$(PIP) --no-build-isolation --editable ".[$(EXTRAS)]"
	$(PIP) --no-deps $(WITHOUT_NEEDS)
	@touch $(VENV)/installed $@
	@echo "The environment is ready: . $(VENV)/bin/activate"

# What only reads results installs nothing.
installed:
	@test -x $(PY) || { echo "There is no $(VENV) yet: run make setup first."; exit 1; }

reproduce-tables: setup ## Run the benchmark and write its tables beside the published numbers
	$(REPRODUCE)

results: setup ## Bring the committed results up to date (results/ and the README's table)
	$(REPRODUCE) --results results
	$(PY) -m experiments.readme

tables: installed ## Render tables and figures from the records; runs nothing
	$(REPRODUCE) --render
	$(if $(filter results results/,$(RESULTS)),$(PY) -m experiments.readme)

status: installed ## Show which cells are done, stale, failed or missing; runs nothing
	$(REPRODUCE) --status

check-results: installed ## Fail if a committed record is not of the code, data and libraries that are here
	$(REPRODUCE) --check --results $(or $(RESULTS),results)

draws: setup ## Measure all methods on several draws of moons (results/draws); 15 minutes on one core
	$(PY) -m studies.draws
	$(PY) -m experiments.readme

bench: bench-setup ## Measure speed and memory beside named peers (results/benchmarks); QUICK=1: a sample
	$(PY) -m speed $(if $(QUICK),--sizes quick)

bench-setup: $(VENV)/bench-installed

# The peers come on top of what everything else needs, which they leave as it is.
$(VENV)/bench-installed: $(VENV)/installed
	$(PIP) --no-build-isolation --editable ".[bench]"
	@touch $@

docs: $(VENV)/docs-installed ## Build the docs as a site, and check its links: site/index.html
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build

$(VENV)/docs-installed: $(VENV)/installed
	$(PIP) --no-build-isolation --editable ".[docs]"
	@touch $@

# The dialled table has the same methods on one more small table: it is left out to save time.
smoke: setup ## Run every method on two tasks of four data sets at tiny size
	rm -rf .smoke
	$(PY) -m experiments.reproduce --protocol smoke --results .smoke \
		--table moons hepmass_sim amazon tables

lint: setup ## Check format, style and types
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy

format: setup ## Put the code into its format
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

unit: test-setup ## Run the unit tests
	$(PY) -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

test: test-setup lint docs smoke unit ## Check everything: lint, types, docs, smoke run, unit tests

clean: ## Remove the environment and everything that can be made again
	rm -rf $(VENV) .smoke reproduction outputs multirun build site *.egg-info
	rm -rf .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
