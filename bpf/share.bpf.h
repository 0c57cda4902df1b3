/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shares of a job in the tables of the node: a job may take as much of each table as it leaves free
 * for others, so that it cannot use up what another job needs. What it does not get is counted as
 * lost in its step.
 */
#ifndef JP_SHARE_BPF_H
#define JP_SHARE_BPF_H

#include "bpf/maps.bpf.h"

/* The key of a step's job: its directory, or that of the step where the job has none. */
static __always_inline bool share_key(u32 step, struct jp_cgroup_key *key)
{
	struct jp_slot *s = step < JP_SLOT_FIRST ? NULL : bpf_map_lookup_elem(&jp_slots, &step);

	if (!s)
		return false;
	key->id = s->job ? s->job : s->cgroup_id;
	key->hier = s->hier;
	return true;
}

/* Where the share of a job is counted. */
static __always_inline struct jp_job *share_of(const struct jp_cgroup_key *key)
{
	struct jp_job *j = bpf_map_lookup_elem(&jp_jobs, key), *other;

	if (!j || !j->is_other)
		return j;
	other = bpf_map_lookup_elem(&jp_jobs, &j->counted);
	return other ? other : j;
}

static __always_inline u32 share_limit(const struct jp_control *c, u32 what)
{
	u32 room = jp_share_room[what], taken = c->taken[what];

	if (taken >= room)
		return 0;
	return jp_follow ? room : room - taken; /* jobprof run has one job */
}

/* One more of a table for a job; false: it has its share, or the table is full. */
static __noinline int job_take(const struct jp_cgroup_key *key, enum jp_share what)
{
	struct jp_control *c = control();
	struct jp_job *j, none = {};
	u32 limit;

	if (!c || what >= JP_SHARES)
		return false;
	limit = share_limit(c, what);
	j = share_of(key);
	if (!j && limit) { /* no entry for a job that gets nothing: the table has room for others */
		bpf_map_update_elem(&jp_jobs, key, &none, BPF_NOEXIST);
		j = share_of(key);
	}
	if (!j || j->has[what] >= limit)
		return false;
	__sync_fetch_and_add(&j->has[what], 1);
	__sync_fetch_and_add(&c->taken[what], 1);
	return true;
}

static __noinline int job_give(const struct jp_cgroup_key *key, enum jp_share what)
{
	struct jp_job *j = share_of(key);
	struct jp_control *c = control();

	if (!c || what >= JP_SHARES)
		return 0;
	if (j && j->has[what])
		__sync_fetch_and_add(&j->has[what], -1);
	if (c->taken[what])
		__sync_fetch_and_add(&c->taken[what], -1);
	return 0;
}

/* As job_take() and job_give(), for the job of a step. */
static __always_inline bool share_take(u32 step, enum jp_share what)
{
	struct jp_cgroup_key key = {};

	return share_key(step, &key) && job_take(&key, what);
}

static __always_inline void share_give(u32 step, enum jp_share what)
{
	struct jp_cgroup_key key = {};

	if (share_key(step, &key))
		job_give(&key, what);
}

static __always_inline void count_loss(u32 step, enum jp_loss what)
{
	struct jp_acct *a = bpf_map_lookup_elem(&jp_acct, &step);

	if (a)
		__sync_fetch_and_add(&a->lost[what], 1);
}

/* The step of a slot. */
static __always_inline u32 step_of(u32 slot)
{
	struct jp_slot *s = bpf_map_lookup_elem(&jp_slots, &slot);

	return s ? s->step : JP_SLOT_OTHER;
}

#endif
