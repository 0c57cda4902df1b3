// SPDX-License-Identifier: GPL-2.0-only
/* One function per way of sending or receiving a few bytes over loopback. */
#include "kern/net_try.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FEW	    16
#define PATIENCE_US 100000
#define ROOM	    65536

static int set_option(int fd, int level, int name, const void *value, socklen_t len)
{
	return setsockopt(fd, level, name, value, len) ? -errno : 0;
}

static int new_socket(int protocol)
{
	const struct timeval patience = {.tv_usec = PATIENCE_US};
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

/* Whoever else connects to the port in that moment is not the one. */
static int accept_own(int listener, int tx)
{
	struct sockaddr_in own = {}, peer = {};
	socklen_t len = sizeof(own), plen = sizeof(peer);
	const struct timeval patience = {.tv_usec = PATIENCE_US};
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
	static const char data[FEW];
	ssize_t put = send(fd, data, n, MSG_NOSIGNAL);

	if (put < 0)
		return -errno;
	return (size_t)put == n ? 0 : -EAGAIN;
}

int net_try__plain(const struct net_pair *p)
{
	int err = send_few(p->tx, FEW);

	if (!err)
		err = receive_all(p->rx, FEW);
	return err ? err : FEW;
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
	static const char data[FEW];
	ssize_t moved;
	int n, err;

	if (write(p->pipe[1], data, FEW) != FEW)
		return -errno;
	moved = splice(p->pipe[0], NULL, p->tx, NULL, FEW, 0);
	if (moved < 0)
		return -errno;
	n = send_file(p->tx, FEW);
	if (n < 0)
		return n;
	err = receive_all(p->rx, (size_t)(moved + n));
	return err ? err : (int)moved + n;
}

int net_try__splice_from(const struct net_pair *p)
{
	char room[FEW];
	ssize_t moved;
	int err = send_few(p->tx, FEW);

	if (err)
		return err;
	moved = splice(p->rx, NULL, p->pipe[1], NULL, FEW, 0);
	if (moved < 0)
		return -errno;
	return read(p->pipe[0], room, sizeof(room)) == moved ? (int)moved : -EIO;
}

struct map_request { /* what the kernel has always taken of struct tcp_zerocopy_receive */
	uint64_t address;
	uint32_t length;
	uint32_t rest; /* to be read by calls */
};

/* Only whole pages that are nobody's can be mapped: those of a pipe are such. */
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
