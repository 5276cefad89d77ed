# Everything runs in .venv; only Python (3.11 or newer) and make have to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo playground test test-embedded lint types unit e2e e2e-envtest bench generate format clean

help:  ## Show the targets.
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $(STAMP)

setup: $(STAMP)  ## Install the project and its tools into .venv.

demo: setup  ## Run the main job on embedded clusters: one application over three members, with a canary.
	$(BIN)/ud demo

playground: setup  ## Start the same fleet and keep it running until Ctrl-C.
	$(BIN)/ud playground

test: lint types unit  ## Lint, types, import contracts and all tests.

test-embedded: setup  ## Only the tests of the embedded cluster, the recordings of a real API server included.
	$(BIN)/pytest -n 2 --dist loadgroup tests/embedded tests/conformance

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

types: setup
	$(BIN)/mypy

unit: setup
	$(BIN)/pytest -n 2 --dist loadgroup

e2e: setup  ## Only the end-to-end tests.
	$(BIN)/pytest tests/e2e

e2e-envtest: setup  ## The same on real control planes, from the binaries in $KUBEBUILDER_ASSETS.
	@test -n "$$KUBEBUILDER_ASSETS" || { echo "KUBEBUILDER_ASSETS is not set: name a folder with etcd and kube-apiserver" \
		"(and, to have pods, kube-controller-manager and kube-scheduler) of Kubernetes 1.36"; exit 1; }
	UD_E2E_CLUSTERS=envtest $(BIN)/pytest tests/e2e

bench: setup  ## Print the numbers of the design as ratios in one run.
	$(BIN)/python -m tests.bench

generate: setup  ## Write config/crd from the models, and the controller's roles from the list of its rights.
	$(BIN)/ud crds > config/crd/crds.yaml
	$(BIN)/ud rbac host > config/rbac/roles.yaml
	$(BIN)/ud rbac member > config/member/role.yaml

format: setup  ## Format and mend what can be mended.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## Remove what the other targets made.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache
