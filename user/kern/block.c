// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The block family: what it must know of the kernel and of this node's disks, and disk requests
 * that are under way. A process may end before its disk requests are done. Its step waits for them,
 * which are in a table of bpf/block.bpf.c. A request that is in the table but no longer in the
 * kernel is over, and no program saw its end.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "kern/internal.h"
#include "kern/probe.h"

#define SETS_LEAST 1024u
#define SETS_MOST  (1u << 20)

#define SYS_BLOCK "/sys/block"

void kern_choose_block(struct kern *k)
{
	if (k->btf) { /* without BTF the load reports what is missing */
		if (!kern_tracepoint_args(k->btf, "block_io_start"))
			k->opts.block_issue = true;
		k->rq_second = kern_tracepoint_args(k->btf, "block_rq_issue") > 1;
		k->unused[P_BLK_MERGE] = !kern_tracepoint_args(k->btf, "block_rq_merge");
	}
	k->unused[P_BLK_START] = k->opts.block_issue;
	k->unused[P_BLK_INSERT] = k->unused[P_BLK_ISSUE] = !k->opts.block_issue;
}

static unsigned long sys_number(const char *disk, const char *file, unsigned long unknown)
{
	unsigned long v = unknown;
	char path[320];
	FILE *f;

	snprintf(path, sizeof(path), SYS_BLOCK "/%s/%s", disk, file);
	f = fopen(path, "re");
	if (!f)
		return unknown;
	if (fscanf(f, "%lu", &v) != 1)
		v = unknown;
	fclose(f);
	return v;
}

/* Hardware queues; 0: the disk makes no requests, or does not exist. */
static unsigned queues(const char *disk)
{
	struct dirent *e;
	char path[320];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), SYS_BLOCK "/%s/mq", disk);
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/*
 * nr_requests is per hardware queue, of the driver's tags or of the scheduler's where there is one.
 * A set of JP_BLK_WAYS for each request leaves room for disks that come later and for another
 * scheduler, which has requests of its own: a place is used again once its request is over.
 */
unsigned kern_blk_sets(void)
{
	unsigned long requests = 0, sets = SETS_LEAST;
	DIR *d = opendir(SYS_BLOCK);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			requests +=
				queues(e->d_name) * sys_number(e->d_name, "queue/nr_requests", 0);
	if (d)
		closedir(d);
	while (sets < requests && sets < SETS_MOST)
		sets *= 2;
	return sets;
}

void kern_untimed_disk(char name[32])
{
	DIR *d = opendir(SYS_BLOCK);
	struct dirent *e;

	name[0] = 0;
	while (d && !name[0] && (e = readdir(d)))
		if (e->d_name[0] != '.' && queues(e->d_name) &&
		    !sys_number(e->d_name, "queue/iostats", 1))
			snprintf(name, 32, "%.31s", e->d_name);
	if (d)
		closedir(d);
}

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
static bool is_under_way(struct kern *k, struct jp_blk_request *w, uint32_t step)
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
			n += is_under_way(k, &sets[i].way[way], step);
	return n;
}
