// SPDX-License-Identifier: GPL-2.0-only
/* What the job's programs have marked, and when. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/line.h"
#include "model/node.h"

/* More are counted only. */
#define MARKS_SHOWN 24

struct marks {
	const struct view *v;
	FILE *out;
};

static const char *name_of(const struct view *v, double number)
{
	char attr[32];

	snprintf(attr, sizeof(attr), "Mark %.0f", number);
	return node__str(v->n, attr);
}

static void add_mark(struct line *l, const struct view *v, double time, double number)
{
	const char *name = name_of(v, number);
	char text[64] = "";
	FILE *f = name ? fmemopen(text, sizeof(text), "w") : NULL;

	line__add(l, "%s s ", time, U_P2);
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

static void print_marks(const struct reader_series *s, const struct view_task *t, void *arg)
{
	const struct marks *m = arg;
	struct line l = {.out = m->out, .label = "marks"};
	const double *numbers = t->t ? table__column(t->t, "Mark") : NULL;
	double start = NAN, *times;
	uint64_t i;

	if (strcmp(s->name, "Marks") || !numbers)
		return;
	node__number(m->v->n, "Start TimeNS", &start);
	times = calc__times(t->t, start);
	for (i = 0; times && i < t->t->nrows && i < MARKS_SHOWN; i++)
		add_mark(&l, m->v, times[i], numbers[i]);
	if (i < t->t->nrows) {
		line__add(&l, "%s more", (double)(t->t->nrows - i), U_COUNT);
		line__end_part(&l);
	}
	line__end(&l);
	free(times);
}

void show__marks(const struct view *v, FILE *out)
{
	struct marks m = {.v = v, .out = out};

	view__each_other(v, print_marks, &m);
}
