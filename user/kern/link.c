// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs on their events: one link per program, pinned while programs are attached; attaching and
 * detaching all programs that follow steps; tracepoints by their names in tracefs. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "kern/internal.h"
#include "kern/probe.h"

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

/* A link from the event to a loaded program, or -errno. */
static int link_event(const char *event, int prog_fd)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};
	int id = kern_event_id(event), fd, link;

	if (id < 0)
		return id;
	attr.config = id;
	/* on one CPU, since the interface needs one; the program runs on all */
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = bpf_link_create(prog_fd, fd, BPF_PERF_EVENT, NULL);
	if (link < 0)
		link = -errno;
	close(fd); /* the link holds it */
	return link;
}

static void link_path(const struct kern *k, enum kern_program p, char *out, size_t len)
{
	snprintf(out, len, "%s/links/%s", k->pin_dir, kern_progs[p].name);
}

static int make_link(const struct kern *k, enum kern_program p)
{
	/* a typed tracepoint knows its own name; the raw fallback is given it */
	const char *name = k->opts.raw_tp && p == P_SWITCH ? "sched_switch" : NULL;
	int fd;

	if (kern_events[p])
		return link_event(kern_events[p], k->prog[p]);
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
	if (k->pinned && k->control->attached_ns) {
		link_path(k, p, path, sizeof(path));
		unlink(path);
		if (bpf_obj_pin(k->link[p], path))
			return kern_fail(-errno, "cannot pin %s: %s", path, strerror(errno));
	}
	return 0;
}

int kern__attach(struct kern *k)
{
	bool fresh = !k->control->attached_ns || !kern__attached(k);
	int i, err = 0;

	if (fresh)
		k->control->attached_ns = clock__boot_ns();
	if (fresh && !(kern__resting(k) & FAM_PERF))
		kern_pmu_open_all(k);
	if (!kern__attached(k))
		kern_reset_rings(k);
	for (i = 0; !err && i < P_N; i++) {
		if (kern_progs[i].use != USE_TRACED || !kern_has_prog(k, i) || kern_rests(k, i))
			continue;
		err = kern_attach_one(k, i);
		if (!err && i == P_SWITCH && (k->families & FAM_WAIT))
			kern_wait_clock();
	}
	if (!err)
		err = kern_region_start(k);
	if (!err)
		kern_sample_start(k);
	if (err) {
		kern__detach(k);
	} else if (fresh) { /* the time after the last link, since each link takes a while */
		k->control->attached_ns = clock__boot_ns();
		kern__sweep(k); /* for tasks that run already; the rescan reports a failure */
		kern_record_missed(k, false);
		kern_pmu_calibrate(k);
	}
	return err;
}

void kern_detach_one(struct kern *k, enum kern_program p)
{
	char path[384];

	if (k->link[p] < 0)
		return;
	if (k->pinned) {
		link_path(k, p, path, sizeof(path));
		unlink(path);
	}
	kern_close_fd(&k->link[p]);
}

/* Nobody is there any more to see these tasks freed. */
static void forget_gone(struct kern *k)
{
	uint64_t key;

	while (k->control->unseen && !bpf_map_get_next_key(k->map[M_GONE], NULL, &key) &&
	       !bpf_map_delete_elem(k->map[M_GONE], &key))
		;
	k->control->unseen = k->control->noted = 0;
	k->control->ended = k->control->freed = k->ended_before = 0;
}

void kern__detach(struct kern *k)
{
	for (int i = P_N; i-- > 0;)
		if (kern_progs[i].use == USE_TRACED || kern_progs[i].use == USE_RESTED)
			kern_detach_one(k, i);
	kern_pmu_close_all(k);
	kern_sample_stop(k);
	kern_region_stop(k);
	k->control->attached_ns = 0;
	forget_gone(k);
}
