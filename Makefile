# The commands of the README. Each installs and builds what it needs, and skips what is done already.
.DEFAULT_GOAL := help
.PHONY: help setup tools build gpu gpu-bundle gpu-proof gpu-programs all cpp demo demo-straggler dashboards cluster test unit test-all asan tsan tidy format bench clean

help: ## print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

setup:
	@scripts/setup.sh

build: setup ## build the programs and the local Kubernetes into build/bin
	@scripts/build.sh programs

gpu-programs:
	@scripts/setup.sh cuda
	@cmake --preset gpu && cmake --build --preset gpu

gpu: gpu-programs ## build build/bin/sailor-trainer-gpu with CUDA and NCCL (a download of 2 GB) and run the GPU tests
	@python3 scripts/run_tests.py gpu

gpu-proof: gpu-programs ## prove the trainer on this machine's GPU, in steps A to G (docs/gpu.md); STEPS="A C" runs these only
	@python3 tests/gpu/proof.py --into build $(STEPS)

gpu-bundle: gpu-programs ## make build/gpu-bundle, which does the same on a machine without network that has PyTorch 2.11
	@scripts/gpu_bundle.sh

all: setup ## build everything: programs, local Kubernetes, tests and benchmarks
	@scripts/build.sh

cpp: setup
	@scripts/build.sh cpp

demo: build ## train a job on a local Kubernetes, take a node away and add it again; KEEP=1 keeps the cluster running
	@build/bin/sailor-demo $(if $(KEEP),--keep)

demo-straggler: build ## train a job on four equal GPUs, one of which gets slow and is given less work until it has recovered
	@build/bin/sailor-demo --straggler $(if $(KEEP),--keep)

dashboards: build ## run the demo under Prometheus and draw the dashboards of the chart in build/dashboards; needs no Grafana
	@build/bin/sailor-demo --dashboards

cluster: build ## run a local Kubernetes with the operator installed until Ctrl-C
	@build/bin/sailor-demo --only-cluster

test: all ## run the tests, including those on the local Kubernetes
	@python3 scripts/run_tests.py

unit: cpp ## run the short C++ tests, which need no cluster
	@python3 scripts/run_tests.py unit

test-all: all tools ## run everything: linters, tests with a fresh random seed, whole explorations, images, sanitizers
	@scripts/setup.sh images browser
	@python3 scripts/run_tests.py --fresh-seed lint tidy unit slow long gpu cluster
	@$(MAKE) --no-print-directory asan tsan

asan: setup ## run tests under the address and undefined-behaviour sanitizers
	@cmake --workflow --preset asan

tsan: setup ## run tests under the thread sanitizer
	@cmake --workflow --preset tsan

tidy: tools ## check the format of all sources, and run clang-tidy and go vet on them
	@python3 scripts/run_tests.py lint tidy

format: tools ## format all C++ and Go sources
	@scripts/format.sh

tools: setup
	@scripts/setup.sh tools

bench: all ## run all benchmarks: prints a table, writes build/bench.json and docs/measurements.md
	@python3 scripts/bench.py

clean: ## delete build/; downloads in .deps/ stay
	@rm -rf build
