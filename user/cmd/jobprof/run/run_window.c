/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "jobprof run" without root: jobprofd counts the step anyway, and is asked before the command and
 * after it. */
#include "cmd/jobprof/run/run_window.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "base/utf8.h"
#include "client/column.h"
#include "client/protocol.h"
#include "client/totals.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/output_file.h"
#include "cmd/jobprof/report.h"
#include "cmd/jobprof/run/run_user.h"
#include "pool/pool.h"
#include "view/report/report_text.h"

/* ---- writes the file of "jobprof run --json" */

static int open_as(const struct run_user *u, const char *path, struct output_file *out)
{
	int err = run_user__act(u);

	if (!err)
		err = output_file__open(out, path, "", options__overwrites());
	if (run_user__act_as_ourselves() && !err) {
		output_file__close(out, false);
		err = -EPERM;
	}
	return err;
}

static int close_as(const struct run_user *u, struct output_file *out, bool keep)
{
	int err = run_user__act(u), closed = output_file__close(out, keep && !err);

	return run_user__act_as_ourselves() || closed ? -EIO : err;
}

int run_json__try(const struct run_user *u, const char *path)
{
	struct output_file out;
	struct stat st;

	/* A pipe or a terminal is opened once. */
	if (!strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode)))
		return 0;
	return open_as(u, path, &out) || close_as(u, &out, false) ? 1 : 0;
}

int run_json__write(const struct run_user *u, const char *path, int (*fn)(void *arg, FILE *out),
		    void *arg)
{
	struct output_file out;
	FILE *f;
	int status = 1;

	if (open_as(u, path, &out))
		return 1;
	f = fdopen(dup(out.fd), "w");
	if (f)
		status = fn(arg, f);
	if (!f || fclose(f)) {
		log_error("%s: cannot be written: %s", path, strerror(errno));
		status = 1;
	}
	return close_as(u, &out, !status) || status ? 1 : 0;
}

/* ---- makes a file of a journal, and removes it */

#define FILE_NAME "report.h5"
#define COPY_NAME "journal"
#define BLOCK	  (1u << 20)

/* In a child: the HDF5 library is for children alone. */
static int build(void *arg)
{
	const struct journal_file *f = arg;
	struct nodestep_stats st;
	int err = nodestep__build(f->journal_fd, f->dir_fd, FILE_NAME, f->window, &st);

	return err ? -err : st.rows ? 0 : ENODATA;
}

/* A journal is not read from a pipe. 0 or -1. */
static int take_journal(struct journal_file *f, int journal)
{
	ssize_t n = 1;

	f->is_copy = lseek(journal, 0, SEEK_CUR) < 0;
	if (!f->is_copy) {
		f->journal_fd = journal;
		return 0;
	}
	f->journal_fd = openat(f->dir_fd, COPY_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->journal_fd < 0)
		return -1;
	while (n > 0)
		n = splice(journal, NULL, f->journal_fd, NULL, BLOCK, 0);
	return n < 0 ? -1 : 0;
}

/* 0 or -1, having said why. */
static int make_dir(struct journal_file *f)
{
	const char *tmp = getenv("TMPDIR");
	int err = 0;

	if (!tmp || !*tmp)
		tmp = "/tmp";
	if ((size_t)snprintf(f->dir, sizeof(f->dir), "%s/jobprof-run-XXXXXX", tmp) >=
	    sizeof(f->dir))
		err = ENAMETOOLONG;
	else if (!mkdtemp(f->dir))
		err = errno;
	if (err)
		log_error("no report: TMPDIR %.200s: %s", tmp, strerror(err));
	return err ? -1 : 0;
}

int journal_file__make(struct journal_file *f, int journal, const struct nodestep_window *window)
{
	*f = (struct journal_file){.window = window, .dir_fd = -1, .journal_fd = -1};
	if (journal < 0 || make_dir(f))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, FILE_NAME);
	f->dir_fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return f->dir_fd < 0 || take_journal(f, journal) ? -1 : pool__call(build, f, &POOL_STREAM);
}

void journal_file__remove(struct journal_file *f)
{
	if (f->is_copy && f->journal_fd >= 0)
		close(f->journal_fd);
	if (f->dir_fd < 0)
		return;
	unlinkat(f->dir_fd, COPY_NAME, 0);
	unlinkat(f->dir_fd, FILE_NAME, 0);
	close(f->dir_fd);
	rmdir(f->dir);
}

/* ---- the page about the window of a step in which a command ran, and the same as JSON */

#define LABEL 16
#define CELL  14
#define BAR   40

typedef const char *(*to_text)(double v, report_number buf);

static const char *exact_time(double s, report_number buf)
{
	if (!(s < 60))
		return report_text__time(s, buf);
	snprintf(buf, REPORT_NUMBER, "%.3f s", s);
	return buf;
}

/* The names in JSON are those of the report's facts, as far as it has them. */
static const struct line {
	enum window_column column;
	const char *label, *key;
	to_text text;
} lines[] = {
	{WINDOW_CPU, "CPU time", "cpu_s", exact_time},
	{WINDOW_USER, "  in user mode", "user_s", exact_time},
	{WINDOW_SYSTEM, "  in the kernel", "system_s", exact_time},
	{WINDOW_WAIT, "wait for CPU", "wait_s", exact_time},
	{WINDOW_DISK_WAIT, "wait for disk", "disk_wait_s", exact_time},
	{WINDOW_VOLUNTARY, "gave CPU up", "voluntary_switches", report_text__count},
	{WINDOW_FORCED, "lost CPU", "forced_switches", report_text__count},
	{WINDOW_PEAK, "memory peak", "peak_mb", report_text__mb},
	{WINDOW_READ, "read", "read_mb", report_text__mb},
	{WINDOW_WRITE, "written", "write_mb", report_text__mb},
	{WINDOW_DISK_READ, "read from disk", "disk_read_mb", report_text__mb},
	{WINDOW_DISK_WRITE, "written to disk", "disk_write_mb", report_text__mb},
	{WINDOW_NET_RX, "received", "net_rx_mb", report_text__mb},
	{WINDOW_NET_TX, "sent", "net_tx_mb", report_text__mb},
};
#define LINES (sizeof(lines) / sizeof(lines[0]))

/* How much of a column was used in the window. Of WINDOW_PEAK: the highest memory; NaN where it was
 * not above what the step had used before. */
static double window_used(const struct window *w, enum window_table t, enum window_column c)
{
	double before = w->before.v[t][c], after = w->after.v[t][c];

	if (c == WINDOW_PEAK)
		return isnan(before) || after > before ? after : NAN;
	/* the split of user and kernel mode may have been corrected by a hair */
	return after < before ? 0 : after - before;
}

static double wall_s(const struct window *w)
{
	return window_used(w, WINDOW_STEP, WINDOW_TIME_NS) / 1e9;
}

static bool has_task(const struct window *w)
{
	return w->task != JPC_UNKNOWN && !isnan(w->after.v[WINDOW_TASK][WINDOW_TIME_NS]);
}

static void print_command(const struct window *w, FILE *out)
{
	for (char **a = w->argv; *a; a++) {
		fputs(a == w->argv ? "" : " ", out);
		print__escaped(out, *a);
	}
}

static void print_head(const struct window *w, FILE *out)
{
	report_number wall;

	fputs("\nstep ", out);
	print__escaped(out, w->before.step);
	fprintf(out, ", %s from the begin of CMD to its end, exit status %d: ",
		report_text__time(wall_s(w), wall), w->status);
	print_command(w, out);
	putc('\n', out);
}

static void print_share(const char *name, double share, FILE *out)
{
	int cells = (int)lrint(fmin(fmax(share, 0), 1) * BAR);

	fprintf(out, "  %-14s %5.1f %%  ", name, 100 * share);
	while (cells-- > 0)
		putc('#', out);
	putc('\n', out);
}

/* Prints the budget of the task, since the CPUs of its processes are known here, and those of the
 * step are not. */
static void print_budget(const struct window *w, FILE *out)
{
	enum window_table t = has_task(w) ? WINDOW_TASK : WINDOW_STEP;
	double cpu = window_used(w, t, WINDOW_CPU), user = window_used(w, t, WINDOW_USER),
	       system = window_used(w, t, WINDOW_SYSTEM), all = fmax(w->cores * wall_s(w), cpu);
	report_number wall, cores;

	if (isnan(w->cores) || isnan(cpu) || !(all > 0))
		return;
	fprintf(out, "\nWhere the time went: %.0f core%s x %s = %s\n", w->cores,
		report_text__s(w->cores), report_text__time(wall_s(w), wall),
		report_text__cores(w->cores * wall_s(w), cores));
	if (user + system > 0) {
		print_share("own code", cpu / all * user / (user + system), out);
		print_share("kernel", cpu / all * system / (user + system), out);
	} else {
		print_share("CPU time", cpu / all, out);
	}
	print_share("others or idle", (all - cpu) / all, out);
}

static void print_line(const struct window *w, const struct line *l, FILE *out)
{
	double step = window_used(w, WINDOW_STEP, l->column),
	       task = window_used(w, WINDOW_TASK, l->column);
	report_number text;

	if (isnan(step) && isnan(task))
		return;
	fprintf(out, "  %-*s%*s", LABEL, l->label, CELL, l->text(step, text));
	if (has_task(w))
		fprintf(out, "%*s", CELL, l->text(task, text));
	putc('\n', out);
}

static void print_peak_note(const struct window *w, FILE *out)
{
	double before = w->before.v[WINDOW_STEP][WINDOW_PEAK],
	       after = w->after.v[WINDOW_STEP][WINDOW_PEAK];
	report_number text;

	if (before != after) /* it has risen, or a new jobprofd does not know the old one */
		return;
	fprintf(out, "The memory of the step stayed below its peak before CMD, which was %s.\n",
		report_text__mb(before, text));
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* What is said below a page: two lines. */
static void window_print_foot(const struct window *w)
{
	report_number size;

	fprintf(stderr,
		"CMD alone: exit status %d, user %.3f s, system %.3f s, largest process %s.\n",
		w->status, seconds(w->use.ru_utime), seconds(w->use.ru_stime),
		report_text__mb((double)w->use.ru_maxrss / 1024, size));
	fputs("What other processes of the step and task did in that time is in these numbers.\n",
	      stderr);
}

/* Prints as a page what was used, and why no report can be made. */
static void window_print(const struct window *w)
{
	FILE *out = stderr;
	char task[32];

	print_head(w, out);
	print_budget(w, out);
	fprintf(out, "\n%-*s%*s", LABEL + 2, "What was used", CELL, "step");
	if (has_task(w)) {
		snprintf(task, sizeof(task), "task %u", w->task);
		fprintf(out, "%*s", CELL, task);
	}
	putc('\n', out);
	for (size_t i = 0; i < LINES; i++)
		print_line(w, &lines[i], out);
	print_peak_note(w, out);
	window_print_foot(w);
}

static json_t *json_of_table(const struct window *w, enum window_table t)
{
	json_t *j = json_object();

	for (size_t i = 0; i < LINES; i++)
		json_object_set_new(j, lines[i].key,
				    json__number(window_used(w, t, lines[i].column)));
	json_object_set_new(j, "earlier_peak_mb", json__number(w->before.v[t][WINDOW_PEAK]));
	return j;
}

static json_t *json_of_series(const struct window *w)
{
	json_t *j = json_object();
	char task[32];

	json_object_set_new(j, "Step", json_of_table(w, WINDOW_STEP));
	if (has_task(w)) {
		snprintf(task, sizeof(task), "Tasks/%u", w->task);
		json_object_set_new(j, task, json_of_table(w, WINDOW_TASK));
	}
	return j;
}

/* Writes what was used as JSON, with the report, which it frees; NULL: there is none. */
static void window_print_json(const struct window *w, json_t *report, FILE *out)
{
	json_t *command = json_array(), *j;

	for (char **a = w->argv; *a; a++)
		json_array_append_new(command, json__text(*a));
	j = json_pack("{s:o, s:o, s:i, s:I, s:o, s:o, s:{s:f, s:f, s:f}, s:o, s:o}", "step",
		      json__text(w->before.step), "command", command, "exit_status", w->status,
		      "begin_ns", (json_int_t)w->begin_ns, "wall_s", json__number(wall_s(w)),
		      "cores", json__number(w->cores), "command_use", "user_s",
		      seconds(w->use.ru_utime), "system_s", seconds(w->use.ru_stime), "max_rss_mb",
		      (double)w->use.ru_maxrss / 1024, "series", json_of_series(w), "report",
		      report ? report : json_null());
	if (!j)
		return;
	json__dump(j, out, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(j);
}

/* ---- the rows that the step's journal has of it */

static struct report_opts how_of(const struct window *w)
{
	return (struct report_opts){
		.is_run = true,
		.name = w->command ? w->command : w->argv[0],
		.more = "run it with --json FILE",
		.lines_after = 2,
	};
}

/* Makes a file of the step's rows in the window; journal_file__remove() in any case. 0, or there is
 * none. */
static int window_report_rows(const struct window *w, struct journal_file *rows)
{
	const struct nodestep_window window = {w->before.time_ns, w->after.time_ns};

	return journal_file__make(rows, w->journal, &window);
}

/* Prints the report on them. Returns 0, or an error when no report can be made; the cause is
 * logged. */
static int window_report_print(const struct window *w, const struct journal_file *rows)
{
	const struct report_opts how = how_of(w);

	return report__on_stderr(rows->path, &how);
}

static int put_json(const struct report *r, struct message *m, void *ctx)
{
	json_t *json = report__json(r);
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;

	(void)ctx;
	if (text)
		message__put_text(m, text);
	free(text);
	json_decref(json);
	return text ? 0 : 1;
}

static int take_json(struct message *m, void *json)
{
	*(json_t **)json = json_loads(message__take_text(m), 0, NULL);
	return 0;
}

/* NULL: it cannot be had. */
static json_t *window_report_json(const struct window *w, const struct journal_file *rows)
{
	const struct report_opts how = how_of(w);
	json_t *json = NULL;

	report__ask(&(struct job_input){.path = rows->path}, 1, &how,
		    &(struct report_question){put_json, take_json, &json});
	return json;
}

/* A step that has just begun is asked again every so often, so many times. */
#define YOUNG_MS    20
#define YOUNG_TRIES 100

static const char *const columns[N_WINDOW_COLUMNS] = {
	[WINDOW_TIME_NS] = "TimeNS",	    [WINDOW_CPU] = "CPUTime",
	[WINDOW_USER] = "UserTime",	    [WINDOW_SYSTEM] = "SystemTime",
	[WINDOW_WAIT] = "RunDelay",	    [WINDOW_DISK_WAIT] = "OffCPUDisk",
	[WINDOW_VOLUNTARY] = "VolSwitches", [WINDOW_FORCED] = "InvolSwitches",
	[WINDOW_READ] = "ReadMB",	    [WINDOW_WRITE] = "WriteMB",
	[WINDOW_DISK_READ] = "DiskReadMB",  [WINDOW_DISK_WRITE] = "DiskWriteMB",
	[WINDOW_NET_RX] = "NetRxMB",	    [WINDOW_NET_TX] = "NetTxMB",
	[WINDOW_PEAK] = "PeakMB",
};

static int64_t time_of(const struct jobprof_table *t)
{
	for (unsigned i = 0; i < t->ncols; i++)
		if (!strcmp(t->columns[i].name, columns[WINDOW_TIME_NS]))
			return (int64_t)t->cells[i].u;
	return 0;
}

static void take_table(const struct jobprof_table *t, void *arg)
{
	struct window_totals *to = arg;
	double *v = to->v[strcmp(t->series, "Step") ? WINDOW_TASK : WINDOW_STEP];

	str__copy(to->step, sizeof(to->step), t->step);
	if (t->nrows && !strcmp(t->series, "Step"))
		to->time_ns = time_of(t);
	for (unsigned i = 0; t->nrows && i < t->ncols; i++)
		for (int c = 0; c < N_WINDOW_COLUMNS; c++)
			if (!strcmp(columns[c], t->columns[i].name))
				v[c] = t->columns[i].is_double ? t->cells[i].d
							       : (double)t->cells[i].u;
}

/* The journal is the caller's. 0 or -errno, with a reason for people or "". */
static int ask_totals(uint32_t task, unsigned flags, struct window_totals *to, int *journal,
		      char reason[static 256])
{
	int n;

	to->step[0] = 0;
	for (int t = 0; t < N_WINDOW_TABLES; t++)
		for (int c = 0; c < N_WINDOW_COLUMNS; c++)
			to->v[t][c] = NAN;
	n = totals__ask(task, flags, CLIENT_CONN_TIMEOUT_MS, take_table, to, journal, reason, 256);
	if (n >= 0 && isnan(to->v[WINDOW_STEP][WINDOW_TIME_NS]))
		return -ENODATA; /* nothing but external series is recorded for the step */
	return n < 0 ? n : 0;
}

static int ask_first(struct window *w, bool with_rows, char reason[static 256])
{
	const struct timespec pause = {.tv_nsec = YOUNG_MS * 1000000L};
	int err = -EAGAIN, none;

	for (int i = 0; err == -EAGAIN && i < YOUNG_TRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		err = ask_totals(w->task, with_rows ? JPC_F_ROWS : 0, &w->before, &none, reason);
	}
	return err;
}

static int refuse(int err, const char *reason)
{
	const char *why = err == -ENOTCONN  ? "no jobprofd runs on this node: ask the site for it"
			  : err == -ESRCH   ? "jobprofd profiles no step here"
			  : err == -ENODATA ? "no counts of this step are recorded"
			  : err == -EOPNOTSUPP ? "jobprofd is of an older version"
			  : *reason	       ? reason
					       : strerror(-err);

	log_error("%s, CMD must run in a step that jobprofd profiles, as with srun --jobprof=all "
		  "(%s)",
		  geteuid() ? "profiling needs root to load BPF programs: sudo jobprof run ...; "
			      "without root"
			    : "the kernel lets this root load no BPF programs, as in a container "
			      "without CAP_BPF and CAP_PERFMON: here",
		  why);
	return 1;
}

/* A mark that is lost is lost to the file alone: the page does not need it. */
static void set_mark(const char *text)
{
	struct jpc_mark m = {.time_ns = client_conn__now_ns()};
	_cleanup_free_ char *name = NULL;
	struct client c;
	unsigned replaced;

	name = utf8__clean(text, sizeof(m.name) - 1, &replaced);
	if (!name || column__mark_name(m.name, name) || client_conn__open(&c))
		return;
	client__head(&c, &m, JPC_MARK, sizeof(m));
	client_conn__call(&c, &m);
	client__close(&c);
}

static void exec_command(char **argv, const sigset_t *mask)
{
	int err;

	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	log_error("cannot run %s: %s", argv[0], strerror(err));
	_exit(RUN_STATUS(err));
}

/* A signal typed at the terminal has reached the command already; one sent to us alone is passed
 * on, but for SIGHUP. */
static void wait_for(struct window *w, pid_t pid, const sigset_t *signals)
{
	siginfo_t si;
	int status = 0;
	pid_t ended;

	while (!(ended = wait4(pid, &status, WNOHANG, &w->use)) || (ended < 0 && errno == EINTR)) {
		int sig = sigwaitinfo(signals, &si);

		if (sig > 0 && sig != SIGCHLD && sig != SIGHUP && si.si_code != SI_KERNEL)
			kill(pid, sig);
	}
	w->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* 0 or -errno: the command was not started. */
static int run_command(struct window *w)
{
	static const int taken[] = {SIGCHLD, SIGINT,  SIGTERM, SIGQUIT,
				    SIGHUP,  SIGUSR1, SIGUSR2, SIGALRM};
	sigset_t signals, mask;
	pid_t pid;

	sigemptyset(&signals);
	for (unsigned i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		sigaddset(&signals, taken[i]);
	signal(SIGCHLD, SIG_DFL); /* where it is ignored, no child can be waited for */
	sigprocmask(SIG_BLOCK, &signals, &mask);
	pid = fork();
	if (!pid)
		exec_command(w->argv, &mask);
	if (pid < 0)
		return -errno;
	wait_for(w, pid, &signals);
	return 0;
}

static double own_cores(void)
{
	cpu_set_t *set = CPU_ALLOC(8192);
	size_t size = CPU_ALLOC_SIZE(8192);
	double n = set && !sched_getaffinity(0, size, set) ? CPU_COUNT_S(size, set) : NAN;

	CPU_FREE(set);
	return n;
}

/* Asks jobprofd what has been used up to now, and sets the second mark. 0 or -errno. */
static int close_window(struct window *w)
{
	char reason[256];
	int err = ask_totals(w->task, JPC_F_ROWS | JPC_F_JOURNAL, &w->after, &w->journal, reason);

	if (!err && strcmp(w->before.step, w->after.step))
		err = -ESRCH;
	if (!err && w->after.v[WINDOW_STEP][WINDOW_CPU] < w->before.v[WINDOW_STEP][WINDOW_CPU])
		err = -ESTALE;
	if (err)
		log_error("no page about %s: jobprofd %s", w->argv[0],
			  err == -ENOTCONN || err == -ECONNRESET || err == -EPIPE
				  ? "has gone while it ran"
			  : err == -ESTALE ? "has begun to count anew while it ran"
			  : *reason	   ? reason
					   : "does not answer");
	else
		set_mark("run end");
	return err;
}

static int run_between_marks(struct window *w)
{
	char begin[4096];
	int err;

	snprintf(begin, sizeof(begin), "run begin: %s", w->argv[0]);
	w->begin_ns = client_conn__now_ns();
	set_mark(begin);
	err = run_command(w);
	if (err)
		log_error("cannot start %s: %s", w->argv[0], strerror(-err));
	return err;
}

struct outcome {
	const struct window *w;
	struct journal_file file;
	bool has_rows;
};

static int write_json(void *outcome, FILE *out)
{
	const struct outcome *o = outcome;

	window_print_json(o->w, o->has_rows ? window_report_json(o->w, &o->file) : NULL, out);
	return 0;
}

/* json: the file, or NULL. 0 or 1. */
static int print_outcome(const struct window *w, const struct run_user *self, const char *json,
			 bool quiet)
{
	struct outcome o = {.w = w};
	int status = 0;

	o.has_rows = !window_report_rows(w, &o.file);
	if (!quiet && o.has_rows && !window_report_print(w, &o.file))
		window_print_foot(w);
	else if (!quiet)
		window_print(w);
	if (json)
		status = run_json__write(self, json, write_json, &o);
	journal_file__remove(&o.file);
	return status;
}

int run_window__run(char **argv, const char *option, const char *json, bool quiet)
{
	_cleanup_free_ char *command = command_line__of(argv);
	struct window w = {.argv = argv, .command = command, .cores = own_cores(), .journal = -1};
	const char *task = getenv("SLURM_PROCID");
	/* also where SUDO_UID names another one: a container has no way to become that */
	const struct run_user self = {.uid = geteuid(), .gid = getegid()};
	char reason[256];
	int status, failed = 0;

	if (!task || parse_u32(task, &w.task))
		w.task = JPC_UNKNOWN;
	status = ask_first(&w, (!quiet || json) && !option, reason);
	if (status)
		return refuse(status, reason);
	if (option) {
		log_error("--%s needs root%s: without root the step's own profile is used, and run "
			  "has --json, --overwrite and --quiet only",
			  option, geteuid() ? "" : " that may load BPF programs");
		return 2;
	}
	status = run_user__command(&self, argv[0]);
	if (!status && json)
		status = run_json__try(&self, json);
	if (status)
		return status;
	if (run_between_marks(&w))
		return 1;
	if (quiet && !json)
		set_mark("run end");
	else if (close_window(&w))
		return w.status;
	else
		failed = print_outcome(&w, &self, json, quiet);
	if (w.journal >= 0)
		close(w.journal);
	return w.status ? w.status : failed;
}
