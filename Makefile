# make run    plans and trains two example models, from their export to pictures of the plans
# make test   builds everything and runs the tests, except those that take minutes (label slow)
# make test-all   builds everything and runs all tests
# make package   makes a Debian package: build/release/rematlas_*.deb
# make appimage   packs the programs into dist/Rematlas-x86_64.AppImage; make test-appimage tests this file
# make sdist   makes the source distribution of the Python package (unfinished: pip install is untested)
# make test-clocks   runs all tests with scaled times, shorter searches, and a busy machine; about an hour
# make test-versions   builds for the torch versions between the oldest and the newest, and runs one test each
# make docs   makes the documentation's site build/site/index.html; fails if a link or an anchor is broken
# make test-docs   tests the documentation: commands and programs of its pages print what the pages show
# make test-integrations, make test-package, make wheel, make bench, make bench-cuda: see CONTRIBUTING.md
# make test TORCH=2.11.0   builds and tests the parts that need torch, against another version of torch;
#                          ASSERTIONS=yes keeps the assertions, WITHOUT=LABEL leaves out the tests of a label
# All install missing dependencies. PRESET: release (default), debug, headless, asan, asan-explorer, tsan.
PRESET ?= release
TORCH ?=
ASSERTIONS ?=
DEFAULT_TORCH := $(shell bash -c '. resources/setup/dependencies.sh && echo $$torch_default')
WHEEL_TORCH := $(or $(TORCH),$(DEFAULT_TORCH))
override TORCH := $(filter-out $(DEFAULT_TORCH),$(TORCH))
BUILD := build/$(PRESET)$(if $(TORCH),-torch-$(TORCH)$(if $(ASSERTIONS),-asserting))
# A build against another torch has its own Python environment. It builds only the parts that need torch and
# takes the others from the build for the default torch.
ENVIRONMENT := .venv$(if $(TORCH),-torch-$(TORCH))
TORCH_OPTIONS := $(if $(TORCH),-B $(BUILD) -DREMATLAS_PYTHON=$(CURDIR)/$(ENVIRONMENT)/bin/python \
	-DREMATLAS_CORE_BUILD=$(CURDIR)/build/$(PRESET) $(if $(ASSERTIONS),"-DCMAKE_CXX_FLAGS_RELEASE=-O2 -D_GLIBCXX_ASSERTIONS"))
VERSIONS_BETWEEN := 2.12.1 2.13.0 2.14.1
# JOBS is the number of tests that run at a time. It is one more than the number of processors, because some
# tests mostly wait.
JOBS ?= $(shell expr $$(nproc) + 1)
# TESTS is a regular expression of the names of the tests to run. If it is empty, all tests of the build run.
TESTS := $(if $(TORCH),^(runtime|simgpu))
# WITHOUT is a regular expression of labels. Tests with a matching label are left out.
WITHOUT ?= slow

.PHONY: help setup core programs build run test test-all test-clocks test-versions test-integrations docs test-docs package test-package wheel sdist appimage test-appimage bench bench-cuda asan asan-explorer tsan headless clean

help:
	@sed -n '1,14s/^# //p' Makefile

setup:
	@resources/setup/setup.sh $(if $(filter headless asan tsan,$(PRESET)),--core) $(if $(filter asan-explorer,$(PRESET)),--explorer) $(if $(TORCH),--torch $(TORCH))

$(BUILD)/build.ninja: | setup $(if $(TORCH),core)
	@cmake --preset $(PRESET) $(TORCH_OPTIONS)

# Builds the core and the command line in the build for the default torch. Only a build against another torch
# needs this target.
core:
	@$(if $(TORCH),cmake --preset $(PRESET) >/dev/null && cmake --build build/$(PRESET) --target core_for_torch)

programs: setup core $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target programs

build: setup core $(BUILD)/build.ninja
	@$(if $(TORCH),cmake --build $(BUILD) --target needs_torch,cmake --build --preset $(PRESET))

run: programs
	@.venv/bin/python resources/tour/tour.py --bin $(BUILD)/bin

test: build
	@ctest $(if $(TORCH),--test-dir $(BUILD) --output-on-failure,--preset $(PRESET)) $(if $(TESTS),-R "$(TESTS)") $(if $(WITHOUT),-LE "$(WITHOUT)") --no-tests=error -j $(JOBS)

test-all:
	@$(MAKE) --no-print-directory test WITHOUT=

# Runs the tests with randomly scaled measured times, with shorter searches, and on a busy machine. No test
# may depend on these conditions.
test-clocks: build
	@tests/clocks/run.sh $(BUILD)

# Builds for each version of torch between the oldest and the newest. With each version, imports rematlas and
# trains a model under a plan.
test-versions: setup
	@for torch in $(VERSIONS_BETWEEN); do \
		$(MAKE) --no-print-directory programs TORCH=$$torch && (cd tests/runtime/python && \
			PYTHONPATH=$(CURDIR)/runtime/python REMATLAS_PROGRAMS=$(CURDIR)/build/release-torch-$$torch/bin \
			$(CURDIR)/.venv-torch-$$torch/bin/python -m unittest dispatch_key_test) || exit 1; done

# Tests models and training loops of other libraries, in a Python environment of their own (about 1 GB).
test-integrations: build
	@tests/integrations/run.sh $(CURDIR)/$(BUILD)/bin

docs:
	@resources/setup/setup.sh --docs
	@tests/docs/site.sh

test-docs: build
	@tests/integrations/environment.sh
	@ctest --preset $(PRESET) -L docs --no-tests=error -j $(JOBS)

package: build
	@cd $(BUILD) && cpack -G DEB

# Installs the Debian package in a fresh Debian root and tests it there. This needs root and mmdebstrap.
test-package: package
	@ctest --test-dir $(BUILD) -C Package -R "^package$$" --output-on-failure

# Makes dist/rematlas-*.whl, a wheel with the Python package, its libraries and its programs. TORCH lists the
# versions of torch for which the wheel has builds.
wheel:
	@for torch in $(WHEEL_TORCH); do $(MAKE) --no-print-directory programs TORCH=$$torch || exit 1; done
	@resources/wheel/build.sh $(foreach torch,$(WHEEL_TORCH),$(CURDIR)/build/release$(addprefix -torch-,$(filter-out $(DEFAULT_TORCH),$(torch))))

sdist: setup
	@resources/wheel/sdist.sh

appimage: programs
	@resources/setup/setup.sh --appimage
	@resources/appimage/build.sh $(BUILD)

# Tests the AppImage in a Debian root that has only the libraries of a desktop. This needs root and
# mmdebstrap.
test-appimage: appimage
	@tests/package/appimage_test.sh dist/Rematlas-x86_64.AppImage

bench: build
	@bench/run.sh $(BUILD)/bin

bench-cuda:
	@bench/cuda.sh

asan asan-explorer tsan headless:
	@$(MAKE) --no-print-directory test PRESET=$@

clean:
	@rm -rf build
