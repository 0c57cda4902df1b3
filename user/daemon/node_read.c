// SPDX-License-Identifier: GPL-2.0-only
/* Reading the node's sensors, and choosing which are read. */
#include "daemon/node_read.h"

#include <stdlib.h>

#include "base/log.h"
#include "daemon/node_state.h"
#include "daemon/sensor_tables.h"

void node_read__sensors(struct node *n, uint64_t now_ns, bool all)
{
	if (all)
		sensor_set__read_all(n->sensors);
	else
		sensor_set__read(n->sensors);
	n->read_ns = now_ns;
	if ((n->energy && node_energy__look(n->energy, n->sensors)) || sensor_tables__update(n))
		log_error("out of memory: some sensors are in no table");
}

/* What is read from now on, and how often slow sources are. */
void node_read__want(struct node *n, unsigned asked, uint64_t period_ns)
{
	const struct channel_state *c;
	unsigned nc = sensor_set__channels(n->sensors, &c);
	bool *wanted;

	if (asked == n->asked && period_ns == n->period_ns && n->made == n->wanted_made)
		return;
	wanted = calloc(nc + 1, sizeof(*wanted));
	if (!wanted)
		return;
	for (unsigned i = 0; i < n->ntables; i++)
		for (unsigned k = 0; n->tables[i].family & asked && k < n->tables[i].ncols; k++)
			for (unsigned j = 0; j < n->tables[i].cols[k].nchannels; j++)
				wanted[n->tables[i].cols[k].channel[j]] = true;
	/* idle power is learnt while nobody asks */
	for (unsigned i = 0; n->energy && i < nc; i++)
		wanted[i] = wanted[i] || node_energy__uses(n->energy, i);
	sensor_set__want(n->sensors, wanted, nc, period_ns);
	free(wanted);
	if (n->gpu_users)
		gpu_users__set_period(n->gpu_users, period_ns);
	n->asked = asked;
	n->period_ns = period_ns;
	n->wanted_made = n->made;
}
