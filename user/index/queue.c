/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes rows of the queue of what squeue prints. As with sacct (accounting.c) a user chooses the
 * name of a job, which may have newlines: each call has a random delimiter, which nobody could put
 * into a name, and a row begins and ends with the job's number.
 */
#include "index/queue.h"

#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "base/utf8.h"
#include "identity/slurm_lines.h"
#include "index/running.h"

#define WAIT_S	30.0
#define OUTPUT	(256u << 20) /* bytes of one answer */
#define ROW_LEN (1u << 16)

/* clang-format off */
#define FIELDS(X) \
	X(job, 'A') X(array, 'F') X(tasks, 'K') X(state, 'T') X(user, 'u') X(uid, 'U') X(account, 'a') \
	X(partition, 'P') X(nodes, 'D') X(cpus, 'C') X(gres, 'b') X(memory, 'm') X(start, 'S') \
	X(submit, 'V') X(limit, 'l') X(reason, 'r') X(list, 'N') X(name, 'j') X(again, 'A')

enum field {
#define X(name, letter) F_##name,
	FIELDS(X)
#undef X
	N_FIELDS
};
static const char letters[] = {
#define X(name, letter) letter,
	FIELDS(X)
#undef X
};
/* clang-format on */

struct reading {
	char delimiter[20];
	char *row; /* lines of a row that is not complete */
	size_t len;
	unsigned parts; /* delimiters in it */
	unsigned long senseless;
	struct queued_job *jobs;
	unsigned n;
};

static void job__free(struct queued_job *j)
{
	row__free(&j->row);
	free(j->array_tasks);
	free(j->reason);
}

/* ---- values */

static double number(const char *text)
{
	uint64_t v;

	return parse_u64(text, &v) || v > INT64_MAX / 2 ? NAN : (double)v;
}

static bool is_in(double v, double least, double most)
{
	return v >= least && v <= most;
}

/* "1-00:00:00", "5:00" (minutes and seconds); NaN: "UNLIMITED", or no time. */
static double limit(const char *text)
{
	const char *dash = strchr(text, '-'), *p = dash ? dash + 1 : text;
	double v[3] = {0}, days = 0, seconds;
	int n = 0;
	char part[32];

	if (dash) {
		snprintf(part, sizeof(part), "%.*s", (int)(dash - text), text);
		days = number(part);
	}
	for (; n < 3; p += *p == ':') {
		const size_t len = strcspn(p, ":");

		snprintf(part, sizeof(part), "%.*s", (int)len, p);
		v[n++] = number(part);
		p += len;
		if (!*p)
			break;
	}
	if (*p || n < 2)
		return NAN;
	seconds = days * 86400 + (n == 3 ? v[0] * 3600 + v[1] * 60 + v[2] : v[0] * 60 + v[1]);
	return seconds < SLURM_NO_LIMIT_S ? seconds : NAN;
}

/* Converts "400M", per node or, with a "c" behind, per CPU, to MiB. NaN: it is none per node. */
static double megabytes(const char *text)
{
	static const char units[] = "KMGTP";
	const size_t n = strspn(text, "0123456789.");
	const char *unit = text[n] ? strchr(units, text[n]) : NULL;
	char digits[32];
	double v;

	snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
	if (!n || parse_double(digits, &v) || (text[n] && (!unit || text[n + 1])))
		return NAN;
	return unit ? ldexp(v, 10 * (int)(unit - units - 1)) : v;
}

/* GPUs of a node in "gres/gpu:a100:2", "gpu:2,shard:4" or "gpu"; NaN: there are none there. */
static double gpus(const char *list)
{
	double sum = NAN;
	char word[256];

	for (const char *p = list; *p; p += *p == ',') {
		const size_t n = strcspn(p, ",");
		const char *at, *count;

		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		p += n;
		word[strcspn(word, "(")] = '\0';
		at = strncmp(word, "gres/", 5) && strncmp(word, "gres:", 5) ? word : word + 5;
		if (strncmp(at, "gpu", 3) || (at[3] && at[3] != ':'))
			continue;
		count = strrchr(at, ':');
		sum = (isnan(sum) ? 0 : sum) +
		      (count && !isnan(number(count + 1)) ? number(count + 1) : 1);
	}
	return sum;
}

/* ---- a row */

static bool makes_sense(char *const f[N_FIELDS])
{
	const char *state = f[F_state];

	return !strcmp(f[F_job], f[F_again]) && is_in(number(f[F_job]), 1, UINT32_MAX) && *state &&
	       strspn(state, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(state) &&
	       (*f[F_user] || is_in(number(f[F_uid]), 0, UINT32_MAX)) &&
	       is_in(number(f[F_cpus]), 0, 1e9);
}

/* squeue prints "nobody" for a user whom its host does not know. */
static int take_user(struct row *r, char *const f[N_FIELDS])
{
	const double uid = number(f[F_uid]);
	const struct passwd *pw = NULL;

	if (*f[F_user] && strcmp(f[F_user], "nobody"))
		return row__set_text(r, INDEX_user, f[F_user]);
	if (is_in(uid, 0, UINT32_MAX))
		pw = getpwuid((uid_t)uid);
	return row__set_text(r, INDEX_user, pw ? pw->pw_name : *f[F_uid] ? f[F_uid] : f[F_user]);
}

static int take_texts(struct row *r, char *const f[N_FIELDS])
{
	static const struct {
		enum field from;
		enum index_column to;
	} texts[] = {
		{F_account, INDEX_account}, {F_partition, INDEX_partition}, {F_state, INDEX_state},
		{F_list, INDEX_node_list},  {F_name, INDEX_name},
	};
	int err = take_user(r, f);

	for (size_t i = 0; !err && i < sizeof(texts) / sizeof(*texts); i++)
		if (*f[texts[i].from] && strcmp(f[texts[i].from], "(null)"))
			err = row__set_text(r, texts[i].to, f[texts[i].from]);
	return err;
}

/* A job that is of no array is the only one of its own number. */
static void take_numbers(struct row *r, char *const f[N_FIELDS])
{
	double *v = r->number;

	v[INDEX_job_id] = number(f[F_job]);
	if (*f[F_tasks] && strcmp(f[F_tasks], "N/A")) {
		v[INDEX_array_id] = number(f[F_array]);
		v[INDEX_array_task] = number(f[F_tasks]);
	}
	v[INDEX_nodes] = number(f[F_nodes]);
	v[INDEX_cpus] = number(f[F_cpus]);
	v[INDEX_gpus] = gpus(f[F_gres]) * v[INDEX_nodes];
	v[INDEX_mem_asked_mb] = megabytes(f[F_memory]);
	v[INDEX_submit] = number(f[F_submit]);
	v[INDEX_limit_s] = limit(f[F_limit]);
}

static char *clean(const char *text)
{
	unsigned replaced;

	return utf8__clean(text, 255, &replaced);
}

static int take_job(struct reading *r, char *const f[N_FIELDS])
{
	const bool waits = !strcmp(f[F_state], "PENDING");
	struct queued_job *j;
	int err;

	if (room__grow(&r->jobs, r->n, 1, sizeof(*j)))
		return -ENOMEM;
	j = &r->jobs[r->n++];
	*j = (struct queued_job){.estimated = waits ? number(f[F_start]) : NAN};
	row__init(&j->row);
	take_numbers(&j->row, f);
	j->row.number[INDEX_start] = waits ? NAN : number(f[F_start]);
	err = take_texts(&j->row, f);
	if (!err && !isnan(j->row.number[INDEX_array_id]) &&
	    isnan(j->row.number[INDEX_array_task]) && !(j->array_tasks = clean(f[F_tasks])))
		err = -ENOMEM;
	if (!err && waits && !(j->reason = clean(f[F_reason])))
		err = -ENOMEM;
	return err;
}

/* ---- lines */

static void drop(struct reading *r)
{
	r->senseless++;
	r->len = 0;
	r->parts = 0;
}

static int cut_row(struct reading *r)
{
	char *f[N_FIELDS], *at = r->row;

	for (unsigned i = 0; i < N_FIELDS; i++) {
		char *end = strstr(at, r->delimiter);

		f[i] = at;
		at = end ? end + strlen(r->delimiter) : r->row + r->len;
		if (end)
			*end = '\0';
	}
	if (!makes_sense(f)) {
		drop(r);
		return 0;
	}
	r->len = 0;
	r->parts = 0;
	return take_job(r, f);
}

static int take_line(void *arg, const char *line)
{
	struct reading *r = arg;
	const size_t len = strlen(line);
	unsigned parts = 0;

	for (const char *p = line; (p = strstr(p, r->delimiter)); p += strlen(r->delimiter))
		parts++;
	if (r->len && (r->parts + parts >= N_FIELDS || r->len + len + 2 > ROW_LEN))
		drop(r);
	if (len + 2 > ROW_LEN)
		return 0;
	if (r->len)
		r->row[r->len++] = '\n';
	memcpy(r->row + r->len, line, len + 1);
	r->len += len;
	r->parts += parts;
	if (r->parts == N_FIELDS - 1)
		return cut_row(r);
	if (!r->parts || r->parts >= N_FIELDS)
		drop(r);
	return 0;
}

/* ---- the command */

static int make_format(struct reading *r, char *to, size_t size)
{
	uint64_t random;
	size_t n = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(r->delimiter, sizeof(r->delimiter), "\x1f%016llx", (unsigned long long)random);
	for (unsigned i = 0; i < N_FIELDS; i++)
		n += (size_t)snprintf(to + n, size - n, "%s%%%c", i ? r->delimiter : "",
				      letters[i]);
	return 0;
}

/* A service says once that squeue fails, until it answers again. */
static void say_failure(int err, const struct slurm_lines *l, const struct queue_options *o)
{
	static int last;
	const bool is_new = err != last;

	last = err;
	if (!err || !is_new || (err == -ENOENT && !o->squeue))
		return;
	if (err == -ETIME)
		log_error(
			"squeue: it has not answered within %.0f s, and was stopped: running jobs "
			"are as they were at its last answer",
			l->seconds);
	else if (err == -EIO)
		log_error("squeue: %s", l->said);
	else
		log_error("%s: %s", o->squeue ? o->squeue : "squeue",
			  err == -ENOENT ? "it cannot be run: is Slurm installed?"
					 : strerror(-err));
}

static int ask(struct reading *r, const struct queue_options *o)
{
	const char *slash = o->squeue ? strrchr(o->squeue, '/') : NULL;
	char *dir = slash ? strndup(o->squeue, (size_t)(slash - o->squeue) + 1) : NULL;
	char format[N_FIELDS * 24];
	char *const argv[] = {"squeue",	       "-h", "-a", "-o", format, o->user ? "-u" : NULL,
			      (char *)o->user, NULL};
	struct slurm_lines l = {.dir = dir,
				.argv = argv,
				.seconds = o->wait_s > 0 ? o->wait_s : WAIT_S,
				.most = OUTPUT,
				.take = take_line,
				.arg = r};
	int err = make_format(r, format, sizeof(format));

	if (!err)
		err = slurm_lines__read(&l);
	say_failure(err, &l, o);
	free(dir);
	return err;
}

static int write_jobs(struct index *ix, const struct queue_options *o, const struct reading *r,
		      double at)
{
	int err = index__begin(ix);

	if (err)
		return err;
	for (unsigned i = 0; !err && i < r->n; i++)
		err = running__put_queued(ix, &r->jobs[i], o->cluster ? o->cluster : "", at);
	if (!err)
		err = running__end_queue(ix, o->user, at);
	return index__end(ix, err);
}

int queue__read(struct index *ix, const struct queue_options *o)
{
	struct reading r = {.row = malloc(ROW_LEN)};
	const double at = (double)time(NULL);
	int err = r.row ? 0 : -ENOMEM;

	db__share(ix->db);
	unsetenv("SQUEUE_FORMAT"); /* these would change what squeue prints */
	unsetenv("SQUEUE_FORMAT2");
	unsetenv("SQUEUE_STATES");
	unsetenv("SQUEUE_PARTITION");
	unsetenv("SQUEUE_ARRAY");
	unsetenv("SLURM_CLUSTERS");
	if (!err && running__may_ask(ix, at)) {
		err = ask(&r, o);
		if (!err && r.senseless)
			log_warn("squeue: %lu of its rows make no sense and are left out",
				 r.senseless);
		if (!err)
			err = write_jobs(ix, o, &r, at);
	}
	for (unsigned i = 0; i < r.n; i++)
		job__free(&r.jobs[i]);
	free(r.jobs);
	free(r.row);
	return err;
}
