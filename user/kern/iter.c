// SPDX-License-Identifier: GPL-2.0-only
/* Iterator programs: passes over all tasks, the sweep, and the offsets of per-CPU variables. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kern/internal.h"
#include "kern/link.h"

static int iter_link(int prog_fd)
{
	int link;

	if (prog_fd < 0)
		return -ENOENT;
	link = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, NULL);
	return link < 0 ? -errno : link;
}

static int iter_pass(int link)
{
	int fd = bpf_iter_create(link);

	return fd < 0 ? -errno : fd;
}

/* A new pass of an iterator program: its records are read from the fd. */
static int iterate(int prog_fd)
{
	int fd, link = iter_link(prog_fd);

	if (link < 0)
		return link;
	fd = iter_pass(link);
	close(link);
	return fd;
}

int kern_iter(struct kern *k)
{
	if (k->iter < 0)
		k->iter = iter_link(k->prog[P_ITER]);
	return k->iter < 0 ? k->iter : iter_pass(k->iter);
}

static ssize_t read_again(int fd, void *buf, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, buf, len);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n;
}

int kern__sweep(struct kern *k)
{
	char buf[64];
	int fd;

	/* open the gate first: a thread that runs for the first time during the sweep is caught
	 * at its switch */
	k->control->late = 1;
	fd = iterate(k->prog[P_SWEEP]);
	if (fd < 0)
		return kern_fail(fd, "cannot run the task iterator: %s", strerror(-fd));
	while (read_again(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	k->control->late = 0;
	return 0;
}

/* Offset of each CPU's copy of a per-CPU variable, for the parts of the memory counters kept per
 * CPU. Where the kernel cannot tell, the map stays zero and memory columns are off by a batch. */
int kern_offsets(struct kern *k)
{
	struct jp_pcpu_rec rec;
	int fd = iterate(k->prog[P_PERCPU]);

	if (fd < 0)
		return 0;
	while (read_again(fd, &rec, sizeof(rec)) == (ssize_t)sizeof(rec)) {
		uint32_t cpu = rec.cpu;
		uint64_t off = rec.addr - rec.base;

		if (rec.addr && cpu < k->ncpus)
			bpf_map_update_elem(k->map[M_OFFSETS], &cpu, &off, BPF_ANY);
	}
	close(fd);
	return 0;
}

bool kern__rss_exact(const struct kern *k)
{
	uint64_t off = 0;
	uint32_t cpu = 0;

	return !k->rss_percpu || (!bpf_map_lookup_elem(k->map[M_OFFSETS], &cpu, &off) && off);
}
