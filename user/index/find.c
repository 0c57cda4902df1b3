/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks a word up as each kind of name: each question is a step into an index of the database. */
#include "index/find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "identity/jobspec.h"

#define JOBS "job j"

static const struct kind {
	const char *what, *column, *from;
} kinds[] = {
	{"user", "j.\"user\"", JOBS},
	{"project", "j.account", JOBS},
	{"node", "n.node", "job_node n JOIN " JOBS " ON j.id = n.job"},
	{"name", "j.name", JOBS},
};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

struct search {
	struct index *ix;
	const struct viewer *viewer;
	const char *word;
	char end[FIND_BYTES + 8]; /* behind all names that begin with the word */
	find_take *take;
	void *arg;
	unsigned found;
};

static int tell(struct search *s, const char *what, const char *name, bool has_profile)
{
	const struct found f = {what, name, has_profile};

	s->found++;
	return s->take(s->arg, &f);
}

/* Asks for the first row of a statement whose rest was written by the caller. 1: there is one, and
 * *text is its first cell, or NULL; 0: none; -errno. */
static int first(struct search *s, struct query *q, char **text)
{
	struct db_rows r = {0};
	int err = query__ask(q, s->ix->db, &r), has = 0;

	*text = NULL;
	if (!err && db_rows__next(&r)) {
		has = 1;
		if (r.v[0].type == DB_TEXT && !(*text = strdup(r.v[0].text)))
			err = -ENOMEM;
	}
	err = db_rows__end(&r, err);
	return err ? err : has;
}

/* The first name of a kind for which the condition is true. As first(). */
static int name_where(struct search *s, const struct kind *k, const char *condition,
		      const char *value, char **name)
{
	struct job_filter all;
	struct query q;
	int err = query__init(&q);

	*name = NULL;
	job_filter__init(&all);
	q.of_nodes = *k->column == 'n';
	query__add(&q, "SELECT ");
	query__add(&q, k->column);
	query__add(&q, " FROM ");
	query__add(&q, k->from);
	err = err ? err : query__where(&q, &all, s->viewer);
	query__add(&q, " AND ");
	query__add(&q, k->column);
	query__add(&q, condition);
	query__arg(&q, db_value__text(value));
	query__add(&q, " AND ");
	query__add(&q, k->column);
	query__add(&q, " <= ? ORDER BY ");
	query__arg(&q, db_value__text(s->end));
	query__add(&q, k->column);
	query__add(&q, " LIMIT 1");
	err = err ? err : first(s, &q, name);
	query__free(&q);
	return err;
}

/* Whether the word is the number of a job or array. */
static int is_number(const char *word)
{
	struct jobspec *spec = NULL;
	char why[128];
	unsigned n = 0;
	const int err = jobspec__parse(&spec, &n, word, why, sizeof(why));

	free(spec);
	return err == -ENOMEM ? err : !err && n == 1 && !strchr(word, '.');
}

/* The job or array of that number, in a table. 0 or -errno. */
static int find_job_of(struct search *s, const char *what, const char *select)
{
	struct job_filter f;
	struct query q;
	char *file = NULL;
	int err = query__init(&q);

	job_filter__init(&f);
	f.jobs = s->word;
	query__add(&q, select);
	err = err ? err : query__where(&q, &f, s->viewer);
	query__add(&q, " HAVING count(*) > 0");
	err = err ? err : first(s, &q, &file);
	query__free(&q);
	if (err > 0)
		err = tell(s, what, s->word, file != NULL);
	free(file);
	return err;
}

/* Jobs that have ended, and those that run or wait. */
static int find_job(struct search *s)
{
	int err = is_number(s->word);

	if (err <= 0)
		return err;
	err = find_job_of(
		s, "job",
		"SELECT CASE WHEN min(j.job_id) = max(j.job_id) THEN max(j.file) END FROM job j");
	return err < 0 ? err
		       : find_job_of(s, "running",
				     "SELECT CASE WHEN count(*) = 1 THEN max(j.directory) END FROM "
				     "running j");
}

static int find_names(struct search *s)
{
	int err = 0;

	for (unsigned i = 0; err >= 0 && i < N_KINDS; i++) {
		char *name;

		err = name_where(s, &kinds[i], " = ?", s->word, &name);
		if (err > 0 && name)
			err = tell(s, kinds[i].what, name, false);
		free(name);
	}
	return err;
}

static int find_begins(struct search *s, const struct kind *k)
{
	char *last = strdup(s->word);
	int err = last ? 1 : -ENOMEM;

	for (unsigned i = 0; err > 0 && i < FIND_BEGIN; i++) {
		char *name;

		err = name_where(s, k, " > ?", last, &name);
		if (err <= 0 || !name)
			break;
		free(last);
		last = name;
		err = tell(s, k->what, name, false);
		err = err ? err : 1;
	}
	free(last);
	return err < 0 ? err : 0;
}

int find__each(struct index *ix, const char *word, const struct viewer *v, find_take *take,
	       void *arg)
{
	unsigned replaced;
	char *clean = utf8__clean(word, SIZE_MAX, &replaced);
	struct search s = {ix, v, clean, "", take, arg, 0};
	bool is_none;
	int err = 0;

	if (!clean)
		return -ENOMEM;
	if (strlen(clean) > FIND_BYTES) {
		free(clean);
		return -E2BIG;
	}
	/* the last character of Unicode */
	snprintf(s.end, sizeof(s.end), "%s\xf4\x8f\xbf\xbf", clean);
	if (*clean) {
		err = find_job(&s);
		err = err < 0 ? err : find_names(&s);
		is_none = !s.found;
		for (unsigned i = 0; err >= 0 && is_none && i < N_KINDS; i++)
			err = find_begins(&s, &kinds[i]);
	}
	free(clean);
	return err < 0 ? err : 0;
}
