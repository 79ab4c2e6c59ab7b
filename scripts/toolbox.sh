#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The toolbox: a Debian root with every tool that building, running and testing needs, so that what is used does not
# depend on the machine. Makes it when it is missing; scripts/tb runs commands in it.
#
#   scripts/toolbox.sh            set it up
#   scripts/toolbox.sh --print    set it up and print its directory
#   scripts/toolbox.sh --where    print its directory whether or not it is there
#
# The address of the Debian mirror is taken from this machine's apt sources, or from RAVB_MIRROR.

. "$(dirname "$0")/common.sh"

packages=(
	# Rust, exactly the compiler that built the target kernel; clang for bindgen, BPF programs and the debug kernel
	cargo rustc rust-src rustfmt rust-clippy bindgen libclang-19-dev clang-19 lld-19 llvm-19
	# the kernel's own needs, and the cross compiler that built it
	gcc gcc-aarch64-linux-gnu libc6-dev libc6-dev-arm64-cross make bc flex bison kmod cpio rsync xz-utils zstd lz4 file
	libssl-dev libelf-dev libdw1t64 pahole sparse patch git perl
	# QEMU, and what compiling against its headers needs
	qemu-system-arm pkg-config libglib2.0-dev libfdt-dev libslirp-dev zlib1g-dev ninja-build meson python3-venv
	# the runner and the tests
	python3 python3-yaml python3-jsonschema jq shellcheck
	# the far end of the wire
	iproute2 ethtool iperf3 linuxptp socat tcpdump iputils-ping openssh-client openssh-server
	# packages, images, device trees
	ca-certificates dpkg-dev mmdebstrap arch-test debian-archive-keyring erofs-utils e2fsprogs device-tree-compiler
	fdisk procps util-linux less busybox-static
)
# For programs that run in the guest (the kernel tree's test helpers).
arm64_packages=(
	libc6-dev libelf-dev zlib1g-dev libzstd-dev libcap-dev libnuma-dev libssl-dev liburing-dev libmnl-dev libaio-dev
)

# Never looked at in here. The kernel needs the library part of rust-src only; nothing links clang statically. An
# asterisk of dpkg's also matches slashes.
leave_out=(
	'/usr/share/doc/*' '/usr/share/man/*' '/usr/share/info/*' '/usr/share/locale/*' '/usr/share/lintian/*'
	'/usr/share/bug/*' '/usr/lib/llvm-*/lib/*.a' '/usr/src/rustc-?.??.?/src/*' '/usr/src/rustc-?.??.?/compiler/*'
)
hooks=/usr/share/mmdebstrap/hooks
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck disable=SC2054 # the commas are mmdebstrap's
recipe=(
	--mode=root --variant=apt --architectures=amd64,arm64 --format=directory
	# An interrupted set-up is started again from the kept packages, so nothing needs to be synced on the way.
	--dpkgopt=force-unsafe-io --hook-dir="$hooks/eatmydata"
	# Not --dpkgopt for these: mmdebstrap would pass every file of the first stage through a slow filter of its own.
	--essential-hook="printf 'path-exclude=%s\n' $(printf "'%s' " "${leave_out[@]}")>\"\$1/etc/dpkg/dpkg.cfg.d/slim\""
	--include="$(IFS=,; echo "${packages[*]}")"
	--include="$(printf '%s:arm64,' "${arm64_packages[@]}")"
	--skip=essential/unlink,cleanup/apt
)
where=$CACHE/toolbox-$(key "$SUITE" "${recipe[@]}")

make_toolbox() {
	local mirror tmp
	[[ $(uname -m) == x86_64 ]] || die "the toolbox is for x86_64 machines, this one is $(uname -m)"
	need mmdebstrap mmdebstrap
	need unshare util-linux
	[[ -r $keyring ]] || die "$keyring is missing: install the package debian-archive-keyring"
	mirror=$(debian_mirror)
	say "setting up the toolbox from $mirror (500 MB to download the first time, about 2 minutes)"
	mkdir -p "$CACHE/debs/partial"

	tmp=$(new_part toolbox)
	mkdir "$tmp/root"
	chmod 755 "$tmp" "$tmp/root"
	{
		apt_settings
		# A changed list of packages then costs only what is new.
		printf '%s\n' 'APT::Keep-Downloaded-Packages "true";' 'Binary::apt-get::APT::Keep-Downloaded-Packages "true";'
	} >"$tmp/apt.conf"
	# Backports is there for the kernel: nothing else comes from it unless it is named with its version.
	cat >"$tmp/debian.list" <<-END
		deb [signed-by=$keyring] $mirror $SUITE main
		deb-src [signed-by=$keyring] $mirror $SUITE main
		deb [signed-by=$keyring] $mirror $SUITE-backports main
	END
	# shellcheck disable=SC2016 # $1 is for the hooks' shell
	step "${#packages[@]} packages and what they need" as_root mmdebstrap --verbose --aptopt="$tmp/apt.conf" \
		--setup-hook='mkdir -p "$1/var/cache/apt/archives"; mount --bind '"'$CACHE/debs'"' "$1/var/cache/apt/archives"' \
		"${recipe[@]}" --customize-hook='umount "$1/var/cache/apt/archives"' \
		"$SUITE" "$tmp/root" "$tmp/debian.list"
	# The kernel's scripts and QEMU's configure ask for the names without a version.
	# shellcheck disable=SC2016
	as_root sh -c 'cd "$1/usr/bin" && for tool in *-19; do [ -e "${tool%-19}" ] || ln -s "$tool" "${tool%-19}"; done' - \
		"$tmp/root"
	mv "$tmp/root" "$where"
	remove "$tmp"
}

case ${1:-} in
--where) printf '%s\n' "$where"; exit ;;
'' | --print) ;;
*) die "unknown argument '$1' (see the head of $0)" ;;
esac
if [[ ! -d $where ]]; then
	lock toolbox
	if [[ ! -d $where ]]; then
		make_toolbox
		prune toolbox "$where"
		say "toolbox: ready after $SECONDS s: $where"
	fi
fi
[[ ${1:-} != --print ]] || printf '%s\n' "$where"
