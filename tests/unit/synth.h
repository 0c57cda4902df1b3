/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made-up step's journal whose every cell can be told again from (table, row, column). */
#ifndef JP_TESTS_SYNTH_H
#define JP_TESTS_SYNTH_H

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi/sched.h"
#include "journal/journal.h"
#include "schema/series.h"

#define SYNTH_START_NS 1795226680123456789LL /* 2026-11-21 */
#define SYNTH_COLS     128
#define SYNTH_FAMILIES (FAM_ALL | FAM_FILES | FAM_SAMPLE | FAM_STACK | FAM_BURST)

struct synth {
	const char *node;
	unsigned tasks;
	unsigned rows;
	int64_t start_ns;
	int restart; /* -1: no attribute */
	bool end;
};

static inline uint64_t synth_hash(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

/* Noise of 0..n-1 that is the same every time. */
static inline uint64_t synth_noise(unsigned table, unsigned row, unsigned col, unsigned n)
{
	return synth_hash(((uint64_t)table << 40) ^ ((uint64_t)row << 16) ^ col) % n;
}

static inline double synth_part(unsigned table, unsigned row, unsigned bucket)
{
	return bucket > 8 && bucket < 20 ? synth_noise(table, row, bucket, 20) / 2 : 0;
}

/*
 * What a noisy cpu-bound task would leave in its row: seconds in multiples of 2^-20 s, counters
 * that never repeat, memory that drifts.
 */
static inline union cell synth_cell(const struct column *c, unsigned table, unsigned row,
				    unsigned col)
{
	uint64_t elapsed_ns = (row + 1) * 1000000000ULL + synth_noise(0, row, 999, 200000);
	union cell v = {0};
	double f;

	if (!strcmp(c->name, "ElapsedTime"))
		v.u = elapsed_ns / 1000000000;
	else if (!strcmp(c->name, "EpochTime"))
		v.u = (SYNTH_START_NS + elapsed_ns) / 1000000000;
	else if (!strcmp(c->name, "TimeNS"))
		v.u = SYNTH_START_NS + elapsed_ns;
	else if (!strcmp(c->name, "GPUMemMB"))
		v.u = 0;
	else if (!strcmp(c->name, "GPUUtilization") || !strcmp(c->name, "MemLimitMB"))
		v.f = NAN;
	else if (!strcmp(c->name, "RSS") || !strcmp(c->name, "VMSize"))
		v.u = 200000 + 4 * (row / 3) + 4 * synth_noise(table, row, col, 60);
	else if (!strcmp(c->name, "CPUFrequency"))
		v.u = 2400000 + 1000 * synth_noise(table, row, col, 1200);
	else if (c->type == COL_U64)
		v.u = row / 50;
	else if (!strcmp(c->name, "ProbeTime"))
		v.f = floor(synth_noise(table, row, col, 1000) / 1e6 * 1048576) / 1048576;
	else if (!strcmp(c->unit, "s"))
		v.f = floor((0.9 + synth_noise(table, row, col, 100000) / 1e6) * 1048576) / 1048576;
	else if (!strcmp(c->unit, "%"))
		v.f = 99 + synth_noise(table, row, col, 1000000) / 1e6;
	else if (!strcmp(c->unit, "MB") && c->kind == COL_GAUGE)
		v.f = 190 + (row / 3 + synth_noise(table, row, col, 60)) / 256.0;
	else if (c->how == HOW_BUCKET && c->family == FAM_BLOCK && row % 4)
		v.f = 0; /* most intervals are without disk requests */
	else if (c->how == HOW_BUCKET && c->arg < JP_LAT_BUCKETS)
		v.f = c->arg > 8 && c->arg < 20 ? synth_noise(table, row, c->arg, 20) : 0;
	else if (c->how == HOW_BUCKET) /* the writes among the requests of that bucket */
		v.f = synth_part(table, row, c->arg - JP_LAT_BUCKETS);
	else if (c->how == HOW_PMU)
		v.f = 2e9 + synth_noise(table, row, col, 1u << 30);
	else if (c->how == HOW_PMU_RUNNING)
		v.f = 1;
	else if (!strcmp(c->unit, "MB"))
		v.f = row % 10 ? 0 : synth_noise(table, row, col, 1 << 22) / 1048576.0;
	else if (!strcmp(c->name, "VolSwitches") || !strcmp(c->name, "InvolSwitches") ||
		 !strcmp(c->name, "MinorFaults"))
		v.f = 100 + synth_noise(table, row, col, 400);
	else
		v.f = synth_noise(table, row, col, 100) < 3;
	/* A cell that was not known for once. */
	f = c->type == COL_F64 && row == 2 && !strcmp(c->name, "RunDelay") ? NAN : v.f;
	if (c->type == COL_F64)
		v.f = f;
	return v;
}

static inline void synth_fail(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "synth: %s: %s\n", what, strerror(-err));
	abort();
}

static inline unsigned synth_tables_of(const struct series *b, const struct synth *s)
{
	return b->grouped ? s->tasks : 1;
}

/* Table ids: 0..tasks-1 of Tasks, then those of the other series in their order. */
static inline unsigned synth_first_id(const char *series, const struct synth *s)
{
	unsigned id = 0;

	for (unsigned i = 0; i < n_builtin_series && strcmp(builtin_series[i].name, series); i++)
		id += synth_tables_of(&builtin_series[i], s);
	return id;
}

static inline unsigned synth_tables(const struct synth *s)
{
	return synth_first_id("", s);
}

/* Declared in frame 1. */
static inline void synth_declare(struct journal *j, const struct synth *s)
{
	uint32_t id = 0;

	synth_fail(journal__attr_str(j, "Node Name", s->node), "attr");
	journal__attr_i32(j, "Node Index", 1);
	journal__attr_i32(j, "Number of Tasks", s->tasks);
	journal__attr_i32(j, "CPUs per Task", 2);
	journal__attr_str(j, "Start Time", "Sat Nov 21 02:04:40 2026");
	journal__attr_i64(j, "Start TimeNS", s->start_ns);
	journal__attr_str(j, "Job Name", "");
	journal__attr_str(j, "Unknown Columns", "GPUMemMB,GPUUtilization");
	journal__attr_f64(j, "Memory Limit", 500);
	journal__attr_str(j, "Mode sched", "exact");
	journal__meta(j, "user", "nobody");
	if (s->restart >= 0)
		journal__attr_i32(j, "Restart Count", s->restart);
	for (unsigned i = 0; i < n_builtin_series; i++) {
		const struct column *cols[SYNTH_COLS];
		unsigned n = series__select(&builtin_series[i], SYNTH_FAMILIES, cols, SYNTH_COLS);
		char name[16];

		synth_fail(journal__series(j, i, builtin_series[i].name, builtin_series[i].grouped,
					   cols, n),
			   "series");
		for (unsigned t = 0; t < synth_tables_of(&builtin_series[i], s); t++) {
			snprintf(name, sizeof(name), "%u", t);
			synth_fail(journal__table(j, id++, i, name), "table");
		}
	}
	synth_fail(journal__commit(j), "commit");
}

static inline void synth_interval(struct journal *j, const struct synth *s, unsigned row)
{
	uint32_t id = 0;

	for (unsigned i = 0; i < n_builtin_series; i++) {
		const struct series *b = &builtin_series[i];

		for (unsigned t = 0; t < synth_tables_of(b, s); t++, id++) {
			union cell cells[SYNTH_COLS];

			for (unsigned c = 0; c < b->ncols; c++)
				cells[c] = synth_cell(&b->cols[c], id, row, c);
			synth_fail(journal__row(j, id, cells, b->ncols), "row");
		}
	}
	synth_fail(journal__commit(j), "commit");
}

static inline void synth_make(const char *path, const struct synth *s)
{
	struct journal *j = NULL;

	unlink(path);
	synth_fail(journal__create(&j, path), path);
	synth_declare(j, s);
	for (unsigned row = 0; row < s->rows; row++)
		synth_interval(j, s, row);
	if (s->end) {
		journal__attr_str(j, "End Reason", "exit");
		journal__attr_i32(j, "Exit Status", 0);
		journal__end(j);
		synth_fail(journal__commit(j), "commit");
	}
	journal__free(j);
}

#endif
