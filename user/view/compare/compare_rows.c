// SPDX-License-Identifier: GPL-2.0-only
/* Rows of a table on their way from the child to its parent. */
#include <string.h>

#include "view/compare/compare_besides.h"

struct numbers {
	double share[2], s[2];
};

void compare_rows__put(struct message *m, const char *name, const double share[2],
		       const double s[2])
{
	const struct numbers v = {{share[0], share[1]}, {s[0], s[1]}};

	message__put_text(m, name);
	message__put(m, &v, sizeof(v));
}

void compare_rows__take(struct compare_table *t, char **names, struct message *m)
{
	while (t->n < COMPARE_BESIDES_ROWS && m->at < m->len) {
		const char *name = message__take_text(m);
		const struct numbers *v = message__take(m, sizeof(*v));
		struct compare_row *row = &t->rows[t->n];

		if (!v)
			return;
		row->name = names[t->n] = strdup(name);
		if (!row->name)
			return;
		memcpy(row->share, v->share, sizeof(row->share));
		memcpy(row->s, v->s, sizeof(row->s));
		t->n++;
	}
}
