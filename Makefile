# Everything runs from .venv, which the first target that needs it creates. `make help` lists all.
PYTHON ?= python3
PIP := .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt
WORKERS ?= 2

.PHONY: demo test test-slow fuzz check bench docs dist clean help

demo: .venv/installed-demo  ## estimate a Gram field, train, compare models, write demo/report.html
	.venv/bin/npf demo

test: .venv/installed-test  ## run the test suite and the examples in docstrings, in two processes
	.venv/bin/python -m pytest --numprocesses $(WORKERS)

test-slow: .venv/installed-test  ## run the long tests (training, clusters, a browser)
	.venv/bin/python -m pytest -m slow

fuzz: .venv/installed-test  ## try 10 000 random inputs and kill runs; count how each input ended
	.venv/bin/python -m pytest tests/fuzz -m "not slow" --hypothesis-profile=fuzz

check: .venv/installed-dev  ## check format, lint, direction of imports, and types
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/lint-imports
	.venv/bin/mypy

bench: .venv/installed-test  ## measure accuracy, speed, memory and scaling against their bounds
	.venv/bin/python -m benchmarks

docs: .venv/installed-docs  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

dist: .venv/installed-dev  ## build the wheel and the source distribution into dist/, and check them
	rm -rf build dist
	.venv/bin/python -m build
	.venv/bin/python -m twine check --strict dist/*

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

clean:  ## remove .venv and everything that was built
	rm -rf .venv demo build dist site *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed-demo: .venv/bin/python $(INPUTS)
	$(PIP) --editable ".[report]"
	touch $@

.venv/installed-docs: .venv/bin/python $(INPUTS)
	$(PIP) --editable ".[docs]"
	touch $@

.venv/installed-test: .venv/bin/python $(INPUTS)
	$(PIP) --editable ".[test]"
	touch $@

.venv/installed-dev: .venv/bin/python $(INPUTS)
	$(PIP) --editable ".[dev]"
	touch $@
