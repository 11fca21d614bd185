# Everything that a developer runs. `make check` is what a change must pass.

GO     ?= go
PYTHON ?= python3
VENV   ?= .venv

.PHONY: check fmt vet test race examples fuzz-short accept interop peers generate

check: fmt vet test race examples ## all fast checks

fmt: ## no file that gofmt would change
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }

vet:
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...

test: ## the whole test suite
	$(GO) test ./...

race: ## the concurrent packages under the race detector
	$(GO) test -race ./inputs/... ./internal/engine/... ./internal/device/... ./internal/kernels/... ./estimator/...

examples: ## build and run every example, checking what it prints
	$(GO) test -count=1 ./examples/...

fuzz-short: ## every fuzz target for some seconds
	./scripts/fuzz 10s

accept: ## the long runs: accuracies, 50 kills, soaks
	GOESTIMATOR_ACCEPT=1 $(GO) test -count=1 -timeout 90m ./accept/...

peers: $(VENV)/ready ## a Python environment with the real peers
$(VENV)/ready: interop/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r interop/requirements.txt
	touch $@

interop: ## against TensorFlow, TensorBoard, PyTorch and pyarrow; what is not installed is skipped
	GOESTIMATOR_ACCEPT=1 $(GO) test -count=1 -timeout 20m ./interop/...

generate: ## docs/config.md and the assembly kernels
	$(GO) generate ./runconfig ./internal/kernels
