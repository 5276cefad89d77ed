# All tools run in .venv. Only make and Python 3.11 or newer must be installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo playground test test-embedded lint types unit soak stories properties e2e e2e-envtest bench mutants generate format clean

help:  ## Show the targets.
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $(STAMP)

setup: $(STAMP)  ## Install the project and its tools into .venv.

demo: setup  ## Run one application with a canary on three embedded members.
	$(BIN)/ud demo

playground: setup  ## Start the fleet of the demo, and keep it running until Ctrl-C.
	$(BIN)/ud playground

test: lint  ## Run linters, type checks, import contracts and all tests.
	$(MAKE) --jobs=2 types unit  # type checks keep one core busy, end-to-end tests often none

test-embedded: setup  ## Run only the tests of the embedded cluster, including the recordings.
	$(BIN)/pytest -n 2 --dist loadgroup tests/embedded tests/conformance

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

types: setup
	$(BIN)/mypy

unit: setup
	$(BIN)/pytest -n 3 --dist loadgroup  # end-to-end tests wait for a third of their time

# The first seed of a soak, how many seeds it plays, and in how many processes.
FIRST ?= 1000
SEEDS ?= 4000
WORKERS ?= 2
SAMPLE ?= 300

soak: setup  ## Play SEEDS random histories in WORKERS processes, and shrink those that break an invariant.
	$(BIN)/python -m tests.simulation.histories.soak --first $(FIRST) --seeds $(SEEDS) --workers $(WORKERS) $(if $(FAULTS),--faults)

stories: setup  ## Play every story of the simulations: with all kinds of workloads, and a kill at every write.
	STORIES=all $(BIN)/pytest -n $(WORKERS) tests/simulation

properties: setup  ## Try thousands of examples for each property that the tests check with dozens.
	$(BIN)/pytest -n $(WORKERS) --timeout 1200 --hypothesis-profile=thorough tests/unit tests/embedded

e2e: setup  ## Run only the end-to-end tests.
	$(BIN)/pytest tests/e2e

e2e-envtest: setup  ## Run them on real control planes, with the binaries in $KUBEBUILDER_ASSETS.
	@test -n "$$KUBEBUILDER_ASSETS" || { echo "KUBEBUILDER_ASSETS is not set: set it to a directory with etcd and kube-apiserver" \
		"(and, to run pods, kube-controller-manager and kube-scheduler) of Kubernetes 1.36"; exit 1; }
	UD_E2E_CLUSTERS=envtest $(BIN)/pytest tests/e2e

bench: setup  ## Run the benchmarks and print their figures.
	$(BIN)/python -m tests.bench

mutants: setup  ## Try SAMPLE small mutations of planning, controller and fleet, and print how many the tests notice.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group mutants
	$(BIN)/python -m tests.bench.mutants --sample $(SAMPLE)

generate: setup  ## Generate config/crd, and the roles of the controller.
	$(BIN)/ud crds > config/crd/crds.yaml
	$(BIN)/ud rbac host > config/rbac/roles.yaml
	$(BIN)/ud rbac member > config/member/role.yaml

format: setup  ## Format the code, and fix what ruff can fix.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## Remove what the other targets created.
	rm -rf mutants $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache
