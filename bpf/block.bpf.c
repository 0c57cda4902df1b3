// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Block requests, as the disks see them. The submitter of a request is known only at its start: any
 * task may issue and complete it. The owner is stored under the request's address until the request
 * is over. The place in the table stays taken after that, because the kernel uses a fixed set of
 * requests again and again.
 *
 * The table of owners is an array of sets of one cache line, searched here. A hash map would do,
 * but two calls of it cost as much as all the rest of both programs.
 *
 * Bytes, operations and times are those of /sys/block/<disk>/stat: bytes at every partial
 * completion, failed ones too; the operation and its time at the last. Only reads and writes:
 * flushes, discards and the like move no data of a job and are counted as "others" in slot 0.
 *
 * Not every completion is seen: the kernel runs no program in an interrupt that arrives while the
 * same program runs, and there are threads that programs never see. Then the request is still under
 * way in the table when it is started again, or when its step ends (user/kern/block.c). Such a
 * request is counted as it was submitted, without its time.
 */
#include "bpf/log2.bpf.h"
#include "bpf/owner.bpf.h"

#define REQ_OP_BITS 0xff
#define OP_READ	    0
#define OP_WRITE    1
#define LOOP_MAJOR  7

static __always_inline u32 request_op(struct request *rq)
{
	return rq->cmd_flags & REQ_OP_BITS;
}

/*
 * Requests that are carried out by requests to other disks, which count: those of loop devices, and
 * of device-mapper targets that make requests (multipath; all others pass bios through, and have no
 * requests). The kernel gives the latter's disks their names.
 */
static __always_inline bool is_nested(struct request *rq)
{
	struct request_queue *q = rq->q;
	struct gendisk *disk;

	if (bpf_core_field_exists(q->disk)) {
		disk = q->disk;
	} else {
		struct request___old *old = (void *)rq;

		disk = old->rq_disk;
	}
	return disk->major == LOOP_MAJOR ||
	       (disk->disk_name[0] == 'd' && disk->disk_name[1] == 'm' &&
		disk->disk_name[2] == '-');
}

/*
 * A write that asks for a flush after it is completed twice: when its data is written, and when the
 * flush is over. The kernel counts the second.
 */
static __always_inline bool in_flush_sequence(struct request *rq)
{
	u32 bit = 4;

	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		bit = bpf_core_enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
	return rq->rq_flags & (1u << bit);
}

static __always_inline struct jp_blk_set *set_of(struct request *rq)
{
	u32 low, set;

	/* a pointer is not to be shifted: its lower half is copied, and a number then */
	asm volatile("%0 = %1" : "=w"(low) : "w"((u32)(u64)rq));
	set = ((low >> 3) * 2654435769u >> 8) & (jp_blk_sets - 1);
	return bpf_map_lookup_elem(&jp_owners, &set);
}

static __always_inline struct jp_blk_request *way_of(struct jp_blk_set *s, struct request *rq)
{
	int i;

#pragma unroll
	for (i = 0; i < JP_BLK_WAYS; i++)
		if (s->way[i].request == (u64)rq)
			return &s->way[i];
	return NULL;
}

static __always_inline bool is_over(u64 use)
{
	return (use & JP_BLK_OVER) == JP_BLK_OVER;
}

static __always_inline struct jp_blk_request *free_way(struct jp_blk_set *s)
{
	int i;

#pragma unroll
	for (i = 0; i < JP_BLK_WAYS; i++)
		if (!s->way[i].request || is_over(s->way[i].use))
			return &s->way[i];
	return NULL;
}

/*
 * Another CPU may take the same way at the same time. The CPU that finds the other's request in the
 * way has lost the way and takes the next; if both believe that they have the way, one request ends
 * without an owner. That can happen when a request is seen for the first time.
 */
static __always_inline bool take_way(struct jp_blk_set *s, struct request *rq, u64 use)
{
	int i;

	for (i = 0; i < JP_BLK_WAYS; i++) {
		volatile struct jp_blk_request *w = free_way(s);

		if (!w)
			return false;
		w->use = use;
		w->request = (u64)rq;
		if (w->request != (u64)rq)
			continue;
		w->use = use;
		return true;
	}
	return false;
}

static __always_inline u64 use_of(struct request *rq)
{
	u32 slot = current_slot();
	struct jp_slot *s = slot_info(slot);
	u64 use = slot | (s ? (s->gen & 0xffff) << 16 : 0);

	if (request_op(rq) == OP_WRITE)
		use |= JP_BLK_WRITE;
	return use | (u64)(rq->__data_len >> 9) << JP_BLK_SECTORS;
}

/* Where a request counts: slot 0 once its slot's last row is taken. */
static __always_inline u32 slot_of(u64 use, bool over)
{
	u32 slot = use & 0xffff;
	struct jp_slot *s = slot_info(slot);

	if (s && (s->gen & 0xffff) == (use >> 16 & 0xffff) &&
	    (s->state == JP_SLOT_ACTIVE || s->state == JP_SLOT_DRAINING))
		return slot;
	if (over)
		JP_COUNT(blk_late);
	return JP_SLOT_OTHER;
}

static __always_inline struct jp_blk *blk_of(u32 slot)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots + slot;

	return bpf_map_lookup_elem(&jp_blk, &key);
}

/* Counts a request whose end no program saw, without the bios that were merged into it later. */
static __noinline int count_lost(u64 use)
{
	struct jp_blk *b = blk_of(slot_of(use, true));
	u64 bytes = use >> JP_BLK_SECTORS << 9;

	JP_COUNT(blk_lost);
	if (!b)
		return 0;
	ADD(b, untimed, 1);
	if (use & JP_BLK_WRITE) {
		ADD(b, writes, 1);
		ADD(b, write_bytes, bytes);
	} else {
		ADD(b, reads, 1);
		ADD(b, read_bytes, bytes);
	}
	return 0;
}

/* issued: the request may have been inserted before, and then already has its owner. */
static __always_inline void remember(struct request *rq, bool issued)
{
	struct jp_blk_request *w;
	struct jp_blk_set *set;
	u64 use;

	if (request_op(rq) > OP_WRITE || is_nested(rq))
		return;
	use = use_of(rq); /* before the ways part: see carried() */
	set = set_of(rq);
	if (!set)
		return;
	w = way_of(set, rq);
	if (w && !is_over(w->use)) {
		if (issued)
			return;
		count_lost(w->use);
	}
	if (w)
		w->use = use;
	else if (!take_way(set, rq, use))
		JP_COUNT(blk_full);
}

SEC("?tp_btf/block_io_start")
int BPF_PROG(jp_block_start, struct request *rq)
{
	remember(rq, false);
	return 0;
}

/* Where there is no block_io_start (before 6.5) a request is inserted, or issued at once. */
static __always_inline struct request *request_arg(u64 *ctx)
{
	return (struct request *)(jp_rq_second ? ctx[1] : ctx[0]);
}

SEC("?tp_btf/block_rq_insert")
int jp_block_insert(u64 *ctx)
{
	remember(request_arg(ctx), false);
	return 0;
}

SEC("?tp_btf/block_rq_issue")
int jp_block_issue(u64 *ctx)
{
	remember(request_arg(ctx), true);
	return 0;
}

/* The request is part of another one from now on, and has no end of its own. */
SEC("?tp_btf/block_rq_merge")
int jp_block_merge(u64 *ctx)
{
	struct request *rq = request_arg(ctx);
	struct jp_blk_set *set = set_of(rq);
	struct jp_blk_request *w = set ? way_of(set, rq) : NULL;

	if (w)
		w->use = JP_BLK_OVER;
	return 0;
}

/* Run by user space with the address of a request: 1 when the kernel has taken it back. */
SEC("?raw_tp/block_rq_complete")
int jp_request_free(u64 *ctx)
{
	void *rq = (void *)ctx[0];
	u32 held;

	if (!bpf_core_field_exists(((struct request *)rq)->ref) ||
	    bpf_probe_read_kernel(&held, sizeof(held),
				  rq + bpf_core_field_offset(struct request, ref)))
		return 0;
	return !held;
}

/* JP_SLOT_NONE: its submitter was not seen. over: it needs its owner no more. */
static __always_inline u32 owner_slot(struct request *rq, bool over)
{
	struct jp_blk_set *set = set_of(rq);
	struct jp_blk_request *w = set ? way_of(set, rq) : NULL;
	u64 use;

	if (!w || is_over(w->use))
		return JP_SLOT_NONE;
	use = w->use;
	/* of a part, the bytes are counted by now */
	w->use = over ? JP_BLK_OVER : use & ((1ull << JP_BLK_SECTORS) - 1);
	return slot_of(use, over);
}

static __always_inline void count_latency(u32 slot, bool write, u64 ns)
{
	struct jp_blk_lat *l = bpf_map_lookup_elem(&jp_blk_lat, &slot);
	u32 b = log2_bucket(ns);

	if (!l || b >= JP_LAT_BUCKETS)
		return;
	ADD(l, all[b], 1);
	if (write)
		ADD(l, write[b], 1);
}

static __always_inline void count_operation(struct request *rq, struct jp_blk *b, u32 slot,
					    bool write)
{
	u64 start = rq->start_time_ns, took;

	if (write)
		ADD(b, writes, 1);
	else
		ADD(b, reads, 1);
	if (!start) {
		ADD(b, untimed, 1);
		return;
	}
	took = bpf_ktime_get_ns() - start;
	if ((s64)took < 0)
		took = 0;
	if (write)
		ADD(b, write_time_ns, took);
	else
		ADD(b, read_time_ns, took);
	count_latency(slot, write, took);
}

SEC("?tp_btf/block_rq_complete")
int BPF_PROG(jp_block_complete, struct request *rq, int error, unsigned int nr_bytes)
{
	bool all = nr_bytes >= rq->__data_len, over;
	u32 op = request_op(rq), owner, slot;
	struct jp_blk *b;

	if (is_nested(rq))
		return 0;
	/* a request without a bio has been completed before */
	over = all && rq->bio && !in_flush_sequence(rq);
	owner = op > OP_WRITE ? JP_SLOT_OTHER : owner_slot(rq, over);
	slot = owner == JP_SLOT_NONE ? JP_SLOT_OTHER : owner;
	b = blk_of(slot);
	if (!b)
		return 0;
	if (op > OP_WRITE) {
		ADD(b, others, all);
		return 0;
	}
	if (op == OP_WRITE)
		ADD(b, write_bytes, nr_bytes);
	else
		ADD(b, read_bytes, nr_bytes);
	if (!over)
		return 0;
	count_operation(rq, b, slot, op == OP_WRITE);
	if (owner == JP_SLOT_NONE)
		JP_COUNT(blk_unowned);
	return 0;
}
