/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The facts of a job, by subject. */
#ifndef JP_ANALYSIS_FACTS_FILL_H
#define JP_ANALYSIS_FACTS_FILL_H

#include "analysis/job/facts.h"
#include "model/job/job.h"

/* All facts of a job. The least durations of rules are scaled to the length of the run and of its
 * bins. 0 or -ENOMEM; facts__free() in both cases. */
int facts__of(struct facts *f, const struct model_job *j);

/* Parts of it; they need the sums that facts__of() makes first. 0 or -ENOMEM. */
int facts_tasks__fill(struct facts *f, const struct model_job *j);
/* After the tasks; also fills how well these work in parallel. */
int facts_nodes__fill(struct facts *f, const struct model_job *j);
int facts_idle__fill(struct facts *f, const struct model_job *j);
int facts_memory__fill(struct facts *f, const struct model_job *j);
int facts_gpus__fill(struct facts *f, const struct model_job *j);
int facts_periods__fill(struct facts *f, const struct model_job *j);
/* After all others: fills why facts are not known. */
int facts_missing__fill(struct facts *f, const struct model_job *j);

/* Some facts again, of the bins from one on: whether memory grows (0 or -ENOMEM), the use of GPUs.
 */
int facts_memory__leak(struct facts *f, const struct model_job *j, unsigned first);
void facts_gpus__use(struct facts *f, const struct model_job *j, unsigned first);

/* Sum and maximum of a quantity's totals over nodes, and its sum in a bin; NaN: no node's is known.
 */
double facts__sum(const struct model_job *j, enum quantity q);
double facts__max(const struct model_job *j, enum quantity q);
double facts__bin_sum(const struct model_job *j, enum quantity q, unsigned bin);
/*
 * Core-seconds in which a job did not use its cores, by what its threads did meanwhile: a quota
 * throttled them, else they waited for a CPU, else for a disk, else they were blocked otherwise.
 * Core time that no thread wanted was used by other programs, or by nobody. A member that is NaN is
 * not known; its time is then in a later one.
 */
struct idle_split {
	double quota, wait, disk, asleep, taken, none;
};
/* Splits so much idle time by the thread time that was wanted (`none` is not read). */
struct idle_split facts_idle__split(double idle, const struct idle_split *wanted);
/* The split of a node's idle time in a bin, and in all bins; NaN: there is no row. */
struct idle_split facts_idle__in(const struct model_job *j, const struct job_node *n, unsigned bin);
struct idle_split facts_idle__of(const struct model_job *j, const struct job_node *n);
/* Adds member by member; an unknown member counts as 0 where the other one is known. */
void facts_idle__add(struct idle_split *to, const struct idle_split *s);
/* The quantity of the job's own memory, without page cache: what its cgroups are charged for, where
 * shared pages count once; else what its processes map. Slurm's profiles have only RSS, which is
 * more. */
enum quantity facts__own_memory(const struct model_job *j);
/* The memory limit of a node, MB: the least that is known. */
double facts__limit_mb(const struct job_node *n);
/* The tasks of the main step: *n of them. Where MPI's launcher runs inside a task and has more
 * ranks than the step has tasks, they are the ranks, with those that it has in other steps. */
const struct job_unit *facts__main_tasks(const struct model_job *j, unsigned *n);
/* The tasks or ranks of any step; ranks that are in several steps all belong to the main one. */
const struct job_unit *facts__tasks_of(const struct model_job *j, unsigned step, unsigned *n);
/* Sorts v[n] and returns its median; NaN: n is 0. */
double facts__median(double *v, size_t n);

#endif
