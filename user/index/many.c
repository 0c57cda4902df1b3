/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins findings of a signature by what their rules define about the number that they set. */
#include "index/many.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "findings/findings.h"

/* What a rule defines, copied. */
struct joining {
	char *id, *unit; /* unit NULL: the rule sets no number */
	bool highest_is_safe;
	int column; /* the index's column of what a job used; -1: none */
};

struct group {
	struct many m;
	const struct joining *how; /* NULL: this rule does not exist any more */
	unsigned at, first; /* ranks by cost: of this group, of the first one of its signature */
};

struct joined {
	struct index *ix;
	struct job_filter filter; /* of jobs with and without the finding */
	const struct viewer *viewer;
	struct joining *rules;
	unsigned nrules;
	struct group *groups;
	unsigned ngroups;
	struct string_list texts; /* of the groups */
};

/* ---- what the rules define */

static int take_rule(void *arg, const struct rule_many *m)
{
	struct joined *w = arg;
	struct joining *r;

	if (room__grow(&w->rules, w->nrules, 1, sizeof(*w->rules)))
		return -ENOMEM;
	r = &w->rules[w->nrules++];
	*r = (struct joining){.id = strdup(m->id),
			      .unit = m->unit ? strdup(m->unit) : NULL,
			      .highest_is_safe = m->highest_is_safe,
			      .column = m->column ? index_column__find(m->column) : -1};
	if (r->column >= 0 && index_infos[r->column].type == INDEX_TEXT)
		r->column = -1;
	return r->id && (r->unit || !m->unit) ? 0 : -ENOMEM;
}

static const struct joining *find_rule(const struct joined *w, const char *id)
{
	for (unsigned i = 0; i < w->nrules; i++)
		if (!strcmp(w->rules[i].id, id))
			return &w->rules[i];
	return NULL;
}

/* ---- the groups */

static const char *own(struct joined *w, const struct db_value *v)
{
	if (string_list__append(&w->texts, v->type == DB_TEXT ? v->text : ""))
		return NULL;
	return w->texts.v[w->texts.n - 1];
}

static int add_group(void *arg, const struct db_value *v)
{
	struct joined *w = arg;
	struct group *g;
	struct many *m;

	if (room__grow(&w->groups, w->ngroups, 1, sizeof(*w->groups)))
		return -ENOMEM;
	g = &w->groups[w->ngroups];
	g->at = w->ngroups++;
	m = &g->m;
	*m = (struct many){
		.signature = own(w, &v[0]),
		.rule = own(w, &v[1]),
		.user = own(w, &v[2]),
		.name = own(w, &v[3]),
		.program = own(w, &v[4]),
		.jobs = db_value__number(&v[5]),
		.cost_core_s = db_value__number(&v[6]),
		.last = db_value__number(&v[7]),
		.severity = (int)v[8].i,
		.used = db_value__number(&v[9]),
		.asked_least = db_value__number(&v[10]),
		.asked_most = db_value__number(&v[11]),
		.nodes = db_value__number(&v[12]),
		.tasks = db_value__number(&v[13]),
		.account = own(w, &v[14]),
		.needs = NAN,
		.safe = NAN,
		.safe_of = NAN,
	};
	if (!m->signature || !m->rule || !m->user || !m->name || !m->program || !m->account)
		return -ENOMEM;
	g->how = find_rule(w, m->rule);
	m->unit = g->how ? g->how->unit : NULL;
	return 0;
}

static bool is_rule(const char *finding)
{
	return finding && strcmp(finding, "any") != 0 && strcmp(finding, "none") != 0;
}

static int find_groups(struct joined *w, const struct job_filter *f, unsigned most)
{
	struct query q;

	query__init(&q);
	query__add(&q, "SELECT j.signature, f.rule, min(j.\"user\"), min(j.name), min(j.program), "
		       "count(DISTINCT j.id), sum(f.cost_core_s), max(j.start), max(f.severity), "
		       "max(f.used), min(f.asked), max(f.asked), min(j.nodes), min(j.tasks), "
		       "min(j.account) FROM job j JOIN finding f ON f.job = j.id");
	query__where(&q, f, w->viewer);
	if (is_rule(f->finding)) {
		query__add(&q, " AND f.rule = ?");
		query__arg(&q, db_value__text(f->finding));
	}
	query__add(&q, " GROUP BY j.signature, f.rule ORDER BY 7 DESC NULLS LAST, 6 DESC, 1, 2");
	if (most) {
		query__add(&q, " LIMIT ?");
		query__arg(&q, db_value__int(most));
	}
	return query__each(&q, w->ix->db, add_group, w);
}

/* ---- the remedy and the counts of a group */

/* Adds " WHERE ..." for the group's jobs, with and without the finding. */
static int where(struct joined *w, struct query *q, const struct many *m)
{
	w->filter.signature = m->signature;
	return query__where(q, &w->filter, w->viewer);
}

/* Takes the finding whose remedy is safe for all jobs, else that of the dearest job. */
static int find_text(struct joined *w, struct group *g)
{
	struct many *m = &g->m;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT f.text, f.remedy, f.code, f.kind, f.needs FROM job j JOIN finding f "
		       "ON f.job = j.id");
	if (!err)
		err = where(w, &q, m);
	query__add(&q, " AND f.rule = ? ORDER BY ");
	query__arg(&q, db_value__text(m->rule));
	if (m->unit)
		query__add(&q, g->how->highest_is_safe ? "f.needs DESC NULLS LAST, "
						       : "f.needs NULLS LAST, ");
	query__add(&q, "f.cost_core_s DESC NULLS LAST, j.start DESC, j.id DESC LIMIT 1");
	if (!err)
		err = query__ask(&q, w->ix->db, &r);
	if (!err && db_rows__next(&r)) {
		m->text = own(w, &r.v[0]);
		m->remedy = own(w, &r.v[1]);
		m->code = own(w, &r.v[2]);
		m->kind = (int)r.v[3].i;
		m->needs = m->unit ? db_value__number(&r.v[4]) : NAN;
	}
	err = db_rows__end(&r, err);
	if (!err && (!m->text || !m->remedy || !m->code))
		err = -ENOMEM;
	query__free(&q);
	return err;
}

static char *copy_of(const struct db_value *v)
{
	return v->type == DB_TEXT && *v->text ? strdup(v->text) : NULL;
}

int many__dearest(struct many_dearest *out, struct index *ix, const struct job_filter *f,
		  const struct viewer *v, const char *signature, const char *rule)
{
	struct job_filter of = *f;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	*out = (struct many_dearest){0};
	of.finding = NULL;
	of.signature = signature ? signature : f->signature;
	query__add(&q, "SELECT j.job_id, j.array_id, j.array_task, f.severity, f.text, f.code, "
		       "j.\"user\" "
		       "FROM job j JOIN finding f ON f.job = j.id");
	if (!err)
		err = query__where(&q, &of, v);
	query__add(&q,
		   " AND f.rule = ? ORDER BY COALESCE(j.disagrees, 0), f.cost_core_s DESC NULLS "
		   "LAST, j.start DESC, j.id DESC LIMIT 1");
	query__arg(&q, db_value__text(rule));
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r)) {
		const bool is_task = r.v[1].type == DB_INT && r.v[2].type == DB_INT;

		snprintf(out->job, sizeof(out->job), is_task ? "%lld_%lld" : "%lld",
			 (long long)r.v[is_task ? 1 : 0].i, (long long)r.v[2].i);
		out->severity = (int)r.v[3].i;
		out->text = copy_of(&r.v[4]);
		out->code = copy_of(&r.v[5]);
		out->user = copy_of(&r.v[6]);
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

void many_dearest__free(struct many_dearest *d)
{
	free(d->user);
	free(d->text);
	free(d->code);
	*d = (struct many_dearest){0};
}

static int find_dearest(struct joined *w, struct group *g)
{
	struct many_dearest d;
	int err = many__dearest(&d, w->ix, &w->filter, w->viewer, g->m.signature, g->m.rule);

	snprintf(g->m.dearest, sizeof(g->m.dearest), "%s", d.job);
	many_dearest__free(&d);
	return err;
}

/* Adds the condition that a job would have had enough of what the remedy sets. */
static void add_safe(struct query *q, const struct group *g)
{
	const char *within = g->how->highest_is_safe ? " <= ?" : " >= ?";

	if (g->how->column >= 0) {
		query__add(q, "j.\"");
		query__add(q, index_infos[g->how->column].name);
		query__add(q, "\"");
		query__add(q, within);
		query__arg(q, db_value__real(g->m.needs));
		return;
	}
	query__add(q, "EXISTS (SELECT 1 FROM finding f WHERE f.job = j.id AND f.rule = ? AND "
		      "f.needs");
	query__arg(q, db_value__text(g->m.rule));
	query__add(q, within);
	query__arg(q, db_value__real(g->m.needs));
	query__add(q, ")");
}

/* Which jobs count, by unit: for memory and time none that somebody or something else ended. A job
 * that ended for lack of what is set needs more than it used, nobody knows how much. */
struct counting {
	const char *unit, *ended, *lacked_nothing;
};

#define ENDED(states) "(j.state IS NULL OR j.state IN (" states "))"

static const struct counting *counting_of(const char *unit)
{
	static const struct counting countings[] = {
		{"s", ENDED("'COMPLETED', 'TIMEOUT'"), "(j.state IS NULL OR j.state <> 'TIMEOUT')"},
		{"MiB", ENDED("'COMPLETED', 'TIMEOUT', 'OUT_OF_MEMORY'"),
		 "(j.state IS NULL OR j.state <> 'OUT_OF_MEMORY') AND coalesce(j.oom_kills, 0) = "
		 "0"},
		{NULL, ENDED("'COMPLETED', 'TIMEOUT', 'OUT_OF_MEMORY'"), "true"},
	};
	const struct counting *c = countings;

	while (c->unit && strcmp(c->unit, unit) != 0)
		c++;
	return c;
}

/* Adds the number of jobs that count, and of those which would have had enough. */
static void add_counts(struct query *q, const struct group *g)
{
	const struct counting *c = counting_of(g->m.unit);

	query__add(q, ", sum(CASE WHEN ");
	query__add(q, c->ended);
	query__add(q, " THEN 1.0 ELSE 0.0 END), sum(CASE WHEN ");
	query__add(q, c->ended);
	query__add(q, " AND ");
	query__add(q, c->lacked_nothing);
	query__add(q, " AND ");
	add_safe(q, g);
	query__add(q, " THEN 1.0 ELSE 0.0 END)");
}

static int count_jobs(struct joined *w, struct group *g)
{
	const bool has_number = !isnan(g->m.needs);
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT count(*), count(j.array_task)");
	if (has_number)
		add_counts(&q, g);
	query__add(&q, " FROM job j");
	if (!err)
		err = where(w, &q, &g->m);
	query__add(&q, " AND j.findings IS NOT NULL");
	if (!err)
		err = query__ask(&q, w->ix->db, &r);
	if (!err && db_rows__next(&r)) {
		g->m.of = db_value__number(&r.v[0]);
		g->m.are_tasks = db_value__number(&r.v[1]) == g->m.of;
		if (has_number) {
			g->m.safe_of = db_value__number(&r.v[2]);
			g->m.safe = db_value__number(&r.v[3]);
		}
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

static int by_signature(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	const int order = strcmp(x->m.signature, y->m.signature);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Sorts the groups of each signature behind its dearest one. */
static void join_signatures(struct joined *w)
{
	struct group *g = w->groups;

	if (!w->ngroups)
		return;
	qsort(g, w->ngroups, sizeof(*g), by_signature);
	for (unsigned i = 0; i < w->ngroups; i++)
		g[i].first = i && !strcmp(g[i].m.signature, g[i - 1].m.signature) ? g[i - 1].first
										  : g[i].at;
	qsort(g, w->ngroups, sizeof(*g), by_first);
}

int many__each(struct index *ix, const struct job_filter *f, const struct viewer *v, unsigned most,
	       many_take *take, void *arg)
{
	struct joined w = {.ix = ix, .filter = *f, .viewer = v};
	int err = rules__each_many(take_rule, &w);

	w.filter.finding = NULL;
	if (!err)
		err = find_groups(&w, f, most);
	if (!err)
		join_signatures(&w);
	for (unsigned i = 0; !err && i < w.ngroups; i++) {
		err = find_text(&w, &w.groups[i]);
		if (!err)
			err = find_dearest(&w, &w.groups[i]);
		if (!err)
			err = count_jobs(&w, &w.groups[i]);
		if (!err)
			err = take(arg, &w.groups[i].m);
	}
	for (unsigned i = 0; i < w.nrules; i++) {
		free(w.rules[i].id);
		free(w.rules[i].unit);
	}
	free(w.rules);
	free(w.groups);
	string_list__free(&w.texts);
	return err;
}

int many__without_profile(struct index *ix, const struct job_filter *f, const struct viewer *v,
			  const char *more, double *share)
{
	const char *table = more ? NULL : query__sums_for(ix, f);
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	*share = NAN;
	query__add(&q, table ? "SELECT sum(s.held_core_s), sum(s.profiled_core_s) FROM "
			     : "SELECT sum(j.held_core_s), sum(CASE WHEN j.findings IS NULL "
			       "THEN 0.0 ELSE j.held_core_s END) FROM job j");
	query__add(&q, table ? table : "");
	query__add(&q, table ? " s" : "");
	if (table)
		query__where_sums(&q, table, f, v);
	else if (!err)
		err = query__where(&q, f, v);
	query__add(&q, more ? more : "");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r) && db_value__number(&r.v[0]) > 0)
		*share = 1 - db_value__number(&r.v[1]) / db_value__number(&r.v[0]);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}
