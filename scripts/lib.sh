# shellcheck shell=bash
# Sourced by the scripts beside it: where we are, who we are, what the kernel's file systems need.
# Sets ROOT (the top of the tree) and OWNER (see below).

ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# --help of a script is the comment it begins with.
case "${1:-}" in
-h | --help)
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
	exit 0
	;;
esac

need_root() {
	[ "$(id -u)" -eq 0 ] || die "needs root: run it with sudo"
}

# uid:gid of the user who called sudo; empty for root itself.
OWNER=
if [ "$(id -u)" -eq 0 ] && [ "${SUDO_UID:-0}" != 0 ]; then
	OWNER=$SUDO_UID:${SUDO_GID:-$SUDO_UID}
fi

# What root builds in a user's tree belongs to the user, or the next plain make would fail.
give_to_invoking_user() {
	[ -z "$OWNER" ] || chown -hR "$OWNER" "$@" 2>/dev/null || true
}

is_mounted() { # DIR TYPE
	awk -v d="$1" -v t="$2" '$5 == d { for (i = 7; i < NF; i++) if ($i == "-" && $(i + 1) == t) found = 1 }
		END { exit !found }' /proc/self/mountinfo
}

# A container may forbid it: what then fails says so itself.
mount_kernel_fs() {
	is_mounted /sys/fs/bpf bpf ||
		{ mkdir -p /sys/fs/bpf && mount -t bpf bpf /sys/fs/bpf; } 2>/dev/null ||
		printf '%s: cannot mount bpffs on /sys/fs/bpf\n' "${0##*/}" >&2
	is_mounted /sys/kernel/tracing tracefs || is_mounted /sys/kernel/debug/tracing tracefs ||
		mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null ||
		printf '%s: cannot mount tracefs on /sys/kernel/tracing\n' "${0##*/}" >&2
}

# A new directory that only its owner can enter.
tmp_for() { # PREFIX
	mktemp -d "${TMPDIR:-/tmp}/$1.XXXXXX"
}

jobs_for_make() {
	printf '%s' "-j$(nproc 2>/dev/null || echo 1)"
}
