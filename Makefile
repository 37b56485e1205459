# Every target does all set-up by itself on a fresh Debian 12. Build trees: build/release, build/asan, build/tsan, build/gcc.
JOBS ?= $(shell nproc)
ARGS ?=
NINJA = ninja -j $(JOBS)
# One more than cores: many tests wait, for etcd, leases, clusters, most of their time.
CTEST = ctest --test-dir build/release -j $(shell expr $(JOBS) + 1) --output-on-failure --no-label-summary

.PHONY: help packages build deb demo test test-full test-regression fuzz bench soak format clean
.DEFAULT_GOAL := help

help:
	@echo 'make build      scyperd and scyper into build/release/bin, with all tests'
	@echo 'make deb        the Debian package, into build/release/package'
	@echo 'make demo       a node, CH-benCHmark on it with live figures, consistency checks; a failover'
	@echo 'make test       house checks, all tests with fixed slices of the long ones, asan+ubsan, tsan'
	@echo 'make test-full  the same, the long tests in full, names by clang-tidy, and a build by gcc'
	@echo 'make test-regression  the SQL of PostgreSQL 15 regression files through psql; the report in build/regression'
	@echo 'make fuzz       every fuzzer for FUZZ_SECONDS (600), with asan+ubsan; new inputs and findings in build/fuzz'
	@echo 'make bench      the benchmarks, results in build/bench'
	@echo 'make soak       a cluster under load with faults in turn for SOAK_SECONDS (900); the report in build/soak. As root: all faults'
	@echo 'make format     clang-format over the whole tree'
	@echo 'Variables: JOBS (now $(JOBS)); ARGS: more arguments for the program that demo or bench starts'

packages:
	@tools/install-packages

# Whoever builds by make builds all: several sources as one (SCYPER_UNITE; docs/development.md).
# Once per tree; afterwards ninja configures by itself when a CMake file changes.
build/%/build.ninja: CMakePresets.json | packages
	@mkdir -p build
	@cmake --preset $* $(if $(filter release,$*),-DSCYPER_UNITE=ON) >build/$*.log 2>&1 || { cat build/$*.log; exit 1; }
	@touch $@

build: build/release/build.ninja
	@$(NINJA) -C build/release

deb: build/release/build.ninja
	@$(NINJA) -C build/release scyper scyperd scyper-pgm scyper-rdma pages
	@tools/package build/release build/release/package

demo: build/release/build.ninja
	@$(NINJA) -C build/release scyper scyperd
	@build/release/bin/scyper demo $(ARGS)

# The quick checks come first, alone: who forgot to format learns it in seconds. ctest's summary is the last output.
test: build/release/build.ninja build/asan/build.ninja build/tsan/build.ninja
	@$(CTEST) -Q -L house -LE full -E '^(link|header)_test' || $(CTEST) -L house -LE full -E '^(link|header)_test'
	@$(NINJA) -C build/release all house
	@$(NINJA) -C build/asan sanitized
	@$(NINJA) -C build/tsan sanitized
	@$(CTEST) -LE full

test-full: build/release/build.ninja build/asan/build.ninja build/tsan/build.ninja build/gcc/build.ninja
	@$(NINJA) -C build/release all house headers
	@$(NINJA) -C build/asan sanitized
	@$(NINJA) -C build/tsan sanitized
	@$(NINJA) -C build/gcc
	@SCYPER_TEST_FULL=1 $(CTEST)

# ARGS: --files join,union --strict
test-regression: build/release/build.ninja
	@$(NINJA) -C build/release scyperd
	@tests/regression/regression.py build/release/bin/scyperd --recover --report build/regression $(ARGS)

fuzz: build/asan/build.ninja
	@$(NINJA) -C build/asan fuzzers
	@tools/fuzz all build/asan $(ARGS)

bench: build
	@tools/bench $(ARGS)

SOAK_SECONDS ?= 900
soak: build/release/build.ninja
	@$(NINJA) -C build/release scyper scyperd
	@build/release/bin/scyper drill all-in-turn --seconds $(SOAK_SECONDS) --rate 500 --report build/soak $(ARGS)

format: packages
	@python3 tools/checks/format.py . --fix

clean:
	rm -rf build
