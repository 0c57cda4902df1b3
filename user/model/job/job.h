/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job as a whole: units (nodes, tasks, GPUs, mounts, disks) by bins on one axis of time, made
 * from a job file or from node-step files. Rows are read once, in limited children (pool/pool.h),
 * and only their bins and totals are stored, so that memory does not grow with the number of rows.
 */
#ifndef JP_MODEL_JOB_H
#define JP_MODEL_JOB_H

#include "bpf/abi/sched.h"
#include "jobfile/profiles.h"
#include "model/binned.h"
#include "model/model.h"
#include "schema/series.h"

/* A histogram of 2^k ns over all rows. */
struct job_histogram {
	double counts[JP_LAT_BUCKETS];
	bool is_known;
};

/* One node-step file, or group of a job file. Texts belong to the job. */
struct job_part {
	unsigned node, step; /* indices */
	struct model_attr *attrs;
	unsigned nattrs;
	double start_ns, end_ns; /* Unix time; NaN: not known */
	uint64_t rows;
	double row_s; /* the usual time between rows; NaN: not known */
	unsigned tasks;
	double covered_s; /* of its rows; NaN: not known */
	char *trouble;	  /* why the part could not be read; NULL: it could */
};

/* The program of a task or rank, by the attributes of its table; NULL and NaN: not known. */
enum about_text { ABOUT_PROGRAM, ABOUT_BUILD_ID, ABOUT_MPI, ABOUT_GPU, ABOUT_CPUS, ABOUT_TEXTS };
struct job_about {
	char *texts[ABOUT_TEXTS];
	double cpus_allowed, numa_nodes;
	double start_ns, end_ns; /* Unix time */
};
extern const char *const about_attrs[ABOUT_TEXTS]; /* names of the attributes */

struct job_unit {
	char *name;	     /* "n1", "5", "0" */
	unsigned node, step; /* indices; step: only for tasks */
	uint64_t rows;
	/* Begin and end of its rows, since the job's start; for a task or rank, of those rows in
	 * which a thread lived, where that is known. */
	double begin_s, end_s;
	double total[N_QUANTITIES]; /* sum of amounts; highest row of gauges; NaN: not known */
	double *bins;		    /* see job_unit__bins() */
	double *held;		    /* see job_unit__held(); NULL for a task or a device */
	struct extremes extremes;   /* where grid.row_s says so */
	struct job_about about;
	bool is_rank; /* of a launcher of MPI inside a task */
	const char
		*series; /* the series whose quantities have bins here; NULL: all have, in a node */
};

struct job_node {
	struct job_unit unit;
	/* NaN: not known */
	double cores, cpus, threads_per_core;  /* allocated ones; threads of one core */
	double cores_in_all, memory_in_all_mb; /* cores and memory of the node, allocated or not */
	double limit_mb, request_mb;	       /* per node */
	double oom_limit_mb;  /* smallest limit of a step in which a process was killed */
	double taken_s;	      /* core-seconds that other programs had at least; NaN: not known */
	const char *model;    /* of its processors; NULL: not known */
	const char *cpi_kind; /* how these count what cycles were used for; NULL: not known */
	double cpi_width;     /* slots per cycle of the processors */
};

struct job_step {
	char *name; /* as in the file */
	unsigned nodes, tasks;
	double cpu_s; /* NaN: not known */
	double begin_s, end_s;
};

/* What the processes of all steps used as a program of that name; NaN: not known. */
struct job_command {
	char *name;
	double processes, cpu_s, wait_s, peak_mb, read_mb, write_mb;
};

/* An instant that a program of the job named. */
struct job_mark {
	double at_s, number;
	const char *name; /* the part's; NULL: not known */
	unsigned part;
};

struct model_job {
	char *id;	/* "": not known */
	bool is_slurms; /* Slurm's own plugin wrote the files */
	struct time_grid grid;
	struct job_part *parts;
	unsigned nparts;
	struct job_node *nodes;
	unsigned nnodes;
	struct job_step *steps;
	unsigned nsteps;
	unsigned main_step; /* the step with most CPU time, not extern or batch if others exist */
	struct job_unit *tasks; /* then ranks; ordered by step, then by number */
	unsigned ntasks;
	/* The number of ranks of all steps if one launcher started them, which are ordered by
	 * number then; else 0. */
	unsigned world;
	/* Each node has these, used by the job or by others; mounts are of network file systems.
	 */
	struct job_unit *gpus, *mounts, *disks;
	unsigned ngpus, nmounts, ndisks;
	struct job_command *commands; /* by CPU time, the highest first */
	unsigned ncommands;
	struct job_mark *marks; /* part by part, as they were set */
	unsigned nmarks;
	struct job_histogram run_latency, blk_latency;
	uint64_t rows;	    /* rows of the part that lasted longest */
	double row_s;	    /* the usual time between them; NaN: not known */
	double least_row_s; /* of the part whose rows are shortest */
};

#define JOB_LONG_BIN 1.5

struct job_options {
	double dt_s; /* least length of a bin; 0: chosen by the length of the run, for runs of
			seconds */
	unsigned processes; /* 0: as many as there are CPUs */
	bool budget;	    /* tasks also have bins of the time budget of their threads */
	/* Units have bins only of what is drawn, so that these can be shorter, and extremes where
	 * bins are JOB_LONG_BIN times as long as the rows of a part, or longer. */
	bool drawn;
	bool here; /* for tests: reads in this process, without limits */
};

/*
 * Reads all inputs. Parts that cannot be read are named in parts[].trouble and are no error. 0;
 * -EIO: no input can be read; -ENODATA: they have no rows that can be read; -EINVAL: the inputs are
 * of several jobs by their ids; -ENOMEM; -errno: children could not be started, or a signal ended
 * them. Errors of files are logged. model_job__free() in all cases.
 */
int model_job__read(struct model_job *out, const struct job_input *inputs, unsigned ninputs,
		    const struct job_options *o);
void model_job__free(struct model_job *j);

/* Whether job_node.cores counts cores. Slurm's own files do not have the number of threads per
 * core: then cores counts CPUs, and an unused CPU may be a thread of a core that was used. */
bool job_node__counts_cores(const struct model_job *j, const struct job_node *n);
bool model_job__counts_cores(const struct model_job *j); /* of all nodes */
/* The grid.n bins of a quantity; NULL: such units have none. */
const double *job_unit__bins(const struct job_unit *u, enum quantity q, const struct time_grid *g);
/* The lowest row of each bin, then the highest: 2 x grid.n; NULL: not known. */
const float *job_unit__extremes(const struct job_unit *u, enum quantity q);
/* The sum over the steps of a node of a HELD quantity, at each of grid.n x grid.instants instants.
 */
const double *job_unit__held(const struct job_unit *u, enum quantity q, const struct time_grid *g);
/* The first part that could not be read, which is probably why something is missing; NULL: all were
 * read. */
const struct job_part *model_job__unread(const struct model_job *j);
/* An attribute of the part's node group; NULL: it has none of that name. */
const struct model_attr *job_part__attr(const struct job_part *p, const char *name);
/* Finds the attribute in the first part that has it; NULL: none has. */
const struct model_attr *model_job__attr(const struct model_job *j, const char *name);
/* Writes in a few words why a quantity is not known of any node: "Slurm's profiles have no
 * RunDelay". */
void model_job__why_unknown(const struct model_job *j, enum quantity q, char *text, size_t size);

#endif
