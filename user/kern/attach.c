// SPDX-License-Identifier: GPL-2.0-only
/* Links, iterators and events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kern/internal.h"

static void link_path(const struct kern *k, enum kern_program p, char *out, size_t len)
{
	snprintf(out, len, "%s/links/%s", k->pin_dir, kern_progs[p].name);
}

static int make_link(const struct kern *k, enum kern_program p)
{
	/* a typed tracepoint knows its own name; the raw fallback must be told */
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
		link_path(k, p, path, sizeof(path));
		unlink(path);
		if (bpf_obj_pin(k->link[p], path))
			return kern_fail(-errno, "cannot pin %s: %s", path, strerror(errno));
	}
	return 0;
}

int kern__attach(struct kern *k)
{
	bool fresh = !k->control->attached_ns;
	int i, err = 0;

	if (fresh)
		k->control->attached_ns = kern_boot_ns();
	if (fresh)
		kern_pmu_open_all(k);
	for (i = 0; !err && i < P_N; i++)
		if (kern_progs[i].use == USE_TRACED && kern_has_prog(k, i))
			err = kern_attach_one(k, i);
	if (err) {
		kern__detach(k);
	} else if (fresh) { /* the last of them: each takes a while */
		k->control->attached_ns = kern_boot_ns();
		kern__sweep(k); /* what runs already: at once; the rescan says if it fails */
		kern_note_missed(k);
		kern_pmu_calibrate(k);
	}
	return err;
}

void kern__detach(struct kern *k)
{
	char path[384];
	int i;

	for (i = P_N; i-- > 0;) {
		if (kern_progs[i].use != USE_TRACED)
			continue;
		if (k->pin_dir[0]) {
			link_path(k, i, path, sizeof(path));
			unlink(path);
		}
		kern_close_fd(&k->link[i]);
	}
	kern_pmu_close_all(k);
	k->control->attached_ns = 0;
}

bool kern__attached(const struct kern *k)
{
	return k->link[P_SWITCH] >= 0;
}

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

static int on_event(void *ctx, void *data, size_t len)
{
	struct kern *k = ctx;

	if (len >= sizeof(struct jp_event))
		k->event_fn(data, k->event_ctx);
	return 0;
}

int kern__event_fd(const struct kern *k)
{
	return k->map[M_EVENTS] < 0 || !k->ring ? -1 : ring_buffer__epoll_fd(k->ring);
}

int kern__events(struct kern *k, void (*fn)(const struct jp_event *ev, void *ctx), void *ctx)
{
	int n;

	if (!k->ring) {
		k->ring = ring_buffer__new(k->map[M_EVENTS], on_event, k, NULL);
		if (!k->ring)
			return kern_fail(-errno, "cannot read the event ring: %s", strerror(errno));
	}
	if (!fn)
		return 0;
	k->event_fn = fn;
	k->event_ctx = ctx;
	n = ring_buffer__consume(k->ring);
	return n < 0 ? n : 0;
}
