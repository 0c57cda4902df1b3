/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings of running steps, sent to the slurmstepds that have asked for them. */
#include "daemon/socket/control_internal.h"

#include <errno.h>

#include "daemon/follow/follow.h"
#include "daemon/socket/control.h"

int control_findings__message(struct call *k)
{
	const struct request *r = request_match__of_serial(&k->c->d->env, k->p->request);

	if (!r)
		return reply__refuse(&k->reply, -ESRCH, "this step is not known");
	if (!r->findings.wanted)
		return reply__refuse(&k->reply, -ENODATA, "no findings of this step are wanted");
	k->p->wants_findings = true;
	k->c->d->env.new_findings = true; /* there may be some already */
	return 0;
}

static void send_findings(struct control *c, struct peer *p, uint64_t now)
{
	const struct request *r = request_match__of_serial(&c->d->env, p->request);

	while (r && p->findings < r->findings.n) {
		struct jpc_finding m = r->findings.v[p->findings];

		m.head = (struct jpc_head){.magic = JPC_MAGIC,
					   .version = JPC_VERSION,
					   .type = JPC_FINDING,
					   .length = sizeof(m)};
		if (peer__send(p, &m, now))
			return;
		p->findings++;
	}
}

void control__send_findings(struct control *c, uint64_t now)
{
	for (struct peer *p = c ? c->peers : NULL; p; p = p->next)
		if (p->wants_findings && !p->closing)
			send_findings(c, p, now);
}
