// SPDX-License-Identifier: GPL-2.0-only
/* The cgroup of jobprofd's children is made where jobprofd has a cgroup of its own. */
#include "daemon/child/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "identity/hierarchy.h"

#define CHILDREN "children"
#define DAEMON	 "daemon"
/* A step's file needs some 300 MB at the most, and the pages that were written. */
#define MEMORY_PART 4 /* of the machine's */
#define PIDS_MAX    "1024"

struct group {
	char own[600]; /* jobprofd's, as it was given */
	bool v2;
};

/* Read by children, which have a copy. */
static struct group groups[3];
static unsigned ngroups;

/* The kernel takes or refuses a value as a whole. */
static int write_group_file(const struct group *g, const char *file, const char *value)
{
	char path[700];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", g->own, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int make_group(const struct group *g, const char *name)
{
	char path[700];

	snprintf(path, sizeof(path), "%s/%s", g->own, name);
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

static void remove_group(const struct group *g, const char *name)
{
	char path[700];

	snprintf(path, sizeof(path), "%s/%s", g->own, name);
	rmdir(path);
}

/* No other process is in the cgroup. */
static bool is_alone(const struct group *g)
{
	char path[700], text[64], own_pid[32];

	snprintf(path, sizeof(path), "%s/cgroup.procs", g->own);
	snprintf(own_pid, sizeof(own_pid), "%d\n", getpid());
	return read_file(AT_FDCWD, path, text, sizeof(text)) > 0 && !strcmp(text, own_pid);
}

static void set_limits(const struct group *g)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	char memory[32];
	int err;

	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)(bytes / MEMORY_PART));
	if (g->v2) { /* one at a time: a hybrid system may have one of them in v1 */
		write_group_file(g, "cgroup.subtree_control", "+memory");
		write_group_file(g, "cgroup.subtree_control", "+pids");
	}
	err = write_group_file(
		g, g->v2 ? CHILDREN "/memory.max" : CHILDREN "/memory.limit_in_bytes", memory);
	if (!err)
		log_debug("writers and merges have %s bytes of memory, in %s", memory, g->own);
	write_group_file(g, CHILDREN "/pids.max", PIDS_MAX);
}

static void give_back(const struct group *g)
{
	if (g->v2) {
		write_group_file(g, "cgroup.subtree_control", "-memory");
		write_group_file(g, "cgroup.subtree_control", "-pids");
		write_group_file(g, "cgroup.procs", "0");
		remove_group(g, DAEMON);
	}
	remove_group(g, CHILDREN);
}

static void add_hierarchy(const struct hierarchy *h)
{
	struct group *g = &groups[ngroups];
	char path[256];
	int err;

	if (hierarchy__cgroup_of("self", h, path, sizeof(path)) || !strcmp(path, "/") ||
	    ngroups == sizeof(groups) / sizeof(*groups))
		return;
	g->v2 = h->v2;
	snprintf(g->own, sizeof(g->own), "%s%s", h->mount,
		 strcmp(h->root, "/") ? path + strlen(h->root) : path);
	if (!is_alone(g))
		return;
	err = make_group(g, CHILDREN);
	if (!err && g->v2)
		err = make_group(g, DAEMON);
	if (!err && g->v2)
		err = write_group_file(g, DAEMON "/cgroup.procs", "0");
	if (err) {
		log_warn("no cgroup for writers and merges in %s: %s: they have no limits of their "
			 "own; a unit needs Delegate=",
			 g->own, strerror(-err));
		give_back(g);
		return;
	}
	set_limits(g);
	ngroups++;
}

void child_group__make(void)
{
	struct hierarchy *h = calloc(HIERARCHY_MAX, sizeof(*h));
	int i, n = h ? hierarchy__discover(h, HIERARCHY_MAX) : 0;

	for (i = 0; i < n; i++)
		if (h[i].v2 || strstr(h[i].controllers, "memory") ||
		    strstr(h[i].controllers, "pids"))
			add_hierarchy(&h[i]);
	free(h);
}

void child_group__enter(void)
{
	for (unsigned i = 0; i < ngroups; i++)
		write_group_file(&groups[i], CHILDREN "/cgroup.procs", "0");
}

void child_group__remove(void)
{
	for (unsigned i = 0; i < ngroups; i++)
		give_back(&groups[i]);
	ngroups = 0;
}
