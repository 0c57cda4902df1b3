// SPDX-License-Identifier: GPL-2.0-only
/* Variables of Slurm's that become attributes: from a process's environment or from what the kernel
 * side kept of it. */
#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "daemon/lookup/lookup.h"

const struct env_attr env_attrs[ENV_ATTRS] = {
	{"SLURM_JOB_NAME", "Job Name", false},
	{"SLURM_JOB_ACCOUNT", "Account", false},
	{"SLURM_JOB_PARTITION", "Partition", false},
	{"SLURM_CLUSTER_NAME", "Cluster", false},
	{"SLURM_ARRAY_JOB_ID", "Array Job Id", true},
	{"SLURM_ARRAY_TASK_ID", "Array Task Id", true},
	{"SLURM_ARRAY_TASK_COUNT", "Array Task Count", true},
	{"SLURM_RESTART_COUNT", "Restart Count", true},
	{"SLURM_JOB_START_TIME", "Job Start EpochTime", true},
	{"SLURM_STEP_NUM_NODES", "Nodes in Step", true},
	{"SLURM_STEP_NODELIST", "Step Node List", false},
	{"SLURM_NODEID", "Node Index", true},
	{"SLURM_CPUS_PER_TASK", "CPUs per Task", true},
	{"SLURM_GPUS_ON_NODE", "Allocated GPUs", true},
};

void lookup_env__add(void *ctx, const char *text)
{
	struct lookup_env_parser *t = ctx;

	if (!str__starts(text, "SLURM_"))
		return;
	hetjob__take(&t->het, text);
	for (unsigned i = 0; i < ENV_ATTRS; i++) {
		size_t len = strlen(env_attrs[i].env);
		char *to = t->env->values[i];

		if (!strncmp(text, env_attrs[i].env, len) && text[len] == '=' && !to[0])
			str__copy(to, sizeof(t->env->values[i]), text + len + 1);
	}
}

char *lookup_env__value(struct lookup_env *env, const char *name)
{
	unsigned i = 0;

	while (strcmp(env_attrs[i].env, name))
		i++;
	return env->values[i];
}

void lookup_env__finish(struct lookup_env_parser *t)
{
	const struct hetjob *h = &t->het;

	t->env->het = h->has_leader && h->has_offset && h->leader <= INT32_MAX;
	t->env->het_leader = h->leader;
	t->env->het_offset = h->offset;
}

void lookup_env__parse(const char *text, size_t len, uint32_t job_id, struct lookup_env *env)
{
	static const char nodes[] = "SLURM_JOB_NODELIST=";
	struct lookup_env_parser t = {.env = env, .het = {.job_id = job_id}};
	const char *end = text + len;

	for (; text < end && memchr(text, '\0', end - text); text += strlen(text) + 1) {
		lookup_env__add(&t, text);
		if (str__starts(text, nodes) && !env->job_host[0] &&
		    hostlist__first(text + strlen(nodes), env->job_host, sizeof(env->job_host)))
			env->job_host[0] = '\0';
	}
	lookup_env__finish(&t);
	if (!env->het)
		return;
	/* the values are those of all components together */
	env->job_host[0] = '\0';
	lookup_env__value(env, "SLURM_STEP_NUM_NODES")[0] = '\0';
	lookup_env__value(env, "SLURM_STEP_NODELIST")[0] = '\0';
}
