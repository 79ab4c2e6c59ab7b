#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guest: Debian's arm64 kernel and a root image with everything that tests need. What is in the directory, how to
# boot it and how to talk to it: scripts/guest/README.rst.
#
#   scripts/guest.sh [stock|16k|rt|debug]            make it
#   scripts/guest.sh [stock|16k|rt|debug] --print    the same, and print its directory

. "$(dirname "$0")/common.sh"

packages=(
	base-files base-passwd bash dash coreutils util-linux mount kmod procps psmisc mawk sed grep findutils hostname tar gzip
	xz-utils zstd perl-base busybox-static strace jq
	iproute2 ethtool iputils-ping iputils-arping iperf3 socat tcpdump netcat-openbsd netsniff-ng linuxptp openssh-client
	python3 python3-yaml python3-jsonschema bpftool trace-cmd
	libc-bin libnuma1 liburing2 libmnl0 libelf1t64 libcap2 libaio1t64 libcap2-bin
)
# Trixie's ethtool cannot ask for --get-hwtimestamp-cfg, which the tree's tests use, and its xdp-bench looks for a trace
# point that the kernel has no more (xdp_redirect_map_err); this suite's do better.
newer_suite=forky newer=(ethtool libxdp1 xdp-tools)
# Of the kernel's modules, what concerns networks and file systems. Drivers of other hardware are most of the rest.
modules=(
	arch block crypto fs/{configfs,erofs,ext4,fuse,jbd2,mbcache.ko.xz,nls,overlayfs,squashfs} lib net
	drivers/{block,dca,firmware/qemu_fw_cfg.ko.xz,i2c/algos,net,pps/generators,ptp,vhost,virtio} drivers/char/hw_random
)
no_modules='/(wireless|wwan|can|fddi|ieee802154|mac802154|bluetooth|nfc|mac80211|rds|tipc|smc|ceph|9p|sunrpc|atm)/|/test_[^/]*$'
no_modules+='|^drivers/(net/(ethernet|usb|dsa|ipa|mhi.*)|block/(drbd|rbd|mtip32xx|aoe|xen.*)|vhost/vhost_(scsi|vdpa)|virtio/virtio_vdpa)[/.]'
# The driver that this is about, and those of cards that QEMU emulates, to compare with.
more_modules=(drivers/net/ethernet/{renesas,realtek,intel/{e1000,e1000e,igb}})

# Loaded before the root image is mounted, with what they depend on; configfs because loading it there is cheaper than
# starting modprobe.
early=(virtio_blk loop erofs overlay configfs)
applets='insmod mkdir mount mv poweroff stty switch_root'

flavour=stock action=
for arg in "$@"; do
	case $arg in
	stock | 16k | rt | debug) flavour=$arg ;;
	--print) action=$arg ;;
	*) die "unknown argument '$arg' (see the head of $0)" ;;
	esac
done

# The debug kernel has everything but the driver built in.
[[ $flavour != debug ]] || more_modules=(drivers/net/ethernet/renesas)

here=$TOP/scripts/guest
files=("$here"/{init,initramfs-init,fstab,remote,README.rst})

# A root directory of arm64 packages. Unpacked only: no program of the other architecture runs, so what their
# maintainer scripts would have done, and is needed, is done by hand.
make_root() {
	local tmp=$1 mirror sources=/etc/apt/sources.list.d root=$1/root
	mirror=$(sed -n "s,^deb .*\(http[^ ]*\|file:[^ ]*\) $SUITE main$,\1,p" "$sources"/*.list)
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	echo "deb [signed-by=$keyring] $mirror $SUITE main" >"$tmp/debian.list"
	# shellcheck disable=SC2016 # $1 is for the hooks' shell
	as_root mmdebstrap --mode=root --architectures=arm64 --variant=extract --format=directory \
		--aptopt=/etc/apt/apt.conf.d/99mmdebstrap \
		--setup-hook='mkdir -p "$1/var/cache/apt/archives"; mount --bind '"'$CACHE/debs'"' "$1/var/cache/apt/archives"' \
		--skip=cleanup/apt,download/empty,extract/unlink,essential/unlink \
		--include="$(IFS=,; echo "${packages[*]}")" "$SUITE" "$root" "$tmp/debian.list"
	newer_packages "$tmp" "$mirror"
	# The packages were mounted in there, in a namespace that is gone.
	if mountpoint -q "$root/var/cache/apt/archives"; then die "the package cache is still mounted in $root"; fi
	rm -rf "$root"/usr/share/{doc,man,info,locale,lintian,bug,bash-completion,perl5,gcc,gdb,i18n} "$root"/var/{cache,lib}/apt \
		"$root"/var/lib/dpkg "$root"/usr/lib/{systemd,udev,gcc,valgrind} "$root"/usr/lib/*/gconv \
		"$root"/usr/lib/python3*/{idlelib,ensurepip,test,turtledemo} \
		"$root"/usr/share/{icons,pixmaps,applications,trace-cmd/python}
	# Device nodes cannot be made by everyone, and the kernel makes them anyway.
	rm -rf "${root:?}/dev"
	mkdir -p "$root"/{proc,sys,dev,run,tmp,root,mnt,etc,var/tmp,var/log,var/cache}
	cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
	cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
	sed -i 's/^root:\*:/root::/' "$root/etc/passwd"
	echo 'tcpdump:x:100:100::/nonexistent:/usr/sbin/nologin' >>"$root/etc/passwd"
	echo 'tcpdump:x:100:' >>"$root/etc/group"
	printf '%s\n' 'passwd: files' 'group: files' 'hosts: files' 'services: files' >"$root/etc/nsswitch.conf"
	printf '%s\n' '127.0.0.1 localhost' '::1 localhost' '127.0.1.1 guest' >"$root/etc/hosts"
	: >"$root/etc/resolv.conf"
	ln -sf /proc/self/mounts "$root/etc/mtab"
	[[ -e $root/usr/bin/sh ]] || ln -s dash "$root/usr/bin/sh"
	alternative "$root" awk mawk
	alternative "$root" nc nc.openbsd
	# An emulated processor takes a second to compile what a first import needs. The same version of Python writes the
	# same bytecode on any machine.
	local version
	version=$(cd "$root/usr/lib" && echo python3.[0-9]*)
	[[ $(readlink -f /usr/bin/python3) == */"$version" ]] ||
		die "the toolbox has another Python than the guest's $version"
	python3 -m compileall -q -j2 --invalidation-mode unchecked-hash -s "$root" -p / "$root/usr/lib/$version" \
		"$root/usr/lib/python3"
}

# alternative ROOT NAME PROGRAM: the link that update-alternatives would make.
alternative() {
	[[ -e $1/usr/bin/$3 ]] || die "the guest has no $3"
	ln -sf "$3" "$1/usr/bin/$2"
}

newer_packages() {
	local tmp=$1 mirror=$2 opts has package
	mkdir -p "$tmp"/apt/{lists/partial,cache}
	echo "deb [arch=arm64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $newer_suite main" >"$tmp/apt/list"
	opts=(-q -o Dir::Etc::sourcelist="$tmp/apt/list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$tmp/apt/lists"
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Dir::State::status=/dev/null)
	has=$(apt-cache show libc6:arm64 | sed -n 's/^Version: //p' | head -n 1)
	apt-get "${opts[@]}" update || :
	for package in "${newer[@]}"; do
		newer_package "$tmp" "$package" "$has" ||
			echo "$package of $SUITE, if any: $newer_suite has none that runs with $SUITE's libc6 $has" >>"$tmp/notes"
	done
}

# newer_package TMP PACKAGE LIBC: with apt's options of newer_packages.
newer_package() {
	local tmp=$1 package=$2 has=$3 version needs deb
	version=$(apt-cache "${opts[@]}" show "$package:arm64" | sed -n 's/^Version: //p' | head -n 1) &&
		needs=$(apt-cache "${opts[@]}" show "$package:arm64=$version" |
			sed -n 's/^Depends:.*libc6 (>= \([^)]*\)).*/\1/p') &&
		dpkg --compare-versions "${needs:-9999}" le "$has" &&
		(cd "$CACHE/debs" && apt-get "${opts[@]}" download "$package:arm64=$version") &&
		deb=$CACHE/debs/${package}_${version/:/%3a}_arm64.deb &&
		dpkg-deb -x "$deb" "$tmp/root" &&
		echo "$package $version of $newer_suite" >>"$tmp/notes"
}

# The Python libraries of the kernel's tests, and its tests of PTP clocks and XDP, laid out as an installed kselftest.
make_kselftest() {
	local tmp=$1 tree=$1/tree ksft=$1/usr/lib/kselftest bpf=$1/tree/tools/lib/bpf deb program
	deb=$("$TOP/scripts/kernel.sh" --source-package "$flavour")
	mkdir -p "$tree" "$ksft"/{net/lib,drivers/net/hw,ptp}
	dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$source.tar.xz" | xz -dc -T2 |
		tar -x -C "$tree" --strip-components=1 "$source"/tools/testing/selftests/{net/lib,drivers/net,ptp} \
			"$source"/{tools/net/ynl,Documentation/netlink/specs,include/uapi/linux/{ptp_clock,bpf}.h,tools/lib/bpf,scripts/bpf_doc.py}
	mv "$tree/tools/testing/selftests/net/lib"/{py,sh} "$ksft/net/lib/"
	mv "$tree/tools/testing/selftests/drivers/net/lib" "$ksft/drivers/net/"
	mv "$tree/tools/testing/selftests/drivers/net/hw/lib" "$ksft/drivers/net/hw/"
	mkdir "$ksft/net/lib/ynl"
	mv "$tree/tools/net/ynl/pyynl" "$ksft/net/lib/ynl/"
	mv "$tree/Documentation/netlink/specs" "$ksft/net/lib/"
	mv "$tree/tools/testing/selftests/ptp/phc.sh" "$ksft/ptp/"
	# Of the headers, this is the one that has to be the kernel's own: it grows with testptp.
	aarch64-linux-gnu-gcc -O2 -I "$tree/include/uapi" -o "$ksft/ptp/testptp" "$tree/tools/testing/selftests/ptp/testptp.c"
	mv "$tree/tools/testing/selftests/drivers/net/xdp.py" "$ksft/drivers/net/"
	mv "$tree/tools/testing/selftests/drivers/net/hw/pp_alloc_fail.py" "$ksft/drivers/net/hw/"
	python3 "$tree/scripts/bpf_doc.py" --header --file "$tree/include/uapi/linux/bpf.h" >"$bpf/bpf_helper_defs.h"
	for program in xdp_native xdp_dummy; do
		clang-19 -O2 -g -target bpf -mcpu=v3 -I "$tree/include/uapi" -I "$tree/tools/lib" -I /usr/include/x86_64-linux-gnu \
			-c "$tree/tools/testing/selftests/net/lib/$program.bpf.c" -o "$ksft/net/lib/$program.bpf.o"
	done
	# By this file lib/py knows that it is not in the kernel tree.
	: >"$ksft/kselftest-list.txt"
	cp "$here/remote_agent.py" "$ksft/drivers/net/lib/py/"
	python3 -m compileall -q -j2 --invalidation-mode unchecked-hash -s "$tmp" -p / "$ksft"
	rm -rf "$tree"
}

make_guest() {
	local tmp=$1 root=$1/root kernel=$2 base=$3 kselftest=$4 module
	local from=$kernel/modules/lib/modules/$release to=$1/root/usr/lib/modules/$release
	cp -a "$base/root" "$root"
	cp -a "$kselftest/usr" "$root/"
	mkdir -p "$root/usr/lib/ravb" "$root/usr/local/bin" "$to"
	cp "$here"/{init,README.rst} "$root/usr/lib/ravb/"
	cp "$here/remote" "$root/usr/local/bin/"
	cp "$here/fstab" "$root/etc/"
	mkdir -p "$root"/usr/lib/ravb/dev/{pts,shm}
	ln -s /proc/self/fd "$root/usr/lib/ravb/dev/fd"
	for module in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${module%:*}" "$root/usr/lib/ravb/dev/${module#*:}"; done
	# Uncompressed: the image is compressed as a whole, and this way the emulated processor need not undo xz.
	(
		cd "$from/kernel"
		# A flavour need not have all of them.
		find "${modules[@]}" -name '*.ko*' 2>/dev/null | grep -Ev "$no_modules" || true
		find "${more_modules[@]}" -name '*.ko*'
	) | (cd "$from/kernel" && cpio -pdm --quiet "$to/kernel")
	cp "$from"/modules.{builtin,builtin.modinfo,order} "$to/"
	find "$to" -name '*.xz' -print0 | xargs -0r -n 64 -P 2 xz -d
	depmod -b "$root" "$release"
	# Programs must not depend on when this was made: the same inputs give the same image.
	mkfs.erofs -zlz4 -T0 -U00000000-0000-0000-0000-000000000000 "$tmp/root.img" "$root"

	local early_root=$tmp/early list applet
	mkdir -p "$early_root"/{bin,early,dev,image,rw,root}
	cp "$root/usr/bin/busybox" "$early_root/bin/"
	for applet in $applets; do ln -s busybox "$early_root/bin/$applet"; done
	cp "$here/initramfs-init" "$early_root/init"
	chmod 755 "$early_root/init"
	# What modprobe would load, in its order.
	list=$(for module in "${early[@]}"; do
		modprobe -d "$root" -S "$release" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }')
	for module in $list; do
		cp "$module" "$early_root/early/"
		echo "${module##*/}" >>"$early_root/early/order"
	done
	archive "$early_root" >"$tmp/initrd.cpio"
	mkdir "$tmp/image"
	ln "$tmp/root.img" "$tmp/image/root.img"
	{ cat "$tmp/initrd.cpio"; archive "$tmp/image"; } >"$tmp/initrd-ram.cpio"
	ln "$kernel/vmlinuz" "$tmp/vmlinuz" 2>/dev/null || cp "$kernel/vmlinuz" "$tmp/vmlinuz"
	cat "$kernel/versions" >"$tmp/versions"
	printf 'notes=%q\n' "$(cat "$base/notes")" >>"$tmp/versions"
	rm -rf "$root" "$early_root" "$tmp/image"
}

# archive DIRECTORY: as a cpio archive that does not depend on time or user.
archive() {
	(cd "$1" && find . -exec touch -hd @0 {} + && find . -mindepth 1 | sort | cpio -o -H newc -R 0:0 --reproducible --quiet)
}

# The functions that make a part are in its key.
kernel=$("$TOP/scripts/kernel.sh" "$flavour" --where)
base=$CACHE/guestroot-$(key "$(declare -f make_root alternative newer_packages newer_package)" "${packages[@]}" \
	"$newer_suite" "${newer[@]}")
kselftest=$CACHE/kselftest-$(key "$(declare -f make_kselftest)" "$(basename "$("$TOP/scripts/kernel.sh" --where)")" \
	"$(key_files "$here/remote_agent.py")")
where=$CACHE/guest-$flavour-$(key "$(declare -f make_guest archive)" "${base##*/}" "${kselftest##*/}" "${kernel##*/}" \
	"${modules[@]}" "$no_modules" "${more_modules[@]}" "${early[@]}" "$applets" "$(key_files "${files[@]}")")

if [[ ! -d $where ]]; then
	[[ ${RAVB_TOOLBOX:-} == 1 ]] || exec "$TOP/scripts/tb" "$TOP/scripts/${0##*/}" "$flavour" ${action:+"$action"}
	lock "guest-$flavour"
	if [[ ! -d $where ]]; then
		"$TOP/scripts/kernel.sh" "$flavour"
		release='' source=''
		# shellcheck source=/dev/null
		. "$kernel/versions"
		lock guest-parts
		if [[ ! -d $kselftest ]]; then
			tmp=$(new_part kselftest)
			step "the kernel's tests" make_kselftest "$tmp"
			mv -T "$tmp" "$kselftest"
		fi
		if [[ ! -d $base ]]; then
			tmp=$(new_part guestroot)
			step "guest: ${#packages[@]} arm64 packages and what they need" make_root "$tmp"
			say "$(cat "$tmp/notes")"
			mv -T "$tmp" "$base"
		fi
		tmp=$(new_part "guest-$flavour")
		step "guest: root image for $release" make_guest "$tmp" "$kernel" "$base" "$kselftest"
		mv -T "$tmp" "$where"
		prune guestroot "$base"
		prune kselftest "$kselftest"
		prune "guest-$flavour" "$where"
		say "guest: ready after $SECONDS s, root image $(($(stat -c %s "$where/root.img") >> 20)) MB: $where"
	fi
fi
[[ $action != --print ]] || printf '%s\n' "$where"
