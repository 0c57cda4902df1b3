// SPDX-License-Identifier: GPL-2.0-only
/* Attributes that a step has from its start, from Slurm's plugins and from the environment. */
#include "daemon/record/step_attrs.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpuinfo.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "daemon/node/node.h"
#include "daemon/record/step_kinds.h"
#include "daemon/step/step.h"
#include "identity/cpulist.h"
#include "kern/pmu/perf_groups.h"

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

static const char *mode_of(struct step *s, const struct step_env *env, enum family f)
{
	if (!(s->families & f))
		return "off: not asked for";
	if (!(f & FAM_SENSORS))
		return kern__family_mode(env->k, f);
	if (!(node__families(env->node) & f))
		return "absent: nothing on this node measures it";
	if (f == FAM_ENERGY)
		return "estimated: see Energy Rule";
	return node_tables__allowed(s, env) ? "as the node's sensors say" : node_tables__mode(f);
}

/* Writes how each of these families is measured. */
static void put_modes(struct step *s, const struct step_env *env, unsigned families)
{
	for (unsigned i = 0; i < n_family_infos; i++) {
		const struct family_info *f = &family_infos[i];
		char name[32];

		if (f->family == FAM_BASE || !(f->family & families))
			continue;
		snprintf(name, sizeof(name), "Mode %s", f->name);
		journal__attr_str(s->journal, name, mode_of(s, env, f->family));
	}
}

void step__put_node_attrs(struct step *s, const struct step_env *env)
{
	put_modes(s, env, FAM_SENSORS);
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

/* jobprof run: the one task has all CPUs of this process, which are known before the task
 * begins. */
static void put_own_cpus(struct step *s)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return;
	journal__attr_i32(s->journal, "CPUs per Task", CPU_COUNT(&cpus));
	journal__attr_i32(s->journal, "Allocated CPUs", CPU_COUNT(&cpus));
}

/* Writes that processes of the step ran before they were counted, and their CPU time. */
static void put_baseline(struct step *s, struct kern *k)
{
	uint64_t missed = kern__missed_ns(k, s->slot);

	if (!step__began_before(s, k))
		return;
	journal__attr_str(s->journal, "Baseline",
			  s->baseline
				  ? "was running when first seen: counts from then on"
				  : "was running before the programs were attached: counts from "
				    "then on");
	if (missed > 0 && missed != UINT64_MAX)
		journal__attr_f64(s->journal, "Missed CPU Time", (double)missed / NSEC_PER_SEC);
}

/* Only x86 has the processor's name in /proc/cpuinfo. */
static void put_model(struct journal *j)
{
	struct cpuinfo c;

	cpuinfo__read(&c, "/proc");
	if (c.name[0])
		journal__attr_str(j, "CPU Model", c.name);
}

/* Names the kind of counters by which the node's CPI stacks say what cycles were used for. */
static void put_cpi_kind(struct journal *j)
{
	const struct perf_arch *a = perf_arch__find("/proc", "/sys");
	unsigned width = a ? perf_arch__width(a, "/sys") : 0;

	if (a)
		journal__attr_str(j, "CPI Kind", a->name);
	if (width)
		journal__attr_i32(j, "Slots per Cycle", (int32_t)width);
}

/* Of the node itself; what is not known is left out. */
static void put_node(struct journal *j)
{
	int threads = cpulist__threads_per_core();
	struct sysinfo info;

	if (threads > 0) {
		journal__attr_i32(j, "Threads per Core", threads);
		journal__attr_i32(j, "Node Cores", cpulist__node_cores());
	}
	if (!sysinfo(&info))
		journal__attr_f64(j, "Node Memory",
				  (double)info.totalram * info.mem_unit / 1048576);
	put_model(j);
	put_cpi_kind(j);
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
	if (env->command)
		journal__attr_str(j, "Command Line", env->command);
	if (env->cwd)
		journal__attr_str(j, "Working Directory", env->cwd);
	put_times(s);
	journal__attr_i32(j, "Schema Version", 1);
	journal__attr_str(j, "JobProf Version", JOBPROF_VERSION);
	if (!uname(&u))
		journal__attr_str(j, "Kernel", u.release);
	if (s->ids.has_job)
		journal__attr_i64(j, "Job Id", s->ids.job_id);
	journal__attr_str(j, "Step", s->ids.step_name);
	if (s->pub.user[0] || env->user)
		journal__attr_str(j, "User", env->user ? env->user : s->pub.user);
	journal__attr_i64(j, "UID", s->uid);
	if (env->cluster)
		journal__attr_str(j, "Cluster", env->cluster);
	if (s->ids.sluid[0])
		journal__attr_str(j, "SLUID", s->ids.sluid);
	put_node(j);
	put_modes(s, env, ~0u);
	step__put_slurm_attrs(s);
	put_unknown(s, env->node);
	if (env->probed) /* the end has another text */
		journal__attr_str(
			j, "Regions",
			"jobprof run was killed: executions that are in no row are not counted");
	put_baseline(s, env->k);
}

void step__put_env_attrs(struct step *s)
{
	const struct lookup_env *e = s->job_env;
	size_t i;

	/* where the environment was read: with one CPU per task the variable is not set */
	if (e->job_host[0] || e->het)
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
