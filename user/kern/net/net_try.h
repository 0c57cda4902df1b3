/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small transfers over loopback, each a few bytes (one of them a page) and each by another way into
 * or out of a socket. The network counters then show which ways they see.
 */
#ifndef JP_KERN_NET_TRY_H
#define JP_KERN_NET_TRY_H

#include <stdbool.h>

/* A connection of this process to itself. */
struct net_pair {
	int tx, rx;
	int pipe[2];
};

/* Opens a pair. protocol: 0 is TCP, else that of MPTCP. All calls on the pair end after 0.1 s at
 * most. 0 or -errno. */
int net_pair__open(struct net_pair *p, int protocol);
/* Closes the pair and leaves no connection behind, not even one in TIME_WAIT. */
void net_pair__close(struct net_pair *p);

/*
 * Moves bytes from tx to rx, one side of it by the way in question. Returns how many that way took;
 * 0: the kernel has it but did not take it; -errno: it is not there, or is not allowed.
 */
int net_try__plain(const struct net_pair *p);
int net_try__splice_to(const struct net_pair *p); /* sendfile too: both */
int net_try__splice_from(const struct net_pair *p);
int net_try__map(const struct net_pair *p); /* TCP_ZEROCOPY_RECEIVE */
int net_try__uring(const struct net_pair *p);
int net_try__tls(const struct net_pair *p); /* the pair is for nothing else afterwards */

/* io_uring can receive into memory that a device writes: 1, 0 or -errno. */
int net_uring__has_zero_copy(void);

#endif
