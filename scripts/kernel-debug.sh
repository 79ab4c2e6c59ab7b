#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The debug kernel: the source of Debian's kernel with its checkers on (scripts/kernel-debug.config), built with clang
# since Rust under KASAN needs it, and small enough to be built in minutes. Our driver is a module of that tree
# (scripts/module.sh debug), apart from the kernel: a change of the driver builds the driver only.
#
#   scripts/kernel-debug.sh            make it
#   scripts/kernel-debug.sh --print    the same, and print its directory
#   scripts/kernel-debug.sh --where    print its directory whether or not it is there
#   scripts/kernel-debug.sh --driver   copy the driver into its source, as it stands here; the caller holds build/.lock
#
# In the directory: what scripts/kernel.sh puts there for Debian's own kernels (vmlinuz, config, modules, versions), and
# src/ and build/, the source and object trees.

. "$(dirname "$0")/common.sh"

action=${1:-}
case $action in
'' | --print | --where | --driver) ;;
*) die "unknown argument '$action' (see the head of $0)" ;;
esac

fragment=$TOP/scripts/kernel-debug.config
# What is a part of the kernel's tree, where this repository's driver is one.
driver=(Kbuild Kconfig ravb_rs.rs wait.rs net ravb inject wait)
place=drivers/net/ethernet/renesas/ravb_rs
make_flags=(ARCH=arm64 LLVM=1 -j2)

# Left out of the source: what only hardware needs that is not there. Kconfig files and Makefiles stay. (arm64 selects
# the class of power supplies.)
without=(
	Documentation samples sound drivers/{accel,comedi,crypto,gpu,hid,hwmon,iio,infiniband,input,isdn,md,media,message,mfd,misc,mmc,mtd}
	drivers/{nvme,phy,pinctrl,platform,power/{reset,sequencing},regulator,scsi,soundwire,spi,staging,target,thunderbolt,usb,video,w1}
	drivers/net/{can,dsa,ipa,usb,wan,wireless,wwan} fs/{bcachefs,btrfs,ceph,ext4,f2fs,gfs2,jfs,nfs,nfsd,ntfs3,ocfs2,smb,ubifs,udf,xfs}
	net/{bluetooth,mac80211,wireless,sctp,tipc,rds,sunrpc,batman-adv,ceph,can}
	tools/{perf,testing,power,memory-model,tracing,verification,usb,iio,virtio,net,hv,gpio,mm,sched,sched_ext,rcu,thermal}
	arch/{alpha,arc,arm,csky,hexagon,loongarch,m68k,microblaze,mips,nios2,openrisc,parisc,powerpc,riscv,s390,sh,sparc,um,xtensa}
	arch/arm64/boot/dts drivers/net/ethernet
)
keep=drivers/net/ethernet/renesas

unpack() {
	local deb build=(Kconfig\* Makefile\* Kbuild\*)
	deb=$("$TOP/scripts/kernel.sh" --source-package)
	rm -rf "$where/src" "$where/pipe"
	mkdir -p "$where/src"
	mkfifo "$where/pipe"
	tar -x -C "$where/src" --strip-components=1 --wildcards "$source/$keep" "${build[@]/#/*/}" <"$where/pipe" &
	dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$source.tar.xz" | xz -dc -T2 | tee "$where/pipe" |
		tar -x -C "$where/src" --strip-components=1 "${build[@]/#/--exclude=}" "${without[@]/#/--exclude=$source/}"
	wait $!
	rm "$where/pipe"
	# Ours is there with its configuration; its code comes when it is built.
	mkdir "$where/src/$place"
	cp "$TOP/Kconfig" "$where/src/$place/"
	: >"$where/src/$place/Makefile"
	# shellcheck disable=SC2016 # the variable is make's
	printf 'obj-$(CONFIG_RAVB_RS) += %s/\n' "${place##*/}" >>"$where/src/${place%/*}/Makefile"
	sed -i "s,^endif.*NET_VENDOR_RENESAS,source \"$place/Kconfig\"\n\n&," "$where/src/${place%/*}/Kconfig"
}

configure() {
	local option lost=0
	mkdir -p "$where/build"
	make "${make_flags[@]}" -C "$where/src" O="$where/build" KCONFIG_ALLCONFIG="$fragment" allnoconfig
	# What is not available vanishes without a word.
	while read -r option; do
		case $option in
		*=n) ! grep -q "^${option%=n}=" "$where/build/.config" || { echo "set: $option"; lost=1; } ;;
		CONFIG_*) grep -qxF "$option" "$where/build/.config" || { echo "lost: $option"; lost=1; } ;;
		esac
	done <"$fragment"
	((!lost)) || die "not all options of ${fragment##*/} took effect"
}

build_all() {
	nice -n 10 make "${make_flags[@]}" -C "$where/src" O="$where/build" Image modules
}

install_parts() {
	local release
	release=$(cat "$where/build/include/config/kernel.release")
	rm -rf "$where/modules"
	make "${make_flags[@]}" -C "$where/src" O="$where/build" INSTALL_MOD_PATH="$where/modules" modules_install
	rm -f "$where/modules/lib/modules/$release"/{build,source}
	cp "$where/build/arch/arm64/boot/Image" "$where/vmlinuz"
	cp "$where/build/.config" "$where/config"
	cp "$where/build/Module.symvers" "$where/"
	printf '%s=%q\n' flavour debug release "$release" version "$version" source "$source" >"$where/versions"
}

# copy_driver: only files that differ are touched, so that only they are compiled again, whichever clone came before.
copy_driver() {
	local to=$where/src/$place
	rm -f "$to/Makefile"
	(cd "$TOP" && rsync --recursive --checksum --delete --exclude='*.o' --exclude='.*' --exclude=README.md --delete-excluded \
		"${driver[@]}" "$to/")
}

stock=$("$TOP/scripts/kernel.sh" stock --where)
where=$CACHE/kernel-debug-$(key "$(grep ^pinned= "$TOP/scripts/kernel.sh")" "$(basename "$("$TOP/scripts/toolbox.sh" --where)")" \
	"${make_flags[@]}" "${without[@]}" "$place" "$(declare -f unpack configure build_all install_parts)" \
	"$(key_files "$fragment" "$TOP/Kconfig")")
if [[ $action == --where ]]; then
	printf '%s\n' "$where"
	exit
fi

# The tree has its own path in it, so it is made in place, as in scripts/sdk.sh.
stage() {
	[[ ! -e $where/.$1 ]] || return 0
	step "$2" "$3"
	touch "$where/.$1"
}

if [[ ! -e $where/.done ]]; then
	[[ ${RAVB_TOOLBOX:-} == 1 ]] || exec "$TOP/scripts/tb" "$TOP/scripts/${0##*/}" ${action:+"$action"}
	lock kernel-debug
	if [[ ! -e $where/.done ]]; then
		"$TOP/scripts/kernel.sh" stock
		version='' source=''
		# shellcheck source=/dev/null
		. "$stock/versions"
		mkdir -p "$where"
		stage unpacked "debug kernel 1/4: source of $version" unpack
		stage configured "debug kernel 2/4: configuration" configure
		stage built "debug kernel 3/4: kernel and modules (about 10 minutes)" build_all
		stage installed "debug kernel 4/4: what the guest needs" install_parts
		touch "$where/.done"
		prune kernel-debug "$where"
		say "debug kernel: ready after $SECONDS s: $where"
	fi
fi
case $action in
--print) printf '%s\n' "$where" ;;
--driver) copy_driver ;;
esac
