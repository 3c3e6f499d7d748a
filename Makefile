# make demo: install, then topics, held-out perplexity and a report of the built-in sample
# make test: the quick tests; make coverage: the same with coverage; make test-all: all of them
# make browser-test: those of the report's page in a real browser, which needs Chromium
# make check-kernels: those that run kernels, with bounds checked; then with kernels as plain Python, but
# for those of tests/compiled_only.txt, which take seconds to minutes each without the compiler
# make wheel-test: an sdist and a wheel, which is tried in an environment of its own
# make lint; make bench; make docs: the documentation as a site, docs/_build/index.html

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEVELOPMENT := $(VENV)/.development

.PHONY: demo test wheel-test browser-test check-kernels coverage test-all lint bench docs clean

# Modules are compiled when they are first imported: most never are.
unexport PYTHONDONTWRITEBYTECODE
# uv, which is faster, does not read pip's configuration of package indexes: pip if it fails.
INSTALL = $(if $(shell command -v uv),uv pip install --quiet --python $(BIN)/python $(1) || )$(BIN)/python -m pip install --quiet --no-compile $(1)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wikitopics needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# What kernels need comes first: those of the demo are compiled while the rest is installed, unless the user
# has some.
KERNELS = $(if $(NUMBA_CACHE_DIR),$(NUMBA_CACHE_DIR)/wikitopics-kernels,$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wikitopics/kernels)
$(INSTALLED): pyproject.toml | $(BIN)/python
	test -d "$(KERNELS)" || $(call INSTALL,filelock numba networkx scikit-learn scipy tomli-w tqdm)
	test -d "$(KERNELS)" || test "$$WIKITOPICS_COMPILE_AHEAD" = 0 || nice $(BIN)/python -m pipeline.warming.background \
		'{"model": "gibbs", "topics": 12}' < /dev/null > /dev/null 2>&1 &
	$(call INSTALL,--editable .)
	touch $@

$(DEVELOPMENT): pyproject.toml $(INSTALLED)
	$(call INSTALL,--editable '.[dev]')
	touch $@

demo: $(INSTALLED)
	$(BIN)/python -m pipeline train --run demo --model gibbs --topics 12 --test 0.2 --seed 1
	$(BIN)/python -m pipeline evaluate demo
	$(BIN)/python -m pipeline evaluate demo --method left-to-right-sequential --samples 1000
	$(BIN)/python -m pipeline report demo

test: $(DEVELOPMENT)
	$(BIN)/python -m pipeline warm
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not browser"

wheel-test: $(DEVELOPMENT)
	$(BIN)/python tests/try_wheel.py

browser-test: $(DEVELOPMENT)
	$(BIN)/python -m pipeline warm
	$(BIN)/python -m pytest -n auto --dist loadfile -m browser

KERNEL_TESTS := tests/models tests/evaluation tests/corpora/tokens/fast/test_convolution.py
check-kernels: $(DEVELOPMENT)
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not browser" $(KERNEL_TESTS)
	NUMBA_DISABLE_JIT=1 \
		$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not browser" $(KERNEL_TESTS) \
		@tests/compiled_only.txt

coverage: $(DEVELOPMENT)
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not browser" --cov --cov-report=term:skip-covered

test-all: $(DEVELOPMENT)
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered

lint: $(DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --no-warn-unreachable --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --no-warn-unreachable --cache-dir .mypy_cache/darwin

bench: $(DEVELOPMENT)
	$(BIN)/python -m pip install --quiet --editable '.[peers]'
	$(BIN)/python -m benchmarks.lda_trainers
	$(BIN)/python -m benchmarks.gibbs_threads
	$(BIN)/python -m benchmarks.e_step_cap
	$(BIN)/python -m benchmarks.held_out --wikipedia 10 100
	$(BIN)/python -m benchmarks.exact
	$(BIN)/python -m benchmarks.library_perplexities
	$(BIN)/python -m benchmarks.whole_pipeline
	$(BIN)/python -m benchmarks.article_store
	$(BIN)/python -m benchmarks.download_sources

docs: $(DEVELOPMENT)
	$(BIN)/sphinx-build -E -W --keep-going -b html docs docs/_build

clean:
	rm -rf docs/_build docs/reference/commands docs/reference/python docs/reference/house
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache .coverage .hypothesis
	find corpora models evaluation downloader pipeline -name '*.nb[ci]' -delete
