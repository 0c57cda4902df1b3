/* SPDX-License-Identifier: GPL-2.0-only */
#include "pool/pool.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "pool/pool_internal.h"

#define BYTES_PER_SECOND (256u << 10)
#define SECONDS_MAX	 1000000u

static struct pool_note own;
static struct pool_note *note = &own;

static const struct {
	int sig, err;
} deaths[] = {
	{SIGSEGV, -EBADMSG}, {SIGBUS, -EBADMSG},  {SIGABRT, -EBADMSG},	  {SIGFPE, -EBADMSG},
	{SIGILL, -EBADMSG},  {SIGTRAP, -EBADMSG}, {SIGSYS, -EBADMSG},	  {SIGPROF, -ETIME},
	{SIGXCPU, -ETIME},   {SIGVTALRM, -ETIME}, {SIGKILL, -EOWNERDEAD},
};

void *pool__share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void pool__unshare(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

/* SIGPROF ends who has no handler for it. */
static void start_clock(unsigned seconds)
{
	struct itimerval t = {.it_value = {seconds, 0}};

	setitimer(ITIMER_PROF, &t, NULL);
}

uint64_t pool__file_bytes(const struct stat *st)
{
	const uint64_t stored = (uint64_t)st->st_blocks * 512, size = (uint64_t)st->st_size;

	if (!S_ISREG(st->st_mode))
		return 0;
	return stored < size ? stored : size;
}

void pool__note_file_of(const char *path, uint64_t bytes)
{
	const uint64_t more = bytes / BYTES_PER_SECOND;

	snprintf(note->file, sizeof(note->file), "%s", path);
	note->object[0] = 0;
	note->more = (unsigned)(more < SECONDS_MAX ? more : SECONDS_MAX);
	if (note->seconds)
		start_clock(note->seconds + note->more);
}

void pool__note_file(const char *path)
{
	struct stat st;

	pool__note_file_of(path, stat(path, &st) ? 0 : pool__file_bytes(&st));
}

void pool__note_object(const char *fmt, ...)
{
	static const char end[] = ": ";
	size_t room = sizeof(note->object) - sizeof(end);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(note->object, room, fmt, ap);
	va_end(ap);
	n = n < 0 ? 0 : (size_t)n < room ? n : (int)room - 1;
	memcpy(note->object + n, end, sizeof(end));
}

const char *pool__noted_object(void)
{
	return note->object;
}

/* What there was before. */
static struct limit {
	int resource;
	struct rlimit was;
} limits[] = {{.resource = RLIMIT_AS}, {.resource = RLIMIT_CORE}};

static void lower(struct limit *l, rlim_t to)
{
	struct rlimit r;

	if (getrlimit(l->resource, &r))
		return;
	l->was = r;
	if (r.rlim_cur <= to)
		return;
	r.rlim_cur = to;
	setrlimit(l->resource, &r);
}

void pool__enter(const struct pool_limits *l)
{
	const uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);
	uint64_t memory = l->memory < half ? l->memory : half;

#ifdef __SANITIZE_ADDRESS__
	memory = RLIM_INFINITY; /* it reserves more addresses than any limit */
#endif
	lower(&limits[0], memory);
	lower(&limits[1], 0);
	note->seconds = l->seconds;
	start_clock(l->seconds);
}

void pool__leave(void)
{
	start_clock(0);
	note->seconds = 0;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		setrlimit(limits[i].resource, &limits[i].was);
}

/* Handlers of the parent's would run in the child. */
static void forget_handlers(void)
{
	for (size_t i = 0; i < sizeof(deaths) / sizeof(*deaths); i++)
		if (deaths[i].sig != SIGKILL)
			signal(deaths[i].sig, SIG_DFL);
}

static void child(int (*fn)(void *), void *arg, const struct pool_limits *l, pid_t parent,
		  const sigset_t *mask)
{
	int status;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	sigprocmask(SIG_SETMASK, mask, NULL);
	forget_handlers();
	pool__enter(l);
	status = fn(arg);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write the output: %s", strerror(errno));
		status = 1;
	}
	_exit(status);
}

/* Until the child is gone. What the terminal sends, it sends to the child too. */
static int wait_for(pid_t pid, const sigset_t *signals)
{
	siginfo_t info;
	pid_t got;
	int status;

	while ((got = waitpid(pid, &status, WNOHANG)) != pid) {
		if (got < 0 && errno != EINTR)
			return -errno;
		if (sigwaitinfo(signals, &info) > 0 && info.si_signo != SIGCHLD &&
		    info.si_code != SI_KERNEL)
			kill(pid, info.si_signo);
	}
	return status;
}

static int run(int (*fn)(void *), void *arg, const struct pool_limits *l)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL}, was;
	pid_t pid, parent = getpid();
	sigset_t signals, mask;
	int status;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGQUIT);
	fflush(NULL);
	sigaction(SIGCHLD, &dfl, &was); /* where it is ignored, nobody could be waited for */
	sigprocmask(SIG_BLOCK, &signals, &mask);
	pid = fork();
	if (!pid)
		child(fn, arg, l, parent, &mask);
	status = pid < 0 ? -errno : wait_for(pid, &signals);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGCHLD, &was, NULL);
	return status;
}

/* As wait(2) has it, or -errno. *where is what the child was at. */
static int run_noted(int (*fn)(void *), void *arg, const struct pool_limits *l, bool adopts,
		     struct pool_note *where)
{
	struct pool_note *outer = note;
	int status;

	note = pool__share(sizeof(*note));
	if (!note) {
		note = outer;
		return -ENOMEM;
	}
	note->adopts = adopts;
	status = run(fn, arg, l);
	*where = *note;
	pool__unshare(note, sizeof(*note));
	note = outer;
	return status;
}

static int last_signal;

void pool__follow_signal(void)
{
	raise(last_signal); /* to who has begun an output */
	signal(last_signal, SIG_DFL);
	raise(last_signal);
}

int pool__call(int (*fn)(void *arg), void *arg, const struct pool_limits *l)
{
	int status = pool__try(fn, arg, l);

	if (status == -EINTR)
		pool__follow_signal();
	return status;
}

int pool__signal_error(int sig)
{
	for (size_t i = 0; i < sizeof(deaths) / sizeof(*deaths); i++)
		if (sig == deaths[i].sig)
			return deaths[i].err;
	last_signal = sig;
	return -EINTR;
}

static int meaning(int status)
{
	if (status < 0)
		return status;
	return WIFEXITED(status) ? WEXITSTATUS(status) : pool__signal_error(WTERMSIG(status));
}

int pool__try(int (*fn)(void *), void *arg, const struct pool_limits *l)
{
	struct pool_note where;

	return meaning(run_noted(fn, arg, l, false, &where));
}

/* Whoever crashed may have written anything. */
static void end_texts(struct pool_note *n)
{
	n->file[sizeof(n->file) - 1] = n->object[sizeof(n->object) - 1] = 0;
}

struct pool_note *pool__note(void)
{
	return note;
}

void pool__write_to(struct pool_note *n)
{
	*n = *note;
	memset(n->beside, 0, sizeof(n->beside));
	note = n;
	if (n->seconds)
		start_clock(n->seconds + n->more);
}

void pool__say(int err, int sig, struct pool_note *n)
{
	const char *file = *n->file ? n->file : "no file yet";

	end_texts(n);
	if (err == -EBADMSG)
		log_error("%s: %sdamaged: reading it crashed the HDF5 library (%s)", file,
			  n->object, strsignal(sig));
	else if (err == -ETIME)
		log_error("%s: %sdamaged: reading it takes too long for its size", file, n->object);
	else
		log_error("%s: %sthe process that read it was killed", file, n->object);
}

int pool__call_verb(int (*fn)(void *), void *arg, const struct pool_limits *l)
{
	const bool adopts = !prctl(PR_SET_CHILD_SUBREAPER, 1);
	struct pool_note where;
	int status = run_noted(fn, arg, l, adopts, &where), err = meaning(status);

	if (adopts && status >= 0)
		pool__reap(&where);
	if (err >= 0)
		return err;
	if (status < 0) {
		log_error("cannot start a process to read files: %s", strerror(-status));
	} else if (err == -EINTR) {
		pool__follow_signal();
	} else {
		pool__say(err, WTERMSIG(status), &where);
	}
	return 1;
}
