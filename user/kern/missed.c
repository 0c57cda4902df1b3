// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU time that no program has counted. A step's cgroup gets its slot when it is made, but the
 * programs that count are attached some milliseconds later, or later where jobprofd has to wait for
 * a CPU; and a step that finds all slots taken gets one later. The time that the processes used
 * until then is in the cgroup's own account.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/io_full.h"
#include "identity/layout.h"
#include "kern/internal.h"

#define TRIES 8 /* to read what belongs together */

static bool read_number(int dir, const char *file, const char *key, uint64_t *n)
{
	char text[1024];
	const char *at = text;
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read_full(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	if (key) {
		at = strstr(text, key);
		at = at ? at + strlen(key) : "";
	}
	if (*at < '0' || *at > '9')
		return false;
	*n = strtoull(at, NULL, 10);
	return true;
}

/* CPU time of the processes that are or were in the directory; false: not known. */
static bool cpu_of(int dir, uint64_t *ns)
{
	if (read_number(dir, "cpu.stat", "usage_usec ", ns)) {
		*ns *= 1000;
		return true;
	}
	return read_number(dir, "cpuacct.usage", NULL, ns);
}

/* CPU time of slurmstepd, which is in directories of its own below a step's. */
static uint64_t used_by_stepd(const struct kern *k, DIR *step, unsigned component)
{
	uint64_t all = 0, own;
	struct dirent *d;

	rewinddir(step);
	while ((d = readdir(step))) {
		unsigned child = d->d_type == DT_DIR && d->d_name[0] != '.'
					 ? layout__child(k->components, component, d->d_name)
					 : 0;
		int fd =
			child && k->components[child].kind == JP_KIND_STEPD
				? openat(dirfd(step), d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				: -1;

		if (fd >= 0 && cpu_of(fd, &own))
			all += own;
		if (fd >= 0)
			close(fd);
	}
	return all;
}

/* CPU time in a step's directory fd, which is closed, without that of slurmstepd. 0: not known. */
static uint64_t used_in(const struct kern *k, int fd, unsigned component)
{
	uint64_t all = 0, own, was;
	DIR *dir = fdopendir(fd);

	if (!dir) {
		close(fd);
		return 0;
	}
	if (cpu_of(fd, &all)) {
		own = used_by_stepd(k, dir, component);
		for (unsigned i = 0; i < TRIES; i++) {
			was = own;
			cpu_of(fd, &all);
			own = used_by_stepd(k, dir, component);
			if (own == was)
				break;
		}
		all -= own < all ? own : all;
	}
	closedir(dir);
	return all;
}

static uint64_t used_by(const struct kern *k, const struct jp_slot *s)
{
	struct jp_cgroup_key key = {.id = s->cgroup_id, .hier = s->hier};
	struct jp_cgroup e;
	char path[512];
	unsigned r = 0;
	int fd;

	while (r < k->opts.nroots && k->opts.roots[r].hier != s->hier)
		r++;
	if (bpf_map_lookup_elem(k->map[M_CGROUPS], &key, &e))
		return UINT64_MAX; /* it has been removed since */
	if (r == k->opts.nroots || !s->path_len)
		return 0;
	snprintf(path, sizeof(path), "%s%s", k->opts.roots[r].mount, s->path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? UINT64_MAX : 0;
	return used_in(k, fd, e.component);
}

static bool is_in(const struct kern *k, uint32_t slot, uint32_t step)
{
	return slot < k->nslots && slot >= JP_SLOT_FIRST && k->slots[slot].step == step;
}

/* CPU time that the step's slots have by now; with what its tasks have since their last switch. */
static int counted_in(struct kern *k, uint32_t step, struct kern_tasks *t, uint64_t *ns)
{
	const uint32_t *used;
	unsigned n;
	int err = kern__tasks(k, t);

	*ns = 0;
	if (err)
		return err;
	used = kern__used(k, &n);
	for (unsigned i = 0; i < n; i++)
		for (unsigned cpu = 0; is_in(k, used[i], step) && cpu < k->ncpus; cpu++)
			*ns += kern__sched(k, cpu, used[i])->cpu_ns;
	for (size_t i = 0; i < t->n; i++)
		if (is_in(k, t->rec[i].sched_slot, step) && (int64_t)t->rec[i].cpu_ns > 0)
			*ns += t->rec[i].cpu_ns;
	return 0;
}

/* The kernel brings a cgroup's account up to date together with the tasks': at every tick, say.
 * What is counted before one and after it is in both, unless they are read with none between them.
 */
static uint64_t missed_in(struct kern *k, uint32_t step, struct kern_tasks *t)
{
	uint64_t used = used_by(k, &k->slots[step]), counted, was;

	if (!used || used == UINT64_MAX)
		return used;
	if (counted_in(k, step, t, &counted))
		return UINT64_MAX;
	for (unsigned i = 0; i < TRIES; i++) {
		was = counted;
		used = used_by(k, &k->slots[step]);
		if (used == UINT64_MAX || counted_in(k, step, t, &counted))
			return UINT64_MAX;
		if (counted == was)
			break;
	}
	return used > counted ? used - counted : 0;
}

void kern_record_missed(struct kern *k, bool late)
{
	struct kern_tasks tasks = {0};
	const uint32_t *used;
	uint32_t *steps;
	unsigned n, nsteps = 0;

	used = kern__used(k, &n);
	steps = calloc(n + 1, sizeof(*steps)); /* the other list is good for one call */
	for (unsigned i = 0; steps && i < n; i++)
		if (used[i] >= JP_SLOT_FIRST && k->slots[used[i]].kind == JP_KIND_STEP &&
		    !k->released[used[i]] && (!late || k->missed_ns[used[i]] == KERN_PLACED_LATE))
			steps[nsteps++] = used[i];
	for (unsigned i = 0; i < nsteps; i++)
		k->missed_ns[steps[i]] = missed_in(k, steps[i], &tasks);
	kern__tasks_free(&tasks);
	free(steps);
}

uint64_t kern__missed_ns(const struct kern *k, uint32_t slot)
{
	return k->missed_ns[slot];
}
