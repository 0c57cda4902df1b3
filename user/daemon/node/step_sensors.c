// SPDX-License-Identifier: GPL-2.0-only
/* The readings of the node's sensors for one step. */
#include "daemon/node/step_sensors.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "daemon/step/journal_numbers.h"
#include "daemon/node/node_internal.h"

/* When a step has begun, slow sources are read again 20, 60, 140 and 300 ms later. */
#define SETTLE_NS     (20 * NSEC_PER_MSEC)
#define SETTLE_MAX_NS (300 * NSEC_PER_MSEC)
/* A reading this old is as good as a new one for what begins now. */
#define FRESH_NS (50 * 1000 * 1000ull)

struct step_sensors *step_sensors__new(struct node *n, unsigned families, uint64_t now_ns)
{
	struct step_sensors *ss = n ? calloc(1, sizeof(*ss)) : NULL;
	const struct channel_state *c;
	unsigned made, asked;

	if (!ss)
		return NULL;
	ss->node = n;
	ss->next_series = SENSOR_SERIES_FIRST;
	made = n->wanted_version;
	asked = n->asked;
	node_read__want(n, n->asked | (families & FAM_SENSORS), NODE_SLOW_NS);
	if (now_ns > n->read_ns + FRESH_NS || n->wanted_version != made || n->asked != asked)
		node_read__sensors(n, now_ns, true);
	ss->npast = sensor_set__channels(n->sensors, &c);
	ss->past = calloc(ss->npast + 1, sizeof(*ss->past));
	for (unsigned i = 0; ss->past && i < ss->npast; i++)
		ss->past[i] = (struct channel_past){c[i].value, c[i].gaps};
	if (!ss->past) {
		free(ss);
		return NULL;
	}
	ss->settle_step_ns = SETTLE_NS;
	ss->settle_ns = now_ns + SETTLE_NS;
	return ss;
}

uint64_t step_sensors__settle_due(const struct step_sensors *ss)
{
	return ss ? ss->settle_ns : UINT64_MAX;
}

/* Takes the first values of the table's channels that were not known when the step began. True:
 * some are still not known. */
static bool settle_table(struct step_sensors *ss, const struct sensor_table *t,
			 const struct channel_state *c)
{
	bool open = false;

	for (unsigned k = 0; k < t->ncols; k++)
		for (unsigned j = 0; j < t->cols[k].nchannels; j++) {
			unsigned i = t->cols[k].channel[j];

			if (i >= ss->npast || !c[i].ops->slow || !isnan(ss->past[i].value))
				continue;
			ss->past[i] = (struct channel_past){c[i].value, c[i].gaps};
			open = open || isnan(c[i].value);
		}
	return open;
}

void step_sensors__settle(struct step_sensors *ss, unsigned families, uint64_t now_ns)
{
	struct node *n = ss->node;
	const struct channel_state *c;
	bool open = false;

	node_read__want(n, n->asked | (families & FAM_SENSORS), NODE_SLOW_NS);
	if (now_ns > n->read_ns + SETTLE_NS / 2)
		node_read__sensors(n, now_ns, false);
	sensor_set__channels(n->sensors, &c);
	for (unsigned i = 0; i < n->ntables; i++)
		if (n->tables[i].family & families)
			open |= settle_table(ss, &n->tables[i], c);
	ss->settle_step_ns *= 2;
	ss->settle_ns = open && ss->settle_step_ns < SETTLE_MAX_NS ? now_ns + ss->settle_step_ns
								   : UINT64_MAX;
}

void step_sensors__free(struct step_sensors *ss)
{
	if (!ss)
		return;
	for (unsigned i = 0; i < ss->ntables; i++)
		free(ss->last[i]);
	free(ss->last);
	free(ss->past);
	free(ss->declared);
	free(ss->table_id);
	free(ss->series_id);
	free(ss->cpu_ns);
	free(ss->run_s);
	free(ss->part);
	free(ss->pmu);
	free(ss->events);
	free(ss->held);
	free(ss->gpu);
	free(ss);
}
