# Everything runs from .venv, which the first target that needs it makes.
PYTHON ?= python3
PIP := .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt

.PHONY: demo test test-slow check bench docs clean

demo: .venv/installed-demo
	.venv/bin/npf demo

test: .venv/installed-test
	.venv/bin/python -m pytest

test-slow: .venv/installed-test
	.venv/bin/python -m pytest -m slow

check: .venv/installed-dev
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/lint-imports
	.venv/bin/mypy

bench: .venv/installed-test
	.venv/bin/python -m benchmarks

docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

clean:
	rm -rf .venv demo build site *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache

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
