# Everything that people and machines do with this repository; `make` alone lists it.

# The Python that makes .venv; once there is one, its own Python stays: PYTHON=python3.12 make setup
PYTHON ?= $(shell test -x .venv/bin/python && echo .venv/bin/python || echo python3)

# hack/ holds the tools of this repository as packages: cluster, images, auditor.
export PYTHONPATH := $(CURDIR)/hack

BIN   := .venv/bin
READY := .venv/.ready
# More words for pytest: make test-unit PYTEST_ARGS='-k manifests'
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup binaries images lint format test test-unit test-integration test-e2e demo demo-down clean always

help:
	@echo "Targets:"
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "  make %-18s %s\n", $$1, $$2}'

setup: $(READY) ## Make .venv with both packages and all tools (needs Python >= 3.11)

# A PYTHON that was named on purpose is always looked at: it may differ from the one in .venv.
$(READY): uv.lock pyproject.toml scheduler/pyproject.toml operator/pyproject.toml hack/setup.py \
          $(if $(filter file,$(origin PYTHON)),,always)
	@$(PYTHON) hack/setup.py

always:

binaries: $(READY) ## Build Kubernetes and its companions into the user cache (once)
	@$(BIN)/python -m cluster build

images: $(READY) ## Build the images of scheduler and operator
	@$(BIN)/python -m images build

lint: $(READY) ## Check format, style, types, layers, shell scripts and the chart
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(shell_scripts) | xargs $(BIN)/shellcheck
	hack/helm lint --quiet charts/*

# Shell scripts are known by their first line, whatever their name.
shell_scripts = find . \( -name .git -o -name .venv -o -name '*_cache' \) -prune -o -type f -print0 \
	| xargs -0 awk 'FNR == 1 && /^\#!.*[\/ ](ba|da)?sh( |$$)/ { print FILENAME } { nextfile }'

format: $(READY) ## Rewrite the code in the one format, and fix what can be fixed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Before the tests: what they need is built where its progress can be seen and no test's time limit applies.
test: lint binaries images ## Run everything: set-up, lint, and all tests on real clusters
	$(BIN)/pytest -n 2 --no-loadscope-reorder $(PYTEST_ARGS)

test-unit: $(READY) ## Run the tests that need no cluster: unit and contract
	$(BIN)/pytest tests/unit tests/contract $(PYTEST_ARGS)

test-integration: binaries ## Run the tests on a real control plane with fake nodes
	$(BIN)/pytest tests/integration $(PYTEST_ARGS)

test-e2e: binaries images ## Run the tests on real nodes with real containers (needs root or Docker)
	$(BIN)/pytest tests/e2e $(PYTEST_ARGS)

demo: $(READY) ## Bring up a real Kubernetes on this machine, with a running pod to look at
	@$(BIN)/python -m cluster demo up

demo-down: $(READY) ## Remove what `make demo` brought up
	@$(BIN)/python -m cluster demo down

clean: ## Remove .venv and every cache inside this folder
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .pytest-kind
	find scheduler operator hack tests -name __pycache__ -prune -exec rm -rf {} +
