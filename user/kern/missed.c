// SPDX-License-Identifier: GPL-2.0-only
/*
 * What nobody has counted: a step's cgroup gets its slot when it is made, but the programs that
 * count follow when they are attached, some milliseconds later, or more where jobprofd has to wait
 * for a CPU. What its processes have used until then, the cgroup itself knows.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/fully.h"
#include "job/layout.h"
#include "kern/internal.h"

static bool read_number(int dir, const char *file, const char *key, uint64_t *n)
{
	char text[1024];
	const char *at = text;
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read_fully(fd, text, sizeof(text) - 1);

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

/* CPU time of the processes that are or were in the directory; false: it does not say. */
static bool cpu_of(int dir, uint64_t *ns)
{
	if (read_number(dir, "cpu.stat", "usage_usec ", ns)) {
		*ns *= 1000;
		return true;
	}
	return read_number(dir, "cpuacct.usage", NULL, ns);
}

/* Of a step's directory, which is closed, without that of slurmstepd. 0 where it does not say. */
static uint64_t used_in(const struct kern *k, int dirfd, unsigned node)
{
	uint64_t all = 0, own;
	struct dirent *d;
	DIR *dir = fdopendir(dirfd);

	if (!dir) {
		close(dirfd);
		return 0;
	}
	if (!cpu_of(dirfd, &all))
		all = 0;
	while (all && (d = readdir(dir))) {
		unsigned child = d->d_type == DT_DIR && d->d_name[0] != '.'
					 ? layout__child(k->nodes, node, d->d_name)
					 : 0;
		int fd = child && k->nodes[child].kind == JP_KIND_STEPD
				 ? openat(dirfd, d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				 : -1;

		if (fd >= 0 && cpu_of(fd, &own))
			all -= own < all ? own : all;
		if (fd >= 0)
			close(fd);
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
	return used_in(k, fd, e.node);
}

void kern_note_missed(struct kern *k)
{
	const uint32_t *used;
	unsigned n;

	used = kern__used(k, &n);
	for (unsigned i = 0; i < n; i++) {
		const struct jp_slot *s = &k->slots[used[i]];

		if (used[i] >= JP_SLOT_FIRST && s->kind == JP_KIND_STEP && !k->released[used[i]])
			k->missed_ns[used[i]] = used_by(k, s);
	}
}

uint64_t kern__missed_ns(const struct kern *k, uint32_t slot)
{
	return k->missed_ns[slot];
}
