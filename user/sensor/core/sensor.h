/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources of readings that BPF programs do not count: energy, power, heat, network ports, mounts,
 * disks, GPUs. Each is a file of a folder of user/sensor (its kind) behind struct sensor_ops, and
 * one line of sensor/sensors.h, the list of all. sensor_set.h opens the sources of a node and
 * stores their last values; async.h gives a slow source a thread; counter_set.h, proc_table.h,
 * file.h and text.h are what sources of counters and small files have in common; plugin/plugin.h
 * loads a site's own.
 *
 * A source offers channels, each one quantity of one part of the node (the energy counter of a
 * package, the power of the node, the temperature of a GPU). Reading a source gives a value for
 * each of its channels: a reading is never guessed, and "unknown" is never 0.
 *
 * Fast sources are read on the sampling thread and take microseconds. Slow ones (a BMC) are marked
 * as such: a thread of their own reads them (sensor/core/async.h), and a reader gets the last value
 * with the time of its measurement.
 */
#ifndef JP_SENSOR_CORE_SENSOR_H
#define JP_SENSOR_CORE_SENSOR_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the kernel's trees and devices are; tests use others. All absolute, without a '/' at the
 * end ("" is the root itself). */
struct sensor_roots {
	const char *sys;  /* "/sys" */
	const char *proc; /* "/proc" */
	const char *dev;  /* "/dev" */
	const char *lib;  /* where dlopen() searches libraries; NULL: the usual places */
};

/* The part of the node that a channel measures. Parts overlap: a package contains its cores, a node
 * contains everything. Code that adds up parts must know that (see energy/). */
enum sensor_part {
	PART_NODE,     /* all of it, at its inlet */
	PART_PLATFORM, /* psys: the board as the processor's regulators see it */
	PART_PACKAGE,  /* index: package (socket), and die where there are several */
	PART_CORES,    /* the cores of a package together; the package contains this */
	PART_CORE,     /* index: one physical core; its package contains this */
	PART_UNCORE,   /* the uncore of a package, which contains this */
	PART_DRAM,     /* index: the package whose memory controllers measure it, and which does not
			  contain this */
	PART_GPU,      /* index: number on the node */
	PART_PORT,     /* network: name says which */
	PART_MOUNT,    /* file system: name says which */
	PART_DISK,     /* name says which */
	PART_OTHER,
};

enum sensor_quantity {
	QUANTITY_ENERGY, /* J since the source was opened: never falls, also when a counter wraps */
	QUANTITY_POWER,	 /* W, now or over the source's own period */
	QUANTITY_COUNT,	 /* events or bytes since the source was opened */
	QUANTITY_LEVEL,	 /* anything else that is a value at an instant, in the channel's unit */
};

#define SENSOR_NAME  48
#define SENSOR_ABOUT 96

struct sensor_channel {
	char name[SENSOR_NAME]; /* for people and columns: "package-0", "dram-1", "Node" */
	char unit[12];		/* "J", "W", "C", "MHz", "B", "" */
	/*
	 * The table of a step's file that it is a column of, and the column: "Port/mlx5_0-1" and
	 * "RxMB". "": none (energy has its rules: energy/energy.h). A column of a built-in series
	 * is scaled as its schema says, from the channel's unit; others hold values as they are.
	 * QUANTITY_ENERGY and QUANTITY_COUNT are written per interval, all else as it is.
	 */
	char series[SENSOR_NAME + 8];
	char column[SENSOR_NAME];
	char about[SENSOR_ABOUT]; /* for people: what the part is, cut; "" */
	enum sensor_part part;
	enum sensor_quantity quantity;
	int index;	    /* of the part; -1: there is one, or name tells which */
	int cpu;	    /* a CPU of that part, -1: it has none */
	double step;	    /* resolution, in its unit; NAN: not known */
	double error;	    /* largest relative error that is documented for it; NAN: not known */
	uint64_t period_ns; /* how often the hardware makes a new value; 0: not known */
	uint64_t lag_ns;    /* how old a new value is; 0: not known */
};

enum sensor_quality {
	READING_GOOD,
	READING_GAP,  /* good from now on; the increase since the last reading is not known: it was
			 read too late, a counter jumped back, or the part was away */
	READING_NONE, /* no value */
	READING_DENIED,	  /* not permitted */
	READING_REPEATED, /* the source has no new value since the last reading */
};

struct sensor_value {
	double value;	  /* NAN unless the quality gives one */
	uint64_t time_ns; /* CLOCK_BOOTTIME of the measurement, as far as it is known */
	enum sensor_quality quality;
};

struct sensor;

/*
 * A source. Each defines its own struct sensor, which only its own functions look into; the
 * functions below allocate and free one.
 */
struct sensor_ops {
	const char *name; /* "rapl", "ipmi" */
	const char *doc;  /* one line */
	bool slow;	  /* reading may take longer than 100 us, or hang */
	bool grows;  /* for a slow source: parts appear while the node runs (mounts), so the source
			is opened again from time to time */
	size_t size; /* of its struct sensor */
	/* Makes s, which is all zeros, ready to be read. 0; -ENOENT: the node has nothing of this
	 * kind; -EACCES: it may not be read; other -errno: it does not work. The roots outlive s.
	 */
	int (*open)(struct sensor *s, const struct sensor_ops *ops,
		    const struct sensor_roots *roots);
	/* Writes to text[len] what open, which returned err, has found, or what is missing and what
	 * to do about it. */
	void (*describe)(const struct sensor *s, const struct sensor_roots *roots, int err,
			 char *text, size_t len);
	/* Does what open and describe do, for a source whose open takes long; else NULL. */
	int (*probe)(const struct sensor_ops *ops, const struct sensor_roots *roots, char *text,
		     size_t len);
	/* Returns the number of channels of an open source, which do not change until it is closed.
	 */
	unsigned (*channels)(const struct sensor *s, const struct sensor_channel **out);
	/* Reads all channels: as many values as there are channels. 0, or -errno when there is not
	 * one good value. */
	int (*read)(struct sensor *s, struct sensor_value *values);
	/* Frees what s owns and not s itself, also after open has failed. */
	void (*close)(struct sensor *s);
};

/* Whether the node has such a source; errors are those of open. text[len] gets how the source is
 * read, or what is missing. */
int sensor__probe(const struct sensor_ops *ops, const struct sensor_roots *roots, char *text,
		  size_t len);
/* Opens a source. Errors are those of open, or -ENOMEM. The roots must outlive *out. */
int sensor__open(const struct sensor_ops *ops, struct sensor **out,
		 const struct sensor_roots *roots);
/* Closes and frees a source. NULL is fine. */
void sensor__close(const struct sensor_ops *ops, struct sensor *s);

const char *sensor__part_name(enum sensor_part part);
const char *sensor__quality_name(enum sensor_quality q);

static inline struct sensor_value sensor__no_value(enum sensor_quality q)
{
	return (struct sensor_value){.value = NAN, .quality = q};
}

#endif
