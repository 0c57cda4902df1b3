/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the node's tables in the journal of a step. */
#include "daemon/node/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/node/node_internal.h"
#include "daemon/step/external_series.h"

/* ---- the readings of the node's sensors for one step */

/* When a step has begun, slow sources are read again 20, 60, 140 and 300 ms later. */
#define SETTLE_NS     (20 * NSEC_PER_MSEC)
#define SETTLE_MAX_NS (300 * NSEC_PER_MSEC)
/* A reading this old is as good as a new one for what begins now. */
#define FRESH_NS (50 * 1000 * 1000ull)

struct step_sensors *step_sensors__new(struct node *n, unsigned families, uint64_t now_ns)
{
	struct step_sensors *ss = n ? calloc(1, sizeof(*ss)) : NULL;
	const struct channel_state *c;
	unsigned made, asked;

	if (!ss)
		return NULL;
	ss->node = n;
	ss->next_series = SENSOR_SERIES_FIRST;
	made = n->wanted_version;
	asked = n->asked;
	node_read__want(n, n->asked | (families & FAM_SENSORS), NODE_SLOW_NS);
	if (now_ns > n->read_ns + FRESH_NS || n->wanted_version != made || n->asked != asked)
		node_read__sensors(n, now_ns, true);
	ss->npast = sensor_set__channels(n->sensors, &c);
	ss->past = calloc(ss->npast + 1, sizeof(*ss->past));
	for (unsigned i = 0; ss->past && i < ss->npast; i++)
		ss->past[i] = (struct channel_past){c[i].value, c[i].gaps};
	if (!ss->past) {
		free(ss);
		return NULL;
	}
	ss->settle_step_ns = SETTLE_NS;
	ss->settle_ns = now_ns + SETTLE_NS;
	return ss;
}

uint64_t step_sensors__settle_due(const struct step_sensors *ss)
{
	return ss ? ss->settle_ns : UINT64_MAX;
}

/* Takes the first values of the table's channels that were not known when the step began. True:
 * some are still not known. */
static bool settle_table(struct step_sensors *ss, const struct sensor_table *t,
			 const struct channel_state *c)
{
	bool open = false;

	for (unsigned k = 0; k < t->ncols; k++)
		for (unsigned j = 0; j < t->cols[k].nchannels; j++) {
			unsigned i = t->cols[k].channel[j];

			if (i >= ss->npast || !c[i].ops->slow || !isnan(ss->past[i].value))
				continue;
			ss->past[i] = (struct channel_past){c[i].value, c[i].gaps};
			open = open || isnan(c[i].value);
		}
	return open;
}

void step_sensors__settle(struct step_sensors *ss, unsigned families, uint64_t now_ns)
{
	struct node *n = ss->node;
	const struct channel_state *c;
	bool open = false;

	node_read__want(n, n->asked | (families & FAM_SENSORS), NODE_SLOW_NS);
	if (now_ns > n->read_ns + SETTLE_NS / 2)
		node_read__sensors(n, now_ns, false);
	sensor_set__channels(n->sensors, &c);
	for (unsigned i = 0; i < n->ntables; i++)
		if (n->tables[i].family & families)
			open |= settle_table(ss, &n->tables[i], c);
	ss->settle_step_ns *= 2;
	ss->settle_ns = open && ss->settle_step_ns < SETTLE_MAX_NS ? now_ns + ss->settle_step_ns
								   : UINT64_MAX;
}

void step_sensors__free(struct step_sensors *ss)
{
	if (!ss)
		return;
	for (unsigned i = 0; i < ss->ntables; i++)
		free(ss->last[i]);
	free(ss->last);
	free(ss->past);
	free(ss->declared);
	free(ss->table_id);
	free(ss->series_id);
	free(ss->cpu_ns);
	free(ss->run_s);
	free(ss->part);
	free(ss->pmu);
	free(ss->events);
	free(ss->held);
	free(ss->gpu);
	free(ss);
}

static bool grow_tables(struct step_sensors *ss)
{
	unsigned n = ss->node->ntables;
	void *declared, *ids, *series, *last;

	if (n <= ss->ntables)
		return true;
	declared = realloc(ss->declared, n * sizeof(*ss->declared));
	if (declared)
		ss->declared = declared;
	ids = realloc(ss->table_id, n * sizeof(*ss->table_id));
	if (ids)
		ss->table_id = ids;
	series = realloc(ss->series_id, n * sizeof(*ss->series_id));
	if (series)
		ss->series_id = series;
	last = realloc(ss->last, n * sizeof(union cell *));
	if (last)
		ss->last = last;
	if (!declared || !ids || !series || !last)
		return false;
	for (unsigned i = ss->ntables; i < n; i++) {
		ss->last[i] = NULL;
		ss->declared[i] = (struct journaled){};
		ss->table_id[i] = ss->series_id[i] = UINT32_MAX;
	}
	ss->ntables = n;
	return true;
}

/* The earlier values of new channels are not known. */
static bool grow_past(struct step_sensors *ss)
{
	const struct channel_state *c;
	unsigned n = sensor_set__channels(ss->node->sensors, &c);
	struct channel_past *more;

	if (n <= ss->npast)
		return true;
	more = realloc(ss->past, n * sizeof(*more));
	if (!more)
		return false;
	for (unsigned i = ss->npast; i < n; i++)
		more[i] = (struct channel_past){NAN, 0};
	ss->past = more;
	ss->npast = n;
	return true;
}

/* Tables of one series share its number in the journal. */
static uint32_t series_number(struct step_sensors *ss, unsigned table)
{
	for (unsigned i = 0; i < ss->ntables; i++)
		if (ss->series_id[i] != UINT32_MAX &&
		    !strcmp(ss->node->tables[i].series, ss->node->tables[table].series))
			return ss->series_id[i];
	return ss->next_series < SENSOR_SERIES_END ? ss->next_series++ : UINT32_MAX;
}

static bool declare_table(struct step *s, unsigned table)
{
	struct step_sensors *ss = s->sensors;
	const struct sensor_table *t = &ss->node->tables[table];
	const struct column *cols[MAX_COLUMNS];
	int err;

	if (ss->table_id[table] == UINT32_MAX) {
		if (SENSOR_TABLE_FIRST - ss->next_table <= SENSOR_TABLE_END)
			return false;
		ss->series_id[table] = series_number(ss, table);
		if (ss->series_id[table] == UINT32_MAX)
			return false;
		ss->table_id[table] = SENSOR_TABLE_FIRST - ss->next_table++;
	}
	for (unsigned i = 0; i < t->ncols; i++)
		cols[i] = t->cols[i].col;
	err = journal__series(s->journal, (uint16_t)ss->series_id[table], t->series, t->name[0],
			      cols, t->ncols);
	if (!err)
		err = journal__table(s->journal, ss->table_id[table],
				     (uint16_t)ss->series_id[table],
				     t->name[0] ? t->name : t->series);
	ss->declared[table].put = !err;
	return !err;
}

/* The sum over the column's channels: of their differences since the last row, or of their values
 * now. */
static double read_column(const struct step_sensors *ss, const struct sensor_column *c)
{
	const struct channel_state *ch;
	double sum = c->nchannels ? 0 : NAN;

	sensor_set__channels(ss->node->sensors, &ch);
	for (unsigned i = 0; i < c->nchannels; i++) {
		const struct channel_state *now = &ch[c->channel[i]];
		const struct channel_past *past = &ss->past[c->channel[i]];

		if (c->col->kind != COL_DELTA)
			sum += now->value;
		else if (past->gaps == now->gaps && now->value >= past->value)
			sum += now->value - past->value;
		else
			sum = NAN;
	}
	return sum * c->col->scale;
}

static double read_energy(const struct step_sensors *ss, int part)
{
	if (!ss->any)
		return NAN;
	return part == NODE_POWER ? ss->energy[part] / ss->seconds : ss->energy[part];
}

static uint64_t time_cell(enum col_how how, uint64_t start_ns, uint64_t time_ns)
{
	if (how == HOW_ELAPSED)
		return time_ns / NSEC_PER_SEC - start_ns / NSEC_PER_SEC;
	return how == HOW_EPOCH ? time_ns / NSEC_PER_SEC : time_ns;
}

/* The step's own part. */
static bool is_of_step(const struct column *c)
{
	return c->how == HOW_ENERGY && c->arg >= STEP_ENERGY && c->arg <= STEP_ENERGY_HIGH;
}

/* whole: include what is known about the node as a whole. */
static void put_row(struct step *s, unsigned table, bool whole, uint64_t time_ns)
{
	struct step_sensors *ss = s->sensors;
	const struct sensor_table *t = &ss->node->tables[table];
	union cell cells[MAX_COLUMNS];

	for (unsigned i = 0; i < t->ncols; i++) {
		const struct column *c = t->cols[i].col;
		double v = NAN;

		if (c->kind == COL_TIME) {
			cells[i].u = time_cell(c->how, s->start_real_ns, time_ns);
			continue;
		}
		if (!whole && c->how == HOW_ENERGY && !is_of_step(c))
			v = NAN;
		else if (c->how == HOW_ENERGY)
			v = read_energy(ss, c->arg);
		else if (c->how == HOW_SENSOR)
			v = read_column(ss, &t->cols[i]);
		if (c->type == COL_F64)
			cells[i].f = v;
		else
			cells[i].u = v >= 0 && v < 1.8e19 ? (uint64_t)llround(v) : 0;
	}
	if (!journal__row(s->journal, ss->table_id[table], cells, t->ncols))
		s->rows++;
	if (!ss->last[table] && t->ncols)
		ss->last[table] = malloc(t->ncols * sizeof(*cells));
	if (ss->last[table])
		memcpy(ss->last[table], cells, t->ncols * sizeof(*cells));
	if (t->kind == KIND_ENERGY)
		ss->last_energy_s = ss->any ? ss->seconds : NAN;
}

/* The next rows of the table count from here. */
static void reset_table(struct step_sensors *ss, const struct sensor_table *t)
{
	const struct channel_state *ch;

	sensor_set__channels(ss->node->sensors, &ch);
	for (unsigned k = 0; k < t->ncols; k++)
		for (unsigned j = 0; j < t->cols[k].nchannels; j++) {
			unsigned c = t->cols[k].channel[j];

			ss->past[c] = (struct channel_past){ch[c].value, ch[c].gaps};
		}
}

/* Without the whole node: a GPU that another job may have used so far counts from now on. */
static bool is_withheld(struct step *s, const struct step_env *env, const struct sensor_table *t)
{
	if (t->family == FAM_GPU && !node_gpus__is_jobs(s, env, t->name)) {
		reset_table(s->sensors, t);
		return true;
	}
	return t->family != FAM_GPU && t->family != FAM_ENERGY;
}

unsigned sensor_rows__put(struct step *s, const struct step_env *env, int kind, uint64_t now_ns)
{
	uint64_t time_ns =
		s->start_real_ns + (now_ns > s->start_boot_ns ? now_ns - s->start_boot_ns : 0);
	struct step_sensors *ss = s->sensors;
	bool whole = ss && node_tables__allowed(s, env);
	unsigned rows = 0;

	if (!ss || !grow_tables(ss) || !grow_past(ss))
		return 0;
	for (unsigned i = 0; i < ss->node->ntables; i++) {
		const struct sensor_table *t = &ss->node->tables[i];

		if (t->kind != kind || !(t->family & s->families) ||
		    (!whole && is_withheld(s, env, t)) ||
		    (!ss->declared[i].put && !declare_table(s, i)))
			continue;
		put_row(s, i, whole, time_ns);
		rows++;
	}
	if (rows) /* else the next ones, if there are any, count from the step's start */
		ss->in_frame |= 1u << kind;
	return rows;
}

/* The next rows count from here. */
static void reset_counts(struct step_sensors *ss, int kind)
{
	for (unsigned i = 0; i < ss->node->ntables; i++)
		if (ss->node->tables[i].kind == kind)
			reset_table(ss, &ss->node->tables[i]);
	if (kind != KIND_ENERGY)
		return;
	memset(ss->energy, 0, sizeof(ss->energy));
	ss->seconds = 0;
	ss->any = false;
}

void sensor_rows__end_frame(struct step_sensors *ss, enum frame_end end)
{
	if (!ss)
		return;
	for (unsigned i = 0; i < ss->ntables; i++)
		journaled__end_frame(&ss->declared[i], end);
	for (int kind = COUNTED_KINDS; end == FRAME_WRITTEN && kind < ALL_KINDS; kind++)
		if (ss->in_frame & 1u << kind)
			reset_counts(ss, kind);
	ss->in_frame = 0;
}

bool sensor_ids__series(struct sensor_ids *ids, uint32_t series_id)
{
	if (series_id < SENSOR_SERIES_FIRST || series_id >= SENSOR_SERIES_END)
		return false;
	if (series_id >= ids->next_series)
		ids->next_series = series_id + 1;
	return true;
}

void sensor_ids__table(struct sensor_ids *ids, uint32_t table_id)
{
	if (table_id <= SENSOR_TABLE_FIRST && table_id > SENSOR_TABLE_END &&
	    SENSOR_TABLE_FIRST - table_id >= ids->next_table)
		ids->next_table = SENSOR_TABLE_FIRST - table_id + 1;
}

void sensor_rows__resume(struct step_sensors *ss, const struct sensor_ids *ids)
{
	if (!ss)
		return;
	if (ids->next_series > ss->next_series)
		ss->next_series = ids->next_series;
	ss->next_table = ids->next_table;
	for (unsigned i = 0; i < ss->npast; i++)
		ss->past[i].value = NAN;
}

void sensor_rows__put_attrs(struct step *s)
{
	const struct node *n = s->sensors ? s->sensors->node : NULL;
	double pkg, dram, other, lag, period;
	char text[512];

	if (!n || !n->energy || !(s->families & FAM_ENERGY) || !(n->families & FAM_ENERGY))
		return;
	node_energy__rule(n->energy, text, sizeof(text));
	journal__attr_str(s->journal, "Energy Rule", text);
	journal__attr_str(s->journal, "Energy Allocation",
			  s->sensors->held_by ? s->sensors->held_by : "not known");
	node_energy__idle(n->energy, &pkg, &dram, &other);
	if (pkg >= 0)
		journal__attr_f64(s->journal, "Idle Package Power", pkg);
	if (dram >= 0)
		journal__attr_f64(s->journal, "Idle DRAM Power", dram);
	if (other >= 0)
		journal__attr_f64(s->journal, "Idle Other Power", other);
	node_energy__lag(n->energy, &lag, &period);
	if (lag >= 0)
		journal__attr_f64(s->journal, "Node Sensor Lag", lag);
	if (period >= 0)
		journal__attr_f64(s->journal, "Node Sensor Period", period);
}

bool sensor_rows__last(const struct step_sensors *ss, unsigned *i, struct sensor_row *row)
{
	for (; ss && *i < ss->ntables; (*i)++) {
		const struct sensor_table *t = &ss->node->tables[*i];

		if (!ss->last[*i])
			continue;
		row->series = t->series;
		row->name = t->name;
		row->ncols = t->ncols;
		for (unsigned k = 0; k < t->ncols; k++)
			row->cols[k] = t->cols[k].col;
		row->cells = ss->last[*i];
		row->seconds = t->kind == KIND_ENERGY ? ss->last_energy_s : NAN;
		(*i)++;
		return true;
	}
	return false;
}
