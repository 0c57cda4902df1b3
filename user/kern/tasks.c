// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Passes over tasks: iterator programs, the sweep, the offsets of per-CPU variables; and what
 * living tasks have used. Reading that takes a pass over all tasks of the node. As long as no other
 * task can have come, the tasks of the last pass are asked for by number instead, because most
 * tasks of a node are in no step. Where nobody sees tasks begin, the sweep finds them first.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/room.h"
#include "kern/internal.h"
#include "kern/probe.h"

#define READ_SIZE 65536
/* A task that came during a pass is missed for no longer than this. */
#define PASS_NS (60 * NSEC_PER_SEC)

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

int kern_iterate(int prog_fd)
{
	int fd, link = iter_link(prog_fd);

	if (link < 0)
		return link;
	fd = iter_pass(link);
	close(link);
	return fd;
}

/* fd of a fresh pass over the tasks of the node: struct jp_task_rec records. Or -errno. */
static int iterate_tasks(struct kern *k)
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

	/* set first: a thread that runs for the first time during the sweep is found at its
	 * switch */
	k->control->late = 1;
	fd = kern_iterate(k->prog[P_SWEEP]);
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
	int fd = kern_iterate(k->prog[P_PERCPU]);

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

/* Programs that are called can use these functions of the kernel: tried, whatever its version. */
bool kern_can_query_tasks(const struct btf *btf)
{
	int from = btf__find_by_name_kind(btf, "bpf_task_from_pid", BTF_KIND_FUNC);
	int release = btf__find_by_name_kind(btf, "bpf_task_release", BTF_KIND_FUNC);
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = from},
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = release},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .prog_flags = BPF_F_SLEEPABLE);
	int fd;

	if (from <= 0 || release <= 0)
		return false;
	fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "jp_try", "GPL", insns,
			   sizeof(insns) / sizeof(insns[0]), &o);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Sums the life events of all slots: every arrival of a task in a slot is one of them. The list of
 * slots is read first: a slot that was given back begins at zero. */
static void count_arrivals(struct kern *k, struct kern_arrivals *c)
{
	const uint32_t *used;
	unsigned n, i;

	c->slots = kern__slots_changed(k);
	c->events = 0;
	used = kern__used(k, &n);
	for (i = 0; i < n; i++)
		c->events += __atomic_load_n(&k->acct[used[i]].life_events, __ATOMIC_ACQUIRE);
}

static int pass_all(struct kern *k, struct kern_tasks *t)
{
	int fd = iterate_tasks(k), err = 0;
	ssize_t n;

	t->n = 0;
	if (fd < 0)
		return fd;
	do {
		err = room__make(&t->rec, &t->max, t->n + READ_SIZE / sizeof(*t->rec),
				 sizeof(*t->rec));
		if (err)
			break;
		n = read(fd, &t->rec[t->n], (t->max - t->n) * sizeof(*t->rec));
		if (n > 0)
			t->n += n / sizeof(*t->rec);
		else if (n < 0 && errno != EINTR && errno != EAGAIN)
			err = -errno;
	} while (!err && n);
	close(fd);
	return err;
}

/*
 * Keeps the tasks of the records for the next query. A task that was being moved has two records,
 * one of them without a number. The collector is left out: it has switched since its last turn, so
 * its counts are in its slot.
 */
static int keep_known(struct kern_tasks *t)
{
	struct jp_known_task *p = t->known;
	size_t i;

	if (t->max_known < t->n) {
		p = realloc(t->known, t->max * sizeof(*p));
		if (!p)
			return -ENOMEM;
		t->known = p;
		t->max_known = t->max;
	}
	t->nknown = 0;
	for (i = 0; i < t->n; i++)
		if (t->rec[i].pid && t->rec[i].slot != JP_SLOT_SELF)
			p[t->nknown++] = (struct jp_known_task){.pid = t->rec[i].pid,
								.start_ns = t->rec[i].start_ns};
	return 0;
}

static int query_known(struct kern *k, struct kern_tasks *t)
{
	LIBBPF_OPTS(bpf_test_run_opts, o);
	struct jp_asked *a = k->mem[M_ASKED];
	size_t at;
	int err = 0;

	t->n = 0;
	for (at = 0; !err && at < t->nknown; at += a->ntasks) {
		size_t left = t->nknown - at;

		a->ntasks = left < JP_ASK_MAX ? left : JP_ASK_MAX;
		memcpy(a->task, &t->known[at], a->ntasks * sizeof(*a->task));
		if (bpf_prog_test_run_opts(k->prog[P_ASK], &o))
			err = -errno;
		else
			err = room__make(&t->rec, &t->max, t->n + a->nrecs, sizeof(*t->rec));
		if (err)
			break;
		memcpy(&t->rec[t->n], a->rec, a->nrecs * sizeof(*a->rec));
		t->n += a->nrecs;
	}
	return err;
}

int kern__tasks(struct kern *k, struct kern_tasks *t)
{
	bool unseen = kern__resting(k) & JP_REST_BIRTHS;
	bool can_ask = k->prog[P_ASK] >= 0 && !k->readonly && !unseen;
	uint64_t now = clock__mono_ns();
	struct kern_arrivals c;
	int err;

	count_arrivals(k, &c);
	if (can_ask && t->pass_ns && now - t->pass_ns < PASS_NS &&
	    !memcmp(&c, &t->arrivals, sizeof(c)) && !query_known(k, t))
		return 0;
	t->pass_ns = 0;
	if (unseen && !k->readonly)
		kern__sweep(k);
	err = pass_all(k, t);
	if (!err && can_ask && !keep_known(t)) {
		t->arrivals = c;
		t->pass_ns = now;
	}
	return err;
}

void kern__tasks_free(struct kern_tasks *t)
{
	free(t->rec);
	free(t->known);
	memset(t, 0, sizeof(*t));
}
