// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Block requests, as the disks see them. Who submits a request is known at its start only: it is
 * issued and completed by whoever comes along. Its owner is kept under the request's address in a
 * preallocated hash and never deleted, since the kernel uses a fixed set of requests again and
 * again: after a while every write finds its place.
 *
 * Bytes, operations and times are those of /sys/block/<disk>/stat: bytes at every partial
 * completion, failed ones too; the operation and its time at the last. Only reads and writes:
 * flushes, discards and the like move no data of a job and are counted as "others" in slot 0.
 */
#include "bpf/log2.bpf.h"
#include "bpf/task.bpf.h"

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
 * A write that asks for flushes before or after it is completed twice: when its data is written,
 * and when the flush that follows is over. The kernel counts the second.
 */
static __always_inline bool in_flush_sequence(struct request *rq)
{
	u32 bit = 4;

	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		bit = bpf_core_enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
	return rq->rq_flags & (1u << bit);
}

/* io_uring's threads are made without a fork event: they have their process's slot. */
static __always_inline u32 submitter_slot(void)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct jp_task *t = bpf_task_storage_get(&jp_tasks, p, 0, 0);

	if (!t && p->pid != p->tgid)
		t = bpf_task_storage_get(&jp_tasks, p->group_leader, 0, 0);
	return t && slot_valid(t->next_slot) ? t->next_slot : JP_SLOT_OTHER;
}

/* again: the request may have come by before; who was seen first stays its owner. */
static __always_inline void remember(struct request *rq, bool again)
{
	struct jp_blk_request *seen, now = {.start_ns = rq->start_time_ns};
	u64 key = (u64)rq;
	struct jp_slot *s;

	if (request_op(rq) > OP_WRITE || is_nested(rq))
		return;
	seen = bpf_map_lookup_elem(&jp_owners, &key);
	if (again && seen && now.start_ns && seen->start_ns == now.start_ns)
		return;
	now.slot = submitter_slot();
	s = slot_info(now.slot);
	now.gen = s ? s->gen : 0;
	if (seen)
		*seen = now;
	else if (bpf_map_update_elem(&jp_owners, &key, &now, BPF_ANY))
		JP_COUNT(blk_full);
}

SEC("?tp_btf/block_io_start")
int BPF_PROG(jp_block_start, struct request *rq)
{
	remember(rq, false);
	return 0;
}

/* Where there is no block_io_start (before 6.5): a request is inserted, or issued at once. */
static __always_inline int remember_first(u64 *ctx)
{
	remember((struct request *)(jp_rq_second ? ctx[1] : ctx[0]), true);
	return 0;
}

SEC("?tp_btf/block_rq_insert")
int jp_block_insert(u64 *ctx)
{
	return remember_first(ctx);
}

SEC("?tp_btf/block_rq_issue")
int jp_block_issue(u64 *ctx)
{
	return remember_first(ctx);
}

/* JP_SLOT_NONE: nobody was seen to submit it. */
static __always_inline u32 owner_slot(struct request *rq)
{
	u64 key = (u64)rq;
	struct jp_blk_request *o = bpf_map_lookup_elem(&jp_owners, &key);
	struct jp_slot *s;

	if (!o)
		return JP_SLOT_NONE;
	s = slot_info(o->slot);
	return s && s->gen == o->gen && s->state != JP_SLOT_FREE ? o->slot : JP_SLOT_OTHER;
}

static __always_inline struct jp_blk *blk_of(u32 slot)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots + slot;

	return bpf_map_lookup_elem(&jp_blk, &key);
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
		ADD(b, write_ns, took);
	else
		ADD(b, read_ns, took);
	count_latency(slot, write, took);
}

SEC("?tp_btf/block_rq_complete")
int BPF_PROG(jp_block_complete, struct request *rq, int error, unsigned int nr_bytes)
{
	bool last = nr_bytes >= rq->__data_len;
	u32 op = request_op(rq), owner, slot;
	struct jp_blk *b;

	if (is_nested(rq))
		return 0;
	owner = op > OP_WRITE ? JP_SLOT_OTHER : owner_slot(rq);
	slot = owner == JP_SLOT_NONE ? JP_SLOT_OTHER : owner;
	b = blk_of(slot);
	if (!b)
		return 0;
	if (op > OP_WRITE) {
		ADD(b, others, last);
		return 0;
	}
	if (op == OP_WRITE)
		ADD(b, write_bytes, nr_bytes);
	else
		ADD(b, read_bytes, nr_bytes);
	/* a request without a bio has been completed before */
	if (!last || !rq->bio || in_flush_sequence(rq))
		return 0;
	count_operation(rq, b, slot, op == OP_WRITE);
	if (owner == JP_SLOT_NONE)
		JP_COUNT(blk_unowned);
	return 0;
}
