// SPDX-License-Identifier: GPL-2.0-only
/* Rows of the node's tables in a step's journal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/node_internal.h"

/* Below those of guests, which count down from the last one. */
#define TABLE_FIRST (JOURNAL_TABLES_MAX - 1 - JOURNAL_SERIES_MAX)
#define TABLE_END   (TABLE_FIRST - 3000) /* those of tasks come from 0 upwards */

static bool grow(struct step_node *s)
{
	unsigned n = s->node->ntables;
	void *told, *ids, *series, *last;

	if (n <= s->ntold)
		return true;
	told = realloc(s->told, n * sizeof(*s->told));
	if (told)
		s->told = told;
	ids = realloc(s->table_id, n * sizeof(*s->table_id));
	if (ids)
		s->table_id = ids;
	series = realloc(s->series_id, n * sizeof(*s->series_id));
	if (series)
		s->series_id = series;
	last = realloc(s->last, n * sizeof(union cell *));
	if (last)
		s->last = last;
	if (!told || !ids || !series || !last)
		return false;
	for (unsigned i = s->ntold; i < n; i++) {
		s->last[i] = NULL;
		s->told[i] = TOLD_NO;
		s->table_id[i] = s->series_id[i] = UINT32_MAX;
	}
	s->ntold = n;
	return true;
}

/* What channels said before they were there is not known. */
static bool grow_past(struct step_node *s)
{
	const struct board_channel *c;
	unsigned n = board__channels(s->node->board, &c);
	struct node_past *more;

	if (n <= s->npast)
		return true;
	more = realloc(s->past, n * sizeof(*more));
	if (!more)
		return false;
	for (unsigned i = s->npast; i < n; i++)
		more[i] = (struct node_past){NAN, 0};
	s->past = more;
	s->npast = n;
	return true;
}

/* Tables of one series share its number in the journal. */
static uint32_t series_number(struct step_node *s, unsigned table)
{
	for (unsigned i = 0; i < s->ntold; i++)
		if (s->series_id[i] != UINT32_MAX &&
		    !strcmp(s->node->tables[i].series, s->node->tables[table].series))
			return s->series_id[i];
	return s->next_series < NODE_SERIES_END ? s->next_series++ : UINT32_MAX;
}

static bool tell(struct step *st, unsigned table)
{
	struct step_node *s = st->node;
	const struct node_table *t = &s->node->tables[table];
	const struct column *cols[MAX_COLUMNS];
	int err;

	if (s->table_id[table] == UINT32_MAX) {
		if (TABLE_FIRST - s->next_table <= TABLE_END)
			return false;
		s->series_id[table] = series_number(s, table);
		if (s->series_id[table] == UINT32_MAX)
			return false;
		s->table_id[table] = TABLE_FIRST - s->next_table++;
	}
	for (unsigned i = 0; i < t->ncols; i++)
		cols[i] = t->cols[i].col;
	err = journal__series(st->journal, (uint16_t)s->series_id[table], t->series, t->name[0],
			      cols, t->ncols);
	if (!err)
		err = journal__table(st->journal, s->table_id[table], (uint16_t)s->series_id[table],
				     t->name[0] ? t->name : t->series);
	if (!err)
		s->told[table] = TOLD_PENDING;
	return !err;
}

/* The sum over its channels, of what they counted since the last row or say now. */
static double read_column(const struct step_node *s, const struct node_column *c)
{
	const struct board_channel *ch;
	double sum = c->nchannels ? 0 : NAN;

	board__channels(s->node->board, &ch);
	for (unsigned i = 0; i < c->nchannels; i++) {
		const struct board_channel *now = &ch[c->channel[i]];
		const struct node_past *past = &s->past[c->channel[i]];

		if (c->col->kind != COL_DELTA)
			sum += now->value;
		else if (past->gaps == now->gaps && now->value >= past->value)
			sum += now->value - past->value;
		else
			sum = NAN;
	}
	return sum * c->col->scale;
}

static double read_energy(const struct step_node *s, int what)
{
	if (!s->any)
		return NAN;
	return what == NODE_POWER ? s->energy[what] / s->seconds : s->energy[what];
}

static uint64_t time_cell(enum col_how how, uint64_t start_ns, uint64_t time_ns)
{
	if (how == HOW_ELAPSED)
		return time_ns / NSEC_PER_SEC - start_ns / NSEC_PER_SEC;
	return how == HOW_EPOCH ? time_ns / NSEC_PER_SEC : time_ns;
}

static void put_row(struct step *st, unsigned table, uint64_t time_ns)
{
	struct step_node *s = st->node;
	const struct node_table *t = &s->node->tables[table];
	union cell cells[MAX_COLUMNS];

	for (unsigned i = 0; i < t->ncols; i++) {
		const struct column *c = t->cols[i].col;
		double v = NAN;

		if (c->kind == COL_TIME) {
			cells[i].u = time_cell(c->how, st->start_real_ns, time_ns);
			continue;
		}
		if (c->how == HOW_ENERGY)
			v = read_energy(s, c->arg);
		else if (c->how == HOW_SENSOR)
			v = read_column(s, &t->cols[i]);
		if (c->type == COL_F64)
			cells[i].f = v;
		else
			cells[i].u = v >= 0 && v < 1.8e19 ? (uint64_t)llround(v) : 0;
	}
	if (!journal__row(st->journal, s->table_id[table], cells, t->ncols))
		st->rows++;
	if (!s->last[table] && t->ncols)
		s->last[table] = malloc(t->ncols * sizeof(*cells));
	if (s->last[table])
		memcpy(s->last[table], cells, t->ncols * sizeof(*cells));
}

unsigned step_node__rows(struct step *st, const struct step_env *env, int kind)
{
	uint64_t now = snapshot__boot_ns(env->snap);
	uint64_t time_ns =
		st->start_real_ns + (now > st->start_boot_ns ? now - st->start_boot_ns : 0);
	struct step_node *s = st->node;
	unsigned rows = 0;

	if (!s || !grow(s) || !grow_past(s))
		return 0;
	for (unsigned i = 0; i < s->node->ntables; i++) {
		const struct node_table *t = &s->node->tables[i];

		if (t->kind != kind || !(t->family & st->families) ||
		    (s->told[i] == TOLD_NO && !tell(st, i)))
			continue;
		put_row(st, i, time_ns);
		rows++;
	}
	s->in_frame |= 1u << kind;
	return rows;
}

/* The next rows count from here. */
static void take_past(struct step_node *s, int kind)
{
	const struct board_channel *ch;

	board__channels(s->node->board, &ch);
	for (unsigned i = 0; i < s->node->ntables; i++) {
		const struct node_table *t = &s->node->tables[i];

		for (unsigned k = 0; t->kind == kind && k < t->ncols; k++)
			for (unsigned j = 0; j < t->cols[k].nchannels; j++) {
				unsigned c = t->cols[k].channel[j];

				s->past[c] = (struct node_past){ch[c].value, ch[c].gaps};
			}
	}
	if (kind != NODE_ENERGY_ROWS)
		return;
	memset(s->energy, 0, sizeof(s->energy));
	s->seconds = 0;
	s->any = false;
}

void step_node__settle_frame(struct step_node *s, bool kept)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->ntold; i++)
		if (s->told[i] == TOLD_PENDING)
			s->told[i] = kept ? TOLD_YES : TOLD_NO;
	for (int kind = SERIES_KINDS; kept && kind < ALL_KINDS; kind++)
		if (s->in_frame & 1u << kind)
			take_past(s, kind);
	s->in_frame = 0;
}

bool node_ids__series(struct node_ids *ids, uint32_t series_id)
{
	if (series_id < NODE_SERIES_FIRST || series_id >= NODE_SERIES_END)
		return false;
	if (series_id >= ids->next_series)
		ids->next_series = series_id + 1;
	return true;
}

void node_ids__table(struct node_ids *ids, uint32_t table_id)
{
	if (table_id <= TABLE_FIRST && table_id > TABLE_END &&
	    TABLE_FIRST - table_id >= ids->next_table)
		ids->next_table = TABLE_FIRST - table_id + 1;
}

void step_node__resume(struct step_node *s, const struct node_ids *ids)
{
	if (!s)
		return;
	if (ids->next_series > s->next_series)
		s->next_series = ids->next_series;
	s->next_table = ids->next_table;
	for (unsigned i = 0; i < s->npast; i++)
		s->past[i].value = NAN;
}

void step_node__put_attrs(struct step *st)
{
	const struct node *n = st->node ? st->node->node : NULL;
	double pkg, dram, other, lag, period;
	char text[512];

	if (!n || !n->energy || !(st->families & FAM_ENERGY) || !(n->families & FAM_ENERGY))
		return;
	node_energy__rule(n->energy, text, sizeof(text));
	journal__attr_str(st->journal, "Energy Rule", text);
	journal__attr_str(st->journal, "Energy Allocation",
			  st->node->held_by ? st->node->held_by : "not known");
	node_energy__idle(n->energy, &pkg, &dram, &other);
	if (pkg >= 0)
		journal__attr_f64(st->journal, "Idle Package Power", pkg);
	if (dram >= 0)
		journal__attr_f64(st->journal, "Idle DRAM Power", dram);
	if (other >= 0)
		journal__attr_f64(st->journal, "Idle Other Power", other);
	node_energy__lag(n->energy, &lag, &period);
	if (lag >= 0)
		journal__attr_f64(st->journal, "Node Sensor Lag", lag);
	if (period >= 0)
		journal__attr_f64(st->journal, "Node Sensor Period", period);
}

bool step_node__last(const struct step_node *s, unsigned *i, struct node_row *row)
{
	for (; s && *i < s->ntold; (*i)++) {
		const struct node_table *t = &s->node->tables[*i];

		if (!s->last[*i])
			continue;
		row->series = t->series;
		row->name = t->name;
		row->ncols = t->ncols;
		for (unsigned k = 0; k < t->ncols; k++)
			row->cols[k] = t->cols[k].col;
		row->cells = s->last[*i];
		(*i)++;
		return true;
	}
	return false;
}
