# The commands of the README. Each does the set-up it needs and skips what is done.
.DEFAULT_GOAL := help
.PHONY: help setup build gpu all cpp demo cluster test unit test-all asan tsan tidy format bench clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

setup:
	@scripts/setup.sh

build: setup ## build the programs and the local cluster into build/bin
	@scripts/build.sh programs

gpu: ## build build/bin/sailor-trainer-gpu, with CUDA and NCCL, and run what tests a GPU; 2 GB to download
	@scripts/setup.sh cuda
	@cmake --preset gpu && cmake --build --preset gpu
	@python3 scripts/run_tests.py gpu

all: setup ## and all tests and benchmarks
	@scripts/build.sh

cpp: setup
	@scripts/build.sh cpp

demo: build ## a job trains on a local Kubernetes, loses a node and goes on; KEEP=1 leaves the cluster up
	@build/bin/sailor-demo $(if $(KEEP),--keep)

cluster: build ## a local Kubernetes with the operator installed, until interrupted
	@build/bin/sailor-demo --only-cluster

test: all ## every test, those on the local cluster too
	@python3 scripts/run_tests.py

unit: cpp ## the C++ tests, no cluster
	@python3 scripts/run_tests.py unit

test-all: test asan tsan tidy ## all tests, sanitizers, clang-tidy

asan: setup ## the unit tests under the address and undefined-behaviour sanitizers
	@cmake --workflow --preset asan

tsan: setup ## the unit tests under the thread sanitizer
	@cmake --workflow --preset tsan

tidy: cpp ## clang-tidy on all C++ sources
	@scripts/setup.sh tools
	@scripts/tidy.sh

format: ## clang-format and gofmt on all sources
	@scripts/setup.sh tools
	@git ls-files '*.h' '*.cc' | xargs clang-format -i
	@gofmt -w tests

bench: all ## all benchmarks: a table, and build/bench.json
	@python3 scripts/bench.py

clean: ## remove what was built; what was downloaded stays
	@rm -rf build
