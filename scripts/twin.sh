#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The model: builds build/twin/libravbtwin.so, which the emulator loads, and the guest's commands (twin/twinctl) into
# build/twin/bin. Does nothing when no source has changed; running guests keep the library they have.

. "$(dirname "$0")/common.sh"

out=$TOP/build/twin
cd "$TOP/twin"
# What cargo and the compiler read, by content: time stamps say nothing after a git checkout.
mapfile -t sources < <(find . -name fuzz -prune -o -name target -prune -o -type f \
	\( -name '*.rs' -o -name '*.toml' -o -name Cargo.lock -o -path './twinctl/*' \) -print | sort)
toolbox=$("$TOP/scripts/toolbox.sh" --where)
key=$(key "${toolbox##*-}" "$(key_files "$TOP/scripts/twin.sh" "${sources[@]}")" "${sources[@]}")
[[ ! -e $out/libravbtwin.so || $(cat "$out/key" 2>/dev/null) != "$key" ]] || exit 0
[[ ${RAVB_TOOLBOX:-} == 1 ]] || exec "$TOP/scripts/tb" "$TOP/scripts/twin.sh"

mkdir -p "$out"
exec {lock_fd}>"$out/.lock"
flock "$lock_fd"
# Another run may have done it meanwhile.
[[ ! -e $out/libravbtwin.so || $(cat "$out/key" 2>/dev/null) != "$key" ]] || exit 0

compile() {
	cargo build --quiet --release --locked --lib --target-dir "$out"
	# A new file each time: an emulator that runs has the old one mapped.
	install -m 755 "$out/release/libravbtwin.so" "$out/libravbtwin.so.new"
	mv "$out/libravbtwin.so.new" "$out/libravbtwin.so"
	# The guest's commands: twinctl, udpsink, udpblast, tcpblast, tcpsink.
	make --no-print-directory -s -C twinctl OUT="$out/bin"
}

step "model: build" compile
printf '%s\n' "$key" >"$out/key"
