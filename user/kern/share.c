// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shares of jobs in the tables of the node (bpf/share.bpf.h). The programs count what jobs take.
 * This file counts again when jobs have given something back, and gives all jobs of a user one
 * share.
 */
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "kern/internal.h"

struct holder { /* a step, then a job */
	struct jp_cgroup_key job;
	uint32_t uid; /* 0: not known */
	struct jp_job is;
};

unsigned kern_share_room(const struct kern *k, enum jp_share what)
{
	switch (what) {
	case JP_SHARE_STEPS:
		return k->nslots - JP_SLOT_FIRST;
	case JP_SHARE_SLOTS: /* a quarter is for steps alone */
		return k->opts.follow ? k->nslots : k->nslots - k->nslots / 4;
	case JP_SHARE_NAMES:
		return JP_COMMANDS_ALL;
	case JP_SHARE_STACKS:
		return k->opts.nstacks;
	case JP_SHARE_GROUPS:
		return k->opts.ncgroups / 2;
	default:
		return 0;
	}
}

struct jp_cgroup_key kern_share_job(const struct jp_slot *step)
{
	return (struct jp_cgroup_key){.id = step->job ? step->job : step->cgroup_id,
				      .hier = step->hier};
}

static bool is_left(const struct kern *k, const struct jp_job *j, enum jp_share what)
{
	uint32_t room = kern_share_room(k, what), taken;

	if (what >= JP_SHARES)
		return false;
	taken = k->control->taken[what];
	return taken < room && j->has[what] < (k->opts.follow ? room : room - taken);
}

/* Where the share of a job is counted. Returns the key of that. */
static struct jp_cgroup_key find(const struct kern *k, struct jp_cgroup_key job, struct jp_job *j)
{
	struct jp_job other;

	*j = (struct jp_job){0};
	bpf_map_lookup_elem(k->map[M_JOBS], &job, j);
	if (!j->is_other || bpf_map_lookup_elem(k->map[M_JOBS], &j->counted, &other))
		return job;
	job = j->counted;
	*j = other;
	return job;
}

bool kern_share_left(const struct kern *k, const struct jp_cgroup_key *job, enum jp_share what)
{
	struct jp_job j;

	find(k, *job, &j);
	return is_left(k, &j, what);
}

bool kern_share_take(struct kern *k, const struct jp_cgroup_key *job, enum jp_share what)
{
	struct jp_job j;
	const struct jp_cgroup_key key = find(k, *job, &j);

	if (!is_left(k, &j, what))
		return false;
	j.has[what]++;
	__atomic_fetch_add(&k->control->taken[what], 1, __ATOMIC_RELAXED);
	return !bpf_map_update_elem(k->map[M_JOBS], &key, &j, BPF_ANY);
}

void kern_share_give(struct kern *k, const struct jp_cgroup_key *job, enum jp_share what)
{
	struct jp_job j;

	__atomic_fetch_sub(&k->control->taken[what], 1, __ATOMIC_RELAXED);
	if (bpf_map_lookup_elem(k->map[M_JOBS], job, &j) || !j.has[what])
		return;
	j.has[what]--;
	bpf_map_update_elem(k->map[M_JOBS], job, &j, BPF_EXIST);
}

static int by_job(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->job.id != y->job.id)
		return x->job.id < y->job.id ? -1 : 1;
	return x->job.hier < y->job.hier ? -1 : x->job.hier > y->job.hier;
}

static int by_user(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return x->uid == y->uid ? by_job(a, b) : x->uid < y->uid ? -1 : 1;
}

/* Finds the steps that exist, and what each has. of: a zero for each slot; that of a step gets 1 +
 * its place in h. */
static unsigned find_steps(const struct kern *k, const struct slots *all, struct holder *h,
			   uint32_t *of)
{
	const uint32_t *used = all->used;
	unsigned n = 0;

	for (unsigned i = 0; i < all->nused; i++) {
		const struct jp_slot *s = &k->slots[used[i]];

		if (used[i] < JP_SLOT_FIRST || s->kind != JP_KIND_STEP)
			continue;
		h[n++] = (struct holder){
			.job = kern_share_job(s),
			.uid = s->uid,
			.is.has = {[JP_SHARE_STEPS] = 1,
				   [JP_SHARE_NAMES] = (uint32_t)k->acct[used[i]].commands}};
		of[used[i]] = n;
	}
	for (unsigned i = 0; i < all->nused; i++) {
		const struct jp_slot *s = &k->slots[used[i]];
		struct holder *step;

		if (used[i] < JP_SLOT_FIRST || s->kind == JP_KIND_STEP || s->step >= k->nslots ||
		    !of[s->step])
			continue;
		step = &h[of[s->step] - 1];
		step->is.has[JP_SHARE_SLOTS]++;
		if (s->root_pid && s->uid)
			step->uid = s->uid;
	}
	return n;
}

static void add(uint32_t *to, const uint32_t *from)
{
	for (int i = 0; i < JP_SHARES; i++)
		to[i] += from[i];
}

/* Steps of a job become one holder. Returns how many there are. */
static unsigned merge_jobs(struct holder *h, unsigned n)
{
	unsigned jobs = 0;

	qsort(h, n, sizeof(*h), by_job);
	for (unsigned i = 0; i < n; i++) {
		if (!i || by_job(&h[jobs - 1], &h[i])) {
			h[jobs++] = h[i];
			continue;
		}
		add(h[jobs - 1].is.has, h[i].is.has);
		if (h[i].uid)
			h[jobs - 1].uid = h[i].uid;
	}
	return jobs;
}

/* All jobs of a user are counted in the first. */
static void merge_users(struct holder *h, unsigned n)
{
	struct holder *first = h;

	qsort(h, n, sizeof(*h), by_user);
	for (unsigned i = 1; i < n; i++) {
		if (!h[i].uid || h[i].uid != first->uid) {
			first = &h[i];
			continue;
		}
		add(first->is.has, h[i].is.has);
		h[i].is = (struct jp_job){.is_other = true, .counted = first->job};
	}
}

static const enum jp_share counted[] = {JP_SHARE_STEPS, JP_SHARE_SLOTS, JP_SHARE_NAMES};
#define COUNTED (sizeof(counted) / sizeof(*counted))

static void store(struct kern *k, const struct holder *h)
{
	struct jp_job j, was;

	if (bpf_map_lookup_elem(k->map[M_JOBS], &h->job, &was))
		return; /* it has nothing yet */
	memcpy(&j, &was, sizeof(j));
	for (size_t i = 0; i < COUNTED; i++)
		j.has[counted[i]] = h->is.has[counted[i]];
	j.is_other = h->is.is_other;
	j.counted = h->is.counted;
	if (memcmp(&j, &was, sizeof(j)))
		bpf_map_update_elem(k->map[M_JOBS], &h->job, &j, BPF_EXIST);
}

/* h: by job. */
static void forget_ended(struct kern *k, const struct holder *h, unsigned n)
{
	struct jp_cgroup_key key, next;
	bool more = !bpf_map_get_next_key(k->map[M_JOBS], NULL, &key);

	while (more) {
		const struct holder wanted = {.job = key};

		more = !bpf_map_get_next_key(k->map[M_JOBS], &key, &next);
		if (!bsearch(&wanted, h, n, sizeof(*h), by_job))
			bpf_map_delete_elem(k->map[M_JOBS], &key);
		key = next;
	}
}

static void count(struct kern *k, const struct slots *all, struct holder *h, uint32_t *of,
		  bool slots_changed)
{
	unsigned n = merge_jobs(h, find_steps(k, all, h, of));
	uint32_t taken[JP_SHARES] = {0};

	for (unsigned i = 0; i < n; i++)
		add(taken, h[i].is.has);
	merge_users(h, n);
	for (unsigned i = 0; i < n; i++)
		store(k, &h[i]);
	qsort(h, n, sizeof(*h), by_job);
	if (slots_changed)
		forget_ended(k, h, n);
	for (size_t i = 0; i < COUNTED; i++)
		k->control->taken[counted[i]] = taken[counted[i]];
}

void kern_share_count(struct kern *k, bool slots_changed)
{
	const struct slots all = kern__slots(k);
	struct holder *h = calloc(all.nused + 1, sizeof(*h));
	uint32_t *of = calloc(k->nslots, sizeof(*of));

	if (h && of)
		count(k, &all, h, of, slots_changed);
	free(h);
	free(of);
}

void kern_share_emptied(struct kern *k, enum jp_share what)
{
	bool more = k->control->taken[what] != 0;
	struct jp_cgroup_key key;
	struct jp_job j;

	if (more)
		more = !bpf_map_get_next_key(k->map[M_JOBS], NULL, &key);
	for (; more; more = !bpf_map_get_next_key(k->map[M_JOBS], &key, &key)) {
		if (bpf_map_lookup_elem(k->map[M_JOBS], &key, &j) || !j.has[what])
			continue;
		j.has[what] = 0;
		bpf_map_update_elem(k->map[M_JOBS], &key, &j, BPF_EXIST);
	}
	k->control->taken[what] = 0;
}
