#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What the host itself must have; everything else lives in the toolbox. Names the package of each
# missing tool, or installs them with --install (root on a Debian host).
set -euo pipefail

# tool or file, and the Debian package that brings it
TOOLS='
make make
mmdebstrap mmdebstrap
unshare util-linux
flock util-linux
/usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
'

missing=()
while read -r tool package; do
	[ -n "$tool" ] || continue
	case $tool in
	/*) [ -e "$tool" ] && continue ;;
	*) command -v "$tool" >/dev/null && continue ;;
	esac
	missing+=("$package")
	echo "missing: $tool (Debian package: $package)" >&2
done <<<"$TOOLS"

[ ${#missing[@]} -gt 0 ] || exit 0
if [ "${1:-}" != --install ]; then
	echo "install with: apt-get install ${missing[*]}" >&2
	exit 1
fi
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "${missing[@]}" >/dev/null
