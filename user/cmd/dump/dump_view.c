// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns slots into rows of steps and tasks, and their totals into values of columns. */
#include <bpf/btf.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/room.h"
#include "cmd/dump/dump.h"
#include "identity/identity.h"
#include "sample/sample.h"

/* ---- finds the job of a slot. Paths have names that users choose; they are shown and not used
 * otherwise */

/* A jobprof run may be anywhere, also inside a Slurm job: its own tree is the last on the path. */
static size_t run_begin(const char *path)
{
	const char *at = NULL;

	for (const char *p = path; (p = strstr(p, "/jobprof_")); p++)
		at = p;
	return at ? (size_t)(at - path) : 0;
}

static bool parse_path(const char *path, enum layout_family family, size_t from,
		       struct cgroup_ids *ids)
{
	const struct layout *rows[32];
	unsigned n = layout__rows(family, rows, 32);

	return !layout__parse_rows(rows, n, path, from, ids) && ids->has_step;
}

static const char *mount_of(uint32_t id)
{
	static struct hierarchy h[HIERARCHY_MAX];
	static int n = -1;

	if (n < 0)
		n = hierarchy__discover(h, HIERARCHY_MAX);
	for (int i = 0; i < n; i++)
		if (h[i].id == id)
			return h[i].mount;
	return NULL;
}

static bool set_from_title(const char *title, struct cgroup_ids *ids)
{
	char step[sizeof(ids->step_name)];
	uint32_t job;

	if (proc__stepd_title(title, &job, step, sizeof(step)))
		return false;
	ids->job_id = job;
	ids->has_job = true;
	return true;
}

/* Finds the job in the title of slurmstepd, as jobprofd does, since the path of a SLUID names none.
 * The kernel side keeps the title of a step whose begin it saw. */
static void find_title(const struct jp_slot *info, struct cgroup_ids *ids)
{
	const char *mount = mount_of(info->hier);
	char path[768], title[256];
	FILE *f;
	int pid;

	if (set_from_title(info->title, ids) || !mount)
		return;
	snprintf(path, sizeof(path), "%s%s/slurm/cgroup.procs", mount, info->path);
	f = fopen(path, "re");
	while (f && !ids->has_job && fscanf(f, "%d", &pid) == 1) {
		/* the read of a user's process's title may hang for ever */
		if (proc__is_stepd(pid) > 0 && proc__title(pid, title, sizeof(title)) >= 0)
			set_from_title(title, ids);
	}
	if (f)
		fclose(f);
}

/* The job and step of a slot, from its path and, where the path has no job, slurmstepd's title. */
static bool identify(const struct jp_slot *info, struct cgroup_ids *ids)
{
	if (!parse_path(info->path, LAYOUT_RUN, run_begin(info->path), ids) &&
	    !parse_path(info->path, LAYOUT_SLURM, 0, ids)) {
		memset(ids, 0, sizeof(*ids));
		ids->step_id = STEP_NONE;
		return false;
	}
	if (!ids->has_job)
		find_title(info, ids);
	return true;
}

struct dump_name dump__name(const struct dump_step *s)
{
	struct dump_name name;

	if (s->ids.has_job)
		snprintf(name.job, sizeof(name.job), "%u", s->ids.job_id);
	else
		snprintf(name.job, sizeof(name.job), "%s", s->ids.sluid[0] ? s->ids.sluid : "-");
	if (s->parsed)
		snprintf(name.step, sizeof(name.step), "%s", s->ids.step_name);
	else
		snprintf(name.step, sizeof(name.step), "slot %u", s->row.slot);
	return name;
}

/* ---- columns */

static bool from_maps(const struct column *c)
{
	return c->kind != COL_TIME && c->how != HOW_CGROUP && c->how != HOW_CGROUP_DELTA &&
	       c->how != HOW_BUCKET && c->how != HOW_GIVEN;
}

static void add_column(struct dump_columns *c, const struct column *col)
{
	if (c->n < DUMP_COLUMNS)
		c->col[c->n++] = col;
}

/* The events that are counted replace those of the schema. */
static void find_events(struct dump *d)
{
	const struct jp_control *c = kern__control(d->k);

	for (unsigned i = 0; i < c->npmu && i < JP_PMU_EVENTS; i++) {
		snprintf(d->event_names[i], sizeof(d->event_names[i]), "%.*s", JP_PMU_NAME_LEN,
			 c->pmu_name[i]);
		d->events[i] = series__event(d->event_names[i], i);
	}
}

static void find_columns(const struct dump *d, const char *series, struct dump_columns *c)
{
	const struct series *s = series__find(series);
	bool named = d->event_names[0][0], put = false;

	for (unsigned i = 0; i < s->ncols; i++) {
		if (from_maps(&s->cols[i]) && (s->cols[i].how != HOW_PMU || !named))
			add_column(c, &s->cols[i]);
		for (unsigned k = 0; s->cols[i].how == HOW_PMU && !put && k < JP_PMU_EVENTS; k++)
			if (d->event_names[k][0])
				add_column(c, &d->events[k]);
		put |= s->cols[i].how == HOW_PMU;
	}
}

int dump__column(const struct dump_columns *c, const char *name)
{
	for (unsigned i = 0; i < c->n; i++)
		if (!strcasecmp(c->col[i]->name, name))
			return (int)i;
	return -1;
}

const char *dump__state(const struct jp_slot *s)
{
	if (s->state == JP_SLOT_FREE)
		return "free";
	if (s->flags & JP_SLOT_F_DONE)
		return "done";
	if (s->state != JP_SLOT_ACTIVE)
		return "draining";
	return s->flags & JP_SLOT_F_EXITED ? "exited" : "active";
}

/* ---- rows */

static void begin_row(struct dump_row *r, const struct dump_columns *cols, uint32_t slot,
		      const struct jp_slot *info, uint64_t now)
{
	uint64_t end = info->end_ns ? info->end_ns : now;

	memset(r, 0, sizeof(*r));
	r->cols = cols;
	r->slot = slot;
	r->gen = info->gen;
	r->gtid = info->gtid;
	r->start_ns = info->start_ns;
	r->age = end > info->start_ns ? (double)(end - info->start_ns) / 1e9 : 0;
	r->state = dump__state(info);
	r->baseline = info->flags & JP_SLOT_F_BASE;
}

static struct dump_step *find_step(struct dump *d, uint32_t slot)
{
	struct dump_step *s;

	for (unsigned i = 0; i < d->nsteps; i++)
		if (d->steps[i].row.slot == slot)
			return &d->steps[i];
	if (room__grow(&d->steps, d->nsteps, 1, sizeof(*s)))
		return NULL;
	s = &d->steps[d->nsteps++];
	memset(s, 0, sizeof(*s));
	s->info = *kern__slot(d->k, slot);
	s->info.path[JP_PATH_LEN - 1] = '\0';
	begin_row(&s->row, &d->step_cols, slot, &s->info, d->boot_ns);
	s->row.gtid = JP_GTID_NONE;
	s->parsed = identify(&s->info, &s->ids);
	return s;
}

/* The task's row; a task may have had several slots. */
static struct dump_row *find_task(const struct dump *d, struct dump_step *s, uint32_t slot,
				  const struct jp_slot *info)
{
	struct dump_row *t;

	for (unsigned i = 0; i < s->ntasks; i++)
		if (s->tasks[i].gtid == info->gtid)
			return &s->tasks[i];
	if (room__grow(&s->tasks, s->ntasks, 1, sizeof(*t)))
		return NULL;
	t = &s->tasks[s->ntasks++];
	begin_row(t, &d->task_cols, slot, info, d->boot_ns);
	return t;
}

static int add_slot(struct dump *d, const struct snapshot *snap, uint32_t slot)
{
	const struct totals *t = snapshot__totals(snap, slot);
	struct jp_slot info = *kern__slot(d->k, slot);
	struct dump_step *s;
	struct dump_row *task;

	if (info.state == JP_SLOT_FREE)
		return 0;
	d->used++;
	if (info.step < JP_SLOT_FIRST || info.step >= kern__nslots(d->k))
		return 0; /* being given at this instant */
	s = find_step(d, info.step);
	if (!s)
		return -ENOMEM;
	totals__add(&s->row.totals, t);
	if (info.kind == JP_KIND_STEP)
		return 0;
	if (info.kind == JP_KIND_RANK && info.task < kern__nslots(d->k))
		info.gtid = kern__slot(d->k, info.task)->gtid;
	task = find_task(d, s, slot, &info);
	if (!task)
		return -ENOMEM;
	totals__add(&task->totals, t);
	return 0;
}

static double cell_value(const struct column *c, union cell cell)
{
	if (c->how == HOW_UNKNOWN || c->how == HOW_GPU)
		return NAN;
	return c->type == COL_U64 ? (double)cell.u : cell.f;
}

/* The cells are computed as those of a file's rows are, over the time since the slot began. */
static void fill_values(const struct dump *d, struct dump_row *r)
{
	struct reading from = {.boot_ns = r->start_ns}, to = {.boot_ns = d->boot_ns};
	struct row_context c = {.start_boot_ns = r->start_ns};
	struct between b = {0};
	union cell cells[DUMP_COLUMNS];

	to.totals = r->totals;
	rows__context(&c, kern__control(d->k));
	c.rested = kern__resting(d->k);
	rows__note(&b, &to.totals);
	c.peak = b.peak;
	rows__fill(&c, &from, &to, r->cols->col, r->cols->n, cells);
	for (unsigned i = 0; i < r->cols->n; i++)
		r->value[i] = cell_value(r->cols->col[i], cells[i]);
}

/* prev: the row's earlier self, or NULL where there was none. */
static void fill_rates(struct dump_row *r, const struct dump_row *prev, double seconds)
{
	for (unsigned i = 0; i < r->cols->n; i++) {
		double before = prev ? prev->value[i] : 0;

		if (r->cols->col[i]->kind != COL_DELTA || !(seconds > 0))
			r->rate[i] = NAN;
		else /* a slot that was read in the middle of a switch is right in the next round */
			r->rate[i] = r->value[i] > before ? (r->value[i] - before) / seconds
				     : isnan(r->value[i]) ? NAN
							  : 0;
	}
}

static const struct dump_row *same_task(const struct dump_step *s, const struct dump_row *t)
{
	for (unsigned i = 0; s && i < s->ntasks; i++)
		if (s->tasks[i].gtid == t->gtid)
			return &s->tasks[i];
	return NULL;
}

static const struct dump_step *same_step(const struct dump *d, const struct dump_step *s)
{
	for (unsigned i = 0; i < d->nsteps; i++)
		if (d->steps[i].row.slot == s->row.slot && d->steps[i].row.gen == s->row.gen)
			return &d->steps[i];
	return NULL;
}

static void add_rates(struct dump *d, const struct dump *prev)
{
	double seconds = (double)(d->boot_ns - prev->boot_ns) / 1e9;

	d->rates = true;
	fill_rates(&d->other, &prev->other, seconds);
	fill_rates(&d->self, &prev->self, seconds);
	for (unsigned i = 0; i < d->nsteps; i++) {
		struct dump_step *s = &d->steps[i];
		const struct dump_step *was = same_step(prev, s);

		fill_rates(&s->row, was ? &was->row : NULL, seconds);
		for (unsigned k = 0; k < s->ntasks; k++)
			fill_rates(&s->tasks[k], same_task(was, &s->tasks[k]), seconds);
	}
}

static int by_gtid(const void *a, const void *b)
{
	const struct dump_row *x = a, *y = b;

	return (x->gtid > y->gtid) - (x->gtid < y->gtid);
}

static int by_job(const void *a, const void *b)
{
	const struct dump_step *x = a, *y = b;

	if (x->ids.job_id != y->ids.job_id)
		return x->ids.job_id > y->ids.job_id ? 1 : -1;
	if (x->ids.step_id != y->ids.step_id)
		return x->ids.step_id > y->ids.step_id ? 1 : -1;
	return strcmp(x->info.path, y->info.path);
}

/* Slots 0 and 1 begin with the maps. */
static void fill_own(struct dump *d, const struct snapshot *snap, uint32_t slot, struct dump_row *r)
{
	const struct jp_slot *info = kern__slot(d->k, slot);

	begin_row(r, &d->task_cols, slot, info, d->boot_ns);
	r->start_ns = kern__control(d->k)->born_ns;
	r->age = (double)(d->boot_ns - r->start_ns) / 1e9;
	r->totals = *snapshot__totals(snap, slot);
	fill_values(d, r);
}

static int fill_dump(struct dump *d, const struct snapshot *snap)
{
	int err = 0;

	d->boot_ns = snapshot__boot_ns(snap);
	for (uint32_t i = JP_SLOT_FIRST; !err && i < kern__nslots(d->k); i++)
		err = add_slot(d, snap, i);
	for (unsigned i = 0; !err && i < d->nsteps; i++) {
		struct dump_step *s = &d->steps[i];

		fill_values(d, &s->row);
		for (unsigned k = 0; k < s->ntasks; k++)
			fill_values(d, &s->tasks[k]);
		qsort(s->tasks, s->ntasks, sizeof(*s->tasks), by_gtid);
	}
	qsort(d->steps, d->nsteps, sizeof(*d->steps), by_job);
	fill_own(d, snap, JP_SLOT_OTHER, &d->other);
	fill_own(d, snap, JP_SLOT_SELF, &d->self);
	return err;
}

/* Takes a fresh snapshot every time: its peaks are then those of all living processes, not only of
 * those whose memory rose. */
int dump__take(struct dump *d, struct kern *k, const struct dump *prev)
{
	struct snapshot *snap = snapshot__new(k);
	int err;

	memset(d, 0, sizeof(*d));
	d->k = k;
	find_events(d);
	find_columns(d, "Tasks", &d->task_cols);
	find_columns(d, "Step", &d->step_cols);
	if (!snap)
		return -ENOMEM;
	err = snapshot__take(snap);
	if (!err)
		err = fill_dump(d, snap);
	if (!err && prev)
		add_rates(d, prev);
	snapshot__free(snap);
	return err;
}

void dump__free(struct dump *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->nsteps; i++)
		free(d->steps[i].tasks);
	free(d->steps);
	btf__free(d->types);
	memset(d, 0, sizeof(*d));
}
