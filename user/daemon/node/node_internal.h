/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sensors of the node with their last readings, and the part of these that each step has. For
 * the files of this folder only. */
#ifndef JP_DAEMON_NODE_NODE_INTERNAL_H
#define JP_DAEMON_NODE_NODE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/node/node.h"
#include "daemon/step/step.h"
#include "energy/node_energy.h"
#include "sample/cpu_busy.h"
#include "schema/quantities.h"
#include "sensor/core/sensor_set.h"
#include "sensor/gpu/gpu.h"

/* A column, and the channels that are added up for it; without channels it is unknown. */
struct sensor_column {
	const struct column *col;
	unsigned *channel;
	unsigned nchannels;
};

/* A table that every step has which asks for the table's family. */
struct sensor_table {
	char series[SENSOR_NAME + 8]; /* "Port" */
	char name[SENSOR_NAME + 8];   /* "mlx5_0-1"; "": the series is one table */
	enum family family;
	int kind; /* KIND_* */
	struct sensor_column *cols;
	unsigned ncols;
	struct column *own; /* where schemas/ does not have the series: its columns */
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
	unsigned ntables, nchannels; /* nchannels: from which tables were made */
	uint64_t last_ns;	     /* of the last tick; 0: none */
	uint64_t read_ns;	     /* when the sensors were read last */
	unsigned idle_ticks;	     /* ticks without a step since the last step, or the start */
	unsigned families;
	unsigned asked;			  /* families that steps ask for now */
	unsigned version, wanted_version; /* how often tables had changed: until now, and until the
					     sensor set got the list of wanted channels */
	uint64_t period_ns;		  /* of slow sources */
	uint64_t energy_ns;		  /* of the last split */
	char *idle_power_file;		  /* file */
	uint64_t saved_ns;
	struct node_interval last;
	struct node_joules joules;
};

/* Events that energy is split by. */
enum { NODE_CYCLES, NODE_MISSES, NODE_EVENTS };

struct event_count {
	double count;
	uint64_t enabled, running;
};

/* The reading of a channel at a step's last row. */
struct channel_past {
	double value;
	uint64_t gaps;
};

struct step_sensors {
	struct node *node;
	uint64_t settle_ns,
		settle_step_ns; /* when sensors are read again to settle; UINT64_MAX: not again */
	struct channel_past *past; /* [npast] */
	unsigned npast;
	struct journaled *declared; /* [ntables] */
	uint32_t *table_id, *series_id;
	union cell **last; /* [ntables] its last row; NULL: none yet */
	unsigned ntables;
	unsigned next_series, next_table;
	unsigned in_frame;	 /* bits: kinds that have rows in the frame */
	bool started;		 /* the arrays below have the counts at the last tick */
	uint64_t run_ns;	 /* CPU time in all */
	uint64_t *cpu_ns;	 /* [ncpus] CPU time on each CPU, as far as the CPU is known */
	double *run_s;		 /* [ncpus] in the interval */
	double *part;		 /* [ncpus] the CPUs' parts of it in the last interval */
	struct event_count *pmu; /* [NODE_EVENTS][npackages] at the last tick */
	double *events;		 /* [NODE_EVENTS][npackages] in the interval; NAN: not counted */
	uint64_t *held;		 /* CPUs or cores allocated to the step, as bits */
	uint64_t gpus_own,
		gpus_others; /* GPUs used so far by the step's job, and by other jobs, as bits */
	double *gpu;	     /* [node_energy__ngpus()] the step's part of each */
	bool held_known, by_core;
	const char *held_by;	       /* how `held` is known, as a text for people */
	uint64_t held_ns;	       /* when it was looked up last */
	double energy[ENERGY_COLUMNS]; /* since the last row, J; NODE_POWER: J too */
	double seconds, last_energy_s; /* of the energy, and of that in its last row */
	bool any;		       /* a tick has come since the last row */
};

/* How often slow sources are read for a step with short intervals, or one that begins. */
#define NODE_SLOW_NS (1000 * 1000 * 1000ull)

/* Reads the sensors that are wanted, or all of them. */
void node_read__sensors(struct node *n, uint64_t now_ns, bool all);
/* Sets which families are read from now on, and how often slow sources are. */
void node_read__want(struct node *n, unsigned families, uint64_t period_ns);

/* Updates what the step did since the last time, by the snapshot. 0; -1: no memory. */
int step_use__update(struct step *s, const struct step_env *env);
/* Skips earlier counts: the next interval begins now. */
void step_use__skip(struct step *s, const struct step_env *env);

/* Finds, now and then, which CPUs or cores are allocated to the step, and sets `held` of its
 * sensors. */
void step_cpus__find(struct step *s, const struct step_env *env, uint64_t now_ns);

/* The directory of the first `end` bytes of the step's path, in the hierarchy that has cpusets. */
bool step_cpus__dir(const struct step *s, const struct step_env *env, size_t end, char *dir,
		    size_t size);

/* Makes the tables of the channels that are known now. 0 or -ENOMEM. */
int sensor_tables__update(struct node *n);
void sensor_tables__free(struct node *n);

/* Whether processes of the step's job have used the GPU with that number, and none of another job.
 */
bool node_gpus__is_jobs(struct step *s, const struct step_env *env, const char *number);

/* Sets each step's part of each GPU, in `gpu` of the step's sensors. */
void node_gpus__share(struct node *n, struct step *steps, const struct step_env *env);

#endif
