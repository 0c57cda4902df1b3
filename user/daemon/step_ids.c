// SPDX-License-Identifier: GPL-2.0-only
/* Who a step is: job, user, tasks. Paths say most of it, slurmstepd's title and processes the rest.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/step_internal.h"
#include "identity/proc.h"
#include "sensor/node/cgroup.h"

/* Directories that something has left behind may stay for ever. Should a program begin there, the
 * kernel says whose it is. */
#define ASK_OWNER_MIN_NS (NSEC_PER_SEC / 10)
#define ASK_OWNER_MAX_NS (60 * NSEC_PER_SEC)
/* CPU time that a task may take on its way from slurmstepd to its program. */
#define STARTING_NS NSEC_PER_MSEC
/* So long an ended step waits for what it has asked. */
#define ANSWER_NS (3 * NSEC_PER_SEC)

const struct kern_root *step__cgroup_root(const struct step *s, const struct step_env *env)
{
	const struct jp_slot *info = kern__slot(env->k, s->slot);
	unsigned i;

	for (i = 0; i < env->nroots; i++)
		if (env->roots[i].hier == info->hier)
			return &env->roots[i];
	return NULL;
}

/* By the layouts that are followed, from where they begin: a jobprof run inside a Slurm job is none
 * of Slurm's steps. */
static int parse_path(const struct step *s, const struct step_env *env, const char *path,
		      struct cgroup_ids *ids)
{
	const struct kern_root *r = step__cgroup_root(s, env);

	return layout__parse_rows(env->rows, env->nrows, path, r ? strlen(r->prefix) : 0, ids);
}

static void copy_job_from_siblings(struct step *s, const struct step *all)
{
	for (; all; all = all->next) {
		if (all == s || all->ids.job_end != s->ids.job_end ||
		    strncmp(all->path, s->path, s->ids.job_end))
			continue;
		if (!s->ids.has_job && all->ids.has_job) {
			s->ids.has_job = true;
			s->ids.job_id = all->ids.job_id;
		}
		if (!s->uid_known && all->uid_known) {
			s->uid_known = true;
			s->uid = all->uid;
		}
	}
}

bool step__began_before(const struct step *s, const struct step_env *env)
{
	return (kern__slot(env->k, s->slot)->flags & JP_SLOT_F_BASE) ||
	       kern__missed_ns(env->k, s->slot) > STARTING_NS;
}

/* In anybody's extern step root has processes: Slurm 22.05's sleep, an sshd that has not become the
 * user who comes in. */
bool step__may_own(const struct step *s, uid_t uid)
{
	return uid || s->ids.step_id != STEP_EXTERN;
}

/* Of a step whose first program nobody has seen: whose the processes in it are. */
static void ask_owner(struct step *s, const struct step_env *env)
{
	uint64_t now = clock__boot_ns();

	if (now < s->next_ask_ns)
		return;
	s->ask_every_ns = s->ask_every_ns ? 2 * s->ask_every_ns : ASK_OWNER_MIN_NS;
	if (s->ask_every_ns > ASK_OWNER_MAX_NS)
		s->ask_every_ns = ASK_OWNER_MAX_NS;
	s->next_ask_ns = now + s->ask_every_ns;
	step__ask_owner(s, env);
}

static void find_uid(struct step *s, const struct step_env *env)
{
	const struct jp_slot *own;
	uint32_t slot;

	if (env->embedded) {
		s->uid = env->uid;
		s->gid = env->gid;
		s->uid_known = true;
	} else if (s->ids.has_uid) {
		s->uid = s->ids.uid;
		s->uid_known = true;
	}
	step__collect_slots(s, env);
	for_each_slot(slot, s)
	{
		const struct jp_slot *info = kern__slot(env->k, slot);

		if (!s->uid_known && info->root_pid && step__may_own(s, info->uid)) {
			s->uid = info->uid;
			s->uid_known = true;
		}
	}
	own = kern__slot(env->k, s->slot);
	if (!s->uid_known && own->uid) {
		s->uid = own->uid;
		s->uid_known = true;
	}
	if (!s->uid_known &&
	    (step__began_before(s, env) || clock__boot_ns() > s->start_boot_ns + STEP_YOUNG_NS))
		ask_owner(s, env);
}

/* False: its name is not known yet. */
static bool name_user(struct step *s, const struct step_env *env)
{
	const struct user *u = NULL;
	int err = 0;

	if (!env->embedded) {
		u = users__find(env->users, env->lookups, s->uid, clock__boot_ns(), &err);
		s->gid = s->req && s->req->known && s->req->info.gid != JPC_UNKNOWN
				 ? s->req->info.gid
			 : u ? u->gid
			     : s->uid;
		if (u && str__safe_name(u->name))
			str__copy(s->pub.user, sizeof(s->pub.user), u->name);
		else
			snprintf(s->pub.user, sizeof(s->pub.user), "%u", s->uid);
	}
	s->pub.uid = s->uid;
	s->pub.gid = s->gid;
	snprintf(s->pub.dir, sizeof(s->pub.dir), "%s", env->hdf5_dir ? env->hdf5_dir : "");
	return err != -EAGAIN;
}

static bool ignore_step(struct step *s, const char *reason)
{
	s->given_up = true;
	log_warn("step at %s is not profiled: %s", s->path, reason);
	s->state = STEP_IGNORED;
	return false;
}

/* SLUID paths do not say the job; slurmstepd's title does, which the kernel has kept if it saw the
 * step begin: no matter whether anything is left of the step, or slurmstepd hangs. */
static void take_title(struct step *s, const struct step_env *env)
{
	char step[sizeof(s->ids.step_name)];

	if (!s->ids.has_job && s->ids.row->family == LAYOUT_SLURM)
		s->ids.has_job = !proc__stepd_title(kern__slot(env->k, s->slot)->title,
						    &s->ids.job_id, step, sizeof(step));
}

/* Nothing says whose the job is: root's directory is no place for it. Nobody has used it where no
 * program was seen; every node that a job has and does not use has such an extern step. */
static bool ignore_unused(struct step *s, const struct step_env *env)
{
	if (s->ids.step_id != STEP_EXTERN && step__began_before(s, env))
		return ignore_step(s,
				   "it was over before it could be counted, and nothing says whose "
				   "it was");
	s->given_up = true;
	log_debug("nobody has used the step at %s: it has no file", s->path);
	s->state = STEP_IGNORED;
	return false;
}

int step__parse_path(struct step *s, const struct step_env *env)
{
	int err = s->ids.has_step ? 0 : parse_path(s, env, s->path, &s->ids);

	if (err || !s->ids.has_step)
		return err ? err : -EINVAL;
	take_title(s, env);
	return 0;
}

/* Root's word, through the socket. */
static void take_slurm_ids(struct step *s)
{
	const struct jpc_step *info = s->req && s->req->known ? &s->req->info : NULL;

	if (info && !s->ids.has_job && info->job_id != JPC_UNKNOWN) {
		s->ids.has_job = true;
		s->ids.job_id = info->job_id;
	}
	if (info && !s->uid_known && info->uid != JPC_UNKNOWN) {
		s->uid_known = true;
		s->uid = info->uid;
	}
}

/* Several slurmds on one host have a name each, which slurmstepd tells and their paths may say. */
const char *step__node_name(const struct step *s, const struct step_env *env)
{
	const struct request *r = s->req;

	/* it becomes part of a file's name, where ".h5" is the end */
	if (r && r->known && str__safe_name(r->info.node_name) && !strstr(r->info.node_name, ".h5"))
		return r->info.node_name;
	return s->ids.node[0] ? s->ids.node : env->node_name;
}

static bool find_identity(struct step *s, const struct step_env *env, const struct step *all,
			  bool last)
{
	char name[160];

	if (step__parse_path(s, env))
		return ignore_step(s, "its directory has no valid step name");
	take_slurm_ids(s);
	if (!s->ids.has_job && s->ids.row->family == LAYOUT_SLURM)
		step__ask_stepd(s, env);
	find_uid(s, env);
	copy_job_from_siblings(s, all);
	if (!s->ids.has_job && s->ids.row->family == LAYOUT_SLURM)
		return last ? ignore_step(s, "its job id is not known") : false;
	if (!s->uid_known) {
		if (!last)
			return false;
		if (s->ids.row->family == LAYOUT_SLURM)
			return ignore_unused(s, env);
		s->uid_known = true;
	}
	s->naming = !name_user(s, env);
	if (s->naming && !env->leaving) /* every question about names is answered */
		return false;
	if (layout__step_file_name(&s->ids, name, sizeof(name)))
		return ignore_step(s, "no file name can be made of its ids");
	snprintf(s->pub.name, sizeof(s->pub.name), "%s_%s.h5", name, step__node_name(s, env));
	return true;
}

/* What is asked for is known: SPANK has spoken before the tasks were forked, so when a task's first
 * program runs, or there is none for long, nothing more will come. */
static bool is_decided(const struct step *s, const struct step_env *env, bool last)
{
	uint32_t slot;

	if (last || !env->can_ask || s->ids.row->family != LAYOUT_SLURM ||
	    (s->req && s->req->spank) || step__began_before(s, env) ||
	    clock__boot_ns() > s->start_boot_ns + STEP_YOUNG_NS)
		return true;
	for_each_slot(slot, s) if (kern__slot(env->k, slot)->root_pid) return true;
	return false;
}

/* False: the step is not to be profiled. */
static bool take_request(struct step *s, const struct step_env *env)
{
	const struct request *r = s->req;

	s->families = r && r->asked_by ? r->families : env->families;
	s->own_freq = r && r->own_freq;
	step__set_freq(s, s->own_freq ? &r->freq : &env->freq);
	step__select_columns(s, env);
	return r && r->asked_by ? !r->none : env->families != 0;
}

/* Its end has come before an answer, perhaps before we did: for that a while is left. */
static bool still_waits(struct step *s)
{
	uint64_t now = clock__boot_ns();

	if (!s->asking_ns)
		s->asking_ns = now;
	return s->unanswered && now < s->asking_ns + ANSWER_NS;
}

void step__identify(struct step *s, const struct step_env *env, const struct step *all, bool last)
{
	bool found;

	if (s->state != STEP_NEW)
		return;
	found = find_identity(s, env, all, false); /* it asks for what is not known */
	last = last && !still_waits(s);
	if (!found && last && s->state == STEP_NEW)
		found = find_identity(s, env, all, true);
	if (!found || !is_decided(s, env, last))
		return;
	if (!take_request(s, env)) {
		s->state = STEP_IGNORED;
		return;
	}
	if (!env->hdf5_dir) {
		ignore_step(s, "ProfileHDF5Dir is not set");
		return;
	}
	s->state = step__open_journal(s, env) ? STEP_IGNORED : STEP_ACTIVE;
	step__set_grid(s, env);
	if (s->state == STEP_ACTIVE)
		log_info("profiling %s (uid %u)", s->pub.name, s->uid);
}

/* Has an earlier slot of the step that number? A task may have several. */
static bool is_counted(const struct step *s, const struct step_env *env, unsigned at, int32_t gtid)
{
	while (at--)
		if (kern__slot(env->k, s->slots[at])->gtid == gtid)
			return true;
	return false;
}

/* slurmstepd knows best which process is which task. */
static void take_slurm_gtid(struct step *s, const struct step_env *env, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	const struct slurm_task *t = NULL;

	if (s->req && info->root_pid && info->gtid_source != JP_GTID_TOLD)
		t = request__find_task(s->req, (pid_t)info->root_pid);
	if (t)
		kern__set_gtid(env->k, slot, (int)t->gtid, JP_GTID_TOLD);
}

/* Of the first task that is there; a heterogeneous job's needs the job's id. */
static void find_env(struct step *s, const struct step_env *env)
{
	bool began = false;
	uint32_t slot;

	if (s->job_env || s->asking_env || (!s->ids.has_job && s->state == STEP_NEW))
		return;
	for_each_slot(slot, s)
	{
		const struct jp_slot *info = kern__slot(env->k, slot);

		if (info->root_pid && !(info->flags & JP_SLOT_F_EXITED)) {
			step__ask_env(s, env, slot);
			return;
		}
		began |= info->root_pid != 0;
	}
	if (began)
		step__use_kept_env(s, env);
}

bool step__asks(const struct step *s)
{
	return s->unanswered || s->naming;
}

/* Global ids of tasks that the kernel could not tell when they began. */
void step__find_tasks(struct step *s, const struct step_env *env)
{
	struct cgroup_ids ids;
	uint32_t slot;
	int seen = 0;

	for_each_slot(slot, s)
	{
		const struct jp_slot *info = kern__slot(env->k, slot);

		if (info->gtid < 0 && info->kind == JP_KIND_TASK &&
		    !(info->flags & JP_SLOT_F_ENV)) {
			/* nobody but the path can know */
			if (!parse_path(s, env, info->path, &ids) && ids.task >= 0)
				kern__set_gtid(env->k, slot, ids.task, JP_GTID_PATH);
		}
		take_slurm_gtid(s, env, slot);
		if (info->gtid >= 0 && !is_counted(s, env, i_, info->gtid))
			seen++;
	}
	step__ask_tasks(s, env);
	find_env(s, env);
	if (s->job_env && !s->env_journaled) {
		step__put_env_attrs(s);
		step__put_slurm_attrs(s);
		s->env_journaled = true;
	}
	s->tasks_seen = seen;
}

void step__notice(struct step *s, const struct step_env *env)
{
	if (s->state != STEP_NEW && (s->state != STEP_ACTIVE || s->env_journaled))
		return;
	step__collect_slots(s, env);
	if (s->state == STEP_NEW)
		find_env(s, env);
	else
		step__find_tasks(s, env);
}

/* The step's directory in another hierarchy than the one that carries it, if it has one there. */
static const char *find_dir(char *buf, size_t len, const char *mount, const char *path)
{
	struct stat st;

	snprintf(buf, len, "%s%s", mount, path);
	return stat(buf, &st) ? NULL : buf;
}

static void find_cgroup_files(struct step *s, const struct step_env *env, uint64_t now)
{
	const struct kern_root *r = step__cgroup_root(s, env);
	char v2[512], mem[512], cpu[512], base[300];
	struct cg_dirs d = {};

	if (r && !r->controller[0]) {
		d.v2_mount = r->mount;
		d.v2 = find_dir(v2, sizeof(v2), r->mount, s->path);
	} else if (r) {
		/* controllers of v1 are mounted side by side */
		char *slash;

		snprintf(base, sizeof(base), "%s", r->mount);
		slash = strrchr(base, '/');
		if (slash) {
			strcpy(slash, "/memory");
			d.v1_memory = find_dir(mem, sizeof(mem), base, s->path);
			strcpy(slash, "/cpu");
			d.v1_cpu = find_dir(cpu, sizeof(cpu), base, s->path);
			*slash = 0;
			d.v1_mount = base;
		}
	}
	cg_files__look(s->cg, &d, now);
}

static void read_cgroup_files(struct step *s, const struct step_env *env, double cg[CG_N])
{
	uint64_t now = clock__boot_ns();
	int i;

	for (i = 0; i < CG_N; i++)
		cg[i] = NAN;
	if (!s->cg)
		s->cg = cg_files__new(NAN);
	if (s->cg && cg_files__stale(s->cg, now))
		find_cgroup_files(s, env, now);
	if (s->cg)
		cg_files__read(s->cg, cg);
}

#define ANY_RUNTIME UINT64_MAX

static bool is_read(const double cg[CG_N])
{
	return !isnan(cg[CG_MEM]) || !isnan(cg[CG_PSI_CPU]) || !isnan(cg[CG_THROTTLED]);
}

static void remember_cgroup(struct step *s, const double cg[CG_N], uint64_t runtime)
{
	memcpy(s->last_cg, cg, sizeof(s->last_cg));
	s->last_cg_runtime = runtime;
	s->have_last_cg = true;
}

/* Once the directories are gone: what they said at the last task's end, if they were there then, or
 * when nobody was alive, if nobody has run since. What a row before that said is not the end's. */
void step__read_cgroup(struct step *s, const struct step_env *env, const struct totals *now,
		       double cg[CG_N])
{
	const uint64_t runtime = now ? now->v[T_RUNTIME] : 0;
	bool good;
	int i;

	read_cgroup_files(s, env, cg);
	if (is_read(cg) && now && !now->v[T_THREADS])
		remember_cgroup(s, cg, runtime);
	else if (is_read(cg))
		s->have_last_cg = false;
	good = s->have_last_cg &&
	       (s->last_cg_runtime == ANY_RUNTIME || s->last_cg_runtime == runtime);
	for (i = 0; i < CG_N; i++)
		if (isnan(cg[i]) && good)
			cg[i] = s->last_cg[i];
}

void step__remember_cgroup(struct step *s, const struct step_env *env)
{
	double cg[CG_N];

	if (s->state != STEP_ACTIVE || !s->sets[KIND_STEP].ncols)
		return;
	read_cgroup_files(s, env, cg);
	/* A row may have found nobody alive before we were told. */
	if (is_read(cg) || !s->have_last_cg || s->last_cg_runtime == ANY_RUNTIME)
		remember_cgroup(s, cg, ANY_RUNTIME);
}
