# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# What the set-up scripts share. Source it: it defines functions and a few variables, and does nothing else.
#
#   TOP    the repository          CACHE   where everything slow is kept, see cache_dir()
#
# A part of the cache is one directory $CACHE/<part>-<key>, where the key is a digest of all that the part is made
# from. It is made beside its final name and renamed when complete, so a directory that exists is a whole one.

set -euo pipefail
# Names must sort the same everywhere, or keys would depend on the user's language.
export LC_ALL=C.UTF-8

# shellcheck disable=SC2034 # for those who source this
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/ravb-rs
SUITE=trixie
me=$(basename "$0")

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { say "$*"; exit 1; }

# need TOOL PACKAGE: stop with the one line that helps when a program is missing.
need() {
	command -v "$1" >/dev/null 2>&1 || PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1 ||
		die "'$1' is missing: install the package $2"
}

# key WORD...: 12 hex digits that change when any word changes. key_files does the same for the contents of files.
key() { printf '%s\0' "$@" | sha256sum | cut -c1-12; }
key_files() { cat -- "$@" | sha256sum | cut -c1-12; }

# lock NAME: one run at a time works on a part; a second one waits and then finds the work done. Held until exit.
lock() {
	mkdir -p "$CACHE"
	exec {lock_fd}>"$CACHE/.$1.lock"
	flock -n "$lock_fd" && return
	say "another run is setting up $1: waiting for it"
	flock "$lock_fd"
}

# in_use DIR: hold DIR against prune() for as long as this process and what it starts live.
in_use() {
	exec {use_fd}<"$1"
	flock -s -n "$use_fd" || die "$1 is being removed by another run: try again"
}

# new_part PART: an empty directory to make a part in, to be renamed when it is complete. What interrupted runs left
# is removed; the caller holds the lock.
new_part() {
	local old
	for old in "$CACHE/.new-$1".??????; do
		[[ ! -e $old ]] || remove "$old"
	done
	mktemp -d "$CACHE/.new-$1.XXXXXX"
}

# prune PART KEEP: remove directories of PART that older inputs left behind and that no process holds. What was made
# within a day may be another clone's, which would only make it again.
prune() {
	local old fd
	for old in "$CACHE/$1"-????????????; do
		[[ -d $old && $old != "$2" && -n $(find "$old" -maxdepth 0 -mmin +1440) ]] || continue
		exec {fd}<"$old"
		if flock -n "$fd"; then
			say "removing ${old##*/}, which is out of date"
			remove "$old"
		fi
		exec {fd}<&-
	done
}

# remove DIR: the name disappears at once, so that an interrupted removal leaves no half directory behind.
remove() {
	[[ -e $1 ]] || return 0
	local trash
	# What is mounted in there is not ours to remove.
	! grep -qF " $1/" /proc/self/mountinfo || die "something is mounted in $1"
	trash=$(mktemp -d "$CACHE/.trash.XXXXXX")
	mv -- "$1" "$trash/"
	as_root rm -rf --one-file-system -- "$trash"
}

# as_root CMD...: as root, or as root of a user namespace in which the user's subordinate ids are mapped, since
# what Debian's packages unpack belongs to several ids.
as_root() {
	# A mount namespace in either case: mounts that a command makes vanish with it, however it ends.
	if ((EUID == 0)); then
		unshare --mount "$@"
		return
	fi
	need newuidmap uidmap
	grep -q "^\($(id -un)\|$(id -u)\):" /etc/subuid 2>/dev/null ||
		die "user $(id -un) has no subordinate ids: as root, run 'usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)'"
	unshare --user --map-root-user --map-auto --setuid 0 --setgid 0 --mount "$@"
}

# step TEXT CMD...: run CMD (a program or a function; in a process of its own, so variables it sets are lost) with its
# output in a log; show TEXT and the seconds it has taken, and the end of the log if CMD fails. On a terminal the line
# counts along; elsewhere one is added twice a minute.
step() {
	local text=$1 start=$SECONDS log rc=0
	shift
	mkdir -p "$CACHE/log"
	log=$CACHE/log/${me%.sh}.log
	printf '\n== %s: %s\n' "$(date -u +%FT%TZ)" "$text" >>"$log"
	# As a job with a process group, for two reasons: all that it started can be ended with us, and bash would ignore
	# errors inside a function that is called under '||'.
	set -m
	"$@" </dev/null >>"$log" 2>&1 &
	step_pid=$!
	set +m
	ticker "$text" "$log" &
	ticker_pid=$!
	trap 'kill -- "-$step_pid" "$ticker_pid" 2>/dev/null' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	wait "$step_pid" || rc=$?
	trap - EXIT INT TERM HUP
	kill "$ticker_pid" 2>/dev/null || true
	wait "$ticker_pid" 2>/dev/null || true
	[[ ! -t 2 ]] || printf '\r\033[K' >&2
	if ((rc)); then
		tail -n 25 "$log" >&2
		die "$text: failed with status $rc after $((SECONDS - start)) s (all of its output: $log)"
	fi
	say "$text: $((SECONDS - start)) s"
}

ticker() {
	local n=0 last
	while sleep 1 && kill -0 $$ 2>/dev/null; do
		n=$((n + 1))
		if [[ -t 2 ]] || ((n % 30 == 0)); then
			last=$(tail -c 300 "$2" | tr '\r' '\n' | tail -n 1 | tr -cd '[:print:]')
			[[ $last != "== "* ]] || last=
			if [[ -t 2 ]]; then
				printf '\r\033[K%s: %s ... %d s  %.60s' "$me" "$1" "$n" "$last" >&2
			else
				printf '%s: %s ... %d s  %.80s\n' "$me" "$1" "$n" "$last" >&2
			fi
		fi
	done
}

# debian_mirror: the base address of a Debian mirror that has our suites. It comes from RAVB_MIRROR or from this
# machine's own apt sources (either format), whatever release they are for.
debian_mirror() {
	local base suites='(stable|testing|unstable|sid|oldstable|oldoldstable|[a-z]+)(-updates|-backports|-proposed-updates)?'
	if [[ -n ${RAVB_MIRROR:-} ]]; then
		printf '%s\n' "${RAVB_MIRROR%/}"
		return
	fi
	need apt-get apt
	# 'update --print-uris' knows both source formats and asks no network.
	while read -r base; do
		case $base in
		mirror+file:*) # a list of mirrors, as Debian's cloud images have it: take the first
			base=$(sed -n '/^[a-z]/{s/[[:space:]].*//;p;q}' "/${base#mirror+file:/}" | sed 's,/*$,,') ;;
		esac
		if fetch "$base/dists/$SUITE-backports/InRelease" /dev/stdout 2>/dev/null | grep -q '^Origin: Debian Backports'; then
			printf '%s\n' "$base"
			return
		fi
	done < <(apt-get update --print-uris 2>/dev/null |
		sed -nE "s,^'([^']*[^/])/+dists/$suites/InRelease'.*,\1,p" | grep -v '/debian-security$' | sort -u)
	die "none of this machine's apt sources is a Debian mirror with $SUITE: set RAVB_MIRROR to the address of one"
}

# fetch URL FILE: with apt's own downloader, which knows this machine's proxy and certificates.
fetch() {
	local tmp
	if [[ -x /usr/lib/apt/apt-helper ]]; then
		tmp=$(mktemp -d)
		chmod 755 "$tmp"
		if /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$1" "$tmp/f" >/dev/null; then
			cat "$tmp/f" >"$2"
			rm -rf "$tmp"
			return
		fi
		rm -rf "$tmp"
	fi
	return 1
}

# apt_settings: how this machine's apt reaches its mirrors (proxy, retries, clock), in apt.conf form.
apt_settings() {
	apt-config dump 2>/dev/null |
		grep -E '^Acquire::((http|https|ftp)::|Retries|ForceIPv|Check-(Valid-Until|Date)|Max-ValidTime)' |
		grep -Ev '^Acquire::[^ ]*Methods| "";$' || true
	printf '%s\n' 'APT::Install-Recommends "false";' 'APT::Sandbox::User "root";' 'Acquire::Languages "none";' \
		'Acquire::GzipIndexes "true";'
}
