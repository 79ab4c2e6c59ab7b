#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel SDK: what building modules, also in Rust, for Debian's arm64 kernel needs. Debian's own headers package
# has no Rust metadata, so the build tree is prepared from the matching source with the same compilers, and then it is
# proved that what it offers to Rust modules is what the packaged kernel exports.
#
#   scripts/sdk.sh [stock|16k|rt]            make it
#   scripts/sdk.sh [stock|16k|rt] --print    the same, and print the kernel build directory (KDIR)
#
# Build a module, in the toolbox:   make -C KDIR M=DIRECTORY ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- modules
#
# KDIR is the "build" directory; "src" beside it is the source without what modules cannot include. Kept are include/,
# arch/{arm64,arm,x86}, rust/, scripts/, lib/, kernel/, init/, usr/ and the tools that take part; elsewhere headers
# (not those inside big subsystems), Makefiles and Kconfig files; and all of the C ravb driver.

. "$(dirname "$0")/common.sh"

flavour=stock action=
for arg in "$@"; do
	case $arg in
	stock | 16k | rt) flavour=$arg ;;
	--print) action=$arg ;;
	*) die "unknown argument '$arg' (see the head of $0)" ;;
	esac
done

# Not unpacked: whole directories; what is compiled, in others (Kconfig files stay: without them the configuration
# changes); headers that only their own subsystem uses.
without=(
	tools/{perf,testing,power,memory-model,tracing,verification,usb,iio,virtio,net,hv,gpio,mm,sched,sched_ext,rcu,thermal}
	Documentation/{ABI,translations,devicetree} arch/{arm,arm64}/boot/dts
)
other_archs=(
	arch/{alpha,arc,csky,hexagon,loongarch,m68k,microblaze,mips,nios2,openrisc,parisc,powerpc,riscv,s390,sh,sparc,um,xtensa}
)
without_code=(Documentation block crypto drivers fs io_uring ipc mm net samples security sound virt "${other_archs[@]}")
without_headers=(
	drivers/{gpu,media,staging,scsi,infiniband,accel,crypto,usb,iio,net,clk,pinctrl,phy} sound fs "${other_archs[@]}"
)
keep=drivers/net/ethernet/renesas

make_flags=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- -j2)

unpack() {
	local deb exclude=() dir suffix
	deb=$("$TOP/scripts/kernel.sh" --source-package "$flavour")
	for dir in "${without[@]}"; do exclude+=("--exclude=$source/$dir/*"); done
	for dir in "${without_code[@]}"; do
		for suffix in c S rs rst txt yaml svg dts json; do exclude+=("--exclude=$source/$dir/*.$suffix"); done
	done
	for dir in "${without_headers[@]}"; do exclude+=("--exclude=$source/$dir/*.h"); done
	rm -rf "$where/src"
	mkdir -p "$where/src"
	dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$source.tar.xz" | xz -dc -T2 |
		tee >(tar -x -C "$where/src" --strip-components=1 "$source/$keep") |
		tar -x -C "$where/src" --strip-components=1 "${exclude[@]}"
}

configure() {
	mkdir -p "$where/build"
	cp "$kernel/config" "$where/build/.config"
	make "${make_flags[@]}" -C "$where/src" O="$where/build" KERNELRELEASE="$release" olddefconfig
	# Options whose tools are missing vanish without a word. This target has the words.
	if ! grep -qx CONFIG_RUST=y "$where/build/.config"; then
		make "${make_flags[@]}" -C "$where/src" O="$where/build" rustavailable
		die "CONFIG_RUST=y is lost"
	fi
}

prepare() {
	make "${make_flags[@]}" -C "$where/src" O="$where/build" KERNELRELEASE="$release" modules_prepare
	# With the kernel's type information, modules get theirs.
	cp "$kernel"/{Module.symvers,vmlinux} "$where/build/"
}

# The names of Rust symbols contain a hash of the compiler and of everything they were compiled from. The kernel has no
# module versions, so that a difference would be found only when a module is loaded, as an unknown symbol.
check_symbols() {
	local all missing
	awk '$2 ~ /^_R/ { print $2 }' "$kernel/Module.symvers" | sort -u >"$where/symbols.kernel"
	aarch64-linux-gnu-nm --defined-only --no-sort --format=just-symbols "$where"/build/rust/*.o |
		grep '^_R' | sort -u >"$where/symbols.sdk"
	all=$(wc -l <"$where/symbols.kernel")
	missing=$(comm -23 "$where/symbols.kernel" "$where/symbols.sdk" | wc -l)
	echo "$((all - missing)) of $all" >"$where/symbols"
	((all > 0 && missing == 0)) ||
		die "$missing of the $all Rust symbols of kernel $version are not what the toolbox's rustc makes ($(rustc --version))"
}

kernel=$("$TOP/scripts/kernel.sh" "$flavour" --where)
# Of the kernel only its version counts, not how its packages are unpacked: this takes minutes to make.
where=$CACHE/sdk-$flavour-$(key "$(grep ^pinned= "$TOP/scripts/kernel.sh")" "$(basename "$("$TOP/scripts/toolbox.sh" --where)")" "${make_flags[@]}" "$keep" \
	"$(declare -f unpack configure prepare check_symbols)" "${without[@]}" "${without_code[@]}" "${without_headers[@]}")

# stage NAME TEXT FUNCTION: the tree has its own path in it, so it is made in place; each complete stage leaves a stamp,
# and an interrupted run goes on from there.
stage() {
	[[ ! -e $where/.$1 ]] || return 0
	step "$2" "$3"
	touch "$where/.$1"
}

if [[ ! -e $where/.done ]]; then
	[[ ${RAVB_TOOLBOX:-} == 1 ]] || exec "$TOP/scripts/tb" "$TOP/scripts/${0##*/}" "$flavour" ${action:+"$action"}
	lock "sdk-$flavour"
	if [[ ! -e $where/.done ]]; then
		"$TOP/scripts/kernel.sh" "$flavour"
		release='' version='' source=''
		# shellcheck source=/dev/null
		. "$kernel/versions"
		mkdir -p "$where"
		stage unpacked "kernel SDK 1/4: source of $version" unpack
		stage configured "kernel SDK 2/4: configuration" configure
		stage prepared "kernel SDK 3/4: build tree with the Rust crates (about 3 minutes)" prepare
		stage checked "kernel SDK 4/4: Rust symbols" check_symbols
		say "$(cat "$where/symbols") Rust symbols of the packaged kernel are in the SDK"
		touch "$where/.done"
		prune "sdk-$flavour" "$where"
		say "kernel SDK: ready after $SECONDS s: $where/build"
	fi
fi
[[ $action != --print ]] || printf '%s\n' "$where/build"
