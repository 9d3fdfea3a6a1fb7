# Everything runs in .venv, which make creates and keeps up to date; nobody activates anything.

VENV := .venv
PYTHON := $(VENV)/bin/python
PIP := $(PYTHON) -m pip install --quiet --disable-pip-version-check
ENGINE := $(shell find engine -name target -prune -o -type f -print)
FOLDERS := $(patsubst %/__init__.py,%,$(wildcard */__init__.py))
BENCHES := $(wildcard bench/*.py)

# Cases of other engines' suites.
VECTORS ?= ../shared/vectors

# How many mutated rule files, and how many damaged records, plans and states, `make fuzz` tries.
FUZZ ?= 100000

# How long `make soak` takes, how many processes it uses, and options such as `--seed 7` or `--families match=1`.
MINUTES ?= 10
JOBS ?= 1
SOAK ?=

# How many lives of an application `make chaos` lives.
SEEDS ?= 20

COMPILE := build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-annotate

# The Python that the engine is built and tested against.
export PYO3_PYTHON := $(CURDIR)/$(PYTHON)

.DEFAULT_GOAL := help
.PHONY: help demo test lint vectors fuzz soak chaos bench memory state restore lock clean tree

help:  ## show this
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
	  printf '  make %-7s %s\n' "$$name" "$$text"; done

demo: $(VENV)/built  ## broker, registry, two workers and a sensor feed; DEMO_SECONDS=20 makes it end by itself
	@$(VENV)/bin/tocsin demo

test: lint  ## lint, then all tests, on real services
	libpython=$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))') && \
	  LD_LIBRARY_PATH="$$libpython:$$LD_LIBRARY_PATH" cargo test --quiet --locked --manifest-path engine/Cargo.toml
	$(PYTHON) -m pytest -q

lint: $(VENV)/built tree  ## ruff, mypy, rustfmt, clippy
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	MYPYPATH=build/tree $(VENV)/bin/mypy -p tocsin
	$(if $(BENCHES),MYPYPATH=build/tree $(VENV)/bin/mypy $(BENCHES))
	cargo fmt --check --manifest-path engine/Cargo.toml
	cargo clippy --quiet --locked --all-targets --manifest-path engine/Cargo.toml -- -D warnings

vectors: $(VENV)/built  ## cases of other engines' suites, by source and family; VECTORS=FOLDER names the cases
	@$(PYTHON) -m tests.vectors $(VECTORS)

fuzz: $(VENV)/built  ## damaged rules, records, parcels, state and plans get nothing but proper errors; FUZZ=n says how many
	@$(PYTHON) -m tests.topology.fuzz $(FUZZ)
	@$(PYTHON) -m tests.engine.fuzz $(FUZZ)

soak: $(VENV)/built  ## the engine against the oracle, on random programs; MINUTES=n says how long, JOBS=n how many at once
	@$(PYTHON) -m tests.engine.differential --minutes $(MINUTES) --jobs $(JOBS) $(SOAK)

bench: $(VENV)/built  ## the language, the engine alone, and a worker on the real broker
	@$(PYTHON) bench/parsing.py
	@$(PYTHON) bench/compiling.py
	@$(PYTHON) bench/detection.py
	@$(PYTHON) bench/run.py
	@$(PYTHON) bench/latency.py
	@$(PYTHON) bench/silence.py
	@$(PYTHON) bench/rebalance.py

chaos: $(VENV)/built  ## workers on the real broker that come, go and are killed; SEEDS=n says how many lives
	@CHAOS_SEEDS=$(SEEDS) $(PYTHON) -m pytest tests/workers/test_distribution.py tests/workers/test_applications.py

memory: $(VENV)/built  ## what the engine stores over 20 million events, which must not grow; EVENTS=n says how many
	@$(PYTHON) bench/memory.py $(EVENTS)

state: $(VENV)/built  ## what a worker takes whose state is four times the memory it may take; BOUND_MB=n says how much that is
	@$(PYTHON) bench/state.py

restore: $(VENV)/built  ## taking tasks over: from nothing, with a local copy, with a standby; SIZE_MB=n says how much state
	@$(PYTHON) bench/restore.py

lock: $(VENV)/deps  ## bring the locks in line with pyproject.toml and engine/Cargo.toml; UPGRADE=1 for newest versions
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install --quiet uv
	$(COMPILE) $(if $(UPGRADE),--upgrade) --extra spark --extra parquet --group dev -o requirements/dev.lock pyproject.toml
	$(COMPILE) -c requirements/dev.lock -o requirements/run.lock pyproject.toml
	$(COMPILE) -c requirements/dev.lock -o requirements/build.lock --group build
	cargo update --quiet $(if $(UPGRADE),,--workspace) --manifest-path engine/Cargo.toml

clean:  ## remove everything that make made, here
	rm -rf $(VENV) build engine/target tocsin.egg-info tocsin/_engine*.so \
	  .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -exec rm -rf {} +

$(VENV)/deps: requirements/build.lock requirements/dev.lock
	python=$$(sh deploy/bootstrap.sh) && { [ -x $(PYTHON) ] || $$python -m venv $(VENV); }
	$(PIP) --require-hashes -r requirements/build.lock
	$(PIP) --require-hashes --no-build-isolation --use-pep517 -r requirements/dev.lock
	@touch $@

$(VENV)/built: $(VENV)/deps pyproject.toml $(ENGINE)
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# The folders under their import names, since mypy does not follow the editable install.
tree:
	@rm -rf build/tree && mkdir -p build/tree/tocsin
	@ln -s $(addprefix $(CURDIR)/,$(wildcard tocsin/*) $(filter-out tocsin,$(FOLDERS))) build/tree/tocsin
