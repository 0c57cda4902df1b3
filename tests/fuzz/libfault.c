/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jumps out of faults and endless loops in libhdf5, and judges reports of the sanitizer. */
#include "tests/fuzz/libfault.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sanitizer/asan_interface.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK	 (256u << 10)
#define LATE_MAX 2000 /* times 10 ms: then it is our code that does not end */

static sigjmp_buf out;
static unsigned late;
static bool *ours; /* of a process apart and its parent: it had a fault that is not the library's */
static struct sigaction others[NSIG]; /* handlers that were there: the sanitizer's */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGVTALRM};

#define N_FAULTS (sizeof(faults) / sizeof(*faults))

const char *__asan_default_suppressions(void);
const char *__asan_default_suppressions(void)
{
	return "interceptor_via_lib:libhdf5";
}

static void *fault_pc(const ucontext_t *u)
{
#if defined(__x86_64__)
	return (void *)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (void *)u->uc_mcontext.pc;
#else
	return NULL;
#endif
}

static const char *const below[] = {"libasan",	   "libsanitizer", "__sanitizer", "libubsan",
				    "interceptor", "libc.so",	   "sysdeps",	  "libdeflate.so"};

/* The first frame of a report that is neither the sanitizer's nor the C library's. */
static bool is_theirs(const char *report)
{
	for (const char *line = strstr(report, "\n    #"); line;
	     line = strstr(line + 1, "\n    #")) {
		size_t len = strcspn(line + 1, "\n") + 1;
		bool skip = false;

		for (unsigned i = 0; i < sizeof(below) / sizeof(*below); i++)
			skip |= memmem(line, len, below[i], strlen(below[i])) != NULL;
		if (!skip)
			return memmem(line, len, "libhdf5", 7) != NULL;
	}
	return false;
}

static void on_report(const char *report)
{
	if (is_theirs(report))
		_exit(LIBFAULT_EXIT);
	if (ours)
		*ours = true;
}

void libfault__judge_reports(void)
{
	__asan_set_error_report_callback(on_report);
}

static bool in_library(void *pc)
{
	Dl_info info;

	return pc && dladdr(pc, &info) && info.dli_fname && strstr(info.dli_fname, "libhdf5");
}

static void set_timer(unsigned seconds, unsigned us)
{
	struct itimerval t = {.it_value = {seconds, us}};

	setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if (in_library(fault_pc(context)))
		siglongjmp(out, sig);
	/* Perhaps in the C library on its behalf: look again. */
	if (sig == SIGVTALRM && ++late < LATE_MAX) {
		set_timer(0, 10000);
		return;
	}
	if (sig == SIGVTALRM)
		abort();
	if (others[sig].sa_flags & SA_SIGINFO)
		others[sig].sa_sigaction(sig, info, context);
	signal(sig, SIG_DFL);
}

static void catch_faults(void)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK};

	if (!stack.ss_sp || sigaltstack(&stack, NULL))
		_exit(2);
	for (unsigned i = 0; i < N_FAULTS; i++)
		sigaction(faults[i], &sa, &others[faults[i]]);
}

int libfault__run(void (*fn)(const char *), const char *arg)
{
	static bool ready;
	int sig;

	if (!ready)
		catch_faults();
	ready = true;
	sig = sigsetjmp(out, 1);
	if (!sig) {
		late = 0;
		set_timer(LIBFAULT_SECONDS, 0);
		fn(arg);
	}
	set_timer(0, 0);
	return sig;
}

static void on_fault_apart(int sig, siginfo_t *info, void *context)
{
	if (!in_library(fault_pc(context)))
		*ours = true;
	signal(sig, SIG_DFL);
	(void)info;
}

/* Never returns. */
static void run_apart(void (*fn)(void *), void *arg)
{
	struct sigaction sa = {.sa_sigaction = on_fault_apart, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	set_timer(0, 0);
	libfault__judge_reports();
	for (unsigned i = 0; i < N_FAULTS; i++)
		if (faults[i] != SIGVTALRM)
			sigaction(faults[i], &sa, NULL);
	fn(arg);
	_exit(0);
}

int libfault__apart(void (*fn)(void *), void *arg)
{
	int status = 0;
	pid_t pid;

	if (!ours)
		ours = mmap(NULL, sizeof(*ours), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	if (ours == MAP_FAILED)
		_exit(2);
	pid = fork();
	if (!pid)
		run_apart(fn, arg);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		_exit(2);
	if (*ours)
		abort();
	return status;
}
