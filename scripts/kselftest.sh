#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel tree's own tests of network drivers and PTP clocks, unmodified from the source of Debian's kernel, built for
# arm64 by the tree's own Makefiles and installed as "kselftest" in a part of the cache: what scripts/kselftest.py takes
# to the guest.
#
#   scripts/kselftest.sh            make it
#   scripts/kselftest.sh --print    the same, and print the directory

. "$(dirname "$0")/common.sh"

# Whole directories, and what is wanted of selftests/net.
targets=(drivers/net drivers/net/hw net/lib ptp)
programs=(hwtstamp_config timestamping)
scripts=(netdevice.sh lib.sh)

action=
for arg in "$@"; do
	case $arg in
	--print) action=$arg ;;
	*) die "unknown argument '$arg' (see the head of $0)" ;;
	esac
done

make_tests() {
	local tmp=$1 tree=$1/tree out=$1/kselftest deb source name
	local common=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar
		CLANG=clang-19 LLC=llc-19 LLVM_STRIP=llvm-strip-19)
	deb=$("$TOP/scripts/kernel.sh" --source-package)
	source=$(basename "$deb" | sed 's/_.*//')
	mkdir -p "$tree" "$tmp/net"
	dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$source.tar.xz" | xz -dc -T2 |
		tar -x -C "$tree" --strip-components=1 "$source"/{Makefile,Kbuild,Kconfig,scripts,include,arch/arm64,tools,usr} \
			"$source"/Documentation/netlink
	make -C "$tree" -s -j2 ARCH=arm64 headers
	# What is generated from netlink specifications takes minutes, and serves features only that these MACs have not: PSP,
	# memory of other devices, hashes over flows.
	make -C "$tree/tools/testing/selftests" "${common[@]}" "TARGETS=${targets[*]}" FORCE_TARGETS=1 YNL_GEN_FILES= install \
		"KSFT_INSTALL_PATH=$out"
	make -C "$tree/tools/testing/selftests/net" "${common[@]}" "OUTPUT=$tmp/net" "KHDR_INCLUDES=-isystem $tree/usr/include" \
		"${programs[@]/#/$tmp/net/}"
	for name in "${programs[@]}"; do cp "$tmp/net/$name" "$out/net/"; done
	for name in "${scripts[@]}"; do cp "$tree/tools/testing/selftests/net/$name" "$out/net/"; done
	# Each run carries them to the guest, and nobody debugs them there.
	find "$out" \( -name '*.a' -o -name '*.[od]' ! -name '*.bpf.o' -o -path '*/ynl/*.[ch]' \) -delete
	find "$out" -type f -perm /111 ! -name '*.*' -exec aarch64-linux-gnu-strip {} +
	python3 -m compileall -q -j2 --invalidation-mode unchecked-hash -s "$tmp" -p /root "$out"
	rm -rf "$tree" "$tmp/net"
}

where=$CACHE/kselftests-$(key "$(declare -f make_tests)" "${targets[@]}" "${programs[@]}" "${scripts[@]}" \
	"$(basename "$("$TOP/scripts/kernel.sh" --where)")")
if [[ ! -d $where ]]; then
	[[ ${RAVB_TOOLBOX:-} == 1 ]] || exec "$TOP/scripts/tb" "$TOP/scripts/${0##*/}" ${action:+"$action"}
	lock kselftests
	if [[ ! -d $where ]]; then
		tmp=$(new_part kselftests)
		step "the kernel's own tests" make_tests "$tmp"
		mv -T "$tmp" "$where"
		prune kselftests "$where"
	fi
fi
[[ $action != --print ]] || printf '%s\n' "$where/kselftest"
