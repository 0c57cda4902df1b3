/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a job's row with rows of the same signature and of the same program. */
#include "index/alike.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/room.h"

/* Shares of the time that a user can reduce. Of those that are larger than in other jobs, judge()
 * takes the one that most jobs have less of. */
static const struct {
	const char *column, *name;
} shares[] = {
	{"share_kernel", "time in the kernel"},
	{"share_others", "time of other programs"},
	{"share_quota", "time throttled by a CPU quota"},
	{"share_wait", "wait for a CPU"},
	{"share_disk", "wait for a disk"},
	{"share_asleep", "time asleep"},
	{"share_idle", "time not used"},
};
#define SHARES (sizeof(shares) / sizeof(*shares))

struct job {
	int64_t id;
	char *signature, *program;
	double start, elapsed_s;
	bool has_ended; /* by itself or at its limit: other ends say nothing about its length */
	double share[SHARES];
};

static void free_job(struct job *j)
{
	free(j->signature);
	free(j->program);
}

static char *copy_of(const struct db_value *v)
{
	return v->type == DB_TEXT && *v->text ? strdup(v->text) : NULL;
}

static void add_shares(struct query *q, const char *before, const char *after)
{
	for (size_t i = 0; i < SHARES; i++) {
		query__add(q, before);
		query__add(q, shares[i].column);
		query__add(q, after);
	}
}

/* Whether the file is unchanged since the index read it, so that the row describes it. */
static bool is_as_read(const char *file, double mtime)
{
	struct stat st;

	return !stat(file, &st) && fabs((double)st.st_mtim.tv_sec - mtime) <= 1;
}

/* Reads the job's row. 0; -ENOENT: the index does not have it; -errno. */
static int find_job(struct job *j, struct index *ix, uint32_t job, const char *file)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	*j = (struct job){0};
	query__add(&q, "SELECT j.id, j.signature, j.program, j.start, j.elapsed_s, j.file_mtime, "
		       "CASE WHEN j.state IS NULL OR j.state IN ('COMPLETED', 'TIMEOUT') THEN 1 "
		       "ELSE 0 END");
	add_shares(&q, ", j.", "");
	query__add(&q, " FROM job j WHERE j.file = ?");
	query__arg(&q, db_value__text(file));
	if (job) {
		query__add(&q, " AND j.job_id = ?");
		query__arg(&q, db_value__int(job));
	}
	query__add(&q, " ORDER BY j.start DESC LIMIT 1");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r) && is_as_read(file, db_value__number(&r.v[5]))) {
		j->id = r.v[0].i;
		j->signature = copy_of(&r.v[1]);
		j->program = copy_of(&r.v[2]);
		j->start = db_value__number(&r.v[3]);
		j->elapsed_s = db_value__number(&r.v[4]);
		j->has_ended = r.v[6].i != 0;
		for (size_t i = 0; i < SHARES; i++)
			j->share[i] = db_value__number(&r.v[7 + i]);
	} else if (!err) {
		err = r.err ? r.err : -ENOENT;
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* ---- jobs of its program */

/* Finds the share that is larger than in most other jobs. v: for each share the number of jobs, of
 * users, and of jobs with a smaller share. */
static void judge(struct alike *a, const struct job *j, const struct db_value *v)
{
	for (size_t i = 0; i < SHARES; i++, v += 3) {
		const double jobs = db_value__number(&v[0]), users = db_value__number(&v[1]);
		const double than = db_value__number(&v[2]) / jobs;

		if (!(j->share[i] >= ALIKE_LEAST) || !(jobs >= ALIKE_JOBS) ||
		    !(users >= ALIKE_USERS) || !(than > ALIKE_SHARE) ||
		    (a->what && !(than > a->than)))
			continue;
		a->what = shares[i].name;
		a->share = j->share[i];
		a->than = than;
		a->jobs = jobs;
		a->users = users;
	}
}

static int compare_shares(struct alike *a, struct index *ix, const struct job *j,
			  const struct viewer *v)
{
	struct job_filter all;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);
	const char *comma = "SELECT ";

	job_filter__init(&all);
	for (size_t i = 0; i < SHARES; i++) {
		const char *c = shares[i].column;

		query__add(&q, comma);
		query__add(&q, "count(t.");
		query__add(&q, c);
		query__add(&q, "), count(DISTINCT CASE WHEN t.");
		query__add(&q, c);
		query__add(&q, " IS NOT NULL THEN t.\"user\" END), sum(CASE WHEN t.");
		query__add(&q, c);
		query__add(&q, " < ? THEN 1.0 ELSE 0.0 END)");
		query__arg(&q, db_value__real(j->share[i]));
		comma = ", ";
	}
	query__add(&q, " FROM (SELECT j.\"user\"");
	add_shares(&q, ", j.", "");
	query__add(&q, " FROM job j");
	if (!err)
		err = query__where(&q, &all, v);
	query__add(&q, " AND j.program = ? AND j.id <> ? ORDER BY j.start DESC LIMIT ?) t");
	query__arg(&q, db_value__text(j->program));
	query__arg(&q, db_value__int(j->id));
	query__arg(&q, db_value__int(ALIKE_OF_LAST));
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r))
		judge(a, j, r.v);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* ---- earlier runs */

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int read_runs(double **out, unsigned *n, struct index *ix, const struct job *j,
		     const struct viewer *v)
{
	struct job_filter earlier;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	job_filter__init(&earlier);
	earlier.signature = j->signature;
	earlier.until = j->start;
	query__add(&q, "SELECT j.elapsed_s FROM job j");
	if (!err)
		err = query__where(&q, &earlier, v);
	query__add(&q, " AND (j.state IS NULL OR j.state = 'COMPLETED') AND j.elapsed_s > 0 "
		       "ORDER BY j.start DESC LIMIT 100");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		err = room__grow(out, *n, 1, sizeof(**out)) ? -ENOMEM : 0;
		if (!err)
			(*out)[(*n)++] = db_value__number(&r.v[0]);
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

static int compare_runs(struct alike *a, struct index *ix, const struct job *j,
			const struct viewer *v)
{
	double *runs = NULL;
	unsigned n = 0;
	int err = read_runs(&runs, &n, ix, j, v);

	if (!err && n >= ALIKE_RUNS) {
		qsort(runs, n, sizeof(*runs), ascending);
		a->runs = n;
		a->median_s = n % 2 ? runs[n / 2] : (runs[n / 2 - 1] + runs[n / 2]) / 2;
		a->elapsed_s = j->elapsed_s;
	}
	free(runs);
	return err;
}

int alike__of(struct alike *out, struct index *ix, uint32_t job, const char *file,
	      const struct viewer *v)
{
	struct job j;
	int err = find_job(&j, ix, job, file);

	*out = (struct alike){0};
	if (!err && j.signature && j.has_ended && j.elapsed_s > 0)
		err = compare_runs(out, ix, &j, v);
	if (!err && j.program)
		err = compare_shares(out, ix, &j, v);
	if (!err && out->what && j.program) {
		out->program = strdup(j.program);
		err = out->program ? 0 : -ENOMEM;
	}
	free_job(&j);
	return err == -ENOENT ? 0 : err;
}

void alike__free(struct alike *a)
{
	free(a->program);
	*a = (struct alike){0};
}

static int take_file(void *arg, const struct db_value *v)
{
	return string_list__append(arg, v[0].text);
}

static int ask_files(struct string_list *files, struct index *ix, const struct job *j,
		     const struct viewer *v, unsigned most)
{
	struct job_filter of;
	struct query q;

	job_filter__init(&of);
	of.signature = j->signature;
	query__init(&q);
	query__add(&q, "SELECT j.file FROM job j");
	query__where(&q, &of, v);
	query__add(&q, " AND j.id <> ? AND j.file IS NOT NULL ORDER BY j.start DESC LIMIT ?");
	query__arg(&q, db_value__int(j->id));
	query__arg(&q, db_value__int(most));
	return query__each(&q, ix->db, take_file, files);
}

int alike__files(struct string_list *files, struct index *ix, uint32_t job, const char *file,
		 const struct viewer *v, unsigned most)
{
	struct job j;
	int err = find_job(&j, ix, job, file);

	if (!err && j.signature)
		err = ask_files(files, ix, &j, v, most);
	free_job(&j);
	return err == -ENOENT ? 0 : err;
}
