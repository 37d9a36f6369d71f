.DEFAULT_GOAL := help
.PHONY: help demo serve test browser lint format clean

PYTHON ?= python3
VENV := .venv
READY := $(VENV)/ready
STAWM := $(VENV)/bin/stawm

# Each test process computes on one core, so that two of them do not fight over two; each takes one half of the files
# (worksteal), so that what the tests of a file share is made once, and helps the other when it is done.
JOBS ?= 2

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

$(READY): pyproject.toml
	@echo "setting up $(VENV) (a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --editable ".[dev]"
	@touch $@

demo: $(READY) ## look at twelve digits with a trained model: a table and a report to play with
	$(STAWM) look --out demo/report.html
	@echo "Open demo/report.html in a browser, or draw a digit of your own: make serve"

serve: $(READY) ## the web page: draw a digit and watch the model look, remember and redraw it
	$(STAWM) serve

test: $(READY) browser ## the whole suite; ARGS=--cov adds coverage (at least 90 %)
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

browser: # for the tests of page and report; installed where that needs no password, else those tests are skipped
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing chromium for the tests of page and report"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0; \
	fi; \
	echo "no chromium here: the tests of page and report are skipped (sudo apt-get install chromium)"

lint: $(READY) ## ruff and pyright
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(VENV)/bin/pyright

format: $(READY) ## put every file into the house's layout
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean: ## remove the environment, caches and the demo
	rm -rf $(VENV) demo .pytest_cache .ruff_cache .coverage .coverage.*
