// SPDX-License-Identifier: GPL-2.0-only
/* Slots as user space sees them: directories that were there before us, and the way back to FREE.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "identity/layout.h"
#include "kern/internal.h"

/* A task may still be between exit and its last switch when its cgroup has gone. */
#define QUIET_NS 1000000000ull

/* So long a directory is looked for that is new, with a millisecond between two looks. */
#define YOUNG_NS   100000000ull
#define FIND_TRIES 3

const struct jp_control *kern__control(const struct kern *k)
{
	return k->control;
}

const struct jp_slot *kern__slot(const struct kern *k, uint32_t slot)
{
	return slot < k->nslots ? &k->slots[slot] : NULL;
}

int kern__env(const struct kern *k, uint32_t step, struct jp_env *env)
{
	return bpf_map_lookup_elem(k->map[M_ENVS], &step, env) ? -errno : 0;
}

unsigned kern__nslots(const struct kern *k)
{
	return k->nslots;
}

void kern__ack_left(struct kern *k, uint32_t slot, uint64_t seq)
{
	__atomic_store_n(&k->acct[slot].left_acked, seq, __ATOMIC_RELEASE);
}

bool kern__is_reader(const struct kern *k)
{
	return k->readonly;
}

uint64_t kern__slots_changed(const struct kern *k)
{
	return __atomic_load_n(&k->control->stats.slots_changed, __ATOMIC_ACQUIRE);
}

const uint32_t *kern__used(struct kern *k, unsigned *n)
{
	uint64_t at = kern__slots_changed(k) + 1;
	uint32_t i;

	if (at != k->used_at) {
		k->nused = 0;
		for (i = 0; i < k->nslots; i++)
			if (k->slots[i].state != JP_SLOT_FREE)
				k->used[k->nused++] = i;
		k->used_at = at;
	}
	*n = k->nused;
	return k->used;
}

unsigned kern__ncpus(const struct kern *k)
{
	return k->ncpus;
}

const struct jp_sched *kern__sched(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return &k->sched[(size_t)cpu * k->nslots + slot];
}

/* An element of a map that is there only with its family. */
static const void *element(const struct kern *k, enum kern_map m, unsigned cpu, uint32_t slot)
{
	size_t at = kern_maps[m].shape == SHAPE_SLOT ? slot : (size_t)cpu * k->nslots + slot;

	return k->mem[m] ? (const char *)k->mem[m] + at * kern_maps[m].mapped : NULL;
}

const struct jp_lat *kern__lat(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_LAT, cpu, slot);
}

const struct jp_blk *kern__blk(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_BLK, cpu, slot);
}

const struct jp_blk_lat *kern__blk_lat(const struct kern *k, uint32_t slot)
{
	return element(k, M_BLK_LAT, 0, slot);
}

const struct jp_net *kern__net(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_NET, cpu, slot);
}

const struct jp_files *kern__files(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_FILES, cpu, slot);
}

const struct jp_pmu *kern__pmu(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return element(k, M_PMU, cpu, slot);
}

const struct jp_pmu_cpu *kern__pmu_cpu(const struct kern *k, unsigned cpu)
{
	const struct jp_pmu_cpu *c = k->mem[M_PMU_CPU];

	return c ? &c[cpu] : NULL;
}

const struct jp_acct *kern__acct(const struct kern *k, uint32_t slot)
{
	return &k->acct[slot];
}

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

void kern__set_done(struct kern *k, uint32_t slot)
{
	k->slots[slot].flags |= JP_SLOT_F_DONE;
}

static uint32_t take_slot(struct kern *k, uint32_t kind, uint32_t step)
{
	uint32_t slot;

	if ((kind != JP_KIND_STEP && step == JP_SLOT_OTHER) ||
	    bpf_map_lookup_and_delete_elem(k->map[M_FREE], NULL, &slot)) {
		__atomic_fetch_add(&k->control->stats.slots_exhausted, 1, __ATOMIC_RELAXED);
		return JP_SLOT_OTHER;
	}
	k->slots[slot].kind = kind;
	k->slots[slot].step = kind == JP_KIND_STEP ? slot : step;
	k->slots[slot].gtid = JP_GTID_NONE;
	k->slots[slot].start_ns = kern_boot_ns();
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

static void give_back(struct kern *k, uint32_t slot)
{
	if (slot == JP_SLOT_OTHER || slot == JP_SLOT_NONE)
		return;
	if (k->slots[slot].kind == JP_KIND_STEP)
		bpf_map_delete_elem(k->map[M_ENVS], &slot);
	zero_slot(k, slot);
	k->missed_ns[slot] = 0;
	k->slots[slot].state = JP_SLOT_FREE;
	k->freed++;
	__atomic_fetch_add(&k->control->stats.slots_changed, 1, __ATOMIC_RELEASE);
	bpf_map_update_elem(k->map[M_FREE], NULL, &slot, BPF_ANY);
}

/* User space's twin of make_entry() in bpf/life.bpf.c. */
static bool make_entry(struct kern *k, const struct jp_cgroup *up, unsigned node,
		       struct jp_cgroup *e)
{
	const struct jp_node *n = node ? &k->nodes[node] : NULL;

	*e = (struct jp_cgroup){.node = node,
				.step = up->step,
				.flags = up->flags,
				.kind = n ? n->kind : JP_KIND_GROUP,
				.slot = JP_SLOT_NONE};
	switch (e->kind) {
	case JP_KIND_PATH:
	case JP_KIND_STEPD:
		return true;
	case JP_KIND_STEP:
		e->slot = e->step = take_slot(k, JP_KIND_STEP, 0);
		e->flags = n ? n->flags : 0;
		return true;
	case JP_KIND_TASK:
		e->slot = take_slot(k, JP_KIND_TASK, up->step);
		return true;
	default:
		e->slot = up->slot;
		if (up->kind == JP_KIND_STEPD)
			e->kind = JP_KIND_STEPD;
		return up->kind != JP_KIND_PATH;
	}
}

struct walk {
	struct kern *k;
	uint32_t hier;
	char path[1024]; /* below the hierarchy's root */
	bool closed;	 /* only root makes directories in the one that is read */
	unsigned found;
};

/* As may_be() in bpf/life.bpf.c: one that root has made may have been given away since. */
static bool may_be(const struct walk *w, unsigned node, const struct stat *st)
{
	return w->k->nodes[node].flags & JP_NODE_ANYONE || !st->st_uid || w->closed;
}

static void describe(struct walk *w, const struct jp_cgroup *e, uint64_t id)
{
	struct jp_slot *s = &w->k->slots[e->slot];

	s->cgroup_id = id;
	s->hier = w->hier;
	if (e->flags & JP_NODE_NEED_STEPD)
		s->flags |= JP_SLOT_F_ENV;
	if (strlen(w->path) < JP_PATH_LEN) {
		strcpy(s->path, w->path);
		s->path_len = strlen(w->path) + 1;
	}
	w->found++;
}

static bool takes_slot(const struct jp_cgroup *e)
{
	return e->kind == JP_KIND_STEP || e->kind == JP_KIND_TASK;
}

static bool any_free(const struct kern *k)
{
	uint32_t slot;

	return !bpf_map_lookup_elem(k->map[M_FREE], NULL, &slot);
}

/* A directory that found all slots taken gets one as soon as there are some, or what the directory
 * above it has. */
static void place_late(struct walk *w, const struct jp_cgroup *up, const struct jp_cgroup_key *key,
		       struct jp_cgroup *e)
{
	struct kern *k = w->k;
	struct jp_cgroup late;

	if (e->kind != JP_KIND_STEP && up->step == JP_SLOT_OTHER)
		return;
	if (takes_slot(e) && !any_free(k)) {
		k->unplaced++;
		return;
	}
	if (!make_entry(k, up, e->node, &late) || late.slot == JP_SLOT_OTHER)
		return;
	if (!bpf_map_update_elem(k->map[M_CGROUPS], key, &late, BPF_EXIST)) {
		*e = late;
		if (takes_slot(e))
			describe(w, e, key->id);
	} else if (takes_slot(&late)) {
		give_back(k, late.slot);
	}
}

/* An open directory that has been removed still tells its number, but has no files any more. */
static bool is_removed(int dirfd)
{
	return faccessat(dirfd, "cgroup.procs", F_OK, 0) && errno == ENOENT;
}

/* The entry is of a directory that the kernel had forgotten before it was made: it is undone. */
static bool is_late(struct kern *k, int dirfd, const struct jp_cgroup_key *key,
		    const struct jp_cgroup *e)
{
	if (!is_removed(dirfd) || bpf_map_delete_elem(k->map[M_CGROUPS], key))
		return false;
	if (takes_slot(e))
		give_back(k, e->slot);
	return true;
}

/* The open directory's entry, made if the kernel has not made it; false: none of ours. */
static bool entry_of(struct walk *w, const struct jp_cgroup *up, const char *name, int dirfd,
		     const struct stat *st, struct jp_cgroup *e)
{
	struct jp_cgroup_key key = {.id = st->st_ino, .hier = w->hier};
	struct kern *k = w->k;
	unsigned node;

	if (!bpf_map_lookup_elem(k->map[M_CGROUPS], &key, e)) {
		if (e->slot == JP_SLOT_OTHER)
			place_late(w, up, &key, e);
		return true;
	}
	node = up->node ? layout__child(k->nodes, up->node, name) : 0;
	if (node && !may_be(w, node, st))
		node = 0;
	if (!make_entry(k, up, node, e))
		return false;
	if (!bpf_map_update_elem(k->map[M_CGROUPS], &key, e, BPF_NOEXIST)) {
		if (is_late(k, dirfd, &key, e))
			return false;
		if (takes_slot(e) && e->slot != JP_SLOT_OTHER)
			describe(w, e, key.id);
		return true;
	}
	if (takes_slot(e))
		give_back(k, e->slot);
	if (errno != EEXIST) {
		__atomic_fetch_add(&k->control->stats.cgroups_full, 1, __ATOMIC_RELAXED);
		return false;
	}
	return !bpf_map_lookup_elem(k->map[M_CGROUPS], &key, e); /* the kernel was faster */
}

static void walk_dir(struct walk *w, int dirfd, const struct jp_cgroup *up, int depth)
{
	size_t len = strlen(w->path);
	struct dirent *d;
	struct stat own;
	bool closed;
	DIR *dir;

	closed = !fstat(dirfd, &own) && !own.st_uid && !(own.st_mode & (S_IWGRP | S_IWOTH));
	if (depth > 32 || !(dir = fdopendir(dirfd))) {
		close(dirfd);
		return;
	}
	while ((d = readdir(dir))) {
		struct jp_cgroup e;
		struct stat st;
		int fd;

		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		if (len + strlen(d->d_name) + 2 > sizeof(w->path))
			continue;
		fd = openat(dirfd, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue; /* vanished */
		snprintf(w->path + len, sizeof(w->path) - len, "/%s", d->d_name);
		w->closed = closed;
		if (!fstat(fd, &st) && entry_of(w, up, d->d_name, fd, &st, &e))
			walk_dir(w, fd, &e, depth + 1);
		else
			close(fd);
		w->path[len] = 0;
	}
	closedir(dir);
}

static int walk_root(struct kern *k, const struct kern_root *r, unsigned *found)
{
	struct jp_cgroup_key key = {.hier = r->hier};
	struct jp_cgroup e = {
		.slot = JP_SLOT_NONE, .step = JP_SLOT_NONE, .node = r->node, .kind = JP_KIND_PATH};
	struct walk w = {.k = k, .hier = r->hier};
	struct stat st;
	int fd = open(r->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st)) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return kern_fail(err, "cannot open %s: %s: is the cgroup hierarchy mounted?",
				 r->mount, strerror(-err));
	}
	key.id = st.st_ino;
	if (bpf_map_update_elem(k->map[M_CGROUPS], &key, &e, BPF_ANY)) {
		int err = -errno;

		close(fd);
		return kern_fail(err, "cannot register %s: %s", r->mount, strerror(-err));
	}
	walk_dir(&w, fd, &e, 0);
	*found += w.found;
	return 0;
}

/* mkdir tells of a directory a moment before it can be found. */
static bool is_gone(const struct jp_slot *s, const char *path)
{
	struct stat st;

	for (int i = 0; i < FIND_TRIES; i++) {
		if (!stat(path, &st))
			return st.st_ino != s->cgroup_id;
		if (kern_boot_ns() - s->start_ns > YOUNG_NS)
			return true;
		usleep(1000);
	}
	return true;
}

/* Slots whose cgroup went while nobody was told (rmdir is attached only with the others). */
static void retire_vanished(struct kern *k)
{
	uint32_t i;
	unsigned r;

	for (i = JP_SLOT_FIRST; i < k->nslots; i++) {
		struct jp_slot *s = &k->slots[i];
		struct jp_cgroup_key key = {.id = s->cgroup_id, .hier = s->hier};
		char path[512];

		if (s->state != JP_SLOT_ACTIVE || s->kind == JP_KIND_LINEAGE || !s->path_len)
			continue;
		for (r = 0; r < k->opts.nroots && k->opts.roots[r].hier != s->hier; r++)
			;
		if (r == k->opts.nroots)
			continue;
		snprintf(path, sizeof(path), "%s%s", k->opts.roots[r].mount, s->path);
		if (!is_gone(s, path))
			continue;
		s->end_ns = kern_boot_ns();
		s->state = JP_SLOT_DRAINING;
		bpf_map_delete_elem(k->map[M_CGROUPS], &key);
	}
}

uint64_t kern__freed(const struct kern *k)
{
	return k->freed;
}

unsigned kern__unplaced(const struct kern *k)
{
	return k->unplaced;
}

int kern__rescan(struct kern *k, unsigned *found)
{
	unsigned i, n = 0;
	int err = 0;

	k->unplaced = 0;
	for (i = 0; !err && i < k->opts.nroots; i++)
		err = walk_root(k, &k->opts.roots[i], &n);
	if (!err)
		retire_vanished(k);
	if (!err && kern__attached(k)) {
		kern_pmu_open_all(k); /* CPUs may have come */
		err = kern__sweep(k);
	}
	if (found)
		*found = n;
	return err;
}

uint32_t kern__lineage(struct kern *k, uint32_t step, int gtid, pid_t root, uid_t uid)
{
	uint32_t slot = take_slot(k, JP_KIND_LINEAGE, step);

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
	kern__set_done(k, slot);
	kern__close(k, slot);
	k->nreleased += !k->released[slot];
	k->released[slot] = true;
	k->quiet_ns[slot] = 0;
}

bool kern__released(const struct kern *k, uint32_t slot)
{
	return k->released[slot];
}

bool kern__held(const struct kern *k, uint32_t slot)
{
	uint64_t out = 0;
	unsigned cpu;

	for (cpu = 0; cpu < k->ncpus; cpu++)
		out += kern__sched(k, cpu, slot)->tasks_out;
	return out != k->acct[slot].tasks_in;
}

unsigned kern__reap(struct kern *k)
{
	uint64_t now = kern_boot_ns();
	unsigned left = 0;
	uint32_t i;

	for (i = JP_SLOT_FIRST; k->nreleased && i < k->nslots; i++) {
		if (!k->released[i])
			continue;
		left++;
		if (kern__held(k, i)) {
			k->quiet_ns[i] = 0;
			continue;
		}
		if (!k->quiet_ns[i])
			k->quiet_ns[i] = now;
		if (now - k->quiet_ns[i] < QUIET_NS || !kern_pmu_leave(k, i))
			continue;
		k->released[i] = false;
		k->nreleased--;
		give_back(k, i);
		left--;
	}
	return left;
}
