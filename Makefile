# SPDX-License-Identifier: MIT
# Makefile - the everyday commands; the build itself is in CMakePresets.json.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run test test-all sim lint bench install clean program tests

BUILD := build/release
PREFIX ?= /usr/local

# What the user asks of the compiler.  When it changes, the build starts afresh.
ASKED := $(if $(filter default undefined,$(origin CC)),,$(CC)) $(CFLAGS) $(LDFLAGS)

# In CI a warning is an error.
WERROR := $(if $(CI),-DWEFT_WERROR=ON)

# $(call configure,ON|OFF): with or without tests.  Does nothing when that has
# been done; a build with tests also serves who needs none.
configure = \
	if ! [ -f $(BUILD)/build.ninja ] || \
	    ! cmp -s $(BUILD)/asked <<<'$(ASKED)'; then \
		cmake --fresh --preset release -B $(BUILD) \
			-DWEFT_TESTS=$(1) $(WERROR); \
		cat >$(BUILD)/asked <<<'$(ASKED)'; \
	elif [ $(1) = ON ] && \
	    grep -q '^WEFT_TESTS:.*=OFF' $(BUILD)/CMakeCache.txt; then \
		cmake --preset release -B $(BUILD) $(WERROR); \
	fi

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

run: program ## build, then run the benchmarks (ARGS="...")
	@$(BUILD)/weft bench $(ARGS)

test: tests ## build, then run the tests
	@# ctest prints its summary before the list of failures; it goes last.
	@ctest --preset release 2>&1 | awk \
		'/% tests passed, .* out of / { last = $$0; next } \
		{ print; fflush() } END { print last }'

test-all: ## the tests with sanitizers, clang, valgrind, other architectures
	@tools/setup all
	@tools/test-all

sim: program ## explore schedules, of the scheduler or of ARGS="program ..."
	@cmake --build $(BUILD) --target weft-scenarios lost_wakeup lost_wakeup_fixed
	@$(BUILD)/weft sim $(ARGS)

lint: tests ## check the rules of the house
	@python3 tools/lint --build $(BUILD) --require-build

bench: program ## the floors: the least each operation can cost here
	@$(BUILD)/weft bench floors --tsv

install: ## install to PREFIX (default /usr/local), honours DESTDIR
	@tools/setup install
	@$(call configure,OFF)
	@cmake --build $(BUILD) --target weft_install_needs
	@cmake --install $(BUILD) --prefix '$(PREFIX)'

clean: ## remove everything built
	@rm -rf build

program:
	@tools/setup run
	@$(call configure,OFF)
	@cmake --build $(BUILD) --target weft_cli

tests:
	@tools/setup test
	@$(call configure,ON)
	@cmake --build $(BUILD)
