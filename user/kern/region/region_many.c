// SPDX-License-Identifier: GPL-2.0-only
/* One link for the probes on many places of a file (Linux 6.6): links of one place each would be
 * taken away one after the other, each of which takes the kernel a tenth of a second. */
#include <errno.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kern/internal.h"
#include "kern/probe.h"
#include "kern/region/region.h"

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

int kern_region_link_many(const struct kern *k, const char *path, const struct region_probes *p)
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
