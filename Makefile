# Everything from nothing: each target creates the virtual environment and installs what it needs.
VENV   ?= .venv
BIN    := $(VENV)/bin
PYTHON ?= python3
STAMP  := $(VENV)/.installed

.PHONY: help install demo test lint bench clean
help:
	@echo "make demo    install, then show the main job end to end"
	@echo "make test    lint, types, import contract, doctests and the whole suite"
	@echo "make lint    ruff, mypy and the import contract alone"
	@echo "make bench   the benchmarks (needs vectors: see benchmarks/README.md)"
	@echo "make clean   remove the virtual environment and caches"

# Debian ships python3 without venv; the script installs it where it may, and says what to do where not.
$(BIN)/python:
	@PYTHON="$(PYTHON)" sh scripts/venv "$(VENV)"

$(STAMP): pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[onnx,parquet,bench,eval,serve]" --group dev
	@touch $@

install: $(STAMP)

demo: $(STAMP)
	$(BIN)/gossamer demo

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal

bench: $(STAMP)
	$(BIN)/python benchmarks/engine.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
