/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares sums of two times, and finds the groups of jobs that make most of the difference. */
#include "cmd/jobprof/nodes_changes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/known.h"
#include "base/room.h"
#include "cmd/jobprof/site_when.h"
#include "index/running.h"

/* ---- sums of groups, now and before */

enum measure { HELD, PROFILED, LOST, CPU, HELD_GPU, LOST_GPU, ENERGY, N_MEASURES };

struct group {
	char *key;
	double v[2][N_MEASURES]; /* before, now; NaN: not known */
};

struct groups {
	struct group *v;
	unsigned n;
};

static struct group *group_of(struct groups *g, const char *key)
{
	struct group *one;

	for (unsigned i = 0; i < g->n; i++)
		if (!strcmp(g->v[i].key, key))
			return &g->v[i];
	if (room__grow(&g->v, g->n, 1, sizeof(*g->v)))
		return NULL;
	one = &g->v[g->n];
	one->key = strdup(key);
	for (int i = 0; i < N_MEASURES; i++)
		one->v[0][i] = one->v[1][i] = NAN;
	return one->key ? &g->v[g->n++] : NULL;
}

static void free_groups(struct groups *g)
{
	for (unsigned i = 0; i < g->n; i++)
		free(g->v[i].key);
	free(g->v);
	*g = (struct groups){0};
}

static double total(const struct groups *g, int when, enum measure of)
{
	double sum = NAN;

	for (unsigned i = 0; i < g->n; i++)
		sum = known__sum(sum, g->v[i].v[when][of]);
	return sum;
}

/* Takes rows of a key and measures from `first` on. */
static int take(struct query *q, struct index *ix, struct groups *g, int when, enum measure first)
{
	struct db_rows r = {0};
	int err = query__ask(q, ix->db, &r);

	while (!err && db_rows__next(&r)) {
		struct group *one = group_of(g, r.v[0].type == DB_TEXT ? r.v[0].text : "");

		if (!one)
			err = -ENOMEM;
		for (unsigned i = 1; !err && i < r.n; i++)
			one->v[when][first + i - 1] = db_value__number(&r.v[i]);
	}
	return db_rows__end(&r, err);
}

/* Sums by a column of job that sums have, too. */
static int ask_sums(struct groups *g, int when, struct index *ix, const struct job_filter *f,
		    const struct viewer *v, const char *column)
{
	const char *table = query__sums_for(ix, f);
	struct query q;
	int err = query__init(&q);

	query__add(&q, table ? "SELECT s." : "SELECT j.");
	query__add(&q, column);
	query__add(&q, table ? ", sum(s.held_core_s), sum(s.profiled_core_s), sum(s.lost_core_s), "
			       "sum(s.cpu_s), sum(s.held_gpu_s), sum(s.lost_gpu_s), "
			       "sum(s.energy_j) FROM "
			     : ", sum(j.held_core_s), sum(CASE WHEN j.findings IS NULL THEN 0.0 "
			       "ELSE j.held_core_s END), sum(j.lost_core_s), sum(j.cpu_s), "
			       "sum(j.held_gpu_s), sum(j.lost_gpu_s), sum(j.energy_j) FROM job j");
	query__add(&q, table ? table : "");
	query__add(&q, table ? " s" : "");
	if (table)
		query__where_sums(&q, table, f, v);
	else if (!err)
		err = query__where(&q, f, v);
	query__add(&q, " GROUP BY 1 ORDER BY 1");
	if (!err)
		err = take(&q, ix, g, when, HELD);
	query__free(&q);
	return err;
}

/* What findings cost, by rule. */
static int ask_rules(struct groups *g, int when, struct index *ix, const struct job_filter *f,
		     const struct viewer *v)
{
	struct query q;
	int err = query__init(&q);

	query__add(&q,
		   "SELECT f.rule, sum(f.cost_core_s) FROM job j JOIN finding f ON f.job = j.id");
	if (!err)
		err = query__where(&q, f, v);
	query__add(&q, " GROUP BY 1 ORDER BY 1");
	if (!err)
		err = take(&q, ix, g, when, LOST);
	query__free(&q);
	return err;
}

/* Waits for a CPU by user, as lost of all CPU time and waits. */
static int ask_waits(struct groups *g, int when, struct index *ix, const struct job_filter *f,
		     const struct viewer *v)
{
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT j.\"user\", sum(j.wait_s + j.cpu_s), sum(j.wait_s) FROM job j");
	if (!err)
		err = query__where(&q, f, v);
	query__add(&q, " AND j.wait_s IS NOT NULL AND j.cpu_s IS NOT NULL GROUP BY 1 ORDER BY 1");
	if (!err)
		err = take(&q, ix, g, when, PROFILED);
	query__free(&q);
	return err;
}

/* ---- queues */

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *v, size_t n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), ascending);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct waits {
	double *v;
	size_t n, room;
};

static int end_partition(struct nodes_partition *p, struct waits *w)
{
	if (p)
		p->queue_s = median(w->v, w->n);
	w->n = 0;
	return 0;
}

static struct nodes_partition new_partition(const char *name)
{
	return (struct nodes_partition){.name = strdup(name),
					.queue_s = NAN,
					.running = NAN,
					.cores = NAN,
					.waiting = NAN,
					.losing = NAN,
					.losing_cores = NAN};
}

static int add_wait(struct nodes_partitions *p, struct waits *w, const struct db_value *v)
{
	const char *name = v[0].type == DB_TEXT ? v[0].text : "";
	struct nodes_partition *last = p->n ? &p->v[p->n - 1] : NULL;
	const double wait = db_value__number(&v[1]);

	if (!last || strcmp(last->name, name) != 0) {
		end_partition(last, w);
		if (room__grow(&p->v, p->n, 1, sizeof(*p->v)))
			return -ENOMEM;
		last = &p->v[p->n++];
		*last = new_partition(name);
		if (!last->name)
			return -ENOMEM;
	}
	last->started++;
	if (!(wait >= 0))
		return 0;
	if (room__make(&w->v, &w->room, w->n + 1, sizeof(*w->v)))
		return -ENOMEM;
	w->v[w->n++] = wait;
	return 0;
}

/* by_partition: else all are one without a name. */
static int ask_queue(struct nodes_partitions *p, bool by_partition, struct index *ix,
		     const struct job_filter *f, const struct viewer *v)
{
	struct waits w = {0};
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, by_partition ? "SELECT j.partition" : "SELECT ''");
	query__add(&q, ", j.start - COALESCE(j.eligible, j.submit) FROM job j");
	if (!err)
		err = query__where(&q, f, v);
	query__add(&q, by_partition ? " ORDER BY j.partition" : "");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r))
		err = add_wait(p, &w, r.v);
	err = db_rows__end(&r, err);
	end_partition(p->n ? &p->v[p->n - 1] : NULL, &w);
	query__free(&q);
	free(w.v);
	return err;
}

#define DAY_S 86400.0

/* A row: partition, running jobs, their cores, waiting ones, those that lose, and how much. */
static int take_running(struct nodes_partitions *p, const struct db_value *v)
{
	const char *name = v[0].type == DB_TEXT ? v[0].text : "";
	struct nodes_partition *one = NULL;

	for (unsigned i = 0; i < p->n && !one; i++)
		if (!strcmp(p->v[i].name, name))
			one = &p->v[i];
	if (!one) {
		if (room__grow(&p->v, p->n, 1, sizeof(*p->v)))
			return -ENOMEM;
		one = &p->v[p->n++];
		*one = new_partition(name);
		if (!one->name)
			return -ENOMEM;
	}
	one->running = db_value__number(&v[1]);
	one->cores = db_value__number(&v[2]);
	one->waiting = db_value__number(&v[3]);
	one->losing = db_value__number(&v[4]);
	one->losing_cores = db_value__number(&v[5]);
	return 0;
}

static int ask_running(struct nodes_partitions *p, struct index *ix, const struct job_filter *f,
		       const struct viewer *v)
{
	struct job_filter of;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	job_filter__init(&of);
	of.cluster = f->cluster;
	query__add(&q, "SELECT j.partition, sum(CASE WHEN j.state <> 'PENDING' THEN 1.0 ELSE 0.0 "
		       "END), sum(CASE WHEN j.state <> 'PENDING' THEN COALESCE(j.cores, j.cpus * "
		       "1.0) ELSE 0.0 END), sum(CASE WHEN j.state = 'PENDING' THEN 1.0 ELSE 0.0 "
		       "END), sum(CASE WHEN j.losing_cores >= 1 THEN 1.0 ELSE 0.0 END), "
		       "sum(COALESCE(j.losing_cores, 0.0)) FROM running j");
	if (!err)
		err = query__where(&q, &of, v);
	query__add(&q, " GROUP BY j.partition ORDER BY j.partition");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	for (unsigned i = 0; !err && i < p->n; i++) /* of those without a row it is 0 */
		p->v[i].running = p->v[i].cores = p->v[i].waiting = p->v[i].losing =
			p->v[i].losing_cores = 0;
	while (!err && db_rows__next(&r))
		err = take_running(p, r.v);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* Where most runs, then where most waits or has begun. */
static int busiest_first(const void *a, const void *b)
{
	const struct nodes_partition *x = a, *y = b;
	const double by[][2] = {
		{x->cores, y->cores}, {x->waiting, y->waiting}, {x->started, y->started}};

	for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++)
		if (by[i][0] > by[i][1] || by[i][0] < by[i][1])
			return by[i][0] > by[i][1] ? -1 : 1;
	return strcmp(x->name, y->name);
}

int nodes_partitions__read(struct nodes_partitions *p, const struct job_filter *f, struct index *ix,
			   const struct viewer *v)
{
	struct job_filter of = *f;
	double asked = NAN;
	int err;

	of.since = f->until - DAY_S;
	err = ask_queue(p, true, ix, &of, v);
	if (!err)
		asked = running__asked(ix, &err);
	if (!err && !isnan(asked))
		err = ask_running(p, ix, f, v);
	if (!err && p->n)
		qsort(p->v, p->n, sizeof(*p->v), busiest_first);
	return err;
}

void nodes_partitions__free(struct nodes_partitions *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->v[i].name);
	free(p->v);
	*p = (struct nodes_partitions){0};
}

json_t *nodes_partitions__json(const struct nodes_partitions *p)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < p->n; i++) {
		json_t *o = json_object();

		json__set(o, "partition", json__text(p->v[i].name));
		json__set(o, "running", json__whole(p->v[i].running));
		json__set(o, "waiting", json__whole(p->v[i].waiting));
		json__set(o, "losing", json__whole(p->v[i].losing));
		JSON_NUMBERS(o, {"running_cores", p->v[i].cores},
			     {"losing_cores", p->v[i].losing_cores});
		json__set(o, "started_24h", json_integer(p->v[i].started));
		JSON_NUMBERS(o, {"queue_median_s", p->v[i].queue_s});
		json_array_append_new(a, o);
	}
	return a;
}

/* ---- causes */

struct part {
	const char *key;
	double v;
};

static int largest_first(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->v != y->v ? (x->v < y->v) - (x->v > y->v) : strcmp(x->key, y->key);
}

/* How much of the change of a sum, or of the share part / of, is of this group. Of a share: by how
 * much it would differ if the group had had the share of all before. */
static double part_of_change(const struct groups *g, const struct group *one, enum measure part,
			     enum measure of)
{
	const double *before = one->v[0], *now = one->v[1];
	double usual, was, is;

	if (part == of)
		return known__sum(now[part], 0) - known__sum(before[part], 0);
	usual = total(g, 0, part) / total(g, 0, of);
	was = (known__sum(before[part], 0) - usual * known__sum(before[of], 0)) / total(g, 0, of);
	is = (known__sum(now[part], 0) - usual * known__sum(now[of], 0)) / total(g, 1, of);
	return is - was;
}

#define CAUSES 2
#define LEAST  0.2 /* of the change is a cause's */

/* "+1,234 core-h" */
static void print_part(FILE *out, double v, const char *unit)
{
	const bool is_share = !strcmp(unit, "share"), is_core = !strcmp(unit, "core-s");
	char text[SITE_CELL];

	site_cell__put(text,
		       is_share	 ? CELL_POINTS
		       : is_core ? CELL_HOURS
				 : CELL_NUMBER,
		       is_share		    ? v
		       : !strcmp(unit, "J") ? fabs(v) / 3.6e6
					    : fabs(v));
	fprintf(out, " %s%s %s",
		is_share ? ""
		: v < 0	 ? "-"
			 : "+",
		text,
		is_share  ? "points"
		: is_core ? "core-h"
			  : "kWh");
}

/* Adds the groups that make most of the change to the text: "project p31 -90,000 core-h". */
static void add_causes(FILE *out, const struct nodes_change *c, const struct groups *g,
		       const char *kind, enum measure part, enum measure of)
{
	const double change = c->now - c->before;
	struct part *parts = calloc(g->n + 1, sizeof(*parts));
	unsigned said = 0;

	for (unsigned i = 0; parts && i < g->n; i++)
		parts[i] = (struct part){g->v[i].key, part_of_change(g, &g->v[i], part, of) *
							      (change < 0 ? -1 : 1)};
	if (parts && g->n)
		qsort(parts, g->n, sizeof(*parts), largest_first);
	for (unsigned i = 0; parts && i < g->n && said < CAUSES; i++) {
		if (!(parts[i].v >= LEAST * fabs(change)) || !(parts[i].v > 0))
			break;
		fprintf(out, "%s%s%s%s", ftell(out) ? ", " : "", kind, *kind ? " " : "",
			*parts[i].key ? parts[i].key : "without a name");
		print_part(out, change < 0 ? -parts[i].v : parts[i].v, c->unit);
		said++;
	}
	free(parts);
}

/* ---- the list */

/* What is a change, of shares, of times in s, and as a part of an amount. */
#define SHARE_LEAST  0.01
#define TIME_LEAST   300
#define AMOUNT_LEAST 0.03

static struct nodes_change *add(struct nodes_changes *c, const char *what, const char *words,
				const char *unit, double now, double before)
{
	struct nodes_change *one = &c->v[c->n++];
	const bool is_amount = strcmp(unit, "share") && strcmp(unit, "s") && strcmp(unit, "jobs");

	*one = (struct nodes_change){.what = what,
				     .words = words,
				     .unit = unit,
				     .now = now,
				     .before = before,
				     .change = now - before};
	if (is_amount)
		one->change /= before;
	return one;
}

/* more_is: 1 better, -1 worse. */
static void judge(struct nodes_change *c, int more_is)
{
	const double least = !strcmp(c->unit, "share")	? SHARE_LEAST
			     : !strcmp(c->unit, "s")	? TIME_LEAST
			     : !strcmp(c->unit, "jobs") ? 1
							: AMOUNT_LEAST;

	if (isnan(c->change))
		return;
	c->verdict = fabs(c->change) < least   ? "same"
		     : c->change * more_is > 0 ? "better"
					       : "worse";
}

static void explain(struct nodes_change *c, const struct groups *rules, const struct groups *groups,
		    const char *kind, enum measure part, enum measure of)
{
	size_t len = 0;
	FILE *out;

	if (!c->verdict || !strcmp(c->verdict, "same"))
		return;
	out = open_memstream(&c->why, &len);
	if (!out)
		return;
	if (rules)
		add_causes(out, c, rules, "", LOST, LOST);
	add_causes(out, c, groups, kind, part, of);
	if (!fclose(out) && len)
		return;
	free(c->why);
	c->why = NULL;
}

static double share(const struct groups *g, int when, enum measure part, enum measure of)
{
	return total(g, when, part) / total(g, when, of);
}

struct comparing {
	struct groups accounts, rules, waits;
	struct nodes_partitions queue[2];
	double fails[2];
};

static int ask(struct comparing *w, int when, struct index *ix, const struct job_filter *f,
	       const struct viewer *v)
{
	struct query q;
	struct db_rows r = {0};
	int err = ask_sums(&w->accounts, when, ix, f, v, "account");

	if (!err)
		err = ask_rules(&w->rules, when, ix, f, v);
	if (!err)
		err = ask_waits(&w->waits, when, ix, f, v);
	if (!err)
		err = ask_queue(&w->queue[when], false, ix, f, v);
	if (err)
		return err;
	err = query__init(&q);
	query__add(&q, "SELECT count(*) FROM job j");
	if (!err)
		err = query__where(&q, f, v);
	query__add(&q, " AND j.state = 'NODE_FAIL'");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r))
		w->fails[when] = db_value__number(&r.v[0]);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

static double queue_of(const struct nodes_partitions *p)
{
	return p->n ? p->v[0].queue_s : NAN;
}

static void compare(struct nodes_changes *c, const struct comparing *w)
{
	const struct groups *a = &w->accounts;
	struct nodes_change *one;

	one = add(c, "cpu_share", "CPU time of what was held", "share", share(a, 1, CPU, PROFILED),
		  share(a, 0, CPU, PROFILED));
	judge(one, 1);
	explain(one, NULL, a, "project", CPU, PROFILED);
	one = add(c, "lost_core_s", "Lost", "core-s", total(a, 1, LOST), total(a, 0, LOST));
	judge(one, -1);
	explain(one, &w->rules, a, "project", LOST, LOST);
	one = add(c, "wait_share", "Wait for a CPU", "share", share(&w->waits, 1, LOST, PROFILED),
		  share(&w->waits, 0, LOST, PROFILED));
	judge(one, -1);
	explain(one, NULL, &w->waits, "user", LOST, PROFILED);
	one = add(c, "gpu_idle_share", "GPUs idle while held", "share",
		  share(a, 1, LOST_GPU, HELD_GPU), share(a, 0, LOST_GPU, HELD_GPU));
	judge(one, -1);
	explain(one, NULL, a, "project", LOST_GPU, HELD_GPU);
	one = add(c, "energy_j", "Energy of jobs", "J", total(a, 1, ENERGY), total(a, 0, ENERGY));
	judge(one, -1);
	explain(one, NULL, a, "project", ENERGY, ENERGY);
	if (one->verdict && strcmp(one->verdict, "same") != 0)
		one->verdict = NULL; /* it may be of more work */
	judge(add(c, "queue_s", "Median wait in the queue", "s", queue_of(&w->queue[1]),
		  queue_of(&w->queue[0])),
	      -1);
	judge(add(c, "node_fails", "Jobs that ended with NODE_FAIL", "jobs", w->fails[1],
		  w->fails[0]),
	      -1);
}

int nodes_changes__read(struct nodes_changes *c, const struct site_args *a, struct index *ix,
			const struct viewer *v)
{
	struct comparing w = {.fails = {NAN, NAN}};
	struct job_filter before = a->filter;
	int err;

	*c = (struct nodes_changes){0};
	if (!site_when__before(&a->filter, &before))
		return 0;
	err = ask(&w, 0, ix, &before, v);
	if (!err)
		err = ask(&w, 1, ix, &a->filter, v);
	if (!err)
		compare(c, &w);
	free_groups(&w.accounts);
	free_groups(&w.rules);
	free_groups(&w.waits);
	nodes_partitions__free(&w.queue[0]);
	nodes_partitions__free(&w.queue[1]);
	return err;
}

void nodes_changes__free(struct nodes_changes *c)
{
	for (unsigned i = 0; i < c->n; i++)
		free(c->v[i].why);
	*c = (struct nodes_changes){0};
}

json_t *nodes_changes__json(const struct nodes_changes *c)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < c->n; i++) {
		const struct nodes_change *one = &c->v[i];
		json_t *o = json_object();

		json__set(o, "what", json_string(one->what));
		json__set(o, "words", json_string(one->words));
		json__set(o, "unit", json_string(one->unit));
		JSON_NUMBERS(o, {"now", one->now}, {"before", one->before},
			     {"change", one->change});
		json__set(o, "verdict", json__text(one->verdict));
		json__set(o, "why", json__text(one->why));
		json_array_append_new(a, o);
	}
	return a;
}

static const char *cell(char to[static SITE_CELL], const struct nodes_change *c, double v)
{
	const bool is_energy = !strcmp(c->unit, "J");

	site_cell__put(to,
		       !strcmp(c->unit, "share")    ? CELL_SHARE
		       : !strcmp(c->unit, "s")	    ? CELL_DURATION
		       : !strcmp(c->unit, "core-s") ? CELL_HOURS
		       : is_energy		    ? CELL_NUMBER
						    : CELL_COUNT,
		       is_energy ? v / 3.6e6 : v);
	return to;
}

void nodes_changes__print(const struct nodes_changes *c)
{
	if (c->n)
		puts("\nAgainst as long a time before");
	for (unsigned i = 0; i < c->n; i++) {
		const struct nodes_change *one = &c->v[i];
		char now[SITE_CELL], before[SITE_CELL];
		const char *unit = !strcmp(one->unit, "share")	  ? " %"
				   : !strcmp(one->unit, "core-s") ? " core-h"
				   : !strcmp(one->unit, "J")	  ? " kWh"
								  : "";

		printf("  %-32s %s%s, before %s%s", one->words, cell(now, one, one->now), unit,
		       cell(before, one, one->before), unit);
		if (one->verdict)
			printf(": %s", one->verdict);
		if (one->why) {
			fputs("; ", stdout);
			print__escaped(stdout, one->why);
		}
		putchar('\n');
	}
}
