// SPDX-License-Identifier: GPL-2.0-only
/* A ring of one entry, to try what the counters make of io_uring. */
#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kern/net_try.h"

#define FEW	   16
#define OP_RECV_ZC 58 /* IORING_OP_RECV_ZC, newer than most headers */
#define RING_PAGE  4096

struct ring {
	int fd;
	struct io_uring_params p;
	char *sq, *cq;
	struct io_uring_sqe *sqe;
};

static void *map_at(int fd, off_t at)
{
	void *p = mmap(NULL, RING_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

	return p == MAP_FAILED ? NULL : p;
}

static void ring_close(struct ring *r)
{
	if (r->sq)
		munmap(r->sq, RING_PAGE);
	if (r->cq)
		munmap(r->cq, RING_PAGE);
	if (r->sqe)
		munmap(r->sqe, RING_PAGE);
	if (r->fd >= 0)
		close(r->fd);
}

static int ring_open(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = (int)syscall(SYS_io_uring_setup, 1, &r->p);
	if (r->fd < 0)
		return -errno;
	r->sq = map_at(r->fd, IORING_OFF_SQ_RING);
	r->cq = map_at(r->fd, IORING_OFF_CQ_RING);
	r->sqe = map_at(r->fd, IORING_OFF_SQES);
	if (r->sq && r->cq && r->sqe)
		return 0;
	ring_close(r);
	return -ENOMEM;
}

/* One request, waited for. It is only made where it can be served at once. */
static int ring_do(struct ring *r, int op, int fd, char *buf, unsigned len)
{
	unsigned *sq_tail = (unsigned *)(r->sq + r->p.sq_off.tail);
	unsigned *cq_head = (unsigned *)(r->cq + r->p.cq_off.head);
	unsigned *cq_tail = (unsigned *)(r->cq + r->p.cq_off.tail);
	struct io_uring_cqe *cqe = (struct io_uring_cqe *)(r->cq + r->p.cq_off.cqes);
	unsigned head = *cq_head;
	int res;

	*r->sqe = (struct io_uring_sqe){
		.opcode = (uint8_t)op, .fd = fd, .addr = (uintptr_t)buf, .len = len};
	*(unsigned *)(r->sq + r->p.sq_off.array) = 0;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -errno;
	if (__atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) == head)
		return -EIO;
	res = cqe[head & (r->p.cq_entries - 1)].res;
	__atomic_store_n(cq_head, head + 1, __ATOMIC_RELEASE);
	return res;
}

int net_try__uring(const struct net_pair *p)
{
	char data[FEW] = {};
	struct ring r;
	int err = ring_open(&r);

	if (err)
		return err;
	err = ring_do(&r, IORING_OP_SEND, p->tx, data, FEW);
	/* waits at most for a while, which a request would not */
	if (err == FEW && recv(p->rx, data, 1, MSG_PEEK) != 1)
		err = -errno;
	if (err == FEW)
		err = ring_do(&r, IORING_OP_RECV, p->rx, data, FEW);
	ring_close(&r);
	if (err < 0)
		return err == -EINVAL ? -EOPNOTSUPP : err; /* rings before 5.6 */
	return err == FEW ? FEW : -EIO;
}

int net_uring__has_zero_copy(void)
{
	static char room[sizeof(struct io_uring_probe) + 256 * sizeof(struct io_uring_probe_op)]
		__attribute__((aligned(8)));
	struct io_uring_probe *ops = (struct io_uring_probe *)room;
	struct ring r;
	int err;

	err = ring_open(&r);
	if (err)
		return err;
	memset(room, 0, sizeof(room)); /* the kernel wants it so */
	err = syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_PROBE, ops, 256) ? -errno : 0;
	ring_close(&r);
	if (err)
		return err;
	return ops->last_op >= OP_RECV_ZC && (ops->ops[OP_RECV_ZC].flags & IO_URING_OP_SUPPORTED);
}
