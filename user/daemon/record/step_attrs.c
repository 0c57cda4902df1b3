/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes that a step has from its start, from Slurm's plugins and from the environment. */
#include "daemon/record/record.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpuinfo.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "daemon/budget/overhead.h"
#include "daemon/child/job_infos.h"
#include "daemon/node/node.h"
#include "daemon/record/step_kinds.h"
#include "daemon/record/step_stacks.h"
#include "daemon/step/probed_regions.h"
#include "daemon/step/step.h"
#include "identity/cpulist.h"
#include "identity/layout.h"
#include "kern/pmu/perf_groups.h"
#include "sample/counters.h"

/* ---- attributes from its begin, and from the environment of a task */

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

/* What came of the family at times. */
static const char *rest_of(const struct step *s, const struct step_env *env, enum family f)
{
	if (!(kern__rested(env->k, s->start_boot_ns) & s->families & f))
		return "";
	return f == FAM_SCHED ? "; at times read for each row and not at each switch, see Overhead"
			      : "; rested at times, in whose rows it is unknown, see Overhead";
}

/* Writes how each of these families is measured. */
static void put_modes(struct step *s, const struct step_env *env, unsigned families)
{
	for (unsigned i = 0; i < n_family_infos; i++) {
		const struct family_info *f = &family_infos[i];
		char name[32], text[JP_NET_TEXT + 128];

		if (f->family == FAM_BASE || !(f->family & families))
			continue;
		snprintf(name, sizeof(name), "Mode %s", f->name);
		snprintf(text, sizeof(text), "%s%s", mode_of(s, env, f->family),
			 rest_of(s, env, f->family));
		journal__attr_str(s->journal, name, text);
	}
}

/* Writes what rested, and why. */
static void put_overhead(struct step *s, const struct step_env *env)
{
	char text[1024];

	overhead__text(env->overhead, s->start_boot_ns, text, sizeof(text));
	if (!*text)
		return;
	journal__attr_str(s->journal, "Overhead", text);
	put_modes(s, env, kern__rested(env->k, s->start_boot_ns));
}

/* Journals the attributes on what sensors say, which depend on whether the step has the node for
 * itself. */
static void put_node_attrs(struct step *s, const struct step_env *env)
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
	uint64_t missed = s->loss.missed_ns = kern__missed_ns(k, s->slot);

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

/* Attributes of the node itself; unknown ones are left out. */
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

/* ---- attributes that a step has from its end: why it ended, what was lost, what other processes
 * of the node did */

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
		const struct jp_slot *info = snapshot__slot(env->snap, slot);

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
	/* A command that cannot be executed has no task. */
	if (!any && env->command_status && *env->command_status >= 0) {
		any = true;
		*status = *env->command_status;
	}
	return any;
}

static uint32_t oom_kills(const struct step *s, const struct snapshot *snap)
{
	uint32_t n = 0, slot;

	for_each_slot(slot, s) n += snapshot__slot(snap, slot)->oom_kills;
	return n;
}

/* Slurm's plugins say in a message whether this is the step's first node, else a variable of
 * Slurm's in the environment of a task does. */
static bool step_on_first_node(const struct step *s)
{
	size_t i;

	if (s->first_node)
		return true;
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
	    !step_on_first_node(s) || oom_kills(s, env->snap) || !worst_exit(s, env, &status))
		return false;
	return WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL);
}

static void put_reason(struct step *s, const struct step_env *env, const char *reason)
{
	char text[64];
	int status;
	/* the process that keeps an extern step open is always killed by Slurm in the end */
	bool known = s->ids.step_id != STEP_EXTERN && worst_exit(s, env, &status);

	if (known)
		journal__attr_i32(s->journal, "Exit Status",
				  WIFSIGNALED(status) ? 128 + WTERMSIG(status)
						      : WEXITSTATUS(status));
	if (!reason && s->req && s->req->reason[0])
		reason = s->req->reason;
	if (reason) {
		journal__attr_str(s->journal, "End Reason", reason);
	} else if (oom_kills(s, env->snap)) {
		journal__attr_str(s->journal, "End Reason", "out of memory");
	} else if (known && WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
		journal__attr_str(s->journal, "End Reason", text);
	} else {
		journal__attr_str(s->journal, "End Reason", known ? "exited" : "cgroup removed");
	}
}

/* When a process first went to a cgroup that is not followed. */
static void put_leaving(struct step *s, const struct snapshot *snap)
{
	uint64_t first = UINT64_MAX;
	uint32_t slot;

	for_each_slot(slot, s)
	{
		uint64_t ns = snapshot__slot(snap, slot)->away_ns;

		if (ns && ns < first)
			first = ns;
	}
	if (first != UINT64_MAX)
		journal__attr_f64(s->journal, "Left Cgroup After",
				  ((double)first - (double)s->start_boot_ns) / NSEC_PER_SEC);
}

struct loss {
	const char *name;
	uint64_t n;
};

/* An attribute for each that is not 0. */
static void put_those(struct journal *j, const struct loss *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (of[i].n)
			journal__attr_i64(j, of[i].name, of[i].n);
}

void step__own_losses(const struct step *s, const struct step_env *env, uint64_t n[OWN_LOSSES])
{
	const struct external_series *g = s->req ? &s->req->external : NULL;
	const uint64_t now[OWN_LOSSES] = {
		[LOSS_STACKS] = step_stacks__lost(s->stacks),
		[LOSS_MAPS] = step_stacks__cut_maps(s->stacks),
		[LOSS_CLOCK] = env->clock_steps - s->clock_steps0,
		[LOSS_WRITERS] = s->pub.kills,
		[LOSS_ROWS] = g ? g->refused : 0,
		[LOSS_POINTS] = g ? g->lost_points : 0,
		[LOSS_TEXTS] = s->journal ? journal__replaced(s->journal) : 0,
	};

	for (int i = 0; i < OWN_LOSSES; i++)
		n[i] = s->earlier_losses[i] + now[i];
}

/* Writes what the step lost, and what is counted elsewhere. */
static void put_losses(struct step *s, const struct step_env *env)
{
	const __u64 *own = kern__acct(env->k, s->slot)->lost;
	const struct external_series *g = s->req ? &s->req->external : NULL;
	uint64_t n[OWN_LOSSES];

	step__own_losses(s, env, n);
	const struct loss lost[] = {
		{"Lost Ranks", own[JP_LOST_RANKS]},
		{"Lost Commands", own[JP_LOST_NAMES]},
		{"Unbooked Samples", own[JP_LOST_SAMPLES]},
		{"Lost Stacks", own[JP_LOST_STACKS] + n[LOSS_STACKS]},
		{"Uncopied Stacks", own[JP_LOST_COPIES]},
		{"Cut Maps", n[LOSS_MAPS]},
		{"Clock Steps", n[LOSS_CLOCK]},
		{"Writer Killed", n[LOSS_WRITERS]},
		{"Late Requests", s->late_requests},
		{"Unread Processes", s->unread},
		{"Unseen Ends", s->unseen_ends},
		{"Refused Rows", n[LOSS_ROWS]},
		{"Lost Points", own[JP_LOST_POINTS] + n[LOSS_POINTS]},
		{"Lost Regions",
		 probed_regions__lost(env->probed, env->k) + (g ? g->lost_regions : 0)},
		{"Replaced Bytes", n[LOSS_TEXTS]},
	};

	journal__attr_i64(s->journal, "Lost", s->lost_rows);
	journal__attr_i64(s->journal, "Unattributed", own[JP_LOST_TASKS]);
	put_those(s->journal, lost, sizeof(lost) / sizeof(lost[0]));
}

/* What the kernel side has not counted for any step of this node, since its programs were loaded.
 */
static void put_node_losses(struct step *s, const struct step_env *env)
{
	const struct jp_stats *st = &kern__control(env->k)->stats;
	const struct loss lost[] = {
		{"Late Samples", st->samples_late},
		{"Uncounted Tasks", st->storage_fail},
		{"Uncounted Cgroups", st->cgroups_full},
		{"Lost Events", st->rb_lost},
		{"Late Tasks", st->late_tasks},
		{"Torn Snapshots", snapshot__torn(env->snap)},
		{"Unowned Requests", st->blk_unowned},
		{"Unseen Requests", st->blk_lost},
		{"Skipped Runs", kern__skipped(env->k)},
		{"Untagged Sockets", st->sock_fail},
		{"Counter Failures", st->pmu_fail},
		{"Lost Samples", st->pmu_lost},
		{"Missed Switches", st->pmu_missed},
	};

	put_those(s->journal, lost, sizeof(lost) / sizeof(lost[0]));
}

/* Counts of this node in the step's time that belong to no step: delayed writes and sockets of the
 * kernel, processes outside all steps. */
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
		{FAM_NETWORK, T_TCP_RETRANS, "Other TcpRetrans", 1},
	};
	struct kern *k = env->k;
	struct totals now = {};
	size_t i;

	if (!node_tables__allowed(s, env))
		return;
	counters__add(k, JP_SLOT_OTHER, &now);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].family & s->families & kern__families(k))
			journal__attr_f64(
				s->journal, others[i].name,
				(double)(now.v[others[i].total] - s->others0.v[others[i].total]) *
					others[i].scale);
}

/* Writes which functions were regions, and what their probes cost. */
static void put_regions(struct step *s, const struct step_env *env)
{
	char text[KERN_REGIONS_TEXT];

	if (!env->probed)
		return;
	probed_regions__step(env->probed, s->start_boot_ns, s->end_boot_ns);
	probed_regions__text(env->probed, env->k, text, sizeof(text));
	journal__attr_str(s->journal, "Regions", text);
}

void step__put_end_attrs(struct step *s, const struct step_env *env, const char *reason)
{
	const struct totals *self = snapshot__totals(env->snap, JP_SLOT_SELF);

	journal__attr_i32(s->journal, "Number of Tasks", s->tasks_seen);
	journal__attr_i64(s->journal, "Intervals", s->intervals);
	put_reason(s, env, reason);
	put_leaving(s, env->snap);
	put_losses(s, env);
	put_node_losses(s, env);
	/* sampling may have become less frequent */
	if (s->families & FAM_PERF)
		put_modes(s, env, FAM_PERF);
	put_overhead(s, env);
	put_node_attrs(s, env); /* whether other jobs came is known now */
	put_others(s, env);
	put_regions(s, env);
	sensor_rows__put_attrs(s);
	journal__attr_f64(s->journal, "Collector CPU", (double)self->v[T_CPU] / 1e9);
	journal__attr_i64(s->journal, "Probe Cost NS", kern__control(env->k)->probe_ns);
}

/* ---- attributes of a job as its controller knows it: what was asked for, and how it ended */

static void put_facts(struct journal *j, const struct job_facts *f, bool ended)
{
	const struct {
		const char *name;
		int64_t v;
	} times[] = {
		{"Time Limit", f->time_limit},
		{"Submit EpochTime", f->submitted},
		{"Eligible EpochTime", f->eligible},
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i].v >= 0)
			journal__attr_i64(j, times[i].name, times[i].v);
	if (!isnan(f->node_memory))
		journal__attr_f64(j, "Requested Memory per Node", f->node_memory);
	if (!isnan(f->cpu_memory))
		journal__attr_f64(j, "Requested Memory per CPU", f->cpu_memory);
	if (f->sharing[0])
		journal__attr_str(j, "Node Sharing", f->sharing);
	if (ended && job_facts__ended(f))
		journal__attr_str(j, "Job State", f->state);
}

static bool is_of_slurm(const struct step *s, const struct step_env *env)
{
	return !env->embedded && s->ids.has_job;
}

void job_attrs__take(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	const struct job_facts *f;

	if (s->facts_journaled || !is_of_slurm(s, env))
		return;
	f = job_infos__get(env->jobs, s->ids.job_id, now_ns);
	s->first_node = step_on_first_node(s);
	if (!f && s->first_node)
		job_infos__ask(env->jobs, s->ids.job_id, s->req ? &s->req->slurmd : NULL,
			       step__node_name(s, env->node_name), now_ns);
	if (!f)
		return;
	put_facts(s->journal, f, false);
	s->facts_journaled = true;
}

bool job_attrs__waits(const struct step *s, const struct step_env *env)
{
	return !s->facts_journaled && is_of_slurm(s, env) &&
	       job_infos__pending(env->jobs, s->ids.job_id);
}

/* The extern step lives as long as the job; where it is not profiled the batch step ends last. */
static bool ends_last(const struct step *s, const struct step_env *env)
{
	if (s->ids.step_id == STEP_EXTERN)
		return true;
	for (const struct step *o = *env->steps; o; o = o->next)
		if (o != s && o->ids.has_job && o->ids.job_id == s->ids.job_id &&
		    o->ids.step_id == STEP_EXTERN && o->state != STEP_NEW &&
		    o->state != STEP_IGNORED)
			return false;
	return s->ids.step_id == STEP_BATCH;
}

bool job_attrs__ask_end(const struct step *s, const struct step_env *env, uint64_t now_ns)
{
	if (!is_of_slurm(s, env) || !job_infos__get(env->jobs, s->ids.job_id, now_ns) ||
	    !ends_last(s, env))
		return false;
	job_infos__ask_end(env->jobs, s->ids.job_id, now_ns);
	return job_infos__pending(env->jobs, s->ids.job_id);
}

void job_attrs__put_end(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	const struct job_facts *f = job_infos__get(env->jobs, s->ids.job_id, now_ns);

	if (f)
		put_facts(s->journal, f, true);
}
