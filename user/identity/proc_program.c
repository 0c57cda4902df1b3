// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process executes and has mapped, and where it may run. */
#include "identity/proc_program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "identity/cpulist.h"
#include "identity/proc.h"

#define CPUS_MAX  8192u /* the most that the kernel can be built for on x86 */
#define NODES_DIR "/sys/devices/system/node"

static bool has_mounts_of(pid_t pid, pid_t other)
{
	char its[64], others[64];

	return !proc__link(pid, "ns/mnt", its, sizeof(its)) &&
	       !proc__link(other, "ns/mnt", others, sizeof(others)) && !strcmp(its, others);
}

/* A service may have been given a mount namespace of its own, which has the system's files. */
static bool has_our_files(pid_t pid)
{
	return (has_mounts_of(pid, getpid()) || has_mounts_of(pid, 1)) && proc__has_our_root(pid);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int proc_program__read(pid_t pid, struct proc_program *p)
{
	char path[PATH_MAX + 16];
	int err = proc__link(pid, "exe", path, sizeof(path)), fd;

	*p = (struct proc_program){};
	if (err)
		return err;
	if (!has_our_files(pid) || str__copy(p->path, sizeof(p->path), path))
		str__copy(p->path, sizeof(p->path), name_of(path));
	fd = proc__open(pid, "exe");
	if (fd >= 0) {
		if (elf__build_id(fd, p->build_id))
			p->build_id[0] = '\0';
		close(fd);
	}
	return 0;
}

enum kind { OF_MPI, OF_GPU };

/* How names of libraries begin. */
static const struct {
	enum kind kind;
	const char *prefix;
} libraries[] = {
	{OF_MPI, "libmpi"},	    {OF_MPI, "libpmpi"},      {OF_MPI, "libmpc_framework"},
	{OF_GPU, "libcuda"},	    {OF_GPU, "libcublas"},    {OF_GPU, "libcudnn"},
	{OF_GPU, "libcufft"},	    {OF_GPU, "libnccl"},      {OF_GPU, "libamdhip64"},
	{OF_GPU, "libhsa-runtime"}, {OF_GPU, "librocblas"},   {OF_GPU, "librccl"},
	{OF_GPU, "libMIOpen"},	    {OF_GPU, "libze_loader"}, {OF_GPU, "libze_intel_gpu"},
	{OF_GPU, "libsycl"},	    {OF_GPU, "libOpenCL"},
};

static void add_name(char list[PROGRAM_LIBS], const char *name)
{
	size_t len = strlen(list);

	if (len + strlen(name) + 2 <= PROGRAM_LIBS)
		snprintf(list + len, PROGRAM_LIBS - len, "%s%s", len ? "," : "", name);
}

static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (; *list; list += *list == ',') {
		size_t len = strcspn(list, ",");

		if (len == n && !strncmp(list, name, n))
			return true;
		list += len;
	}
	return false;
}

void proc_libraries__take(struct proc_libraries *l, const char *line)
{
	const char *path = strchr(line, '/');
	char name[64];

	if (!path || str__copy(name, sizeof(name), name_of(path)))
		return;
	name[strcspn(name, " \n")] = '\0'; /* " (deleted)" */
	if (!strstr(name, ".so") || !str__safe_name(name) || strchr(name, ','))
		return;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		char *list = libraries[i].kind == OF_MPI ? l->mpi : l->gpu;

		if (str__starts(name, libraries[i].prefix) && !is_listed(list, name))
			add_name(list, name);
	}
}

int proc_libraries__read(pid_t pid, struct proc_libraries *l)
{
	struct proc_lines lines;
	int err;

	*l = (struct proc_libraries){};
	err = proc_lines__open(&lines, pid);
	while (!err && proc_lines__next(&lines))
		proc_libraries__take(l, lines.line);
	return err;
}

static bool overlap(const uint64_t *a, const uint64_t *b)
{
	for (unsigned i = 0; i < CPUS_MAX / 64; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

/* How many nodes have one of the CPUs; 0: the kernel has no list of nodes. */
static int count_nodes(const uint64_t *cpus)
{
	DIR *dir = opendir(NODES_DIR);
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir))) {
		char path[sizeof(NODES_DIR) + 300], text[4096];
		uint64_t node[CPUS_MAX / 64];

		if (!str__starts(e->d_name, "node"))
			continue;
		snprintf(path, sizeof(path), NODES_DIR "/%s/cpulist", e->d_name);
		if (read_file(AT_FDCWD, path, text, sizeof(text)) < 0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		n += cpulist__read(text, node, CPUS_MAX) > 0 && overlap(node, cpus);
	}
	if (dir)
		closedir(dir);
	return n;
}

int proc_cpus__read(pid_t pid, struct proc_cpus *c)
{
	uint64_t bits[CPUS_MAX / 64] = {};

	*c = (struct proc_cpus){};
	if (sched_getaffinity(pid, sizeof(bits), (cpu_set_t *)bits))
		return -errno;
	for (unsigned i = 0; i < CPUS_MAX / 64; i++)
		c->cpus += __builtin_popcountll(bits[i]);
	c->nodes = count_nodes(bits);
	cpulist__format(bits, CPUS_MAX, c->list, sizeof(c->list));
	return 0;
}
