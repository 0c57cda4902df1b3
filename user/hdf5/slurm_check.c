/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds impossible values in a table of Slurm's own, and replaces them by NaN. */
#include "hdf5/slurm_check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_note.h"
#include "base/room.h"
#include "schema/describe.h"

#define DAY_S	86400.0
#define SLACK_S 2.0 /* times are whole seconds, of the row and of the one before */
/* Where neither is known: no machine has more. */
#define CPUS_MAX  8192.0
#define STEPS_MAX 4096u	      /* of a clock that is set back */
#define CLOCK_SET 1000000000u /* September 2001: earlier is a clock that was never set */
#define TINY	  1e-9	      /* below the least unit of each column: bits of something else */

/* MOST: at any time; LEVEL: so, and 0 is of rows in which no process lived; CPU_TIME: what each CPU
 * gives in a second; CPU_SHARE: in all of the row; ANY: there is none. */
enum most_of { MOST, LEVEL, PER_SECOND, CPU_TIME, CPU_SHARE, ANY };

/* The most that a column can hold. A name that begins with '*' is any that ends so. */
static const struct limit {
	const char *series, *column;
	enum most_of of;
	double most;
} limits[] = {
	{"Tasks", "CPUFrequency", LEVEL, 1e8}, /* kHz */
	{"Tasks", "CPUTime", CPU_TIME, 1},
	{"Tasks", "CPUUtilization", CPU_SHARE, 100},
	{"Tasks", "GPUMemMB", MOST, 1 << 24},
	{"Tasks", "GPUUtilization", MOST, 6400}, /* of 64 GPUs */
	{"Tasks", "RSS", LEVEL, 0x1p40},	 /* KiB; shared pages count often */
	{"Tasks", "VMSize", LEVEL, 0x1p47},	 /* KiB: 57 bits of address */
	{"Tasks", "Pages", MOST, 1e15},
	{"Tasks", "ReadMB", PER_SECOND, 1e7},
	{"Tasks", "WriteMB", PER_SECOND, 1e7},
	{"Energy", "*Power", MOST, 1e6}, /* W */
	{"Energy", "Energy", PER_SECOND, 1e6},
	{"Network", "InMB", PER_SECOND, 1e7},
	{"Network", "OutMB", PER_SECOND, 1e7},
	{"Network", "PacketsIn", PER_SECOND, 1e12},
	{"Network", "PacketsOut", PER_SECOND, 1e12},
	{"Filesystem", "ReadMB", PER_SECOND, 1e7},
	{"Filesystem", "WriteMB", PER_SECOND, 1e7},
	{"Filesystem", "Reads", PER_SECOND, 1e12},
	{"Filesystem", "Writes", PER_SECOND, 1e12},
};

/* In files of jobprof only what stands for no value is looked for. */
static const struct limit beside_jobprof = {.of = ANY};

/* A bit per row, NULL: none is set. */
struct slurm_column {
	const struct limit *limit; /* NULL: the column is not looked at */
	enum col_type stored;
	uint8_t *wrong;	 /* cannot be at all */
	uint8_t *beyond; /* cannot be on the CPUs that the step has */
	uint64_t nbeyond, npositive;
};

/* From that row on times are so many seconds later than they are stored. */
struct clock_step {
	uint64_t row, s;
};

static bool is_named(const char *pattern, const char *name)
{
	size_t n = strlen(name), tail = strlen(pattern) - 1;

	return *pattern == '*' ? n >= tail && !strcmp(name + n - tail, pattern + 1)
			       : !strcmp(pattern, name);
}

static const struct limit *find_limit(const char *series, const char *column)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (!strcmp(limits[i].series, series) && is_named(limits[i].column, column))
			return &limits[i];
	return NULL;
}

/* NO_VAL, INFINITE and their kin of slurm.h, of 32 and of 64 bits, also as a double. */
static bool is_no_value(union cell c, enum col_type type)
{
	if (type == COL_F64)
		return (c.f >= 0xfffffffd && c.f <= 0xffffffff) || c.f >= 0x1p64 - 0x1p12;
	return (c.u >= 0xfffffffd && c.u <= 0xffffffff) || c.u >= UINT64_MAX - 2;
}

static int set_bit(uint8_t **bits, uint64_t row, uint64_t nrows)
{
	if (!*bits)
		*bits = calloc(nrows / 8 + 1, 1);
	if (!*bits)
		return -ENOMEM;
	(*bits)[row / 8] |= (uint8_t)(1u << row % 8);
	return 0;
}

static bool has_bit(const uint8_t *bits, uint64_t row)
{
	return bits && (bits[row / 8] & 1u << row % 8);
}

/* The most of a column on so many CPUs in a row of s seconds, NaN: not known. */
static double most_of(const struct limit *l, double cpus, double s)
{
	double row = s > 0 ? s : NAN, long_s = isnan(row) ? DAY_S : row + SLACK_S;

	switch (l->of) {
	case MOST:
	case LEVEL:
		return l->most;
	case PER_SECOND:
		return l->most * long_s;
	case CPU_TIME:
		return l->most * cpus * long_s;
	default:
		return l->most * cpus * (isnan(row) ? 1 + SLACK_S : long_s / row);
	}
}

static int check_cell(struct slurm_column *col, union cell c, uint64_t row, uint64_t nrows,
		      double cpus, double s)
{
	const struct limit *l = col->limit;
	double v = cell__number(c, col->stored);

	if (isnan(v) || (l->of == ANY && !is_no_value(c, col->stored)))
		return 0;
	if (v < 0 || is_no_value(c, col->stored) || v > most_of(l, CPUS_MAX, s) ||
	    (v > 0 && v < TINY))
		return set_bit(&col->wrong, row, nrows);
	col->npositive += v > 0;
	if ((l->of != CPU_TIME && l->of != CPU_SHARE) || !(s > 0) || !(v > most_of(l, cpus, s)))
		return 0;
	col->nbeyond++;
	return set_bit(&col->beyond, row, nrows);
}

/* Where a task uses more than the CPUs of its step again and again, Slurm does not bind it to them,
 * and these values are true. */
static void judge_beyond(struct slurm_column *col, uint64_t nrows)
{
	if (!col->beyond || 2 * col->nbeyond > col->npositive)
		return;
	for (uint64_t row = 0; row < nrows; row++)
		if (has_bit(col->beyond, row) && set_bit(&col->wrong, row, nrows))
			return;
}

/* Returns by how much the row is later than it says. */
static uint64_t set_later(struct slurm_check *k, uint64_t row, uint64_t s)
{
	if (k->nsteps < STEPS_MAX && !room__grow(&k->steps, k->nsteps, 1, sizeof(*k->steps))) {
		k->steps[k->nsteps++] = (struct clock_step){row, s};
		k->times.later = s;
	}
	return k->times.later;
}

/* Seconds of the row; NaN: not known. */
static double next_time(struct slurm_check *k, const union cell *row)
{
	struct slurm_times *t = &k->times;
	const uint64_t stored = t->epoch < 0 ? 0 : row[t->epoch].u, before = t->last;
	uint64_t now = stored + t->later;

	if (t->epoch < 0 || stored < CLOCK_SET)
		return NAN;
	if (t->begun && t->later && stored >= before)
		now = set_later(k, k->row, 0) + stored; /* it is right again */
	if (t->begun && now < before)
		now = set_later(k, k->row, before - stored) + stored;
	t->last = now;
	if (t->begun)
		return now > before ? (double)(now - before) : NAN;
	t->begun = true;
	return t->elapsed < 0 || row[t->elapsed].u > UINT32_MAX ? NAN : (double)row[t->elapsed].u;
}

int slurm_check__look(struct slurm_check *k, const struct cursor *c, const union cell *rows,
		      unsigned n)
{
	int err = 0;

	for (unsigned i = 0; !err && i < n; i++, k->row++, rows += c->ncols) {
		double s = next_time(k, rows);

		for (unsigned col = 0; !err && col < c->ncols; col++)
			if (k->cols[col].limit)
				err = check_cell(&k->cols[col], rows[col], k->row, c->nrows,
						 k->cpus, s);
	}
	return err;
}

/* Tells the note: how many rows there are, and in which columns. */
static void tell_note(const struct slurm_check *k, const struct cursor *c)
{
	uint64_t rows = k->nsteps;

	for (uint64_t row = 0; row < c->nrows; row++) {
		bool any = false;

		for (unsigned i = 0; !any && i < k->ncols; i++)
			any = has_bit(k->cols[i].wrong, row);
		rows += any;
	}
	if (!rows || !read_note__doubt(rows))
		return;
	for (unsigned i = 0; i < k->ncols; i++)
		if (k->cols[i].wrong)
			read_note__doubt_column(c->cols[i].name);
	if (k->nsteps)
		read_note__doubt_column("EpochTime: the clock was set back");
}

static int time_column(const struct cursor *c, const char *name)
{
	for (unsigned i = 0; i < c->ncols; i++)
		if (!strcmp(c->cols[i].name, name))
			return c->cols[i].type == COL_U64 ? (int)i : -1;
	return -1;
}

int slurm_check__begin(struct slurm_check *k, const struct cursor *c, const char *series,
		       bool totals, double cpus)
{
	bool any = false;

	k->cols = calloc(c->ncols, sizeof(*k->cols));
	if (!k->cols)
		return -ENOMEM;
	k->ncols = c->ncols;
	k->cpus = cpus;
	k->row = 0;
	k->times = (struct slurm_times){.epoch = time_column(c, "EpochTime"),
					.elapsed = time_column(c, "ElapsedTime")};
	for (unsigned i = 0; i < c->ncols; i++) {
		const char *name =
			totals ? aggregate__column(c->cols[i].name, NULL) : c->cols[i].name;

		k->cols[i].limit = name && !c->cols[i].unknown ? find_limit(series, name) : NULL;
		k->cols[i].stored = c->cols[i].type;
		any |= k->cols[i].limit != NULL;
		if (k->cols[i].limit && k->beside)
			k->cols[i].limit = &beside_jobprof;
	}
	if (!any || k->beside) /* no table of Slurm's: its rows need not be in the order of time */
		k->times.epoch = -1;
	return 0;
}

void slurm_check__judge(struct slurm_check *k, struct cursor *c)
{
	k->on = k->nsteps > 0;
	for (unsigned i = 0; i < k->ncols; i++) {
		judge_beyond(&k->cols[i], c->nrows);
		k->on |= k->cols[i].wrong != NULL;
	}
	if (!k->on)
		return;
	tell_note(k, c);
	for (unsigned i = 0; i < k->ncols; i++)
		if (k->cols[i].wrong)
			c->cols[i].type = COL_F64;
	c->plain = false;
	c->shape++;
}

/* The last step of the clock before the row, or at it. */
static uint64_t later_at(const struct slurm_check *k, uint64_t row)
{
	uint64_t s = 0;

	for (unsigned i = 0; i < k->nsteps && k->steps[i].row <= row; i++)
		s = k->steps[i].s;
	return s;
}

static void mend_times(const struct slurm_check *k, uint64_t row, union cell *cells, unsigned n)
{
	const int at[] = {k->times.epoch, k->times.elapsed};

	for (unsigned i = 0; k->nsteps && i < n; i++, cells += k->ncols) {
		uint64_t later = later_at(k, row + i);

		for (int t = 0; t < 2; t++)
			if (at[t] >= 0)
				cells[at[t]].u += later;
	}
}

int slurm_check__mend(struct slurm_check *k, const struct cursor *c, uint64_t row,
		      const union cell **rows, unsigned n)
{
	if (room__make(&k->block, &k->room, (size_t)n * c->ncols, sizeof(*k->block)))
		return -ENOMEM;
	memcpy(k->block, *rows, (size_t)n * c->ncols * sizeof(*k->block));
	for (unsigned col = 0; col < c->ncols; col++)
		for (unsigned i = 0; k->cols[col].wrong && i < n; i++) {
			union cell *cell = &k->block[(size_t)i * c->ncols + col];

			if (has_bit(k->cols[col].wrong, row + i) ||
			    (k->cols[col].limit->of == LEVEL && !cell->u))
				cell->f = NAN;
			else
				cell->f = cell__number(*cell, k->cols[col].stored);
		}
	mend_times(k, row, k->block, n);
	*rows = k->block;
	return 0;
}

void slurm_check__end(struct slurm_check *k, struct cursor *c)
{
	for (unsigned i = 0; i < k->ncols; i++) {
		if (i < c->ncols)
			c->cols[i].type = k->cols[i].stored;
		free(k->cols[i].wrong);
		free(k->cols[i].beyond);
	}
	c->shape += k->on;
	free(k->cols);
	free(k->steps);
	k->cols = NULL;
	k->steps = NULL;
	k->ncols = k->nsteps = 0;
	k->on = false;
}

void slurm_check__free(struct slurm_check *k)
{
	free(k->block);
	*k = (struct slurm_check){0};
}
