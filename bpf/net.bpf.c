// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Bytes and calls at the socket layer: the data of a call, counted in the task that calls, before
 * the kernel cuts it into packets. Only IPv4 and IPv6 count; UNIX and netlink sockets come here
 * too, but are not counted. A call that failed or moved nothing is not counted.
 *
 * Retransmits happen in softirqs and timers, where the current task has nothing to do with them. A
 * TCP socket therefore carries the slot that used it last. A socket that carries none belongs to
 * the cgroup v2 it was made in, if that is followed.
 */
#include "bpf/owner.bpf.h"
#include "bpf/sock.bpf.h"
#include <bpf/bpf_endian.h>

#define IPPROTO_TCP  6
#define IFF_LOOPBACK 8
#define MSG_PEEK     2
#define MSG_ERRQUEUE 0x2000
#define TCP_SYN_SENT 2
#define TCP_LISTEN   10
#define EAGAIN	     11
#define ENOMEM	     12
#define EBUSY	     16
#define EINVAL	     22
#define EHOSTUNREACH 113

/* Neither takes anything off the socket's queue: the data is there again for the next call, or is
 * a packet of our own that came back with an error or a time stamp. */
#define NOT_RECEIVED (MSG_PEEK | MSG_ERRQUEUE)

static __always_inline bool is_loop4(__be32 a)
{
	return (a & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000);
}

/* ::1, or 127/8 inside IPv6. */
static __always_inline bool is_loop6(__be32 a0, __be32 a1, __be32 a2, __be32 a3)
{
	if (a0 | a1)
		return false;
	return a2 ? a2 == bpf_htonl(0xffff) && is_loop4(a3) : a3 == bpf_htonl(1);
}

/* Addresses of our own lead to the loopback device too, all but link-local ones of IPv6. */
static __always_inline bool is_loop_route(struct sock *sk)
{
	struct dst_entry *dst = sk->sk_dst_cache;
	struct net_device *dev;

	if (!dst)
		return false;
	dev = dst->dev;
	return dev && (dev->flags & IFF_LOOPBACK);
}

/* What the packet that was just sent said, for this call and for those whose packet another task's
 * came after. */
static __always_inline void note_sent(struct sock *sk)
{
	u32 zero = 0, loop;
	struct jp_sent *sent = bpf_map_lookup_elem(&jp_sent, &zero);
	struct jp_passed *p;

	if (!sent || sent->sock != (u64)sk)
		return;
	loop = sent->loop;
	p = passed_of(sk, loop);
	if (p && p->tx_loop != loop)
		p->tx_loop = loop;
}

/* A socket without a peer shows the address that it is bound to, and what its last packet said
 * (netloop.bpf.c). */
static __always_inline bool passed_loop(struct sock *sk, bool rx)
{
	struct jp_passed *p;

	if (!rx)
		note_sent(sk);
	p = passed_of(sk, false);
	return p && (rx ? p->rx_loop : p->tx_loop);
}

/* The IPv4 fields of an IPv6 socket hold a placeholder out of 127/8: they are not looked at. */
static __always_inline bool is_loop_inet6(struct sock *sk, bool rx)
{
	struct in6_addr *own = &sk->__sk_common.skc_v6_rcv_saddr;
	struct in6_addr *peer = &sk->__sk_common.skc_v6_daddr;
	__be32 o0 = own->in6_u.u6_addr32[0], o1 = own->in6_u.u6_addr32[1];
	__be32 o2 = own->in6_u.u6_addr32[2], o3 = own->in6_u.u6_addr32[3];
	__be32 p0 = peer->in6_u.u6_addr32[0], p1 = peer->in6_u.u6_addr32[1];
	__be32 p2 = peer->in6_u.u6_addr32[2], p3 = peer->in6_u.u6_addr32[3];

	if (!(p0 | p1 | p2 | p3))
		return is_loop6(o0, o1, o2, o3) || passed_loop(sk, rx);
	if (p3 == o3 && p2 == o2 && p1 == o1 && p0 == o0)
		return true;
	return is_loop6(p0, p1, p2, p3) || is_loop_route(sk);
}

static __always_inline bool is_loop(struct sock *sk, bool rx)
{
	__be32 own, peer;

	if (sk->__sk_common.skc_family == AF_INET6)
		return is_loop_inet6(sk, rx);
	own = sk->__sk_common.skc_rcv_saddr;
	peer = sk->__sk_common.skc_daddr;
	if (!peer)
		return is_loop4(own) || passed_loop(sk, rx);
	return is_loop4(peer) || peer == own || is_loop_route(sk);
}

/* Makes a TCP socket carry the slot. Several tasks may use it at once: both halves in one store. */
static __always_inline void tag(struct sock *sk, u32 slot)
{
	struct jp_slot *info = slot_info(slot);
	u64 want = slot | (u64)(info ? info->gen : 0) << TAG_GEN_SHIFT;
	u64 *has;

	_Static_assert(sizeof(struct jp_owner) == sizeof(want), "one store");
	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	has = bpf_sk_storage_get(&jp_socks, sk, 0, 0);
	if (has) {
		if (*has != want)
			*(volatile u64 *)has = want;
		return;
	}
	if (slot == JP_SLOT_OTHER)
		return;
	if (!bpf_sk_storage_get(&jp_socks, sk, &want, BPF_LOCAL_STORAGE_GET_F_CREATE))
		JP_COUNT(sock_fail);
}

/* The slot of the task that makes the call; none for the kernel's own sockets. */
static __always_inline struct jp_net *counts_of(struct sock *sk)
{
	u32 slot = JP_SLOT_OTHER;

	if (!is_kernels(sk)) {
		slot = current_slot();
		tag(sk, slot);
	}
	return net_of(slot);
}

static __always_inline void count_send(struct sock *sk, int ret)
{
	struct jp_net *n;

	if (ret <= 0 || !is_inet(sk))
		return;
	n = counts_of(sk);
	if (n && is_loop(sk, false)) {
		ADD(n, loop_tx_bytes, ret);
		ADD(n, loop_tx_ops, 1);
	} else if (n) {
		ADD(n, tx_bytes, ret);
		ADD(n, tx_ops, 1);
	}
}

static __always_inline void count_recv(struct sock *sk, int ret, int flags)
{
	struct jp_net *n;

	if (ret <= 0 || (flags & NOT_RECEIVED) || !is_inet(sk))
		return;
	n = counts_of(sk);
	if (n && is_loop(sk, true)) {
		ADD(n, loop_rx_bytes, ret);
		ADD(n, loop_rx_ops, 1);
	} else if (n) {
		ADD(n, rx_bytes, ret);
		ADD(n, rx_ops, 1);
	}
}

SEC("?tp_btf/sock_send_length")
int BPF_PROG(jp_sock_send, struct sock *sk, int ret, int flags)
{
	count_send(sk, ret);
	return 0;
}

SEC("?tp_btf/sock_recv_length")
int BPF_PROG(jp_sock_recv, struct sock *sk, int ret, int flags)
{
	count_recv(sk, ret, flags);
	return 0;
}

/* Where these tracepoints do not exist (before 6.3): the same places one step further down. */
SEC("?fexit/inet_sendmsg")
int BPF_PROG(jp_inet_send, struct socket *sock, void *msg, u64 size, int ret)
{
	count_send(sock->sk, ret);
	return 0;
}

SEC("?fexit/inet6_sendmsg")
int BPF_PROG(jp_inet6_send, struct socket *sock, void *msg, u64 size, int ret)
{
	count_send(sock->sk, ret);
	return 0;
}

SEC("?fexit/inet_recvmsg")
int BPF_PROG(jp_inet_recv, struct socket *sock, void *msg, u64 size, int flags, int ret)
{
	count_recv(sock->sk, ret, flags);
	return 0;
}

SEC("?fexit/inet6_recvmsg")
int BPF_PROG(jp_inet6_recv, struct socket *sock, void *msg, u64 size, int flags, int ret)
{
	count_recv(sock->sk, ret, flags);
	return 0;
}

/* sendfile and splice into a socket, until 6.5 made them ordinary messages. */
SEC("?fexit/inet_sendpage")
int BPF_PROG(jp_inet_page, struct socket *sock, void *page, int offset, u64 size, int flags,
	     long ret)
{
	count_send(sock->sk, ret);
	return 0;
}

/* A connection is its maker's before anything was sent: the first packet may have to go again. */
SEC("?tp_btf/inet_sock_set_state")
int BPF_PROG(jp_sock_state, struct sock *sk, int from, int to)
{
	if ((to == TCP_SYN_SENT || to == TCP_LISTEN) && is_inet(sk) && !is_kernels(sk))
		tag(sk, current_slot());
	return 0;
}

static __always_inline u32 slot_of_sock(struct sock *sk)
{
	u32 slot = slot_of_tag(bpf_sk_storage_get(&jp_socks, sk, 0, 0));

	if (slot != JP_SLOT_NONE)
		return slot;
	if (!bpf_core_field_exists(sk->sk_cgrp_data.cgroup))
		return JP_SLOT_OTHER;
	return slot_of_cgroup2(BPF_CORE_READ(sk, sk_cgrp_data.cgroup, kn, id));
}

static __always_inline void count_again(struct sock *sk, u32 segments)
{
	struct jp_net *n = net_of(slot_of_sock(sk));

	if (n)
		ADD(n, tcp_retrans, segments);
}

/*
 * Since 6.16 the tracepoint also fires for attempts that failed, and says with what. RetransSegs
 * has those that got as far as the IP layer; these errors come before.
 */
static __always_inline bool is_given_up(int err)
{
	return err == -EAGAIN || err == -ENOMEM || err == -EBUSY || err == -EINVAL ||
	       err == -EHOSTUNREACH;
}

/* Set before load: the tracepoint has that argument. */
const volatile __u32 jp_retrans_err = 0;

/* A buffer that goes again may be several segments; RetransSegs counts them all. */
SEC("?tp_btf/tcp_retransmit_skb")
int jp_retrans(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct sk_buff *skb = (struct sk_buff *)ctx[1];
	struct tcp_skb_cb *cb = (struct tcp_skb_cb *)&skb->cb[0];
	u32 segments = cb->tcp_gso_segs;

	if (jp_retrans_err && is_given_up((int)ctx[2]))
		return 0;
	count_again(sk, segments ? segments : 1);
	return 0;
}

/* The answer to a connection request; sk is the listening socket. */
SEC("?tp_btf/tcp_retransmit_synack")
int BPF_PROG(jp_retrans_synack, struct sock *sk)
{
	count_again(sk, 1);
	return 0;
}
