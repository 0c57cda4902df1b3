// SPDX-License-Identifier: GPL-2.0-only
/* Attributes that a step has from its end: why it ended, what was lost, what other processes of the
 * node did. */
#include "daemon/record/step_attrs.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "daemon/node/node.h"
#include "daemon/node/sensor_rows.h"
#include "daemon/record/step_stacks.h"
#include "daemon/step/probed_regions.h"
#include "sample/counters.h"

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
	/* A command that cannot be executed is a task of nobody. */
	if (!any && env->command_status && *env->command_status >= 0) {
		any = true;
		*status = *env->command_status;
	}
	return any;
}

static uint32_t oom_kills(const struct step *s, const struct snapshot *snap)
{
	uint32_t n = 0, slot;

	for_each_slot(slot, s) n += snapshot__slot(snap, slot)->oom;
	return n;
}

/* Slurm's plugins say in a message whether this is the step's first node, else a variable of
 * Slurm's in the environment of a task does. */
bool step__on_first_node(const struct step *s)
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
	    !step__on_first_node(s) || oom_kills(s, env->snap) || !worst_exit(s, env, &status))
		return false;
	return WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL);
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

/* Counts that were lost or went elsewhere: an attribute for each that is not 0. */
static void put_losses(struct step *s, const struct step_env *env)
{
	const struct jp_stats *st = &kern__control(env->k)->stats;
	const __u64 *own = kern__acct(env->k, s->slot)->lost;
	const struct {
		const char *name;
		uint64_t n;
	} lost[] = {
		{"Lost", s->lost_rows},
		{"Unattributed", own[JP_LOST_TASKS]},
		{"Lost Ranks", own[JP_LOST_RANKS]},
		{"Lost Commands", own[JP_LOST_NAMES]},
		{"Unbooked Samples", own[JP_LOST_SAMPLES]},
		{"Late Samples", st->samples_late},
		{"Uncounted Tasks", st->storage_fail},
		{"Uncounted Cgroups", st->cgroups_full},
		{"Lost Stacks", own[JP_LOST_STACKS] + step_stacks__lost(s->stacks)},
		{"Uncopied Stacks", own[JP_LOST_COPIES]},
		{"Cut Maps", step_stacks__cut_maps(s->stacks)},
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
		{"Lost Points", own[JP_LOST_POINTS] + (s->req ? s->req->external.lost_points : 0)},
		{"Lost Regions", probed_regions__lost(env->probed, env->k) +
					 (s->req ? s->req->external.lost_regions : 0)},
		{"Replaced Bytes", journal__replaced(s->journal)},
	};
	size_t i;

	for (i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		if (lost[i].n || i < 2)
			journal__attr_i64(s->journal, lost[i].name, lost[i].n);
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
		{FAM_NETWORK, T_NET_RETRANS, "Other TcpRetrans", 1},
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

/* Says which functions were regions, and what their probes cost. */
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
	/* sampling may have become less frequent */
	if (s->families & FAM_PERF)
		journal__attr_str(s->journal, "Mode perf", kern__family_mode(env->k, FAM_PERF));
	step__put_node_attrs(s, env); /* whether other jobs came is known now */
	put_others(s, env);
	put_regions(s, env);
	sensor_rows__put_attrs(s);
	journal__attr_f64(s->journal, "Collector CPU", (double)self->v[T_RUNTIME] / 1e9);
	journal__attr_i64(s->journal, "Probe Cost NS", kern__control(env->k)->probe_ns);
}
