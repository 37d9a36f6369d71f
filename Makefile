.DEFAULT_GOAL := help
.PHONY: help demo test lint format clean

PYTHON ?= python3
VENV := .venv
READY := $(VENV)/ready
STAWM := $(VENV)/bin/stawm

# About two minutes on two cores.
DEMO_EPOCHS ?= 24
DEMO_RUN := demo/run

# Each test process computes on one core, so that two of them do not fight over two.
JOBS ?= 2

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

$(READY): pyproject.toml
	@echo "setting up $(VENV) (a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --editable ".[dev]"
	@touch $@

demo: $(READY) ## train the small classifier on the embedded digits (about two minutes), evaluate it, draw where it looked
	@rm -rf $(DEMO_RUN)
	$(STAWM) train mnist-5k-classify --run $(DEMO_RUN) --training.epochs $(DEMO_EPOCHS)
	$(STAWM) evaluate $(DEMO_RUN)
	$(STAWM) figure looked $(DEMO_RUN) --out demo/looked.png
	@echo "Where it looked, and what it believed after each glimpse: demo/looked.png"

test: $(READY) ## the whole suite, with coverage (at least 90 %)
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n $(JOBS) --cov --cov-report=term $(ARGS)

lint: $(READY) ## ruff and pyright
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(VENV)/bin/pyright

format: $(READY) ## put every file into the house's layout
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean: ## remove the environment, caches and the demo
	rm -rf $(VENV) demo .pytest_cache .ruff_cache .coverage .coverage.*
