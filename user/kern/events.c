// SPDX-License-Identifier: GPL-2.0-or-later
/* The ring of events, with that of samples; rings of other subjects are read with it. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "kern/internal.h"

static int on_event(void *ctx, void *data, size_t len)
{
	struct kern *k = ctx;

	if (len >= sizeof(struct jp_event))
		k->event_fn(data, k->event_ctx);
	return 0;
}

static int on_point(void *ctx, void *data, size_t len)
{
	struct kern *k = ctx;
	const struct jp_point *p = data;

	if (len >= sizeof(*p) && len >= (p->events ? sizeof(struct jp_counted_point) : 0) &&
	    k->point_fn)
		k->point_fn(p, k->point_ctx);
	return 0;
}

int kern__event_fd(const struct kern *k)
{
	return k->map[M_EVENTS] < 0 || !k->ring ? -1 : ring_buffer__epoll_fd(k->ring);
}

void kern__on_points(struct kern *k, void (*fn)(const struct jp_point *p, void *ctx), void *ctx)
{
	k->point_fn = fn;
	k->point_ctx = ctx;
}

int kern__events(struct kern *k, void (*fn)(const struct jp_event *ev, void *ctx), void *ctx)
{
	int n;

	if (!k->ring) {
		k->ring = ring_buffer__new(k->map[M_EVENTS], on_event, k, NULL);
		if (!k->ring)
			return kern_fail(-errno, "cannot read the event ring: %s", strerror(errno));
		if (k->map[M_POINTS] >= 0 &&
		    ring_buffer__add(k->ring, k->map[M_POINTS], on_point, k))
			return kern_fail(-errno, "cannot read the ring of samples: %s",
					 strerror(errno));
		n = kern_region_open_ring(k);
		if (n)
			return n;
	}
	if (!fn)
		return 0;
	k->event_fn = fn;
	k->event_ctx = ctx;
	n = ring_buffer__consume(k->ring);
	if (n >= 0)
		n = kern__read_bursts(k);
	return n < 0 ? n : 0;
}
