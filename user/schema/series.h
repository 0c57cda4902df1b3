/* SPDX-License-Identifier: GPL-2.0-only */
/* Series at run time: a name, a list of columns, rows of 8-byte cells. */
#ifndef JP_SCHEMA_SERIES_H
#define JP_SCHEMA_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/family.h"

/* COL_I64 is only in tables made by others. */
enum col_type { COL_U64, COL_F64, COL_I64 };
enum col_kind { COL_TIME, COL_GAUGE, COL_DELTA, COL_CUMULATIVE };

/* How a built-in column is computed from two totals (user/sample/rows.c). */
enum col_how {
	HOW_ELAPSED,	  /* whole seconds since the step's start */
	HOW_EPOCH,	  /* whole seconds of unix time */
	HOW_TIME_NS,	  /* unix time in ns: start wall clock + elapsed boot time */
	HOW_DELTA,	  /* counter over the interval x scale */
	HOW_SECONDS,	  /* ns counter over the interval, in s, multiples of 2^-20 */
	HOW_TOTAL,	  /* counter since the start x scale */
	HOW_GAUGE,	  /* gauge x scale */
	HOW_RSS,	  /* anon + file + shmem, KiB */
	HOW_PEAK,	  /* highest RSS seen in the interval, MB */
	HOW_UTIL,	  /* 100 x run time / interval */
	HOW_FREQ,	  /* run-time weighted CPU frequency */
	HOW_PROBE,	  /* probe runs over the interval x calibrated cost */
	HOW_CGROUP,	  /* cgroup file value, arg = enum cg_value: gauge as read */
	HOW_CGROUP_DELTA, /* the same, over the interval */
	HOW_BUCKET,	  /* histogram cell arg over the interval */
	HOW_PMU,	  /* event arg over the interval, scaled to the whole of it */
	HOW_PMU_RUNNING,  /* least part of the interval an event was on the hardware, 0..1 */
	HOW_UNKNOWN,	  /* no source on this node: NaN, or 0 and listed as unknown */
	HOW_GPU,	  /* gauge x scale, where there are GPUs */
	HOW_SENSOR,	  /* the channel of that name (sensor/core/sensor.h) x scale */
	HOW_ENERGY,	  /* energy, arg = enum energy_column (schema/energy_columns.h) */
	HOW_GIVEN,	  /* series declared at run time: the caller fills the cell */
};

struct column {
	const char *name;
	enum col_type type;
	unsigned array;	  /* so many columns from here on are one array in the file's row, named as
			   * they are without their number; 0: none begins here */
	const char *unit; /* "" for a plain number */
	enum col_kind kind;
	enum family family;
	enum col_how how;
	int arg; /* enum total, enum cg_value or bucket */
	double scale;
	const char *doc;   /* what it is, one sentence */
	const char *blind; /* what it does not see, "" if nothing */
};

struct series {
	const char *name; /* "Tasks", "Step", "Energy" ... */
	const char *doc;
	const struct column *cols;
	unsigned ncols;
	bool grouped; /* a group of tables: Tasks/<gtid>, Port/<name> */
	bool of_node; /* what sensors of the node say, not what the step's tasks did */
};

/* What tables of a series are called behind its name. */
static inline const char *series__tables(const struct series *s)
{
	return !s->grouped ? "" : s->of_node ? "/<name>" : "/<task>";
}

union cell {
	uint64_t u;
	int64_t i;
	double f;
};

static inline double cell__number(union cell c, enum col_type type)
{
	return type == COL_F64 ? c.f : type == COL_I64 ? (double)c.i : (double)c.u;
}

/* The built-in series, made from schemas/. */
extern const struct series builtin_series[];
extern const unsigned n_builtin_series;
const struct series *series__find(const char *name); /* case-insensitive; NULL: no such */

/* The column of that name in any built-in series, or NULL. */
const struct column *series__column(const char *name);

/* How a column of a series is computed; HOW_GIVEN where it is none of the built-in ones. */
enum col_how series__how(const char *series, const char *column);

/* Column of the i-th event that is counted; doc and blind are the caller's to fill. name must live
 * as long as the column. */
struct column series__event(const char *name, unsigned i);

/* The columns of s in the families of mask, in schema order; at most max pointers to out.
 * Returns how many; 0 when nothing but time columns would be left. */
unsigned series__select(const struct series *s, unsigned mask, const struct column **out,
			unsigned max);

#endif
