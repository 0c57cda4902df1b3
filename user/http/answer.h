/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer to a request, on its way from the child that made it: a head, and what the browser
 * gets. */
#ifndef JP_HTTP_ANSWER_H
#define JP_HTTP_ANSWER_H

#include <stdint.h>

#include "http/http.h"

struct answer_head {
	uint32_t magic, status;
	enum http_type type;
	uint32_t is_gzip;
	/* Of events: whom they are for; equal for equal ones. */
	char rights[HTTP_RIGHTS];
	uint64_t hash;
};

#define ANSWER_HEADERS 8
#define ANSWER_POLICY  512
struct answer_header {
	const char *name, *value;
};
/* What all answers of a type have; policy: room for one of the values. How many there are. */
unsigned answer__headers(const struct http_server *s, enum http_type type,
			 char policy[ANSWER_POLICY], struct answer_header h[ANSWER_HEADERS]);

/* In the child: answers, and ends the process. out: a file in memory. */
_Noreturn void answer__make(const struct http_server *s, struct http_request *r, int out,
			    bool takes_gzip);
/* In the child: makes the next event of a stream for users[n] who had these rights, and ends the
 * process. Behind the head there are n bytes, 1 where the user has them still, then the event. */
struct answer_users {
	const char *const *names;
	unsigned n;
	const char *rights;
};
_Noreturn void answer__make_event(const struct http_server *s, struct http_request *r,
				  const struct answer_users *users, int out);
/* In the server. *size: of what follows the head. 0 or -EBADMSG. */
int answer__check(int fd, struct answer_head *head, uint64_t *size);

#endif
