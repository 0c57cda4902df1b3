// SPDX-License-Identifier: GPL-2.0-or-later
/* The life of a slot in user space: taken, closed, released and given back. */
#include <string.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "kern/internal.h"

/* A task may still be between exit and its last switch when its cgroup has gone. */
#define QUIET_NS 1000000000ull
/* A task whose birth nobody has seen is counted when the kernel frees it. That is some milliseconds
 * after it was reaped, and is not always told: probes of other programs come and go. */
#define FREED_MOST_NS 10000000000ull
/* The user of a step may become known later than its slots. */
#define SHARE_NS 1000000000ull

void kern__set_gtid(struct kern *k, uint32_t slot, int gtid, enum jp_gtid_source source)
{
	k->slots[slot].gtid = gtid;
	k->slots[slot].gtid_source = source;
}

void kern__set_root(struct kern *k, uint32_t slot, pid_t pid, uid_t uid)
{
	k->slots[slot].root_pid = pid;
	k->slots[slot].uid = uid;
}

void kern__set_done(struct kern *k, uint32_t slot, bool done)
{
	if (done)
		k->slots[slot].flags |= JP_SLOT_F_DONE;
	else
		k->slots[slot].flags &= ~JP_SLOT_F_DONE;
}

uint32_t kern_take_slot(struct kern *k, uint32_t kind, uint32_t step,
			const struct jp_cgroup_key *job)
{
	bool is_step = kind == JP_KIND_STEP;
	uint32_t slot;

	if (!kern_share_take(k, job, is_step ? JP_SHARE_STEPS : JP_SHARE_SLOTS) ||
	    bpf_map_lookup_and_delete_elem(k->map[M_FREE], NULL, &slot)) {
		if (is_step)
			__atomic_fetch_add(&k->control->stats.slots_exhausted, 1, __ATOMIC_RELAXED);
		else if (kind == JP_KIND_TASK) /* of which a lineage may be asked for later */
			__atomic_fetch_add(&k->acct[step].lost[JP_LOST_TASKS], 1, __ATOMIC_RELAXED);
		return JP_SLOT_OTHER;
	}
	k->slots[slot].kind = kind;
	k->slots[slot].step = is_step ? slot : step;
	k->slots[slot].gtid = JP_GTID_NONE;
	k->slots[slot].start_ns = clock__boot_ns();
	k->slots[slot].flags = JP_SLOT_F_BASE;
	k->slots[slot].state = JP_SLOT_ACTIVE;
	__atomic_fetch_add(&k->control->stats.slots_changed, 1, __ATOMIC_RELEASE);
	return slot;
}

static void zero_slot(struct kern *k, uint32_t slot)
{
	uint32_t gen = k->slots[slot].gen;
	unsigned cpu;
	int m;

	for (m = 0; m < M_N; m++) {
		size_t size = kern_maps[m].mapped;
		char *mem = k->mem[m];

		if (!mem)
			continue;
		if (kern_maps[m].shape == SHAPE_SLOT)
			memset(mem + slot * size, 0, size);
		for (cpu = 0; kern_maps[m].shape == SHAPE_CPU_SLOT && cpu < k->ncpus; cpu++)
			memset(mem + ((size_t)cpu * k->nslots + slot) * size, 0, size);
	}
	k->slots[slot].gen = gen + 1;
}

/* Another slot may have the rank: they began at the same time. */
static void forget_rank(struct kern *k, uint32_t slot)
{
	const struct jp_slot *s = &k->slots[slot];
	struct jp_rank_key key = {.task = s->task, .gen = s->task_gen, .rank = s->rank};
	uint32_t has;

	if (!bpf_map_lookup_elem(k->map[M_RANKS], &key, &has) && has == slot)
		bpf_map_delete_elem(k->map[M_RANKS], &key);
}

/* The program on rmdir has left it, as tasks whose birth nobody has seen were to be freed. */
static void forget_cgroup(struct kern *k, uint32_t slot)
{
	struct jp_cgroup_key key = {.id = k->slots[slot].cgroup_id, .hier = k->slots[slot].hier};
	struct jp_cgroup e;

	if (!bpf_map_lookup_elem(k->map[M_CGROUPS], &key, &e) && e.slot == slot)
		bpf_map_delete_elem(k->map[M_CGROUPS], &key);
}

void kern_give_back(struct kern *k, uint32_t slot)
{
	if (slot == JP_SLOT_OTHER || slot == JP_SLOT_NONE)
		return;
	if (k->slots[slot].kind == JP_KIND_STEP) {
		bpf_map_delete_elem(k->map[M_ENVS], &slot);
		kern_forget_commands(k, slot);
	} else if (k->slots[slot].kind == JP_KIND_RANK) {
		forget_rank(k, slot);
	}
	if (k->control->unseen)
		forget_cgroup(k, slot);
	zero_slot(k, slot);
	k->missed_ns[slot] = 0;
	k->slots[slot].state = JP_SLOT_FREE;
	k->freed++;
	__atomic_fetch_add(&k->control->stats.slots_changed, 1, __ATOMIC_RELEASE);
	bpf_map_update_elem(k->map[M_FREE], NULL, &slot, BPF_ANY);
}

uint64_t kern__freed(const struct kern *k)
{
	return k->freed;
}

uint32_t kern__lineage(struct kern *k, uint32_t step, int gtid, pid_t root, uid_t uid)
{
	const struct jp_cgroup_key job = kern_share_job(&k->slots[step]);
	uint32_t slot = kern_take_slot(k, JP_KIND_LINEAGE, step, &job);

	k->control->descent = 1;
	if (slot == JP_SLOT_OTHER)
		return slot;
	k->slots[slot].cgroup_id = k->slots[step].cgroup_id;
	k->slots[slot].hier = k->slots[step].hier;
	k->slots[slot].flags |= JP_SLOT_F_ENV;
	kern__set_root(k, slot, root, uid);
	kern__set_gtid(k, slot, gtid, JP_GTID_ENVIRON);
	return slot;
}

int kern__adopt(struct kern *k, const struct kern_adopted *a, unsigned n)
{
	unsigned i;
	int err;

	for (i = 0; i < n; i++)
		bpf_map_update_elem(k->map[M_ADOPT], &a[i].tgid, &a[i].slot, BPF_ANY);
	err = kern__sweep(k);
	for (i = 0; i < n; i++)
		bpf_map_delete_elem(k->map[M_ADOPT], &a[i].tgid);
	return err;
}

void kern__close(struct kern *k, uint32_t slot)
{
	k->slots[slot].state = JP_SLOT_CLOSED;
}

void kern__release(struct kern *k, uint32_t slot)
{
	if (slot < JP_SLOT_FIRST || slot >= k->nslots)
		return;
	k->slots[slot].flags |= JP_SLOT_F_DONE | JP_SLOT_F_GIVEN;
	kern__close(k, slot);
	k->nreleased += !k->released[slot];
	k->released[slot] = true;
	k->unheld_ns[slot] = 0;
}

bool kern__released(const struct kern *k, uint32_t slot)
{
	return k->released[slot];
}

uint64_t kern__tasks_left(const struct kern *k, uint32_t slot)
{
	uint64_t out = 0, in;
	unsigned cpu;

	for (cpu = 0; cpu < k->ncpus; cpu++)
		out += kern__sched(k, cpu, slot)->tasks_out;
	in = k->acct[slot].tasks_in;
	return in > out ? in - out : 0;
}

bool kern__held(const struct kern *k, uint32_t slot)
{
	uint64_t end = k->slots[slot].end_ns;

	if (k->control->unseen && end && clock__boot_ns() - end > FREED_MOST_NS)
		return false;
	return kern__tasks_left(k, slot) > 0;
}

unsigned kern__reap(struct kern *k)
{
	uint64_t now = clock__boot_ns();
	bool changed = k->shared_at != kern__slots_changed(k) + 1;
	unsigned left = 0;
	uint32_t i;

	if (changed || now > k->shared_ns + SHARE_NS) {
		k->shared_at = kern__slots_changed(k) + 1;
		k->shared_ns = now;
		kern_share_count(k, changed);
	}
	for (i = JP_SLOT_FIRST; k->nreleased && i < k->nslots; i++) {
		if (!k->released[i])
			continue;
		left++;
		if (kern__held(k, i)) {
			k->unheld_ns[i] = 0;
			continue;
		}
		if (!k->unheld_ns[i])
			k->unheld_ns[i] = now;
		if (now - k->unheld_ns[i] < QUIET_NS || !kern_pmu_release(k, i))
			continue;
		k->released[i] = false;
		k->nreleased--;
		kern_give_back(k, i);
		left--;
	}
	return left;
}
