/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof reduce --follow: reduces the rows of a running job, as jobprofd of each node has them,
 * window after window. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analysis/job/reduce_track.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "client/bursts.h"
#include "client/libjobprof.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/reduce/reduce.h"
#include "cmd/jobprof/select_args.h"
#include "identity/stepname.h"
#include "view/reduce/reduce_print.h"

#define FEED_COLUMNS 32u /* of bursts, at most; a further one is not taken */
#define FEED_PENDING \
	(1u << 17) /* bursts that are not of a window yet; more are lost, and counted */

struct feed_burst {
	int64_t at_ns; /* its end */
	uint64_t number;
	unsigned step, task;
	double v[FEED_COLUMNS];
};

struct feed {
	int64_t start_ns; /* earlier bursts are not taken */
	struct feed_step {
		char name[64];	/* "42.0" */
		uint64_t after; /* number of the last burst that came */
		bool has_come;	/* any */
		bool has_none;	/* its series of bursts does not exist, which is logged */
	} * steps;
	unsigned nsteps, now; /* now: whose answer is read */
	struct {
		char name[48], unit[16];
	} columns[FEED_COLUMNS];
	unsigned ncolumns;
	struct feed_burst *pending;
	size_t n, room;
	uint64_t lost;
	int err;
};

/* ---- asks jobprofd for bursts again and again, and stores them until their window ends */

/* Where the columns of an answer go. */
struct shape {
	int number, task, time;
	int to[JOBPROF_COLUMNS_MAX]; /* of the feed; -1: none */
};

static void feed_free(struct feed *f)
{
	free(f->steps);
	free(f->pending);
}

/* The step is one to be asked for. 0 or -ENOMEM. */
static int feed_find_step(struct feed *f, const char *name)
{
	struct feed_step *s;

	for (unsigned i = 0; i < f->nsteps; i++)
		if (!strcmp(f->steps[i].name, name))
			return 0;
	if (room__grow(&f->steps, f->nsteps, 1, sizeof(*f->steps)))
		return -ENOMEM;
	s = &f->steps[f->nsteps++];
	*s = (struct feed_step){0};
	str__copy(s->name, sizeof(s->name), name);
	return 0;
}

static int column_of(struct feed *f, const struct jobprof_live_column *c)
{
	unsigned i = 0;

	while (i < f->ncolumns && strcmp(f->columns[i].name, c->name))
		i++;
	if (i == FEED_COLUMNS)
		return -1;
	if (i == f->ncolumns) {
		str__copy(f->columns[i].name, sizeof(f->columns[i].name), c->name);
		str__copy(f->columns[i].unit, sizeof(f->columns[i].unit), c->unit);
		f->ncolumns++;
	}
	return (int)i;
}

static void learn_shape(struct feed *f, const struct jobprof_table *t, struct shape *s)
{
	*s = (struct shape){.number = -1, .task = -1, .time = -1};
	for (unsigned i = 0; i < t->ncols && i < JOBPROF_COLUMNS_MAX; i++) {
		const struct jobprof_live_column *c = &t->columns[i];
		int *at = !strcmp(c->name, "Number")   ? &s->number
			  : !strcmp(c->name, "Task")   ? &s->task
			  : !strcmp(c->name, "TimeNS") ? &s->time
						       : NULL;

		s->to[i] = -1;
		if (at && !c->is_double)
			*at = (int)i;
		else if (strcmp(c->name, "ElapsedTime") && strcmp(c->name, "EpochTime"))
			s->to[i] = column_of(f, c);
	}
}

/* Counts what is missing before this one. Numbers start anew with jobprofd. */
static void note_number(struct feed *f, struct feed_step *s, uint64_t number)
{
	if (s->has_come && number > s->after)
		f->lost += number - s->after - 1;
	s->has_come = true;
	s->after = number;
}

static struct feed_burst *new_burst(struct feed *f)
{
	if (f->n == FEED_PENDING) {
		f->lost++;
		return NULL;
	}
	if (room__make(&f->pending, &f->room, f->n + 1, sizeof(*f->pending))) {
		f->err = -ENOMEM;
		return NULL;
	}
	return &f->pending[f->n++];
}

static void take_row(struct feed *f, const struct jobprof_table *t, const struct shape *s,
		     const union jobprof_cell *row)
{
	struct feed_burst *b;

	note_number(f, &f->steps[f->now], row[s->number].u);
	if ((int64_t)row[s->time].u < f->start_ns)
		return;
	b = new_burst(f);
	if (!b)
		return;
	b->at_ns = (int64_t)row[s->time].u;
	b->number = row[s->number].u;
	b->step = f->now;
	b->task = (unsigned)row[s->task].u;
	for (unsigned i = 0; i < FEED_COLUMNS; i++)
		b->v[i] = NAN;
	for (unsigned i = 0; i < t->ncols && i < JOBPROF_COLUMNS_MAX; i++)
		if (s->to[i] >= 0)
			b->v[s->to[i]] = t->columns[i].is_double ? row[i].d : (double)row[i].u;
}

static void take_rows(const struct jobprof_table *t, void *arg)
{
	struct feed *f = arg;
	struct shape s;

	learn_shape(f, t, &s);
	if (s.number < 0 || s.task < 0 || s.time < 0)
		return;
	for (unsigned i = 0; !f->err && i < t->nrows; i++)
		take_row(f, t, &s, t->cells + (size_t)i * t->ncols);
}

static int ask_step(struct feed *f, struct feed_step *s)
{
	const char *dot = strchr(s->name, '.');
	char reason[256] = "", number[16];
	uint32_t job;
	int n;

	snprintf(number, sizeof(number), "%.*s", dot ? (int)(dot - s->name) : 0, s->name);
	if (!dot || parse_u32(number, &job))
		return 0;
	n = bursts__ask(job, dot + 1, s->after, CLIENT_CONN_TIMEOUT_MS, take_rows, f, reason,
			sizeof(reason));
	if (n == -ENODATA && !s->has_none)
		log_warn("step %s: %s", s->name, reason);
	s->has_none = n == -ENODATA;
	/* a step may have ended */
	if (n < 0 && n != -ENODATA && n != -ESRCH && n != -ETIMEDOUT)
		return client_conn__failed(n, reason) ? n : 0;
	return 0;
}

/* Asks for the new bursts of all steps. Returns 0, or -errno, which is logged. */
static int feed_ask(struct feed *f)
{
	int err = 0;

	for (f->now = 0; !err && !f->err && f->now < f->nsteps; f->now++)
		err = ask_step(f, &f->steps[f->now]);
	if (f->err)
		log_error("%s", strerror(-f->err));
	return f->err ? f->err : err;
}

/* ---- windows */

static int add_burst(const struct feed *f, const struct feed_burst *b, const char *host,
		     const int *columns, struct reduction *r)
{
	char place[256], table[16];
	struct reduction_table t = {place, table, columns, f->ncolumns, 0};
	int err;

	snprintf(place, sizeof(place), "%s/%s", f->steps[b->step].name, host);
	snprintf(table, sizeof(table), "%u", b->task);
	t.unit = reduction__unit(place, table);
	err = reduction__place(r, place);
	return err && err != -EEXIST ? err : reduction__row(r, &t, b->number, b->v);
}

static void put_features(const struct feed *f, const struct feed_burst *b, double *v)
{
	for (unsigned d = 0; d < MODEL_DIMS; d++) {
		v[d] = NAN;
		for (unsigned i = 0; i < f->ncolumns; i++)
			if (!strcmp(f->columns[i].name, model_features[d]))
				v[d] = b->v[i];
	}
}

/* The bursts that ended before end_ns, as rows of r. Their features, MODEL_DIMS of each, go to *v,
 * to be freed. 0 or -errno. */
static int feed_window(struct feed *f, int64_t end_ns, const char *host, struct reduction *r,
		       double **v, size_t *n)
{
	int columns[FEED_COLUMNS], err = 0;
	size_t later = 0;

	*n = 0;
	*v = malloc((f->n + 1) * MODEL_DIMS * sizeof(**v));
	if (!*v)
		return -ENOMEM;
	for (unsigned i = 0; i < f->ncolumns; i++) {
		columns[i] = reduction__column(r, f->columns[i].name, f->columns[i].unit);
		if (columns[i] < 0)
			return columns[i];
	}
	for (size_t i = 0; !err && i < f->n; i++) {
		const struct feed_burst b = f->pending[i];

		if (b.at_ns >= end_ns) {
			f->pending[later++] = b;
			continue;
		}
		put_features(f, &b, *v + MODEL_DIMS * (*n)++);
		err = add_burst(f, &b, host, columns, r);
	}
	f->n = later;
	return err;
}

/* A table of a step, and the time of its row that was taken last. */
struct followed {
	char *place, *name;
	int64_t last_ns;
	bool is_in_window; /* it has a row there */
};

struct follow {
	const struct reduce_work *w;
	const struct reduce_world *world;
	uint32_t job;	  /* 0: that of this process */
	const char *step; /* NULL: all, but for the one of this process */
	char own[64];	  /* "42.7": that one; "": none */
	char host[64];
	struct followed *tables;
	unsigned ntables;
	uint64_t window;	     /* number of the window since 1970 */
	struct reduce_result result; /* of the window */
	bool is_whole;		     /* no process was lost */
	int64_t end_ns;		     /* of the window; 0: there is none yet */
	int err;
	/* These are there with --clusters: */
	struct feed feed;
	double *features; /* of the window's bursts of this node, MODEL_DIMS each */
	size_t nfeatures;
	struct reduce_track track; /* of process 0 */
};

/* ---- with --clusters: the bursts of a window are clustered at the root */

/* The window's bursts of this node become rows of f->result. 0 or -errno. */
static int follow_clusters_rows(struct follow *f)
{
	int err;

	free(f->features);
	err = feed_window(&f->feed, f->end_ns, f->host, &f->result.rows, &f->features,
			  &f->nfeatures);
	f->result.rows.tables = f->result.rows.places.n;
	if (!err && f->feed.lost) {
		log_warn("%llu bursts are not in this window: jobprofd or this process has kept no "
			 "more of them",
			 (unsigned long long)f->feed.lost);
		err = reduction__file(&f->result.rows, f->w->list, f->world->size, f->world->rank,
				      true);
	}
	return err;
}

/* In process 0: the clusters of this window, with their numbers. */
static void make_model(struct follow *f)
{
	struct reduce_result *r = &f->result;

	reduction__order(&r->rows);
	r->clustered = reduce_model__of(&r->model, &r->rows);
	if (r->clustered != ANALYSIS_NO_MEMORY &&
	    reduce_track__next(&f->track, &r->model) != ANALYSIS_OK)
		r->clustered = ANALYSIS_NO_MEMORY;
}

static int share_model(struct follow *f)
{
	struct message m = {0};
	int err;

	if (!f->world->rank) {
		make_model(f);
		reduce_model__put(&m, &f->result.model);
	}
	err = reduce_tree__down(f->world, &m);
	if (!err && f->world->rank)
		err = reduce_model__take(&m, &f->result.model);
	message__free(&m);
	return err;
}

/* Those of this window that did not come. */
static int add_lost(struct follow *f)
{
	int column = reduction__column(&f->result.clusters, REDUCE_LOST, "");
	const struct reduction_table t = {"", "", &column, 1, 0};
	const double lost = (double)f->feed.lost;

	if (column < 0)
		return column;
	reduction__sums(&f->result.clusters, &t, &lost);
	f->feed.lost = 0;
	return 0;
}

static int classify(struct follow *f)
{
	struct reduction *out = &f->result.clusters;
	_cleanup_free_ unsigned *labels = malloc((f->nfeatures + 1) * sizeof(*labels));
	int err = labels ? reduction__init(out, f->w->series, REDUCTION_SEED, 0) : -ENOMEM;

	out->processes = 1;
	if (!err && burst_model__classify(&f->result.model, f->features, f->nfeatures, labels) !=
			    ANALYSIS_OK)
		err = -ENOMEM;
	if (!err)
		err = reduction__file(out, f->w->list, f->world->size, f->world->rank, false);
	if (!err && f->feed.lost)
		err = add_lost(f);
	for (size_t i = 0; !err && i < f->nfeatures; i++)
		if (labels[i] != CLUSTER_UNUSED)
			err = reduce_model__add(out, f->features + MODEL_DIMS * i, labels[i]);
	return err;
}

/* The rows are at process 0 now: the model goes down the tree, and the clusters of all bursts come
 * up. Returns 0 or -errno. */
static int follow_clusters_reduce(struct reduce_work *w, struct follow *f)
{
	int err = share_model(f);

	if (!err)
		err = classify(f);
	if (!err)
		err = reduce_tree__up(w, f->world, &f->result.clusters);
	if (!err)
		reduction__cover(&f->result.rows, &f->result.clusters);
	f->result.rows.cpu_s += f->result.clusters.cpu_s;
	return err;
}

#define POLL_NS	   200000000
#define SECOND_NS  INT64_C(1000000000)
#define TABLES_MAX 65536u

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

static int64_t now_ns(void)
{
	return client_conn__now_ns();
}

/* ---- rows */

static struct followed *find_table(struct follow *f, const char *place, const char *name)
{
	struct followed *t;

	for (unsigned i = 0; i < f->ntables; i++)
		if (!strcmp(f->tables[i].name, name) && !strcmp(f->tables[i].place, place))
			return &f->tables[i];
	if (f->ntables == TABLES_MAX || room__grow(&f->tables, f->ntables, 1, sizeof(*f->tables)))
		return NULL;
	t = &f->tables[f->ntables];
	*t = (struct followed){strdup(place), strdup(name), INT64_MIN, false};
	if (t->place && t->name) {
		f->ntables++;
		return t;
	}
	free(t->place);
	free(t->name);
	return NULL;
}

static bool is_time(const char *column)
{
	return !strcmp(column, "ElapsedTime") || !strcmp(column, "EpochTime") ||
	       !strcmp(column, "TimeNS");
}

static bool is_wanted(const struct reduce_work *w, const char *column)
{
	if (is_time(column))
		return false;
	for (unsigned i = 0; i < w->columns.n; i++)
		if (!strcasecmp(w->columns.v[i], column))
			return true;
	return !w->columns.n;
}

/* The last row's time; 0: the table has none. */
static int64_t time_of(const struct jobprof_table *t)
{
	const union jobprof_cell *row = t->cells + (size_t)(t->nrows - 1) * t->ncols;

	for (unsigned i = 0; t->nrows && i < t->ncols; i++)
		if (!strcmp(t->columns[i].name, "TimeNS") && !t->columns[i].is_double)
			return (int64_t)row[i].u;
	return 0;
}

static int add_row(struct follow *f, const struct jobprof_table *t, const char *place,
		   const char *name, int64_t at_ns)
{
	const union jobprof_cell *row = t->cells + (size_t)(t->nrows - 1) * t->ncols;
	int columns[JOBPROF_COLUMNS_MAX];
	double values[JOBPROF_COLUMNS_MAX];
	struct reduction_table to = {place, name, columns, 0, reduction__unit(place, name)};

	for (unsigned i = 0; i < t->ncols && to.n < JOBPROF_COLUMNS_MAX; i++) {
		if (!is_wanted(f->w, t->columns[i].name))
			continue;
		columns[to.n] =
			reduction__column(&f->result.rows, t->columns[i].name, t->columns[i].unit);
		if (columns[to.n] < 0)
			return columns[to.n];
		values[to.n++] = t->columns[i].is_double ? row[i].d : (double)row[i].u;
	}
	return reduction__row(&f->result.rows, &to, (uint64_t)at_ns, values);
}

/* "Tasks" and "3" of "Tasks/3"; whether the table is of the series that is asked for. */
static bool is_of_series(const struct follow *f, const char *series, const char **table)
{
	size_t n = strlen(f->w->series);

	if (strncmp(series, f->w->series, n) || (series[n] && series[n] != '/'))
		return false;
	*table = series[n] ? series + n + 1 : series;
	return !series[n] || select__table(&f->w->sel, *table);
}

static void take_table(const struct jobprof_table *t, void *arg)
{
	struct follow *f = arg;
	const char *name;
	char place[256];
	struct followed *known;
	int64_t at = time_of(t);
	int err;

	if (f->err || (!f->step && *f->own && !strcmp(t->step, f->own)))
		return;
	if (f->w->o->clusters) {
		f->err = feed_find_step(&f->feed, t->step);
		return;
	}
	if (!at || !is_of_series(f, t->series, &name))
		return;
	snprintf(place, sizeof(place), "%s/%s", t->step, f->host);
	known = find_table(f, place, name);
	if (!known) {
		f->err = -ENOMEM;
		return;
	}
	/* One that is later than the window is seen again in the next. */
	if (known->last_ns >= at || (f->end_ns && at >= f->end_ns))
		return;
	/* What came before this process began is in none of its windows. */
	if (known->last_ns == INT64_MIN && !f->window) {
		known->last_ns = at;
		return;
	}
	known->last_ns = at;
	known->is_in_window = true;
	err = reduction__place(&f->result.rows, place);
	f->err = err && err != -EEXIST ? err : add_row(f, t, place, name, at);
}

/* ---- windows */

/* There is no other node where the job may be. */
static bool is_only(const struct follow *f)
{
	return f->world->size == 1 && !f->window;
}

/* Asks this node's jobprofd one question, as the user of this process. Returns 0, or -errno, which
 * is logged. */
static int ask_rows(struct follow *f)
{
	char reason[256] = "";
	int n = jobprof_live(f->job, f->step, CLIENT_CONN_TIMEOUT_MS, take_table, f, reason,
			     sizeof(reason));

	if (f->err)
		log_error("%s", strerror(-f->err));
	else if (n < 0 && n != -ETIMEDOUT && (n != -ESRCH || is_only(f)))
		client_conn__failed(n, reason);
	if (f->err || n < 0)
		return f->err ? f->err : n;
	return feed_ask(&f->feed);
}

static int begin_window(struct follow *f)
{
	unsigned size = f->world->size;
	int err = reduction__init(&f->result.rows, f->w->series, REDUCTION_SEED, f->w->o->k);

	f->result.rows.processes = 1;
	return err ? err : reduction__list(&f->result.rows, f->w->list, size);
}

/* CPU time of the children that wrote the windows before, since this was last asked. */
static double cpu_of_writers(void)
{
	static double before;
	struct rusage u;
	double since = -before;

	getrusage(RUSAGE_CHILDREN, &u);
	before = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		 (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
	return since + before;
}

static void end_rows(struct follow *f)
{
	for (unsigned i = 0; i < f->ntables; i++) {
		f->result.rows.tables += f->tables[i].is_in_window;
		f->tables[i].is_in_window = false;
	}
	f->result.rows.cpu_s = reduce_read__cpu_s() + cpu_of_writers();
}

static void print_track(const struct reduce_track *t)
{
	if (!isnan(t->share))
		printf("Clusters: %s the window before (%.0f %% and %.0f %% of the run time are in "
		       "common; the same from %.0f %%)\n",
		       t->same ? "the same as in" : "not those of", 100 * t->share_before,
		       100 * t->share, 100 * t->least);
}

static json_t *window_json(const struct follow *f, const struct reduce_window *at)
{
	json_t *json = reduce_result__json(f->w, &f->result);

	json__set(json, "window", json_integer((json_int_t)at->number));
	JSON_NUMBERS(json, {"begin_s", at->begin_s}, {"end_s", at->end_s});
	if (f->w->o->clusters)
		json__set(json, "track", reduce_track__json(at->track));
	return json;
}

static void print_window(const struct follow *f, const struct reduce_window *at)
{
	json_t *json;

	if (f->w->o->json) {
		json = window_json(f, at);
		json__dump(json, stdout, JSON_COMPACT);
		json_decref(json);
	} else {
		printf("Window %" PRIu64 ": %.1f s from %.1f\n", at->number,
		       at->end_s - at->begin_s, at->begin_s);
		if (!f->result.rows.places.n && !f->w->o->words.jobs)
			puts("No rows came. The step that this runs in is left out unless -j names "
			     "it.");
		if (f->w->o->clusters) {
			print_track(at->track);
			reduce_clusters__print(&f->result, stdout);
		}
		reduce_print__text(&f->result.rows, stdout);
	}
	putchar('\n');
	fflush(stdout);
}

/* 0, or 1 and it has said why. */
static int put_window(const struct follow *f, int64_t begin_ns, int64_t end_ns)
{
	const struct reduce_window at = {f->window, (double)begin_ns / 1e9, (double)end_ns / 1e9,
					 &f->track};

	print_window(f, &at);
	return f->w->o->output ? reduce_store__window(&f->result, &at, f->w->o->output) : 0;
}

static void poll_until(struct follow *f, int64_t end_ns)
{
	bool answered = false;

	while (!ended && !f->err && now_ns() < end_ns) {
		answered |= !ask_rows(f);
		if (f->world->beat)
			f->world->beat();
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	/* A node whose jobprofd did not answer is not covered. */
	if (answered && !f->err)
		f->err = reduction__file(&f->result.rows, f->w->list, f->world->size,
					 f->world->rank, false);
}

static int one_window(struct reduce_work *w, struct follow *f)
{
	int64_t length = (int64_t)(w->o->window_s * 1e9), now = now_ns();
	int64_t begin = f->end_ns ? f->end_ns : now, end = (now / length + 1) * length;
	int err = begin_window(f);

	f->window = (uint64_t)(now / length);
	f->end_ns = end;
	if (!err) {
		poll_until(f, end);
		if (!f->err && w->o->clusters)
			f->err = follow_clusters_rows(f);
		end_rows(f);
		err = f->err ? f->err : reduce_tree__up(w, f->world, &f->result.rows);
	}
	if (!err && w->o->clusters)
		err = follow_clusters_reduce(w, f);
	if (!err && !f->world->rank) {
		reduction__order(&f->result.rows);
		err = put_window(f, begin, ended ? now_ns() : end) ? -EIO : 0;
	}
	f->is_whole = reduce_result__is_whole(&f->result, f->world->size);
	reduce_result__free(&f->result);
	return err;
}

/* ---- the verb */

static int name_job(struct follow *f, const struct reduce_options *o, char step[static 32])
{
	struct jobspec *jobs = NULL;
	unsigned n = 0;
	int status = 0;
	const char *job = getenv("SLURM_JOB_ID"), *id = getenv("SLURM_STEP_ID");

	if (job && id)
		snprintf(f->own, sizeof(f->own), "%s.%s", job, id);
	if (!o->words.jobs)
		return job && parse_u32(job, &f->job) ? 2 : 0;
	status = profile_words__jobs(&jobs, &n, o->words.jobs);
	if (!status && (n != 1 || jobs[0].kind != JOBSPEC_JOB)) {
		log_error("-j: \"%s\" is not one job or step, as in 42 or 42.0", o->words.jobs);
		status = 2;
	}
	if (!status) {
		char number[16];

		f->job = jobs[0].job;
		snprintf(number, sizeof(number), "%u", jobs[0].step);
		snprintf(step, 32, "%s", jobs[0].any_step ? "" : stepname__human(number));
		f->step = *step ? step : NULL;
	}
	free(jobs);
	return status;
}

static int follow(struct reduce_work *w, struct follow *f)
{
	int err = f->world->join ? f->world->join() : 0;

	if (!err) {
		int asked = ask_rows(f);

		err = f->err ? f->err : is_only(f) ? asked : 0;
	}
	if (!err && !f->world->rank && w->o->output)
		err = reduce_store__begin(w->o->output);
	f->window = 1; /* only rows after this one belong to a window */
	for (unsigned i = 0; !err && !ended && (!w->o->windows || i < w->o->windows); i++)
		err = one_window(w, f);
	return err;
}

int reduce_follow__run(struct reduce_work *w, const struct reduce_world *world)
{
	struct sigaction sa = {.sa_handler = on_signal};
	struct follow f = {.w = w, .world = world, .is_whole = true, .feed.start_ns = now_ns()};
	char step[32] = "";
	int status = name_job(&f, w->o, step);

	if (status)
		return status;
	if (getenv("SLURMD_NODENAME"))
		snprintf(f.host, sizeof(f.host), "%s", getenv("SLURMD_NODENAME"));
	else
		gethostname(f.host, sizeof(f.host) - 1);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	status = follow(w, &f) ? 1 : 0;
	for (unsigned i = 0; i < f.ntables; i++) {
		free(f.tables[i].place);
		free(f.tables[i].name);
	}
	free(f.tables);
	free(f.features);
	feed_free(&f.feed);
	reduce_track__free(&f.track);
	if (world->leave)
		world->leave(f.is_whole && !status, status);
	return status || w->failed ? 1 : 0;
}
