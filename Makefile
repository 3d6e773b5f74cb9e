# Everything from nothing: each target creates the virtual environment and installs what it needs.
VENV   ?= .venv
BIN    := $(VENV)/bin
PYTHON ?= python3
LOCK   ?= requirements/lock.txt
STAMP  := $(VENV)/.installed-$(if $(LOCK),locked,newest)
DEMO   := $(VENV)/.demo-$(if $(LOCK),locked,newest)
PIP    := -m pip install --quiet
# Tests start some hundred processes. Without bytecode on disk each of them compiles all that it imports, for 3 seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test lint docs bench results clean lock install-lowest test-lowest install-integrations test-integrations test-newest sbom audit
help:
	@echo "make demo    install, then show the main job end to end"
	@echo "make test    lint, types, import contract, doctests and the whole suite"
	@echo "make lint    ruff, mypy and the import contract alone"
	@echo "make docs    the documentation as a site in site/, to be read offline"
	@echo "make test-lowest, make test-newest   a short part of the suite with the oldest and the newest dependencies"
	@echo "make test-integrations   LangChain, LlamaIndex, Haystack and others with their own suites, and Ray, in an environment of its own"
	@echo "make lock    choose the versions in requirements/lock.txt anew; make install LOCK= does without them"
	@echo "make sbom    what is installed at run time, as CycloneDX JSON; make audit looks for known vulnerabilities"
	@echo "make bench   the engine against its bars (needs vectors: see lab/README.md); gossamer bench compares systems"
	@echo "make results every page of docs/results made again (needs the collections)"
	@echo "make clean   remove the virtual environment and caches"

# Debian ships python3 without venv; the script installs it where it may, and says what to do where not.
$(BIN)/python:
	@PYTHON="$(PYTHON)" sh scripts/venv "$(VENV)"

# From wheels alone: a machine without a compiler can run the demo and the tests. `make install UV=uv` lets uv install, in a
# third of the time; it would not install the checkout itself with --only-binary.
UV      ?=
INSTALL = $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python $(PIP)) \
    $(if $(LOCK),--constraint $(LOCK),--upgrade $(if $(UV),,--upgrade-strategy eager))
WHEELS  := $(if $(UV),,--only-binary :all:)

$(DEMO): pyproject.toml $(LOCK) $(BIN)/python
	$(INSTALL) $(WHEELS) pip
	$(INSTALL) $(WHEELS) --editable ".[onnx,serve]"
	@rm -f $(VENV)/.demo-* && touch $@

$(STAMP): pyproject.toml lab/pyproject.toml $(LOCK) $(DEMO)
	$(INSTALL) $(WHEELS) --editable ".[onnx,model2vec,files,parquet,serve,client,mcp]" --editable ./lab --group dev --group docs
	@$(INSTALL) hnswlib >$(VENV)/hnswlib.log 2>&1 || \
	    echo "hnswlib has no wheel and could not be built here: comparisons with it are skipped (see $(VENV)/hnswlib.log)"
	@rm -f $(VENV)/.installed-* && touch $@

install: $(STAMP)

demo: $(DEMO)
	$(BIN)/gossamer demo

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# NO_MKDOCS_2_WARNING: a notice of Material about its successor, not about our pages.
docs: $(STAMP)
	$(BIN)/python scripts/docs/write.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal -rs

# The short part: what touches every dependency of the core and of the extras onnx, parquet, serve and client. Each
# environment has a kernel cache of its own, since Numba throws away what another version of it has cached.
# Most of the time goes into compiling, once, which is where an old Numba would fail: it is done before the tests, since
# clients of a server wait 30 s, and not for a compiler. Slow tests of threads and processes are left out.
RUNTIME := --editable ".[onnx,parquet,serve,client]"
SHORT := -m pytest -n 1 -k "not (beside or pipe or completion or tls or read_only or locked or wanted)" \
    tests/store/test_store.py tests/cli/test_app.py tests/encoders/test_onnx.py tests/readers/test_parquet.py \
    tests/server/test_serve.py

# numpy 1.26.0, scipy 1.11.1 and numba 0.60 have wheels in common for Python 3.11 alone.
.venv-lowest/.installed: pyproject.toml requirements/lowest.txt
	rm -rf .venv-lowest
	@PYTHON=python3.11 sh scripts/venv .venv-lowest
	$(if $(UV),,.venv-lowest/bin/python $(PIP) --upgrade pip)
	$(if $(UV),$(UV) pip install --quiet --python,) .venv-lowest/bin/python $(if $(UV),,$(PIP) --only-binary :all: --no-compile) \
	    --constraint requirements/lowest.txt $(RUNTIME) --group test
	@touch $@

install-lowest: .venv-lowest/.installed

test-lowest: .venv-lowest/.installed
	NUMBA_CACHE_DIR="$(CURDIR)/.venv-lowest/kernels" .venv-lowest/bin/python -m gossamer.runtime.compiling
	NUMBA_CACHE_DIR="$(CURDIR)/.venv-lowest/kernels" .venv-lowest/bin/python $(SHORT)

# Frameworks bring plugins of pytest and pin much, so they have an environment of their own. Their newest versions that
# fit pyproject.toml are taken; what Gossamer itself needs is locked. Event loops are pytest-asyncio's here alone. One of
# the checks of scikit-learn skips itself without SCIPY_ARRAY_API, so the Whitener is checked here, too.
.venv-integrations/.installed: pyproject.toml requirements/lock.txt
	rm -rf .venv-integrations
	@PYTHON="$(PYTHON)" sh scripts/venv .venv-integrations
	$(if $(UV),,.venv-integrations/bin/python $(PIP) --upgrade pip)
	$(if $(UV),$(UV) pip install --quiet --python,) .venv-integrations/bin/python $(if $(UV),,$(PIP) --prefer-binary --no-compile) \
	    --constraint requirements/lock.txt --editable ".[onnx,serve]" --group integrations
	@touch $@

install-integrations: .venv-integrations/.installed

test-integrations: .venv-integrations/.installed
	NUMBA_CACHE_DIR="$(CURDIR)/.venv-integrations/kernels" .venv-integrations/bin/python -m gossamer.runtime.compiling
	NUMBA_CACHE_DIR="$(CURDIR)/.venv-integrations/kernels" HAYSTACK_TELEMETRY_ENABLED=False SCIPY_ARRAY_API=1 \
	    .venv-integrations/bin/python -m pytest -n 1 -rs --benchmark-disable -o asyncio_mode=auto \
	    -o asyncio_default_fixture_loop_scope=function tests/integrations tests/whitening/test_whitener.py::test_scikit_learn_estimator \
	    tests/cluster src/gossamer/cluster

test-newest:
	@PYTHON="$(PYTHON)" sh scripts/venv .venv-newest
	.venv-newest/bin/python $(PIP) --upgrade pip
	.venv-newest/bin/python $(PIP) --prefer-binary --no-compile --upgrade --upgrade-strategy eager $(RUNTIME) --group test
	NUMBA_CACHE_DIR="$(CURDIR)/.venv-newest/kernels" .venv-newest/bin/python $(SHORT)

lock:
	$(PYTHON) scripts/lock

.venv-audit/.installed: pyproject.toml $(STAMP)
	@PYTHON="$(PYTHON)" sh scripts/venv .venv-audit
	$(BIN)/python -m pip --python .venv-audit/bin/python install --quiet --group audit
	@touch $@

sbom: .venv-audit/.installed
	$(BIN)/python -m venv --clear --without-pip .venv-runtime
	$(BIN)/python -m pip --python .venv-runtime/bin/python install --quiet --no-compile --constraint requirements/lock.txt \
	    ".[onnx,model2vec,files,parquet,serve,client]"
	.venv-audit/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o sbom.json .venv-runtime

# --strict: a package of which nothing could be learnt is a failure, not a pass.
audit: .venv-audit/.installed
	.venv-audit/bin/pip-audit --strict --disable-pip --no-deps --requirement requirements/lock.txt

# Every page of docs/results by its own command, with the data folder of lab/README.md. Takes a quiet machine and about two hours.
results: $(STAMP)
	$(BIN)/gossamer eval all --out docs/results

bench: $(STAMP)
	$(BIN)/python benchmarks/engine.py

clean:
	rm -rf $(VENV) .venv-lowest .venv-integrations .venv-newest .venv-audit .venv-runtime .venv-tools sbom.json .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site
	find src tests lab benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
