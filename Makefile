# The commands of daily work. Each expects the packages of tools/install.sh.
#
#   make build      the tool, at build/coconet, and the tests
#   make tool       the tool alone
#   make demo       the programs of examples/ on real data (examples/demo.py)
#   make test       all tests and checks; ends with ctest's summary
#   make bench      ours and other libraries side by side, half an hour; make bench-full, two
#   make check      formatting, layers, sizes, headers: what needs no test run
#   make format     formats every C++ file in place
#   make test-asan  the tests under the address and undefined behaviour sanitizers
#   make test-tsan  the tests under the thread sanitizer; ranks are threads
#   make fuzz       libFuzzer on each reader, FUZZ_SECONDS=60 each; needs clang 16
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
GENERATOR := $(if $(shell command -v ninja),-G Ninja)
CTEST := ctest --output-on-failure -j $(JOBS)
# The thread sanitizer of some compilers fails where addresses are much randomised.
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: build tool demo test bench bench-full check format test-asan test-tsan fuzz clean
.DEFAULT_GOAL := build

# build, build-release, build-asan, build-tsan, build-fuzz: the folders of the presets.
build/CMakeCache.txt:
	cmake --preset dev $(GENERATOR)

build-%/CMakeCache.txt:
	cmake --preset $* $(GENERATOR)

build: build/CMakeCache.txt
	cmake --build build -j $(JOBS)

tool: build/CMakeCache.txt
	cmake --build build -j $(JOBS) --target coconet_tool

demo: tool
	examples/demo.py build/coconet

test: build
	$(CTEST) --test-dir build

# Builds nothing else: what the machine does beside disturbs what is measured (docs/performance.md).
bench: build/CMakeCache.txt
	cmake --build build -j $(JOBS) --target bench
	build/bench/harness --json build/bench.json $(BENCH_OPTIONS)

bench-full:
	$(MAKE) bench BENCH_OPTIONS=--full

check: build/CMakeCache.txt
	tools/check.sh

format:
	tools/check.sh format --fix

test-asan: build-asan/CMakeCache.txt
	cmake --build build-asan -j $(JOBS)
	$(CTEST) --test-dir build-asan

test-tsan: build-tsan/CMakeCache.txt
	cmake --build build-tsan -j $(JOBS)
	$(FIXED_ADDRESSES) $(CTEST) --test-dir build-tsan

# What libFuzzer finds and keeps goes to build-fuzz/corpus; the corpus of the tree only begins it.
fuzz: build-fuzz/CMakeCache.txt
	cmake --build --preset fuzz -j $(JOBS)
	for target in coco npy safetensors; do \
	  mkdir -p build-fuzz/corpus/$$target && \
	  build-fuzz/tests/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=10 \
	    -artifact_prefix=build-fuzz/$$target- build-fuzz/corpus/$$target \
	    tests/fuzz/corpus/$$target $$([ $$target = coco ] && echo examples) || exit 1; \
	done

clean:
	rm -rf build build-release build-asan build-tsan build-fuzz
