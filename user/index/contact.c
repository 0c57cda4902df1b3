/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contacts, and whether the jobs that they were about got better. */
#include "index/contact.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/room.h"

#define WEEK_S	  (7 * 86400.0)
#define FEW_RUNS  5
#define HELPED	  -0.3	/* change of the loss */
#define NO_CHANGE -0.12 /* less than this is chance */
#define WORSE	  0.12

int contact__add(struct index *ix, const struct contact *c)
{
	const struct db_value args[] = {db_value__int((int64_t)c->at),
					db_value__text(c->who),
					db_value__text(c->user),
					db_value__text(c->account),
					db_value__text(c->rule),
					db_value__text(c->signature),
					c->job ? db_value__int(c->job) : (struct db_value){0},
					db_value__text(c->ticket),
					db_value__text(c->text)};

	return db__run(ix->db,
		       "INSERT INTO contact (at, who, \"user\", account, rule, signature, job, "
		       "ticket, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		       args, sizeof(args) / sizeof(*args));
}

/* ---- what jobs did in a time */

struct use {
	double runs, held_s, lost_s;
};

static int use_of(struct index *ix, const struct contact *c, double from, double to, struct use *u)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT count(*), sum(j.held_core_s), ");
	if (c->rule) {
		query__add(&q, "sum((SELECT sum(f.cost_core_s) FROM finding f WHERE f.job = j.id "
			       "AND f.rule = ?))");
		query__arg(&q, db_value__text(c->rule));
	} else {
		query__add(&q, "sum(j.lost_core_s)");
	}
	query__add(&q, " FROM job j WHERE j.findings IS NOT NULL AND j.start >= ? AND j.start < ?");
	query__arg(&q, db_value__int((int64_t)from));
	query__arg(&q, db_value__int((int64_t)to));
	if (c->user) {
		query__add(&q, " AND j.\"user\" = ?");
		query__arg(&q, db_value__text(c->user));
	}
	if (c->signature) {
		query__add(&q, " AND j.signature = ?");
		query__arg(&q, db_value__text(c->signature));
	}
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r)) {
		*u = (struct use){db_value__number(&r.v[0]), db_value__number(&r.v[1]),
				  db_value__number(&r.v[2])};
		if (isnan(u->lost_s) && u->runs > 0)
			u->lost_s = 0; /* the rule found nothing in them */
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	return err;
}

static void judge(struct advice *a, double now, double at)
{
	const double change = a->lost_after / a->expected - 1;

	a->has_helped = false;
	if (!(a->runs_before > 0))
		a->verdict = "nothing before";
	else if (!(a->runs_after > 0))
		a->verdict = now - at < WEEK_S ? "too early" : "did not run since";
	else if (a->runs_after < FEW_RUNS || now - at < WEEK_S)
		a->verdict = "too early";
	else if (isnan(change))
		a->verdict = "nothing was lost before";
	else if (change <= HELPED)
		a->verdict = "helped";
	else if (change <= NO_CHANGE)
		a->verdict = "helped a little";
	else
		a->verdict = change < WORSE ? "no change" : "worse";
	a->has_helped = !strncmp(a->verdict, "helped", 6);
}

static int advice_of(struct index *ix, const struct contact *c, struct advice *a)
{
	const double now = (double)time(NULL), to = fmin(now, c->at + CONTACT_AFTER_S);
	struct use before = {0, NAN, NAN}, after = {0, NAN, NAN};
	int err = use_of(ix, c, c->at - CONTACT_BEFORE_S, c->at, &before);

	if (!err)
		err = use_of(ix, c, c->at, to, &after);
	*a = (struct advice){
		.runs_before = before.runs,
		.runs_after = after.runs,
		.weeks_before = CONTACT_BEFORE_S / WEEK_S,
		.weeks_after = fmax(to - c->at, 86400) / WEEK_S,
	};
	a->lost_before = before.lost_s / a->weeks_before;
	a->lost_after = after.lost_s / a->weeks_after;
	a->expected = before.lost_s / before.held_s * after.held_s / a->weeks_after;
	a->saved = a->expected - a->lost_after;
	judge(a, now, c->at);
	return err;
}

/* ---- all contacts */

struct list {
	struct contact *v;
	unsigned n;
};

static const char *copy(struct string_list *l, const struct db_value *v)
{
	if (v->type != DB_TEXT || string_list__append(l, v->text))
		return NULL;
	return l->v[l->n - 1];
}

/* Reads them before others are asked about: *texts has what they point to. */
static int read_contacts(struct index *ix, double since, const struct viewer *v, struct list *l,
			 struct string_list *texts)
{
	struct db_rows r;
	const struct db_value from = db_value__int(isnan(since) ? 0 : (int64_t)since);
	int err = db__ask(&r, ix->db,
			  "SELECT id, at, who, \"user\", account, rule, signature, job, ticket, "
			  "text FROM contact WHERE at >= ? ORDER BY at DESC, id DESC",
			  &from, 1);

	while (!err && db_rows__next(&r)) {
		if (room__grow(&l->v, l->n, 1, sizeof(*l->v))) {
			err = -ENOMEM;
			break;
		}
		l->v[l->n] = (struct contact){
			.id = r.v[0].i,
			.at = db_value__number(&r.v[1]),
			.who = copy(texts, &r.v[2]),
			.user = copy(texts, &r.v[3]),
			.account = copy(texts, &r.v[4]),
			.rule = copy(texts, &r.v[5]),
			.signature = copy(texts, &r.v[6]),
			.job = r.v[7].type == DB_INT ? r.v[7].i : 0,
			.ticket = copy(texts, &r.v[8]),
			.text = copy(texts, &r.v[9]),
		};
		l->n += v->sees_all || (l->v[l->n].user && !strcmp(l->v[l->n].user, v->user));
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	return err;
}

int contact__each(struct index *ix, double since, const struct viewer *v, contact_take *take,
		  void *arg)
{
	struct string_list texts = {0};
	struct list l = {0};
	int err = read_contacts(ix, since, v, &l, &texts);

	for (unsigned i = 0; !err && i < l.n; i++) {
		struct advice a;

		err = advice_of(ix, &l.v[i], &a);
		if (!err)
			err = take(arg, &l.v[i], &a);
	}
	free(l.v);
	string_list__free(&texts);
	return err;
}
