# Everything that a developer runs: `make help` lists it. `make check` is what a change must pass.

GO     ?= go
PYTHON ?= python3
VENV   ?= .venv
GORELEASER ?= v2.16.0

.PHONY: help check fmt vet lint test test-arm64 race examples duckdb fuzz-short accept interop parity tensorflow-tests peers bench bench-peers bench-record generate gpu-build gpu-test gpu-bench site pages sbom notices release-check snapshot

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: fmt vet test race examples ## all fast checks

fmt: ## no file that gofmt would change
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }

vet:
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...

lint: ## golangci-lint and govulncheck, pinned in tools/go.mod
	$(GO) tool -modfile=tools/go.mod golangci-lint run ./...
	$(GO) tool -modfile=tools/go.mod govulncheck ./...

test: ## the whole test suite
	$(GO) test ./...

# The packages that start goroutines or are called by several at once. The CUDA kernels run in lockstep: their emulator,
# internal/runtime/cuda/emulate, is what is concurrent. The longest come first.
RACE = ./inputs/... ./estimator ./internal/imported/session ./internal/imported/dataset ./cluster/... ./distribute/... ./internal/clusterruntime/... ./internal/distribute/... \
	./internal/distributed/... ./internal/serving/... ./serving/... ./internal/platform/... ./internal/runtime/engine ./internal/runtime/kernels $$($(GO) list ./internal/runtime/cuda/... | grep -v cuda/kernels)

race: ## the concurrent packages under the race detector
	CGO_ENABLED=1 $(GO) test -race $(RACEFLAGS) $(RACE)

race-build: ## compiles them for it
	CGO_ENABLED=1 $(GO) build -race $(RACE)

test-arm64: ## the portable kernels and what stands on them, on an emulated arm64 (qemu-user)
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -tags static -exec qemu-aarch64 ./internal/runtime/kernels ./internal/runtime/engine ./internal/runtime/trees ./internal/imported/session ./models/... ./internal/training/... ./inputs/... ./internal/export ./estimator/canned

examples: ## build and run every example, checking what it prints
	$(GO) test -count=1 ./examples/...
	cd examples/outside && $(GO) test -count=1 ./...

duckdb: ## the module with DuckDB's driver, which needs cgo and 130 MB of libraries
	cd contrib/duckdb && $(GO) vet ./... && $(GO) test -count=1 ./...

fuzz-short: ## every fuzz target for some seconds
	./scripts/fuzz 10s

accept: ## the long runs: accuracies, 50 kills, soaks
	GOESTIMATOR_ACCEPT=1 $(GO) test -count=1 -timeout 90m ./accept/...

site: ## the pages as a site, in build/site; all links are checked
	cd scripts/site && $(GO) run . -out ../../build/site

pages: ## runs every block of the task pages and the README
	$(GO) test -count=1 ./docs/snippets

sbom: ## what a binary is made of, as CycloneDX, in build/goestimator.cdx.json
	$(GO) build -o build/goestimator ./cmd/goestimator
	$(GO) run ./scripts/release sbom build/goestimator > build/goestimator.cdx.json

notices: ## the licences of all linked modules, in build/THIRD_PARTY_NOTICES; unknown and copyleft ones fail
	$(GO) build -o build/goestimator ./cmd/goestimator
	$(GO) run ./scripts/release notices build/goestimator > build/THIRD_PARTY_NOTICES

release-check: ## the goreleaser config is valid; goreleaser is taken from the module proxy
	GORELEASER_IMAGE=goestimator $(GO) run github.com/goreleaser/goreleaser/v2@$(GORELEASER) check

snapshot: ## archives, packages and SBOMs of this commit, in dist, without publishing them
	GORELEASER_IMAGE=goestimator $(GO) run github.com/goreleaser/goreleaser/v2@$(GORELEASER) release --snapshot --clean --skip=docker,publish

peers: $(VENV)/ready ## a Python environment with the real peers
$(VENV)/ready: $(VENV)/installed
	touch $@
$(VENV)/installed: interop/requirements.txt interop/requirements-nodeps.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r interop/requirements.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps -r interop/requirements-nodeps.txt
	touch $@

interop: ## against TensorFlow, TensorBoard, PyTorch and pyarrow; what is not installed is skipped
	GOESTIMATOR_ACCEPT=1 $(GO) test -count=1 -timeout 40m ./interop/...

parity: ## canned models side by side with tf.estimator's
	GOESTIMATOR_ACCEPT=1 $(GO) test -count=1 -timeout 20m -v -run 'CannedAgainst|IDsAgainst' ./interop/

tensorflow-tests: ## TensorFlow's own test files on our servers: TENSORFLOW=FOLDER has its sources
	$(GO) build -o build/goestimator ./cmd/goestimator
	OMP_WAIT_POLICY=PASSIVE TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0 CUDA_VISIBLE_DEVICES= $(VENV)/bin/python interop/python/tensorflow_tests.py --folder $(TENSORFLOW) \
		--program build/goestimator --list interop/testdata/tensorflow_tests.txt --table docs/notes/cluster-runtime-tests.md $(TESTFLAGS)

bench: ## our times against the recorded ones; a loss of more than 5 % fails
	$(GO) run ./bench -ours -compare -python $(VENV)/bin/python $(BENCHFLAGS)

bench-peers: $(VENV)/bench-ready ## installs the peers and prints all tables
	$(GO) run ./bench -python $(VENV)/bin/python $(BENCHFLAGS)

bench-record: $(VENV)/bench-ready ## bench-peers, kept in bench/results and docs/performance.md
	$(GO) run ./bench -record -python $(VENV)/bin/python $(BENCHFLAGS)
	$(GO) run ./bench tables

$(VENV)/bench-ready: bench/requirements.txt interop/requirements.txt
	test -x $(VENV)/bin/pip || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@

generate: ## docs/config.md, docs/ops.md, docs/onnx.md, the map of packages, the assembly kernels, the code of the cluster's messages
	$(GO) generate ./scripts/house ./internal/config ./internal/runtime/kernels ./internal/distributed/wire
	$(GO) test ./internal/testkit/opsmatrix -update
	$(GO) test ./internal/imported/onnxgraph -update

gpu-build: ## what a machine with a GPU needs, in build/gpu and build/gpu.tar.gz
	GO="$(GO)" ./scripts/gpu-build

gpu-test: ## on a machine with a GPU, after gpu-build: each op, trainings, memory, compute-sanitizer
	PYTHON="$(PYTHON)" ./scripts/gpu-test

gpu-bench: ## on a machine with a GPU, after gpu-build: side by side with PyTorch
	PYTHON="$(PYTHON)" OUT=bench/results ./scripts/gpu-bench
