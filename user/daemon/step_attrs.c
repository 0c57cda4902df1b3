// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of the node group: Slurm's five, then ours; what is unknown is absent. */
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"
#include "daemon/step_internal.h"
#include "sample/counters.h"
#include "sample/cpufreq.h"

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

bool step__column_unknown(const struct step *s, const struct step_env *env, const char *name)
{
	if (!strcmp(name, "GPUMemMB"))
		return !node_gpus__known(env->node);
	return !strcmp(name, "CPUFrequency") && !cpufreq__khz(0, s->start_boot_ns);
}

static void put_unknown(struct step *s, const struct step_env *env)
{
	bool gpu = step__column_unknown(s, env, "GPUMemMB");
	bool clock = step__column_unknown(s, env, "CPUFrequency");

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
static void put_baseline(struct step *s, const struct step_env *env)
{
	uint64_t missed = kern__missed_ns(env->k, s->slot);

	if (!step__began_before(s, env))
		return;
	journal__attr_str(s->journal, "Baseline",
			  kern__slot(env->k, s->slot)->flags & JP_SLOT_F_BASE
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

	journal__attr_str(j, "Node Name", step__node_name(s, env));
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
	put_unknown(s, env);
	put_baseline(s, env);
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

/* The worst end of the step's tasks, as slurmstepd would sum it up: a signal before a status. */
static void take_worse_status(int *status, int other)
{
	if (WIFSIGNALED(other) ||
	    (!WIFSIGNALED(*status) && WEXITSTATUS(other) > WEXITSTATUS(*status)))
		*status = other;
}

static bool worst_exit(const struct step *s, const struct step_env *env, int *status)
{
	bool any = false;
	uint32_t slot;
	unsigned i;

	*status = 0;
	for_each_slot(slot, s)
	{
		const struct jp_slot *info = kern__slot(env->k, slot);

		if (!(info->flags & JP_SLOT_F_EXITED))
			continue;
		any = true;
		take_worse_status(status, info->exit_code);
	}
	for (i = 0; !any && s->req && i < s->req->ntasks; i++) {
		if (!s->req->tasks[i].ended)
			continue;
		any = true;
		take_worse_status(status, s->req->tasks[i].status);
	}
	return any;
}

static uint32_t oom_kills(const struct step *s, const struct step_env *env)
{
	uint32_t n = 0, slot;

	for_each_slot(slot, s) n += kern__slot(env->k, slot)->oom;
	return n;
}

/* By what Slurm said, else by what its variable says in the environment of a task. */
static bool on_first_node(const struct step *s)
{
	size_t i;

	if (s->req && s->req->known && s->req->info.node_index != JPC_UNKNOWN)
		return !s->req->info.node_index;
	for (i = 0; s->job_env && i < ENV_ATTRS; i++)
		if (!strcmp(env_attrs[i].env, "SLURM_NODEID"))
			return !strcmp(s->job_env->values[i], "0");
	return false;
}

bool step__must_ask_squeue(const struct step *s, const struct step_env *env)
{
	int status;

	if (env->embedded || (s->req && s->req->reason[0]) || s->ids.step_id == STEP_EXTERN ||
	    !on_first_node(s) || oom_kills(s, env) || !worst_exit(s, env, &status))
		return false;
	return WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL);
}

void step__ask_squeue(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	end_reason__begin(&s->end_reason, s->req ? &s->req->site : NULL, step__node_name(s, env),
			  s->ids.job_id, now_ns);
}

static void put_reason(struct step *s, const struct step_env *env, const char *reason)
{
	char text[64];
	int status;
	/* what holds an extern step open is always killed by Slurm in the end */
	bool known = s->ids.step_id != STEP_EXTERN && worst_exit(s, env, &status);

	if (known)
		journal__attr_i32(s->journal, "Exit Status",
				  WIFSIGNALED(status) ? 128 + WTERMSIG(status)
						      : WEXITSTATUS(status));
	if (!reason && s->req && s->req->reason[0])
		reason = s->req->reason;
	if (reason) {
		journal__attr_str(s->journal, "End Reason", reason);
	} else if (oom_kills(s, env)) {
		journal__attr_str(s->journal, "End Reason", "out of memory");
	} else if (known && WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
		journal__attr_str(s->journal, "End Reason", text);
	} else {
		journal__attr_str(s->journal, "End Reason", known ? "exited" : "cgroup removed");
	}
}

/* What was lost or went elsewhere, one counter each, only where there is something to say. */
static void put_losses(struct step *s, const struct step_env *env)
{
	const struct jp_stats *st = &kern__control(env->k)->stats;
	const struct {
		const char *name;
		uint64_t n;
	} lost[] = {
		{"Lost", s->lost_rows},
		{"Unattributed", st->slots_exhausted + st->cgroups_full + st->storage_fail},
		{"Lost Events", st->rb_lost},
		{"Late Tasks", st->late_tasks},
		{"Torn Snapshots", snapshot__torn(env->snap)},
		{"Clock Steps", env->clock_steps - s->clock_steps0},
		{"Writer Killed", s->pub.kills},
		{"Unowned Requests", st->blk_unowned},
		{"Late Requests", s->late_requests},
		{"Unseen Requests", st->blk_lost},
		{"Skipped Runs", kern__skipped(env->k)},
		{"Untagged Sockets", st->sock_fail},
		{"Counter Failures", st->pmu_fail},
		{"Lost Samples", st->pmu_lost},
		{"Missed Switches", st->pmu_missed},
		{"Unread Processes", s->unread},
		{"Refused Rows", s->req ? s->req->external.refused : 0},
		{"Replaced Bytes", journal__replaced(s->journal)},
	};
	size_t i;

	for (i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		if (lost[i].n || i < 2)
			journal__attr_i64(s->journal, lost[i].name, lost[i].n);
}

/* What passed on this node meanwhile that no step is charged with: the kernel's delayed writes,
 * its own sockets, processes outside all steps. */
static void put_others(struct step *s, const struct step_env *env)
{
	static const struct {
		enum family family;
		enum total total;
		const char *name;
		double scale;
	} others[] = {
		{FAM_BLOCK, T_BLK_READS, "Other BlkReads", 1},
		{FAM_BLOCK, T_BLK_WRITES, "Other BlkWrites", 1},
		{FAM_BLOCK, T_BLK_READ_BYTES, "Other BlkReadMB", 1.0 / 1048576},
		{FAM_BLOCK, T_BLK_WRITE_BYTES, "Other BlkWriteMB", 1.0 / 1048576},
		{FAM_BLOCK, T_BLK_OTHERS, "Other Requests", 1},
		{FAM_NETWORK, T_NET_RX_BYTES, "Other NetRxMB", 1.0 / 1048576},
		{FAM_NETWORK, T_NET_TX_BYTES, "Other NetTxMB", 1.0 / 1048576},
		{FAM_NETWORK, T_NET_RETRANS, "Other TcpRetrans", 1},
	};
	struct totals now = {};
	size_t i;

	counters__add(env->k, JP_SLOT_OTHER, &now);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].family & s->families & kern__families(env->k))
			journal__attr_f64(
				s->journal, others[i].name,
				(double)(now.v[others[i].total] - s->others0.v[others[i].total]) *
					others[i].scale);
}

void step__put_end_attrs(struct step *s, const struct step_env *env, const char *reason)
{
	const struct totals *self = snapshot__totals(env->snap, JP_SLOT_SELF);

	journal__attr_i32(s->journal, "Number of Tasks", s->tasks_seen);
	journal__attr_i64(s->journal, "Intervals", s->intervals);
	put_reason(s, env, reason);
	put_losses(s, env);
	/* sampling may have become less frequent */
	if (s->families & FAM_PERF)
		journal__attr_str(s->journal, "Mode perf", kern__family_mode(env->k, FAM_PERF));
	put_others(s, env);
	sensor_rows__put_attrs(s);
	journal__attr_f64(s->journal, "Collector CPU", (double)self->v[T_RUNTIME] / 1e9);
	journal__attr_i64(s->journal, "Probe Cost NS", kern__control(env->k)->probe_ns);
}
