# From a fresh clone, with nothing prepared: `make demo` and `make test`.
# Needs Python 3.11 or newer with pip. Settings: PYTHON=, VENV=, RIVALS=, ARGS= (passed on to the
# command), SECONDS= of make fuzz.

# The first interpreter that is new enough; ECOS has no wheels beyond Python 3.12.
PYTHON ?= $(shell for p in python3 python3.12 python3.11 python3.13 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
VENV ?= .venv
RIVALS ?= .venv-rivals
ARGS ?=
# Commands that the tests start would compile every source anew.
unexport PYTHONDONTWRITEBYTECODE
SECONDS ?= 600

# -qq hides pip's chatter and keeps its errors.
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check -qq

# One thread each, or the two processes wait for each other's cores; who is done first takes over
# half of what the other one has left.
PYTEST := OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-slow test-all fuzz lint format types bench bench-rivals experiment notebooks docs docs-check clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-demo  ## install, then certify a score on the breast-cancer data
	@$(VENV)/bin/milpscore demo $(ARGS)

test: $(VENV)/.installed-tests  ## install, then run the tests but the slow ones
	@$(PYTEST) -m "not slow" $(ARGS)

test-slow: $(VENV)/.installed-tests  ## run the slow tests alone
	@$(PYTEST) -m slow $(ARGS)

test-all: $(VENV)/.installed-tests  ## run every test once
	@$(PYTEST) $(ARGS)

fuzz: $(VENV)/.installed-tests  ## look for wrong claims: make fuzz SECONDS=600 ARGS='--seed 1 --kind slim'
	@$(VENV)/bin/python -m fuzz --seconds $(SECONDS) $(ARGS)

lint: $(VENV)/.installed-dev  ## style (ruff), layers (import-linter) and the house (tools/house.py)
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/lint-imports --no-cache
	@$(VENV)/bin/python tools/house.py

format: $(VENV)/.installed-dev  ## rewrite the files in the project's style
	@$(VENV)/bin/ruff check --fix .
	@$(VENV)/bin/ruff format .

types: $(VENV)/.installed-dev  ## static types (mypy, strict)
	@$(VENV)/bin/mypy

bench: $(VENV)/.installed-tests  ## run the benchmarks
	@set -e; for f in benchmarks/bench_*.py; do echo "== $$f"; $(VENV)/bin/python "$$f" $(ARGS); done

bench-rivals: $(RIVALS)/.installed  ## install the benchmarks' rivals, in an environment of their own
	@echo "the rivals are in $(RIVALS); the benchmarks find them there, or where MILPSCORE_RIVALS says"

experiment: $(VENV)/.installed-tests  ## repeat a source's table or figure: make experiment NAME=eye-table2
	@$(VENV)/bin/python -m experiments $(NAME) $(ARGS)

notebooks: $(VENV)/.installed-docs  ## execute every notebook, results in build/notebooks
	@$(VENV)/bin/python notebooks/execute.py $(ARGS)

docs: $(VENV)/.installed-docs  ## build the whole site in build/site; notebooks that changed are executed first
	@$(VENV)/bin/python notebooks/execute.py --stale
	@$(VENV)/bin/python -m sphinx -q -d build/doctrees -b html docs build/site
	@echo "open build/site/index.html"

# Warnings are errors, and every link inside the site must lead somewhere.
docs-check: $(VENV)/.installed-docs  ## build the site from nothing, and check it
	@rm -rf build/site build/doctrees docs/_generated
	@$(VENV)/bin/python -m sphinx -q -W --keep-going -d build/doctrees -b html docs build/site
	@$(VENV)/bin/python docs/check_site.py build/site

venv: $(VENV)/.installed-all  ## the developer's environment, everything installed

clean:  ## remove the environment and every built or cached file
	rm -rf $(VENV) $(RIVALS) build dist docs/_generated .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Some systems ship Python without ensurepip; pip then fills the environment from outside.
$(VENV)/.created $(RIVALS)/.created:
	@test -n "$(PYTHON)" || { echo "milpscore needs Python 3.11 or newer; name it: make PYTHON=/path/to/python" >&2; exit 2; }
	@echo "creating $(@D) with $(PYTHON)"
	@if $(PYTHON) -c 'import ensurepip' 2>/dev/null; then $(PYTHON) -m venv "$(@D)"; \
	else $(PYTHON) -m venv --without-pip "$(@D)" && $(PYTHON) -m pip -qq --python "$(@D)/bin/python" install pip; fi
	@touch $@

# prox_tv comes as source alone: it needs a C++ compiler and LAPACK's headers for C. So does Wapiti,
# in C, with its chunking data, inside the source of a package that cannot be installed any more.
$(RIVALS)/.installed: $(RIVALS)/.created benchmarks/rivals.txt
	@command -v $(CXX) >/dev/null || { \
	echo "prox_tv is compiled here and needs $(CXX): apt-get install g++" >&2; exit 2; }
	@echo '#include <lapacke.h>' | $(CXX) -E -x c++ - >/dev/null 2>&1 || { \
	echo "prox_tv needs LAPACK's headers for C: apt-get install liblapacke-dev" >&2; exit 2; }
	@echo "installing the rivals of benchmarks/rivals.txt into $(RIVALS) (some minutes the first time)"
	@$(RIVALS)/bin/python -m pip --disable-pip-version-check -qq install --no-deps -r benchmarks/rivals.txt
	@$(RIVALS)/bin/python -m pip --disable-pip-version-check -qq download --no-deps --no-binary :all: -d $(RIVALS)/source libwapiti==0.2.1
	@tar xzf $(RIVALS)/source/libwapiti-0.2.1.tar.gz -C $(RIVALS)/source
	@rm -rf $(RIVALS)/wapiti && mv $(RIVALS)/source/libwapiti-0.2.1/cwapiti $(RIVALS)/wapiti
	@$(MAKE) -s -C $(RIVALS)/wapiti
	@touch $@

$(VENV)/.installed-demo: EXTRAS = ecos
$(VENV)/.installed-tests: EXTRAS = ecos,tests
$(VENV)/.installed-dev: EXTRAS = ecos,dev
$(VENV)/.installed-docs: EXTRAS = ecos,docs,distributed
$(VENV)/.installed-all: EXTRAS = ecos,dev,docs,distributed
$(VENV)/.installed-%: $(VENV)/.created pyproject.toml
	@echo "installing milpscore[$(EXTRAS)] into $(VENV) (about a minute the first time)"
	@$(PIP) install -e '.[$(EXTRAS)]'
	@touch $@ $(if $(filter all,$*),$(foreach part,demo tests dev docs,$(VENV)/.installed-$(part)))
