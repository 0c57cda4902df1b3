/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One column of a table: its name, type, unit, kind, and where its values come from. */
#ifndef JP_SCHEMA_COLUMN_H
#define JP_SCHEMA_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/family.h"

/* COL_I64 is only in tables of other programs. */
enum col_type { COL_U64, COL_F64, COL_I64 };
enum col_kind { COL_TIME, COL_GAUGE, COL_DELTA, COL_CUMULATIVE };

/* How a built-in column is computed from two totals (sample/rows.c). */
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
	HOW_RUNNING,	  /* gauge x scale, where threads live */
	HOW_KNOWN,	  /* gauge x scale, 0: not known */
	HOW_SINCE,	  /* boot time in ns, as s since the step's start */
	HOW_SENSOR,	  /* the channel of that name (sensor/core/sensor.h) x scale */
	HOW_ENERGY,	  /* energy, arg = enum energy_column */
	HOW_GIVEN,	  /* the caller fills the cell: a series declared at run time */
};

/* The source of a column's description. */
enum col_source {
	COL_UNDESCRIBED, /* neither schemas/ nor the table describe the column */
	COL_STORED,	 /* the attributes of its table */
	COL_BUILTIN,	 /* schemas/ */
};

struct column {
	const char *name;
	enum col_type type;
	unsigned array; /* number of columns, this one first, that are one array in the file's rows,
			   whose name is theirs without the number; 0: a column of its own */
	const char *unit; /* "" for a plain number */
	enum col_kind kind;
	enum family family;
	enum col_how how;
	int arg; /* argument of `how`: enum total unless `how` says otherwise (schema/quantities.h)
		  */
	double scale;
	const char *doc;   /* one sentence on what the column is */
	const char *blind; /* what the column leaves out, "" if nothing */
	enum col_source source;
};

/* A column of the time at the end of each row, for a series declared at run time. */
static inline struct column column__of_time(const char *name, enum col_how how, const char *unit)
{
	return (struct column){.name = name,
			       .type = COL_U64,
			       .unit = unit,
			       .kind = COL_TIME,
			       .family = FAM_BASE,
			       .how = how,
			       .scale = 1};
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

#endif
