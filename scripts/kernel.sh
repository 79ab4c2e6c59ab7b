#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Debian's arm64 kernel of one flavour, from its packages and otherwise untouched: what scripts/guest.sh boots and
# scripts/sdk.sh builds for.
#
#   scripts/kernel.sh [stock|16k|rt]            fetch and unpack it
#   scripts/kernel.sh [stock|16k|rt] --print    the same, and print its directory
#   scripts/kernel.sh [stock|16k|rt] --where    print its directory whether or not it is there
#   scripts/kernel.sh [stock|16k|rt] --source-package   fetch the matching source package and print its path
#
# The flavour debug is not Debian's: what it is made of is in scripts/kernel-debug.sh, which does the same for it.
#
# In the directory: vmlinuz, config (as shipped), Module.symvers, vmlinux (type information only), modules/lib/modules/
# <release>, and "versions": shell assignments flavour=, release=, version=, source=.

. "$(dirname "$0")/common.sh"

# What everything was verified with. A mirror keeps one version of a suite: when this one is gone the newest is taken,
# and said.
pinned=7.3.4-1~bpo13+1

flavour=stock action=
for arg in "$@"; do
	case $arg in
	stock | 16k | rt | debug) flavour=$arg ;;
	--print | --where | --source-package) action=$arg ;;
	*) die "unknown argument '$arg' (see the head of $0)" ;;
	esac
done
case $flavour in
stock) suffix=arm64 ;;
16k) suffix=arm64-16k ;;
rt) suffix=rt-arm64 ;;
debug)
	# Its source is that of Debian's kernel.
	[[ $action == --source-package ]] || exec "$TOP/scripts/kernel-debug.sh" ${action:+"$action"}
	flavour=stock suffix=arm64
	;;
esac

# package_file PACKAGE:ARCHITECTURE VERSION: fetch it unless the cache has it, and print its path.
package_file() {
	local package=${1%:*} arch=${1#*:} file
	file=$CACHE/debs/${package}_${2/:/%3a}_$arch.deb
	if [[ ! -s $file ]]; then
		mkdir -p "$CACHE/debs/partial"
		(cd "$CACHE/debs" && apt-get -q download "$package:${arch/all/amd64}=$2") >&2
	fi
	printf '%s\n' "$file"
}

choose() {
	local meta=linux-image-$suffix:arm64
	version=$(apt-cache madison "$meta" | awk -v pin="$pinned" '$3 == pin { print pin; exit }')
	if [[ -z $version ]]; then
		version=$(apt-cache madison "$meta" | awk -v suite="$SUITE-backports/" 'index($0, suite) { print $3; exit }')
		[[ -n $version ]] || return 1
	fi
	release=$(apt-cache show "$meta=$version" | sed -n 's/^Depends:.*linux-image-\([0-9][^ ]*\) .*/\1/p')
	source=linux-source-$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<<"$version")
	[[ -n $release ]]
}

fetch_packages() {
	local part
	for part in binary modules base headers; do
		package_file "linux-$part-$release:arm64" "$version" || return
	done
}

fetch_source() {
	package_file "$source:all" "$version" || { apt-get -q update && package_file "$source:all" "$version"; } ||
		die "the mirror no longer has $source $version: remove $where and set up again"
}

make_kernel() {
	local tmp=$1 part
	choose || { apt-get -q update && choose; } || die "the mirror has no linux-image-$suffix"
	if ! fetch_packages; then
		# The list of packages may be older than the mirror.
		apt-get -q update
		{ choose && fetch_packages; } || die "the mirror has no kernel packages for $suffix"
	fi
	mkdir "$tmp/deb"
	for part in binary modules base headers; do
		dpkg-deb -x "$(package_file "linux-$part-$release:arm64" "$version")" "$tmp/deb"
	done
	mkdir -p "$tmp/modules/lib/modules"
	mv "$tmp/deb/usr/lib/modules/$release" "$tmp/modules/lib/modules/"
	cd "$tmp/modules/lib/modules/$release"
	mv vmlinuz config "$tmp/"
	# System.map is only a note that says where the real one is; device trees of other boards are 120 MB.
	find dtb -mindepth 1 -maxdepth 1 ! -name renesas -exec rm -r {} +
	rm -f System.map build source
	mv "$tmp/deb/usr/src/linux-headers-$release"/{Module.symvers,vmlinux} "$tmp/"
	rm -rf "$tmp/deb"
	depmod -b "$tmp/modules" "$release"
	printf '%s=%q\n' flavour "$flavour" release "$release" version "$version" source "$source" >"$tmp/versions"
}

where=$CACHE/kernel-$flavour-$(key "$pinned" "$suffix" "$(declare -f make_kernel)")
if [[ $action == --where ]]; then
	printf '%s\n' "$where"
	exit
fi

enter_toolbox() { [[ ${RAVB_TOOLBOX:-} == 1 ]] || exec "$TOP/scripts/tb" "$TOP/scripts/${0##*/}" "$flavour" ${action:+"$action"}; }

if [[ ! -f $where/versions ]]; then
	enter_toolbox
	lock "kernel-$flavour"
	if [[ ! -f $where/versions ]]; then
		tmp=$(new_part kernel-"$flavour")
		step "Debian's arm64 kernel ($flavour)" make_kernel "$tmp"
		mv -T "$tmp" "$where"
		prune "kernel-$flavour" "$where"
		# shellcheck source=/dev/null
		. "$where/versions"
		if [[ $version == "$pinned" ]]; then
			say "kernel $release, package version $version"
		else
			say "the mirror no longer has kernel $pinned: took $version, the newest of $SUITE-backports ($release)"
		fi
	fi
fi
case $action in
--print) printf '%s\n' "$where" ;;
--source-package)
	# shellcheck source=/dev/null
	. "$where/versions"
	file=$CACHE/debs/${source}_${version/:/%3a}_all.deb
	if [[ ! -s $file ]]; then
		enter_toolbox
		lock linux-source
		[[ -s $file ]] || step "source of kernel $version" fetch_source
	fi
	printf '%s\n' "$file"
	;;
esac
