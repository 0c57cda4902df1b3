/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a page: modes of families, losses, unknown columns, the cost of the collector. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/escape.h"
#include "base/str.h"
#include "view/page.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

void page__print_attr(const struct page *p, const struct model_attr *a)
{
	if (a->text)
		print__escaped(p->out, a->text);
	else if (a->is_integer)
		fprintf(p->out, "%lld", (long long)a->integer);
	else
		fprintf(p->out, "%g", a->number);
}

/* Prints names after a heading, broken into lines. */
struct name_lines {
	FILE *out;
	const char *heading;
	int column;
};

static void add_name(struct name_lines *l, const char *name)
{
	int len = strlen(name) + 2;

	if (!l->column)
		l->column = fprintf(l->out, "%s: ", l->heading);
	else if (l->column + len > PAGE_WIDTH)
		l->column = fprintf(l->out, ",\n  ") - 2;
	else
		fputs(", ", l->out);
	print__escaped(l->out, name);
	l->column += len;
}

static void end_names(const struct name_lines *l)
{
	if (l->column)
		putc('\n', l->out);
}

static bool is_mode(const struct model_attr *a)
{
	return !strncmp(a->name, "Mode ", 5) && a->text;
}

/* Families of these modes share a line; each of the others has a line with its reason. */
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

/* Prints a sentence from `column` on, broken between words. */
static void print_words(FILE *out, const char *s, int column)
{
	while (*s) {
		size_t len = strcspn(s, " ");
		char word[256];

		len = len ? len : 1; /* two blanks in a row */
		len = len < sizeof(word) ? len : sizeof(word) - 1;
		if (column + 1 + (int)len > PAGE_WIDTH && column > 2)
			column = fprintf(out, "\n ") - 1;
		snprintf(word, sizeof(word), "%.*s", (int)len, s);
		putc(' ', out);
		print__escaped(out, word);
		column += 1 + (int)len;
		s += len;
		s += *s == ' ';
	}
}

static void print_modes(const struct page *p)
{
	const struct model_node *n = p->node;

	for (size_t s = 0; s < N(shared); s++) {
		struct name_lines l = {.out = p->out, .heading = shared[s].heading};

		for (unsigned i = 0; i < n->nattrs; i++) {
			const struct model_attr *a = &n->attrs[i];

			if (is_mode(a) && !strcmp(a->text, shared[s].mode))
				add_name(&l, a->name + 5);
		}
		end_names(&l);
	}
	for (unsigned i = 0; i < n->nattrs; i++) {
		const struct model_attr *a = &n->attrs[i];

		if (!is_mode(a) || is_shared(a->text))
			continue;
		print__escaped(p->out, a->name);
		putc(':', p->out);
		print_words(p->out, a->text, (int)strlen(a->name) + 1);
		putc('\n', p->out);
	}
}

/* Counts of lost or unattributed amounts; those above 0 are printed. */
static const struct {
	const char *attr, *meaning;
} losses[] = {
	{"Lost", "rows left out for lack of room; the next ones count for them"},
	{"Unattributed", "tasks that found no slot: they count in the step alone"},
	{"Lost Ranks", "ranks that found no slot: they count in their task"},
	{"Lost Commands",
	 "programs that came later count as (other): the job has its share of names"},
	{"Unbooked Samples", "were not looked at in time: they count as kernel or unknown"},
	{"Lost Points", "samples are missing in SamplePoints"},
	{"Lost Regions", "begins and ends of regions are missing in Regions"},
	{"Late Samples", "on this node of steps that had ended: no table has them"},
	{"Uncounted Tasks",
	 "on this node since its programs were loaded: got no storage, of any step"},
	{"Uncounted Cgroups",
	 "on this node since its programs were loaded: did not fit the table, of any step"},
	{"Baseline", "what was before is in no table"},
	{"Missed CPU Time", "s, used before"},
	{"Lost Time", "s, in which counts were lost at a restart with other programs"},
	{"Lost Counts", "what was lost then"},
	{"Overhead", "columns are unknown in rows of the time in which they rested"},
	{"Lost CPU Time", "s, lost then"},
	{"Left Cgroup After", "s: a process went to a cgroup that is not followed"},
	{"Lost Bytes", "cut off the journal in a crash, or by another program"},
	{"Torn Rows", "at least, behind the place where the journal is damaged"},
	{"Unowned Requests", "on this node: disk requests nobody was seen to submit"},
	{"Other BlkWriteMB", "written meanwhile on this node by no step: delayed writes too"},
	{"Missed Switches", "on this node: the counters of those slices are by their run time"},
	{"Skipped Runs", "of our programs on this node since they were loaded: what these would "
			 "have counted is missing"},
	{"Untagged Sockets", "on this node: their retransmits are nobody's"},
	{"Unread Processes",
	 "of the step kept what they were asked: numbers of tasks may be missing"},
	{"Unseen Ends", "threads: what they used last, or at all, is missing"},
	{"Counter Failures", "readings of the hardware counters that failed on this node"},
	{"Lost Samples", "of the hardware counters on this node; made good by scaling"},
};

static void print_losses(const struct page *p)
{
	for (size_t i = 0; i < N(losses); i++) {
		const struct model_attr *a = model_node__attr(p->node, losses[i].attr);

		if (!a || a->number == 0)
			continue;
		fprintf(p->out, "%s: ", losses[i].attr);
		page__print_attr(p, a);
		fprintf(p->out, " (%s)\n", losses[i].meaning);
	}
}

/* Whether the column's family is off: the line of the family's mode gives the reason. */
static bool is_off(const struct model_node *n, const struct model_table *t, unsigned col)
{
	/* Slurm's columns of GPUs are in every table; the sensors of GPUs fill them */
	enum family f =
		str__starts(t->cols[col].name, "GPU") ? FAM_GPU : model_table__family(t, col);
	const char *mode = f ? model_node__mode(n, f) : NULL;

	return mode && !strncmp(mode, "off", 3);
}

/* Prints the columns without a known value: this node, or its kernel, does not measure them. */
static void print_unknown(const struct page *p)
{
	const struct model_node *n = p->node;
	const struct model_table *t =
		n->all.rows.ncols || !n->ntasks ? &n->all.rows : &n->tasks[0].rows;
	struct name_lines l = {.out = p->out, .heading = "Unknown Columns"};

	for (unsigned c = 0; c < t->ncols; c++)
		if (column_stats__is_unknown(t, c) && !is_off(n, t, c))
			add_name(&l, t->cols[c].name);
	end_names(&l);
}

/* Whether the page has a line on the series. */
static bool has_line(const char *series)
{
	static const char *const names[] = {"Marks", "Commands", "Ranks"};

	for (size_t i = 0; i < N(names); i++)
		if (!strcmp(names[i], series))
			return true;
	return false;
}

static void print_series(const struct page *p)
{
	struct name_lines l = {.out = p->out, .heading = "Other Series (see --all)"};

	for (unsigned i = 0; !p->all && i < p->node->nothers; i++)
		if (!has_line(p->node->others[i].name))
			add_name(&l, p->node->others[i].name);
	end_names(&l);
}

static void print_cost(const struct page *p)
{
	struct collector_cost cost = collector_cost__of(p->node);

	if (isnan(cost.probe_s))
		return;
	fprintf(p->out, "collector: %.6f s inside the tasks", cost.probe_s);
	if (!isnan(cost.percent))
		fprintf(p->out, ", %.3f %% of their CPU time", cost.percent);
	putc('\n', p->out);
}

void page__print_notes(const struct page *p)
{
	if (p->all)
		print_modes(p);
	print_losses(p);
	if (p->all)
		print_unknown(p);
	print_series(p);
	print_cost(p);
}
