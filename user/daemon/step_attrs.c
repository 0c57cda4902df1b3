// SPDX-License-Identifier: GPL-2.0-only
/* Attributes that a step has from its start. */
#include "daemon/step_attrs.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"
#include "daemon/node.h"
#include "daemon/slurm_attrs.h"
#include "daemon/step_columns.h"

static void put_times(struct step *s)
{
	time_t t = s->start_real_ns / 1000000000u;
	struct tm tm;
	char text[64];

	localtime_r(&t, &tm);
	strftime(text, sizeof(text), "%a %b %d %T %Y", &tm);
	journal__attr_str(s->journal, "Start Time", text);
	journal__attr_i64(s->journal, "Start TimeNS", s->start_real_ns);
}

/* How each family's numbers came about. */
static void put_modes(struct step *s, const struct step_env *env)
{
	unsigned f;

	for (f = FAM_SCHED; f <= FAM_FILES; f <<= 1) {
		char name[32];

		snprintf(name, sizeof(name), "Mode %s", family__name(f));
		journal__attr_str(s->journal, name,
				  s->families & f ? kern__family_mode(env->k, f)
						  : "off: not asked for");
	}
	for (f = FAM_ENERGY; f <= FAM_NODE; f <<= 1) {
		char name[32];

		snprintf(name, sizeof(name), "Mode %s", family__name(f));
		journal__attr_str(s->journal, name,
				  !(s->families & f) ? "off: not asked for"
				  : !(node__families(env->node) & f)
					  ? "absent: nothing on this node "
					    "measures it"
				  : f == FAM_ENERGY ? "estimated: see Energy Rule"
						    : "as the node's sensors say");
	}
}

static void put_unknown(struct step *s, const struct node *node)
{
	bool gpu = step__column_unknown(s, node, "GPUMemMB");
	bool clock = step__column_unknown(s, node, "CPUFrequency");

	if (gpu || clock)
		journal__attr_str(s->journal, "Unknown Columns",
				  !clock ? "GPUMemMB"
				  : gpu	 ? "GPUMemMB,CPUFrequency"
					 : "CPUFrequency");
}

/* jobprof run: one task has all that we have ourselves, known before it begins. */
static void put_own_cpus(struct step *s)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return;
	journal__attr_i32(s->journal, "CPUs per Task", CPU_COUNT(&cpus));
	journal__attr_i32(s->journal, "Allocated CPUs", CPU_COUNT(&cpus));
}

/* What ran before it was counted. */
static void put_baseline(struct step *s, struct kern *k)
{
	uint64_t missed = kern__missed_ns(k, s->slot);

	if (!step__began_before(s, k))
		return;
	journal__attr_str(s->journal, "Baseline",
			  kern__slot(k, s->slot)->flags & JP_SLOT_F_BASE
				  ? "was running when first seen: counts from then on"
				  : "was running before the programs were attached: counts from "
				    "then on");
	if (missed > 0 && missed != UINT64_MAX)
		journal__attr_f64(s->journal, "Missed CPU Time", (double)missed / NSEC_PER_SEC);
}

void step__put_start_attrs(struct step *s, const struct step_env *env)
{
	struct journal *j = s->journal;
	struct utsname u;

	journal__attr_str(j, "Node Name", step__node_name(s, env->node_name));
	journal__attr_i32(j, "Number of Tasks", 0);
	if (env->embedded) {
		journal__attr_i32(j, "Node Index", 0);
		put_own_cpus(s);
	}
	put_times(s);
	journal__attr_i32(j, "Schema Version", 1);
	journal__attr_str(j, "JobProf Version", JOBPROF_VERSION);
	if (!uname(&u))
		journal__attr_str(j, "Kernel", u.release);
	if (s->ids.has_job)
		journal__attr_i64(j, "Job Id", s->ids.job_id);
	journal__attr_str(j, "Step", s->ids.step_name);
	if (s->pub.user[0])
		journal__attr_str(j, "User", s->pub.user);
	journal__attr_i64(j, "UID", s->uid);
	if (env->cluster)
		journal__attr_str(j, "Cluster", env->cluster);
	if (s->ids.sluid[0])
		journal__attr_str(j, "SLUID", s->ids.sluid);
	put_modes(s, env);
	step__put_slurm_attrs(s);
	put_unknown(s, env->node);
	put_baseline(s, env->k);
}

void step__put_env_attrs(struct step *s)
{
	const struct lookup_env *e = s->job_env;
	size_t i;

	if (e->job_host[0] || e->het) /* it was read, and has no variable for one CPU */
		journal__attr_i32(s->journal, "CPUs per Task", 1);
	if (s->allocated_cpus)
		journal__attr_i32(s->journal, "Allocated CPUs", s->allocated_cpus);
	if (!isnan(s->memory_limit))
		journal__attr_f64(s->journal, "Memory Limit", s->memory_limit / 1048576); /* MB */
	if (e->job_host[0])
		str__copy(s->job_host, sizeof(s->job_host), e->job_host);
	if (e->het) {
		journal__attr_i32(s->journal, "Het Job Id", (int32_t)e->het_leader);
		journal__attr_i32(s->journal, "Het Job Offset", (int32_t)e->het_offset);
	}
	for (i = 0; i < ENV_ATTRS; i++) {
		const struct env_attr *l = &env_attrs[i];
		uint32_t n;

		if (!e->values[i][0])
			continue;
		if (l->number && !parse_u32(e->values[i], &n) && n <= INT32_MAX)
			journal__attr_i32(s->journal, l->attr, n);
		else if (!l->number)
			journal__attr_str(s->journal, l->attr, e->values[i]);
	}
}
