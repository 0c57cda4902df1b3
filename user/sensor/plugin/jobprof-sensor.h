/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobprof-sensor.h: readings of a site's own in the profiles of all steps of a node.
 *
 * A shared object sensor_NAME.so that defines jobprof_sensor is a source of readings: jobprofd(8)
 * loads it, reads it at each interval, and writes a table of the columns that it declares into the
 * files of the steps. jobprof-sensor(7) explains the rest.
 *
 *	JOBPROF_SENSOR = {
 *		.abi = JOBPROF_SENSOR_ABI,
 *		.size = sizeof(struct jobprof_sensor),
 *		.name = "rack",
 *		...
 *	};
 */
#ifndef JOBPROF_SENSOR_H
#define JOBPROF_SENSOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every change to the declarations below, except for members that are added at the end
 * of struct jobprof_sensor: its size says which of them exist. */
#define JOBPROF_SENSOR_ABI 1

#define JOBPROF_SENSOR_NAME_MAX	   23 /* bytes, of a source: a-z, 0-9, "_", "-" */
#define JOBPROF_SENSOR_SERIES_MAX  31 /* A-Z, a-z, 0-9, "_" */
#define JOBPROF_SENSOR_COLUMN_MAX  24 /* the same */
#define JOBPROF_SENSOR_TABLE_MAX   22 /* those, "-", "." and ":" */
#define JOBPROF_SENSOR_UNIT_MAX	   11 /* printable ASCII */
#define JOBPROF_SENSOR_DOC_MAX	   159
#define JOBPROF_SENSOR_COLUMNS_MAX 64
#define JOBPROF_SENSOR_TABLES_MAX  64

enum jobprof_sensor_kind {
	JOBPROF_SENSOR_LEVEL = 0, /* a value at an instant; it is stored as it is */
	JOBPROF_SENSOR_COUNT = 1, /* counts up from anywhere; what came in an interval is stored */
};

enum jobprof_sensor_quality {
	JOBPROF_SENSOR_GOOD = 0,
	JOBPROF_SENSOR_GAP = 1,	     /* of a count: what came since the last reading is not known */
	JOBPROF_SENSOR_NONE = 2,     /* there is no value now */
	JOBPROF_SENSOR_DENIED = 3,   /* not permitted */
	JOBPROF_SENSOR_REPEATED = 4, /* the hardware has made no new one since the last reading */
};

struct jobprof_sensor_column {
	const char *name;
	const char *unit; /* "W", "C", "MB"; "": a plain number */
	const char *doc;  /* one sentence: what it is */
	uint32_t kind;	  /* enum jobprof_sensor_kind */
};

/* When a reading begins, all values are NaN, 0 and GOOD. */
struct jobprof_sensor_value {
	double value;	  /* NaN: none. A count that falls has begun again: that is a gap */
	uint64_t time_ns; /* CLOCK_BOOTTIME when it was measured; 0: now */
	uint32_t quality; /* enum jobprof_sensor_quality */
};

/* Where the kernel's trees are: "/sys", "/proc" and "/dev", or those of a recorded machine. */
struct jobprof_sensor_roots {
	const char *sys, *proc, *dev;
};

/* Reading takes longer than 100 us, or can hang: a thread of its own does it, once a second. */
#define JOBPROF_SENSOR_SLOW 1u

/*
 * All pointers must be good for as long as the object is loaded, and it stays loaded until the
 * program ends. Functions return 0, or a negative errno. One thread calls them, but not always the
 * same; a source that is slow may be opened again while an earlier call hangs.
 */
struct jobprof_sensor {
	uint32_t abi;	    /* JOBPROF_SENSOR_ABI */
	uint32_t size;	    /* sizeof(struct jobprof_sensor) */
	uint32_t flags;	    /* JOBPROF_SENSOR_SLOW or 0 */
	uint32_t ncolumns;  /* at least 1 */
	const char *name;   /* of the source */
	const char *doc;    /* one line: what it measures */
	const char *series; /* of the table in the files; none of jobprof's own */
	const struct jobprof_sensor_column *columns; /* [ncolumns] */
	/*
	 * Whether there is anything to open: -ENOENT: not on this node, which is no error; -EACCES:
	 * it may not be read. reason[len] gets one line: how it is read, or what is missing. Must
	 * not wait for anything, also if the source is slow. NULL: it is opened and closed to find
	 * out.
	 */
	int (*probe)(const struct jobprof_sensor_roots *roots, char *reason, size_t len);
	/* *state is handed to the others. As probe. The roots outlive it. */
	int (*open)(void **state, const struct jobprof_sensor_roots *roots);
	/* Names of the tables below the series, when there are several parts of one kind; how many.
	 * They stay the same until it is closed. NULL: there is one table, the series. */
	int (*tables)(void *state, const char *const **names);
	/* values[tables][ncolumns]. An error: there is not one value. */
	int (*read)(void *state, struct jobprof_sensor_value *values);
	void (*close)(void *state);
};

/* What the object must define. */
extern const struct jobprof_sensor jobprof_sensor;
#define JOBPROF_SENSOR \
	__attribute__((visibility("default"))) const struct jobprof_sensor jobprof_sensor

#ifdef __cplusplus
}
#endif

#endif
