/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether node-steps of one id are of one job. Ids come again: after a controller's reset, when
 * they wrap, with two clusters in one directory. What the files say of their job decides; where
 * they say nothing of its start, only times that no run of a job can have.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "hdf5/digest.h"
#include "identity/layout.h"
#include "identity/stepname.h"
#include "jobfile/merge/merge_internal.h"

#define LAUNCH_S   3600		  /* from a step's creation to the start of all its nodes */
#define CLOCKS_S   300		  /* clocks of two nodes are apart at most */
#define SAME_S	   2		  /* on one node, of files that say their start exactly, ... */
#define ROUNDED_S  60		  /* and of others */
#define GAP_S	   (60 * 86400LL) /* in a job, some step begins once in so long */
#define NEAR_S	   3600		  /* the job's start as Slurm has it, and its first step's */
#define NAMED_JOBS 4
#define EPOCH_S	   946684800LL /* 2000: nothing that says it began before has had a clock */

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

/* The step's number, or for a step of a CgroupPattern one that stands for its name. */
static uint64_t step_of(const char *name)
{
	uint32_t id;

	return stepname__id(name, &id) ? digest__text(UINT32_MAX, name) : id;
}

void job_identity__read(struct merge_item *i, const struct node_info *info)
{
	struct job_identity o = {
		.known = true,
		.step = step_of(i->step),
		.cluster = text_of(info, JOB_CLUSTER),
		.sluid = text_of(info, JOB_SLUID),
		.uid = number_of(info, JOB_UID),
		.restart = number_of(info, JOB_RESTART),
		.job_start = number_of(info, JOB_START),
		.start = info->late || info->start_s < EPOCH_S ? -1 : info->start_s,
		.exact = info->start_exact,
	};

	/* Slurm names no count in the first run: what else of its environment is there tells. */
	if (o.restart < 0 &&
	    (o.job_start >= 0 || info->attrs[JOB_NAME].known || info->attrs[JOB_PARTITION].known))
		o.restart = 0;
	i->identity = o;
}

static bool on_one_node(const struct merge_item *a, const struct merge_item *b)
{
	return !strcmp(a->node, b->node);
}

/* Slurm numbers the steps of a run as they come, and the batch script is there before them. Whether
 * the earlier of two steps began too late for that. */
static bool out_of_order(const struct merge_item *x, const struct merge_item *y)
{
	const struct job_identity *a = &x->identity, *b = &y->identity;
	const bool swap = b->step == STEP_BATCH || (a->step != STEP_BATCH && b->step < a->step);
	const struct job_identity *first = swap ? b : a, *then = swap ? a : b;

	if (then->step > STEP_MAX_NORMAL)
		return false;
	if (first->step == STEP_BATCH)
		return first->start > then->start + (on_one_node(x, y) ? SAME_S : CLOCKS_S);
	return first->start > then->start + LAUNCH_S;
}

/* Whether no job has two node-steps that begin at such times. */
static bool times_differ(const struct merge_item *x, const struct merge_item *y, bool one_run)
{
	const struct job_identity *a = &x->identity, *b = &y->identity;
	int64_t most = LAUNCH_S;

	if (a->start < 0 || b->start < 0)
		return false;
	if (a->step != b->step)
		return one_run && out_of_order(x, y);
	if (on_one_node(x, y))
		most = a->exact && b->exact ? SAME_S : ROUNDED_S;
	return llabs(a->start - b->start) > most;
}

/* What of two jobs differs, in words; NULL: the node-steps may be of one. */
static const char *difference(const struct merge_item *x, const struct merge_item *y)
{
	const struct job_identity *a = &x->identity, *b = &y->identity;
	const bool runs_known = a->restart >= 0 && b->restart >= 0;

	if (a->cluster && b->cluster && a->cluster != b->cluster)
		return "clusters";
	if (a->uid >= 0 && b->uid >= 0 && a->uid != b->uid)
		return "users";
	if (runs_known && a->restart != b->restart)
		return NULL;
	if (a->sluid && b->sluid)
		return a->sluid != b->sluid && runs_known ? "SLUIDs" : NULL;
	if (a->job_start >= 0 && b->job_start >= 0)
		return a->job_start != b->job_start ? "starts" : NULL;
	return times_differ(x, y, runs_known) ? "steps' times" : NULL;
}

/* Node-steps that may be of one job. */
struct group {
	int64_t start;		     /* of the job if one says it, else of its first step; -1 */
	int64_t last;		     /* start of a step */
	const struct merge_item **v; /* one of each step and identity */
	unsigned n;
};

static bool fits(const struct group *g, const struct merge_item *i)
{
	if (g->last >= 0 && i->identity.start - g->last > GAP_S)
		return false;
	for (unsigned k = 0; k < g->n; k++)
		if (difference(g->v[k], i))
			return false;
	return true;
}

/* Two groups are apart by what differs, or by months between their steps. */
static const char *groups_difference(const struct group *a, const struct group *b)
{
	const char *what = NULL;

	for (unsigned i = 0; i < a->n; i++)
		for (unsigned k = 0; !what && k < b->n; k++)
			what = difference(a->v[i], b->v[k]);
	return what ? what : "steps' times";
}

static bool is_known(const struct group *g, const struct merge_item *i)
{
	for (unsigned k = g->n; k-- > 0;) {
		const struct job_identity *a = &g->v[k]->identity, *b = &i->identity;

		if (a->step == b->step && a->cluster == b->cluster && a->sluid == b->sluid &&
		    a->uid == b->uid && a->restart == b->restart && a->job_start == b->job_start &&
		    (a->start < 0) == (b->start < 0))
			return true;
	}
	return false;
}

static int join_group(struct group *g, const struct merge_item *i)
{
	const struct job_identity *o = &i->identity;
	const struct merge_item **v;

	if (o->start >= 0)
		g->last = o->start;
	if (o->job_start >= 0 && (g->start < 0 || o->job_start < g->start))
		g->start = o->job_start;
	else if (g->start < 0)
		g->start = o->start;
	if (is_known(g, i))
		return 0;
	if (!(g->n & (g->n - 1))) {
		v = realloc(g->v, (g->n ? 2 * g->n : 1) * sizeof(void *));
		if (!v)
			return -ENOMEM;
		g->v = v;
	}
	g->v[g->n++] = i;
	return 0;
}

struct groups {
	struct group *v;
	unsigned n;
};

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
	/* What does not say its start comes last: it fits to any. */
	const uint64_t s = (uint64_t)x->start, t = (uint64_t)y->start;

	return s < t ? -1 : s > t;
}

static struct group *add_group(struct groups *gs)
{
	struct group *v = realloc(gs->v, (gs->n + 1) * sizeof(*v));

	if (!v)
		return NULL;
	gs->v = v;
	v += gs->n++;
	*v = (struct group){.start = -1, .last = -1};
	return v;
}

/* Puts an item into the group of its job: of several possible jobs, the one that began last. */
static int put_item(struct groups *gs, struct merge_item *i)
{
	struct group *g = NULL;

	for (unsigned k = gs->n; !g && k-- > 0;)
		if (fits(&gs->v[k], i))
			g = &gs->v[k];
	if (!g)
		g = add_group(gs);
	if (!g)
		return -ENOMEM;
	i->identity.job = (unsigned)(g - gs->v);
	return join_group(g, i);
}

static int make_groups(struct groups *gs, struct merge_set *s)
{
	struct merge_item **order = calloc(s->nitems + 1, sizeof(void *));
	int err = order ? 0 : -ENOMEM;
	unsigned n = 0;

	for (unsigned i = 0; !err && i < s->nitems; i++)
		if (s->items[i].identity.known)
			order[n++] = &s->items[i];
	if (n)
		qsort(order, n, sizeof(void *), by_start);
	for (unsigned i = 0; !err && i < n; i++)
		err = put_item(gs, order[i]);
	free(order);
	return err;
}

static void append_start(char *text, size_t size, int64_t start)
{
	const size_t at = strlen(text);
	const time_t t = (time_t)start;
	struct tm tm;

	if (at + 40 > size)
		return;
	strcpy(text + at, at ? " and " : "");
	if (start < 0 || !localtime_r(&t, &tm))
		strcat(text, "an unknown time");
	else
		strftime(text + strlen(text), size - strlen(text), "%Y-%m-%dT%H:%M:%S", &tm);
}

static void starts_text(const struct groups *gs, char *text, size_t size)
{
	*text = 0;
	for (unsigned i = 0; i < gs->n && i < NAMED_JOBS; i++)
		append_start(text, size, gs->v[i].start);
}

int job_identity__check(struct merge_set *s)
{
	struct groups gs = {0};
	char starts[256];
	int err = make_groups(&gs, s);

	if (!err && gs.n > 1) {
		starts_text(&gs, starts, sizeof(starts));
		log_error(
			"job %u: the files in %s%s are of %u jobs of that id, whose %s differ and "
			"which began at %s: nothing is merged; %s",
			s->job, s->where, s->extends ? " and the job file" : "", gs.n,
			groups_difference(&gs.v[0], &gs.v[1]), starts,
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

/* What is of another job is not of the set; of what cannot be read it is said when it is merged. */
static int keep_job(struct merge_set *s, unsigned job)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->nitems; i++) {
		struct merge_item *v = &s->items[i];

		bool wanted = !v->identity.known || v->identity.job == job;

		if (!wanted && !v->file)
			return -EEXIST;
		if (wanted) {
			struct merge_item other = s->items[n];

			s->items[n++] = *v;
			*v = other;
		}
	}
	/* Those behind are freed with the set. */
	s->nothers = s->nitems - n;
	s->nitems = n;
	return 0;
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
	} else if (!err && keep_job(s, chosen)) {
		log_error("%s: is there already, of another job %u: -o gives this one another name",
			  output, s->job);
		err = -EEXIST;
	}
	groups_free(&gs);
	return err;
}
