// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of what Slurm's plugins have sent about a step: they outrank what its environment
 * says. */
#include "daemon/slurm_attrs.h"

#include <stddef.h>
#include <string.h>

#include "base/hostlist.h"
#include "daemon/step.h"
#include "identity/cpulist.h"

static const struct {
	const char *attr;
	size_t offset;
} numbers[] = {
	{"Node Index", offsetof(struct jpc_step, node_index)},
	{"Nodes in Step", offsetof(struct jpc_step, nnodes)},
	{"CPUs per Task", offsetof(struct jpc_step, cpus_per_task)},
	{"Restart Count", offsetof(struct jpc_step, restart)},
	{"Array Job Id", offsetof(struct jpc_step, array_job_id)},
	{"Array Task Id", offsetof(struct jpc_step, array_task_id)},
	{"Het Job Id", offsetof(struct jpc_step, het_job_id)},
	{"Het Job Offset", offsetof(struct jpc_step, het_offset)},
};

static const struct {
	const char *attr;
	size_t offset;
} texts[] = {
	{"Cluster", offsetof(struct jpc_step, cluster)},
	{"Job Name", offsetof(struct jpc_step, job_name)},
	{"Account", offsetof(struct jpc_step, account)},
	{"Partition", offsetof(struct jpc_step, partition)},
	{"Step Node List", offsetof(struct jpc_step, node_list)},
	{"Core List", offsetof(struct jpc_step, cpus)},
};

void step__put_slurm_attrs(struct step *s)
{
	const struct jpc_step *info;
	char host[sizeof(s->job_host)];
	size_t i;
	int n;

	if (!s->req || !s->req->known)
		return;
	info = &s->req->info;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint32_t v;

		memcpy(&v, (const char *)info + numbers[i].offset, sizeof(v));
		if (v <= INT32_MAX)
			journal__attr_i32(s->journal, numbers[i].attr, (int32_t)v);
	}
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = (const char *)info + texts[i].offset;

		if (*text)
			journal__attr_str(s->journal, texts[i].attr, text);
	}
	if (!hostlist__first(info->job_node_list, host, sizeof(host)))
		strcpy(s->job_host, host);
	n = cpulist__count(info->cpus);
	if (n > 0)
		journal__attr_i32(s->journal, "Allocated Cores", n);
	if (info->memory_mb)
		journal__attr_f64(s->journal, "Memory Limit", (double)info->memory_mb);
}
