/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of jobprof top on a node, from jobprofd's answer: jobs are the sums of their steps. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "client/steps.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/top/top_rows.h"

#define MIB 1048576.0

struct taking {
	struct top_rows *rows;
	unsigned job, step; /* those of the tables that come; TOP_NONE: before the first */
};

/* Columns of the tables, and what a row shows of them. */
static const struct {
	const char *column;
	double scale;
	enum top_value value;
	bool is_rate; /* over the interval of the row */
} columns[] = {
	{"CPUUtilization", 1, TOP_CPU, false},	    {"RunDelay", 100, TOP_WAIT, true},
	{"OffCPUDisk", 100, TOP_DISK, true},	    {"ReadMB", MIB, TOP_READ, true},
	{"WriteMB", MIB, TOP_WRITTEN, true},	    {"BlkReadMB", MIB, TOP_BLK_READ, true},
	{"BlkWriteMB", MIB, TOP_BLK_WRITTEN, true}, {"NetRxMB", MIB, TOP_NET_IN, true},
	{"NetTxMB", MIB, TOP_NET_OUT, true},	    {"RSS", 1024, TOP_MEMORY, false},
	{"MemMB", MIB, TOP_MEMORY, false}, /* behind RSS: where it is known it counts */
	{"MemLimitMB", MIB, TOP_LIMIT, false},	    {"GPUUtilization", 1, TOP_GPU, false},
	{"GPUMemMB", MIB, TOP_GPU_MEM, false},	    {"Threads", 1, TOP_THREADS, false},
	{"CPUTotal", 1, TOP_TIME, false},	    {"ElapsedTime", 1, TOP_ELAPSED, false},
};

/* The last row's; NaN: not known, or there is no such column. */
static double cell(const struct jobprof_table *t, const char *name)
{
	const union jobprof_cell *row = t->cells + (size_t)(t->nrows - 1) * t->ncols;

	for (unsigned i = 0; i < t->ncols; i++)
		if (!strcmp(t->columns[i].name, name))
			return t->columns[i].is_double ? row[i].d : (double)row[i].u;
	return NAN;
}

static void take_values(struct top_row *row, const struct jobprof_table *t)
{
	double interval = cell(t, "Interval");

	row->has_rows = true;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		double v = cell(t, columns[i].column) * columns[i].scale;

		if (columns[i].is_rate)
			v = interval > 0 ? v / interval : NAN;
		if (!isnan(v))
			row->v[columns[i].value] = v;
	}
}

static void take_energy(struct taking *a, const struct jobprof_table *t)
{
	double power = cell(t, "Power"), interval = cell(t, "Interval");

	if (power > 0) /* 0 is not known */
		a->rows->node_power = power;
	if (interval > 0)
		a->rows->v[a->step].v[TOP_POWER] = cell(t, "StepEnergy") / interval;
}

static void take_task(struct taking *a, const struct jobprof_table *t, const char *word,
		      const char *number)
{
	struct top_row *row = top_rows__add(a->rows, TOP_TASK, a->step);
	const struct top_row *step;
	uint32_t n;

	if (!row)
		return;
	step = &a->rows->v[a->step];
	snprintf(row->id, sizeof(row->id), "%s %.20s", word, number);
	snprintf(row->key, sizeof(row->key), "%.64s/%s%.20s", step->key,
		 *word == 'r' ? "rank " : "", number);
	memcpy(row->user, step->user, sizeof(row->user));
	if (!parse_u32(number, &n))
		row->v[TOP_ID] = n;
	take_values(row, t);
}

static void take_table(const struct jobprof_table *t, void *arg)
{
	struct taking *a = arg;

	if (a->step == TOP_NONE || !t->nrows)
		return;
	if (!strcmp(t->series, "Step"))
		take_values(&a->rows->v[a->step], t);
	else if (!strcmp(t->series, "Energy"))
		take_energy(a, t);
	else if (str__starts(t->series, "Tasks/"))
		take_task(a, t, "task", t->series + 6);
	else if (str__starts(t->series, "Ranks/"))
		take_task(a, t, "rank", t->series + 6);
}

static void name_user(struct top_row *row, const struct jpc_step *s)
{
	const struct passwd *p;

	if (s->user[0])
		snprintf(row->user, sizeof(row->user), "%s", s->user);
	else if (s->uid != JPC_UNKNOWN && (p = getpwuid(s->uid)))
		snprintf(row->user, sizeof(row->user), "%.63s", p->pw_name);
	else if (s->uid != JPC_UNKNOWN)
		snprintf(row->user, sizeof(row->user), "%u", s->uid);
}

/* The row of a job; its steps need not come one after the other. */
static unsigned job_of(struct top_rows *rows, const struct jpc_step *s)
{
	char key[32] = "?";
	struct top_row *row;

	if (s->job_id != JPC_UNKNOWN)
		snprintf(key, sizeof(key), "%" PRIu32, s->job_id);
	for (unsigned i = 0; i < rows->n; i++)
		if (rows->v[i].kind == TOP_JOB && !strcmp(rows->v[i].key, key))
			return i;
	row = top_rows__add(rows, TOP_JOB, TOP_NONE);
	if (!row)
		return TOP_NONE;
	memcpy(row->key, key, sizeof(key));
	memcpy(row->id, key, sizeof(key));
	row->v[TOP_ID] = s->job_id != JPC_UNKNOWN ? s->job_id : NAN;
	name_user(row, s);
	return rows->n - 1;
}

static void take_step(const struct jpc_step *s, void *arg)
{
	struct taking *a = arg;
	struct top_row *row, *job;
	uint32_t number;

	a->step = TOP_NONE;
	a->job = job_of(a->rows, s);
	row = a->job == TOP_NONE ? NULL : top_rows__add(a->rows, TOP_STEP, a->job);
	if (!row)
		return;
	a->step = a->rows->n - 1;
	job = &a->rows->v[a->job];
	if (!job->name[0])
		memcpy(job->name, s->job_name, sizeof(job->name));
	snprintf(row->id, sizeof(row->id), "%s", s->step_name);
	snprintf(row->key, sizeof(row->key), "%.31s.%.32s", job->key, s->step_name);
	name_user(row, s);
	if (s->node_tasks != JPC_UNKNOWN && s->ntasks != JPC_UNKNOWN && s->node_tasks < s->ntasks)
		snprintf(row->name, sizeof(row->name), "%u of %u tasks", s->node_tasks, s->ntasks);
	else if (s->node_tasks != JPC_UNKNOWN)
		snprintf(row->name, sizeof(row->name), "%u task%s", s->node_tasks,
			 s->node_tasks == 1 ? "" : "s");
	if (!parse_u32(s->step_name, &number))
		row->v[TOP_ID] = number;
}

/* A job is the sum of its steps, and not known where one of these is not; a step without a row has
 * just begun. */
static void add_up(struct top_rows *rows)
{
	for (unsigned i = 0; i < rows->n; i++) {
		const struct top_row *step = &rows->v[i];
		struct top_row *job;

		if (step->kind != TOP_STEP || !step->has_rows)
			continue;
		job = &rows->v[step->parent];
		for (unsigned k = 0; k < TOP_ID; k++) {
			if (k == TOP_ELAPSED || k == TOP_LIMIT)
				job->v[k] =
					job->has_rows ? fmax(job->v[k], step->v[k]) : step->v[k];
			else
				job->v[k] = job->has_rows ? job->v[k] + step->v[k] : step->v[k];
		}
		job->has_rows = true;
	}
}

int top_rows__ask(struct top_rows *r, uint32_t job, char *reason, unsigned size)
{
	struct taking a = {.rows = r, .job = TOP_NONE, .step = TOP_NONE};
	const struct steps_taker to = {.step = take_step, .table = take_table, .arg = &a};
	int err;

	top_rows__free(r);
	err = steps__ask(job, &to, CLIENT_CONN_TIMEOUT_MS, reason, size);
	if (err >= 0)
		add_up(r);
	return r->no_memory ? -ENOMEM : err < 0 ? err : 0;
}
