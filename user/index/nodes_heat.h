/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All nodes of a site by the hour: how busy they were, and what their energy went into. */
#ifndef JP_INDEX_NODES_HEAT_H
#define JP_INDEX_NODES_HEAT_H

#include "base/id_table.h"
#include "index/query.h"

#define HEAT_STEP_S 3600

enum heat {
	HEAT_busy,   /* share of its CPUs that were not idle, else CPU time of jobs by its CPUs */
	HEAT_wait,   /* wait / (CPU time + wait) of its jobs */
	HEAT_memory, /* share of its memory in use, else memory of jobs by its memory */
	HEAT_power,  /* W */
	N_HEATS
};
extern const char *const heat_names[N_HEATS];

struct heat_kind {
	char *cluster, *model; /* model "": not known */
	double cores, cpus, memory_mb;
	unsigned nodes;
};

struct heat_node {
	char *name, *cluster;
	int64_t id;    /* in the table of nodes; 0: it has no rows */
	unsigned kind; /* index */
	bool is_sure;  /* Slurm's accounting knows of a job there */
};

/* J in a step, of all nodes that are known; NaN: of none. */
struct heat_energy {
	double jobs_j, low_j, high_j; /* of jobs, with the bounds */
	double idle_j;		      /* of cores and GPUs that were not allocated */
	double no_owner_j;	      /* of what is in no job */
	double all_j;
	double known_s; /* node-seconds */
};

struct nodes_heat {
	int64_t from; /* Unix time of the first step, a multiple of HEAT_STEP_S */
	unsigned steps;
	struct heat_kind *kinds;
	unsigned nkinds;
	struct heat_node *nodes; /* by kind and name */
	unsigned nnodes;
	double *v[N_HEATS];	    /* nnodes x steps; NaN: not known */
	bool *had_job;		    /* nnodes x steps: some job was there */
	struct heat_energy *energy; /* steps */
	/* By hashes: places in kinds and nodes; clusters that have sure nodes; jobs that have rows
	 * and of which Slurm does not know. */
	struct id_table kind_of, node_of, sure, doubted;
};

/* Anybody can write profiles of jobs that were on any nodes: in a cluster where Slurm's accounting
 * knows of jobs, nodes where it knows of none are left out, and on the others its jobs alone count.
 * Reads all nodes from f->since to f->until, both known, of f->cluster; nothing if the viewer may
 * not see all. 0 or -errno, logged. nodes_heat__free() in both cases. */
int nodes_heat__read(struct nodes_heat *h, struct index *ix, const struct job_filter *f,
		     const struct viewer *v);
void nodes_heat__free(struct nodes_heat *h);
/* Gives take() the jobs of f->cluster that run, began before f->until and that the viewer may see:
 * cluster, nodes, start. Returns as query__each(). */
int nodes_heat__running(struct index *ix, const struct job_filter *f, const struct viewer *v,
			int (*take)(void *arg, const struct db_value *v), void *arg);

#endif
