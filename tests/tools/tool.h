/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the test workloads share: errors, numbers, spinning, parking, and the kernel's own account
 * of the calling process. Everything is static inline because each tool is one file. */
#ifndef JP_TESTS_TOOL_H
#define JP_TESTS_TOOL_H

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MB 1048576ul

extern char *program_invocation_short_name;

static inline void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* Wrong usage: one line and status 2; --help prints the same text on stdout with status 0. */
static inline void __attribute__((noreturn)) usage(const char *text, bool asked)
{
	fprintf(asked ? stdout : stderr, "usage: %s %s\n", program_invocation_short_name, text);
	exit(asked ? 0 : 2);
}

static inline double to_number(const char *s)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(s, &end);
	if (errno || end == s || *end || !(v >= 0) || v > 1e15) {
		fprintf(stderr, "%s: '%s' is not a number from 0 up\n",
			program_invocation_short_name, s);
		exit(2);
	}
	return v;
}

static inline unsigned long to_ulong(const char *s)
{
	return (unsigned long)to_number(s);
}

/* An option of a tool, and where its value goes: OPT('n', &tasks). A bool has no value, a function
 * is called with it. */
struct opt {
	char name, kind;
	void *to;
};

#define OPT(c, p)                                  \
	{                                          \
		c,                               \
	 _Generic((p),                    \
		 double *: 'd',           \
		 unsigned long *: 'l',    \
		 unsigned *: 'u',         \
		 int *: 'u',              \
		 const char **: 's',      \
		 bool *: 'b',             \
		 void (*)(const char *): 'f'), \
	 (void *)(p) \
	}

static inline void opt__set(const struct opt *o)
{
	if (o->kind == 'd')
		*(double *)o->to = to_number(optarg);
	else if (o->kind == 'l')
		*(unsigned long *)o->to = to_ulong(optarg);
	else if (o->kind == 'u')
		*(unsigned *)o->to = (unsigned)to_ulong(optarg);
	else if (o->kind == 's')
		*(const char **)o->to = optarg;
	else if (o->kind == 'b')
		*(bool *)o->to = true;
	else
		((void (*)(const char *))o->to)(optarg);
}

/* Takes the options, whose table ends with {}; the other arguments begin at argv[optind] then. */
static inline void options(int argc, char **argv, const struct opt *opts, const char *help)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	char letters[64] = "h", *p = letters + 1;
	const struct opt *o;
	int c;

	for (o = opts; o->name; o++) {
		*p++ = o->name;
		if (o->kind != 'b')
			*p++ = ':';
	}
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		for (o = opts; o->name && o->name != c; o++)
			;
		if (!o->name)
			usage(help, c == 'h');
		opt__set(o);
	}
}

/* The options of a tool that has only -o FILE and --help; returns FILE or NULL. */
static inline const char *option_out(int argc, char **argv, const char *help)
{
	const char *out = NULL;

	options(argc, argv, (const struct opt[]){OPT('o', &out), {}}, help);
	return out;
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void sleep_s(double s)
{
	struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static volatile sig_atomic_t spin_over;

static inline void spin__alarm(int sig)
{
	(void)sig;
	spin_over = 1;
}

/* A timer ends the loop, so that it makes no system call even where the vdso reads no clock. */
static inline void spin__arm(double s)
{
	struct itimerval it = {
		.it_value = {(time_t)s, (suseconds_t)((s - (double)(time_t)s) * 1e6)}};
	struct sigaction sa = {.sa_handler = spin__alarm};

	spin_over = 0;
	if (!it.it_value.tv_sec && !it.it_value.tv_usec) {
		spin_over = 1;
		return;
	}
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

static inline void spin_until_alarm(void)
{
	volatile uint64_t x = 1;

	while (!spin_over)
		x = x * 6364136223846793005u + 1;
}

/* Spins for S seconds of wall time; not for several threads at once. */
static inline void spin_s(double s)
{
	spin__arm(s);
	spin_until_alarm();
}

static inline void pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot run on CPU %d only: %s", cpu, strerror(errno));
}

/* First CPU this process may use. */
static inline int first_cpu(void)
{
	cpu_set_t set;
	int i;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			return i;
	return 0;
}

static inline void write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len) {
		n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("write: %s", n < 0 ? strerror(errno) : "nothing written");
		p += n;
		len -= n;
	}
}

/* Touches every page: one fault each, unless the kernel maps several at once. */
static inline void touch_pages(volatile char *p, size_t len, bool write)
{
	size_t i;

	for (i = 0; i < len; i += 4096) {
		if (write)
			p[i] = (char)(i >> 12);
		else
			(void)p[i];
	}
}

/*
 * Parking: says "NUMBER PID" in the file STATE and waits until a byte comes through FIFO. A parked
 * process has left the CPU: who looks at /proc/<pid> then sees its account at rest.
 */
struct park {
	const char *state;
	const char *fifo;
	int fd;
	int count;
};

static inline void park__open(struct park *p, const char *state, const char *fifo)
{
	*p = (struct park){.state = state, .fifo = fifo, .fd = -1};
	if (!fifo)
		return;
	/* O_RDWR: opening does not wait for the other end, reading sees no end of file. */
	p->fd = open(fifo, O_RDWR | O_CLOEXEC);
	if (p->fd < 0)
		die("cannot open %s: %s", fifo, strerror(errno));
}

static inline void park__wait(struct park *p)
{
	char text[64], c;
	int fd, n;

	p->count++;
	if (p->state) {
		fd = open(p->state, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0)
			die("cannot write %s: %s", p->state, strerror(errno));
		n = snprintf(text, sizeof(text), "%d %d\n", p->count, (int)getpid());
		write_all(fd, text, n);
		close(fd);
	}
	if (p->fd < 0)
		pause();
	else
		while (read(p->fd, &c, 1) < 0 && errno == EINTR)
			;
}

/* The kernel's account of the caller as key=value lines, read as late as can be. */
static inline void account__file(FILE *out, const char *path, const char *prefix, const char *keys)
{
	char line[256], *colon, *v;
	FILE *f = fopen(path, "re");

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		if (strchr(line, ' ') || (keys && !strstr(keys, line)))
			continue;
		v = colon + 1 + strspn(colon + 1, " \t");
		v[strcspn(v, " \t\n")] = '\0';
		fprintf(out, "%s%s=%s\n", prefix, line, v);
	}
	fclose(f);
}

static inline void account__rusage(FILE *out, int who, const char *prefix)
{
	struct rusage r;

	getrusage(who, &r);
	fprintf(out, "%sutime_us=%lld\n%sstime_us=%lld\n", prefix,
		(long long)r.ru_utime.tv_sec * 1000000 + r.ru_utime.tv_usec, prefix,
		(long long)r.ru_stime.tv_sec * 1000000 + r.ru_stime.tv_usec);
	fprintf(out, "%sminflt=%ld\n%smajflt=%ld\n%snvcsw=%ld\n%snivcsw=%ld\n%smaxrss_kib=%ld\n",
		prefix, r.ru_minflt, prefix, r.ru_majflt, prefix, r.ru_nvcsw, prefix, r.ru_nivcsw,
		prefix, r.ru_maxrss);
}

/* Before the program began: of the process that started it, and of loading it. */
static long account_waits;
static unsigned long long account_run;

/* CPU time and time of waiting for a CPU of this thread, ns. */
static inline bool account__schedstat(unsigned long long *run, unsigned long long *delay)
{
	FILE *f = fopen("/proc/self/schedstat", "re");
	bool known = f && fscanf(f, "%llu %llu", run, delay) == 2;

	if (f)
		fclose(f);
	return known;
}

__attribute__((constructor)) static void account__begin(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	account_waits = r.ru_nvcsw;
	account__schedstat(&account_run, &(unsigned long long){0});
}

static inline void account__print(FILE *out)
{
	unsigned long long run, delay;

	fprintf(out, "pid=%d\n", (int)getpid());
	account__file(out, "/proc/self/smaps_rollup", "smaps.", NULL);
	account__file(out, "/proc/self/status", "status.",
		      "VmSize VmHWM VmRSS RssAnon RssFile RssShmem VmSwap Threads "
		      "voluntary_ctxt_switches nonvoluntary_ctxt_switches");
	account__file(out, "/proc/self/io", "io.", NULL);
	account__rusage(out, RUSAGE_CHILDREN, "children.");
	account__rusage(out, RUSAGE_SELF, "self.");
	fprintf(out, "start.nvcsw=%ld\n", account_waits);
	fprintf(out, "start.run_ns=%llu\n", account_run);
	if (account__schedstat(&run, &delay))
		fprintf(out, "schedstat.run_ns=%llu\nschedstat.delay_ns=%llu\n", run, delay);
}

/* PATH NULL: on stdout. Written under another name first, so that a reader sees all or nothing. */
static inline void account__write(const char *path)
{
	struct stat st;
	char tmp[4096];
	FILE *f;

	if (!path) {
		account__print(stdout);
		if (fflush(stdout))
			die("cannot write the account: %s", strerror(errno));
		return;
	}
	snprintf(tmp, sizeof(tmp), "%s.%d", path, (int)getpid());
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) /* /dev/null stays a device */
		snprintf(tmp, sizeof(tmp), "%s", path);
	f = fopen(tmp, "we");
	if (!f)
		die("cannot write %s: %s", tmp, strerror(errno));
	account__print(f);
	if (fclose(f) || (strcmp(tmp, path) && rename(tmp, path)))
		die("cannot write %s: %s", path, strerror(errno));
}

#endif
