/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts contacts and what became of them into a table. */
#include "cmd/jobprof/site_contact.h"

#include <string.h>

const struct site_column site_contact__columns[] = {
	{"at", "contacted", NULL, CELL_TIME, 0, 0},
	{"who", "by", NULL, CELL_TEXT, 2, 10},
	{"ticket", "ticket", NULL, CELL_TEXT, 1, 12},
	{"user", "user", NULL, CELL_TEXT, 0, 10},
	{"account", "project", NULL, CELL_TEXT, 7, 12},
	{"rule", "finding", NULL, CELL_TEXT, 0, 22},
	{"signature", "signature", NULL, CELL_HIDDEN, 0, 0},
	{"job", "job", NULL, CELL_HIDDEN, 0, 0},
	{"lost_before_core_s_week", "before core-h/week", NULL, CELL_HOURS, 4, 0},
	{"lost_after_core_s_week", "after", NULL, CELL_HOURS, 5, 0},
	{"expected_core_s_week", "expected", NULL, CELL_HIDDEN, 0, 0},
	{"saved_core_s_week", "saved", NULL, CELL_HOURS, 3, 0},
	{"runs_before", "runs before", NULL, CELL_HIDDEN, 0, 0},
	{"runs_after", "runs since", NULL, CELL_COUNT, 6, 0},
	{"weeks_before", "weeks before", NULL, CELL_HIDDEN, 0, 0},
	{"weeks_after", "weeks", NULL, CELL_NUMBER, 8, 0},
	{"verdict", "verdict", NULL, CELL_TEXT, 0, 0},
	{"text", "what was said", NULL, CELL_TEXT, 9, 40},
	{"name", "", NULL, CELL_TEXT, SITE_HIDDEN, 0},
	{"weeks", "", NULL, CELL_SERIES, SITE_HIDDEN, 0},
};
const unsigned site_contact__ncolumns =
	sizeof(site_contact__columns) / sizeof(*site_contact__columns);

int site_contact__add(struct site_table *t, const struct contact *c, const struct advice *a)
{
	char weeks[SITE_SERIES];
	const struct db_value row[] = {
		db_value__int((int64_t)c->at),
		db_value__text(c->who),
		db_value__text(c->ticket),
		db_value__text(c->user),
		db_value__text(c->account),
		db_value__text(c->rule),
		db_value__text(c->signature),
		c->job ? db_value__int(c->job) : (struct db_value){0},
		db_value__real(a->lost_before),
		db_value__real(a->lost_after),
		db_value__real(a->expected),
		db_value__real(a->saved),
		db_value__int((int64_t)a->runs_before),
		db_value__int((int64_t)a->runs_after),
		db_value__real(a->weeks_before),
		db_value__real(a->weeks_after),
		db_value__text(a->verdict),
		db_value__text(c->text),
		db_value__text(c->name),
		db_value__text(site_series__text(weeks, a->week_lost, CONTACT_WEEKS)),
	};

	return site_table__add(t, row);
}

/* Whether the word is in the list, which has commas; NULL: any is. */
static bool is_in(const char *list, const char *word)
{
	const size_t n = word ? strlen(word) : 0; /* of a contact that has none */

	if (!word)
		return !list;
	for (const char *p = list; p && *p; p += *p == ',') {
		const size_t len = strcspn(p, ",");

		if (len == n && !strncmp(p, word, n))
			return true;
		p += len;
	}
	return !list;
}

bool site_contact__is_of(const struct contact *c, const struct job_filter *f)
{
	return is_in(f->user, c->user) && is_in(f->account, c->account);
}
