# Everything needs only make and Python 3.11 or newer. `make demo` first; `make check` is what CI runs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DATA   ?= $(NOUS_EVAL_DATA)

.PHONY: demo up test browser check lint bench chaos eval peers lock clean

demo: $(READY)
	$(BIN)/nous demo

up: $(READY)
	$(BIN)/nous up

# A file of tests at a time in a process more than there are cores, for a fifth of the time is spent waiting; each has a Postgres and a
# Valkey of its own. A test that hangs is ended (tests/overtime.py); one process that had to be aborted is replaced, a second ends the run.
test: $(READY)
	$(BIN)/pytest --numprocesses=$$($(BIN)/python -c 'import os; print(min((os.cpu_count() or 1) + 1, 4))') \
	    --dist=loadfile --no-loadscope-reorder --max-worker-restart=1

# The browser that tests/nous/test_web_browser.py drives. It is installed where there is none and Debian's packages are at hand.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	    || { echo "installing Chromium and its driver, about a minute"; \
	         apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends chromium chromium-driver >/dev/null; } \
	    || { echo "Chromium and ChromeDriver could not be installed here; do it by hand, on Debian as root: apt-get install chromium chromium-driver" >&2; exit 1; }

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check:
	bash .ci/run

bench: $(READY)
	$(BIN)/python -m tests.bench

# Ten minutes at most: nine from the first event, the rest to start and to compare. SEED=17 repeats a run.
chaos: $(READY)
	$(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED)) --write docs/reliability.md

eval: $(READY)
	$(BIN)/python -m tests.evals $(if $(DATA),--data $(DATA))

# Other memory systems beside this one, each in an environment of its own that nothing else uses; DATA as for eval.
peers: $(READY) bench/peers/.venv/.ready bench/peers/older/.venv/.ready
	$(BIN)/python -m bench.peers $(if $(DATA),--data $(DATA))

%/.venv/.ready: %/requirements.txt
	@echo "installing what is measured beside this system into $(@D), about a minute"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check --requirement $<
	@touch $@

# The locks hold for every platform and name no host; `make lock` after changing a dependency. One is what runs, the other adds
# what tests, measures and builds it.
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --no-emit-index-url
lock: $(READY)
	$(BIN)/pip install --quiet uv
	$(COMPILE) pyproject.toml --extra build --extra otel --output-file requirements.lock
	$(COMPILE) pyproject.toml --all-extras --constraint requirements.lock --output-file requirements-dev.lock

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else f"Nous needs Python 3.11 or newer, and {sys.executable} is {sys.version.split()[0]}; run: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)")'
	@echo "installing into $(VENV), about a minute"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

clean:
	rm -rf $(VENV) bench/peers/.venv bench/peers/older/.venv .nous build dist *.egg-info
