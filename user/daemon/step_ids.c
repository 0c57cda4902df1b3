// SPDX-License-Identifier: GPL-2.0-only
/* Who a step is: job, user, tasks. Paths say most of it, slurmstepd's title and processes the rest.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/step_internal.h"
#include "job/proc.h"
#include "sensor/cgroup.h"

#define MAX_PIDS 4096
/* Directories that something has left behind may stay for ever. Should a program begin there, the
 * kernel says whose it is. */
#define ASK_OWNER_MIN_NS (NSEC_PER_SEC / 10)
#define ASK_OWNER_MAX_NS (60 * NSEC_PER_SEC)
/* CPU time that a task may take on its way from slurmstepd to its program. */
#define STARTING_NS NSEC_PER_MSEC

const struct kern_root *step_root(const struct step *s, const struct step_env *env)
{
	const struct jp_slot *info = kern__slot(env->k, s->slot);
	unsigned i;

	for (i = 0; i < env->nroots; i++)
		if (env->roots[i].hier == info->hier)
			return &env->roots[i];
	return NULL;
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

static void slot_dir(const struct step *s, const struct step_env *env, const char *path, char *out,
		     size_t len)
{
	const struct kern_root *r = step_root(s, env);

	snprintf(out, len, "%s%s", r ? r->mount : "", path);
}

/* By the layouts that are followed, from where they begin: a jobprof run inside a Slurm job is none
 * of Slurm's steps. */
static int parse_path(const struct step *s, const struct step_env *env, const char *path,
		      struct cgroup_ids *ids)
{
	const struct kern_root *r = step_root(s, env);

	return layout__parse_rows(env->rows, env->nrows, path, r ? strlen(r->prefix) : 0, ids);
}

/* SLUID paths do not tell the job; the step's slurmstepd does, by its title. */
static void ask_stepd(struct step *s, const struct step_env *env)
{
	char dir[512], title[256], step[65];
	pid_t pids[16];
	uint32_t job;
	unsigned i, n;

	slot_dir(s, env, s->path, dir, sizeof(dir) - 8);
	strcat(dir, "/slurm");
	n = read_pids(dir, pids, 16);
	for (i = 0; i < n; i++) {
		if (proc__title(pids[i], title, sizeof(title)) < 0 ||
		    proc__stepd_title(title, &job, step, sizeof(step)))
			continue;
		s->ids.job_id = job;
		s->ids.has_job = true;
		return;
	}
}

static void borrow(struct step *s, const struct step *all)
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

bool step_began_before(const struct step *s, const struct step_env *env)
{
	return (kern__slot(env->k, s->slot)->flags & JP_SLOT_F_BASE) ||
	       kern__missed_ns(env->k, s->slot) > STARTING_NS;
}

/* Processes of a slot's cgroup and of the directories in it that count with it. */
static unsigned slot_pids(const struct step *s, const struct step_env *env, uint32_t slot,
			  pid_t *pids, unsigned max)
{
	static const char *const below[] = {"", "/user", "/user/task_special", "/task_special"};
	const struct jp_slot *info = kern__slot(env->k, slot);
	char dir[768];
	unsigned n = 0;
	size_t i;

	for (i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		if (i && info->kind != JP_KIND_STEP)
			break;
		slot_dir(s, env, info->path, dir, sizeof(dir) - 32);
		strcat(dir, below[i]);
		n += read_pids(dir, pids + n, max - n);
	}
	return n;
}

/* Of a step whose first program nobody has seen: whose the processes in it are. slurmstepd and its
 * children before their exec are root's whoever's the job is. */
static void ask_owner(struct step *s, const struct step_env *env, bool last)
{
	uint64_t now = clock__boot_ns();
	char comm[16];
	pid_t pids[64];
	uint32_t slot;

	if (now < s->next_ask_ns && !last)
		return;
	s->ask_every_ns = s->ask_every_ns ? 2 * s->ask_every_ns : ASK_OWNER_MIN_NS;
	if (s->ask_every_ns > ASK_OWNER_MAX_NS)
		s->ask_every_ns = ASK_OWNER_MAX_NS;
	s->next_ask_ns = now + s->ask_every_ns;
	for_each_slot(slot, s)
	{
		unsigned i, n = slot_pids(s, env, slot, pids, 64);

		for (i = 0; i < n && !s->uid_known; i++)
			s->uid_known = pids[i] > 0 &&
				       proc__comm(pids[i], comm, sizeof(comm)) >= 0 &&
				       strcmp(comm, "slurmstepd") && !proc__uid(pids[i], &s->uid);
	}
}

static void find_uid(struct step *s, const struct step_env *env, bool last)
{
	uint32_t slot;

	if (env->embedded) {
		s->uid = env->uid;
		s->gid = env->gid;
		s->uid_known = true;
	} else if (s->ids.has_uid) {
		s->uid = s->ids.uid;
		s->uid_known = true;
	}
	step_collect(s, env);
	for_each_slot(slot, s)
	{
		const struct jp_slot *info = kern__slot(env->k, slot);

		if (!s->uid_known && info->root_pid) {
			s->uid = info->uid;
			s->uid_known = true;
		}
	}
	if (!s->uid_known &&
	    (step_began_before(s, env) || clock__boot_ns() > s->start_boot_ns + STEP_YOUNG_NS))
		ask_owner(s, env, last);
}

static void name_user(struct step *s, const struct step_env *env)
{
	struct passwd *pw = getpwuid(s->uid);

	if (!env->embedded)
		s->gid = s->req && s->req->known && s->req->info.gid != JPC_UNKNOWN
				 ? s->req->info.gid
			 : pw ? pw->pw_gid
			      : s->uid;
	if (!env->embedded && pw && str__safe_name(pw->pw_name))
		str__copy(s->pub.user, sizeof(s->pub.user), pw->pw_name);
	else if (!env->embedded)
		snprintf(s->pub.user, sizeof(s->pub.user), "%u", s->uid);
	s->pub.uid = s->uid;
	s->pub.gid = s->gid;
	snprintf(s->pub.dir, sizeof(s->pub.dir), "%s", env->hdf5_dir ? env->hdf5_dir : "");
}

static bool give_up(struct step *s, const char *why)
{
	s->given_up = true;
	log_warn("step at %s is not profiled: %s", s->path, why);
	s->state = STEP_IGNORED;
	return false;
}

int step_parse_path(struct step *s, const struct step_env *env)
{
	int err = s->ids.has_step ? 0 : parse_path(s, env, s->path, &s->ids);

	return err ? err : s->ids.has_step ? 0 : -EINVAL;
}

/* Root's word, through the socket. */
static void take_told_ids(struct step *s)
{
	const struct jpc_step *told = s->req && s->req->known ? &s->req->info : NULL;

	if (told && !s->ids.has_job && told->job_id != JPC_UNKNOWN) {
		s->ids.has_job = true;
		s->ids.job_id = told->job_id;
	}
	if (told && !s->uid_known && told->uid != JPC_UNKNOWN) {
		s->uid_known = true;
		s->uid = told->uid;
	}
}

/* Several slurmds on one host have a name each, which slurmstepd tells and their paths may say. */
const char *step_node(const struct step *s, const struct step_env *env)
{
	const struct request *r = s->req;

	/* it becomes part of a file's name, where ".h5" is the end */
	if (r && r->known && str__safe_name(r->info.node_name) && !strstr(r->info.node_name, ".h5"))
		return r->info.node_name;
	return s->ids.node[0] ? s->ids.node : env->node_name;
}

static bool find_out(struct step *s, const struct step_env *env, const struct step *all, bool last)
{
	char name[160];

	if (step_parse_path(s, env))
		return give_up(s, "its directory has no valid step name");
	take_told_ids(s);
	if (!s->ids.has_job && s->ids.row->family == LAYOUT_SLURM)
		ask_stepd(s, env);
	find_uid(s, env, last);
	borrow(s, all);
	if (!s->ids.has_job && s->ids.row->family == LAYOUT_SLURM)
		return last ? give_up(s, "its job id is not known") : false;
	if (!s->uid_known) {
		if (!last)
			return false;
		s->uid_known = true; /* a step without tasks: root's */
	}
	name_user(s, env);
	if (layout__step_file_name(&s->ids, name, sizeof(name)))
		return give_up(s, "no file name can be made of its ids");
	snprintf(s->pub.name, sizeof(s->pub.name), "%s_%s.h5", name, step_node(s, env));
	return true;
}

/* What is asked for is known: SPANK has spoken before the tasks were forked, so when a task's first
 * program runs, or there is none for long, nothing more will come. */
static bool is_decided(const struct step *s, const struct step_env *env, bool last)
{
	uint32_t slot;

	if (last || !env->can_ask || s->ids.row->family != LAYOUT_SLURM ||
	    (s->req && s->req->spank) || step_began_before(s, env) ||
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
	step_select_columns(s, env);
	return r && r->asked_by ? !r->none : env->families != 0;
}

void step__identify(struct step *s, const struct step_env *env, const struct step *all, bool last)
{
	if (s->state != STEP_NEW || !find_out(s, env, all, last) || !is_decided(s, env, last))
		return;
	if (!take_request(s, env)) {
		s->state = STEP_IGNORED;
		return;
	}
	if (!env->hdf5_dir) {
		give_up(s, "ProfileHDF5Dir is not set");
		return;
	}
	s->state = step_open_journal(s, env) ? STEP_IGNORED : STEP_ACTIVE;
	step_set_grid(s, env);
	if (s->state == STEP_ACTIVE)
		log_info("profiling %s (uid %u)", s->pub.name, s->uid);
}

/* A task may be between fork and its first exec when it is looked at: then again, so long. */
#define ASK_AGAIN_NS (2 * NSEC_PER_SEC)

/* Its first exec may have come before the programs that would have seen it. */
static bool missed_exec(const struct jp_slot *info, const struct step_env *env)
{
	return (info->flags & JP_SLOT_F_ENV) &&
	       ((info->flags & JP_SLOT_F_BASE) ||
		info->start_ns < kern__control(env->k)->attached_ns + NSEC_PER_SEC);
}

/* Of all slots: the kernel may have made one since the step's were collected. */
static bool has_lineage(const struct step *s, const struct step_env *env, pid_t root)
{
	const uint32_t *used;
	unsigned n, i;

	used = kern__used(env->k, &n);
	for (i = 0; i < n; i++) {
		const struct jp_slot *info = kern__slot(env->k, used[i]);

		if (info->step == s->slot && info->root_pid == (uint32_t)root)
			return true;
	}
	return false;
}

/* Has an earlier slot of the step that number? A task may have several. */
static bool is_counted(const struct step *s, const struct step_env *env, unsigned at, int32_t gtid)
{
	while (at--)
		if (kern__slot(env->k, s->own[at])->gtid == gtid)
			return true;
	return false;
}

/* A task whose beginning we did not see: the environment of the lineage's first process tells. */
static void ask_processes(struct step *s, const struct step_env *env, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	pid_t *pids = calloc(MAX_PIDS, sizeof(*pids)), root, lineage[64];
	int32_t gtid;
	unsigned i, j, n, m;
	uid_t uid;

	if (!pids)
		return;
	n = slot_pids(s, env, slot, pids, MAX_PIDS);
	for (i = 0; i < n; i++) {
		if (pids[i] <= 0 || proc__root_of(pids[i], &root) || proc__procid(root, &gtid) ||
		    proc__uid(root, &uid))
			continue;
		if (info->kind == JP_KIND_TASK) {
			kern__set_gtid(env->k, slot, gtid, JP_GTID_ENVIRON);
			kern__set_root(env->k, slot, root, uid);
			break;
		}
		if (has_lineage(s, env, root))
			continue;
		for (m = 0, j = i; j < n && m < 64; j++) {
			pid_t other;

			if (pids[j] > 0 && !proc__root_of(pids[j], &other) && other == root) {
				lineage[m++] = pids[j];
				if (j != i)
					pids[j] = 0;
			}
		}
		kern__adopt_lineage(env->k, s->slot, gtid, root, uid, lineage, m);
	}
	free(pids);
}

/* slurmstepd knows best which process is which task. */
static void take_told_gtid(struct step *s, const struct step_env *env, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	const struct told_task *t = NULL;

	if (s->req && info->root_pid && info->gtid_source != JP_GTID_TOLD)
		t = request__find_task(s->req, (pid_t)info->root_pid);
	if (t)
		kern__set_gtid(env->k, slot, (int)t->gtid, JP_GTID_TOLD);
}

/* Global ids of tasks that the kernel could not tell when they began. */
void step_find_tasks(struct step *s, const struct step_env *env)
{
	bool ask = !s->asked || clock__boot_ns() < s->start_boot_ns + ASK_AGAIN_NS;
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
		} else if (info->gtid < 0 && ask && missed_exec(info, env)) {
			ask_processes(s, env, slot);
		}
		take_told_gtid(s, env, slot);
		if (info->gtid >= 0 && !is_counted(s, env, i_, info->gtid))
			seen++;
		if (info->root_pid && !s->labelled && !(info->flags & JP_SLOT_F_EXITED)) {
			step_label(s, env, info->root_pid);
			step_put_told(s);
			s->labelled = true;
		}
	}
	s->asked = true;
	s->tasks_seen = seen;
}

/* The step's directory in another hierarchy than the one that carries it, if it has one there. */
static const char *find_dir(char *buf, size_t len, const char *mount, const char *path)
{
	struct stat st;

	snprintf(buf, len, "%s%s", mount, path);
	return stat(buf, &st) ? NULL : buf;
}

static void look_for_files(struct step *s, const struct step_env *env, uint64_t now)
{
	const struct kern_root *r = step_root(s, env);
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

static void read_files(struct step *s, const struct step_env *env, double cg[CG_N])
{
	uint64_t now = clock__boot_ns();
	int i;

	for (i = 0; i < CG_N; i++)
		cg[i] = NAN;
	if (!s->cg)
		s->cg = cg_files__new(NAN);
	if (s->cg && cg_files__stale(s->cg, now))
		look_for_files(s, env, now);
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
void step_read_cgroup(struct step *s, const struct step_env *env, const struct totals *now,
		      double cg[CG_N])
{
	const uint64_t runtime = now ? now->v[T_RUNTIME] : 0;
	bool good;
	int i;

	read_files(s, env, cg);
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

	if (s->state != STEP_ACTIVE || !s->sets[SERIES_STEP].ncols)
		return;
	read_files(s, env, cg);
	/* A row may have found nobody alive before we were told. */
	if (is_read(cg) || !s->have_last_cg || s->last_cg_runtime == ANY_RUNTIME)
		remember_cgroup(s, cg, ANY_RUNTIME);
}
