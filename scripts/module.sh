#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Builds ravb-rs.ko into build/module-NAME: for Debian's kernel with the SDK, in the toolbox, or with KDIR=… for a kernel
# build tree of one's own, with the tools of this host. What cannot work is said before anything is compiled.
#
#   scripts/module.sh [stock|16k|rt]     for Debian's kernel
#   scripts/module.sh debug              for the debug kernel, as a part of its tree
#   KDIR=DIRECTORY scripts/module.sh     for that kernel

. "$(dirname "$0")/common.sh"

flavour=${1:-stock}
case $flavour in
stock | 16k | rt | debug) ;;
*) die "KERNEL=$flavour: must be one of stock, 16k, rt, debug" ;;
esac

# The value of a configuration option, without quotes; empty when it is not set.
option() {
	sed -n "s/^$1=//p" "$KDIR/.config" | tr -d '"'
}

check_kdir() {
	local have want needed

	[[ -d $KDIR ]] || die "KDIR=$KDIR: there is no such directory"
	[[ -f $KDIR/.config ]] || die "KDIR=$KDIR: no .config: this is not a kernel build tree; configure it and run 'make modules_prepare' there"
	[[ $(option CONFIG_RUST) == y ]] || die "KDIR=$KDIR: the kernel was built without CONFIG_RUST=y: Rust modules cannot be loaded into it"
	[[ -f $KDIR/rust/libkernel.rmeta ]] ||
		die "KDIR=$KDIR: no rust/libkernel.rmeta: a headers package without Rust metadata, or a tree that was not built; run 'make modules_prepare' in a tree of the same source and configuration"
	[[ -f $KDIR/Module.symvers ]] || die "KDIR=$KDIR: no Module.symvers: take it from the kernel's headers package or build the kernel's modules"
	for needed in CONFIG_OF CONFIG_PHYLIB CONFIG_PAGE_POOL CONFIG_RESET_CONTROLLER CONFIG_MDIO_BITBANG; do
		[[ -n $(option "$needed") ]] || die "KDIR=$KDIR: the kernel was built without $needed, which this driver needs"
	done
	want=$(option CONFIG_RUSTC_VERSION_TEXT)
	have=$("${RUSTC:-rustc}" --version 2>/dev/null) || die "${RUSTC:-rustc} does not run; the kernel was built with $want"
	[[ $have == "$want" ]] ||
		die "rustc is '$have', the kernel was built with '$want': only the same build of rustc can read its metadata; name it by RUSTC="
	command -v bindgen >/dev/null || die "bindgen is missing: headers that the kernel's Rust code does not use are made known to ours with it"
	if [[ ! ${LLVM:-} ]]; then
		[[ ${ARCH:-$(uname -m)} != arm64 || $(uname -m) == aarch64 || ${CROSS_COMPILE:-} ]] ||
			die "ARCH=arm64 on $(uname -m): add CROSS_COMPILE=aarch64-linux-gnu-"
		command -v "${CROSS_COMPILE:-}gcc" >/dev/null || die "${CROSS_COMPILE:-}gcc is missing"
	fi
	have=$(option CONFIG_CC_IS_CLANG)
	[[ $have != y || ${LLVM:-} ]] || die "the kernel was built with clang: add LLVM=1"
	[[ $have == y || -z ${LLVM:-} ]] || die "the kernel was built with gcc: build without LLVM"
}

# In tree: the debug kernel's source has a place for the driver, which whoever builds it fills. Of the tree's modules,
# only what is built along is known to modpost, so what ours needs is.
build_debug() {
	local kernel out=$TOP/build/module-debug place=drivers/net/ethernet/renesas/ravb_rs
	kernel=$("$TOP/scripts/kernel-debug.sh" --print)
	mkdir -p "$out"
	exec {lock_fd}>"$kernel/build/.lock"
	flock "$lock_fd"
	"$TOP/scripts/kernel-debug.sh" --driver
	make -C "$kernel/src" O="$kernel/build" ARCH=arm64 LLVM=1 -j2 drivers/net/mdio/mdio-bitbang.ko \
		"$place/ravb-rs.ko"
	cp "$kernel/build/$place/ravb-rs.ko" "$out/"
	echo "$out/ravb-rs.ko"
}

if [[ -z ${KDIR:-} && $flavour == debug ]]; then
	[[ ${RAVB_TOOLBOX:-} == 1 ]] || exec "$TOP/scripts/tb" "$TOP/scripts/${0##*/}" "$@"
	build_debug
	exit
fi
if [[ -z ${KDIR:-} ]]; then
	[[ ${RAVB_TOOLBOX:-} == 1 ]] || exec "$TOP/scripts/tb" "$TOP/scripts/${0##*/}" "$@"
	KDIR=$("$TOP/scripts/sdk.sh" "$flavour" --print)
	make_flags=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-)
	name=$flavour
else
	KDIR=$(realpath -m "$KDIR")
	make_flags=(${ARCH:+ARCH=$ARCH} ${CROSS_COMPILE:+CROSS_COMPILE=$CROSS_COMPILE} ${LLVM:+LLVM=$LLVM} ${RUSTC:+RUSTC=$RUSTC})
	name=
fi
check_kdir
[[ $name ]] || name=$(cat "$KDIR/include/config/kernel.release" 2>/dev/null) || name=kdir
out=$TOP/build/module-$name${INJECT_WAIT:+-$INJECT_WAIT}${RX_MEMORY:+-$RX_MEMORY}${RX_PREFETCH:+-prefetch-$RX_PREFETCH}
mkdir -p "$out"
exec {lock_fd}> "$out/.lock"
flock "$lock_fd"
make -C "$KDIR" "${make_flags[@]}" M="$TOP" MO="$out" "${MAKE_TARGET:-modules}"
echo "$out/ravb-rs.ko"
