// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints steps and tasks as a table in text, and as JSON. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text_table.h"
#include "cmd/dump/dump.h"

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

int steps__choose(const struct dump *d, const char *list, char *bad, size_t badlen)
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

static void put_values(struct text_table *t, const struct dump_row *r, bool rate)
{
	for (unsigned i = 0; i < nshown; i++) {
		const struct column *c = shown[i].col;
		int at = dump__column(r->cols, c->name);
		const char *fmt = !strcmp(c->unit, "s") ? "%.3f"
				  : !*c->unit && !rate	? "%.0f"
							: "%.1f";

		if (rate && c->kind != COL_DELTA)
			text_table__cell(t, "%s", "");
		else
			text_table__number(t, fmt,
					   at < 0 ? NAN
						  : shown[i].scale *
							    (rate ? r->rate[at] : r->value[at]));
	}
}

static void put_headings(struct text_table *t, bool rate)
{
	static const char *const lead[] = {"job", "step", "task", "state", "age s"};

	for (size_t i = 0; i < sizeof(lead) / sizeof(lead[0]); i++)
		text_table__cell(t, "%s", lead[i]);
	for (unsigned i = 0; i < nshown; i++)
		text_table__cell(t, "%s",
				 rate && shown[i].col->kind != COL_DELTA ? "" : shown[i].heading);
}

static void put_row(struct text_table *t, const struct dump_name *name, const char *task,
		    const struct dump_row *r, bool rate)
{
	text_table__cell(t, "%s", name->job);
	text_table__cell(t, "%s", name->step);
	text_table__cell(t, "%s", task);
	text_table__cell(t, "%s", r->state);
	text_table__number(t, "%.1f", r->age);
	put_values(t, r, rate);
}

static void put_steps(const struct dump *d, FILE *out, bool rate)
{
	const struct dump_name no_step = {};
	struct text_table t = {.ncols = 5 + nshown, .nleft = 4};

	put_headings(&t, rate);
	for (unsigned i = 0; i < d->nsteps; i++) {
		const struct dump_step *s = &d->steps[i];
		const struct dump_name name = dump__name(s);
		char task[16];

		put_row(&t, &name, "all", &s->row, rate);
		for (unsigned k = 0; k < s->ntasks; k++) {
			snprintf(task, sizeof(task), "%d", s->tasks[k].gtid);
			put_row(&t, &name, s->tasks[k].gtid < 0 ? "?" : task, &s->tasks[k], rate);
		}
	}
	put_row(&t, &no_step, "unattributed", &d->other, rate);
	text_table__end(&t, out);
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

void steps__text(const struct dump *d, FILE *out)
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
}

/* Whole numbers as such, so that readers can compare them. */
static json_t *number_json(const struct column *c, double v)
{
	if (isfinite(v) && c->type == COL_U64 && v < 9e15)
		return json_integer((json_int_t)v);
	return json__number(v);
}

json_t *columns__json(const struct dump_row *r, bool rates)
{
	json_t *obj = json_object();

	for (unsigned i = 0; i < r->cols->n; i++) {
		const struct column *c = r->cols->col[i];

		if (!rates)
			json_object_set_new(obj, c->name, number_json(c, r->value[i]));
		else if (c->kind == COL_DELTA)
			json_object_set_new(obj, c->name, json__number(r->rate[i]));
	}
	return obj;
}

static json_t *row_json(const struct dump *d, const struct dump_row *r)
{
	json_t *obj = json_pack("{s:I, s:s, s:o, s:b}", "slot", (json_int_t)r->slot, "state",
				r->state, "age", json__number(r->age), "baseline", r->baseline);

	json_object_set_new(obj, "columns", columns__json(r, false));
	if (d->rates)
		json_object_set_new(obj, "rates", columns__json(r, true));
	return obj;
}

static json_t *tasks_json(const struct dump *d, const struct dump_step *s)
{
	json_t *obj = json_object();
	char key[16];

	for (unsigned i = 0; i < s->ntasks; i++) {
		snprintf(key, sizeof(key), "%d", s->tasks[i].gtid);
		json_object_set_new(obj, s->tasks[i].gtid < 0 ? "?" : key,
				    row_json(d, &s->tasks[i]));
	}
	return obj;
}

static json_t *step_json(const struct dump *d, const struct dump_step *s)
{
	json_t *obj = row_json(d, &s->row);

	json_object_set_new(obj, "job", s->ids.has_job ? json_integer(s->ids.job_id) : json_null());
	json_object_set_new(obj, "step", s->parsed ? json__text(s->ids.step_name) : json_null());
	if (s->ids.sluid[0])
		json_object_set_new(obj, "sluid", json__text(s->ids.sluid));
	json_object_set_new(obj, "path", json__text(s->info.path));
	json_object_set_new(obj, "tasks", tasks_json(d, s));
	return obj;
}

json_t *steps__json(const struct dump *d)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < d->nsteps; i++)
		json_array_append_new(all, step_json(d, &d->steps[i]));
	return all;
}
