# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by tests/*.sh. Protocol, one line per test on stdout:
#	ok NAME | not ok NAME: why | skip NAME: why
# Everything else is noise, which scripts/test shows when something failed.
# TMP is a directory of this run; it, the cgroups of mkcg and their processes go away at exit.

ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
BUILD=${BUILD:-$ROOT/build}
TOOLS=$BUILD/tests/tools
PYTHON=/usr/bin/python3 # Debian's: the one python3-h5py belongs to
TMP=$(mktemp -d "${TMPDIR:-/tmp}/jobprof-test.XXXXXX")
TEST_CGROUPS=()
TEST_PIDS=()

ok() { printf 'ok %s\n' "$1"; }
not_ok() { printf 'not ok %s: %s\n' "$1" "${*:2}"; }
skip() { printf 'skip %s: %s\n' "$1" "${*:2}"; }

# check NAME COMMAND ...: ok when COMMAND succeeds.
check() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then ok "$name"; else
		printf '%s\n' "$out"
		not_ok "$name" "failed: $*: $(printf '%s\n' "$out" | tail -n 1)"
	fi
}

# is NAME GOT WANTED
is() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got '$2', wanted '$3'"; fi
}

# has NAME TEXT PATTERN: TEXT holds the extended regular expression PATTERN.
has() {
	if printf '%s\n' "$2" | grep -qE -- "$3"; then ok "$1"; else
		not_ok "$1" "no '$3' in '$(printf '%s' "$2" | tr '\n' '|' | cut -c1-300)'"
	fi
}

# The whole script is skipped, under its own name.
skip_all() {
	skip "$(basename "$0")" "$*"
	exit 0
}

need_root() { [ "$(id -u)" -eq 0 ] || skip_all "needs root"; }

need_bpf() {
	need_root
	[ -r /sys/kernel/btf/vmlinux ] || skip_all "the kernel has no BTF"
	bpftool prog show >/dev/null 2>&1 || skip_all "the kernel allows no BPF"
}

need_cmd() {
	local c
	for c in "$@"; do
		command -v "$c" >/dev/null || skip_all "there is no $c"
	done
}

# Where cgroup v2 is mounted; fails where it is not.
cgroup2_mount() {
	awk '{ for (i = 7; i < NF; i++) if ($i == "-" && $(i + 1) == "cgroup2") { print $5; exit } }' \
		/proc/self/mountinfo | grep .
}

# cgroup1_mount CONTROLLER, e.g. memory or freezer.
cgroup1_mount() {
	awk -v c="$1" '{ for (i = 7; i < NF; i++) if ($i == "-" && $(i + 1) == "cgroup" &&
			("," $(i + 3) ",") ~ ("," c ",")) { print $5; exit } }' /proc/self/mountinfo | grep .
}

# mkcg NAME [MOUNT]: makes the cgroup (NAME may have several parts) and sets CG to its directory.
# To be called in this shell, not in $( ): it notes what is to be removed.
mkcg() {
	local mnt part dir
	mnt=${2:-$(cgroup2_mount)} || return 1
	dir=$mnt
	local IFS=/
	for part in $1; do
		dir=$dir/$part
		[ -d "$dir" ] || { mkdir "$dir" && TEST_CGROUPS+=("$dir"); } || return 1
	done
	CG=$dir
}

# own_pid PID ...: killed at exit should it still be there.
own_pid() { TEST_PIDS+=("$@"); }

kill_members() { # DIR
	local p
	for p in $(find "$1" -name cgroup.procs -exec cat {} + 2>/dev/null); do
		[ "$p" = 0 ] || [ "$p" = $$ ] || kill -KILL "$p" 2>/dev/null
	done
}

rm_cgroups() {
	local i try sub
	for ((i = ${#TEST_CGROUPS[@]} - 1; i >= 0; i--)); do
		for try in 1 2 3 4 5 6 7 8 9 10; do
			[ -d "${TEST_CGROUPS[i]}" ] || break
			kill_members "${TEST_CGROUPS[i]}"
			find "${TEST_CGROUPS[i]}" -depth -type d -exec rmdir {} \; 2>/dev/null
			[ -d "${TEST_CGROUPS[i]}" ] || break
			sleep 0.05
		done
		[ ! -d "${TEST_CGROUPS[i]}" ] || echo "left behind: ${TEST_CGROUPS[i]}"
	done
}

cleanup() {
	local p
	trap - EXIT
	for p in "${TEST_PIDS[@]}"; do kill -KILL "$p" 2>/dev/null; done
	rm_cgroups
	rm -rf "$TMP"
}
trap cleanup EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# wait_for SECONDS COMMAND ...: tries every 50 ms.
wait_for() {
	local end=$((SECONDS + $1 + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}
