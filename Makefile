# Every target sets up what it needs: a fresh clone, python3 (>= 3.11), a C++ compiler and make suffice.
#   make build      compile and install into .venv (editable: Python edits need no rebuild)
#   make test       all tests                     PYTEST_ARGS="-k agreement" to choose
#   make demo       the demonstration
#   make bench      against the peers             BENCH_ARGS="--data DIR"; default $MAXMARGIN_DATA or ../shared/data
#                   make bench-linear, -kernel, -multiclass, -probabilities or -embeddings for one of them; --help tells options
#   make lint       style, types, import layers   make format  to repair the style
#   make stub       src/maxmargin/_core.pyi, the types of the compiled module, from the built one
#   make docs       the documentation as a site, in build/site, and its examples run
#   make sklearn-tests  scikit-learn's own tests, with our estimators in the place of its own
#   make sanitize   fast tests with the core under ASAN and UBSAN; NO_WIDE=ON without 64-byte registers (after a clean)
#   make clang      the same tests with the core built by Clang, which is installed where it is missing (Debian, as root)
#   make wheel      a wheel, installed and tried in a clean environment
#   make mutation   one-token mutations of the package that no test notices
#                   MUTATION_ARGS="--count 40 --seed 1"; --help tells options
#   make clean      remove what was built; .venv stays, to be set up anew (rm -rf .venv to drop it)

PYTHON      ?= python3
PYTEST_ARGS ?=
BENCH_ARGS  ?=
MUTATION_ARGS ?=
NO_WIDE     ?= OFF
CLANG       ?= clang++-19

VENV := .venv
SAN  := .venv-sanitize
CLG  := .venv-clang
PY   := $(VENV)/bin/python
CORE := $(shell find src/core -name '*.hpp' -o -name '*.cpp')
# No file above 400 lines, no function above 60.
LENGTHS := src tests benchmarks examples tools
DOCS := $(wildcard README.md) $(shell find docs -name '*.md')

# Installed test modules of scikit-learn that use the estimators.
SKLEARN_TESTS := svm tests.test_base tests.test_calibration tests.test_multiclass tests.test_multioutput tests.test_pipeline \
  model_selection feature_selection ensemble.tests.test_bagging ensemble.tests.test_stacking ensemble.tests.test_voting \
  ensemble.tests.test_weight_boosting

.PHONY: build test demo bench bench-linear bench-kernel bench-multiclass bench-probabilities bench-embeddings lint format stub docs sklearn-tests sanitize clang wheel mutation clean
.DEFAULT_GOAL := build
.DELETE_ON_ERROR:

build: $(VENV)/.stamp-build

test: $(VENV)/.stamp-build $(VENV)/.stamp-test
	$(PY) -m pytest -q -n 2 $(PYTEST_ARGS)

demo: $(VENV)/.stamp-build
	$(PY) examples/demo.py

bench: bench-linear bench-kernel bench-multiclass bench-probabilities bench-embeddings

bench-linear bench-kernel bench-multiclass bench-probabilities bench-embeddings: bench-%: $(VENV)/.stamp-build $(VENV)/.stamp-bench
	$(PY) -m benchmarks.$* $(BENCH_ARGS)

# The linters read src/ itself, so nothing is compiled; the venv has NumPy for mypy's sake.
lint: $(VENV)/.stamp-lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	PYTHONPATH=src $(VENV)/bin/lint-imports
	$(VENV)/bin/codespell
	$(PY) tools/check_words.py
	$(VENV)/bin/repo-review .
	$(PY) tools/check_includes.py
	$(PY) tools/check_lengths.py $(LENGTHS)
	$(VENV)/bin/clang-format --dry-run -Werror $(CORE)

format: $(VENV)/.stamp-lint
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i $(CORE)

stub: $(VENV)/.stamp-build
	$(PY) -m nanobind.stubgen -q -m maxmargin._core -o src/maxmargin/_core.pyi -p src/core/python/stub.pat

# Nothing is fetched. -n -W: a name or a link that leads nowhere is an error.
docs: $(VENV)/.stamp-build $(VENV)/.stamp-docs
	rm -rf docs/generated # a page of a name that is gone would stay
	$(PY) -m sphinx -n -W --keep-going -q -d build/doctrees docs build/site
	set -e; for page in $(DOCS); do echo "$$page"; $(PY) -m doctest "$$page"; done

sklearn-tests: $(VENV)/.stamp-build $(VENV)/.stamp-test
	PYTHONPATH=tools $(PY) -m pytest -q -n 2 -p substitute -p no:cacheprovider -c /dev/null --rootdir build \
	  $(PYTEST_ARGS) --pyargs $(addprefix sklearn.,$(SKLEARN_TESTS))

# libstdc++ goes in front as well: ASAN looks for __cxa_throw when it starts, and python does not link it.
# Leaks are off, because the interpreter itself leaks; PYTHONMALLOC lets ASAN see every array.
# --capture=sys leaves the C-level stderr alone: a finding aborts, and pytest would lose its report.
sanitize: $(SAN)/.stamp-build
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	$(SAN)/bin/python -m pytest -q -n 2 --capture=sys -m "not slow" $(PYTEST_ARGS)

clang: $(CLG)/.stamp-build
	$(CLG)/bin/python -m pytest -q -n 2 -m "not slow" $(PYTEST_ARGS)

wheel: $(VENV)/.stamp-venv
	rm -rf dist .venv-wheel
	$(PY) -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet dist/maxmargin-*.whl
	cd dist && ../.venv-wheel/bin/python ../tools/smoke_test.py

mutation: $(VENV)/.stamp-build $(VENV)/.stamp-test
	$(PY) tools/mutation.py $(MUTATION_ARGS)

clean:
	rm -rf $(VENV)/.stamp-* $(SAN) $(CLG) .venv-wheel build docs/generated .build-sanitize .build-clang dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# ---- environments: a stamp is the proof that a step was done, and its date says when

$(VENV)/.stamp-venv $(SAN)/.stamp-venv $(CLG)/.stamp-venv: %/.stamp-venv:
	test -x $*/bin/python || $(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet "pip>=25.1" # the first with --group
	touch $@

# The linters need the packages that the types come from, not the compiled module.
$(VENV)/.stamp-lint: $(VENV)/.stamp-venv pyproject.toml
	$(PY) -m pip install --quiet --group lint "numpy>=2.0"
	touch $@

$(VENV)/.stamp-test $(VENV)/.stamp-bench $(VENV)/.stamp-docs: $(VENV)/.stamp-%: $(VENV)/.stamp-venv pyproject.toml
	$(PY) -m pip install --quiet --group $*
	touch $@

# Editable: Python files are read from src/, so only the core's files are prerequisites.
# No build isolation: the tools stay at one path, so ninja recompiles only what changed.
# FAULTS lets the tests make allocations fail; it costs nothing else, and wheels are built without.
$(VENV)/.stamp-build: $(VENV)/.stamp-venv $(CORE) CMakeLists.txt pyproject.toml
	$(PY) -m pip install --quiet --group build
	$(PY) -m pip install --quiet --no-build-isolation --editable . -C cmake.define.MAXMARGIN_FAULTS=ON
	touch $@

$(SAN)/.stamp-build: $(SAN)/.stamp-venv $(CORE) CMakeLists.txt pyproject.toml
	$(SAN)/bin/python -m pip install --quiet --group build --group test
	$(SAN)/bin/python -m pip install --quiet --no-build-isolation --editable . \
	  -C build-dir=.build-sanitize -C install.strip=false -C cmake.define.MAXMARGIN_SANITIZE=ON \
	  -C cmake.define.MAXMARGIN_FAULTS=ON \
	  -C cmake.define.MAXMARGIN_NO_WIDE=$(NO_WIDE)
	touch $@

# scikit-build-core takes the compiler from CXX.
$(CLG)/.stamp-build: $(CLG)/.stamp-venv $(CORE) CMakeLists.txt pyproject.toml
	command -v $(CLANG) || apt-get install -y $(subst clang++,clang,$(CLANG))
	$(CLG)/bin/python -m pip install --quiet --group build --group test
	CXX=$(CLANG) $(CLG)/bin/python -m pip install --quiet --no-build-isolation --editable . \
	  -C build-dir=.build-clang -C cmake.define.MAXMARGIN_FAULTS=ON
	touch $@
