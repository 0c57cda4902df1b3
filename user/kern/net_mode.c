// SPDX-License-Identifier: GPL-2.0-only
/* How the network counters come about on this node, and what they see: said in the control page,
 * for files and for other processes. */
#include <stdio.h>
#include <string.h>

#include "kern/internal.h"
#include "kern/net_paths.h"
#include "kern/probe.h"

static bool follows_v1(const struct kern *k)
{
	unsigned i;

	for (i = 0; i < k->opts.nroots; i++)
		if (k->ssid[i] >= 0)
			return true;
	return false;
}

static void say_how(const struct kern *k, char *text, size_t len)
{
	if (k->prog[P_SKB_IN] < 0)
		snprintf(text, len, "exact at sockets (%s)",
			 k->prog[P_SOCK_SEND] >= 0 ? "tracepoints" : "fexit");
	else
		snprintf(text, len,
			 "packets (cgroup_skb): bytes behind their headers, what TCP sends again "
			 "and what nobody reads included; operations are packets with data, of up "
			 "to 64 KiB, not calls; of TCP for who connected or listened, else for the "
			 "cgroup v2 the socket was made in%s",
			 follows_v1(k) ? "; nothing but TCP of steps in cgroup v1" : "");
}

void kern_say_network(struct kern *k)
{
	struct jp_control *c = k->control;

	if (!(k->opts.families & FAM_NETWORK))
		return;
	if (k->families & FAM_NETWORK)
		say_how(k, c->net_text, sizeof(c->net_text));
	else
		snprintf(c->net_text, sizeof(c->net_text), "off: %s", k->no_network);
}

/* The collector's own slot: it makes the calls, and all its threads count there. */
static void own_counts(void *ctx, uint64_t *tx, uint64_t *rx)
{
	const struct kern *k = ctx;
	unsigned cpu;

	*tx = *rx = 0;
	for (cpu = 0; cpu < k->ncpus; cpu++) {
		const volatile struct jp_net *n = kern__net(k, cpu, JP_SLOT_SELF);

		*tx += n->tx_bytes + n->loop_tx_bytes;
		*rx += n->rx_bytes + n->loop_rx_bytes;
	}
}

void kern__probe_network(struct kern *k)
{
	struct net_path paths[NET_PATHS];
	char how[JP_NET_TEXT], seen[JP_NET_TEXT];
	struct net_probe p = {.packets = k->prog[P_SKB_IN] >= 0,
			      .sysfs = "/sys",
			      .procfs = "/proc",
			      .counted = own_counts,
			      .ctx = k};

	if (!(k->families & FAM_NETWORK))
		return;
	net_paths__text(paths, net_paths__probe(&p, paths), seen, sizeof(seen));
	say_how(k, how, sizeof(how));
	snprintf(k->control->net_text, sizeof(k->control->net_text), "%.400s; %.600s", how, seen);
}
