// SPDX-License-Identifier: GPL-2.0-or-later
/* The SPANK plugin: the options --jobprof and --jobprof-freq of srun, sbatch and salloc, and, in
 * slurmstepd, messages to jobprofd about steps and tasks. A command or step fails only by a wrong
 * option of the user. */
#include <fcntl.h>
#include <stdint.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/family.h"
#include "base/freq.h"
#include "base/str.h"
#include "slurm/spank_findings.h"
#include "slurm/spank_ids.h"
#include "slurm/spank_link.h"

SPANK_PLUGIN(jobprof, 1)

#define NO_VAL	    (UINT32_MAX - 1) /* Slurm's "not set" */
#define BATCH_STEP  0xfffffffbu
#define MEM_PER_CPU (UINT64_C(1) << 63) /* Slurm's flag: the limit is per CPU, not of the step */

enum option { OPTION_FAMILIES, OPTION_FREQ, OPTION_FINDINGS, N_OPTIONS };

static int take_option(int option, const char *value, int remote);

/* SPANK needs writable options. */
static struct spank_option options[N_OPTIONS] = {
	[OPTION_FAMILIES] = {.name = "jobprof",
			     .arginfo = "list",
			     .usage = "profile with jobprof: all, none, task, or families as in "
				      "sched,block,network (see spank_jobprof(8))",
			     .has_arg = 1,
			     .val = OPTION_FAMILIES,
			     .cb = take_option},
	[OPTION_FREQ] = {.name = "jobprof-freq",
			 .arginfo = "list",
			 .usage = "seconds between the rows of jobprof: as --acctg-freq, "
				  "fractions allowed, as in task=0.5,network=5",
			 .has_arg = 1,
			 .val = OPTION_FREQ,
			 .cb = take_option},
	[OPTION_FINDINGS] = {.name = "jobprof-findings",
			     .usage = "jobprof says on standard error while the job runs what "
				      "holds it back",
			     .val = OPTION_FINDINGS,
			     .cb = take_option},
};

/* A process has one step, or is one srun. */
static struct {
	struct spank_link link;
	struct spank_args args;
	struct spank_findings findings;
	unsigned tasks; /* that run on this node */
	bool begun;
	bool gtid_is_global;
} me = {.link.client.fd = -1};

static void log_line(const char *line, bool serious)
{
	if (serious)
		slurm_error("%s", line);
	else
		slurm_info("%s", line);
}

/* Writes to reason what is wrong with the value of --jobprof; "": nothing. */
static void check_families(const char *value, char *reason, size_t size)
{
	char bad[64], words[FAMILY_WORDS_SIZE];
	unsigned mask;

	reason[0] = '\0';
	if (!family__parse(value, &mask, bad, sizeof(bad)))
		return;
	family__words(words, sizeof(words));
	snprintf(reason, size, "\"%s\" is none of: %s", bad, words);
}

static void check_freq(const char *value, char *reason, size_t size)
{
	struct freq f;

	freq__init(&f);
	reason[0] = '\0';
	freq__parse(value, &f, reason, size);
}

/* Slurm calls this for the batch job's option and again for the step's: the last one counts.
 * Slurm 22.05 repeats calls. */
static int take_option(int option, const char *value, int remote)
{
	static const struct {
		void (*check)(const char *value, char *reason, size_t size);
		size_t room;
	} kinds[N_OPTIONS] = {
		[OPTION_FAMILIES] = {check_families, sizeof(me.link.step.families)},
		[OPTION_FREQ] = {check_freq, sizeof(me.link.step.freq)},
	};
	char *to[N_OPTIONS] = {me.link.step.families, me.link.step.freq};
	char reason[FAMILY_WORDS_SIZE + 128];

	if (!kinds[option].check) { /* OPTION_FINDINGS has no value */
		me.link.step.flags |= JPC_STEP_FINDINGS;
		return 0;
	}
	if (!value)
		value = "";
	kinds[option].check(value, reason, sizeof(reason));
	if (!*reason && strlen(value) >= kinds[option].room)
		snprintf(reason, sizeof(reason), "longer than %zu characters",
			 kinds[option].room - 1);
	if (*reason) {
		spank_ids__plain(reason);
		slurm_error("--%s: %s", options[option].name, reason);
		return remote ? 0 : -1;
	}
	memset(to[option], 0, kinds[option].room);
	str__copy(to[option], kinds[option].room, value);
	me.link.step.asked = 1;
	return 0;
}

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	spank_context_t where = spank_context();
	const char *bad;

	if (where != S_CTX_LOCAL && where != S_CTX_REMOTE && where != S_CTX_ALLOCATOR)
		return 0;
	for (int i = 0; i < N_OPTIONS; i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
			slurm_error("jobprof: cannot register --%s", options[i].name);
	if (spank_ids__args(&me.args, argc, argv, &bad) && where == S_CTX_REMOTE)
		slurm_error("jobprof: plugstack.conf: \"%s\" is neither socket=/PATH nor "
			    "timeout=MS up to %d",
			    bad, SPANK_TIMEOUT_MS_MAX);
	return 0;
}

static uint32_t item_u32(spank_t sp, spank_item_t item)
{
	uint32_t v;

	return spank_get_item(sp, item, &v) == ESPANK_SUCCESS && v != NO_VAL ? v : JPC_UNKNOWN;
}

/* Reads a count. 0 is unknown: Slurm has 0 for the batch step. */
static uint32_t item_count(spank_t sp, spank_item_t item)
{
	uint32_t v = item_u32(sp, item);

	return v ? v : JPC_UNKNOWN;
}

static uint64_t item_mb(spank_t sp, spank_item_t item)
{
	uint64_t v;

	return spank_get_item(sp, item, &v) == ESPANK_SUCCESS && !(v & MEM_PER_CPU) ? v : 0;
}

static void step_items(spank_t sp, struct jpc_step *s)
{
	const char *cores = NULL;

	s->job_id = item_u32(sp, S_JOB_ID);
	if (spank_get_item(sp, S_JOB_STEPID, &s->step_id) != ESPANK_SUCCESS)
		s->step_id = JPC_UNKNOWN;
	s->uid = item_u32(sp, S_JOB_UID);
	s->gid = item_u32(sp, S_JOB_GID);
	s->node_index = item_u32(sp, S_JOB_NODEID);
	s->nnodes = item_count(sp, S_JOB_NNODES);
	s->node_tasks = item_count(sp, S_JOB_LOCAL_TASK_COUNT);
	s->ntasks = item_count(sp, S_JOB_TOTAL_TASK_COUNT);
	s->cpus_per_task = item_count(sp, S_STEP_CPUS_PER_TASK);
	if (s->step_id == BATCH_STEP)
		s->nnodes = s->ntasks = 1;
	/* in a job that is no array, the array's id alone may be the job's own */
	s->array_task_id = item_u32(sp, S_JOB_ARRAY_TASK_ID);
	s->array_job_id =
		s->array_task_id == JPC_UNKNOWN ? JPC_UNKNOWN : item_count(sp, S_JOB_ARRAY_ID);
	s->memory_mb = item_mb(sp, S_STEP_ALLOC_MEM);
	if (!s->memory_mb)
		s->memory_mb = item_mb(sp, S_JOB_ALLOC_MEM);
	if (spank_get_item(sp, S_STEP_ALLOC_CORES, &cores) == ESPANK_SUCCESS && cores)
		str__copy(s->cpus, sizeof(s->cpus), cores);
}

static bool job_env(void *arg, const char *name, char *buf, size_t size)
{
	return spank_getenv(arg, name, buf, (int)size) == ESPANK_SUCCESS;
}

/* Fills the fields that no item has from the job's environment, which the user may have changed:
 * only descriptions, no ids. */
static void step_env(spank_t sp, struct jpc_step *s)
{
	const struct {
		const char *name;
		char *to;
		size_t size;
	} texts[] = {
		{"SLURM_CLUSTER_NAME", s->cluster, sizeof(s->cluster)},
		{"SLURM_JOB_NAME", s->job_name, sizeof(s->job_name)},
		{"SLURM_JOB_ACCOUNT", s->account, sizeof(s->account)},
		{"SLURM_JOB_PARTITION", s->partition, sizeof(s->partition)},
		{"SLURM_JOB_USER", s->user, sizeof(s->user)},
		{"SLURM_STEP_NODELIST", s->node_list, sizeof(s->node_list)},
		{"SLURM_JOB_NODELIST", s->job_node_list, sizeof(s->job_node_list)},
	};
	char number[16];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!job_env(sp, texts[i].name, texts[i].to, texts[i].size))
			memset(texts[i].to, 0, texts[i].size);
	/* Slurm sets it since 23.02 */
	if (!job_env(sp, "SLURM_JOB_END_TIME", number, sizeof(number)) ||
	    parse_u32(number, &s->time_limit))
		s->time_limit = JPC_UNKNOWN;
	/* the item is 0 in every run, up to 26.05; a batch step does not have the variable yet */
	s->restart = item_count(sp, S_SLURM_RESTART_COUNT);
	if (s->restart == JPC_UNKNOWN &&
	    (!job_env(sp, "SLURM_RESTART_COUNT", number, sizeof(number)) ||
	     parse_u32(number, &s->restart)))
		s->restart = JPC_UNKNOWN;
	spank_ids__het(s, job_env, sp);
	spank_ids__own_nodes(s, job_env, sp);
}

/* Reads the beginning of this process's title, which may be as long as slurmd's environment. */
static void own_title(char *title, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, title, size - 1);

	title[n < 0 ? 0 : n] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Finds the path of slurm.conf, which slurmd passes in the environment. Since 25.11 no other
 * process can read it there: slurmstepd overwrites its environment with its title. */
static void own_conf(char *conf, size_t size)
{
	const char *path = getenv("SLURM_CONF");

	if (path && path[0] == '/')
		str__copy(conf, size, path);
}

static void describe_step(spank_t sp, struct jpc_step *s)
{
	/* getenv() reads the environment from slurmd, not the job's */
	const char *node = getenv("SLURMD_NODENAME");
	uint32_t step_tasks;
	char title[128], number[16];

	s->source = JPC_SPANK;
	step_items(sp, s);
	step_env(sp, s);
	if (node)
		str__copy(s->node_name, sizeof(s->node_name), node);
	own_title(title, sizeof(title));
	spank_ids__step_name(s->step_name, sizeof(s->step_name), s->job_id, s->step_id, title);
	if (!job_env(sp, "SLURM_STEP_NUM_TASKS", number, sizeof(number)) ||
	    parse_u32(number, &step_tasks))
		step_tasks = JPC_UNKNOWN;
	me.gtid_is_global = spank_ids__gtid_is_global(s, step_tasks);
}

/* The last callback before tasks are forked, and the first with known options. */
int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
	if (spank_context() != S_CTX_REMOTE || me.begun)
		return 0;
	me.begun = true;
	me.link.log = log_line;
	own_conf(me.link.conf, sizeof(me.link.conf));
	describe_step(sp, &me.link.step);
	spank_link__begin(&me.link, client__path(me.args.socket), me.args.timeout_ms);
	return 0;
}

static void tell_user(const char *line)
{
	slurm_spank_log("%s", line);
}

/* When the last task of this node was forked: a thread should not be there before. */
static void begin_findings(spank_t sp)
{
	uint32_t tasks = item_count(sp, S_JOB_LOCAL_TASK_COUNT);

	me.tasks++;
	if (me.tasks == (tasks == JPC_UNKNOWN ? 1 : tasks))
		spank_findings__begin(&me.findings, &me.link, tell_user);
}

/* Slurm calls this in the parent, while the task waits before its exec; in the extern step, without
 * a task. */
int slurm_spank_task_post_fork(spank_t sp, int argc, char **argv)
{
	struct jpc_task t = {.gtid = JPC_UNKNOWN, .local_id = item_u32(sp, S_TASK_ID)};

	if (!me.begun || spank_get_item(sp, S_TASK_PID, &t.pid) != ESPANK_SUCCESS || t.pid <= 0)
		return 0;
	if (me.gtid_is_global)
		t.gtid = item_u32(sp, S_TASK_GLOBAL_ID);
	spank_link__task(&me.link, JPC_TASK, &t);
	begin_findings(sp);
	return 0;
}

int slurm_spank_task_exit(spank_t sp, int argc, char **argv)
{
	struct jpc_task t = {.local_id = item_u32(sp, S_TASK_ID)};
	char procid[16];

	if (!me.begun || spank_get_item(sp, S_TASK_PID, &t.pid) != ESPANK_SUCCESS || t.pid <= 0)
		return 0;
	t.gtid = item_u32(sp, S_TASK_GLOBAL_ID);
	/* slurmstepd has set SLURM_PROCID for the task's epilog, with the offset of its component.
	 */
	if (!me.gtid_is_global &&
	    (!job_env(sp, "SLURM_PROCID", procid, sizeof(procid)) || parse_u32(procid, &t.gtid)))
		t.gtid = JPC_UNKNOWN;
	if (spank_get_item(sp, S_TASK_EXIT_STATUS, &t.status) != ESPANK_SUCCESS)
		t.status = 0;
	spank_link__task(&me.link, JPC_TASK_END, &t);
	if (me.tasks && !--me.tasks)
		spank_findings__end(&me.findings);
	return 0;
}

int slurm_spank_exit(spank_t sp, int argc, char **argv)
{
	spank_findings__end(&me.findings);
	if (me.begun)
		spank_link__end(&me.link);
	me.begun = false;
	return 0;
}
