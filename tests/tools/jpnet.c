/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves known amounts from one socket to another, both its own, in one of many ways, and says what
 * the system calls returned. */
#include "tests/tools/ring.h"
#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

static const char help[] =
	"[-a ADDRESS] [-n NETNS] [-c COUNT] [-s SIZE] [-t SECONDS] [-o FILE] WAY\n"
	"  send bytes writev sendfile splice splice-from peek zerocopy uring async fails   TCP\n"
	"  mmsg trunc stamps                                                 connected UDP\n"
	"  sendto                                                            UDP without a peer\n"
	"  unix netlink                                                      other families\n"
	"  connect listen   wait SECONDS for, or as, a peer at port 7997\n"
	"  -a ADDRESS  of the receiver (127.0.0.1)   -n NETNS  where the receiver is\n"
	"  -c COUNT    messages (100)                -s SIZE   of each (1000)\n"
	"  -o FILE     what the calls returned, instead of stdout";

#define WAIT_PORT 7997
#define BATCH	  4
#define MAX_SIZE  65536

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static struct job {
	const char *netns, *out;
	union address peer;
	socklen_t len;
	unsigned long count, size;
	double seconds;
	int tx, rx; /* sockets */
	int pipe[2];
	int file;
	char *data, *room;
	unsigned long tx_bytes, tx_ops, rx_bytes, rx_ops;
} j = {.count = 100, .size = 1000, .seconds = 1};

static long sent(long n)
{
	if (n <= 0)
		die("send: %s", n ? strerror(errno) : "nothing sent");
	j.tx_bytes += n;
	j.tx_ops++;
	return n;
}

static long received(long n)
{
	if (n <= 0)
		die("receive: %s", n ? strerror(errno) : "the other end is closed");
	j.rx_bytes += n;
	j.rx_ops++;
	return n;
}

static void send_rest(unsigned long done)
{
	while (done < j.size)
		done += sent(send(j.tx, j.data + done, j.size - done, 0));
}

static void send_plain(void)
{
	send_rest(0);
}

static void recv_plain(void)
{
	unsigned long done = 0;

	while (done < j.size)
		done += received(recv(j.rx, j.room + done, j.size - done, 0));
}

static void send_vec(void)
{
	struct iovec v[2] = {{j.data, j.size / 2}, {j.data + j.size / 2, j.size - j.size / 2}};

	send_rest(sent(writev(j.tx, v, 2)));
}

/* As many calls as there can be. */
static void recv_bytes(void)
{
	for (unsigned long i = 0; i < j.size; i++)
		received(recv(j.rx, j.room, 1, 0));
}

static void recv_vec(void)
{
	unsigned long done = 0;

	while (done < j.size) {
		struct iovec v = {j.room + done, j.size - done};

		done += received(readv(j.rx, &v, 1));
	}
}

static void send_file(void)
{
	off_t at = 0;

	while ((unsigned long)at < j.size)
		sent(sendfile(j.tx, j.file, &at, j.size - at));
}

static void read_socket(void)
{
	unsigned long done = 0;

	while (done < j.size)
		done += received(read(j.rx, j.room + done, j.size - done));
}

static void send_splice(void)
{
	unsigned long done = 0;

	write_all(j.pipe[1], j.data, j.size);
	while (done < j.size)
		done += sent(splice(j.pipe[0], NULL, j.tx, NULL, j.size - done, 0));
}

static void recv_splice(void)
{
	unsigned long done = 0;
	long n;

	while (done < j.size) {
		n = received(splice(j.rx, NULL, j.pipe[1], NULL, j.size - done, 0));
		if (read(j.pipe[0], j.room, n) != n)
			die("read: %s", strerror(errno));
		done += n;
	}
}

static void recv_peek(void)
{
	if (recv(j.rx, j.room, j.size, MSG_PEEK) <= 0)
		die("peek: %s", strerror(errno));
	recv_plain();
}

/* Notices of the kernel that a buffer is free again, or copies of packets with their times. */
static void drain_notices(void)
{
	char control[512];
	struct iovec v = {j.room, MAX_SIZE};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct pollfd p = {.fd = j.tx};

	if (poll(&p, 1, 1000) != 1)
		die("no notice came");
	while (recvmsg(j.tx, &m, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
		m.msg_controllen = sizeof(control);
}

static void send_zerocopy(void)
{
	int on = 1;

	if (setsockopt(j.tx, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)))
		die("SO_ZEROCOPY: %s", strerror(errno));
	send_rest(sent(send(j.tx, j.data, j.size, MSG_ZEROCOPY)));
	recv_plain(); /* the buffers are free only then */
	drain_notices();
}

static void send_stamped(void)
{
	int on = SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_SOFTWARE;

	if (setsockopt(j.tx, SOL_SOCKET, SO_TIMESTAMPING, &on, sizeof(on)))
		die("SO_TIMESTAMPING: %s", strerror(errno));
	send_plain();
	drain_notices();
}

static void send_batch(void)
{
	struct iovec v = {j.data, j.size};
	struct mmsghdr m[BATCH] = {0};
	int i, n;

	for (i = 0; i < BATCH; i++)
		m[i].msg_hdr.msg_iov = &v, m[i].msg_hdr.msg_iovlen = 1;
	n = sendmmsg(j.tx, m, BATCH, 0);
	if (n != BATCH)
		die("sendmmsg: %d of %d", n, BATCH);
	for (i = 0; i < n; i++)
		sent(m[i].msg_len);
}

static void recv_batch(void)
{
	struct iovec v = {j.room, j.size};
	struct mmsghdr m[BATCH] = {0};
	int i, n, done;

	for (i = 0; i < BATCH; i++)
		m[i].msg_hdr.msg_iov = &v, m[i].msg_hdr.msg_iovlen = 1;
	for (done = 0; done < BATCH; done += n) {
		n = recvmmsg(j.rx, m, BATCH - done, 0, NULL);
		if (n <= 0)
			die("recvmmsg: %s", strerror(errno));
		for (i = 0; i < n; i++)
			received(m[i].msg_len);
	}
}

/* The datagram's whole length comes back although it did not fit. */
static void recv_trunc(void)
{
	received(recv(j.rx, j.room, j.size / 2, MSG_TRUNC));
}

static void send_to(void)
{
	sent(sendto(j.tx, j.data, j.size, 0, &j.peer.any, j.len));
}

static void recv_from(void)
{
	union address from;
	socklen_t len = sizeof(from);

	received(recvfrom(j.rx, j.room, j.size, 0, &from.any, &len));
}

/* Calls that move nothing: whole messages go through before and after. */
static void recv_and_fail(void)
{
	if (recv(j.rx, j.room, j.size, 0) != (long)j.size)
		die("short message");
	received(j.size);
	if (recv(j.rx, j.room, j.size, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
		die("an empty socket gave data");
	if (send(j.rx, j.data, 0, 0) || send(j.rx, (void *)1, j.size, 0) >= 0)
		die("a bad buffer was sent");
}

static void send_ring(void)
{
	if (!ring.sqe)
		ring_open(0);
	send_rest(sent(ring_do(IORING_OP_SEND, j.tx, j.data, j.size)));
}

/* By the kernel's worker threads. */
static void send_async(void)
{
	if (!ring.sqe)
		ring_open(IOSQE_ASYNC);
	send_ring();
}

static void recv_ring(void)
{
	unsigned long done = 0;

	while (done < j.size)
		done += received(ring_do(IORING_OP_RECV, j.rx, j.room + done, j.size - done));
}

static void ask_netlink(void)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg g;
	} ask = {{sizeof(ask), RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0}, {AF_UNSPEC}};

	sent(send(j.tx, &ask, sizeof(ask), 0));
	while (recv(j.tx, j.room, MAX_SIZE, 0) > 0)
		if (((struct nlmsghdr *)j.room)->nlmsg_type == NLMSG_DONE)
			return;
	die("netlink: %s", strerror(errno));
}

static void nothing(void)
{
}

static void enter(int netns)
{
	if (netns < 0 || setns(netns, CLONE_NEWNET))
		die("cannot enter a network namespace: %s", strerror(errno));
	close(netns);
}

/* A socket of the receiver's, where the receiver is. */
static int receiver(int type)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd;
	char path[256];

	snprintf(path, sizeof(path), "/run/netns/%s", j.netns ? j.netns : "");
	if (j.netns)
		enter(open(path, O_RDONLY | O_CLOEXEC));
	fd = socket(j.peer.any.sa_family, type | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, &j.peer.any, j.len))
		die("cannot bind: %s", strerror(errno));
	enter(home);
	return fd;
}

static void make_tcp(void)
{
	int listener = receiver(SOCK_STREAM), on = 1;

	if (listen(listener, 1) || getsockname(listener, &j.peer.any, &j.len))
		die("listen: %s", strerror(errno));
	j.tx = socket(j.peer.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(j.tx, &j.peer.any, j.len))
		die("connect: %s", strerror(errno));
	j.rx = accept(listener, NULL, NULL);
	if (j.rx < 0)
		die("accept: %s", strerror(errno));
	setsockopt(j.tx, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	close(listener);
}

static void make_alone(void)
{
	j.rx = receiver(SOCK_DGRAM);
	j.tx = socket(j.peer.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (j.tx < 0 || getsockname(j.rx, &j.peer.any, &j.len))
		die("socket: %s", strerror(errno));
}

static void make_udp(void)
{
	union address me;
	socklen_t len = sizeof(me);

	make_alone();
	if (connect(j.tx, &j.peer.any, j.len) || getsockname(j.tx, &me.any, &len) ||
	    connect(j.rx, &me.any, len))
		die("connect: %s", strerror(errno));
}

static void make_unix(void)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		die("socketpair: %s", strerror(errno));
	j.tx = fd[0], j.rx = fd[1];
}

static void make_netlink(void)
{
	j.tx = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (j.tx < 0)
		die("netlink: %s", strerror(errno));
}

/* A connection that the peer may never answer. */
static void make_connect(void)
{
	int fd = socket(j.peer.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	j.peer.v4.sin_port = htons(WAIT_PORT);
	if (!connect(fd, &j.peer.any, j.len) || errno != EINPROGRESS)
		die("connect: %s", strerror(errno));
	poll(&p, 1, (int)(j.seconds * 1000));
	j.count = 0;
}

static void make_listen(void)
{
	int fd;

	j.peer.v4.sin_port = htons(WAIT_PORT);
	fd = receiver(SOCK_STREAM);
	if (listen(fd, 8))
		die("listen: %s", strerror(errno));
	sleep_s(j.seconds);
	j.count = 0;
}

static const struct way {
	const char *name;
	void (*make)(void), (*send)(void), (*receive)(void);
} ways[] = {
	{"send", make_tcp, send_plain, recv_plain},
	{"bytes", make_tcp, send_plain, recv_bytes},
	{"writev", make_tcp, send_vec, recv_vec},
	{"sendfile", make_tcp, send_file, read_socket},
	{"splice", make_tcp, send_splice, recv_plain},
	{"splice-from", make_tcp, send_plain, recv_splice},
	{"peek", make_tcp, send_plain, recv_peek},
	{"zerocopy", make_tcp, send_zerocopy, nothing},
	{"uring", make_tcp, send_ring, recv_ring},
	{"async", make_tcp, send_async, recv_ring},
	{"fails", make_tcp, send_plain, recv_and_fail},
	{"mmsg", make_udp, send_batch, recv_batch},
	{"trunc", make_udp, send_plain, recv_trunc},
	{"stamps", make_udp, send_stamped, recv_plain},
	{"sendto", make_alone, send_to, recv_from},
	{"unix", make_unix, send_plain, recv_plain},
	{"netlink", make_netlink, ask_netlink, nothing},
	{"connect", make_connect, nothing, nothing},
	{"listen", make_listen, nothing, nothing},
};

static void set_address(const char *text)
{
	memset(&j.peer, 0, sizeof(j.peer));
	if (inet_pton(AF_INET, text, &j.peer.v4.sin_addr) == 1) {
		j.peer.any.sa_family = AF_INET;
		j.len = sizeof(j.peer.v4);
	} else if (inet_pton(AF_INET6, text, &j.peer.v6.sin6_addr) == 1) {
		j.peer.any.sa_family = AF_INET6;
		j.len = sizeof(j.peer.v6);
	} else {
		usage(help, false);
	}
}

static void parse(int argc, char **argv)
{
	const struct opt opts[] = {OPT('a', set_address),
				   OPT('n', &j.netns),
				   OPT('c', &j.count),
				   OPT('s', &j.size),
				   OPT('t', &j.seconds),
				   OPT('o', &j.out),
				   {}};

	set_address("127.0.0.1");
	options(argc, argv, opts, help);
	if (argc - optind != 1 || j.size < 2 || j.size > MAX_SIZE)
		usage(help, false);
}

static void make_data(void)
{
	j.data = malloc(MAX_SIZE);
	j.room = malloc(MAX_SIZE);
	j.file = memfd_create("jpnet", MFD_CLOEXEC);
	if (!j.data || !j.room || j.file < 0 || pipe2(j.pipe, O_CLOEXEC))
		die("cannot prepare: %s", strerror(errno));
	memset(j.data, 'j', MAX_SIZE);
	write_all(j.file, j.data, MAX_SIZE);
}

int main(int argc, char **argv)
{
	const struct way *w = ways, *end = ways + sizeof(ways) / sizeof(ways[0]);
	unsigned long i;
	FILE *out;

	parse(argc, argv);
	while (w < end && strcmp(w->name, argv[optind]))
		w++;
	if (w == end)
		usage(help, false);
	make_data();
	w->make();
	for (i = 0; i < j.count; i++) {
		w->send();
		w->receive();
	}
	out = j.out ? fopen(j.out, "we") : stdout;
	if (!out)
		die("cannot write %s: %s", j.out, strerror(errno));
	fprintf(out, "tx_bytes=%lu\ntx_ops=%lu\nrx_bytes=%lu\nrx_ops=%lu\n", j.tx_bytes, j.tx_ops,
		j.rx_bytes, j.rx_ops);
	return fclose(out) ? 1 : 0;
}
