// SPDX-License-Identifier: GPL-2.0-only
/* Tracepoints by their names in tracefs: those of system calls have no typed form. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kern/internal.h"
#include "kern/link.h"

int kern_event_id(const char *event)
{
	static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[160];
	size_t i;
	int id;

	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/events/%s/id", mounts[i], event);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%d", &id) != 1)
			id = -EIO;
		fclose(f);
		return id;
	}
	return -ENOENT;
}

int kern_link_event(const char *event, int prog_fd)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};
	int id = kern_event_id(event), fd, link;

	if (id < 0)
		return id;
	attr.config = id;
	/* on one CPU, as the interface wants one; the program runs on all */
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = bpf_link_create(prog_fd, fd, BPF_PERF_EVENT, NULL);
	if (link < 0)
		link = -errno;
	close(fd); /* the link holds it */
	return link;
}
