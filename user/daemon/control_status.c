// SPDX-License-Identifier: GPL-2.0-only
/* How the daemon is, to root and the administrators. */
#include "daemon/control_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/control_state.h"
#include "daemon/status.h"

int control_status__send(struct control *c, struct peer *p, unsigned *problems, uint64_t now)
{
	struct jpc_status *m = (void *)c->buf; /* whose message it was is done with */
	size_t room = sizeof(c->buf) - sizeof(*m) - 1, len = 0;
	_cleanup_free_ char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	*problems = daemon_status(c->d, now, f);
	fclose(f);
	if (!text)
		return -ENOMEM;
	if (len > room)
		len = room;
	memcpy(m->text, text, len);
	m->text[len++] = '\0';
	m->head = (struct jpc_head){.magic = JPC_MAGIC,
				    .version = JPC_VERSION,
				    .type = JPC_STATUS,
				    .length = (uint32_t)(sizeof(*m) + len)};
	return peer__send(p, m, now);
}
