#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The emulator: Debian's own qemu-system-aarch64 with the device of twin/shim preloaded into it, which needs that
# QEMU's headers and no build of QEMU. Where this does not work, or with --in-tree, the same file is built into a
# minimal QEMU from Debian's source package (6 CPU minutes, once).
#
#   scripts/qemu.sh [--in-tree]            set it up
#   scripts/qemu.sh [--in-tree] --print    set it up and print its directory
#   scripts/qemu.sh [--in-tree] --test     set it up and run the shim's own tests (TAP)
#
# The directory holds the shim, the libraries of its tests, and "info", one assignment a line: version=, how=preload or
# in-tree, qemu=FILE, and preload=FILE (empty for in-tree).

# shellcheck disable=SC2030,SC2031 # make_preloaded is a subshell, and its tmp its own
. "$(dirname "$0")/common.sh"

in_tree=0 action=
for arg in "$@"; do
	case $arg in
	--in-tree) in_tree=1 ;;
	--print | --test) action=$arg ;;
	*) die "unknown argument '$arg' (see the head of $0)" ;;
	esac
done

# Two steps, so that a change costs what it must: QEMU's headers or QEMU itself, whose keys cover the marked lines of
# this file, and the small emulator-* directory with the shim and its tests.
marked() { sed -n "/^# <$1>/,/^# <.$1>/p" "$0"; }
shim=$TOP/twin/shim
toolbox=$("$TOP/scripts/toolbox.sh" --where)
# A changed toolbox is still of the same stable suite: what was built in the old one stays, and the tests show that it runs.
headers_key=$(key "$SUITE" "$(marked headers)")
headers=$CACHE/qemu-$headers_key
built_in=$CACHE/qemu.in-tree-$(key "$headers_key" "$(marked in-tree)" "$(key_files "$shim"/twin_*.[ch])")
emulator_key=$(key "${toolbox##*-}" "$headers_key" "$(key_files "$0" "$shim"/*.[ch] "$shim"/*.py)")
preloaded=$CACHE/emulator-$emulator_key
in_tree_emulator=$CACHE/emulator.in-tree-$emulator_key
where=$preloaded
((!in_tree)) || where=$in_tree_emulator

# All work is done in the toolbox.
if [[ ${RAVB_TOOLBOX:-} != 1 && ( ! -d $where || $action == --test ) ]]; then
	exec "$TOP/scripts/tb" "$0" "$@"
fi

# <headers>
# The version that everything was verified with. The shim shares structures with QEMU, so headers and binary are always
# of one version, and the shim refuses to run in any other.
pinned=1:10.0.13+ds-0+deb13u1

# Features of the build change no structure that the shim touches, except TCG plugins: they have members in CPUState,
# and Debian's binary has them.
configure_options=(
	--target-list=aarch64-softmmu --without-default-features --without-default-devices --enable-tcg --enable-plugins
	--enable-fdt=system --enable-trace-backends=nop --disable-docs --disable-tools --disable-install-blobs
	--disable-download
)
generated_headers=(
	config-poison.h qapi/qapi-builtin-types.h qapi/qapi-events-run-state.h qapi/qapi-commands-control.h
	qapi/qapi-types-{error,control,machine,common,machine-common,run-state,block-core,crypto,job,sockets,net}.h
)

# take VERSION: the source package and, unless building in tree, the binary package of one version, into $CACHE/debs.
# Files that are there are only checked.
take() {
	cd "$CACHE/debs" || return
	apt-get source --download-only "qemu=$1" || return
	dsc=$CACHE/debs/qemu_${1#*:}.dsc
	((in_tree)) && return
	apt-get download "qemu-system-arm=$1" || return
	deb=$CACHE/debs/qemu-system-arm_${1/:/%3a}_amd64.deb
}

# A suite offers one version at a time: the pinned one, or else whatever it has now. Says in $tmp/taken which it was.
take_any() {
	local version dsc deb=
	version=$pinned
	# The lists of packages may be older than what the mirror holds.
	if ! take "$version" && ! { apt-get update && take "$version"; }; then
		version=$(apt-cache madison qemu-system-arm | awk -v suite="$SUITE/" 'index($5, suite) == 1 { print $3; exit }')
		[[ -n $version ]]
		take "$version"
	fi
	printf '%s\n' "version=$version" "dsc=$dsc" "deb=$deb" >"$tmp/taken"
}

taken() {
	sed -n "s/^$1=//p" "$tmp/taken"
}

# configure_in DIR OPTION...: DIR is made in the unpacked source
configure_in() {
	mkdir "$1"
	cd "$1"
	shift
	../configure "$@"
}

make_headers() {
	configure_in "$tmp/src/build" "${configure_options[@]}"
	ninja "${generated_headers[@]}"
	mkdir -p "$tmp/part/include"
	cp -a ../include/. "$tmp/part/include"
	cp -a ../host/include/generic/. ../host/include/x86_64/. "$tmp/part/include"
	find . -name '*.h' -not -path './pyvenv/*' | cpio -pdm --quiet "$tmp/part/include"
	dpkg-deb --fsys-tarfile "$(taken deb)" | tar -xO ./usr/bin/qemu-system-aarch64 >"$tmp/part/qemu-system-aarch64"
	chmod 755 "$tmp/part/qemu-system-aarch64"
	taken version >"$tmp/part/version"
}
# </headers>

unpack() { dpkg-source --no-check -x "$(taken dsc)" "$tmp/src"; }

download() {
	mkdir -p "$CACHE/debs"
	step "QEMU: download the package" take_any
	[[ $(taken version) == "$pinned" ]] || say "QEMU $pinned is no longer offered by $SUITE: taking $(taken version)"
}

prepare_headers() {
	tmp=$(new_part qemu)
	download
	step "QEMU: unpack the source" unpack
	step "QEMU: configure, for the headers" make_headers
	mv "$tmp/part" "$headers"
	remove "$tmp"
	prune qemu "$headers"
}

# test_libraries DIR: the stand-in for the model, and two that no shim may accept
test_libraries() {
	local flags=(-shared -fPIC -O2 -std=c11 -Wall -Wextra -Werror)
	gcc "${flags[@]}" -o "$1/selftest.so" "$shim/selftest.c"
	gcc "${flags[@]}" -DSELFTEST_NO_ENTRY -o "$1/selftest-no-entry.so" "$shim/selftest.c"
	gcc "${flags[@]}" -DSELFTEST_WRONG_SIZE -o "$1/selftest-wrong-size.so" "$shim/selftest.c"
}

compile_shim() {
	local glib
	read -ra glib <<<"$(pkg-config --cflags glib-2.0)"
	# The flags that QEMU compiles its own files with, as far as they matter to code; its headers are not ours to warn about.
	gcc -shared -fPIC -O2 -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -fno-strict-aliasing -fwrapv -mcx16 \
		"${glib[@]/#-I/-isystem}" -isystem "$headers/include" -o "$tmp/part/twin_shim.so" "$shim/twin_shim.c"
	test_libraries "$tmp/part"
}

# run_tests DIR INFO: what the shim's tests say of the emulator that INFO describes
run_tests() {
	local preload
	preload=$(sed -n 's/^preload=//p' "$2")
	python3 "$shim/selftest.py" --qemu "$(sed -n 's/^qemu=//p' "$2")" --build "$1" ${preload:+--preload "$preload"}
}

# Fails when Debian's binary will not do, for whatever reason.
make_preloaded() (
	tmp=$(new_part emulator)
	mkdir "$tmp/part"
	step "shim: compile" compile_shim
	printf '%s\n' "version=$(cat "$headers/version")" how=preload "qemu=$headers/qemu-system-aarch64" \
		"preload=$tmp/part/twin_shim.so" >"$tmp/part/info"
	step "shim: tests" run_tests "$tmp/part" "$tmp/part/info"
	sed -i "s,^preload=.*,preload=$preloaded/twin_shim.so," "$tmp/part/info"
	mv "$tmp/part" "$preloaded"
	remove "$tmp"
)

# <in-tree>
build_in_tree() {
	local net=$tmp/src/hw/net
	cp "$shim/twin_shim.c" "$shim/twin_abi.h" "$net"
	printf "\nsystem_ss.add(files('twin_shim.c'))\n" >>"$net/meson.build"
	# The board's own devices, and what scripts/vm.py and the shim's tests add to them.
	printf 'CONFIG_%s=y\n' ARM_VIRT VIRTIO_PCI VIRTIO_BLK VIRTIO_NET GENERIC_LOADER \
		>"$tmp/src/configs/devices/aarch64-softmmu/twin.mak"
	# Without debug information and at -O1 the build takes half the time, and the guest none the longer.
	configure_in "$tmp/src/build" "${configure_options[@]}" --with-devices-aarch64=twin --enable-slirp \
		--extra-cflags="-O1 -g0"
	ninja -j "$(nproc)" qemu-system-aarch64
	mkdir "$tmp/part"
	strip -o "$tmp/part/qemu-system-aarch64" qemu-system-aarch64
	taken version >"$tmp/part/version"
}
# </in-tree>

make_built_in() {
	if [[ ! -d $built_in ]]; then
		tmp=$(new_part qemu.in-tree)
		in_tree=1
		download
		step "QEMU: unpack the source" unpack
		step "QEMU: build with the shim in tree (about 6 CPU minutes)" build_in_tree
		mv "$tmp/part" "$built_in"
		remove "$tmp"
		prune qemu.in-tree "$built_in"
	fi
	tmp=$(new_part emulator.in-tree)
	step "shim: compile the test libraries" test_libraries "$tmp"
	printf '%s\n' "version=$(cat "$built_in/version")" how=in-tree "qemu=$built_in/qemu-system-aarch64" preload= \
		>"$tmp/info"
	step "shim: tests" run_tests "$tmp" "$tmp/info"
	chmod 755 "$tmp"
	mv "$tmp" "$in_tree_emulator"
	prune emulator.in-tree "$in_tree_emulator"
}

if [[ ! -d $where ]]; then
	if ((in_tree)); then
		# Not the same lock: nobody who uses the other way should wait for minutes.
		lock qemu.in-tree
		[[ -d $in_tree_emulator ]] || make_built_in
	else
		lock qemu
		if [[ -d $preloaded ]]; then
			true
		elif { [[ -d $headers ]] || (prepare_headers); } && make_preloaded; then
			prune emulator "$preloaded"
		else
			say "Debian's QEMU cannot be used with the shim (see above): building one with the shim in it"
			"$0" --in-tree
			cp -r "$in_tree_emulator" "$preloaded.new"
			mv "$preloaded.new" "$preloaded"
		fi
	fi
	say "emulator: QEMU $(sed -n 's/^version=//p' "$where/info"), shim by $(sed -n 's/^how=//p' "$where/info")"
fi

case $action in
--print) printf '%s\n' "$where" ;;
--test) run_tests "$where" "$where/info" ;;
esac
