// SPDX-License-Identifier: GPL-2.0-only
/* One function per way of sending or receiving a few bytes over loopback; io_uring with a ring of
 * one entry. */
#include "kern/net/net_try.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FEW_BYTES  16
#define TIMEOUT_US 100000
#define ROOM	   65536

#define FEW_BYTES  16
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

/* Submits one request and waits. Requests are made only where they can be served at once. */
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
	char data[FEW_BYTES] = {};
	struct ring r;
	int err = ring_open(&r);

	if (err)
		return err;
	err = ring_do(&r, IORING_OP_SEND, p->tx, data, FEW_BYTES);
	/* a poll has a time limit, a request would have none */
	if (err == FEW_BYTES && recv(p->rx, data, 1, MSG_PEEK) != 1)
		err = -errno;
	if (err == FEW_BYTES)
		err = ring_do(&r, IORING_OP_RECV, p->rx, data, FEW_BYTES);
	ring_close(&r);
	if (err < 0)
		return err == -EINVAL ? -EOPNOTSUPP : err; /* rings before 5.6 */
	return err == FEW_BYTES ? FEW_BYTES : -EIO;
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
	memset(room, 0, sizeof(room)); /* the kernel requires it */
	err = syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_PROBE, ops, 256) ? -errno : 0;
	ring_close(&r);
	if (err)
		return err;
	return ops->last_op >= OP_RECV_ZC && (ops->ops[OP_RECV_ZC].flags & IO_URING_OP_SUPPORTED);
}

static int set_option(int fd, int level, int name, const void *value, socklen_t len)
{
	return setsockopt(fd, level, name, value, len) ? -errno : 0;
}

static int new_socket(int protocol)
{
	const struct timeval patience = {.tv_usec = TIMEOUT_US};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return -errno;
	set_option(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	set_option(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return fd;
}

/* A listening socket; its address in *a. */
static int new_listener(int protocol, struct sockaddr_in *a)
{
	socklen_t len = sizeof(*a);
	int fd = new_socket(protocol), err;

	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0)
		return fd;
	if (!bind(fd, (struct sockaddr *)a, len) && !listen(fd, 1) &&
	    !getsockname(fd, (struct sockaddr *)a, &len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* The address shows whether another process has connected to the port. */
static int accept_own(int listener, int tx)
{
	struct sockaddr_in own = {}, peer = {};
	socklen_t len = sizeof(own), plen = sizeof(peer);
	const struct timeval patience = {.tv_usec = TIMEOUT_US};
	int fd = accept4(listener, (struct sockaddr *)&peer, &plen, SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (getsockname(tx, (struct sockaddr *)&own, &len) || own.sin_port != peer.sin_port) {
		close(fd);
		return -ECONNABORTED;
	}
	set_option(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

int net_pair__open(struct net_pair *p, int protocol)
{
	_cleanup_close_ int listener = -1;
	struct sockaddr_in a;
	int err = 0;

	*p = (struct net_pair){-1, -1, {-1, -1}};
	listener = new_listener(protocol, &a);
	if (listener < 0)
		return listener;
	p->tx = new_socket(protocol);
	if (p->tx < 0)
		err = p->tx;
	else if (connect(p->tx, (struct sockaddr *)&a, sizeof(a)) ||
		 pipe2(p->pipe, O_CLOEXEC | O_NONBLOCK))
		err = -errno;
	if (!err)
		err = p->rx = accept_own(listener, p->tx);
	if (err < 0)
		net_pair__close(p);
	return err < 0 ? err : 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void net_pair__close(struct net_pair *p)
{
	const struct linger at_once = {.l_onoff = 1};

	if (p->rx >= 0)
		set_option(p->rx, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	if (p->tx >= 0)
		set_option(p->tx, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close_fd(&p->tx);
	close_fd(&p->rx);
	close_fd(&p->pipe[0]);
	close_fd(&p->pipe[1]);
}

/* Receives n bytes, by ordinary calls. */
static int receive_all(int fd, size_t n)
{
	char room[4096];
	ssize_t got;

	for (; n; n -= (size_t)got) {
		got = recv(fd, room, n < sizeof(room) ? n : sizeof(room), 0);
		if (got <= 0)
			return got ? -errno : -ECONNRESET;
	}
	return 0;
}

static int send_few(int fd, size_t n)
{
	static const char data[FEW_BYTES];
	ssize_t put = send(fd, data, n, MSG_NOSIGNAL);

	if (put < 0)
		return -errno;
	return (size_t)put == n ? 0 : -EAGAIN;
}

int net_try__plain(const struct net_pair *p)
{
	int err = send_few(p->tx, FEW_BYTES);

	if (!err)
		err = receive_all(p->rx, FEW_BYTES);
	return err ? err : FEW_BYTES;
}

/* n bytes from a file in memory; -errno or how many. */
static int send_file(int fd, size_t n)
{
	_cleanup_close_ int file = memfd_create("jobprof-try", MFD_CLOEXEC);
	off_t at = 0;
	ssize_t sent;

	if (file < 0 || ftruncate(file, (off_t)n))
		return -errno;
	sent = sendfile(fd, file, &at, n);
	return sent < 0 ? -errno : (int)sent;
}

int net_try__splice_to(const struct net_pair *p)
{
	static const char data[FEW_BYTES];
	ssize_t moved;
	int n, err;

	if (write(p->pipe[1], data, FEW_BYTES) != FEW_BYTES)
		return -errno;
	moved = splice(p->pipe[0], NULL, p->tx, NULL, FEW_BYTES, 0);
	if (moved < 0)
		return -errno;
	n = send_file(p->tx, FEW_BYTES);
	if (n < 0)
		return n;
	err = receive_all(p->rx, (size_t)(moved + n));
	return err ? err : (int)moved + n;
}

int net_try__splice_from(const struct net_pair *p)
{
	char room[FEW_BYTES];
	ssize_t moved;
	int err = send_few(p->tx, FEW_BYTES);

	if (err)
		return err;
	moved = splice(p->rx, NULL, p->pipe[1], NULL, FEW_BYTES, 0);
	if (moved < 0)
		return -errno;
	return read(p->pipe[0], room, sizeof(room)) == moved ? (int)moved : -EIO;
}

struct map_request { /* what the kernel has always taken of struct tcp_zerocopy_receive */
	uint64_t address;
	uint32_t length;
	uint32_t rest; /* to be read by calls */
};

/* Only whole pages without an owner can be mapped: the pages of a pipe are such. */
int net_try__map(const struct net_pair *p)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	static char data[ROOM];
	struct map_request r = {.length = (uint32_t)page};
	socklen_t len = sizeof(r);
	void *at;
	int err = 0;

	if (page > ROOM)
		return -E2BIG;
	at = mmap(NULL, page, PROT_READ, MAP_SHARED, p->rx, 0);
	if (at == MAP_FAILED)
		return errno == ENODEV ? -EOPNOTSUPP : -errno;
	r.address = (uintptr_t)at;
	if (write(p->pipe[1], data, page) != (ssize_t)page ||
	    splice(p->pipe[0], NULL, p->tx, NULL, page, 0) != (ssize_t)page)
		err = -EIO;
	else if (recv(p->rx, data, 1, MSG_PEEK) != 1) /* it is there */
		err = -errno;
	else if (getsockopt(p->rx, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &r, &len))
		err = -errno;
	munmap(at, page);
	if (err || r.length == page)
		return err ? err : (int)page;
	err = receive_all(p->rx, page - r.length);
	return err ? err : (int)r.length;
}

int net_try__tls(const struct net_pair *p)
{
	struct tls12_crypto_info_aes_gcm_128 key = {.info.version = TLS_1_2_VERSION,
						    .info.cipher_type = TLS_CIPHER_AES_GCM_128};
	int err = set_option(p->tx, IPPROTO_TCP, TCP_ULP, "tls", 4);

	if (!err)
		err = set_option(p->rx, IPPROTO_TCP, TCP_ULP, "tls", 4);
	if (!err)
		err = set_option(p->tx, SOL_TLS, TLS_TX, &key, sizeof(key));
	if (!err)
		err = set_option(p->rx, SOL_TLS, TLS_RX, &key, sizeof(key));
	return err ? err : net_try__plain(p);
}
