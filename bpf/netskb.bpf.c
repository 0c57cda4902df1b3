// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts the packets that sockets send and get, by programs at the root of cgroup v2, on kernels
 * where no program can see the calls on sockets. The programs run in softirqs as well as in tasks,
 * so the current task tells nothing. A TCP socket carries the slot that connected it or made it
 * listen (net.bpf.c), and an accepted socket inherits that slot. Any other socket belongs to the
 * cgroup it was made in.
 *
 * The bytes behind the IP, TCP and UDP headers of packets are counted, which is close to what the
 * socket layer would count; but what TCP sends again is counted again, and so is what arrives and
 * is never read. A packet without data is no operation. One packet here may be many on the wire,
 * which the device cuts or has joined; the headers of these are not known here.
 */
#include "bpf/sock.bpf.h"
#include <bpf/bpf_endian.h>

#define ETH_P_IP	 0x0800
#define IPPROTO_HOPOPTS	 0
#define IPPROTO_TCP	 6
#define IPPROTO_UDP	 17
#define IPPROTO_ROUTING	 43
#define IPPROTO_FRAGMENT 44
#define IPPROTO_DSTOPTS	 60
#define IPV6_HEADER	 40
#define UDP_HEADER	 8
#define EXTENSIONS	 8 /* of IPv6, looked at */
#define LOOPBACK_IFINDEX 1 /* the kernel makes lo first in every network namespace */
#define PASS		 1

/* First word of TCP's header that has its length, as a number of words in the high bits. */
#define TCP_OFFSET_AT 12

struct ip4_start {
	u8 version_words;
	u8 more[8];
	u8 protocol;
};

/* Length of the IP header; *protocol is what follows it. */
static __always_inline u32 ip4_header(struct __sk_buff *skb, u8 *protocol)
{
	struct ip4_start ip;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return 0;
	*protocol = ip.protocol;
	return (ip.version_words & 15) * 4;
}

static __always_inline bool is_extension(u8 protocol)
{
	return protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING ||
	       protocol == IPPROTO_DSTOPTS || protocol == IPPROTO_FRAGMENT;
}

static __always_inline u32 ip6_header(struct __sk_buff *skb, u8 *protocol)
{
	u32 at = IPV6_HEADER;
	int i;

	if (bpf_skb_load_bytes(skb, 6, protocol, 1))
		return 0;
	for (i = 0; i < EXTENSIONS && is_extension(*protocol); i++) {
		u8 next[2]; /* protocol; length in units of 8 bytes beyond the first */

		if (bpf_skb_load_bytes(skb, at, next, sizeof(next)))
			break;
		at += *protocol == IPPROTO_FRAGMENT ? 8 : 8 + next[1] * 8;
		*protocol = next[0];
	}
	return at;
}

static __always_inline u32 payload(struct __sk_buff *skb)
{
	bool is_ip4 = skb->protocol == bpf_htons(ETH_P_IP);
	u8 protocol = 0, words;
	u32 at = is_ip4 ? ip4_header(skb, &protocol) : ip6_header(skb, &protocol);

	if (protocol == IPPROTO_UDP)
		at += UDP_HEADER;
	else if (protocol == IPPROTO_TCP && !bpf_skb_load_bytes(skb, at + TCP_OFFSET_AT, &words, 1))
		at += (words >> 4) * 4;
	return skb->len > at ? skb->len - at : 0;
}

static __always_inline struct jp_net *counts_of(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	u32 slot = JP_SLOT_NONE;

	if (sk)
		sk = bpf_sk_fullsock(sk);
	if (sk)
		slot = slot_of_tag(bpf_sk_storage_get(&jp_socks, sk, 0, 0));
	if (slot == JP_SLOT_NONE)
		slot = slot_of_cgroup2(bpf_skb_cgroup_id(skb));
	return net_of(slot);
}

SEC("?cgroup_skb/egress")
int jp_skb_out(struct __sk_buff *skb)
{
	u32 bytes = payload(skb);
	struct jp_net *n = bytes ? counts_of(skb) : NULL;

	if (n && skb->ifindex == LOOPBACK_IFINDEX) {
		ADD(n, loop_tx_bytes, bytes);
		ADD(n, loop_tx_ops, 1);
	} else if (n) {
		ADD(n, tx_bytes, bytes);
		ADD(n, tx_ops, 1);
	}
	return PASS;
}

SEC("?cgroup_skb/ingress")
int jp_skb_in(struct __sk_buff *skb)
{
	u32 bytes = payload(skb);
	struct jp_net *n = bytes ? counts_of(skb) : NULL;

	if (n && skb->ifindex == LOOPBACK_IFINDEX) {
		ADD(n, loop_rx_bytes, bytes);
		ADD(n, loop_rx_ops, 1);
	} else if (n) {
		ADD(n, rx_bytes, bytes);
		ADD(n, rx_ops, 1);
	}
	return PASS;
}
