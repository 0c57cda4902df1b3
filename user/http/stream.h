/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams of events (text/event-stream). Streams of one address whose readers have the same rights
 * are one feed: every few seconds one child makes the answer anew for all of them, and those who
 * lost their rights are ended. An answer is sent when it has changed, else a line with the time.
 * The server holds an answer until the last reader has it, and no longer; who reads too slowly is
 * ended.
 */
#ifndef JP_HTTP_STREAM_H
#define JP_HTTP_STREAM_H

#include <poll.h>
#include <stdint.h>

#include "http/answer.h"
#include "http/child.h"
#include "http/library.h"

#define STREAMS		200
#define STREAM_CHILDREN 2 /* at a time */

#ifdef HAS_MICROHTTPD

struct streams;

struct stream_request {
	struct MHD_Connection *connection;
	int socket;
	const char *uri, *user;
};

/* NULL: no memory. */
struct streams *streams__new(const struct http_server *s, struct dying *d);
/* When no connection is left. */
void streams__free(struct streams *w);

/* Begins a stream with its first event, an answer of answer__make(), whose file it owns then. NULL:
 * there are as many as there may be, or no memory. */
struct MHD_Response *streams__begin(struct streams *w, const struct stream_request *r,
				    const struct answer_head *head, int out);

/* For the loop: what is to be waited for, how many of fds[STREAM_CHILDREN]; how long, at most ms;
 * and what is due then. */
unsigned streams__poll(const struct streams *w, struct pollfd *fds);
int streams__wait_ms(const struct streams *w, uint64_t now_ns, int ms);
void streams__turn(struct streams *w, const struct pollfd *fds);
/* Ends all streams: before the library stops. */
void streams__stop(struct streams *w);

#endif
#endif
