/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contacts, and whether the jobs that they were about improved. */
#include "index/contact.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/room.h"

#define WEEK_S	  (7 * 86400.0)
#define FEW_RUNS  5
#define HELPED	  -0.3	/* relative change of the loss */
#define NO_CHANGE -0.12 /* a smaller change may be chance */
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

static const char *copy(struct string_list *l, const struct db_value *v)
{
	if (v->type != DB_TEXT || string_list__append(l, v->text))
		return NULL;
	return l->v[l->n - 1];
}

/* What contact_of() reads. */
#define COLUMNS "id, at, who, \"user\", account, rule, signature, job, ticket, text"

static struct contact contact_of(const struct db_value *v, struct string_list *texts)
{
	return (struct contact){
		.id = v[0].i,
		.at = db_value__number(&v[1]),
		.who = copy(texts, &v[2]),
		.user = copy(texts, &v[3]),
		.account = copy(texts, &v[4]),
		.rule = copy(texts, &v[5]),
		.signature = copy(texts, &v[6]),
		.job = v[7].type == DB_INT ? v[7].i : 0,
		.ticket = copy(texts, &v[8]),
		.text = copy(texts, &v[9]),
	};
}

/* Adds " AND column = ?" if there is a text. */
static void add_equal(struct query *q, const char *sql, const char *text)
{
	if (!text)
		return;
	query__add(q, sql);
	query__arg(q, db_value__text(text));
}

static int find_noted(struct contact *found, struct index *ix, const char *word,
		      const struct contact *like, struct string_list *texts)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT " COLUMNS " FROM contact WHERE (job IS NULL AND (signature = ? OR "
		       "signature IS NULL AND \"user\" = ?)");
	query__arg(&q, db_value__text(word));
	query__arg(&q, db_value__text(word));
	if (like->job) {
		query__add(&q, " OR job = ?");
		query__arg(&q, db_value__int(like->job));
		add_equal(&q, " AND \"user\" = ?", like->user);
	}
	query__add(&q, ")");
	add_equal(&q, " AND rule = ?", like->rule);
	add_equal(&q, " AND ticket = ?", like->ticket);
	add_equal(&q, " AND text = ?", like->text);
	if (!isnan(like->at)) {
		query__add(&q, " AND at = ?");
		query__arg(&q, db_value__int((int64_t)like->at));
	}
	query__add(&q, " ORDER BY at DESC, id DESC LIMIT 1");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r))
		*found = contact_of(r.v, texts);
	else if (!err)
		err = r.err ? r.err : -ENOENT;
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

int contact__remove(struct contact *removed, struct index *ix, const char *word,
		    const struct contact *like, struct string_list *texts)
{
	struct db_value id;
	int err = find_noted(removed, ix, word, like, texts);

	if (err)
		return err;
	id = db_value__int(removed->id);
	return db__run(ix->db, "DELETE FROM contact WHERE id = ?", &id, 1);
}

/* ---- what jobs did in a time */

struct use {
	double runs, held_s, lost_s;
};

/* Adds " FROM job j WHERE ..." for the contact's jobs that were judged, began in that time, and may
 * be seen. */
static void add_jobs(struct query *q, const struct contact *c, const struct viewer *v, double from,
		     double to)
{
	query__add(q, " FROM job j WHERE j.findings IS NOT NULL AND j.start >= ? AND j.start < ?");
	query__arg(q, db_value__int((int64_t)from));
	query__arg(q, db_value__int((int64_t)to));
	add_equal(q, " AND j.\"user\" = ?", c->user);
	add_equal(q, " AND j.signature = ?", c->signature);
	query__add_rights(q, "j.\"user\"", "j.account", "j.cluster", v);
}

/* Adds what use_in() reads. */
static void add_use(struct query *q, const struct contact *c)
{
	query__add(q, "count(*), sum(j.held_core_s), ");
	if (!c->rule) {
		query__add(q, "sum(j.lost_core_s), 0");
		return;
	}
	query__add(q, "sum((SELECT sum(f.cost_core_s) FROM finding f WHERE f.job = j.id "
		      "AND f.rule = ?)), CAST(sum((SELECT count(*) FROM finding f WHERE "
		      "f.job = j.id AND f.rule = ?)) AS BIGINT)");
	query__arg(q, db_value__text(c->rule));
	query__arg(q, db_value__text(c->rule));
}

/* Findings whose cost nobody knows are no proof that nothing is lost. */
static struct use use_in(const struct db_value *v)
{
	struct use u = {db_value__number(&v[0]), db_value__number(&v[1]), db_value__number(&v[2])};

	if (isnan(u.lost_s) && u.runs > 0 && db_value__number(&v[3]) == 0)
		u.lost_s = 0;
	return u;
}

static int use_of(struct index *ix, const struct contact *c, const struct viewer *v, double from,
		  double to, struct use *u)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT ");
	add_use(&q, c);
	add_jobs(&q, c, v, from, to);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r))
		*u = use_in(r.v);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* Begin of the first job that was judged on the clusters of the contact's jobs: before it the index
 * knows nothing. *first is NaN if there are no such jobs. */
static int known_since(struct index *ix, const struct contact *c, const struct viewer *v,
		       double from, double *first)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	*first = NAN;
	query__add(&q, "SELECT k.start FROM job k WHERE k.findings IS NOT NULL AND k.cluster IN "
		       "(SELECT j.cluster");
	add_jobs(&q, c, v, from, c->at);
	query__add(&q, ") ORDER BY k.start LIMIT 1");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r))
		*first = db_value__number(&r.v[0]);
	err = db_rows__end(&r, err);
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
	else if (isnan(a->lost_before) || isnan(a->lost_after))
		a->verdict = "cost not known";
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

/* Sets what was lost in each week from `from` to `to`; before `first` (NaN: no jobs) the index
 * knows nothing. */
static int find_weeks(struct index *ix, const struct contact *c, const struct viewer *v,
		      double from, double to, double first, struct advice *a)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	for (int i = 0; i < CONTACT_WEEKS; i++) {
		const double begin = from + i * WEEK_S;

		a->week_lost[i] = begin + WEEK_S > first && begin < to ? 0 : NAN;
		if (isnan(first) && begin >= c->at && begin < to)
			a->week_lost[i] = 0;
	}
	query__add(&q, "SELECT ");
	add_use(&q, c);
	query__add(&q, ", (j.start - ?) / 604800");
	query__arg(&q, db_value__int((int64_t)from));
	add_jobs(&q, c, v, from, to);
	query__add(&q, " GROUP BY 5");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r))
		if (r.v[4].i >= 0 && r.v[4].i < CONTACT_WEEKS)
			a->week_lost[r.v[4].i] = use_in(r.v).lost_s;
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* Sets the name of the last job of the signature that may be seen. 0 or -errno. */
static int find_name(struct index *ix, struct contact *c, const struct viewer *v,
		     struct string_list *texts)
{
	struct db_rows r = {0};
	struct query q;
	int err;

	if (!c->signature)
		return 0;
	err = query__init(&q);
	query__add(&q, "SELECT j.name FROM job j WHERE j.signature = ?");
	query__arg(&q, db_value__text(c->signature));
	query__add_rights(&q, "j.\"user\"", "j.account", "j.cluster", v);
	query__add(&q, " ORDER BY j.start DESC LIMIT 1");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r))
		c->name = copy(texts, &r.v[0]);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

static int advice_of(struct index *ix, const struct contact *c, const struct viewer *v,
		     struct advice *a)
{
	const double now = (double)time(NULL), to = fmin(now, c->at + CONTACT_AFTER_S);
	const double from = c->at - CONTACT_BEFORE_S;
	struct use before = {0, NAN, NAN}, after = {0, NAN, NAN};
	double first = NAN;
	int err = use_of(ix, c, v, from, c->at, &before);

	if (!err && before.runs > 0)
		err = known_since(ix, c, v, from, &first);
	if (!err)
		err = use_of(ix, c, v, c->at, to, &after);
	*a = (struct advice){
		.runs_before = before.runs,
		.runs_after = after.runs,
		.weeks_before = fmax(c->at - fmax(from, first), 86400) / WEEK_S,
		.weeks_after = fmax(to - c->at, 86400) / WEEK_S,
	};
	a->lost_before = before.lost_s / a->weeks_before;
	a->lost_after = after.lost_s / a->weeks_after;
	a->expected = before.lost_s / before.held_s * after.held_s / a->weeks_after;
	a->saved = a->expected - a->lost_after;
	judge(a, now, c->at);
	return err ? err : find_weeks(ix, c, v, from, to, first, a);
}

void contact__add_up(struct advice_sum *s, const struct advice *a)
{
	const bool is_known = !isnan(a->saved);

	s->n++;
	s->helped += a->has_helped;
	s->known += is_known;
	s->saved += a->has_helped ? a->saved : 0;
	s->saved_by_all += is_known ? a->saved : 0;
}

/* ---- all contacts */

struct list {
	struct contact *v;
	unsigned n;
};

/* Reads the contacts before their jobs are asked for. *texts owns their texts. */
static int read_contacts(struct index *ix, double since, const struct viewer *v, struct list *l,
			 struct string_list *texts)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT " COLUMNS " FROM contact k WHERE at >= ?");
	query__arg(&q, db_value__int(isnan(since) ? 0 : (int64_t)since));
	query__add_rights(&q, "k.\"user\"", "k.account", "''", v);
	query__add(&q, " ORDER BY at DESC, id DESC");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		if (room__grow(&l->v, l->n, 1, sizeof(*l->v))) {
			err = -ENOMEM;
			break;
		}
		l->v[l->n++] = contact_of(r.v, texts);
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

int contact__last(struct contact *c, struct advice *a, struct index *ix, const struct viewer *v,
		  const struct contact *like, struct string_list *texts)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT " COLUMNS " FROM contact k WHERE \"user\" = ? AND (rule IS NULL OR "
		       "rule = ?) AND (signature IS NULL OR signature = ?)");
	query__arg(&q, db_value__text(like->user));
	query__arg(&q, db_value__text(like->rule));
	query__arg(&q, db_value__text(like->signature));
	query__add_rights(&q, "k.\"user\"", "k.account", "''", v);
	query__add(&q, " ORDER BY at DESC, id DESC LIMIT 1");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r))
		*c = contact_of(r.v, texts);
	else
		err = err ? err : r.err ? r.err : -ENOENT;
	err = db_rows__end(&r, err);
	query__free(&q);
	return err ? err : advice_of(ix, c, v, a);
}

int contact__each(struct index *ix, double since, const struct viewer *v, contact_take *take,
		  void *arg)
{
	struct string_list texts = {0};
	struct list l = {0};
	int err = read_contacts(ix, since, v, &l, &texts);

	for (unsigned i = 0; !err && i < l.n; i++) {
		struct advice a;

		err = find_name(ix, &l.v[i], v, &texts);
		if (!err)
			err = advice_of(ix, &l.v[i], v, &a);
		if (!err)
			err = take(arg, &l.v[i], &a);
	}
	free(l.v);
	string_list__free(&texts);
	return err;
}
