/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines on the programs of a step, and on the ranks of MPI launchers in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "view/line.h"
#include "view/page.h"

#define PARTS_MAX      4096 /* tables that are looked at */
#define COMMANDS_SHOWN 8
#define SHOWN_S	       0.0005 /* less is 0 on the page */

/* What one table of a series comes to. */
struct part {
	const char *name;
	double cpu_s, processes;
};

struct parts {
	struct part *v;
	unsigned n;
};

static const struct model_series *find_series(const struct model_node *n, const char *name)
{
	for (unsigned i = 0; i < n->nothers; i++)
		if (n->others[i].grouped && !strcmp(n->others[i].name, name))
			return &n->others[i];
	return NULL;
}

/* Tables without a known CPU time are left out. */
static struct parts read_parts(const struct model_node *n, const char *series)
{
	const struct model_series *s = find_series(n, series);
	const unsigned ntables = !s ? 0 : s->ntables < PARTS_MAX ? s->ntables : PARTS_MAX;
	struct parts p = {.v = calloc(ntables + 1, sizeof(*p.v))};

	for (unsigned i = 0; p.v && i < ntables; i++) {
		struct model_table t;

		model_node__read_other(n, s, i, &t);
		p.v[p.n].name = t.name;
		p.v[p.n].cpu_s = column_stats__sum(&t, "CPUTime");
		p.v[p.n].processes = column_stats__sum(&t, "Processes");
		p.n += t.name && !isnan(p.v[p.n].cpu_s);
		model_table__free(&t);
	}
	return p;
}

static int by_cpu(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->cpu_s < y->cpu_s) - (x->cpu_s > y->cpu_s);
}

void page__print_commands(const struct page *p)
{
	struct parts parts = read_parts(p->node, "Commands");
	struct line l = {.out = p->out, .label = "commands"};
	unsigned more = 0;
	double rest = 0;

	if (parts.n)
		qsort(parts.v, parts.n, sizeof(*parts.v), by_cpu);
	for (unsigned i = 0; i < parts.n; i++) {
		const struct part *c = &parts.v[i];

		if (i >= COMMANDS_SHOWN || (i && c->cpu_s < SHOWN_S)) {
			rest += c->cpu_s;
			more++;
			continue;
		}
		line__text(&l, c->name);
		line__add(&l, " %s s", c->cpu_s, U_P3);
		if (!isnan(c->processes))
			line__add(&l, " (%s)", c->processes, U_COUNT);
		line__end_part(&l);
	}
	if (more) {
		line__add(&l, "%s more", more, U_COUNT);
		line__add(&l, " %s s", rest, U_P3);
	}
	line__end(&l);
	free(parts.v);
}

void page__print_ranks(const struct page *p)
{
	struct parts parts = read_parts(p->node, "Ranks");
	struct line l = {.out = p->out, .label = "ranks"};

	if (parts.n) {
		qsort(parts.v, parts.n, sizeof(*parts.v), by_cpu);
		line__add(&l, "%s", parts.n, U_COUNT);
		line__add(&l, ": CPU time %s s", parts.v[parts.n - 1].cpu_s, U_P3);
		line__text(&l, " (rank ");
		line__text(&l, parts.v[parts.n - 1].name);
		line__add(&l, ") to %s s", parts.v[0].cpu_s, U_P3);
		line__text(&l, " (rank ");
		line__text(&l, parts.v[0].name);
		line__text(&l, ")");
	}
	line__end(&l);
	free(parts.v);
}
