// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sockets without a peer (UDP, raw, ping): nothing in them tells which way a datagram goes. The
 * packets know their device, so the storage of a socket notes for its last packet in each direction
 * whether it went over loopback. Where a socket uses both at the same time, some calls are counted
 * as if they had sent the packet before or after their own. Storage is made only for sockets that
 * were seen to use loopback.
 *
 * Both programs run for all packets, TCP's too, and return at once when the socket has a peer.
 */
#include "bpf/sock.bpf.h"

#define TCP_CLOSE	 7 /* the state of what is not connected, of any protocol */
#define IPPROTO_TCP	 6
#define IFF_LOOPBACK	 8
#define LOOPBACK_IFINDEX 1 /* the kernel makes lo first in every network namespace */

/* The kernel's own sockets do not count: they answer a ping before the call that sent it ends. */
static __always_inline bool has_no_peer(const struct sock *sk)
{
	return sk->__sk_common.skc_state == TCP_CLOSE && is_inet(sk) &&
	       sk->sk_protocol != IPPROTO_TCP && !is_kernels(sk);
}

/* A datagram has been queued, and no reader woken: the last in the queue, unless a reader that did
 * not sleep has it already. A queue that is empty ends with itself. */
SEC("?tp_btf/sk_data_ready")
int BPF_PROG(jp_sock_ready, struct sock *sk)
{
	struct sk_buff *last;
	struct jp_passed *p;
	u32 loop;

	if (!has_no_peer(sk))
		return 0;
	last = sk->sk_receive_queue.prev;
	if ((void *)last == (void *)&sk->sk_receive_queue)
		return 0;
	loop = BPF_CORE_READ(last, skb_iif) == LOOPBACK_IFINDEX;
	p = passed_of(sk, loop);
	if (p && p->rx_loop != loop)
		p->rx_loop = loop;
	return 0;
}

/* In the task that sends, before its call has ended: count_send() finds the socket again. Not every
 * kernel would let the storage of a socket be used that was found by way of a packet. */
SEC("?tp_btf/net_dev_queue")
int BPF_PROG(jp_dev_queue, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct jp_sent *sent;
	u32 zero = 0;

	if (!sk || !has_no_peer(sk))
		return 0;
	sent = bpf_map_lookup_elem(&jp_sent, &zero);
	if (!sent)
		return 0;
	sent->sock = (u64)sk;
	sent->loop = !!(skb->dev->flags & IFF_LOOPBACK);
	return 0;
}
