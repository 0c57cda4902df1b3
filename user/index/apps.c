/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes applications of jobs, which come in the order of signature and begin. */
#include "index/apps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "base/room.h"

#define LEAST 0.05 /* share of the run time; a smaller change is none */
#define MADS  3

/* Where the time of cores went. */
#define SHARES 8
static const char *const states[SHARES] = {"own code",	"kernel",	"other programs",
					   "CPU quota", "wait for CPU", "wait for disk",
					   "asleep",	"not used"};

enum {
	SIGNATURE,
	START,
	ELAPSED,
	IS_RUN,
	JOB,
	HELD,
	LOST,
	LIMIT,
	PEAK,
	ASKED,
	USER,
	ACCOUNT,
	NAME,
	PROGRAM,
	NODES,
	CORES,
	GPUS,
	HAS_FILE,
	SHARE /* the first of them */
};

static const char question[] =
	"SELECT j.signature, j.start, j.elapsed_s, CASE WHEN (j.state IS NULL OR j.state = "
	"'COMPLETED') AND j.elapsed_s > 0 THEN 1 ELSE 0 END, j.job_id, j.held_core_s, "
	"j.lost_core_s, j.limit_s, COALESCE(j.own_peak_mb, j.peak_mb), j.mem_asked_mb, "
	"j.\"user\", j.account, j.name, j.program, j.nodes, COALESCE(j.cores, j.cpus * 1.0), "
	"j.gpus, CASE WHEN j.file IS NULL THEN 0 ELSE 1 END, j.share_cpu, j.share_kernel, "
	"j.share_others, j.share_quota, j.share_wait, j.share_disk, j.share_asleep, j.share_idle "
	"FROM job j";

struct run {
	struct app_run r;
	bool has_file;
	double share[SHARES];
};

/* The application whose jobs are being read. */
struct reading {
	struct app app;
	struct string_list texts; /* of app */
	struct run *runs;
	size_t nruns, room;
	double *sorted;
	size_t sorted_room;
	struct app_run points[APP_POINTS];
};

/* ---- medians */

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *s, size_t n)
{
	return !n ? NAN : n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

/* Sorts the run times of a part of the runs, or what they differ by from `from`. */
static void sort_times(struct reading *w, size_t first, size_t n, double from)
{
	for (size_t i = 0; i < n; i++) {
		const double s = w->runs[first + i].r.elapsed_s;

		w->sorted[i] = isnan(from) ? s : fabs(s - from);
	}
	qsort(w->sorted, n, sizeof(*w->sorted), ascending);
}

/* The run with a profile whose time is the nearest to s; 0: none. */
static int64_t nearest(const struct reading *w, size_t first, size_t n, double s)
{
	double least = INFINITY;
	int64_t job = 0;

	for (size_t i = first; i < first + n; i++) {
		const struct run *r = &w->runs[i];
		const double away = fabs(r->r.elapsed_s - s);

		if (!r->has_file || !(away <= least))
			continue;
		least = away;
		job = r->r.job;
	}
	return job;
}

/* ---- what a change is of */

/* Mean share of a state in a part of the runs; NaN: unknown. */
static double mean_share(const struct reading *w, size_t first, size_t n, int state)
{
	double sum = 0;
	size_t known = 0;

	for (size_t i = first; i < first + n; i++) {
		const double v = w->runs[i].share[state];

		if (isnan(v))
			continue;
		sum += v;
		known++;
	}
	return known ? sum / (double)known : NAN;
}

static void explain(struct reading *w, size_t nbefore)
{
	struct app *a = &w->app;
	const double sign = a->recent_s > a->median_s ? 1 : -1;
	double most = 0;

	for (int i = 0; i < SHARES; i++) {
		const double more = a->recent_s * mean_share(w, nbefore, w->nruns - nbefore, i) -
				    a->median_s * mean_share(w, 0, nbefore, i);

		if (!(sign * more > most))
			continue;
		most = sign * more;
		a->why = states[i];
		a->why_s = more;
	}
}

static void compare(struct reading *w)
{
	struct app *a = &w->app;
	const size_t nrecent = w->nruns < APP_RECENT ? w->nruns : APP_RECENT,
		     nbefore = w->nruns - nrecent;
	double mad, change;

	sort_times(w, nbefore, nrecent, NAN);
	a->recent_s = median(w->sorted, nrecent);
	a->recent_job = nearest(w, nbefore, nrecent, a->recent_s);
	if (nbefore < APP_BEFORE)
		return;
	sort_times(w, 0, nbefore, NAN);
	a->median_s = median(w->sorted, nbefore);
	a->before_job = nearest(w, 0, nbefore, a->median_s);
	sort_times(w, 0, nbefore, a->median_s);
	mad = median(w->sorted, nbefore);
	change = fabs(a->recent_s - a->median_s);
	a->has_changed = change > LEAST * a->median_s && change > MADS * mad;
	if (a->has_changed)
		explain(w, nbefore);
}

/* ---- reading */

static void forget(struct reading *w)
{
	string_list__free(&w->texts);
	w->nruns = 0;
	w->app = (struct app){.nodes = NAN,
			      .cores = NAN,
			      .gpus = NAN,
			      .limit_s = NAN,
			      .mem_asked_mb = NAN,
			      .last = NAN,
			      .held_core_s = NAN,
			      .lost_core_s = NAN,
			      .lost_of_core_s = NAN,
			      .peak_mb = NAN,
			      .median_s = NAN,
			      .recent_s = NAN,
			      .p95_s = NAN,
			      .why_s = NAN};
}

/* Computes what needs all jobs of the application, and passes it on. */
static int end_app(struct reading *w, apps_take *take, void *arg)
{
	struct app *a = &w->app;
	const size_t n = w->nruns, from = n > APP_POINTS ? n - APP_POINTS : 0;

	if (!a->jobs)
		return 0;
	if (room__make(&w->sorted, &w->sorted_room, n + 1, sizeof(*w->sorted)))
		return -ENOMEM;
	a->completed = (unsigned)n;
	if (n) {
		compare(w);
		sort_times(w, 0, n, NAN);
		a->p95_s = w->sorted[(size_t)ceil(0.95 * (double)n) - 1];
	}
	for (size_t i = from; i < n; i++)
		w->points[i - from] = w->runs[i].r;
	a->points = w->points;
	a->npoints = (unsigned)(n - from);
	return take(arg, a);
}

/* The texts of a job; those of the one before are freed. */
static int take_texts(struct reading *w, const struct db_value *v)
{
	static const int of[] = {SIGNATURE, USER, ACCOUNT, NAME, PROGRAM};
	struct string_list texts = {0};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(of) / sizeof(*of); i++)
		err = string_list__append(&texts, v[of[i]].type == DB_TEXT ? v[of[i]].text : "");
	string_list__free(&w->texts);
	w->texts = texts;
	if (err)
		return err;
	w->app.signature = texts.v[0];
	w->app.user = texts.v[1];
	w->app.account = texts.v[2];
	w->app.name = texts.v[3];
	w->app.program = texts.v[4];
	return 0;
}

static int add_run(struct reading *w, const struct db_value *v)
{
	struct run *r;

	if (v[IS_RUN].i != 1)
		return 0;
	if (room__make(&w->runs, &w->room, w->nruns + 1, sizeof(*w->runs)))
		return -ENOMEM;
	r = &w->runs[w->nruns++];
	*r = (struct run){
		.r = {db_value__number(&v[START]), db_value__number(&v[ELAPSED]), v[JOB].i},
		.has_file = v[HAS_FILE].i == 1};
	for (int i = 0; i < SHARES; i++)
		r->share[i] = db_value__number(&v[SHARE + i]);
	return 0;
}

static int add_job(struct reading *w, const struct db_value *v)
{
	struct app *a = &w->app;
	const double held = db_value__number(&v[HELD]), lost = db_value__number(&v[LOST]);
	int err = take_texts(w, v);

	a->jobs++;
	a->last = db_value__number(&v[START]);
	a->nodes = db_value__number(&v[NODES]);
	a->cores = db_value__number(&v[CORES]);
	a->gpus = db_value__number(&v[GPUS]);
	a->limit_s = db_value__number(&v[LIMIT]);
	a->mem_asked_mb = db_value__number(&v[ASKED]);
	a->peak_mb = fmax(a->peak_mb, db_value__number(&v[PEAK]));
	a->held_core_s = known__sum(a->held_core_s, held);
	a->lost_core_s = known__sum(a->lost_core_s, lost);
	if (!isnan(lost))
		a->lost_of_core_s = known__sum(a->lost_of_core_s, held);
	return err ? err : add_run(w, v);
}

int apps__each(struct index *ix, const struct job_filter *f, const struct viewer *v,
	       apps_take *take, void *arg)
{
	struct reading w = {0};
	struct db_rows rows = {0};
	struct query q;
	int err = query__init(&q);

	forget(&w);
	query__add(&q, question);
	err = err ? err : query__where(&q, f, v);
	query__add(&q, " AND j.signature IS NOT NULL ORDER BY j.signature, j.start, j.id");
	if (!err)
		err = query__ask(&q, ix->db, &rows);
	while (!err && db_rows__next(&rows)) {
		if (w.app.jobs && strcmp(w.app.signature, rows.v[SIGNATURE].text) != 0) {
			err = end_app(&w, take, arg);
			forget(&w);
		}
		err = err ? err : add_job(&w, rows.v);
	}
	err = db_rows__end(&rows, err);
	err = err ? err : end_app(&w, take, arg);
	query__free(&q);
	forget(&w);
	free(w.runs);
	free(w.sorted);
	return err;
}
