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
};

/* In the child: answers, and ends the process. out: a file in memory. */
_Noreturn void answer__make(const struct http_server *s, const struct http_request *r, int out,
			    bool takes_gzip);
/* In the server. *size: of what follows the head. 0 or -EBADMSG. */
int answer__check(int fd, struct answer_head *head, uint64_t *size);

#endif
