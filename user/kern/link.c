// SPDX-License-Identifier: GPL-2.0-only
/* Links: a program put on its event, pinned while programs are attached. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kern/internal.h"
#include "kern/link.h"

void kern_link_path(const struct kern *k, enum kern_program p, char *out, size_t len)
{
	snprintf(out, len, "%s/links/%s", k->pin_dir, kern_progs[p].name);
}

static int make_link(const struct kern *k, enum kern_program p)
{
	/* a typed tracepoint knows its own name; the raw fallback is given it */
	const char *name = k->opts.raw_tp && p == P_SWITCH ? "sched_switch" : NULL;
	int fd;

	if (kern_events[p])
		return kern_link_event(kern_events[p], k->prog[p]);
	if (p == P_SKB_IN || p == P_SKB_OUT)
		return kern_link_packets(p, k->prog[p]);
	fd = bpf_raw_tracepoint_open(name, k->prog[p]);
	return fd < 0 ? -errno : fd;
}

int kern_attach_one(struct kern *k, enum kern_program p)
{
	char path[384];
	int fd;

	if (k->link[p] >= 0)
		return 0;
	if (k->prog[p] < 0)
		return kern_fail(-ENOENT, "program %s is not loaded", kern_progs[p].name);
	fd = make_link(k, p);
	if (fd < 0)
		return kern_fail(fd, "cannot attach %s: %s", kern_progs[p].name, strerror(-fd));
	k->link[p] = fd;
	if (k->pin_dir[0] && k->control->attached_ns) {
		kern_link_path(k, p, path, sizeof(path));
		unlink(path);
		if (bpf_obj_pin(k->link[p], path))
			return kern_fail(-errno, "cannot pin %s: %s", path, strerror(errno));
	}
	return 0;
}

bool kern__attached(const struct kern *k)
{
	return k->link[P_SWITCH] >= 0;
}
