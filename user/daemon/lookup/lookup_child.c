/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work of a helper process (lookup.h). It is in a process of its own because every read here
 * may hang for ever. */
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "daemon/lookup/lookup.h"
#include "identity/hetjob.h"
#include "identity/proc.h"

/* ---- variables of Slurm's that become attributes: from a process's environment or from what the
 * kernel side kept of it */

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

static void env_add(void *ctx, const char *text)
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

/* The value of a variable that has a row in env_attrs. */
static char *env_value(struct lookup_env *env, const char *name)
{
	unsigned i = 0;

	while (strcmp(env_attrs[i].env, name))
		i++;
	return env->values[i];
}

static void env_finish(struct lookup_env_parser *t)
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
		env_add(&t, text);
		if (str__starts(text, nodes) && !env->job_host[0] &&
		    hostlist__first(text + strlen(nodes), env->job_host, sizeof(env->job_host)))
			env->job_host[0] = '\0';
	}
	env_finish(&t);
	if (!env->het)
		return;
	/* the values are those of all components together */
	env->job_host[0] = '\0';
	env_value(env, "SLURM_STEP_NUM_NODES")[0] = '\0';
	env_value(env, "SLURM_STEP_NODELIST")[0] = '\0';
}

#define STEPDS_MAX    16
#define NODE_LIST_LEN (256 * 1024) /* the longest list of nodes */
/* While a process begins another program, as a shell does at "exec", it has no environment. */
#define EXEC_TRIES    100
#define EXEC_PAUSE_US 2000
/* The processes of a task that are looked at, and the longest chain of parents. */
#define PROCESSES_MAX 1024
#define PARENTS_MAX   64

size_t lookup_answer__size(const struct lookup_answer *a)
{
	unsigned n = a->npids < LOOKUP_PIDS ? a->npids : LOOKUP_PIDS;
	unsigned maps = a->nmaps < PROC_MAPS ? a->nmaps : PROC_MAPS;

	return offsetof(struct lookup_answer, pids) +
	       (maps ? maps * sizeof(a->maps[0]) : n * sizeof(a->pids[0]));
}

static unsigned read_pids(const char *dir, pid_t *pids, unsigned max)
{
	char path[768];
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "re");
	while (f && n < max && fscanf(f, "%d", &pids[n]) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

/* Paths with a SLUID do not contain the job id; the title of the step's slurmstepd does. */
static int find_stepd(const struct lookup *q, struct lookup_answer *a)
{
	char title[256], step[65];
	pid_t pids[STEPDS_MAX];
	unsigned i, n = read_pids(q->path, pids, STEPDS_MAX);

	for (i = 0; i < n; i++)
		if (proc__is_stepd(pids[i]) > 0 &&
		    proc__title(pids[i], title, sizeof(title)) >= 0 &&
		    !proc__stepd_title(title, &a->job_id, step, sizeof(step)))
			return 0;
	return -ENOENT;
}

static int by_root(const void *a, const void *b)
{
	const struct lookup_pid *x = a, *y = b;

	return (x->root > y->root) - (x->root < y->root);
}

static unsigned read_all(const struct lookup *q, pid_t *pids, unsigned max)
{
	static const char *const below[] = {"", "/user", "/user/task_special", "/task_special"};
	unsigned n = 0;
	char dir[640];

	for (unsigned i = 0; i < (q->below ? sizeof(below) / sizeof(below[0]) : 1); i++) {
		snprintf(dir, sizeof(dir), "%s%s", q->path, below[i]);
		n += read_pids(dir, pids + n, max - n);
	}
	return n;
}

/* Processes of a slot's cgroup and of the directories in it that count with it. */
static int find_tasks(const struct lookup *q, struct lookup_answer *a)
{
	static pid_t pids[LOOKUP_PIDS];
	unsigned i, n = read_all(q, pids, LOOKUP_PIDS);

	for (i = 0; i < n; i++) {
		struct lookup_pid *p = &a->pids[a->npids];
		char comm[64] = "";

		*p = (struct lookup_pid){.pid = pids[i]};
		if (pids[i] <= 0 || proc__comm(pids[i], comm, sizeof(comm)) ||
		    proc__uid(pids[i], &p->uid))
			continue;
		p->stepd = !strcmp(comm, "slurmstepd");
		if (proc__root_of(pids[i], &p->root))
			p->root = 0;
		a->npids++;
	}
	qsort(a->pids, a->npids, sizeof(a->pids[0]), by_root);
	return 0;
}

static bool read_list(pid_t pid, const char *name, char *list)
{
	return proc__environ(pid, name, list, NODE_LIST_LEN) >= 0;
}

static bool read_component(pid_t pid, uint32_t offset, char *list)
{
	static const char *const formats[] = {HETJOB_NODELIST_FMTS};
	char name[48];

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		snprintf(name, sizeof(name), formats[i], offset);
		if (read_list(pid, name, list))
			return true;
	}
	return false;
}

/* Counts the nodes that the step's list and the component's list have in common. */
static void put_common(const struct string_list *step, const struct string_list *own,
		       const char *list, struct lookup_env *env)
{
	unsigned n = 0;

	for (unsigned i = 0; i < step->n; i++)
		n += hostlist__has(own, step->v[i]);
	if (n)
		snprintf(env_value(env, "SLURM_STEP_NUM_NODES"), LOOKUP_TEXT, "%u", n);
	if (n && n == own->n)
		str__copy(env_value(env, "SLURM_STEP_NODELIST"), LOOKUP_TEXT, list);
}

/* The environment of a heterogeneous job's tasks has the nodes of all components, for the job and
 * for the step. The file of a component has its own nodes only. */
static void narrow_to_component(pid_t pid, struct lookup_env *env)
{
	static char list[NODE_LIST_LEN], step_list[NODE_LIST_LEN];
	struct string_list step = {0}, own = {0};
	char bad[64];

	env->job_host[0] = '\0';
	env_value(env, "SLURM_STEP_NUM_NODES")[0] = '\0';
	env_value(env, "SLURM_STEP_NODELIST")[0] = '\0';
	if (!read_component(pid, env->het_offset, list))
		return;
	if (hostlist__first(list, env->job_host, sizeof(env->job_host)))
		env->job_host[0] = '\0';
	if (read_list(pid, "SLURM_STEP_NODELIST", step_list) &&
	    !hostlist__parse(&step, step_list, bad, sizeof(bad)) &&
	    !hostlist__parse(&own, list, bad, sizeof(bad)))
		put_common(&step, &own, list, env);
	string_list__free(&step);
	string_list__free(&own);
}

static int read_env(const struct lookup *q, struct lookup_env *env)
{
	static char list[NODE_LIST_LEN];
	struct lookup_env_parser t = {.env = env, .het = {.job_id = q->job_id}};
	int err = proc__environ_each(q->pid, env_add, &t);

	if (!err && (!read_list(q->pid, "SLURM_JOB_NODELIST", list) ||
		     hostlist__first(list, env->job_host, sizeof(env->job_host))))
		env->job_host[0] = '\0';
	env_finish(&t);
	if (!err && env->het)
		narrow_to_component(q->pid, env);
	return err;
}

/* above: the parent of root; 0: not known. */
static bool descends_from(pid_t pid, pid_t root, pid_t above)
{
	for (unsigned i = 0; pid > 1 && pid != above && i < PARENTS_MAX; i++)
		if (pid == root || proc__ppid(pid, &pid))
			return pid == root;
	return false;
}

/* The busiest process; 0: there is none. */
static pid_t find_busiest(const struct lookup *q, uint64_t *ticks)
{
	static pid_t pids[PROCESSES_MAX];
	unsigned n = read_all(q, pids, PROCESSES_MAX);
	pid_t busiest = 0, above = 0;

	*ticks = 0;
	if (q->lineage && proc__ppid(q->pid, &above))
		above = 0;
	for (unsigned i = 0; i < n; i++) {
		uint64_t t;

		/* Most of a cgroup are of other ranks, which is read first: their parent is above.
		 */
		if (pids[i] <= 0 || (q->lineage && !descends_from(pids[i], q->pid, above)) ||
		    proc__is_stepd(pids[i]) == 1 || proc__cpu_ticks(pids[i], &t) ||
		    (busiest && t <= *ticks))
			continue;
		busiest = pids[i];
		*ticks = t;
	}
	return busiest;
}

static int find_program(const struct lookup *q, struct lookup_program *p)
{
	int err;

	*p = (struct lookup_program){};
	p->pid = find_busiest(q, &p->ticks);
	if (proc_cpus__read(q->pid, &p->cpus))
		p->cpus.cpus = 0;
	if (!p->pid)
		return p->cpus.cpus ? 0 : -ESRCH;
	err = proc_program__read(p->pid, &p->program);
	if (err)
		p->pid = 0; /* it has ended meanwhile */
	return p->pid || p->cpus.cpus ? 0 : err;
}

static int find_user(uid_t uid, struct lookup_answer *a)
{
	struct passwd *pw = getpwuid(uid);

	if (!pw)
		return -ENOENT;
	a->gid = pw->pw_gid;
	return str__copy(a->name, sizeof(a->name), pw->pw_name) ? -E2BIG : 0;
}

static int answer_question(const struct lookup *q, struct lookup_answer *a)
{
	int err = 0;

	a->env.procid = -1;
	switch (q->kind) {
	case LOOKUP_STEPD:
		return find_stepd(q, a);
	case LOOKUP_TASKS:
		return find_tasks(q, a);
	case LOOKUP_ENV:
		err = read_env(q, &a->env);
		break;
	case LOOKUP_TASK_NUMBER:
		err = proc__procid(q->pid, &a->env.procid);
		break;
	case LOOKUP_USER:
		return find_user(q->uid, a);
	case LOOKUP_PROGRAM:
		return find_program(q, &a->program);
	case LOOKUP_LIBRARIES:
		return proc_libraries__read(q->pid, &a->libraries);
	case LOOKUP_MAPS:
		return proc_maps__read(q->pid, true, a->maps, &a->nmaps, &a->maps_cut);
	}
	if (!err)
		err = proc__uid(q->pid, &a->env.uid);
	/* the number may be that of another user's process by now */
	if (!err && q->kind == LOOKUP_ENV && q->uid && q->uid != (uid_t)-1 && a->env.uid != q->uid)
		err = -ESRCH;
	return err;
}

static void answer_when_exec_is_done(const struct lookup *q, struct lookup_answer *a)
{
	for (unsigned i = 0; i < EXEC_TRIES; i++) {
		memset(a, 0, offsetof(struct lookup_answer, pids));
		a->err = answer_question(q, a);
		if (a->err != -EAGAIN)
			return;
		usleep(EXEC_PAUSE_US);
	}
}

void lookup__serve(int fd)
{
	static struct lookup_answer a;
	struct lookup q;

	while (recv(fd, &q, sizeof(q), 0) == sizeof(q)) {
		answer_when_exec_is_done(&q, &a);
		if (send(fd, &a, lookup_answer__size(&a), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}
