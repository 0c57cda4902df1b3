// SPDX-License-Identifier: GPL-2.0-only
/* What a process may still do that only reads files which others wrote. */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "pool/pool_internal.h"

#define DESCRIPTORS 16

/* With the descriptors that it has, and memory without code. */
static const struct {
	int call;
	int arg; /* whose bits must be those; -1: any */
	uint64_t mask, bits;
} calls[] = {
	{SCMP_SYS(recvmsg), -1, 0, 0},
	{SCMP_SYS(recvfrom), -1, 0, 0},
	{SCMP_SYS(sendto), -1, 0, 0},
	{SCMP_SYS(poll), -1, 0, 0},
	{SCMP_SYS(ppoll), -1, 0, 0},
	{SCMP_SYS(restart_syscall), -1, 0, 0},
	{SCMP_SYS(read), -1, 0, 0},
	{SCMP_SYS(pread64), -1, 0, 0},
	{SCMP_SYS(lseek), -1, 0, 0},
	{SCMP_SYS(fstat), -1, 0, 0},
	/* glibc's fstat(3); a path would need rights, but none is opened by this call */
	{SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH},
	{SCMP_SYS(fcntl), 1, ~UINT64_C(0), F_GETFD},
	{SCMP_SYS(close), -1, 0, 0},
	{SCMP_SYS(mmap), 2, PROT_EXEC, 0},
	{SCMP_SYS(mprotect), 2, PROT_EXEC, 0},
	{SCMP_SYS(mremap), -1, 0, 0},
	{SCMP_SYS(munmap), -1, 0, 0},
	{SCMP_SYS(madvise), -1, 0, 0},
	{SCMP_SYS(brk), -1, 0, 0},
	{SCMP_SYS(futex), -1, 0, 0},
	{SCMP_SYS(clock_gettime), -1, 0, 0},
	{SCMP_SYS(exit), -1, 0, 0},
	{SCMP_SYS(exit_group), -1, 0, 0},
};

static int allow(scmp_filter_ctx filter, unsigned i)
{
	const struct scmp_arg_cmp is = {(unsigned)calls[i].arg, SCMP_CMP_MASKED_EQ, calls[i].mask,
					calls[i].bits};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, calls[i].call, calls[i].arg >= 0,
				      calls[i].arg >= 0 ? &is : NULL);
}

/* Any other call ends the process, which gets no rights by executing a program either. */
static int filter_calls(void)
{
	scmp_filter_ctx filter;
	int err = 0;

#ifdef __SANITIZE_ADDRESS__
	return 0; /* it makes calls of its own */
#endif
	filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!filter)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < sizeof(calls) / sizeof(calls[0]); i++)
		err = allow(filter, i);
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
	return filter_calls();
}
