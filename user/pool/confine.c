// SPDX-License-Identifier: GPL-2.0-only
/* What a process may still do that only reads files which others wrote. */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "pool/pool_internal.h"

#define DESCRIPTORS 16

/* With the descriptors that it has, and memory without code. */
static const int calls[] = {SCMP_SYS(recvmsg),	 SCMP_SYS(recvfrom),	  SCMP_SYS(sendto),
			    SCMP_SYS(poll),	 SCMP_SYS(ppoll),	  SCMP_SYS(restart_syscall),
			    SCMP_SYS(read),	 SCMP_SYS(pread64),	  SCMP_SYS(lseek),
			    SCMP_SYS(fstat),	 SCMP_SYS(close),	  SCMP_SYS(mremap),
			    SCMP_SYS(munmap),	 SCMP_SYS(madvise),	  SCMP_SYS(brk),
			    SCMP_SYS(futex),	 SCMP_SYS(clock_gettime), SCMP_SYS(exit),
			    SCMP_SYS(exit_group)};

/* Those of which an argument must have these bits. */
static const struct {
	int call;
	struct scmp_arg_cmp is;
} limited[] = {
	/* glibc's fstat(3); a path would need rights, but none is opened by this call */
	{SCMP_SYS(newfstatat), {3, SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH}},
	{SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_GETFD, 0}},
	{SCMP_SYS(mmap), {2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0}},
	{SCMP_SYS(mprotect), {2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0}},
};

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
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, calls[i], 0, NULL);
	for (unsigned i = 0; !err && i < sizeof(limited) / sizeof(limited[0]); i++)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, limited[i].call, 1,
					     &limited[i].is);
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
