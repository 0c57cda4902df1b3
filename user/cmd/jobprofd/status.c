// SPDX-License-Identifier: GPL-2.0-only
/* jobprofd --status: asks the jobprofd that runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/log.h"
#include "client/client.h"
#include "cmd/jobprofd/jobprofd.h"

#define PATIENCE_MS 5000

/* wrong: what the file has that may be why, or NULL. */
static int failed(const char *path, int err, const char *wrong)
{
	if (wrong)
		log_error("%s", wrong);
	if (err == -ENOENT || err == -ECONNREFUSED)
		log_error("no jobprofd listens at %s: systemctl status jobprofd", path);
	else if (err == -ETIMEDOUT)
		log_error("jobprofd does not answer at %s for %d s", path, PATIENCE_MS / 1000);
	else
		log_error("%s: %s", path,
			  err == -EPROTO ? "jobprofd is of another version" : strerror(-err));
	return 1;
}

/* Whether jobprofd says itself that it runs with the old settings because of this. */
static bool is_said(const char *text, const char *wrong)
{
	_cleanup_free_ char *escaped = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&escaped, &len);

	if (!f)
		return false;
	print__escaped(f, wrong);
	fclose(f);
	return escaped && strstr(text, escaped);
}

/* The text, and then what it comes to. wrong: what the file that jobprofd reads has, or NULL. */
static int hear(struct client *c, const char *path, const char *wrong)
{
	union {
		struct jpc_head head;
		struct jpc_status status;
		struct jpc_reply reply;
		char bytes[JPC_MAX];
	} m;
	int n = client__receive(c, &m, sizeof(m), PATIENCE_MS);

	while (n > 0 && m.head.type == JPC_STATUS && !m.bytes[n - 1]) {
		fputs(m.status.text, stdout);
		if (wrong && is_said(m.status.text, wrong))
			wrong = NULL;
		n = client__receive(c, &m, sizeof(m), PATIENCE_MS);
	}
	if (n < 0)
		return failed(path, n, wrong);
	if (m.head.type != JPC_REPLY || n != sizeof(m.reply))
		return failed(path, -EPROTO, wrong);
	if (m.reply.error) {
		m.reply.text[sizeof(m.reply.text) - 1] = '\0';
		log_error("%s", m.reply.text);
		return 1;
	}
	if (wrong)
		log_error("running with the old settings, %s", wrong);
	printf("status: %s\n", m.reply.number || wrong ? "there are problems" : "healthy");
	return m.reply.number || wrong ? 1 : 0;
}

int jobprofd__status(const char *path, const char *wrong)
{
	struct jpc_status question = {};
	struct client c;
	int err = client__open(&c, path), status;

	if (err)
		return failed(path, err, wrong);
	client__head(&c, &question, JPC_STATUS, sizeof(question));
	err = client__send(&c, &question);
	status = err ? failed(path, err, wrong) : hear(&c, path, wrong);
	client__close(&c);
	return status;
}
