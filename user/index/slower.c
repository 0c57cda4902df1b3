/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Medians of run times of jobs that are alike, from rows in the order of signature and run time. */
#include "index/slower.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "base/room.h"

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of times in ascending order. */
static double median(const double *s, size_t n)
{
	return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

/* A list of numbers that is emptied and filled again. */
struct list {
	double *v;
	size_t n, room;
};

/* Sorts the list. */
static double median_of(struct list *l)
{
	qsort(l->v, l->n, sizeof(*l->v), ascending);
	return median(l->v, l->n);
}

static int append(struct list *l, double v)
{
	if (room__make(&l->v, &l->room, l->n + 1, sizeof(*l->v)))
		return -ENOMEM;
	l->v[l->n++] = v;
	return 0;
}

static const char *text_of(const struct db_value *v)
{
	return v->type == DB_TEXT ? v->text : "";
}

/* ---- runs of one signature after the other */

enum { SIGNATURE, ELAPSED, START, HELD, ID, USER, ACCOUNT, NAME };

struct runs {
	double since; /* Unix time; earlier runs go to before_s */
	struct list s, before_s;
	struct list ids; /* of the jobs in s; exact below 2^53 */
	struct list starts, helds;
	double held_s; /* sum over s, in core-s; NaN: unknown for all */
	char *signature, *user, *account, *name;
};

typedef int take_runs(void *arg, const struct runs *r);

static void forget(struct runs *r)
{
	char **texts[] = {&r->signature, &r->user, &r->account, &r->name};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
	r->s.n = r->before_s.n = r->ids.n = r->starts.n = r->helds.n = 0;
	r->held_s = NAN;
}

static int store_last(char **to, const struct db_value *v)
{
	const char *text = text_of(v);

	if (*to && strcmp(*to, text) >= 0)
		return 0;
	free(*to);
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

static int add_run(struct runs *r, const struct db_value *v)
{
	const double s = db_value__number(&v[ELAPSED]), held = db_value__number(&v[HELD]);
	int err = store_last(&r->signature, &v[SIGNATURE]);

	if (!err && !(db_value__number(&v[START]) >= r->since))
		return append(&r->before_s, s);
	err = err ? err : append(&r->s, s);
	err = err ? err : append(&r->ids, db_value__number(&v[ID]));
	err = err ? err : append(&r->starts, db_value__number(&v[START]));
	err = err ? err : append(&r->helds, held);
	err = err ? err : store_last(&r->user, &v[USER]);
	err = err ? err : store_last(&r->account, &v[ACCOUNT]);
	if (!isnan(held))
		r->held_s = isnan(r->held_s) ? held : r->held_s + held;
	return err ? err : store_last(&r->name, &v[NAME]);
}

/* Calls take with the runs of each signature that completed, or whose end is unknown. */
static int each_signature(struct runs *r, struct index *ix, const struct job_filter *f,
			  const struct viewer *v, take_runs *take, void *arg)
{
	struct db_rows rows = {0};
	struct query q;
	int err = query__init(&q);

	forget(r);
	query__add(&q, "SELECT j.signature, j.elapsed_s, j.start, j.held_core_s, j.id, j.\"user\", "
		       "j.account, j.name FROM job j");
	if (!err)
		err = query__where(&q, f, v);
	query__add(&q, " AND (j.state IS NULL OR j.state = 'COMPLETED') AND j.elapsed_s > 0 "
		       "AND j.signature IS NOT NULL ORDER BY j.signature, j.elapsed_s");
	if (!err)
		err = query__ask(&q, ix->db, &rows);
	while (!err && db_rows__next(&rows)) {
		if (r->signature && strcmp(r->signature, text_of(&rows.v[SIGNATURE])) != 0) {
			err = take(arg, r);
			forget(r);
		}
		err = err ? err : add_run(r, rows.v);
	}
	err = db_rows__end(&rows, err);
	if (!err && r->signature)
		err = take(arg, r);
	query__free(&q);
	return err;
}

static void free_runs(struct runs *r)
{
	forget(r);
	free(r->s.v);
	free(r->before_s.v);
	free(r->ids.v);
	free(r->starts.v);
	free(r->helds.v);
}

/* ---- applications */

struct apps {
	struct slower_app *v;
	unsigned n;
	struct string_list texts;
	struct list deviations;
};

/* A copy that the list owns; NULL: no memory. */
static const char *own(struct string_list *l, const char *text)
{
	return string_list__append(l, text) ? NULL : l->v[l->n - 1];
}

static int find_deviation(struct apps *a, const struct runs *r, double usual, double *mad)
{
	int err = 0;

	a->deviations.n = 0;
	for (size_t i = 0; !err && i < r->before_s.n; i++)
		err = append(&a->deviations, fabs(r->before_s.v[i] - usual));
	if (err)
		return err;
	qsort(a->deviations.v, a->deviations.n, sizeof(*a->deviations.v), ascending);
	*mad = median(a->deviations.v, a->deviations.n);
	return 0;
}

static int judge_app(void *arg, const struct runs *r)
{
	struct apps *a = arg;
	struct slower_app one = {.runs = (unsigned)r->s.n, .runs_before = (unsigned)r->before_s.n};
	double mad = NAN;

	if (one.runs < SLOWER_RUNS || one.runs_before < SLOWER_RUNS)
		return 0;
	one.median_s = median(r->s.v, r->s.n);
	one.before_s = median(r->before_s.v, r->before_s.n);
	if (!(one.median_s > (1 + SLOWER_LEAST) * one.before_s))
		return 0;
	if (find_deviation(a, r, one.before_s, &mad))
		return -ENOMEM;
	if (!(one.median_s - one.before_s > SLOWER_MADS * mad))
		return 0;
	one.more_core_s = r->held_s * (1 - one.before_s / one.median_s);
	one.signature = own(&a->texts, r->signature);
	one.user = own(&a->texts, r->user);
	one.account = own(&a->texts, r->account);
	one.name = own(&a->texts, r->name);
	if (!one.signature || !one.user || !one.account || !one.name ||
	    room__grow(&a->v, a->n, 1, sizeof(*a->v)))
		return -ENOMEM;
	a->v[a->n++] = one;
	return 0;
}

/* Puts larger numbers first, and unknown ones last. */
static int descending(double x, double y)
{
	return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x < y) - (x > y);
}

static int dearest_first(const void *a, const void *b)
{
	const struct slower_app *x = a, *y = b;
	const int order = descending(x->more_core_s, y->more_core_s);

	return order ? order : strcmp(x->signature, y->signature);
}

int slower__apps(struct index *ix, const struct job_filter *f, const struct job_filter *before,
		 const struct viewer *v, slower_take_app *take, void *arg)
{
	struct runs r = {.since = f->since};
	struct job_filter both = *f;
	struct apps a = {0};
	int err;

	both.since = before->since;
	err = each_signature(&r, ix, &both, v, judge_app, &a);
	if (!err && a.n)
		qsort(a.v, a.n, sizeof(*a.v), dearest_first);
	for (unsigned i = 0; !err && i < a.n; i++)
		err = take(arg, &a.v[i]);
	free_runs(&r);
	free(a.v);
	free(a.deviations.v);
	string_list__free(&a.texts);
	return err;
}

/* ---- nodes */

/* Run time of a job / median of its signature. */
struct ratio {
	int64_t job;
	double took, start, held_s;
};

struct nodes {
	struct ratio *ratios; /* sorted by job */
	size_t n, room;
	struct slower_node *v;
	unsigned nnodes;
	struct string_list texts;
	/* The node whose rows are being read. */
	struct slower_node one;
	bool is_sure; /* Slurm knows of a job there */
	struct list took;
	int64_t last_job;
};

static int add_ratios(void *arg, const struct runs *r)
{
	struct nodes *n = arg;
	double usual;

	if (r->s.n < SLOWER_RUNS)
		return 0;
	usual = median(r->s.v, r->s.n);
	if (room__make(&n->ratios, &n->room, n->n + r->s.n, sizeof(*n->ratios)))
		return -ENOMEM;
	for (size_t i = 0; i < r->s.n; i++)
		n->ratios[n->n++] = (struct ratio){(int64_t)r->ids.v[i], r->s.v[i] / usual,
						   r->starts.v[i], r->helds.v[i]};
	return 0;
}

static int by_job(const void *a, const void *b)
{
	const struct ratio *x = a, *y = b;

	return (x->job > y->job) - (x->job < y->job);
}

/* Reads the number of "head12", and returns what follows it; NULL: the text has another head. */
static const char *number_after(const char *text, const char *head, size_t len, double *number)
{
	char *end;

	if (strncmp(text, head, len) != 0 || text[len] < '0' || text[len] > '9')
		return NULL;
	*number = (double)strtoull(text + len, &end, 10);
	return end;
}

bool slower__names_node(const char *place, const char *node)
{
	size_t len = strlen(node), head = len;
	double of = NAN, first, last;

	while (head && node[head - 1] >= '0' && node[head - 1] <= '9')
		head--;
	number_after(node, node, head, &of);
	for (const char *p = place; p; p = strchr(p, ',')) {
		const char *end;

		p += *p == ',';
		if (!strncmp(p, node, len) && strchr(", ", p[len]))
			return true;
		end = number_after(p, node, head, &first);
		end = end && *end == '-' ? number_after(end + 1, node, head, &last) : NULL;
		if (end && strchr(", ", *end) && of >= first && of <= last)
			return true;
	}
	return false;
}

static bool is_slow(const struct slower_node *n)
{
	return n->took > 1 + SLOWER_LEAST;
}

/* Stores the node whose rows were read, if it is slow, a finding names it, or jobs failed on it. */
static int end_node(struct nodes *n)
{
	struct slower_node *one = &n->one;

	if (!one->node)
		return 0;
	if (n->took.n)
		qsort(n->took.v, n->took.n, sizeof(*n->took.v), ascending);
	one->runs = (unsigned)n->took.n;
	one->took = one->runs >= SLOWER_NODE_RUNS ? median(n->took.v, n->took.n) : NAN;
	if (!is_slow(one) && !one->found && one->failed < SLOWER_FAILS)
		return 0;
	if (room__grow(&n->v, n->nnodes, 1, sizeof(*n->v)))
		return -ENOMEM;
	n->v[n->nnodes++] = *one;
	return 0;
}

/* Anybody can write profiles of jobs that were on any node: of a node where jobs were of which
 * Slurm's accounting knows, these count alone. */
enum counts { COUNTS, COUNTS_ANEW, DOES_NOT_COUNT };

static enum counts count_of(bool *is_sure, const struct db_value *sources)
{
	const bool knows = sources->i & ROW_SOURCE_SLURM;

	if (knows == *is_sure)
		return COUNTS;
	if (!knows)
		return DOES_NOT_COUNT;
	*is_sure = true;
	return COUNTS_ANEW;
}

enum { NODE, CLUSTER, JOB, FAILED, PLACE, SOURCES };

static int begin_node(struct nodes *n, const struct db_value *v)
{
	int err = end_node(n);

	n->one = (struct slower_node){.node = own(&n->texts, text_of(&v[NODE])),
				      .cluster = own(&n->texts, text_of(&v[CLUSTER]))};
	n->took.n = 0;
	n->last_job = -1;
	n->is_sure = false;
	return err || (n->one.node && n->one.cluster) ? err : -ENOMEM;
}

/* A job with two findings has two rows, one after the other. */
static int add_node_row(struct nodes *n, const struct db_value *v)
{
	const bool is_new = !n->one.node || strcmp(n->one.node, text_of(&v[NODE])) != 0 ||
			    strcmp(n->one.cluster, text_of(&v[CLUSTER])) != 0;
	int err = is_new ? begin_node(n, v) : 0;
	const struct ratio job = {.job = v[JOB].i}, *r;
	enum counts how;

	if (err)
		return err;
	how = count_of(&n->is_sure, &v[SOURCES]);
	if (how == DOES_NOT_COUNT)
		return 0;
	if (how == COUNTS_ANEW)
		n->took.n = n->one.found = n->one.failed = 0;
	n->one.found += v[PLACE].type == DB_TEXT && slower__names_node(v[PLACE].text, n->one.node);
	if (v[JOB].i == n->last_job)
		return 0;
	n->last_job = v[JOB].i;
	n->one.failed += v[FAILED].i != 0;
	r = n->n ? bsearch(&job, n->ratios, n->n, sizeof(*n->ratios), by_job) : NULL;
	return r ? append(&n->took, r->took) : 0;
}

static int read_nodes(struct nodes *n, struct index *ix, const struct job_filter *f,
		      const struct viewer *v)
{
	struct db_rows rows = {0};
	struct query q;
	int err = query__init(&q);

	/* CROSS JOIN, for SQLite would read all nodes of all times in their order. */
	query__add(&q,
		   "SELECT n.node, j.cluster, j.id, CASE WHEN j.state = 'NODE_FAIL' THEN 1 "
		   "ELSE 0 END, f.place, j.sources FROM job j LEFT JOIN finding f ON f.job = j.id "
		   "AND f.rule IN ('node.slow', 'cpu.slow_clock') CROSS JOIN job_node n");
	if (!err)
		err = query__where(&q, f, v);
	query__add(&q, " AND n.job = j.id ORDER BY n.node, j.cluster, j.id");
	if (!err)
		err = query__ask(&q, ix->db, &rows);
	while (!err && db_rows__next(&rows))
		err = add_node_row(n, rows.v);
	err = db_rows__end(&rows, err);
	query__free(&q);
	return err ? err : end_node(n);
}

/* Slow nodes first, then those with findings or failed jobs only. */
static int slowest_first(const void *a, const void *b)
{
	const struct slower_node *x = a, *y = b;
	int order = descending(is_slow(x) ? x->took : NAN, is_slow(y) ? y->took : NAN);

	order = order ? order : descending(x->found + x->failed, y->found + y->failed);
	order = order ? order : strcmp(x->node, y->node);
	return order ? order : strcmp(x->cluster, y->cluster);
}

int slower__nodes(struct index *ix, const struct job_filter *f, const struct viewer *v,
		  slower_take_node *take, void *arg)
{
	struct runs r = {.since = -INFINITY};
	struct job_filter of_all = *f; /* a filter on nodes must not restrict the medians */
	struct nodes n = {0};
	int err;

	if (!v->sees_all)
		return 0;
	of_all.node = NULL;
	err = each_signature(&r, ix, &of_all, v, add_ratios, &n);
	if (!err && n.n)
		qsort(n.ratios, n.n, sizeof(*n.ratios), by_job);
	err = err ? err : read_nodes(&n, ix, f, v);
	if (!err && n.nnodes)
		qsort(n.v, n.nnodes, sizeof(*n.v), slowest_first);
	for (unsigned i = 0; !err && i < n.nnodes; i++)
		err = take(arg, &n.v[i]);
	free_runs(&r);
	free(n.ratios);
	free(n.took.v);
	free(n.v);
	string_list__free(&n.texts);
	return err;
}

/* ---- the speed of all nodes */

struct run {
	double start, took, held_s;
};

struct speeds {
	struct nodes of; /* ratios and texts */
	struct slower_speed *v;
	unsigned n;
	/* The runs of the node whose rows are being read. */
	struct run *runs;
	size_t nruns, room;
	bool is_sure; /* as of struct nodes */
	struct list sorted;
};

enum { S_NODE, S_CLUSTER, S_MODEL, S_CORES, S_JOB, S_SOURCES };

/* A number for each cluster, model and size, in the order in which they come. */
static int find_kind(struct id_table *kinds, const struct db_value *v, unsigned *kind)
{
	char text[1200];
	const uint32_t *at;

	snprintf(text, sizeof(text), "%.500s|%.500s|%.0f", text_of(&v[S_CLUSTER]),
		 text_of(&v[S_MODEL]), db_value__number(&v[S_CORES]));
	at = id_table__find(kinds, id__of_text(text));
	*kind = at ? *at : (unsigned)kinds->n;
	return at || id_table__add(kinds, id__of_text(text), *kind) ? 0 : -ENOMEM;
}

static int latest_first(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return (x->start < y->start) - (x->start > y->start);
}

#define MOSTLY 0.8 /* of the runs since then were slow */

/* Finds since when most runs of a slow node are slow, and what that cost. */
static void find_since(struct speeds *s, struct slower_speed *one)
{
	unsigned slow = 0, n = 0;

	qsort(s->runs, s->nruns, sizeof(*s->runs), latest_first);
	for (size_t i = 0; i < s->nruns; i++) {
		const bool is_slow = s->runs[i].took > 1 + SLOWER_LEAST / 2;

		slow += is_slow;
		if (!is_slow || slow < MOSTLY * (double)(i + 1))
			continue;
		one->since = s->runs[i].start;
		n = (unsigned)i + 1;
	}
	for (size_t i = 0; i < n; i++) {
		const double lost = s->runs[i].held_s * (1 - one->speed);

		if (!isnan(lost))
			one->lost_core_s = isnan(one->lost_core_s) ? lost : one->lost_core_s + lost;
	}
}

/* Sets the speed of the node whose runs were read. */
static int end_speed(struct speeds *s)
{
	struct slower_speed *one = s->n ? &s->v[s->n - 1] : NULL;
	int err = 0;

	if (!one)
		return 0;
	s->sorted.n = 0;
	for (size_t i = 0; !err && i < s->nruns; i++)
		err = append(&s->sorted, s->runs[i].took);
	if (err)
		return err;
	one->runs = (unsigned)s->nruns;
	if (one->runs >= SLOWER_NODE_RUNS)
		one->speed = 1 / median_of(&s->sorted);
	if (one->speed < 1)
		find_since(s, one);
	s->nruns = 0;
	return 0;
}

static int begin_speed(struct speeds *s, struct id_table *kinds, const struct db_value *v)
{
	unsigned kind = 0;
	int err = end_speed(s);

	if (!err)
		err = find_kind(kinds, v, &kind);
	if (err)
		return err;
	s->is_sure = false;
	if (room__grow(&s->v, s->n, 1, sizeof(*s->v)))
		return -ENOMEM;
	s->v[s->n] = (struct slower_speed){.node = own(&s->of.texts, text_of(&v[S_NODE])),
					   .cluster = own(&s->of.texts, text_of(&v[S_CLUSTER])),
					   .kind = kind,
					   .speed = NAN,
					   .usual = NAN,
					   .spread = NAN,
					   .z = NAN,
					   .since = NAN,
					   .lost_core_s = NAN};
	return s->v[s->n].node && s->v[s->n++].cluster ? 0 : -ENOMEM;
}

static int add_speed_row(struct speeds *s, struct id_table *kinds, const struct db_value *v)
{
	const struct slower_speed *last = s->n ? &s->v[s->n - 1] : NULL;
	const struct ratio job = {.job = v[S_JOB].i}, *r;
	const bool is_new = !last || strcmp(last->node, text_of(&v[S_NODE])) != 0 ||
			    strcmp(last->cluster, text_of(&v[S_CLUSTER])) != 0;
	int err = is_new ? begin_speed(s, kinds, v) : 0;
	const enum counts how = count_of(&s->is_sure, &v[S_SOURCES]);

	if (how == COUNTS_ANEW)
		s->nruns = 0;
	if (how == DOES_NOT_COUNT)
		return err;
	r = s->of.n ? bsearch(&job, s->of.ratios, s->of.n, sizeof(*s->of.ratios), by_job) : NULL;
	if (err || !r)
		return err;
	if (room__make(&s->runs, &s->room, s->nruns + 1, sizeof(*s->runs)))
		return -ENOMEM;
	s->runs[s->nruns++] = (struct run){r->start, r->took, r->held_s};
	return 0;
}

static int read_speeds(struct speeds *s, struct index *ix, const struct job_filter *f,
		       const struct viewer *v)
{
	struct id_table kinds = {0};
	struct db_rows rows = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT n.node, j.cluster, k.model, k.cores, j.id, j.sources FROM job j "
		       "CROSS JOIN job_node n LEFT JOIN node k ON k.cluster = j.cluster AND "
		       "k.name = n.node");
	if (!err)
		err = query__where(&q, f, v);
	query__add(&q, " AND n.job = j.id ORDER BY n.node, j.cluster, j.id");
	if (!err)
		err = query__ask(&q, ix->db, &rows);
	while (!err && db_rows__next(&rows))
		err = add_speed_row(s, &kinds, rows.v);
	err = db_rows__end(&rows, err);
	query__free(&q);
	id_table__free(&kinds);
	return err ? err : end_speed(s);
}

/* Kind by kind, the slowest first; nodes without a speed last. */
static int by_kind(const void *a, const void *b)
{
	const struct slower_speed *x = a, *y = b;
	int order = (x->kind > y->kind) - (x->kind < y->kind);

	order = order ? order : descending(-x->speed, -y->speed);
	return order ? order : strcmp(x->node, y->node);
}

#define NORMAL	     1.4826 /* a standard deviation by the median absolute one */
#define LEAST_SPREAD 0.005

/* Compares nodes of one kind, v[n]. */
static int compare_kind(struct speeds *s, struct slower_speed *v, unsigned n)
{
	unsigned known = 0;
	double usual, spread;
	int err = 0;

	while (known < n && !isnan(v[known].speed))
		known++;
	if (!known)
		return 0;
	s->sorted.n = 0;
	for (unsigned i = known; !err && i-- > 0;)
		err = append(&s->sorted, v[i].speed);
	usual = err ? NAN : median_of(&s->sorted);
	for (unsigned i = 0; !err && i < known; i++)
		s->sorted.v[i] = fabs(v[i].speed - usual);
	spread = err ? NAN : fmax(NORMAL * median_of(&s->sorted), LEAST_SPREAD);
	for (unsigned i = 0; i < known; i++) {
		struct slower_speed *one = &v[i];

		one->usual = usual;
		one->spread = known >= SLOWER_ALIKE ? spread : NAN;
		one->z = (one->speed - usual) / one->spread;
		one->is_slow = one->speed < 1 / (1 + SLOWER_LEAST) && !(one->z > -SLOWER_Z);
	}
	for (unsigned i = 0; i < n; i++)
		if (!v[i].is_slow)
			v[i].since = v[i].lost_core_s = NAN;
	return err;
}

static int compare_kinds(struct speeds *s)
{
	unsigned from = 0;
	int err = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_kind);
	for (unsigned i = 1; !err && i <= s->n; i++)
		if (i == s->n || s->v[i].kind != s->v[from].kind) {
			err = compare_kind(s, &s->v[from], i - from);
			from = i;
		}
	return err;
}

int slower__speeds(struct index *ix, const struct job_filter *f, const struct viewer *v,
		   slower_take_speed *take, void *arg)
{
	struct runs r = {.since = -INFINITY};
	struct speeds s = {0};
	int err;

	if (!v->sees_all)
		return 0;
	err = each_signature(&r, ix, f, v, add_ratios, &s.of);
	if (!err && s.of.n)
		qsort(s.of.ratios, s.of.n, sizeof(*s.of.ratios), by_job);
	err = err ? err : read_speeds(&s, ix, f, v);
	err = err ? err : compare_kinds(&s);
	for (unsigned i = 0; !err && i < s.n; i++)
		err = take(arg, &s.v[i]);
	free_runs(&r);
	free(s.of.ratios);
	string_list__free(&s.of.texts);
	free(s.v);
	free(s.runs);
	free(s.sorted.v);
	return err;
}
