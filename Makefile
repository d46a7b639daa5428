# All commands of this repository; `make` alone lists them.

# The Python that makes .venv; once there is one, its own Python stays: PYTHON=python3.12 make setup
PYTHON ?= $(shell test -x .venv/bin/python && echo .venv/bin/python || echo python3)

# hack/ holds the tools of this repository as packages: localcluster, images, generate, auditor, oracle, bench,
# hostile, races, recording, release, rooms, supply. tests/kit is what tests on clusters share, and `make races` with them.
export PYTHONPATH := $(CURDIR)/hack:$(CURDIR)/tests

BIN   := .venv/bin
READY := .venv/.ready
# More words for pytest: make test-unit PYTEST_ARGS='-k manifests'
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup binaries images push chart plugin sbom audit lint lint-workflows format generate test test-all test-unit coverage \
        test-integration test-e2e oracle faults gangs soak races bench-engine bench bench-api hostile demo demo-down release-check \
        release-notes clean always

help:
	@echo "Targets:"
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "  make %-18s %s\n", $$1, $$2}'

setup: $(READY) ## Create .venv with both packages and all tools (needs Python >= 3.11)

# A PYTHON that was named on purpose is always looked at: it may differ from the one in .venv.
$(READY): uv.lock pyproject.toml scheduler/pyproject.toml operator/pyproject.toml hack/setup.py \
          $(if $(filter file,$(origin PYTHON)),,always)
	@$(PYTHON) hack/setup.py

always:

binaries: $(READY) ## Build Kubernetes and its companions into the user cache (once)
	@$(BIN)/python -m localcluster build

# make images BASE=python:3.13-slim@sha256:... builds on exactly that image.
images: $(READY) ## Build the images of scheduler and operator (BASE for another Python image, best by its digest)
	@$(BIN)/python -m images build $(if $(BASE),--base="$(BASE)")

# make images push REGISTRY=registry.example.com/team TAG=1.0.0, and for several platforms, with buildx: make push
# PLATFORM=linux/amd64,linux/arm64 REGISTRY=...
push: $(READY) ## Push the images to REGISTRY with the tag TAG
	@$(BIN)/python -m images push --registry="$(REGISTRY)" --tag="$(TAG)" $(if $(BASE),--base="$(BASE)") \
		$(if $(PLATFORM),--platform="$(PLATFORM)")

chart: $(READY) ## Package the chart into dist/, with REGISTRY as the default registry of its images
	@$(BIN)/python -m release chart --registry="$(REGISTRY)"

# kubectl krew install --manifest=dist/plugin/pilotage.yaml --archive=dist/plugin/kubectl-pilotage_v*.tar.gz
plugin: $(READY) ## Build the kubectl plugin into dist/plugin: for krew, and as a wheel (BASE: where it will be downloaded from)
	@$(BIN)/python -m release plugin $(if $(BASE),--base="$(BASE)")

sbom: images ## Write bills of materials of wheels and images to dist/sbom (CycloneDX JSON)
	@$(BIN)/python -m supply sbom

# make audit ADVISORIES=all.zip compares with a copy of OSV's database; 3 is the exit code where nothing could be compared.
audit: $(READY) ## Check all locked packages for known vulnerabilities, at osv.dev or in a copy of its database (ADVISORIES)
	@$(BIN)/python -m supply audit $(if $(ADVISORIES),--database="$(ADVISORIES)")

lint: $(READY) lint-workflows ## Check format, style, types, layers, generated files, licences, scripts, workflows and the chart
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m rooms
	$(BIN)/python -m generate --check
	$(BIN)/python -m supply licences
	$(shell_scripts) | xargs $(BIN)/shellcheck
	hack/helm lint --quiet charts/*

# Neither asks a network: what cannot be known without one (is this sha that tag's?) is for reviewers of .github.
lint-workflows: $(READY) ## Check the workflows of .github
	hack/actionlint -shellcheck=$(BIN)/shellcheck -pyflakes=
	$(BIN)/zizmor --quiet --offline --strict-collection --persona=pedantic .

# Shell scripts are known by their first line, whatever their name.
shell_scripts = find . \( -name .git -o -name .venv -o -name '*_cache' \) -prune -o -type f -print0 \
	| xargs -0 awk 'FNR == 1 && /^\#!.*[\/ ](ba|da)?sh( |$$)/ { print FILENAME } { nextfile }'

format: $(READY) ## Format the code, and apply automatic fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

generate: $(READY) ## Write the generated files: CRD, chart schema and README, two pages of docs
	$(BIN)/python -m generate

# Before the tests: what they need is built where its progress can be seen and no test's time limit applies.
test: lint binaries images ## Run lint and tests, on real clusters; the long tests only with test-all
	$(BIN)/pytest -n 2 --no-loadscope-reorder $(PYTEST_ARGS)

# One test in one process: make test-unit PYTEST_ARGS='-n 0 -k manifests'
test-unit: $(READY) ## Run the tests that need no cluster: unit and contract
	$(BIN)/pytest -n 2 --no-loadscope-reorder tests/unit tests/contract $(PYTEST_ARGS)

# The floor is `fail_under` in pyproject.toml.
coverage: $(READY) ## Measure how much of both packages the unit and contract tests run, branches too (dist/coverage)
	$(BIN)/pytest -n 2 tests/unit tests/contract --cov --cov-report=term:skip-covered --cov-report=html:dist/coverage $(PYTEST_ARGS)

test-all: binaries images ## Run all tests, including the long ones
	$(BIN)/pytest -m 'not faults' -n 2 --no-loadscope-reorder $(PYTEST_ARGS)

test-integration: binaries ## Run the tests on a real control plane with fake nodes
	$(BIN)/pytest tests/integration $(PYTEST_ARGS)

test-e2e: binaries images ## Run the tests on real nodes with real containers (needs root or Docker)
	$(BIN)/pytest tests/e2e $(PYTEST_ARGS)

# The scenarios of `make test` are among the first of these. A third of them is about devices, which are then compared with
# Kubernetes' own packages as well.
oracle: binaries ## Compare ours with the real kube-scheduler on 8,600 generated scenarios (SEEDS=100 for fewer)
	$(BIN)/python -m oracle --seeds $(or $(SEEDS),8600)
	$(BIN)/python -m oracle.judge_devices
	$(BIN)/python -m oracle.judge_expressions

# With it, what else takes long where replicas and sizes are real: 20 takeovers of each kind, 5,000 pods on 1,000 nodes.
faults: binaries ## Inject every fault at full length: API server, etcd, answers, leaders, nodes, pods, clock
	PILOTAGE_FAULTS=full PILOTAGE_TAKEOVERS=20 PILOTAGE_SIZE_PODS=5000 $(BIN)/pytest -s -m '' \
		tests/integration/test_live_faults_*.py tests/integration/test_live_takeover.py \
		tests/integration/test_live_at_size.py $(PYTEST_ARGS)

# A quarter of the first of these loads is part of `make test`.
gangs: binaries ## Run 20 rounds of 50 gangs on 200 nodes with capacity for a third of them (ROUNDS=3 for fewer)
	PILOTAGE_GANG_ROUNDS=$(or $(ROUNDS),20) $(BIN)/pytest -s -m '' tests/integration/test_live_gangs.py $(PYTEST_ARGS)

# A minute of it is part of `make test`: make soak MINUTES=10
soak: binaries ## Load the scheduler for an hour and check its memory (MINUTES=10 for less)
	SOAK_MINUTES=$(or $(MINUTES),60) $(BIN)/pytest -s tests/integration/test_live_soak.py $(PYTEST_ARGS)

# Fake nodes whose kubelets reject what does not fit: make races RACES_ARGS='--nodes 100 --rate 20'
races: binaries ## Count pods that kubelets reject when two schedulers share nodes (RACES_ARGS=--help for options)
	$(BIN)/python -m races $(RACES_ARGS)

bench-engine: $(READY) ## Measure the engine alone, in memory, at 1,000, 5,000 and 15,000 nodes
	$(BIN)/python -m bench.engine $(BENCH_ARGS)

# Alone on the machine: make bench-api BENCH_ARGS='--nodes 1000 --repeats 1 --profile'
bench-api: $(READY) ## Measure what 20 viewers of the read API cost the scheduler, in memory (BENCH_ARGS=--help for options)
	$(BIN)/python -m bench.viewers $(BENCH_ARGS)

# A short form is part of `make test`: make hostile HOSTILE_ARGS='--only affinity --save before.json'
hostile: $(READY) ## Run hostile objects against the scheduler in memory, and measure the cost to others (HOSTILE_ARGS=--help for options)
	$(BIN)/python -m hostile $(HOSTILE_ARGS)

# Alone on the machine, or the figures mean nothing: make bench BENCH_ARGS='--workload SchedulingBasic --nodes 1000'
bench: binaries ## Compare with the real kube-scheduler on a real API server (BENCH_ARGS=--help for options)
	$(BIN)/python -m bench.live $(BENCH_ARGS)

# It runs on a real control plane: docs/plugin-live.svg has the commands, what they said and when.
recording: binaries ## Record for the README how an edited plugin goes live
	$(BIN)/python -m recording

demo: $(READY) ## Start a real Kubernetes on this machine with Pilotage, and show what it does
	@$(BIN)/python -m localcluster demo up

demo-down: $(READY) ## Remove everything that `make demo` started
	@$(BIN)/python -m localcluster demo down

# Before a tag and after it; RELEASE.md has the other steps.
release-check: $(READY) ## Check that versions and changelog are those of TAG=v1.2.3
	@$(BIN)/python -m release check --tag="$(TAG)"

release-notes: $(READY) ## Print what the changelog says of TAG=v1.2.3
	@$(BIN)/python -m release notes --tag="$(TAG)"

clean: ## Remove .venv and every cache inside this folder
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .pytest-kind .coverage
	find scheduler operator hack tests -name __pycache__ -prune -exec rm -rf {} +
