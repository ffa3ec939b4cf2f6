# The commands of daily work. Each expects the packages of tools/install.sh.
#
#   make build      the tool, at build/coconet, and the tests
#   make tool       the tool alone
#   make demo       the programs of examples/ on real data (examples/demo.py)
#   make test       all tests and checks; ends with ctest's summary
#   make check      formatting, layers, sizes, headers: what needs no test run
#   make format     formats every C++ file in place
#   make test-asan  the tests under the address and undefined behaviour sanitizers
#   make test-tsan  the tests under the thread sanitizer; ranks are threads
JOBS ?= $(shell nproc)
GENERATOR := $(if $(shell command -v ninja),-G Ninja)
CTEST := ctest --output-on-failure -j $(JOBS)
# The thread sanitizer of some compilers fails where addresses are much randomised.
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: build tool demo test check format test-asan test-tsan clean
.DEFAULT_GOAL := build

# build, build-release, build-asan, build-tsan: the folders of the presets.
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

clean:
	rm -rf build build-release build-asan build-tsan
