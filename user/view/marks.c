/* SPDX-License-Identifier: GPL-2.0-only */
/* The line on marks: names that the job's programs have set, with their times. */
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "view/line.h"
#include "view/page.h"

/* Marks beyond these are only counted. */
#define MARKS_SHOWN 24

static const char *mark_name(const struct model_node *n, double number)
{
	char attr[32];

	snprintf(attr, sizeof(attr), "Mark %.0f", number);
	return model_node__text(n, attr);
}

static void add_mark(struct line *l, const struct model_node *n, double time_s, double number)
{
	const char *name = mark_name(n, number);
	char text[64] = "";
	FILE *f = name ? fmemopen(text, sizeof(text), "w") : NULL;

	line__add(l, "%s s ", time_s, U_P2);
	if (f) {
		print__escaped(f, name);
		fclose(f);
		text[sizeof(text) - 1] = 0;
	} else {
		snprintf(text, sizeof(text), "%.0f", number);
	}
	line__text(l, text);
	line__end_part(l);
}

void page__print_marks(const struct page *p)
{
	const struct model_table *t = &p->node->marks;
	const double *numbers = model_table__column(t, "Mark");
	struct line l = {.out = p->out, .label = "marks"};
	uint64_t i;

	if (!numbers)
		return;
	for (i = 0; t->end_s && i < t->nrows && i < MARKS_SHOWN; i++)
		add_mark(&l, p->node, t->end_s[i], numbers[i]);
	if (i < t->nrows) {
		line__add(&l, "%s more", (double)(t->nrows - i), U_COUNT);
		line__end_part(&l);
	}
	line__end(&l);
}
