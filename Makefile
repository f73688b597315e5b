# The usual tasks, as shortcuts for the presets of CMakePresets.json; each preset builds in build/<preset>/.

PREFIX ?= /usr/local
# Set SETUP=: to install the needed packages yourself.
SETUP ?= scripts/setup

.DEFAULT_GOAL := help
.PHONY: help build run test package package-test bench bench-peers soak mutations fuzz accuracy sharing format \
	lint install clean

# Configures a preset where that has not happened yet or the presets have changed since. Afresh, since CMake drops the
# settings of a preset whose compiler differs from that of the cache.
configure = test build/$(1)/build.ninja -nt CMakePresets.json || cmake --fresh --preset $(1)

help: ## List these targets
	@awk -F ':.* ## ' '/^[a-z-]+:.* ## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the library, the program and the examples as they ship, in build/release/
	@$(SETUP) build
	@$(call configure,release)
	@cmake --build --preset release

run: build ## Build, then serve on 127.0.0.1:8080, with the page on port 9090
	@build/release/sluice serve --data-dir data --admin-listen 9090

test: ## Build and run all tests, with sanitizers, and all checks
	@$(SETUP) build test
	@$(call configure,asan)
	@cmake --build --preset asan
	@$(call configure,tsan)
	@cmake --build --preset tsan
	@$(call configure,release)
	@cmake --build --preset release
	@echo 'subdirs(asan tsan release)' >build/CTestTestfile.cmake
	@ctest --test-dir build --output-on-failure --parallel $$((2 * $$(nproc)))

package: ## Build the Debian packages and a tarball, in build/package/
	@$(SETUP) build package
	@scripts/package build/package

package-test: ## Build and run what ships elsewhere: packages, the image, the chart, an upgrade; needs root
	@$(SETUP) build test package
	@tests/package/run build/package-test
	@$(call configure,release)
	@cmake --build --preset release --target sluice_program
	@tests/image/run build/image
	@tests/chart/run build/release/sluice build/chart
	@tests/upgrade/run build/release/sluice build/upgrade

bench: ## Measure speed and memory; writes core, http, bodies, grpc, regional, global, rules and calls.json to build/bench/
	@$(SETUP) build bench
	@$(call configure,bench)
	@cmake --build --preset bench
	@bench/run build/bench
	@bench/http/run build/bench/sluice build/bench
	@build/bench/bench/http/body_bench build/bench/bodies.json
	@bench/grpc/run build/bench build/bench
	@bench/regional/run build/bench build/bench
	@bench/global/run build/bench build/bench
	@build/bench/bench/rules/match_bench build/bench/rules.json
	@build/bench/bench/rules/call_bench build/bench/calls.json

bench-peers: ## Measure Sluice beside other limiters; writes a section of docs/benchmarks.md
	@$(SETUP) build bench
	@$(call configure,bench)
	@cmake --build --preset bench --target sluice_program sluice_peer
	@bench/peers/run build/bench build/peers --write

SEEDS ?= 10000
FIRST ?= 1000000
soak: ## Simulate SEEDS=10000 random fleets, from seed FIRST=1000000 on, until one fails
	@$(SETUP) build
	@$(call configure,release)
	@cmake --build --preset release --target sluice_program
	@sim/soak build/release/sluice $(SEEDS) $(FIRST)

mutations: ## Run the mutation tests: break the code in known ways, and check that the tests fail
	@$(SETUP) build test
	@sim/mutations/run

SECONDS_EACH ?= 60
fuzz: ## Run each fuzz target with libFuzzer for SECONDS_EACH=60
	@$(SETUP) build test
	@$(call configure,fuzz)
	@cmake --build --preset fuzz
	@scripts/fuzz build/fuzz $(SECONDS_EACH)

accuracy: ## Measure how far limits can be exceeded; writes docs/accuracy.md, its CSV and plots
	@$(SETUP) build
	@$(call configure,release)
	@cmake --build --preset release --target sim_accuracy
	@scripts/accuracy build/release/sim/sim_accuracy

sharing: ## Measure the sharing rule with other constants; writes docs/decisions/0011-regional-share.md
	@$(SETUP) build
	@scripts/sharing

format: ## Format all C++ files
	@$(SETUP) test
	@scripts/format

lint: ## Run clang-tidy over the library and its tests
	@$(SETUP) build test
	@$(call configure,tidy)
	@cmake --build --preset tidy --target sluice_version
	@scripts/lint build/tidy

install: build ## Install the program and the library; PREFIX=/usr/local and DESTDIR= as usual
	@cmake --install build/release --prefix "$(PREFIX)"
	@test -n "$(DESTDIR)" || test "$$(id -u)" -ne 0 || ldconfig

clean: ## Remove everything that was built
	@rm -rf build
