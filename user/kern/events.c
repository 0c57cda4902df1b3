// SPDX-License-Identifier: GPL-2.0-only
/* The ring buffer of events. */
#include <errno.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "kern/internal.h"

static int on_event(void *ctx, void *data, size_t len)
{
	struct kern *k = ctx;

	if (len >= sizeof(struct jp_event))
		k->event_fn(data, k->event_ctx);
	return 0;
}

int kern__event_fd(const struct kern *k)
{
	return k->map[M_EVENTS] < 0 || !k->ring ? -1 : ring_buffer__epoll_fd(k->ring);
}

int kern__events(struct kern *k, void (*fn)(const struct jp_event *ev, void *ctx), void *ctx)
{
	int n;

	if (!k->ring) {
		k->ring = ring_buffer__new(k->map[M_EVENTS], on_event, k, NULL);
		if (!k->ring)
			return kern_fail(-errno, "cannot read the event ring: %s", strerror(errno));
	}
	if (!fn)
		return 0;
	k->event_fn = fn;
	k->event_ctx = ctx;
	n = ring_buffer__consume(k->ring);
	return n < 0 ? n : 0;
}
