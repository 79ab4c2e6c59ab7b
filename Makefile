# SPDX-License-Identifier: GPL-2.0
#
# What people type. kbuild itself reads Kbuild, which sits beside this file and takes precedence there.
# Each target sets up what it needs first; with a warm cache, and the model built, that takes well under a second.

# Options of `make run`, `make vm` and `make shell`; see README.md.
OPTIONS := RUN DRIVER CHIP CPUS KERNEL ICOUNT SHIFT SEED MEM PEER PORTS FILES PCAP TRACE APPEND TWIN V TIMEOUT \
	   CASE TESTS SEEDS KDIR
export $(OPTIONS)

# make would expand $NETIF in RUN='…' to "ETIF". What is given is passed on as it stands; $$ is still $.
override RUN := $(subst $$$$,$$,$(value RUN))

# A misspelt option would be no option.
UNKNOWN := $(filter-out $(OPTIONS) MODULE LINK NAME EMULATOR INJECT_WAIT RX_MEMORY RX_PREFETCH LLVM RUSTC ARCH CROSS_COMPILE XDG_CACHE_HOME RAVB_MIRROR \
	     LINT_BASE, $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $v))),$v)))
$(if $(UNKNOWN),$(error there is no option $(UNKNOWN); see README.md))

TB := scripts/tb

comma := ,
space := $(subst ,, )

.PHONY: help run check vm shell bench twin-check kunit kselftest sdk modules lint fmt clean
help:
	@sed -n 's/^## //p' Makefile

## make run     boot the board with the driver, link up, ping, iperf3 both ways, the knobs: one table
run: board
	@$(TB) python3 scripts/run.py

## make check   all tests; last line `N passed, N failed, N skipped` (TESTS='name …': some; TESTS=-l lists them)
check: board
	@$(TB) python3 scripts/check.py $(TESTS)

## make vm RUN='…'   boot, load the driver, run the command in the guest
vm: board
	@$(TB) python3 scripts/vm.py

## make shell   the same, interactive
shell: board
	@$(TB) python3 scripts/vm.py shell

## make bench CASE=livelock|coalesce|throughput|insns|rx|inject|waits|model   figures: table, JSON, plot in build/bench/
bench: board
	@$(TB) python3 scripts/bench.py $(CASE)

## make twin-check   the model's own tests
twin-check: board
	@$(TB) python3 scripts/check.py twin fuzz

## make lint     rustfmt, clippy, checkpatch, sparse, dt-schema, shellcheck, ruff, rustdoc, ...: zero findings
lint: board
	@$(TB) python3 scripts/check.py lint

## make kunit    the driver's own unit tests, in the debug kernel
kunit: board
	@$(TB) python3 scripts/check.py kunit

## make kselftest [CHIP=…]   the kernel tree's own tests on both drivers, compared (TESTS='stats csum …': some)
kselftest: board
	@$(TB) python3 scripts/check.py 'kselftest-$(or $(CHIP),gbeth)$(if $(TESTS),:$(subst $(space),$(comma),$(strip $(TESTS))))'

## make fmt      format all Rust code, as lint wants it
fmt: board
	@$(TB) python3 scripts/lint.py --fmt

## make sdk     only the set-up: toolbox, emulator, guest, kernel SDK
sdk: board
	@scripts/sdk.sh

## make modules [KDIR=…]   ravb-rs.ko for Debian's kernel, or for the kernel build tree KDIR
modules:
	@scripts/module.sh $(KERNEL)

## make clean    removes build/, not the cache
.PHONY: board
board:
	@scripts/setup.sh

clean:
	rm -rf build
