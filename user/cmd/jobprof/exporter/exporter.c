/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobprof exporter: what jobprofd says of the node and its jobs, for Prometheus, at a port or in a
 * file of node_exporter's. jobprofd makes the text; this process, which has no rights, hands it on.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config/config.h"
#include "base/log.h"
#include "base/metrics_text.h"
#include "client/metrics.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/exporter/exporter.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "http/http.h"
#include "pool/confine.h"

#define JOBPROF_CONF  JOBPROF_SYSCONFDIR "/jobprof/jobprof.conf"
#define ASK_MS	      2000
#define FILE_NS	      (15 * NSEC_PER_SEC) /* between two versions of MetricsFile */
#define SIZE_MAX_FILE (64 << 20)
#define READERS	      64

struct options {
	struct site_args site;
	const char *listen, *file, *readers;
	bool index, once;
};

static const struct opt opts[] = {
	{0, "listen", "ADDRESS:PORT",
	 "answer there; none: nowhere; default: MetricsListen, else 127.0.0.1:10270",
	 OPT_TEXT(struct options, listen)},
	{0, "file", "FILE",
	 "write the metrics there every 15 seconds, for node_exporter; default: MetricsFile",
	 OPT_TEXT(struct options, file)},
	{0, "readers", "LIST",
	 "users of this host who may read 127.0.0.1, beside root; all; default: MetricsReaders",
	 OPT_TEXT(struct options, readers)},
	{0, "once", NULL, "print the metrics, and end", OPT_FLAG(struct options, once)},
	{0, "index", NULL, "the metrics of the site's index in place of this node's",
	 OPT_FLAG(struct options, index)},
	{0, "database", "PATH|URL", "with --index: this index; default: IndexDatabase",
	 OPT_TEXT(struct options, site.database)},
	{0},
};

const struct command cmd_exporter = {
	.name = "jobprof exporter",
	.usage = "[OPTION]...",
	.about = "Metrics of this node and its jobs, which jobprofd gives to this user alone, at\n"
		 "a port for Prometheus, or in a file for node_exporter.",
	.opts = opts,
};

/* A quantity of the whole node, of which the jobs' part is known: the rest never falls, also where
 * both are read at different instants, and where jobprofd counts from 0 again. */
struct rest {
	double total, job, rest, shown;
	bool has_begun;
};

struct exporter {
	const char *where; /* the index; NULL: jobprofd is asked */
	const char *file;  /* NULL: none */
	char *tmp;
	uint64_t file_ns; /* when it is due */
	bool file_failed, was_down;
	struct rest cpu, wait;
};

/* ---- the node, as the kernel shows it to everybody */

static double rest_of(struct rest *r, double total, double job)
{
	const double by_jobs = job >= r->job ? job - r->job : 0;

	r->rest = r->has_begun ? r->rest + total - r->total - by_jobs : total - job;
	*r = (struct rest){total, job, r->rest, fmax(r->shown, r->rest), true};
	return r->shown;
}

/* Seconds since boot. */
static bool read_cpus(double *busy, double *idle)
{
	const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	double v[7];
	FILE *f = fopen("/proc/stat", "re");
	bool has = f && fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3],
			       &v[4], &v[5], &v[6]) == 7;

	if (f)
		fclose(f);
	if (has) {
		*busy = (v[0] + v[1] + v[2] + v[5] + v[6]) * tick;
		*idle = (v[3] + v[4]) * tick;
	}
	return has;
}

/* Seconds that all threads have waited for a CPU since boot; NaN: the kernel does not count. */
static double read_waits(void)
{
	FILE *f = fopen("/proc/schedstat", "re");
	unsigned long long ns;
	double sum = NAN;
	char line[1024];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%*u %*u %*u %*u %*u %*u %*u %*u %llu", &ns) == 1)
			sum = (isnan(sum) ? 0 : sum) + (double)ns * 1e-9;
	if (f)
		fclose(f);
	return sum;
}

static void print_node(struct exporter *x, const struct metrics_answer *a, struct outbuf *o)
{
	static const char cpu[] = "node_cpu_seconds_total",
			  wait[] = "node_runqueue_wait_seconds_total";
	const double waits = read_waits();
	double busy, idle;

	if (read_cpus(&busy, &idle)) {
		metrics_text__head(
			o, cpu, "counter",
			"CPU time of this node: of profiled jobs, of all else, and idle.");
		metrics_text__series(o, cpu, "mode", "job", a->job_cpu_s);
		metrics_text__series(o, cpu, "mode", "system",
				     rest_of(&x->cpu, busy, a->job_cpu_s));
		metrics_text__series(o, cpu, "mode", "idle", idle);
	}
	metrics_text__head(
		o, wait, "counter",
		"Time that threads waited for a CPU: of profiled jobs, and of all else.");
	metrics_text__series(o, wait, "victim", "job", a->job_wait_s);
	if (!isnan(waits))
		metrics_text__series(o, wait, "victim", "system",
				     rest_of(&x->wait, waits, a->job_wait_s));
}

/* ---- all metrics */

static int copy_file(int fd, struct outbuf *o)
{
	char buf[16384];
	struct stat st;
	ssize_t n = -1;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > SIZE_MAX_FILE)
		return -EPROTO;
	for (off_t at = 0; (n = pread(fd, buf, sizeof(buf), at)) > 0; at += n)
		outbuf__mem(o, buf, (size_t)n);
	return n < 0 ? -errno : 0;
}

/* Says once that jobprofd is away, and once that it is back. */
static void note_up(struct exporter *x, int err, const char *reason)
{
	char text[512];

	if (err && !x->was_down) {
		client_conn__explain(text, sizeof(text), err, reason);
		log_warn("%s; jobprof_up is 0 until then", text);
	} else if (!err && x->was_down) {
		log_info("jobprofd answers again");
	}
	x->was_down = err;
}

static int print_source(struct exporter *x, struct outbuf *o)
{
	struct metrics_answer a;
	char reason[256];
	int err;

	if (x->where)
		return exporter_index__print(x->where, o);
	err = metrics__ask(&a, ASK_MS, reason, sizeof(reason));
	note_up(x, err, reason);
	if (err)
		return err;
	print_node(x, &a, o);
	err = copy_file(a.file, o);
	close(a.file);
	return err;
}

static int print_metrics(void *arg, FILE *out)
{
	struct exporter *x = arg;
	const uint64_t began = clock__mono_ns();
	struct outbuf head, o;
	int err = outbuf__init(&head, -1) | outbuf__init(&o, -1) ? -ENOMEM : print_source(x, &o);

	metrics_text__one(&head, "up", "gauge",
			  x->where ? "1: the index could be asked." : "1: jobprofd could be asked.",
			  !err && !o.err);
	metrics_text__one(&head, "scrape_seconds", "gauge", "Time that asking has taken.",
			  (double)(clock__mono_ns() - began) * 1e-9);
	if (head.buf)
		fwrite(head.buf, 1, head.len, out);
	if (!err && !o.err)
		fwrite(o.buf, 1, o.len, out);
	fputs("# EOF\n", out);
	err = outbuf__end(&head);
	outbuf__end(&o);
	return err || ferror(out) ? -EIO : 0;
}

/* ---- the file */

/* Whoever reads the file sees all of one version. */
static int write_file(struct exporter *x)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	FILE *f;
	int fd, err = 0;

	unlink(x->tmp); /* of a process that was killed */
	fd = open(x->tmp, flags, 0644);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) || !(f = fdopen(fd, "w"))) {
		err = -errno;
		close(fd);
	} else {
		err = print_metrics(x, f);
		if (fclose(f) && !err)
			err = -errno;
	}
	if (!err && rename(x->tmp, x->file))
		err = -errno;
	if (err)
		unlink(x->tmp);
	return err;
}

static int put_file(struct exporter *x)
{
	const int err = write_file(x);

	if (err && !x->file_failed)
		log_error("cannot write %s: %s: its directory must be writable for this user",
			  x->file, strerror(-err));
	x->file_failed = err;
	return err;
}

/* Returns the ms until the file is due. */
static int tick(void *arg)
{
	struct exporter *x = arg;
	const uint64_t now = clock__mono_ns();

	if (!x->file)
		return 1000;
	if (now >= x->file_ns) {
		(void)put_file(x);
		x->file_ns = now + FILE_NS;
	}
	return (int)((x->file_ns - now) / NSEC_PER_MSEC) + 1;
}

/* node_exporter would show the last version of a process that has ended for ever. */
static void end_file(struct exporter *x)
{
	if (x->file && unlink(x->file) && errno != ENOENT)
		log_error("cannot remove %s: %s", x->file, strerror(errno));
	free(x->tmp);
}

/* ---- the verb */

static void run_for_file(struct exporter *x, const sigset_t *stop)
{
	for (;;) {
		const int ms = tick(x);
		const struct timespec t = {ms / 1000, ms % 1000 * NSEC_PER_MSEC};

		if (sigtimedwait(stop, NULL, &t) > 0)
			return;
	}
}

/* The users of a list: those who are not there are left out. */
static unsigned find_readers(uid_t *uids, const char *list)
{
	unsigned n = 0;
	char name[256];

	for (const char *p = list + strspn(list, ", "); *p && n < READERS; p += strspn(p, ", ")) {
		const size_t len = strcspn(p, ", ");
		const struct passwd *u;

		snprintf(name, sizeof(name), "%.*s", (int)len, p);
		u = getpwnam(name);
		if (u)
			uids[n++] = u->pw_uid;
		p += len;
	}
	return n;
}

static int listen_at(struct http_server *s, struct http_page *page, const char *address)
{
	bool is_loopback = false;
	const int err = http_listener__address(&s->listener, address, &is_loopback);

	if (err == -EINVAL)
		log_error(
			"MetricsListen=%s: it is ADDRESS:PORT, as 127.0.0.1:10270, 10.0.0.7:10270 "
			"or [::]:10270, or none; the loopback is 127.0.0.1",
			address);
	else if (err)
		log_error("%s: %s", address, strerror(-err));
	if (!err && !is_loopback)
		log_warn("whoever reaches %s may read which jobs of whom run here, and what they "
			 "use: see MetricsJobs in jobprof.conf(5)",
			 address);
	page->is_open = page->is_open || !is_loopback;
	return err ? err == -EINVAL ? 2 : 1 : 0;
}

static int run(struct exporter *x, const struct options *o)
{
	uid_t readers[READERS + 1] = {getuid()};
	struct http_page page = {.path = "/metrics",
				 .type = HTTP_METRICS,
				 .print = print_metrics,
				 .readers = readers,
				 .is_open = !strcasecmp(o->readers, "all"),
				 .tick = tick};
	struct http_server s = {.page = &page, .arg = x, .proxy = (uid_t)-1, .children = 1};
	const bool listens = strcasecmp(o->listen, "none") != 0;
	sigset_t stop;
	int status = 0;

	page.nreaders = 1 + find_readers(readers + 1, o->readers);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGHUP);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (listens)
		status = listen_at(&s, &page, o->listen);
	if (!status && x->file && put_file(x))
		status = 1;
	x->file_ns = clock__mono_ns() + FILE_NS;
	confine__service(CONFINE_VERB);
	if (!status && listens)
		status = http_server__run(&s, &stop) ? 1 : 0;
	else if (!status)
		run_for_file(x, &stop);
	end_file(x);
	return status;
}

/* What the command line leaves to jobprof.conf. Errors in the file are logged. 0 or 1. */
static int take_config(struct options *o, struct config *c)
{
	if (config__init(c))
		return 1;
	if (!access(JOBPROF_CONF, R_OK) && config__load(c, JOBPROF_CONF))
		return 1;
	o->listen = o->listen ? o->listen : c->metrics_listen;
	o->file = o->file ? o->file : c->metrics_file;
	o->readers = o->readers ? o->readers : c->metrics_readers;
	if (config__is_given(c, "Socket"))
		setenv("JOBPROF_SOCKET", c->socket, 0);
	return 0;
}

/* The file is replaced, and removed at the end: it is to be nobody's thesis. */
static bool is_textfile(const char *path)
{
	const size_t n = strlen(path);

	return *path == '/' && n > 6 && !strcmp(path + n - 5, ".prom");
}

static int prepare(struct exporter *x, const struct options *o, char **where)
{
	bool is_own;

	if (!o->index && o->site.database)
		return options__wrong(&cmd_exporter, "--database goes with --index");
	if (o->file && !is_textfile(o->file))
		return options__wrong(&cmd_exporter,
				      "MetricsFile=%s: it is /PATH/NAME.prom, as node_exporter "
				      "reads no others",
				      o->file);
	if (!o->once && !strcasecmp(o->listen, "none") && !o->file)
		return options__wrong(&cmd_exporter,
				      "neither MetricsListen nor MetricsFile is set");
	x->file = o->file;
	if (x->file && asprintf(&x->tmp, "%s.tmp", x->file) < 0)
		return 1;
	if (o->index) {
		*where = site_args__where(&o->site, &is_own);
		x->where = *where;
	}
	return o->index && !*where ? 1 : 0;
}

int verb_exporter(int argc, char **argv)
{
	struct options o = {0};
	struct exporter x = {0};
	struct config c = {0};
	char *where = NULL;
	int status;

	site_args__init(&o.site, "all");
	status = options__read(&cmd_exporter, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_exporter, "\"%s\": it takes options alone",
				      argv[optind]);
	status = take_config(&o, &c);
	if (!status)
		status = prepare(&x, &o, &where);
	if (!status)
		status = o.once ? !!print_metrics(&x, stdout) : run(&x, &o);
	free(where);
	config__free(&c);
	return status;
}
