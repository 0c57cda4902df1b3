// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes rights from a process: one table says which capabilities and system calls each kind keeps.
 */
#include "pool/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "pool/pool_internal.h"

#define DESCRIPTORS 64

struct call {
	int number;
	struct scmp_arg_cmp is; /* of an argument; op 0: any */
};

/* clang-format off */
#define ANY(call)			{SCMP_SYS(call), {0}}
#define WITH(call, arg, value)		{SCMP_SYS(call), {arg, SCMP_CMP_EQ, value, 0}}
#define MASKED(call, arg, mask, value)	{SCMP_SYS(call), {arg, SCMP_CMP_MASKED_EQ, mask, value}}

/* Nothing of jobprof's makes these, nor what it starts. */
static const struct call of_nobody[] = {
	ANY(init_module), ANY(finit_module), ANY(delete_module), ANY(kexec_load),
	ANY(kexec_file_load), ANY(reboot), ANY(swapon), ANY(swapoff), ANY(mount), ANY(umount2),
	ANY(pivot_root), ANY(chroot), ANY(move_mount), ANY(open_tree), ANY(fsopen), ANY(fsconfig),
	ANY(fsmount), ANY(fspick), ANY(mount_setattr), ANY(setns), ANY(unshare), ANY(ptrace),
	ANY(process_vm_readv), ANY(process_vm_writev), ANY(process_madvise), ANY(pidfd_getfd),
	ANY(kcmp), ANY(clock_settime), ANY(settimeofday), ANY(adjtimex), ANY(clock_adjtime),
	ANY(iopl), ANY(ioperm), ANY(modify_ldt), ANY(acct), ANY(quotactl), ANY(sethostname),
	ANY(setdomainname), ANY(syslog), ANY(userfaultfd), ANY(io_uring_setup),
	ANY(io_uring_enter), ANY(io_uring_register), ANY(open_by_handle_at), ANY(fanotify_init),
	ANY(lookup_dcookie), ANY(uselib), ANY(ustat), ANY(sysfs), ANY(vhangup),
};

/* What only jobprofd itself needs. Others have no capability to change their ids. */
static const struct call of_daemon[] = {ANY(bpf), ANY(perf_event_open)};

/* With the descriptors that a process has, and memory without code. */
static const struct call at_work[] = {
	ANY(recvmsg), ANY(recvfrom), ANY(sendto), ANY(poll), ANY(ppoll), ANY(restart_syscall),
	ANY(read), ANY(pread64), ANY(lseek), ANY(fstat), ANY(close), ANY(mremap), ANY(munmap),
	ANY(madvise), ANY(brk), ANY(futex), ANY(clock_gettime), ANY(exit), ANY(exit_group),
	/* glibc's fstat(3); a path would need rights, but none is opened by this call */
	MASKED(newfstatat, 3, AT_EMPTY_PATH, AT_EMPTY_PATH),
	WITH(fcntl, 1, F_GETFD),
	MASKED(mmap, 2, PROT_EXEC, 0),
	MASKED(mprotect, 2, PROT_EXEC, 0),
};

#define NOT_TO_WRITE (O_ACCMODE | O_CREAT | O_TRUNC | O_TMPFILE)

/* In addition, a process that reads HDF5 and ELF files opens files to read, by its own rights or by the
 * process that opens files of others, and writes results to what is open. writev(2) is not among the
 * calls: the C library uses it to report corrupted memory, and then the parent logs the error. */
static const struct call of_readers[] = {
	MASKED(openat, 2, NOT_TO_WRITE & ~O_DIRECTORY, 0),
	ANY(stat), ANY(lstat), ANY(newfstatat), ANY(statx), ANY(access), ANY(faccessat),
	ANY(faccessat2), ANY(readlink), ANY(readlinkat), ANY(getdents64), ANY(getcwd),
	ANY(readv), ANY(preadv), ANY(write), ANY(pwrite64), ANY(ftruncate), ANY(fsync),
	ANY(flock), ANY(sendmsg), ANY(dup), ANY(setitimer), ANY(prlimit64), ANY(rt_sigaction),
	ANY(rt_sigprocmask), ANY(rt_sigreturn), ANY(getpid), ANY(gettid), ANY(getppid), ANY(getuid),
	ANY(geteuid), ANY(getgid), ANY(getegid), ANY(getrandom), ANY(gettimeofday), ANY(time),
	ANY(getrusage), ANY(times), ANY(uname), ANY(sysinfo), ANY(sched_getaffinity),
	ANY(sched_yield),
	WITH(fcntl, 1, F_SETFD), WITH(fcntl, 1, F_GETFL), WITH(fcntl, 1, F_DUPFD),
	WITH(fcntl, 1, F_DUPFD_CLOEXEC),
	WITH(ioctl, 1, TCGETS), WITH(ioctl, 1, TIOCGWINSZ), WITH(socketpair, 0, AF_UNIX),
};

/* In addition, the calls of a reader that starts workers, which are readers with the same rights. */
static const struct call of_parents[] = {
	ANY(clone), ANY(clone3), ANY(set_robust_list), ANY(wait4), ANY(waitid), ANY(pipe2),
	ANY(kill), ANY(tgkill), WITH(prctl, 0, PR_SET_PDEATHSIG), WITH(fcntl, 1, F_SETPIPE_SZ),
};

/* In addition, jobprof-writer makes files in one directory, and has children that confine themselves. */
static const struct call of_writers[] = {
	ANY(openat), ANY(mkdirat), ANY(renameat), ANY(renameat2), ANY(linkat), ANY(unlink),
	ANY(unlinkat), ANY(rename), ANY(fchmod), ANY(fchmodat), ANY(fchown), ANY(fchownat),
	ANY(fdatasync), ANY(fallocate), ANY(copy_file_range), ANY(sendfile), ANY(writev),
	ANY(pwritev), ANY(utimensat), ANY(fstatfs), ANY(fcntl), ANY(umask), ANY(alarm), ANY(prctl),
	ANY(clock_nanosleep), ANY(rt_sigtimedwait), ANY(close_range), ANY(seccomp), ANY(capget),
	ANY(capset), ANY(setgroups), ANY(setresuid), ANY(setresgid),
};

/* In addition, a journal goes to a pipe. */
static const struct call of_copies[] = {ANY(sendfile), ANY(write)};
/* clang-format on */

#define LIST(calls)                                       \
	{                                                 \
		calls, sizeof(calls) / sizeof((calls)[0]) \
	}
#define LISTS_MAX 4
#define CAP(name) (UINT64_C(1) << CAP_##name)
#define ONLY	  SCMP_ACT_ERRNO(EPERM)
#define ALL_BUT	  SCMP_ACT_ALLOW

/* As the unit's, and what is in it only by hand or by a drop-in: NET_ADMIN attaches programs that
 * count packets, SYS_RAWIO reads registers of processors. */
#define OF_DAEMON                                                                              \
	(CAP(BPF) | CAP(PERFMON) | CAP(SYS_ADMIN) | CAP(DAC_READ_SEARCH) | CAP(DAC_OVERRIDE) | \
	 CAP(FOWNER) | CAP(FSETID) | CAP(CHOWN) | CAP(SETUID) | CAP(SETGID) | CAP(KILL) |      \
	 CAP(SYS_PTRACE) | CAP(SYSLOG) | CAP(CHECKPOINT_RESTORE) | CAP(NET_ADMIN) |            \
	 CAP(SYS_RAWIO))

/* other: what becomes of a call that is in no list; those in the lists fail where that is ALL_BUT,
 * and pass else. */
static const struct {
	uint64_t keeps;
	uint32_t other;
	struct list {
		const struct call *calls;
		size_t n;
	} lists[LISTS_MAX];
} kinds[] = {
	[CONFINE_DAEMON] = {OF_DAEMON, ALL_BUT, {LIST(of_nobody)}},
	[CONFINE_LOOKUP] = {CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE) | CAP(DAC_READ_SEARCH),
			    ALL_BUT,
			    {LIST(of_nobody), LIST(of_daemon)}},
	/* KILL: its death ends its child, which has other ids */
	[CONFINE_CODE] = {CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE) | CAP(DAC_READ_SEARCH) |
				  CAP(KILL),
			  ONLY,
			  {LIST(at_work), LIST(of_readers)}},
	[CONFINE_UNWIND] = {0, SCMP_ACT_KILL_PROCESS, {LIST(at_work)}},
	[CONFINE_COPY] = {0, ONLY, {LIST(at_work), LIST(of_copies)}},
	[CONFINE_SLURM] = {CAP(DAC_READ_SEARCH), ALL_BUT, {LIST(of_nobody), LIST(of_daemon)}},
	[CONFINE_VERB] = {0, ALL_BUT, {LIST(of_nobody), LIST(of_daemon)}},
	[CONFINE_WRITER] = {0,
			    ONLY,
			    {LIST(at_work), LIST(of_readers), LIST(of_parents), LIST(of_writers)}},
	[CONFINE_READER] = {0, ONLY, {LIST(at_work), LIST(of_readers)}},
	[CONFINE_READERS] = {0, ONLY, {LIST(at_work), LIST(of_readers), LIST(of_parents)}},
};

void pool_child__lower_limit(int resource, uint64_t to)
{
	struct rlimit r;

	if (getrlimit(resource, &r) || r.rlim_cur <= to)
		return;
	r.rlim_cur = to;
	setrlimit(resource, &r);
}

void pool_child__limit_memory(uint64_t bytes)
{
	const uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);

#ifdef __SANITIZE_ADDRESS__
	return; /* it reserves more addresses than any limit */
#endif
	pool_child__lower_limit(RLIMIT_AS, bytes < half ? bytes : half);
}

/* 0 or -errno. */
static int add_rules(scmp_filter_ctx filter, const struct list *l, uint32_t action)
{
	int err = 0;

	for (size_t i = 0; !err && i < l->n; i++) {
		err = seccomp_rule_add_array(filter, action, l->calls[i].number,
					     l->calls[i].is.op != 0, &l->calls[i].is);
		err = err == -EEXIST ? 0 : err; /* a wider rule says so */
	}
	return err;
}

static int filter_calls(enum confine_kind kind)
{
	/* abort(3) ends a process by a signal of its own */
	const struct call ends = {SCMP_SYS(tgkill), {0, SCMP_CMP_EQ, (uint64_t)getpid(), 0}};
	const struct list own = {&ends, 1};
	const uint32_t other = kinds[kind].other;
	scmp_filter_ctx filter;
	int err = 0;

#ifdef __SANITIZE_ADDRESS__
	return 0; /* it makes calls of its own */
#endif
	filter = seccomp_init(other);
	if (!filter)
		return -ENOMEM;
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	for (size_t i = 0; !err && i < LISTS_MAX; i++)
		err = add_rules(filter, &kinds[kind].lists[i], other == ALL_BUT ? ONLY : ALL_BUT);
	if (!err && other == ONLY)
		err = add_rules(filter, &own, ALL_BUT);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* had: what it has; to: nothing, and then what it keeps. The bounding set is lowered where that is
 * permitted; without new privileges it gives nothing. */
static int keep_only(cap_t had, cap_t to, uint64_t keeps)
{
	static const cap_value_t setpcap = CAP_SETPCAP;

	/* a change of ids has taken it; else the bounding set stays */
	if (!cap_set_flag(had, CAP_EFFECTIVE, 1, &setpcap, CAP_SET))
		cap_set_proc(had);
	for (cap_value_t c = 0; c < cap_max_bits(); c++) {
		cap_flag_value_t has = CAP_CLEAR;

		if (!(keeps >> c & 1)) {
			cap_drop_bound(c);
		} else if (!cap_get_flag(had, c, CAP_PERMITTED, &has) && has) {
			cap_set_flag(to, CAP_EFFECTIVE, 1, &c, CAP_SET);
			cap_set_flag(to, CAP_PERMITTED, 1, &c, CAP_SET);
		}
	}
	return cap_set_proc(to) ? -errno : 0;
}

static int drop_capabilities(uint64_t keeps)
{
	cap_t had = cap_get_proc(), none = cap_init();
	int err = had && none ? 0 : -ENOMEM;

	if (!err && cap_compare(had, none)) /* else a unit may refuse the calls */
		err = keep_only(had, none, keeps);
	cap_free(had);
	cap_free(none);
	return err;
}

int confine__process(enum confine_kind kind)
{
	int err = drop_capabilities(kinds[kind].keeps);

	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	return err ? err : filter_calls(kind);
}

void confine__service(enum confine_kind kind)
{
	int err = kind == CONFINE_DAEMON || geteuid() ? confine__process(kind) : 0;

	if (err)
		log_warn("this process keeps all its rights: %s: seccomp filters are needed "
			 "(CONFIG_SECCOMP_FILTER)",
			 strerror(-err));
}

int pool__confine(uint64_t memory)
{
	pool_child__limit_memory(memory);
	pool_child__lower_limit(RLIMIT_CORE, 0);
	pool_child__lower_limit(RLIMIT_FSIZE, 0);
	pool_child__lower_limit(RLIMIT_NPROC, 0);
	pool_child__lower_limit(RLIMIT_NOFILE, DESCRIPTORS);
	return confine__process(CONFINE_UNWIND);
}
