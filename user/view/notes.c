/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of the page: what qualifies its numbers. */
#include <math.h>
#include <string.h>

#include "model/node.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

void show__attr(const struct reader_attr *a, FILE *out)
{
	if (a->type == ATTR_STR)
		print__escaped(out, a->str);
	else if (a->type == ATTR_F64)
		fprintf(out, "%g", a->f);
	else
		fprintf(out, "%lld", (long long)a->i);
}

/* Names after a heading, with line breaks where they are due. */
struct names {
	FILE *out;
	const char *heading;
	int column;
};

static void add_name(struct names *l, const char *name)
{
	int len = strlen(name) + 2;

	if (!l->column)
		l->column = fprintf(l->out, "%s: ", l->heading);
	else if (l->column + len > VIEW_WIDTH)
		l->column = fprintf(l->out, ",\n  ") - 2;
	else
		fputs(", ", l->out);
	print__escaped(l->out, name);
	l->column += len;
}

static void end_names(const struct names *l)
{
	if (l->column)
		putc('\n', l->out);
}

static bool is_mode(const struct reader_attr *a)
{
	return !strncmp(a->name, "Mode ", 5) && a->type == ATTR_STR;
}

/* Families of these modes share a line; each of the others says why it is as it is. */
static const struct {
	const char *mode, *heading;
} shared[] = {
	{"exact", "Mode exact"},
	{"off: not asked for", "Not asked for"},
};

static bool is_shared(const char *mode)
{
	for (size_t i = 0; i < N(shared); i++)
		if (!strcmp(mode, shared[i].mode))
			return true;
	return false;
}

/* A sentence from column on, broken between words. */
static void print_words(FILE *out, const char *s, int column)
{
	while (*s) {
		size_t len = strcspn(s, " ");
		char word[256];

		len = len ? len : 1; /* one blank after the other */
		len = len < sizeof(word) ? len : sizeof(word) - 1;
		if (column + 1 + (int)len > VIEW_WIDTH && column > 2)
			column = fprintf(out, "\n ") - 1;
		snprintf(word, sizeof(word), "%.*s", (int)len, s);
		putc(' ', out);
		print__escaped(out, word);
		column += 1 + (int)len;
		s += len;
		s += *s == ' ';
	}
}

static void print_modes(const struct view *v, FILE *out)
{
	for (size_t s = 0; s < N(shared); s++) {
		struct names l = {.out = out, .heading = shared[s].heading};

		for (unsigned i = 0; i < v->n->nattrs; i++) {
			const struct reader_attr *a = &v->n->attrs[i];

			if (is_mode(a) && !strcmp(a->str, shared[s].mode))
				add_name(&l, a->name + 5);
		}
		end_names(&l);
	}
	for (unsigned i = 0; i < v->n->nattrs; i++) {
		const struct reader_attr *a = &v->n->attrs[i];

		if (!is_mode(a) || is_shared(a->str))
			continue;
		print__escaped(out, a->name);
		putc(':', out);
		print_words(out, a->str, (int)strlen(a->name) + 1);
		putc('\n', out);
	}
}

/* What was lost or went to nobody; said where it is not 0. */
static const struct {
	const char *attr, *meaning;
} losses[] = {
	{"Lost", "rows left out for lack of room; the next ones count for them"},
	{"Unattributed", "steps, tasks or threads that found no slot on this node"},
	{"Baseline", "what was before is in no table"},
	{"Missed CPU Time", "s, used before"},
	{"Torn Rows", "at the journal's end"},
	{"Unowned Requests", "on this node: disk requests nobody was seen to submit"},
	{"Other BlkWriteMB", "written meanwhile on this node by no step: delayed writes too"},
	{"Missed Switches", "on this node: the counters of those slices are by their run time"},
	{"Untagged Sockets", "on this node: their retransmits are nobody's"},
	{"Unread Processes",
	 "of the step kept what they were asked: numbers of tasks may be missing"},
	{"Counter Failures", "readings of the hardware counters that failed on this node"},
	{"Lost Samples", "of the hardware counters on this node; made good by scaling"},
};

static void print_losses(const struct view *v, FILE *out)
{
	for (size_t i = 0; i < N(losses); i++) {
		const struct reader_attr *a = node__attr(v->n, losses[i].attr);

		if (!a || (a->type == ATTR_I64 && !a->i) || (a->type == ATTR_F64 && a->f == 0))
			continue;
		fprintf(out, "%s: ", losses[i].attr);
		show__attr(a, out);
		fprintf(out, " (%s)\n", losses[i].meaning);
	}
}

static bool all_unknown(const struct table *t, unsigned col)
{
	for (uint64_t r = 0; r < t->nrows; r++)
		if (!isnan(t->cells[col * t->nrows + r]))
			return false;
	return t->nrows > 0;
}

/* Its family is off: the family's mode has said why. */
static bool is_off(const struct view *v, const struct table *t, unsigned col)
{
	enum family f = view__family(t, col);
	const char *mode = f ? view__mode(v, f) : NULL;

	return mode && !strncmp(mode, "off", 3);
}

/* Columns without one known value: what this node, or its kernel, does not give. */
static void print_unknown(const struct view *v, FILE *out)
{
	const struct table *t = v->step.t ? v->step.t : v->ntasks ? v->tasks[0].t : NULL;
	struct names l = {.out = out, .heading = "Unknown Columns"};

	for (unsigned c = 0; t && c < t->ncols; c++)
		if (all_unknown(t, c) && !is_off(v, t, c))
			add_name(&l, t->names[c]);
	end_names(&l);
}

static void print_series(const struct view *v, FILE *out)
{
	struct names l = {.out = out, .heading = "Other Series (see --all)"};

	for (unsigned i = 0; !v->all && i < v->n->nseries; i++)
		if (view__is_other(&v->n->series[i]) && strcmp(v->n->series[i].name, "Marks"))
			add_name(&l, v->n->series[i].name);
	end_names(&l);
}

static void print_cost(const struct view *v, FILE *out)
{
	double probe = view__probe_s(v), cpu = 0;

	if (isnan(probe))
		return;
	for (unsigned i = 0; i < v->ntasks; i++) {
		double s = calc__sum(v->tasks[i].t, "CPUTime");

		cpu += isnan(s) ? 0 : s;
	}
	fprintf(out, "collector: %.6f s inside the tasks", probe);
	if (cpu > 0)
		fprintf(out, ", %.3f %% of their CPU time", 100 * probe / cpu);
	putc('\n', out);
}

void show__notes(const struct view *v, FILE *out)
{
	print_modes(v, out);
	print_losses(v, out);
	print_unknown(v, out);
	print_series(v, out);
	print_cost(v, out);
}
