/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe on a place of a file: whether this kernel can, and the links to one or many. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "kern/internal.h"
#include "kern/probe.h"
#include "kern/region/region.h"

/* ---- one link for the probes on many places of a file (Linux 6.6): links of one place each would
 * be taken away one after the other, each of which takes the kernel a tenth of a second */

/* The kernel's ABI, which the headers of a build need not have: BPF_TRACE_UPROBE_MULTI, what
 * BPF_LINK_CREATE takes then, and BPF_F_UPROBE_MULTI_RETURN. */
#define TRACE_UPROBE_MULTI 48
#define ON_RETURN	   1u

struct link_create {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t cnt, many_flags, pid, unused;
};

void kern_region_choose(struct kern *k)
{
	k->many_probes =
		k->btf && kern_has_enumerator(k->btf, "bpf_attach_type", "BPF_TRACE_UPROBE_MULTI");
}

void kern_region_load(const struct kern *k, struct bpf_program *p)
{
	if (k->many_probes)
		bpf_program__set_expected_attach_type(p, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

/* A link to all of these, where k->many_probes; -errno. */
static int kern_region_link_many(const struct kern *k, const char *path,
				 const struct region_probes *p)
{
	struct link_create a = {.prog_fd = (uint32_t)k->prog[P_CROSS],
				.attach_type = TRACE_UPROBE_MULTI,
				.path = (uintptr_t)path,
				.offsets = (uintptr_t)p->offsets,
				.semaphores = (uintptr_t)p->semaphores,
				.cookies = (uintptr_t)p->cookies,
				.cnt = p->n,
				.many_flags = p->on_return ? ON_RETURN : 0};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a));

	return fd < 0 ? -errno : fd;
}

/* ---- a link for each place */

/* The kernel's ABI of this PMU: its type is there, the bits of config are fixed. */
#define UPROBE_TYPE	 "/sys/bus/event_source/devices/uprobe/type"
#define UPROBE_RETURN	 1ull
#define UPROBE_SEMAPHORE 32 /* where its place in the file begins */

static int uprobe_type(uint32_t *type)
{
	char text[32];

	if (read_file(AT_FDCWD, UPROBE_TYPE, text, sizeof(text)) < 0)
		return -errno;
	text[strcspn(text, "\n")] = 0;
	return parse_u32(text, type);
}

int kern_region_probe(const struct kern_opts *o)
{
	uint32_t type;

	if (!o->nregions)
		return 0;
	if (o->nregions > JP_REGIONS)
		return kern_fail(-E2BIG, "%u regions: at most %d functions can be regions",
				 o->nregions, JP_REGIONS);
	if (uprobe_type(&type))
		return kern_fail(-EOPNOTSUPP,
				 "functions cannot be regions here: the kernel has no uprobes "
				 "(CONFIG_UPROBE_EVENTS): use jobprof_region_begin() of "
				 "libjobprof");
	if (kern_has_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie) != 1)
		return kern_fail(-EOPNOTSUPP,
				 "functions cannot be regions here: the kernel is older than "
				 "5.15: use jobprof_region_begin() of libjobprof");
	return 0;
}

/* A link from the place to the program, or -errno. */
static int link_one(const struct kern *k, const char *path, uint64_t offset, uint64_t config,
		    uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .perf_event.bpf_cookie = cookie);
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .config = config,
				       .uprobe_path = (uintptr_t)path,
				       .probe_offset = offset};
	int err = uprobe_type(&attr.type), fd, link;

	if (err)
		return err;
	/* on one CPU, since the interface needs one; all processes on all CPUs come there */
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = bpf_link_create(k->prog[P_CROSS], fd, BPF_PERF_EVENT, &o);
	err = -errno;
	close(fd); /* the link holds it */
	return link < 0 ? err : link;
}

int kern_region_link(const struct kern *k, const char *path, const struct region_probes *p,
		     struct region_links *l)
{
	int fd = 0;

	if (k->many_probes) {
		fd = kern_region_link_many(k, path, p);
		if (fd >= 0)
			l->fd[l->n++] = fd;
		return fd < 0 ? fd : 0;
	}
	for (unsigned i = 0; i < p->n; i++) {
		fd = link_one(k, path, p->offsets[i],
			      p->semaphores[i] << UPROBE_SEMAPHORE |
				      (p->on_return ? UPROBE_RETURN : 0),
			      p->cookies[i]);
		if (fd < 0)
			return fd;
		l->fd[l->n++] = fd;
	}
	return 0;
}

int kern_region_probe_at(const struct kern *k, const char *path, uint64_t offset, bool end)
{
	uint64_t semaphore = 0, cookie = JP_REGIONS;
	struct region_probes p = {&offset, &semaphore, &cookie, 1, end};
	int fd = -1;
	struct region_links l = {&fd, 0};
	int err = kern_region_link(k, path, &p, &l);

	return err ? err : fd;
}
