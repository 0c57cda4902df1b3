// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Directories of cgroups that were there before the programs, or that found no slot: a walk over
 * the hierarchies registers them as bpf/life.bpf.c does those that appear later.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "identity/layout.h"
#include "kern/internal.h"

/* For that long a new directory is searched, with a millisecond between two tries. */
#define YOUNG_NS   100000000ull
#define FIND_TRIES 3

/* User space's twin of make_entry() in bpf/life.bpf.c. */
static bool make_entry(struct kern *k, const struct jp_cgroup *up, unsigned component,
		       const struct jp_cgroup_key *own, struct jp_cgroup *e)
{
	struct jp_cgroup_key job = {.id = up->job ? up->job : own->id, .hier = own->hier};
	const struct jp_component *n = component ? &k->components[component] : NULL;

	*e = (struct jp_cgroup){.component = component,
				.step = up->step,
				.flags = up->flags,
				.job = up->job,
				.kind = n ? n->kind : JP_KIND_GROUP,
				.slot = JP_SLOT_NONE};
	switch (e->kind) {
	case JP_KIND_PATH:
	case JP_KIND_STEPD:
		return true;
	case JP_KIND_STEP:
		e->slot = e->step = kern_take_slot(k, JP_KIND_STEP, 0, &job);
		e->flags = n ? n->flags : 0;
		return true;
	case JP_KIND_TASK:
		if (up->step >= JP_SLOT_FIRST && up->step < k->nslots)
			e->slot = kern_take_slot(k, JP_KIND_TASK, up->step, &job);
		else
			e->slot = JP_SLOT_OTHER;
		if (e->slot == JP_SLOT_OTHER)
			e->slot = up->step;
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

/* Decides as may_have_kind() of bpf/life.bpf.c does: a directory that root has made may have been
 * given away since. */
static bool may_have_kind(const struct walk *w, unsigned component, const struct stat *st)
{
	return w->k->components[component].flags & JP_COMPONENT_ANYONE || !st->st_uid || w->closed;
}

static void describe_slot(struct walk *w, const struct jp_cgroup *e, uint64_t id)
{
	struct jp_slot *s = &w->k->slots[e->slot];

	s->cgroup_id = id;
	s->hier = w->hier;
	s->job = e->job;
	if (e->flags & JP_COMPONENT_NEED_STEPD)
		s->flags |= JP_SLOT_F_ENV;
	if (strlen(w->path) < JP_PATH_LEN) {
		strcpy(s->path, w->path);
		s->path_len = strlen(w->path) + 1;
	}
	w->found++;
}

/* The next two as in bpf/life.bpf.c. */
static bool has_own_slot(const struct jp_cgroup *e)
{
	return e->slot != JP_SLOT_OTHER &&
	       (e->kind == JP_KIND_STEP || (e->kind == JP_KIND_TASK && e->slot != e->step));
}

static bool is_group(const struct jp_cgroup *e)
{
	return !e->component && e->step != JP_SLOT_NONE;
}

/* A group of a step without a slot has no entry: the step's stands for it. */
static bool take_group(struct kern *k, const struct jp_cgroup *e)
{
	struct jp_cgroup_key job;

	if (e->step < JP_SLOT_FIRST || e->step >= k->nslots)
		return false;
	job = kern_share_job(&k->slots[e->step]);
	return kern_share_take(k, &job, JP_SHARE_GROUPS);
}

/* What was taken for an entry that is not there after all. */
static void give_back(struct kern *k, const struct jp_cgroup *e)
{
	struct jp_cgroup_key job;

	if (has_own_slot(e)) {
		kern_give_back(k, e->slot);
	} else if (is_group(e)) {
		job = kern_share_job(&k->slots[e->step]);
		kern_share_give(k, &job, JP_SHARE_GROUPS);
	}
}

/* Notes a step that found no slot. */
static void note_unplaced(struct walk *w)
{
	struct kern *k = w->k;
	size_t at = strlen(k->unplaced_names), len = strlen(w->path);

	k->unplaced++;
	if (at + len + 3 >= sizeof(k->unplaced_names))
		return;
	if (at) {
		memcpy(k->unplaced_names + at, ", ", 2);
		at += 2;
	}
	memcpy(k->unplaced_names + at, w->path, len + 1);
}

static bool may_have_step(const struct kern *k, const struct jp_cgroup_key *job)
{
	uint32_t slot;

	return kern_share_left(k, job, JP_SHARE_STEPS) &&
	       !bpf_map_lookup_elem(k->map[M_FREE], NULL, &slot);
}

/* A step that found all slots taken gets one as soon as there are some, and then the directories
 * below it what they would have had. */
static void place_late(struct walk *w, const struct jp_cgroup *up, const struct jp_cgroup_key *key,
		       struct jp_cgroup *e)
{
	struct jp_cgroup_key job = {.id = e->job ? e->job : key->id, .hier = w->hier};
	struct kern *k = w->k;
	struct jp_cgroup late;

	if (e->kind != JP_KIND_STEP && up->step == JP_SLOT_OTHER)
		return;
	if (e->kind == JP_KIND_STEP && !may_have_step(k, &job)) {
		note_unplaced(w);
		return;
	}
	if (!make_entry(k, up, e->component, key, &late) || late.slot == JP_SLOT_OTHER)
		return;
	late.job = e->job;
	if (!bpf_map_update_elem(k->map[M_CGROUPS], key, &late, BPF_EXIST)) {
		*e = late;
		if (has_own_slot(e))
			describe_slot(w, e, key->id);
		if (e->kind == JP_KIND_STEP) {
			k->missed_ns[e->slot] = KERN_PLACED_LATE;
			k->placed_late = true;
		}
	} else if (has_own_slot(&late)) {
		kern_give_back(k, late.slot);
	}
}

/* An open directory that has been removed still has its number, but no files any more. */
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
	give_back(k, e);
	return true;
}

/* The entry was made with other layouts (user/kern/carry.c). */
static void find_component(struct walk *w, const struct jp_cgroup *up, const char *name,
			   const struct jp_cgroup_key *key, struct jp_cgroup *e)
{
	e->component = up->component ? layout__child(w->k->components, up->component, name) : 0;
	if (e->component)
		bpf_map_update_elem(w->k->map[M_CGROUPS], key, e, BPF_EXIST);
}

/* The open directory's entry, made if the kernel has not made it; false: the directory is in no
 * layout. */
static bool entry_of(struct walk *w, const struct jp_cgroup *up, const char *name, int dirfd,
		     const struct stat *st, struct jp_cgroup *e)
{
	struct jp_cgroup_key key = {.id = st->st_ino, .hier = w->hier};
	struct kern *k = w->k;
	unsigned component;
	int err;

	if (!bpf_map_lookup_elem(k->map[M_CGROUPS], &key, e)) {
		if (e->slot == JP_SLOT_OTHER)
			place_late(w, up, &key, e);
		else if (!e->component && e->kind != JP_KIND_GROUP)
			find_component(w, up, name, &key, e);
		return true;
	}
	component = up->component ? layout__child(k->components, up->component, name) : 0;
	if (component && !may_have_kind(w, component, st))
		component = 0;
	if (!make_entry(k, up, component, &key, e) || (is_group(e) && !take_group(k, e)))
		return false;
	if (k->components[component].flags & JP_COMPONENT_WAKE)
		e->job = key.id;
	if (!bpf_map_update_elem(k->map[M_CGROUPS], &key, e, BPF_NOEXIST)) {
		if (is_late(k, dirfd, &key, e))
			return false;
		if (has_own_slot(e))
			describe_slot(w, e, key.id);
		return true;
	}
	err = errno;
	give_back(k, e);
	if (err != EEXIST) {
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
	struct jp_cgroup e = {.slot = JP_SLOT_NONE,
			      .step = JP_SLOT_NONE,
			      .component = r->component,
			      .kind = JP_KIND_PATH};
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

/* The program on mkdir reports a directory a moment before it can be found. */
static bool is_gone(const struct jp_slot *s, const char *path)
{
	struct stat st;

	for (int i = 0; i < FIND_TRIES; i++) {
		if (!stat(path, &st))
			return st.st_ino != s->cgroup_id;
		if (clock__boot_ns() - s->start_ns > YOUNG_NS)
			return true;
		usleep(1000);
	}
	return true;
}

/* Retires slots whose cgroup went unseen: the program on rmdir is attached only with the others. */
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
		s->end_ns = clock__boot_ns();
		s->state = JP_SLOT_DRAINING;
		bpf_map_delete_elem(k->map[M_CGROUPS], &key);
	}
}

unsigned kern__unplaced(const struct kern *k)
{
	return k->unplaced;
}

const char *kern__unplaced_names(const struct kern *k)
{
	return k->unplaced_names;
}

int kern__rescan(struct kern *k, unsigned *found)
{
	unsigned i, n = 0;
	int err = 0;

	k->unplaced = 0;
	k->unplaced_names[0] = 0;
	k->placed_late = false;
	for (i = 0; !err && i < k->opts.nroots; i++)
		err = walk_root(k, &k->opts.roots[i], &n);
	if (!err)
		retire_vanished(k);
	if (!err && kern__attached(k)) {
		kern_pmu_open_all(k); /* CPUs may have come */
		if (k->clock)
			kern_sample_start(k);
		err = kern__sweep(k);
	}
	if (k->placed_late)
		kern_record_missed(k, true);
	if (found)
		*found = n;
	return err;
}
