// SPDX-License-Identifier: GPL-2.0-or-later
/* The connection of mark, emit and live to jobprofd, and its errors as text. */
#include "cmd/jobprof/client_conn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

static const char *explained(int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
	case -ENOTCONN:
		return "no jobprofd on this node: it runs where jobs do, see jobprofd(8)";
	case -EPIPE:
	case -ECONNRESET:
		return "jobprofd has gone: try again when it is back";
	case -EAGAIN:
		return "jobprofd is too busy: try again";
	case -ETIMEDOUT:
		return "jobprofd does not answer: see its log";
	case -EPROTO:
		return "jobprofd is of another version: restart it, or use its own jobprof";
	case -ESRCH:
		return "no step that is profiled here: ask for a profile, as in srun --jobprof=all";
	case -EACCES:
	case -EPERM:
		return "not allowed: jobs are their users', and their groups of administrators'";
	default:
		return NULL;
	}
}

void client_conn__explain(char *to, size_t size, int err, const char *text)
{
	const char *reason = explained(err);

	if (text && *text)
		snprintf(to, size, "%s", text);
	else if (reason)
		snprintf(to, size, "%s (%s)", reason, client__path(NULL));
	else
		snprintf(to, size, "%s: %s", client__path(NULL), strerror(-err));
}

int client_conn__failed(int err, const char *text)
{
	char reason[512];

	client_conn__explain(reason, sizeof(reason), err, text);
	log_error("%s", reason);
	return 1;
}

int client_conn__open(struct client *c)
{
	int err = client__open(c, client__path(NULL));

	return err ? client_conn__failed(err, NULL) : 0;
}

int client_conn__call(struct client *c, void *message)
{
	struct jpc_reply reply;
	int err = client__call(c, message, &reply, CLIENT_CONN_TIMEOUT_MS);

	if (err)
		return client_conn__failed(err, NULL);
	return reply.error < 0 ? client_conn__failed(reply.error, reply.text) : 0;
}

int client_conn__parse_time(void *to, const struct opt *o, const char *text)
{
	int64_t *unix_ns = to;
	double s;

	if (parse_double(text, &s) || s <= 0 || s > 9e9) {
		log_error("--time: \"%s\" is not a number of seconds since 1970, as of \"date "
			  "+%%s.%%N\"",
			  text);
		return 2;
	}
	*unix_ns = (int64_t)(s * 1e9);
	return 0;
}

int64_t client_conn__now_ns(void)
{
	return (int64_t)clock__real_ns();
}
