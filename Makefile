# `make demo` and `make test` work from a fresh clone: each makes .venv when it is missing.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CONSTRAINTS ?= constraints.txt
# What is never imported need not be compiled: that takes longer than all that is. The rest is compiled at its first
# import, which must be allowed to keep what it makes: else each process compiles torch and transformers anew.
INSTALL := $(PIP) install --quiet --no-compile --constraint $(CONSTRAINTS)
unexport PYTHONDONTWRITEBYTECODE
TORCH := $(shell grep '^torch==' $(CONSTRAINTS))
SOURCES := setup.cfg pyproject.toml $(CONSTRAINTS)

# Nothing is fetched from the Hub: the checkpoint comes with the package.
export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: demo test matrix slow lint format check docs wheel figures page readme results constraints clean help

help:  ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.installed  ## Annotate a news text with the bundled checkpoint
	@$(BIN)/hf-corefel annotate examples/data/news.txt

# The same random cases each time; pytest by itself draws new ones.
test: $(VENV)/.installed-test  ## Run the tests (minutes)
	$(BIN)/python -m pytest -n auto --dist loadfile --hypothesis-profile=ci

matrix: test  ## Run the tests with the newest and the oldest supported generation of the Hugging Face libraries
	$(MAKE) VENV=$(VENV)-oldest CONSTRAINTS=constraints-oldest.txt test

slow: $(VENV)/.installed-test  ## Run the tests that are marked slow
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.installed-dev  ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.installed-dev  ## Rewrite the sources as ruff wants them
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

check: lint docs test  ## Everything that CI checks

docs: $(VENV)/.installed-dev  ## Build the documentation into site/; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: $(VENV)/.installed-test  ## Build the wheel into dist/
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

figures: $(VENV)/.installed-dev  ## Draw the figures of docs/images
	$(BIN)/python scripts/draw_graph.py
	$(BIN)/python scripts/draw_trees.py

page: $(VENV)/.installed  ## Take the pictures of the page in docs/images (needs Chromium)
	$(BIN)/python scripts/draw_page.py

readme: $(VENV)/.installed-test  ## Write what the programs print into README.md, docs and notebooks
	$(BIN)/python scripts/update_readme.py
	$(BIN)/python scripts/docs_pages.py
	$(BIN)/python scripts/notebooks.py
	$(BIN)/python scripts/encoder_table.py

results: $(VENV)/.installed  ## Write the tables of the paper's comparison into docs/results.md from the stored runs
	$(BIN)/python experiments/report.py

constraints: $(VENV)/.installed-dev  ## Write the installed versions to constraints.txt
	$(BIN)/python scripts/freeze_constraints.py

clean:  ## Remove what was built here, the environment included
	rm -rf $(VENV) $(VENV)-oldest build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache

# torch goes first and by its exact version: a range would pull in the build for another platform.
$(VENV)/.installed: $(SOURCES)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (once; about two minutes)"
	@$(INSTALL) $(TORCH)
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@$(INSTALL) --editable '.[test]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-test
	@$(INSTALL) --editable '.[dev]'
	@touch $@
