// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes all rights except those to read from a process that only reads files which others wrote.
 */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

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
/* clang-format on */

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
static int allow(scmp_filter_ctx filter, const struct call *calls, size_t n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, calls[i].number,
					     calls[i].is.op != 0, &calls[i].is);
		err = err == -EEXIST ? 0 : err; /* a wider rule allows it */
	}
	return err;
}

/* other: the result of any other call. The process gets no rights by executing a program either. */
static int filter_calls(uint32_t other, bool reads, bool has_workers)
{
	/* abort(3) ends a process by a signal of its own */
	const struct call own = {SCMP_SYS(tgkill), {0, SCMP_CMP_EQ, (uint64_t)getpid(), 0}};
	scmp_filter_ctx filter;
	int err;

#ifdef __SANITIZE_ADDRESS__
	return 0; /* it makes calls of its own */
#endif
	filter = seccomp_init(other);
	if (!filter)
		return -ENOMEM;
	err = allow(filter, at_work, sizeof(at_work) / sizeof(at_work[0]));
	if (!err && reads)
		err = allow(filter, of_readers, sizeof(of_readers) / sizeof(of_readers[0]));
	if (!err && reads)
		err = allow(filter, &own, 1);
	if (!err && has_workers)
		err = allow(filter, of_parents, sizeof(of_parents) / sizeof(of_parents[0]));
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

int pool__confine(uint64_t memory)
{
	pool_child__limit_memory(memory);
	pool_child__lower_limit(RLIMIT_CORE, 0);
	pool_child__lower_limit(RLIMIT_FSIZE, 0);
	pool_child__lower_limit(RLIMIT_NPROC, 0);
	pool_child__lower_limit(RLIMIT_NOFILE, DESCRIPTORS);
	return filter_calls(SCMP_ACT_KILL_PROCESS, false, false);
}

int pool_child__confine(bool has_workers)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return filter_calls(SCMP_ACT_ERRNO(EPERM), true, has_workers);
}
