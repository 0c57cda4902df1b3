// SPDX-License-Identifier: GPL-2.0-only
/* What living tasks have used: by a pass over all tasks of the node, or, as long as no other can
 * have come, of those the last one found, by number. A node has many that are none of ours. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/clock.h"
#include "kern/internal.h"
#include "kern/link.h"
#include "kern/probe.h"

#define READ_SIZE 65536
/* A task that came in the very moment of a pass is not missed for longer. */
#define PASS_NS (60 * NSEC_PER_SEC)

/* Functions of the kernel for programs that are called: since when is not for its version to say.
 */
bool kern_can_ask(const struct btf *btf)
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

/* Room for so many more. */
static int make_room(struct kern_tasks *t, size_t more)
{
	size_t max = t->max ? t->max : 1024;
	struct jp_task_rec *p;

	while (max < t->n + more)
		max *= 2;
	if (max == t->max)
		return 0;
	p = realloc(t->rec, max * sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->rec = p;
	t->max = max;
	return 0;
}

/* Every coming of a task to a slot, and more, counts there. The slots are looked at first: one
 * given back begins at zero. */
static void count_comings(struct kern *k, struct kern_comings *c)
{
	const uint32_t *used;
	unsigned n, i;

	c->slots = kern__slots_changed(k);
	c->events = 0;
	used = kern__used(k, &n);
	for (i = 0; i < n; i++)
		c->events += __atomic_load_n(&k->acct[used[i]].life_events, __ATOMIC_ACQUIRE);
}

static int pass(struct kern *k, struct kern_tasks *t)
{
	int fd = kern_iter(k), err = 0;
	ssize_t n;

	t->n = 0;
	if (fd < 0)
		return fd;
	do {
		err = make_room(t, READ_SIZE / sizeof(*t->rec));
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
 * Those of the records; a task that was being moved has two, one of them without a number. The
 * collector itself is not asked for: it has switched since its last turn, and needs no more of
 * itself than what is retired there.
 */
static int note_known(struct kern_tasks *t)
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

static int ask(struct kern *k, struct kern_tasks *t)
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
			err = make_room(t, a->nrecs);
		if (err)
			break;
		memcpy(&t->rec[t->n], a->rec, a->nrecs * sizeof(*a->rec));
		t->n += a->nrecs;
	}
	return err;
}

int kern__tasks(struct kern *k, struct kern_tasks *t)
{
	bool can_ask = k->prog[P_ASK] >= 0 && !k->readonly;
	uint64_t now = clock__mono_ns();
	struct kern_comings c;
	int err;

	count_comings(k, &c);
	if (can_ask && t->pass_ns && now - t->pass_ns < PASS_NS &&
	    !memcmp(&c, &t->comings, sizeof(c)) && !ask(k, t))
		return 0;
	t->pass_ns = 0;
	err = pass(k, t);
	if (!err && can_ask && !note_known(t)) {
		t->comings = c;
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
