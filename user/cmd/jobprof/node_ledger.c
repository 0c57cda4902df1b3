/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger of a node: what each job waited, by who had the CPU meanwhile. */
#include "cmd/jobprof/node_ledger.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/known.h"
#include "base/room.h"
#include "view/site/site_table.h"

#define ROWS 40 /* jobs that waited most */
#define COLS 40

struct ledger {
	const struct node_page *p;
	unsigned rows[ROWS], cols[COLS]; /* lanes */
	unsigned nrows, ncols;
};

/* ---- which rows and columns */

struct ranked {
	unsigned lane;
	double s;
};

static int largest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->s != y->s ? (x->s < y->s) - (x->s > y->s)
			    : (x->lane > y->lane) - (x->lane < y->lane);
}

/* Sorts, and takes the first ones that are above 0. */
static unsigned take_first(struct ranked *r, unsigned n, unsigned *to, unsigned most)
{
	unsigned taken = 0;

	if (n)
		qsort(r, n, sizeof(*r), largest_first);
	while (taken < n && taken < most && r[taken].s > 0) {
		to[taken] = r[taken].lane;
		taken++;
	}
	return taken;
}

static int make(struct ledger *g, const struct node_page *p, bool sees_all)
{
	struct ranked *r = calloc(p->nlanes + 1, sizeof(*r));

	*g = (struct ledger){.p = p};
	if (!r)
		return -ENOMEM;
	for (unsigned i = 0; i < p->nlanes; i++)
		r[i] = (struct ranked){i, p->lanes[i].is_visible ? known__sum(p->lanes[i].wait_s, 0)
								 : 0};
	g->nrows = take_first(r, p->nlanes, g->rows, ROWS);
	for (unsigned i = 0; i < p->nlanes; i++)
		r[i] = (struct ranked){i, 0};
	for (unsigned i = 0; sees_all && i < p->npairs; i++)
		r[p->pairs[i].had].s += p->pairs[i].wait_s;
	g->ncols = take_first(r, p->nlanes, g->cols, COLS);
	free(r);
	return 0;
}

/* How long one lane waited for another; NaN: it is the same, or not known. */
static double waited_for(const struct node_page *p, unsigned waited, unsigned had)
{
	const struct node_pair *pair;

	if (waited == had || isnan(p->lanes[waited].others_s))
		return NAN;
	pair = node_page__pair(p, waited, had);
	return pair ? pair->wait_s : 0;
}

/* ---- as JSON */

static json_t *column_json(const struct node_lane *l)
{
	json_t *o = json_object();

	json__set(o, "job_id", json__whole(l->job_id));
	json__set(o, "user", json__text(l->user));
	json__set(o, "name", json__text(l->name ? l->name : l->program));
	return o;
}

/* What it waited for jobs that have no column. */
static double rest_of(const struct ledger *g, unsigned lane)
{
	double rest = g->p->lanes[lane].others_s;

	for (unsigned i = 0; i < g->ncols; i++)
		rest -= known__sum(waited_for(g->p, lane, g->cols[i]), 0);
	return known__not_negative(rest);
}

static json_t *row_json(const struct ledger *g, unsigned lane, bool sees_all)
{
	const struct node_lane *l = &g->p->lanes[lane];
	json_t *o = column_json(l), *by = json_array();

	JSON_NUMBERS(o, {"wait_s", l->wait_s}, {"own_s", l->own_s});
	for (unsigned i = 0; i < g->ncols; i++)
		json_array_append_new(by, json__number(waited_for(g->p, lane, g->cols[i])));
	if (!sees_all)
		json_array_append_new(by, json__number(l->others_s));
	json__set(o, "by_job_s", by);
	JSON_NUMBERS(o, {"other_job_s", sees_all ? rest_of(g, lane) : 0}, {"system_s", l->system_s},
		     {"wakeup_s", l->wakeup_s}, {"quota_s", l->quota_s},
		     {"no_owner_s", l->no_owner_s},
		     {"exact_share", sees_all ? l->exact_s / l->by_known_s : NAN});
	return o;
}

json_t *node_ledger__json(const struct node_page *p, bool sees_all)
{
	json_t *o = json_object(), *columns = json_array(), *rows = json_array();
	double no_owner = NAN;
	struct ledger g;

	if (make(&g, p, sees_all))
		return NULL;
	for (unsigned i = 0; i < g.ncols; i++)
		json_array_append_new(columns, column_json(&p->lanes[g.cols[i]]));
	if (!sees_all)
		json_array_append_new(columns, json_pack("{s:n}", "job_id"));
	for (unsigned i = 0; i < g.nrows; i++) {
		json_array_append_new(rows, row_json(&g, g.rows[i], sees_all));
		no_owner = known__sum(no_owner, p->lanes[g.rows[i]].no_owner_s);
	}
	json__set(o, "columns", columns);
	json__set(o, "rows", rows);
	json__set(o, "no_owner_s", json__number(no_owner));
	return o;
}

json_t *node_ledger__rows(const json_t *ledger)
{
	json_t *rows = json_deep_copy(json_object_get(ledger, "rows")), *row, *column;
	size_t i, k;

	json_array_foreach (rows, i, row) {
		json_array_foreach (json_object_get(ledger, "columns"), k, column) {
			const json_t *id = json_object_get(column, "job_id");
			char key[64];

			if (json_is_null(id))
				snprintf(key, sizeof(key), "by_others_s");
			else
				snprintf(key, sizeof(key), "by_%" JSON_INTEGER_FORMAT "_s",
					 json_integer_value(id));
			while (json_object_get(row, key) && strlen(key) < sizeof(key) - 1)
				strcat(key, "_"); /* the same id: a job that began again */
			json_object_set(row, key,
					json_array_get(json_object_get(row, "by_job_s"), k));
		}
		json_object_del(row, "by_job_s");
	}
	return rows;
}

/* ---- as text */

static void put_hours(double s)
{
	char text[SITE_CELL];

	site_cell__put(text, CELL_NUMBER, s);
	printf(" %10s", text);
}

/* The job that had the CPU most of all others. */
static void print_most(const struct ledger *g, unsigned lane)
{
	const struct node_lane *most = NULL;
	double s = 0;

	for (unsigned i = 0; i < g->ncols; i++)
		if (waited_for(g->p, lane, g->cols[i]) > s) {
			s = waited_for(g->p, lane, g->cols[i]);
			most = &g->p->lanes[g->cols[i]];
		}
	if (!most)
		return;
	printf("  most for %.0f", most->job_id);
	if (most->name) {
		putchar(' ');
		print__escaped(stdout, most->name);
	}
}

void node_ledger__print(const struct node_page *p, bool sees_all)
{
	struct ledger g;

	if (make(&g, p, sees_all) || !g.nrows)
		return;
	printf("\nWho had the CPU while jobs waited for one, s\n%10s %10s %10s %10s %10s %10s %10s "
	       "%10s\n",
	       "job", "waited", "own", "other jobs", "system", "wake-up", "quota", "no owner");
	for (unsigned i = 0; i < g.nrows; i++) {
		const struct node_lane *l = &p->lanes[g.rows[i]];

		printf("%10.0f", l->job_id);
		put_hours(l->wait_s);
		put_hours(l->own_s);
		put_hours(l->others_s);
		put_hours(l->system_s);
		put_hours(l->wakeup_s);
		put_hours(l->quota_s);
		put_hours(l->no_owner_s);
		print_most(&g, g.rows[i]);
		putchar('\n');
	}
}

/* ---- pairs of names */

struct named_pair {
	const char *a, *b; /* a <= b */
	double wait_s, cpu_s;
};

static const char *name_of(const struct node_lane *l)
{
	return l->name ? l->name : l->program ? l->program : "";
}

static int by_names(const void *a, const void *b)
{
	const struct named_pair *x = a, *y = b;
	const int order = strcmp(x->a, y->a);

	return order ? order : strcmp(x->b, y->b);
}

static int by_wait(const void *a, const void *b)
{
	const struct named_pair *x = a, *y = b;

	return x->wait_s != y->wait_s ? (x->wait_s < y->wait_s) - (x->wait_s > y->wait_s)
				      : by_names(a, b);
}

#define PAIRS 10

/* Joins pairs of the same names. How many are left. */
static unsigned join_pairs(struct named_pair *v, unsigned n)
{
	unsigned kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), by_names);
	for (unsigned i = 0; i < n; i++) {
		if (kept && !by_names(&v[kept - 1], &v[i])) {
			v[kept - 1].wait_s += v[i].wait_s;
			v[kept - 1].cpu_s += v[i].cpu_s;
		} else {
			v[kept++] = v[i];
		}
	}
	if (kept)
		qsort(v, kept, sizeof(*v), by_wait);
	return kept;
}

json_t *node_ledger__pairs_json(const struct node_page *p)
{
	struct named_pair *v = calloc(p->npairs + 1, sizeof(*v));
	json_t *a = v ? json_array() : NULL;
	unsigned n;

	for (unsigned i = 0; v && i < p->npairs; i++) {
		const char *x = name_of(&p->lanes[p->pairs[i].waited]);
		const char *y = name_of(&p->lanes[p->pairs[i].had]);
		const bool in_order = strcmp(x, y) <= 0;

		v[i] = (struct named_pair){in_order ? x : y, in_order ? y : x, p->pairs[i].wait_s,
					   p->pairs[i].cpu_s};
	}
	n = v ? join_pairs(v, p->npairs) : 0;
	for (unsigned i = 0; i < n && i < PAIRS; i++) {
		json_t *o = json_object(), *names = json_array();

		json_array_append_new(names, json__text(v[i].a));
		json_array_append_new(names, json__text(v[i].b));
		json__set(o, "names", names);
		JSON_NUMBERS(o, {"wait_s", v[i].wait_s}, {"cpu_s", v[i].cpu_s},
			     {"wait_share", v[i].wait_s / (v[i].wait_s + v[i].cpu_s)});
		json_array_append_new(a, o);
	}
	free(v);
	return a;
}

/* ---- speed */

static const char *own(struct node_speed *s, const char *text)
{
	return string_list__append(&s->texts, text) ? NULL : s->texts.v[s->texts.n - 1];
}

struct speed_reading {
	struct node_speed *s;
	const char *node;
};

/* Takes the nodes of the first kind that the node is of: they come kind by kind. */
static int take_speed(void *arg, const struct slower_speed *one)
{
	struct speed_reading *r = arg;
	struct node_speed *s = r->s;
	const bool is_own = !strcmp(one->node, r->node);
	struct slower_speed mine;

	if (s->n && s->v[0].kind != one->kind) {
		if (s->has_own)
			return 0;
		s->n = 0;
	}
	if (room__grow(&s->v, s->n, 1, sizeof(*s->v)))
		return -ENOMEM;
	mine = *one;
	mine.node = own(s, one->node);
	mine.cluster = own(s, one->cluster);
	if (!mine.node || !mine.cluster)
		return -ENOMEM;
	s->v[s->n++] = mine;
	if (is_own) {
		const struct slower_speed first = s->v[0];

		s->v[0] = mine;
		s->v[s->n - 1] = first;
		s->has_own = true;
	}
	return 0;
}

int node_speed__read(struct node_speed *s, struct index *ix, const struct node_about *a,
		     const struct job_filter *f, const struct viewer *v)
{
	struct speed_reading r = {s, a->node};
	struct job_filter of;
	int err;

	job_filter__init(&of);
	of.cluster = a->cluster && *a->cluster ? a->cluster : NULL;
	of.since = fmin(f->since, f->until - 30 * 86400.0); /* a day has too few runs */
	of.until = f->until;
	err = slower__speeds(ix, &of, v, take_speed, &r);
	if (!s->has_own)
		s->n = 0;
	return err;
}

void node_speed__free(struct node_speed *s)
{
	free(s->v);
	string_list__free(&s->texts);
	*s = (struct node_speed){0};
}

static int by_node(const void *a, const void *b)
{
	return strcmp(((const struct slower_speed *)a)->node,
		      ((const struct slower_speed *)b)->node);
}

json_t *node_speed__json(const struct node_speed *s)
{
	const struct slower_speed own_one = s->n ? s->v[0] : (struct slower_speed){0};
	json_t *o, *all = json_array();

	if (!s->n) {
		json_decref(all);
		return json_null();
	}
	o = json_object();
	json__set(o, "runs", json_integer(own_one.runs));
	JSON_NUMBERS(o, {"speed", own_one.speed}, {"z", own_one.z}, {"usual", own_one.usual},
		     {"spread", own_one.spread});
	json__set(o, "since", json__whole(own_one.since));
	json__set(o, "is_slow", json_boolean(own_one.is_slow));
	qsort(s->v, s->n, sizeof(*s->v), by_node);
	for (unsigned i = 0; i < s->n; i++) {
		json_t *one = json_object();

		json__set(one, "node", json__text(s->v[i].node));
		JSON_NUMBERS(one, {"speed", s->v[i].speed});
		json__set(one, "runs", json_integer(s->v[i].runs));
		json__set(one, "is_slow", json_boolean(s->v[i].is_slow));
		json_array_append_new(all, one);
	}
	json__set(o, "nodes", all);
	return o;
}

void node_speed__print(const struct node_speed *s)
{
	char speed[SITE_CELL], z[SITE_CELL];

	if (!s->n)
		return;
	site_cell__put(speed, CELL_SHARE, s->v[0].speed);
	site_cell__put(z, CELL_NUMBER, fabs(s->v[0].z));
	if (isnan(s->v[0].speed)) {
		printf("\nSpeed: not known: %u runs of %d of jobs that others ran elsewhere, too\n",
		       s->v[0].runs, SLOWER_NODE_RUNS);
		return;
	}
	printf("\nSpeed: %s %% of that of its kind (%u nodes), by the time of %u runs", speed, s->n,
	       s->v[0].runs);
	if (!isnan(s->v[0].z))
		printf("; z %s%s", s->v[0].z < 0 ? "-" : "", z);
	printf("%s\n", s->v[0].is_slow ? ": it is slow" : "");
}
