/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides whether node-steps with one id belong to one job. Ids are used again: after a
 * controller's reset, when they wrap, or by two clusters with one directory. The decision is made
 * by what the files tell about their job. Files without the start of their job leave a doubt where
 * one node has a step twice, or where no step began for months: then the user has to choose which
 * job to merge. Runs of one job, which was requeued, are told apart: each has a job file.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/room.h"
#include "hdf5/digest.h"
#include "jobfile/merge/merge_internal.h"

#define GAP_S	   (60 * 86400LL) /* in a job, some step begins once in so long */
#define NEAR_S	   3600		  /* the job's start as Slurm has it, and its first step's */
#define EXTERN_S   60
#define NAMED_JOBS 4
#define EPOCH_S	   946684800LL /* 2000: nothing that says it began before has had a clock */
#define NO_JOB	   UINT_MAX

static uint64_t text_of(const struct node_info *f, enum job_attr attr)
{
	char text[NODE_INFO_TEXT];
	unsigned i;

	if (!f->attrs[attr].known)
		return 0;
	/* slurmctld writes the cluster's name in lower case, a configuration may not. */
	for (i = 0; i < sizeof(text) - 1 && f->attrs[attr].text[i]; i++) {
		char c = f->attrs[attr].text[i];

		text[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	text[i] = 0;
	return digest__text(1, text);
}

static int64_t number_of(const struct node_info *f, enum job_attr attr)
{
	return f->attrs[attr].known ? f->attrs[attr].i : -1;
}

void job_identity__read(struct merge_item *i, const struct node_info *info)
{
	struct job_identity o = {
		.known = true,
		.cluster = text_of(info, JOB_CLUSTER),
		.sluid = text_of(info, JOB_SLUID),
		.uid = number_of(info, JOB_UID),
		.restart = number_of(info, JOB_RESTART),
		.job_start = number_of(info, JOB_START),
		.start = info->late || info->start_s < EPOCH_S ? -1 : info->start_s,
	};

	/* Slurm names no count in the first run: what else of its environment is there tells. */
	if (o.restart < 0 &&
	    (o.job_start >= 0 || info->attrs[JOB_NAME].known || info->attrs[JOB_PARTITION].known))
		o.restart = 0;
	i->identity = o;
}

static const char runs[] = "runs";

/* What the files say of two jobs that differs, in words; "": they say that the job is one; NULL:
 * they say too little. */
static const char *difference(const struct job_identity *a, const struct job_identity *b)
{
	const bool runs_known = a->restart >= 0 && b->restart >= 0;

	if (a->cluster && b->cluster && a->cluster != b->cluster)
		return "clusters";
	if (a->uid >= 0 && b->uid >= 0 && a->uid != b->uid)
		return "users";
	if (runs_known && a->restart != b->restart)
		return runs;
	if (a->sluid && b->sluid)
		return a->sluid != b->sluid && runs_known ? "SLUIDs" : "";
	if (a->job_start >= 0 && b->job_start >= 0)
		return a->job_start != b->job_start ? "starts" : "";
	return NULL;
}

/* Node-steps that may be of one job. */
struct group {
	int64_t start;		       /* of the job if one says it, else of its first step; -1 */
	int64_t last;		       /* start of a step */
	int64_t restart;	       /* -1: no file says it */
	const struct job_identity **v; /* all that differ */
	unsigned n;
};

struct groups {
	const struct merge_set *set;
	struct group *v;
	unsigned n;
	const char *what; /* differs between two of them, in words; not the run, if others do */
};

/* Whether the job has this step of this node already, and it began at another time. */
static bool is_twice(const struct merge_set *s, const struct merge_item *i, unsigned job)
{
	const struct merge_item *v = i, *end = s->items + s->nitems;

	while (v > s->items && merge_item__same_node(v - 1, i))
		v--;
	for (; v < end && merge_item__same_node(v, i); v++)
		if (v->identity.job == job && v->identity.start >= 0 &&
		    v->identity.start != i->identity.start &&
		    !difference(&v->identity, &i->identity))
			return true;
	return false;
}

/* Why an item is of another job, in words; NULL: it may be of this one. */
static const char *misfit(const struct groups *gs, unsigned job, const struct merge_item *i)
{
	const struct group *g = &gs->v[job];
	const int64_t start = i->identity.start;

	for (unsigned k = 0; k < g->n; k++) {
		const char *what = difference(g->v[k], &i->identity);

		if (what && *what)
			return what;
	}
	return start >= 0 && g->last >= 0 && (start - g->last > GAP_S || is_twice(gs->set, i, job))
		       ? "steps' times"
		       : NULL;
}

static bool is_known(const struct group *g, const struct job_identity *b)
{
	for (unsigned k = 0; k < g->n; k++) {
		const struct job_identity *a = g->v[k];

		if (a->cluster == b->cluster && a->sluid == b->sluid && a->uid == b->uid &&
		    a->restart == b->restart && a->job_start == b->job_start)
			return true;
	}
	return false;
}

static int join_group(struct group *g, const struct job_identity *o)
{
	if (o->start > g->last)
		g->last = o->start;
	if (o->restart >= 0)
		g->restart = o->restart;
	if (o->job_start >= 0 && (g->start < 0 || o->job_start < g->start))
		g->start = o->job_start;
	else if (g->start < 0)
		g->start = o->start;
	if (is_known(g, o))
		return 0;
	if (room__grow(&g->v, g->n, 1, sizeof(const struct job_identity *)))
		return -ENOMEM;
	g->v[g->n++] = o;
	return 0;
}

static void groups_free(struct groups *g)
{
	for (unsigned i = 0; i < g->n; i++)
		free(g->v[i].v);
	free(g->v);
}

static int by_start(const void *a, const void *b)
{
	const struct job_identity *x = &(*(struct merge_item *const *)a)->identity;
	const struct job_identity *y = &(*(struct merge_item *const *)b)->identity;
	/* What does not say its start, or its run, comes last: it may be of any. */
	const uint64_t s = (uint64_t)x->start, t = (uint64_t)y->start;

	if ((x->restart < 0) != (y->restart < 0))
		return x->restart < 0 ? 1 : -1;
	return s < t ? -1 : s > t;
}

static struct group *add_group(struct groups *gs)
{
	struct group *v;

	if (room__grow(&gs->v, gs->n, 1, sizeof(*gs->v)))
		return NULL;
	v = &gs->v[gs->n++];
	*v = (struct group){.start = -1, .last = -1, .restart = -1};
	return v;
}

/* Puts an item into the group of its job. No other job has the id while a job has it: of several
 * possible jobs it is the one that began last before the item did; an extern step, which knows
 * nothing of its job, may begin before the first step that says when its own began. */
static int put_item(struct groups *gs, struct merge_item *i)
{
	struct group *g = NULL;
	unsigned possible = 0;

	for (unsigned k = 0; k < gs->n; k++) {
		const char *what = misfit(gs, k, i);

		possible += !what;
		if (!what && (!g || gs->v[k].start <= i->identity.start + EXTERN_S))
			g = &gs->v[k];
		else if (what && (!gs->what || gs->what == runs))
			gs->what = what;
	}
	if (possible > 1 && i->identity.start < 0)
		return 0;
	if (!g)
		g = add_group(gs);
	if (!g)
		return -ENOMEM;
	i->identity.job = (unsigned)(g - gs->v);
	return join_group(g, &i->identity);
}

static int make_groups(struct groups *gs, struct merge_set *s)
{
	struct merge_item **order = calloc(s->nitems + 1, sizeof(void *));
	int err = order ? 0 : -ENOMEM;
	unsigned n = 0;

	gs->set = s;
	for (unsigned i = 0; !err && i < s->nitems; i++) {
		s->items[i].identity.job = NO_JOB;
		if (s->items[i].identity.known)
			order[n++] = &s->items[i];
	}
	if (n)
		qsort(order, n, sizeof(void *), by_start);
	for (unsigned i = 0; !err && i < n; i++)
		err = put_item(gs, order[i]);
	free(order);
	return err;
}

static void starts_text(const struct groups *gs, char *text, size_t size)
{
	size_t at = 0;

	*text = 0;
	for (unsigned i = 0; i < gs->n && i < NAMED_JOBS; i++) {
		const time_t start = (time_t)gs->v[i].start;
		char time[40] = "an unknown time";
		struct tm tm;

		if (start >= 0 && localtime_r(&start, &tm))
			strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%S", &tm);
		at += (size_t)snprintf(text + at, size - at, "%s%s", i ? " and " : "", time);
	}
}

/* Says of which run each item is. What is in the job file cannot go elsewhere. */
static int part_runs(struct merge_set *s, const struct groups *gs)
{
	int64_t last = -1;
	int err = -ENOTUNIQ;

	for (unsigned k = 0; k < gs->n; k++)
		last = gs->v[k].restart > last ? gs->v[k].restart : last;
	for (unsigned i = 0; i < s->nitems; i++) {
		struct job_identity *o = &s->items[i].identity;
		int64_t run = o->known && o->job != NO_JOB ? gs->v[o->job].restart : last;

		o->run = run < last ? (int)run : -1;
		if (run < last && !s->items[i].file)
			err = -EXDEV;
	}
	if (err == -EXDEV)
		log_error("job %u: the job file is of a run before a requeue, and files in %s are "
			  "of a later one: nothing is merged; rename it, or -o gives the new one "
			  "another name",
			  s->job, s->where);
	return err;
}

int job_identity__check(struct merge_set *s)
{
	struct groups gs = {0};
	char starts[256];
	int err = make_groups(&gs, s);

	if (!err && gs.n > 1 && gs.what == runs) {
		err = part_runs(s, &gs);
	} else if (!err && gs.n > 1) {
		starts_text(&gs, starts, sizeof(starts));
		log_error(
			"job %u: the files in %s%s are of %u jobs of that id, whose %s differ and "
			"which began at %s: nothing is merged; %s",
			s->job, s->where, s->extends ? " and the job file" : "", gs.n, gs.what,
			starts,
			gs.v[0].start == gs.v[1].start
				? "move the files of one to another directory"
				: "--job-start TIME chooses one");
		err = -EXDEV;
	}
	groups_free(&gs);
	return err;
}

/* The job that began nearest to then; gs->n: none did. */
static unsigned nearest(const struct groups *gs, int64_t start)
{
	unsigned best = gs->n;
	int64_t least = NEAR_S + 1;

	for (unsigned i = 0; i < gs->n; i++) {
		int64_t apart = llabs(gs->v[i].start - start);

		if (gs->v[i].start >= 0 && apart < least) {
			best = i;
			least = apart;
		}
	}
	return best;
}

/* Leaves what is of the job, and what cannot be read, of which it is said when it is merged. */
static int keep_job(struct merge_set *s, unsigned job)
{
	unsigned n = 0;
	int err = 0;

	for (unsigned i = 0; !err && i < s->nitems; i++) {
		struct merge_item *v = &s->items[i], other = s->items[n];

		if (!v->identity.known || v->identity.job == job) {
			s->items[n++] = *v;
			*v = other;
		} else if (!v->file) {
			err = -EEXIST;
		} else if (v->identity.job == NO_JOB) {
			log_warn("%s/%s: says neither its job's start nor its own, and may be of "
				 "another job of that id: left alone",
				 s->where, v->file);
			s->refused++;
			err = merge_set__add_absent(s, v->step, v->node);
		}
	}
	/* Those behind are freed with the set. */
	s->nothers = s->nitems - n;
	s->nitems = n;
	return err;
}

int job_identity__choose(struct merge_set *s, int64_t start, const char *output)
{
	struct groups gs = {0};
	char starts[256];
	int err = make_groups(&gs, s);
	unsigned chosen = err ? 0 : nearest(&gs, start);

	if (!err && chosen == gs.n) {
		starts_text(&gs, starts, sizeof(starts));
		log_error("--job-start: job %u in %s began at %s", s->job, s->where,
			  *starts ? starts : "a time that no file says");
		err = -ENOENT;
	} else if (!err) {
		err = keep_job(s, chosen);
		if (err == -EEXIST)
			log_error("%s: is there already, of another job %u: -o gives this one "
				  "another name",
				  output, s->job);
	}
	groups_free(&gs);
	return err;
}
