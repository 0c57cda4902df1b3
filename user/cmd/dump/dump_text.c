// SPDX-License-Identifier: GPL-2.0-only
/* Steps and tasks as a table in text. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/dump/dump.h"

char (*grid__row(struct grid *g))[GRID_CELL]
{
	size_t row = (size_t)g->ncols * GRID_CELL;
	char(*r)[GRID_CELL];

	if (g->nrows == g->max_rows) {
		unsigned max = g->max_rows ? 2 * g->max_rows : 32;
		void *p = realloc(g->cell, max * row);

		if (!p)
			return NULL;
		g->cell = p;
		g->max_rows = max;
	}
	r = &g->cell[(size_t)g->nrows++ * g->ncols];
	memset(r, 0, row);
	return r;
}

static int grid_width(const struct grid *g, unsigned col)
{
	int width = 0;

	for (unsigned r = 0; r < g->nrows; r++) {
		int len = (int)strlen(g->cell[(size_t)r * g->ncols + col]);

		width = len > width ? len : width;
	}
	return width;
}

void grid__print(const struct grid *g, FILE *out)
{
	int width[GRID_COLS] = {};

	for (unsigned c = 0; c < g->ncols; c++)
		width[c] = grid_width(g, c);
	for (unsigned r = 0; r < g->nrows; r++) {
		const char(*row)[GRID_CELL] = (const void *)&g->cell[(size_t)r * g->ncols];
		unsigned shown_cols = g->ncols, printed = 0;

		while (shown_cols && !row[shown_cols - 1][0])
			shown_cols--;
		for (unsigned c = 0; c < shown_cols; c++) {
			if (!width[c])
				continue; /* a column that no row fills */
			fprintf(out, "%s%*s", printed++ ? "  " : "",
				c >= g->nleft	     ? width[c]
				: c + 1 < shown_cols ? -width[c]
						     : 0,
				row[c]);
		}
		putc('\n', out);
	}
}

void grid__free(struct grid *g)
{
	free(g->cell);
	memset(g, 0, sizeof(*g));
}

/* The usual columns: how they are headed where the schema's name and unit do not suit a terminal,
 * and the families they want, or give way to. */
/* clang-format off */
static const struct {
	const char *name, *heading;
	double scale;
	unsigned with, without;
} usual[] = {
	{"CPUTime", "CPU s", 1, 0, 0},
	{"RunDelay", "delay s", 1, 0, 0},
	{"VolSwitches", "vol", 1, 0, 0},
	{"InvolSwitches", "invol", 1, 0, 0},
	{"Migrations", "migr", 1, 0, 0},
	{"RSS", "RSS MiB", 1.0 / 1024, 0, 0},
	{"ReadMB", "read MiB", 1, 0, 0},
	{"WriteMB", "write MiB", 1, 0, 0},
	{"DiskReadMB", "dread MiB", 1, 0, FAM_BLOCK},
	{"DiskWriteMB", "dwrite MiB", 1, 0, FAM_BLOCK},
	{"BlkReadMB", "blk rd", 1, FAM_BLOCK, 0},
	{"BlkWriteMB", "blk wr", 1, FAM_BLOCK, 0},
	{"NetRxMB", "net rx", 1, FAM_NETWORK, 0},
	{"NetTxMB", "net tx", 1, FAM_NETWORK, 0},
	{"Threads", "thr", 1, 0, 0},
};
/* clang-format on */
#define N_USUAL (sizeof(usual) / sizeof(usual[0]))

/* The columns shown. */
static struct {
	const struct column *col;
	const char *heading;
	double scale;
} shown[DUMP_COLUMNS];
static unsigned nshown;

static bool show_column(const struct dump *d, const char *name, const char *heading, double scale)
{
	int i = dump__column(&d->task_cols, name);

	if (i < 0 || nshown == DUMP_COLUMNS)
		return false;
	shown[nshown].col = d->task_cols.col[i];
	shown[nshown].heading = heading ? heading : d->task_cols.col[i]->name;
	shown[nshown++].scale = scale;
	return true;
}

static void choose_usual(const struct dump *d)
{
	unsigned loaded = kern__families(d->k);

	for (size_t i = 0; i < N_USUAL; i++)
		if ((!usual[i].with || (usual[i].with & loaded)) && !(usual[i].without & loaded))
			show_column(d, usual[i].name, usual[i].heading, usual[i].scale);
}

int text__choose(const struct dump *d, const char *list, char *bad, size_t badlen)
{
	nshown = 0;
	if (!list)
		choose_usual(d);
	while (list) {
		size_t len = strcspn(list, ",");

		snprintf(bad, badlen, "%.*s", (int)len, list);
		if (!show_column(d, bad, NULL, 1))
			return -EINVAL;
		list = list[len] ? list + len + 1 : NULL;
	}
	return 0;
}

static void put_number(char *cell, double v, const char *unit, bool rate)
{
	const char *fmt = !strcmp(unit, "s") ? "%.3f" : !*unit && !rate ? "%.0f" : "%.1f";

	if (isnan(v))
		snprintf(cell, GRID_CELL, "-");
	else
		snprintf(cell, GRID_CELL, fmt, v);
}

static void put_values(char (*cell)[GRID_CELL], const struct dump_row *r, bool rate)
{
	for (unsigned i = 0; i < nshown; i++) {
		int at = dump__column(r->cols, shown[i].col->name);
		double v = at < 0 ? NAN : rate ? r->rate[at] : r->value[at];

		if (rate && shown[i].col->kind != COL_DELTA)
			continue;
		put_number(cell[i], v * shown[i].scale, shown[i].col->unit, rate);
	}
}

enum { LEAD_JOB, LEAD_STEP, LEAD_TASK, LEAD_STATE, LEAD_AGE, N_LEAD };

static void put_headings(struct grid *g, bool rate)
{
	static const char *const lead[N_LEAD] = {"job", "step", "task", "state", "age s"};
	char(*row)[GRID_CELL] = grid__row(g);

	for (unsigned i = 0; row && i < N_LEAD; i++)
		snprintf(row[i], GRID_CELL, "%s", lead[i]);
	for (unsigned i = 0; row && i < nshown; i++)
		if (!rate || shown[i].col->kind == COL_DELTA)
			snprintf(row[N_LEAD + i], GRID_CELL, "%s", shown[i].heading);
}

static void name_step(const struct dump_step *s, char (*row)[GRID_CELL])
{
	if (s->ids.has_job)
		snprintf(row[LEAD_JOB], GRID_CELL, "%u", s->ids.job_id);
	else
		snprintf(row[LEAD_JOB], GRID_CELL, "%s", s->ids.sluid[0] ? s->ids.sluid : "-");
	if (s->parsed)
		snprintf(row[LEAD_STEP], GRID_CELL, "%s", s->ids.step_name);
	else
		snprintf(row[LEAD_STEP], GRID_CELL, "slot %u", s->row.slot);
}

/* The new row, or NULL. */
static char (*put_row(struct grid *g, const struct dump_row *r, const char *task,
		      bool rate))[GRID_CELL]
{
	char(*row)[GRID_CELL] = grid__row(g);

	if (!row)
		return NULL;
	snprintf(row[LEAD_TASK], GRID_CELL, "%s", task);
	snprintf(row[LEAD_STATE], GRID_CELL, "%s", r->state);
	snprintf(row[LEAD_AGE], GRID_CELL, "%.1f", r->age);
	put_values(row + N_LEAD, r, rate);
	return row;
}

static void put_step(struct grid *g, const struct dump_step *s, bool rate)
{
	char(*row)[GRID_CELL] = put_row(g, &s->row, "all", rate);
	char task[32];

	if (row)
		name_step(s, row);
	for (unsigned i = 0; i < s->ntasks; i++) {
		snprintf(task, sizeof(task), "%d", s->tasks[i].gtid);
		row = put_row(g, &s->tasks[i], s->tasks[i].gtid < 0 ? "?" : task, rate);
		if (row)
			name_step(s, row);
	}
}

static void put_steps(const struct dump *d, FILE *out, bool rate)
{
	struct grid g = {.ncols = N_LEAD + nshown, .nleft = LEAD_AGE};

	put_headings(&g, rate);
	for (unsigned i = 0; i < d->nsteps; i++)
		put_step(&g, &d->steps[i], rate);
	put_row(&g, &d->other, "unattributed", rate);
	grid__print(&g, out);
	grid__free(&g);
}

/* Steps that the built-in layouts do not name. */
static void put_paths(const struct dump *d, FILE *out)
{
	for (unsigned i = 0; i < d->nsteps; i++) {
		if (d->steps[i].parsed)
			continue;
		fprintf(out, "slot %u: ", d->steps[i].row.slot);
		print__escaped(out,
			       d->steps[i].info.path[0] ? d->steps[i].info.path : "path not known");
		putc('\n', out);
	}
}

void text__tables(const struct dump *d, FILE *out)
{
	const struct jp_control *c = kern__control(d->k);

	fprintf(out, "%u step%s, %u of %u slots in use, maps %.0f s old, programs %s\n", d->nsteps,
		d->nsteps == 1 ? "" : "s", d->used, kern__nslots(d->k) - JP_SLOT_FIRST,
		(double)(d->boot_ns - c->born_ns) / 1e9,
		kern__attached(d->k) ? "attached"
				     : "detached: nothing is counted until a job comes");
	put_steps(d, out, false);
	if (d->rates) {
		fprintf(out, "\nper second, since the last round\n");
		put_steps(d, out, true);
	}
	put_paths(d, out);
	raw__print_counters(d, out);
}
