/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables Marks of all parts: their rows have numbers, and attributes have the names of these.
 */
#include "model/job/job_marks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKS_MAX 1024 /* of a part, the first ones */

struct mark_row {
	double at_s, number;
};

static unsigned read_rows(struct cursor *c, const struct time_grid *g, struct mark_row *out)
{
	int number = cursor__column(c, "Mark"), at = cursor__column(c, "TimeNS");
	double unit = at >= 0 ? 1e9 : 1;
	const union cell *rows;
	unsigned n, found = 0;

	if (at < 0)
		at = cursor__column(c, "EpochTime");
	while (number >= 0 && at >= 0 && cursor__next(c, &rows, &n) > 0)
		for (unsigned i = 0; i < n && found < MARKS_MAX; i++) {
			const union cell *row = &rows[(size_t)i * c->ncols];
			double t = cell__number(row[at], c->cols[at].type);

			t = (t * (1e9 / unit) - g->t0_ns) / 1e9;
			if (t >= 0 && t <= g->end_s)
				out[found++] = (struct mark_row){
					t, cell__number(row[number], c->cols[number].type)};
		}
	return found;
}

int job_marks__put(const struct reader_node *n, struct cursor *c, const struct time_grid *g,
		   struct message *m)
{
	const struct reader_series *s = node__series(n, "Marks");
	bool is_there = s && !s->grouped;
	struct mark_row *rows = is_there ? calloc(MARKS_MAX, sizeof(*rows)) : NULL;
	int err = is_there && !rows ? -ENOMEM : is_there ? cursor__open(c, n, s, s->name) : 0;
	unsigned found = rows && !err ? read_rows(c, g, rows) : 0;

	message__put(m, &found, sizeof(found));
	for (unsigned i = 0; i < found; i++)
		message__put(m, &rows[i], sizeof(rows[i]));
	free(rows);
	return err == -ENOMEM ? err : 0;
}

/* NULL: not known. */
static const char *name_of(const struct job_part *p, double number)
{
	char attr[32];

	snprintf(attr, sizeof(attr), "Mark %.0f", number);
	for (unsigned i = 0; i < p->nattrs; i++)
		if (!strcmp(p->attrs[i].name, attr))
			return p->attrs[i].text;
	return NULL;
}

int job_marks__take(struct model_job *j, unsigned part, struct message *m)
{
	const unsigned *n = message__take(m, sizeof(*n));
	unsigned count = n && *n <= MARKS_MAX ? *n : 0;
	struct job_mark *more;

	if (!n || *n > MARKS_MAX)
		return -EBADMSG;
	more = realloc(j->marks, (j->nmarks + count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	j->marks = more;
	for (unsigned i = 0; i < count; i++) {
		const struct mark_row *row = message__take(m, sizeof(*row));

		if (!row)
			return -EBADMSG;
		more[j->nmarks++] = (struct job_mark){row->at_s, row->number,
						      name_of(&j->parts[part], row->number), part};
	}
	return 0;
}
