/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring without a library. */
#ifndef JP_TESTS_RING_H
#define JP_TESTS_RING_H

#include "tests/tools/tool.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>

/* One request at a time through a ring of one entry. */
static struct {
	int fd;
	char *sq, *cq;
	struct io_uring_sqe *sqe;
	struct io_uring_params p;
	int flags;
} ring;

static inline void ring_open(int flags)
{
	ring.flags = flags;
	ring.fd = syscall(SYS_io_uring_setup, 1, &ring.p);
	if (ring.fd < 0)
		die("io_uring: %s", strerror(errno));
	ring.sq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQ_RING);
	ring.cq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_CQ_RING);
	ring.sqe = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQES);
	if (ring.sq == MAP_FAILED || ring.cq == MAP_FAILED || ring.sqe == MAP_FAILED)
		die("cannot map the ring: %s", strerror(errno));
}

static inline long ring_do(int op, int fd, char *buf, unsigned len)
{
	unsigned *sq_tail = (unsigned *)(ring.sq + ring.p.sq_off.tail);
	unsigned *cq_head = (unsigned *)(ring.cq + ring.p.cq_off.head);
	unsigned *cq_tail = (unsigned *)(ring.cq + ring.p.cq_off.tail);
	struct io_uring_cqe *cqe = (struct io_uring_cqe *)(ring.cq + ring.p.cq_off.cqes);
	unsigned head = *cq_head;
	long res;

	*ring.sqe = (struct io_uring_sqe){
		.opcode = op, .flags = ring.flags, .fd = fd, .addr = (uintptr_t)buf, .len = len};
	((unsigned *)(ring.sq + ring.p.sq_off.array))[0] = 0;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		die("io_uring_enter: %s", strerror(errno));
	if (__atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) == head)
		die("io_uring gave no answer");
	res = cqe[head & (ring.p.cq_entries - 1)].res;
	__atomic_store_n(cq_head, head + 1, __ATOMIC_RELEASE);
	if (res < 0)
		errno = -res;
	return res;
}

#endif
