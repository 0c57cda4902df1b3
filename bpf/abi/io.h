/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Block devices, sockets and files.
 */
#ifndef JP_ABI_IO_H
#define JP_ABI_IO_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define JP_NET_TEXT 1024

/* One cache line per CPU and slot. Completions come in any context, so all adds are atomic. */
struct jp_blk {
	__u64 reads; /* requests completed */
	__u64 writes;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 read_time_ns; /* from the request's start to its completion */
	__u64 write_time_ns;
	__u64 untimed; /* requests without a start time, or whose end no program saw: they are in no
			  time and no histogram */
	__u64 others;  /* flushes, discards and the like */
};

/* Per slot, all CPUs: atomic adds. */
struct jp_blk_lat {
	__u64 all[JP_LAT_BUCKETS];
	__u64 write[JP_LAT_BUCKETS];
};

/* The submitter of a request, and what was requested: an entry ("way") of a jp_blk_set. It is free
 * while request is 0 or use is JP_BLK_OVER. */
struct jp_blk_request {
	__u64 request; /* its address: the kernel uses a fixed set of requests again and again */
	__u64 use;     /* JP_BLK_OVER, or the slot's number and gen, 16 bits each, JP_BLK_WRITE,
			* and from JP_BLK_SECTORS on its sectors at submission */
};
#define JP_BLK_OVER    0xffffull
#define JP_BLK_WRITE   (1ull << 32)
#define JP_BLK_SECTORS 33

/* One cache line: where a request's address may be. */
#define JP_BLK_WAYS 4
struct jp_blk_set {
	struct jp_blk_request way[JP_BLK_WAYS];
};

/* The slot that used a socket. */
struct jp_owner {
	__u32 slot;
	__u32 gen; /* of the slot: a completion after its end goes to slot 0 */
};

/* For a socket without a peer: whether its last packet in each direction passed the loopback
 * device. Softirqs write rx_loop, tasks that send write tx_loop. */
struct jp_passed {
	__u32 rx_loop;
	__u32 tx_loop;
};

/* The socket without a peer whose packet this CPU sent last: its address. */
struct jp_sent {
	__u64 sock;
	__u64 loop;
};

/* Two cache lines per CPU and slot; softirqs and tasks: all adds are atomic. */
struct jp_net {
	__u64 rx_bytes; /* not over loopback */
	__u64 tx_bytes;
	__u64 rx_ops;
	__u64 tx_ops;
	__u64 loop_rx_bytes;
	__u64 loop_tx_bytes;
	__u64 loop_rx_ops;
	__u64 loop_tx_ops;
	__u64 tcp_retrans; /* TCP segments sent again */
	__u64 pad[7];
};

/* System calls that succeeded; task context of one CPU. */
struct jp_files {
	__u64 opens;
	__u64 closes;
};

_Static_assert(sizeof(struct jp_blk) == 64, "jp_blk");
_Static_assert(sizeof(struct jp_blk_lat) == 640, "jp_blk_lat");
_Static_assert(sizeof(struct jp_blk_set) == 64, "jp_blk_set");
_Static_assert(sizeof(struct jp_owner) == 8, "jp_owner");
_Static_assert(sizeof(struct jp_net) == 128, "jp_net");
_Static_assert(sizeof(struct jp_files) == 16, "jp_files");

#endif
