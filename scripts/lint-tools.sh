#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What scripts/lint.py needs and the toolbox has not. A part of its own: the kernel builds depend on the toolbox, and
# would all be made again for another Python package.
#
#   scripts/lint-tools.sh            set it up
#   scripts/lint-tools.sh --print    set it up and print its directory
#
# In the directory: root/ (Debian packages, unpacked: dt-schema, yamllint, Sphinx), ruff, and tree/, those parts of the
# kernel's source that judge others: checkpatch, the settings of rustfmt, the device tree bindings.

. "$(dirname "$0")/common.sh"

packages=(dt-schema yamllint python3-sphinx)
# Not in Debian: from PyPI.
ruff='ruff==0.17.6 --hash=sha256:aa3b08254a732acba246891089a152c47c5733dc36b8ecb76ce8602f8326e5e4'
tree_parts=(
	scripts LICENSES Documentation/devicetree/bindings include/dt-bindings
	COPYING CREDITS Kbuild MAINTAINERS Makefile README .rustfmt.toml .clippy.toml
)
# By these and the ones above checkpatch knows a kernel tree.
tree_directories=(Documentation arch include drivers fs init ipc kernel lib)

unpack_packages() {
	local files file
	# 'URL' file size hash; what is in the toolbox already is not named.
	files=$(apt-get install --print-uris -qq -y --no-install-recommends "${packages[@]}" | awk '{ print $2 }')
	[[ $files ]]
	apt-get install --download-only -q -y --no-install-recommends -o Dir::Cache::archives="$CACHE/debs" "${packages[@]}"
	for file in $files; do dpkg-deb -x "$CACHE/debs/$file" "$1/root"; done
	# Debian's packages look for their data in one place.
	sed -i "s,/usr/share/\(docutils\|sphinx\),$where/root&," "$1"/root/usr/lib/python3/dist-packages/{docutils,sphinx}/__init__.py
}

fetch_ruff() {
	python3 -m venv "$1/venv"
	"$1/venv/bin/pip" install --quiet --no-deps --only-binary :all: --require-hashes --requirement <(echo "$ruff")
	mv "$1/venv/bin/ruff" "$1/ruff"
	rm -rf "$1/venv"
}

unpack_tree() {
	local package
	package=$("$TOP/scripts/kernel.sh" --source-package)
	mkdir "$1/tree"
	dpkg-deb --fsys-tarfile "$package" | tar -xO "./usr/src/$source.tar.xz" | xz -dc -T2 |
		tar -x -C "$1/tree" --strip-components=1 "${tree_parts[@]/#/$source/}"
	(cd "$1/tree" && mkdir -p "${tree_directories[@]}")
}

make_tools() {
	apt-get -q update
	unpack_packages "$1"
	fetch_ruff "$1"
	unpack_tree "$1"
}

kernel=$("$TOP/scripts/kernel.sh" --where)
where=$CACHE/lint-$(key "$SUITE" "${packages[@]}" "$ruff" "${kernel##*-}" "${tree_parts[@]}" "${tree_directories[@]}" \
	"$(declare -f unpack_packages fetch_ruff unpack_tree make_tools)")
case ${1:-} in
'' | --print) ;;
*) die "unknown argument '$1' (see the head of $0)" ;;
esac
if [[ ! -d $where ]]; then
	[[ ${RAVB_TOOLBOX:-} == 1 ]] || exec "$TOP/scripts/tb" "$TOP/scripts/${0##*/}" "$@"
	lock lint
	if [[ ! -d $where ]]; then
		"$TOP/scripts/kernel.sh"
		source=''
		# shellcheck source=/dev/null
		. "$kernel/versions"
		tmp=$(new_part lint)
		mkdir "$tmp/root"
		step "tools for lint (about a minute)" make_tools "$tmp"
		mv -T "$tmp" "$where"
		prune lint "$where"
		say "tools for lint: ready after $SECONDS s: $where"
	fi
fi
[[ ${1:-} != --print ]] || printf '%s\n' "$where"
