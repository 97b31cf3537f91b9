# make run    the main job on two example models, end to end
# make test   build everything and run the tests, but for sweeps of minutes (label slow)
# make test-all   build everything and run all tests
# make package   a Debian package: build/release/rematlas_*.deb
# make appimage   the explorer and the command line in one file for any desktop: dist/Rematlas-x86_64.AppImage
# make sdist   the source distribution of the Python package (begun: its installation by pip has not been tried)
# make test-clocks   the same tests as on machines with other clocks: about an hour
# make test-versions   compiled for the versions of torch between the oldest and the newest, imported and tried
# make docs   the documentation as a site: build/site/index.html; fails where a link or an anchor leads nowhere
# make test-docs   runs the commands and programs of the documentation's pages, and compares what they print
# make test-integrations, make test-package, make test-appimage, make wheel, make bench: see README.md
# make test TORCH=2.11.0   what needs torch, built against another version and tested there;
#                          ASSERTIONS=yes keeps the assertions, WITHOUT=one_torch leaves tests out by their label
# All install what is missing first. PRESET: release (default), debug, headless, asan, asan-explorer, tsan.
PRESET ?= release
TORCH ?=
ASSERTIONS ?=
DEFAULT_TORCH := $(shell bash -c '. resources/setup/dependencies.sh && echo $$torch_default')
WHEEL_TORCH := $(or $(TORCH),$(DEFAULT_TORCH))
override TORCH := $(filter-out $(DEFAULT_TORCH),$(TORCH))
BUILD := build/$(PRESET)$(if $(TORCH),-torch-$(TORCH)$(if $(ASSERTIONS),-asserting))
# Of a build against another torch: its environment, and no more than what needs torch.
ENVIRONMENT := .venv$(if $(TORCH),-torch-$(TORCH))
TORCH_OPTIONS := $(if $(TORCH),-B $(BUILD) -DREMATLAS_PYTHON=$(CURDIR)/$(ENVIRONMENT)/bin/python \
	-DREMATLAS_CORE_BUILD=$(CURDIR)/build/$(PRESET) $(if $(ASSERTIONS),-DCMAKE_CXX_FLAGS_RELEASE=-O2))
VERSIONS_BETWEEN := 2.12.1 2.13.0 2.14.1
# Tests at a time: one more than there are processors, for some wait for others.
JOBS ?= $(shell expr $$(nproc) + 1)
# Tests to run, as a regular expression of ctest; all of the build unless it is given.
TESTS := $(if $(TORCH),^(runtime|simgpu))
# Tests to leave out, as a regular expression of their labels.
WITHOUT ?= slow

.PHONY: help setup core programs build run test test-all test-clocks test-versions test-integrations docs test-docs package test-package wheel sdist appimage test-appimage bench bench-cuda asan asan-explorer tsan headless clean

help:
	@sed -n '1,14s/^# //p' Makefile

setup:
	@resources/setup/setup.sh $(if $(filter headless asan tsan,$(PRESET)),--core) $(if $(filter asan-explorer,$(PRESET)),--explorer) $(if $(TORCH),--torch $(TORCH))

$(BUILD)/build.ninja: | setup $(if $(TORCH),core)
	@cmake --preset $(PRESET) $(TORCH_OPTIONS)

# Of a build against another torch: the core and the command line, which that of the default torch has.
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

# Measured times scaled at random, hurried searches, a busy machine: no test may depend on them.
test-clocks: build
	@tests/clocks/run.sh $(BUILD)

# Versions of torch between the oldest and the newest: compiled for, imported, and a model trained with a plan.
test-versions: setup
	@for torch in $(VERSIONS_BETWEEN); do \
		$(MAKE) --no-print-directory programs TORCH=$$torch && (cd tests/runtime/python && \
			PYTHONPATH=$(CURDIR)/runtime/python REMATLAS_PROGRAMS=$(CURDIR)/build/release-torch-$$torch/bin \
			$(CURDIR)/.venv-torch-$$torch/bin/python -m unittest dispatch_key_test) || exit 1; done

# Models and training loops of other libraries, in an environment of its own (about 1 GB).
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

# Installs the package in a fresh Debian root and tries it there; needs root and mmdebstrap.
test-package: package
	@ctest --test-dir $(BUILD) -C Package -R "^package$$" --output-on-failure

# One file with the package, its libraries and programs, for the versions of torch in TORCH: dist/rematlas-*.whl
wheel:
	@for torch in $(WHEEL_TORCH); do $(MAKE) --no-print-directory programs TORCH=$$torch || exit 1; done
	@resources/wheel/build.sh $(foreach torch,$(WHEEL_TORCH),$(CURDIR)/build/release$(addprefix -torch-,$(filter-out $(DEFAULT_TORCH),$(torch))))

sdist: setup
	@resources/wheel/sdist.sh

appimage: programs
	@resources/setup/setup.sh --appimage
	@resources/appimage/build.sh $(BUILD)

# Tries the AppImage in a Debian root that has no more than the libraries of a desktop; needs root and mmdebstrap.
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
