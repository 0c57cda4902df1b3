/* SPDX-License-Identifier: GPL-2.0-only */
/* The sensors of the node and what they have said, and what of it is one step's. For the files of
 * node.h and step_sensors.h only. */
#ifndef JP_DAEMON_NODE_STATE_H
#define JP_DAEMON_NODE_STATE_H

#include "daemon/step.h"
#include "energy/node_energy.h"
#include "sample/cpu_busy.h"
#include "schema/quantities.h"
#include "sensor/core/sensor_set.h"
#include "sensor/gpu/gpu_users.h"
#include "sensor/gpu/rsmi.h"

/* A column, and the channels that are added up for it; none: unknown. */
struct sensor_column {
	const struct column *col;
	unsigned *channel;
	unsigned nchannels;
};

/* A table that every step's file has that asked for its family. */
struct sensor_table {
	char series[SENSOR_NAME + 8]; /* "Port" */
	char name[SENSOR_NAME + 8];   /* "mlx5_0-1"; "": the series is one table */
	enum family family;
	int kind; /* KIND_* */
	struct sensor_column *cols;
	unsigned ncols;
	struct column *own; /* of a series that schemas/ does not have: the columns themselves */
};

struct node {
	struct sensor_set *sensors;
	struct node_energy *energy;  /* NULL: nothing is known of the CPUs */
	struct gpu_users *gpu_users; /* NULL: no GPU says which processes use it */
	const struct gpu_use *use;   /* [nuse] as the last snapshot knows it */
	int nuse;
	struct cpu_busy *busy;
	double *busy_s; /* [ncpus] */
	struct sensor_table *tables;
	unsigned ntables, nchannels; /* that tables were made of */
	uint64_t last_ns;	     /* of the last tick; 0: none */
	uint64_t read_ns;	     /* when the sensors were read last */
	unsigned quiet;		     /* ticks without a step since the last step, or the start */
	unsigned families;
	unsigned asked;		    /* families that steps ask for now */
	unsigned made, wanted_made; /* times that tables changed; when the sensor set was told what
				     * is wanted */
	uint64_t period_ns;	    /* of slow sources */
	uint64_t energy_ns;	    /* of the last split */
	char *learnt;		    /* file */
	uint64_t saved_ns;
	struct node_interval last;
};

/* Events that energy is split by. */
enum { NODE_CYCLES, NODE_MISSES, NODE_EVENTS };

struct event_count {
	double count;
	uint64_t enabled, running;
};

/* What a channel said at a step's last row. */
struct channel_past {
	double value;
	uint64_t gaps;
};

struct step_sensors {
	struct node *node;
	uint64_t settle_ns, settle_step_ns; /* when it is looked again; UINT64_MAX: no more */
	struct channel_past *past;	    /* [npast] */
	unsigned npast;
	enum journaled *journaled; /* [ntables] tables the journal knows */
	uint32_t *table_id, *series_id;
	union cell **last; /* [ntables] its last row; NULL: none yet */
	unsigned ntables;
	unsigned next_series, next_table;
	unsigned in_frame;	 /* bits: kinds that have rows in the frame */
	bool started;		 /* the arrays below hold what was counted at the last tick */
	uint64_t run_ns;	 /* in all */
	uint64_t *cpu_ns;	 /* [ncpus] of that, as far as it is known where */
	double *run_s;		 /* [ncpus] in the interval */
	double *part;		 /* [ncpus] which CPU's it was, last */
	struct event_count *pmu; /* [NODE_EVENTS][npackages] at the last tick */
	double *events;		 /* [NODE_EVENTS][npackages] in the interval; NAN: not counted */
	uint64_t *held;		 /* bits */
	double *gpu;		 /* [node_energy__ngpus()] part of each that is the step's */
	bool held_known, by_core;
	const char *held_by;	       /* how that is known, for people */
	uint64_t held_ns;	       /* when it was looked up last */
	double energy[ENERGY_COLUMNS]; /* since the last row, J; NODE_POWER: J too */
	double seconds;
	bool any; /* a tick was in them */
};

#endif
