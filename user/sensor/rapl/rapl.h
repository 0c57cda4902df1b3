/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Energy counters of Intel's and AMD's processors (Running Average Power Limit), and the ways to
 * read them: one file per way, all behind struct rapl_way. The meaning of a counter's raw values is
 * the same for all ways.
 */
#ifndef JP_SENSOR_RAPL_RAPL_H
#define JP_SENSOR_RAPL_RAPL_H

#include "sensor/core/cpus.h"
#include "sensor/core/sensor.h"

/* sensor_rapl_cores reads single cores, sensor_rapl everything else. */
extern const struct sensor_ops sensor_rapl, sensor_rapl_cores;

/* One reading of a counter, by any way. */
struct rapl_raw {
	uint64_t count;
	uint64_t time_ns; /* boot clock */
	int err;	  /* 0 or -errno: then there is no count */
};

struct rapl_counter {
	double unit;	/* J per count */
	uint64_t range; /* the count at which it begins again at 0; 0: 2^64 */
	double pmax_w;	/* W; the part takes less, apart from moments that do not matter */
	double late_j;	/* J; if more than 0.8 of this is used between two readings, they may be
			   misread; 0: never */
	/* The last reading, set by rapl_counter__take(). */
	double joules;
	uint64_t last, last_ns;
	bool based; /* last and last_ns are set */
	/* The way's own. */
	int fd; /* -1: closed */
	int package, die, cpu;
	uint32_t reg;	 /* MSR */
	uint64_t config; /* perf: event */
	char zone[32];	 /* powercap: directory below the class */
	char label[32];	 /* powercap: what is in its file "name" */
};

struct rapl_group {
	int fd; /* its first counter's event, which reads all of them at once; -1: closed */
	int cpu;
	unsigned first, n; /* counters */
};

struct rapl_way;

struct rapl {
	struct sensor_roots roots; /* strings are the caller's */
	struct cpus cpus;
	bool cores; /* single cores are read; else everything but single cores */
	const struct rapl_way *way;
	unsigned n;
	struct sensor_channel *channels; /* [n] */
	struct rapl_counter *counters;	 /* [n] */
	struct rapl_raw *raw;		 /* [n] */
	struct rapl_group *groups;	 /* perf */
	unsigned ngroups;
	uint32_t perf_type;
	char reason[512]; /* why each way found no counter */
};

struct rapl_way {
	const char *name; /* as in "read by NAME" */
	/*
	 * Adds the counters that this way finds. 0: at least one can be read; -ENOENT: there is
	 * none; -EACCES: not permitted; other -errno. In all cases but 0, reason[len] gets what is
	 * missing and what to do.
	 */
	int (*open)(struct rapl *r, char *reason, size_t len);
	/* Reads all counters to r->raw. Tries again to open those that are closed. */
	void (*read)(struct rapl *r);
};

extern const struct rapl_way rapl_perf, rapl_powercap, rapl_msr;

/*
 * Adds a counter, with its channel, for a part of this package and die (-1: all its dies), which is
 * read on that CPU (-1: on any). The caller sets unit, range and the way's own fields. NULL: the
 * part has a counter already, or *err is -ENOMEM or -E2BIG.
 */
struct rapl_counter *rapl__add(struct rapl *r, enum sensor_part part, int package, int die, int cpu,
			       int *err);

/*
 * The value of a reading: joules since the counter was opened. READING_GAP, with the joules of the
 * last reading, where the increase is not known: the last reading failed, this one came too late
 * (at the highest power, more than 0.8 of late_j may have been used), or the counter jumped, back
 * or forward, by more than the part can have used.
 */
struct sensor_value rapl_counter__take(struct rapl_counter *c, const struct rapl_raw *raw);

/* Documented properties of a model's counters. */
struct rapl_model {
	double dram_unit, psys_unit; /* J; NAN: as the unit register says */
	bool atom_unit;		     /* the unit register counts 2^n uJ, not 2^-n J */
	bool lead_core;		     /* "core" of a package is one core's counter only */
};

void rapl_model__find(struct rapl_model *m, const struct cpus *c);

/* clock__boot_ns(), or a test's. */
extern uint64_t (*rapl_clock)(void);

#endif
