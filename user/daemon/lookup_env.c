// SPDX-License-Identifier: GPL-2.0-only
/* Variables of Slurm's that become attributes, whoever has read them. */
#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "daemon/lookup.h"

const struct lookup_label lookup_labels[LOOKUP_LABELS] = {
	{"SLURM_JOB_NAME", "Job Name", false},
	{"SLURM_JOB_ACCOUNT", "Account", false},
	{"SLURM_JOB_PARTITION", "Partition", false},
	{"SLURM_CLUSTER_NAME", "Cluster", false},
	{"SLURM_ARRAY_JOB_ID", "Array Job Id", true},
	{"SLURM_ARRAY_TASK_ID", "Array Task Id", true},
	{"SLURM_RESTART_COUNT", "Restart Count", true},
	{"SLURM_JOB_START_TIME", "Job Start EpochTime", true},
	{"SLURM_STEP_NUM_NODES", "Nodes in Step", true},
	{"SLURM_STEP_NODELIST", "Step Node List", false},
	{"SLURM_NODEID", "Node Index", true},
	{"SLURM_CPUS_PER_TASK", "CPUs per Task", true},
};

void lookup_label__take(void *ctx, const char *text)
{
	struct lookup_taking *t = ctx;

	if (!str__starts(text, "SLURM_"))
		return;
	hetjob__take(&t->het, text);
	for (unsigned i = 0; i < LOOKUP_LABELS; i++) {
		size_t len = strlen(lookup_labels[i].env);
		char *to = t->env->label[i];

		if (!strncmp(text, lookup_labels[i].env, len) && text[len] == '=' && !to[0])
			str__copy(to, sizeof(t->env->label[i]), text + len + 1);
	}
}

char *lookup_label__of(struct lookup_env *env, const char *name)
{
	unsigned i = 0;

	while (strcmp(lookup_labels[i].env, name))
		i++;
	return env->label[i];
}

void lookup_label__end(struct lookup_taking *t)
{
	const struct hetjob *h = &t->het;

	t->env->het = h->has_leader && h->has_offset && h->leader <= INT32_MAX;
	t->env->het_leader = h->leader;
	t->env->het_offset = h->offset;
}

void lookup_label__kept(const char *text, size_t len, uint32_t job_id, struct lookup_env *env)
{
	static const char nodes[] = "SLURM_JOB_NODELIST=";
	struct lookup_taking t = {.env = env, .het = {.job_id = job_id}};
	const char *end = text + len;

	for (; text < end && memchr(text, '\0', end - text); text += strlen(text) + 1) {
		lookup_label__take(&t, text);
		if (str__starts(text, nodes) && !env->job_host[0] &&
		    hostlist__first(text + strlen(nodes), env->job_host, sizeof(env->job_host)))
			env->job_host[0] = '\0';
	}
	lookup_label__end(&t);
	if (!env->het)
		return;
	/* those of all components together */
	env->job_host[0] = '\0';
	lookup_label__of(env, "SLURM_STEP_NUM_NODES")[0] = '\0';
	lookup_label__of(env, "SLURM_STEP_NODELIST")[0] = '\0';
}
