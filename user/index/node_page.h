/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One node over time: which jobs were on it, what they and others used in each five minutes, and
 * which of them waited for which. A viewer who may not see all has the numbers of own jobs, and of
 * the node while these were there; of others only how many cores they had meanwhile.
 */
#ifndef JP_INDEX_NODE_PAGE_H
#define JP_INDEX_NODE_PAGE_H

#include "base/id_table.h"
#include "index/query.h"

struct node_about {
	char *node, *cluster, *model;  /* model NULL: not known */
	double cores, cpus, memory_mb; /* NaN: not known */
	unsigned alike;		       /* nodes of this size and model, with it */
};

/* Numbers are of the time that is asked for, where they are of rows; NaN: not known. */
struct node_lane {
	int64_t id;	 /* in the index */
	bool is_visible; /* else all but cores, start and end is unknown */
	bool has_profile;
	bool is_sure;		  /* Slurm says that the job was there */
	double cores, start, end; /* Unix time; of others cut to the time of visible jobs */
	double job_id, array_id, array_task, lost_core_s, findings, worst_severity;
	char *user, *account, *name, *program, *partition, *state, *worst_rule, *worst_text;
	double cpu_s, wait_s, span_s, memory_mb, energy_j;
	/* What had the CPU while it waited; with what nobody knows these add up to wait_s. */
	double own_s, others_s, system_s, wakeup_s, quota_s, no_owner_s;
	double by_known_s; /* part of others_s that is divided among jobs (pairs) */
	double exact_s;	   /* part of that in which only one other job was there */
};

enum node_line {
	LINE_cpu_jobs_cores,
	LINE_cpu_other_cores,
	LINE_wait_threads,
	LINE_memory_mb,
	LINE_memory_jobs_mb,
	LINE_power_w,
	LINE_power_low_w,
	LINE_power_high_w,
	N_NODE_LINES
};
extern const char *const node_line_names[N_NODE_LINES];

/* One job waited while another one had the CPU. */
struct node_pair {
	unsigned waited, had; /* lanes */
	double wait_s;
	double cpu_s; /* of both, while both were there */
};

struct node_event {
	double at;
	const char *kind; /* "node_fail", "out_of_memory", "finding", "gap" */
	int severity;	  /* as in struct row_finding */
	double job_id;	  /* NaN: of none */
	char *text;
};

struct node_page {
	struct node_about about;
	int64_t first; /* Unix time / NODE_ROW_S */
	unsigned n;    /* rows */
	struct node_lane *lanes;
	unsigned nlanes;
	double *lines[N_NODE_LINES]; /* n each */
	struct node_pair *pairs;
	unsigned npairs;
	struct id_table lane_of, pair_of; /* where they are in lanes and pairs */
	struct node_event *events;
	unsigned nevents;
};

/* Reads the page of a node from f->since to f->until, both known; f->cluster selects one of several
 * of that name. 0; -ENOENT: there is no such node, or no job of the viewer was there; -EEXIST: it
 * is in several clusters; -errno, logged but for these two. node_page__free() in all cases. */
int node_page__read(struct node_page *p, struct index *ix, const char *node,
		    const struct job_filter *f, const struct viewer *v);
void node_page__free(struct node_page *p);
/* NULL: one did not wait for the other, or there are too many pairs. */
const struct node_pair *node_page__pair(const struct node_page *p, unsigned waited, unsigned had);

#endif
