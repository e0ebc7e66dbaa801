# Target Health: `make run` shows all of it. Needs make, bash and Python 3.11 or newer.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
PYTHON := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
SQL := sql/models sql/migrations sql/reports
SIDE_BY_SIDE := -n 2 --dist loadfile --no-loadscope-reorder --durations=10

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup setup-dev run up down airflow test test-slow check format bench fuzz lock

help: ## Show this
	@echo "Target Health. Targets:"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1@\2/' | column -t -s@ 2>/dev/null \
	  || grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST)

setup: $(STAMPS)/package ## Make .venv with all that runs, and .venv/bin/target-health

run: setup ## Simulate three weeks of logs, run the hourly DAG in Airflow, show the fleet
	@$(PYTHON) -m target_health.demo

up: setup ## Start Airflow with its UI on localhost (PORT=8080)
	@$(PYTHON) -m target_health.local_airflow up

down: ## Stop Airflow
	@if [ -x $(PYTHON) ]; then $(PYTHON) -m target_health.local_airflow down; fi

airflow: export AIRFLOW_HOME := $(abspath $(or $(TARGET_HEALTH_HOME),var))/airflow
airflow: setup ## Run an airflow command: make airflow ARGS="dags list"
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" airflow $(ARGS)

test: setup-dev ## Run the tests (ARGS="tests/dags -k name" for some); those with a real Airflow last
	@$(call pytest,$(SIDE_BY_SIDE) -m "not airflow and not slow" $(ARGS))
	@$(call pytest,$(SIDE_BY_SIDE) -m "airflow and not slow" $(or $(ARGS),tests/dags))

test-slow: setup-dev ## Run the tests that make test leaves out: long histories, more repeats, benchmarks
	@$(call pytest,-m slow $(ARGS))

check: setup-dev ## Lint Python and SQL, check formats and types
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/sqlfluff lint --nocolor --disable-progress-bar $(SQL)

format: setup-dev ## Format Python and SQL
	@$(VENV)/bin/ruff check --fix --quiet . || true
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/sqlfluff fix --nocolor --disable-progress-bar $(SQL)

bench: setup ## Run every benchmark, into var/bench.json
	@mkdir -p var && $(VENV)/bin/target-health bench --json var/bench.json $(ARGS)

fuzz: setup-dev ## Fuzz every reader for ten minutes (ARGS=3600 for an hour)
	@$(PYTHON) -m tests.fuzz.fuzz_readers $(or $(ARGS),600)

lock: setup-dev ## Compile requirements*.txt from requirements*.in (ARGS=--upgrade for newer versions)
	@for name in requirements requirements-server requirements-dev; do \
	  $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 \
	    --custom-compile-command "make lock" $(ARGS) $$name.in --output-file $$name.txt; done

# The newest Python from 3.11 on that can make a virtual environment.
$(VENV)/bin/python:
	@for candidate in "$${BASE_PYTHON:-}" python3.13 python3.12 python3.11 python3 python; do \
	  if [ -n "$$candidate" ] && "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "Making $(VENV) with $$("$$candidate" --version)"; \
	    "$$candidate" -m venv $(VENV); exit 0; fi; done; \
	echo "make: no Python from 3.11 on with venv was found: install it (Debian: python3 python3-venv), or name it: make setup BASE_PYTHON=/path/to/python3.12" >&2; exit 1

$(STAMPS)/runtime: requirements.txt | $(VENV)/bin/python
	@$(call install,requirements.txt)

$(STAMPS)/package: pyproject.toml $(STAMPS)/runtime
	@$(PYTHON) -m pip install --quiet --no-deps --editable .
	@touch $@

setup-dev: $(STAMPS)/package $(STAMPS)/server $(STAMPS)/dev ## Add what testing and checking need

$(STAMPS)/server: requirements-server.txt $(STAMPS)/runtime
	@$(call install,requirements-server.txt)

$(STAMPS)/dev: requirements-dev.txt $(STAMPS)/runtime
	@$(call install,requirements-dev.txt)

# Run tests; that none were chosen is no failure.
define pytest
$(PYTHON) -m pytest $(1) || [ $$? -eq 5 ]
endef

# Install a requirements file with uv, or with pip where uv cannot: behind an index that only pip's
# own configuration names, say. Pip's lines are counted, and the rest is shown only on failure.
define install
mkdir -p $(STAMPS); log=$(STAMPS)/pip.log; total=$$(grep -c '==' $(1)); \
echo "Installing $(1): $$total packages"; \
if $(PYTHON) -m pip install --quiet --no-input "$$(grep -oE '^uv==[0-9.]+' requirements-dev.txt)" >$$log 2>&1 \
  && UV_LINK_MODE=copy $(VENV)/bin/uv pip install --quiet --python $(PYTHON) -r $(1) >>$$log 2>&1; \
then touch $@; exit 0; fi; \
$(PYTHON) -m pip install --progress-bar off --no-input -r $(1) 2>&1 | tee $$log | \
  awk -v total=$$total '/^(Collecting|Requirement already)/ { if (++n % 20 == 0 && n < total) { print "  " n " of " total; fflush() } } /^Installing collected/ { print "  all collected, installing"; fflush() }' \
  || { tail -n 15 $$log >&2; exit 1; }; \
touch $@
endef
