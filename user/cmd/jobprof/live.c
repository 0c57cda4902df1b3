/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof live: the last rows of steps that run on this node. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "base/text_table.h"
#include "client/libjobprof.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/verbs.h"
#include "identity/identity.h"
#include "jobfile/profiles.h"
#include "schema/series.h"

struct live_out {
	FILE *file;
	bool compact; /* a line per round, where a format has no other end of it */
	char *head;   /* csv: the header printed last */
	void *json;   /* json: the tables of this round */
};

struct live_format {
	const char *name;
	void (*begin)(struct live_out *out);
	void (*table)(struct live_out *out, const struct jobprof_table *t);
	void (*end)(struct live_out *out, bool complete);
};

/* ---- the forms of "jobprof live": table, CSV and JSON */

#define CELL_LEN 32

static const char *cell_text(const struct jobprof_table *t, unsigned row, unsigned col,
			     char buf[static CELL_LEN])
{
	union jobprof_cell c = t->cells[(size_t)row * t->ncols + col];

	if (!t->columns[col].is_double)
		snprintf(buf, CELL_LEN, "%" PRIu64, c.u);
	else
		snprintf(buf, CELL_LEN, isnan(c.d) ? "nan" : "%.9g", c.d);
	return buf;
}

/* A count of a histogram: B0 to B63, W0 to W63. */
static bool is_bucket(const char *name)
{
	return (*name == 'B' || *name == 'W') && name[1] &&
	       strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* The buckets from column i on, in one line: those that are not 0. Returns the column after them.
 */
static unsigned put_buckets(struct text_table *text, const struct jobprof_table *t, unsigned i)
{
	const union jobprof_cell *row = t->cells + (size_t)(t->nrows - 1) * t->ncols;
	char list[64 * (CELL_LEN + 8)] = "", buf[CELL_LEN];
	size_t len = 0;

	for (; i < t->ncols && is_bucket(t->columns[i].name); i++) {
		bool zero = t->columns[i].is_double ? row[i].d == 0 : row[i].u == 0;

		if (!zero && len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s %s",
						len ? ", " : "", t->columns[i].name,
						cell_text(t, t->nrows - 1, i, buf));
	}
	text_table__cell(text, "not 0:");
	text_table__cell(text, "%s", len ? list : "none");
	return i;
}

/* The last row, a line per column: tables are wider than terminals. */
static void table_table(struct live_out *out, const struct jobprof_table *t)
{
	struct text_table text = {.ncols = 2, .nleft = 2, .indent = "  "};
	char buf[CELL_LEN];

	if (!t->nrows)
		return;
	fputs("step ", out->file);
	print__escaped(out->file, t->step);
	fputc(' ', out->file);
	print__escaped(out->file, t->series);
	fputc('\n', out->file);
	for (unsigned i = 0; i < t->ncols; i++) {
		const struct jobprof_live_column *c = &t->columns[i];

		if (is_bucket(c->name)) {
			i = put_buckets(&text, t, i) - 1;
			continue;
		}
		text_table__cell(&text, "%s", c->name);
		text_table__cell(&text, "%s%s%s", cell_text(t, t->nrows - 1, i, buf),
				 *c->unit ? " " : "", c->unit);
	}
	text_table__end(&text, out->file);
}

/* The line "Step,Series,<columns>", to be freed. */
static char *csv_head(const struct jobprof_table *t)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fputs("Step,Series", f);
	for (unsigned i = 0; i < t->ncols; i++) {
		fputc(',', f);
		csv__print(f, t->columns[i].name);
	}
	fclose(f);
	return text;
}

/* A header wherever the columns are others than before. */
static void csv_table(struct live_out *out, const struct jobprof_table *t)
{
	char *head = csv_head(t), buf[CELL_LEN];

	if (head && (!out->head || strcmp(out->head, head)))
		fprintf(out->file, "%s\n", head);
	free(out->head);
	out->head = head;
	for (unsigned row = 0; row < t->nrows; row++) {
		csv__print(out->file, t->step);
		fputc(',', out->file);
		csv__print(out->file, t->series);
		for (unsigned i = 0; i < t->ncols; i++) {
			fprintf(out->file, ",%s", cell_text(t, row, i, buf));
		}
		fputc('\n', out->file);
	}
}

static void json_begin(struct live_out *out)
{
	out->json = json_array();
}

static json_t *json_row(const struct jobprof_table *t, unsigned row)
{
	json_t *cells = json_array();

	for (unsigned i = 0; i < t->ncols; i++) {
		union jobprof_cell c = t->cells[(size_t)row * t->ncols + i];

		json_array_append_new(cells, t->columns[i].is_double
						     ? json__number(c.d)
						     : json_integer((json_int_t)c.u));
	}
	return cells;
}

static void json_table(struct live_out *out, const struct jobprof_table *t)
{
	json_t *columns = json_array(), *rows = json_array();

	for (unsigned i = 0; i < t->ncols; i++)
		json_array_append_new(columns, json_pack("{s:o, s:o}", "name",
							 json__text(t->columns[i].name), "unit",
							 json__text(t->columns[i].unit)));
	for (unsigned i = 0; i < t->nrows; i++)
		json_array_append_new(rows, json_row(t, i));
	json_array_append_new(
		out->json, json_pack("{s:o, s:o, s:o, s:o}", "step", json__text(t->step), "series",
				     json__text(t->series), "columns", columns, "rows", rows));
}

static void json_end(struct live_out *out, bool complete)
{
	if (complete) {
		json__dump(out->json, out->file, out->compact ? JSON_COMPACT : JSON_INDENT(2));
		fputc('\n', out->file);
	}
	json_decref(out->json);
	out->json = NULL;
}

static const struct live_format formats[] = {
	{"table", NULL, table_table, NULL},
	{"csv", NULL, csv_table, NULL},
	{"json", json_begin, json_table, json_end},
};

/* with a space after each */
static void live_format_print_names(FILE *out)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		fprintf(out, "%s ", formats[i].name);
}

/* NULL: there is no such format. */
static const struct live_format *live_format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

static void live_out_free(struct live_out *out)
{
	free(out->head);
}

/* ---- the verb */

#define WATCH_MIN 0.1
#define WATCH_MAX 86400.0
#define JOBS_MAX  1024u /* an array's tasks */

struct args {
	uint32_t jobs[JOBS_MAX]; /* 0: the caller's own step */
	unsigned njobs;
	char text[JOBSPEC_TEXT]; /* of a job's id, which may be that of an array; "": it is not */
	char step[32];
	const char *series;
	const struct live_format *format;
	double watch; /* seconds between rounds; 0: one round */
};

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

/* A run outside of Slurm answers itself, whatever jobprofd there is. */
static void ask_run(uint32_t job)
{
	char path[64];

	snprintf(path, sizeof(path), CLIENT_CONN_RUN_DIR "/" CLIENT_CONN_RUN_FORM, (int)job);
	if (!access(path, F_OK))
		setenv("JOBPROF_SOCKET", path, 0);
}

/* jobprofd knows jobs by their own ids; which a task of an array or a component has, squeue knows.
 */
static int find_jobs(struct args *a, const struct jobspec *spec)
{
	char job[JOBSPEC_TEXT];

	snprintf(job, sizeof(job), "%.*s", (int)strcspn(spec->text, "."), spec->text);
	if (spec->kind == JOBSPEC_JOB) {
		ask_run(spec->job);
		a->jobs[0] = spec->job;
		a->njobs = 1;
		memcpy(a->text, job, sizeof(job));
		return 0;
	}
	a->njobs = slurmjob__running(job, a->jobs, JOBS_MAX);
	if (a->njobs)
		return 0;
	log_error("-j: squeue knows no job %s that runs", job);
	return 1;
}

static int set_job(void *to, const struct opt *o, const char *text)
{
	struct args *a = to;
	struct jobspec *jobs;
	unsigned n;
	char number[16];
	int status = profile_words__jobs(&jobs, &n, text);

	if (status)
		return status;
	if (n != 1) {
		log_error("-j: \"%s\" is not one job or step, as in 42, 42.0 or 42_3", text);
		status = 2;
	} else {
		status = find_jobs(a, &jobs[0]);
		snprintf(number, sizeof(number), "%u", jobs[0].step);
		snprintf(a->step, sizeof(a->step), "%s",
			 jobs[0].any_step ? "" : stepname__human(number));
	}
	free(jobs);
	return status;
}

static int set_watch(void *to, const struct opt *o, const char *text)
{
	double *s = to;

	if (!parse_double(text, s) && *s >= WATCH_MIN && *s <= WATCH_MAX)
		return 0;
	log_error("--watch: \"%s\" is not a number of seconds from %g to %g", text, WATCH_MIN,
		  WATCH_MAX);
	return 2;
}

static int set_format(void *to, const struct opt *o, const char *text)
{
	struct args *a = to;

	a->format = live_format_find(text);
	if (a->format)
		return 0;
	log_error("--format: \"%s\" is not table, csv or json", text);
	return 2;
}

static const struct opt opts[] = {
	{'j', "jobs", "JOB[.STEP]", "default: inside a job, the step this is called in",
	 OPT_CALL(set_job)},
	{'s', "series", "SERIES", "only this one, as in Step, Tasks, Tasks/3, User/solver",
	 OPT_TEXT(struct args, series), .values = series__print_names},
	{'w', "watch", "S", "again every S seconds, 0.1 to 86400",
	 OPT_CALL_AT(set_watch, struct args, watch)},
	{0, "format", "F", "table (default), csv or json", OPT_CALL(set_format),
	 .values = live_format_print_names},
	{0},
};

const struct command cmd_live = {
	.name = "jobprof live",
	.usage = "[-j JOB[.STEP]] [-s SERIES] [--watch S] [--format F]",
	.about = "The last rows of a job's steps on this node, while they run.",
	.opts = opts,
};

struct round {
	const struct args *args;
	struct live_out *out;
	unsigned shown;
};

/* "Tasks" means all of "Tasks/<n>". */
static bool is_wanted(const char *wanted, const char *series)
{
	size_t len = wanted ? strlen(wanted) : 0;

	return !wanted || (!strncmp(series, wanted, len) && (!series[len] || series[len] == '/'));
}

static void show_table(const struct jobprof_table *t, void *arg)
{
	struct round *r = arg;

	if (!is_wanted(r->args->series, t->series))
		return;
	r->shown++;
	r->args->format->table(r->out, t);
}

/* Shows the rows of all jobs. The number of their tables, or -errno; -ESRCH only if no job is known
 * here, for a job may have all its tasks on other nodes. */
static int ask_jobs(const struct args *a, struct round *r, char reason[static 256])
{
	int sum = -ESRCH;

	for (unsigned i = 0; i < a->njobs; i++) {
		int n = jobprof_live(a->jobs[i], a->step, CLIENT_CONN_TIMEOUT_MS, show_table, r,
				     reason, 256);

		if (n < 0 && n != -ESRCH)
			return n;
		if (n >= 0)
			sum = n + (sum < 0 ? 0 : sum);
	}
	return sum;
}

static int one_round(struct args *a, struct live_out *out)
{
	struct round r = {.args = a, .out = out};
	char reason[256] = "";
	int n;

	if (a->format->begin)
		a->format->begin(out);
	n = ask_jobs(a, &r, reason);
	if (n == -ESRCH && a->text[0]) {
		a->njobs = slurmjob__running(a->text, a->jobs + 1, JOBS_MAX - 1) + 1;
		a->text[0] = 0;
		n = a->njobs > 1 ? ask_jobs(a, &r, reason) : n;
	}
	if (a->format->end)
		a->format->end(out, n >= 0);
	if (n < 0)
		return client_conn__failed(n, reason);
	if (r.shown)
		return 0;
	if (a->series && n)
		log_error("no rows of series \"%s\" yet", a->series);
	else
		log_error("no rows yet");
	return a->watch > 0 ? 0 : 1;
}

static void wait_s(double s)
{
	struct timespec ts = {.tv_sec = (time_t)s,
			      .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

	nanosleep(&ts, NULL);
}

int verb_live(int argc, char **argv)
{
	struct args a = {.njobs = 1, .format = live_format_find("table")};
	struct sigaction sa = {.sa_handler = on_signal};
	struct live_out out = {.file = stdout};
	int status = options__read(&cmd_live, argc, argv, &a);

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind != argc)
		return options__wrong(&cmd_live, "\"%s\" means nothing here", argv[optind]);
	out.compact = a.watch > 0;
	if (a.watch > 0) {
		sigaction(SIGINT, &sa, NULL);
		sigaction(SIGTERM, &sa, NULL);
	}
	for (;;) {
		if (a.watch > 0 && isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);
		status = one_round(&a, &out);
		if (fflush(stdout) || status || ended || a.watch <= 0)
			break;
		wait_s(a.watch);
		if (ended)
			break;
	}
	live_out_free(&out);
	return status;
}
