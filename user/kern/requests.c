// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disk requests that are under way. A process may end before what it asked of a disk is done: its
 * step waits for that, as bpf/block.bpf.c has it in a table. What the table still has and the
 * kernel has not, is over, and no program saw the end of it.
 */
#include <bpf/bpf.h>

#include "kern/internal.h"

static bool is_of(const struct kern *k, uint64_t use, uint32_t step)
{
	uint32_t slot = use & 0xffff;

	return slot < k->nslots && k->slots[slot].step == step &&
	       (k->slots[slot].gen & 0xffff) == (use >> 16 & 0xffff);
}

static bool is_free(const struct kern *k, uint64_t request)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .ctx_in = &request, .ctx_size_in = sizeof(request));

	return k->prog[P_BLK_FREE] >= 0 && !bpf_prog_test_run_opts(k->prog[P_BLK_FREE], &o) &&
	       o.retval;
}

static void add_relaxed(__u64 *to, __u64 n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

/* User space's twin of count_lost() in bpf/block.bpf.c. */
static void count_lost(struct kern *k, uint64_t use)
{
	struct jp_blk *b = (struct jp_blk *)k->mem[M_BLK] + (use & 0xffff);
	bool write = use & JP_BLK_WRITE;

	add_relaxed(&k->control->stats.blk_lost, 1);
	add_relaxed(&b->untimed, 1);
	add_relaxed(write ? &b->writes : &b->reads, 1);
	add_relaxed(write ? &b->write_bytes : &b->read_bytes, use >> JP_BLK_SECTORS << 9);
}

/* The request is under way. */
static bool look_at(struct kern *k, struct jp_blk_request *w, uint32_t step)
{
	uint64_t use = __atomic_load_n(&w->use, __ATOMIC_ACQUIRE);

	if (!w->request || (use & JP_BLK_OVER) == JP_BLK_OVER || !is_of(k, use, step))
		return false;
	if (!is_free(k, w->request))
		return true;
	/* the end may have been seen since */
	if (__atomic_compare_exchange_n(&w->use, &use, JP_BLK_OVER, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		count_lost(k, use);
	return false;
}

unsigned kern__requests(struct kern *k, uint32_t step)
{
	struct jp_blk_set *sets = k->mem[M_OWNERS];
	unsigned n = 0;

	for (unsigned i = 0; sets && i < k->blk_sets; i++)
		for (int way = 0; way < JP_BLK_WAYS; way++)
			n += look_at(k, &sets[i].way[way], step);
	return n;
}
