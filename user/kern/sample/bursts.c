// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the ring of long bursts into a list. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/room.h"
#include "kern/internal.h"

#define MAX_BURSTS (1u << 17) /* 16 MiB */

/* There is room for this one; the ring keeps the next one until there is. */
static int on_burst(void *ctx, void *data, size_t len)
{
	struct kern_bursts *l = ctx;

	if (len >= sizeof(*l->b))
		memcpy(&l->b[l->n++], data, sizeof(*l->b));
	if (l->n == MAX_BURSTS)
		return -ENOSPC;
	return room__make(&l->b, &l->max, l->n + 1, sizeof(*l->b));
}

static void drop_used(struct kern *k)
{
	struct kern_bursts *l = &k->bursts;
	size_t i, n = 0;

	for (i = 0; i < l->n; i++)
		if (l->b[i].slot < k->nslots && kern__slot(k, l->b[i].slot)->gen == l->b[i].gen)
			l->b[n++] = l->b[i];
	l->n = n;
}

/* By the end: those of two CPUs may come in the other order. */
static void sort_list(struct kern_bursts *l)
{
	for (size_t i = 1; i < l->n; i++) {
		struct jp_burst b = l->b[i];
		size_t at = i;

		for (; at && l->b[at - 1].end_ns > b.end_ns; at--)
			l->b[at] = l->b[at - 1];
		l->b[at] = b;
	}
}

/* Who waits for events is woken by this ring, too. */
static int open_ring(struct kern *k)
{
	struct epoll_event e = {.events = EPOLLIN};

	k->burst_ring = ring_buffer__new(k->map[M_BURSTS], on_burst, &k->bursts, NULL);
	if (!k->burst_ring)
		return kern_fail(-errno, "cannot read the ring of bursts: %s", strerror(errno));
	if (k->ring)
		epoll_ctl(ring_buffer__epoll_fd(k->ring), EPOLL_CTL_ADD,
			  ring_buffer__epoll_fd(k->burst_ring), &e);
	return 0;
}

int kern__read_bursts(struct kern *k)
{
	struct kern_bursts *l = &k->bursts;
	int n;

	if (!(k->families & FAM_BURST) || k->readonly || k->map[M_BURSTS] < 0)
		return 0;
	n = k->burst_ring ? 0 : open_ring(k);
	if (n)
		return n;
	drop_used(k);
	if (l->n == MAX_BURSTS)
		return 0;
	if (room__make(&l->b, &l->max, l->n + 1, sizeof(*l->b)))
		return -ENOMEM;
	n = ring_buffer__consume(k->burst_ring);
	sort_list(l);
	return n < 0 && n != -ENOSPC ? n : 0;
}

struct kern_bursts *kern__bursts(struct kern *k)
{
	return &k->bursts;
}

void kern_free_bursts(struct kern *k)
{
	if (k->burst_ring)
		ring_buffer__free(k->burst_ring);
	free(k->bursts.b);
}
