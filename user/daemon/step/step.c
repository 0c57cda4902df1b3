/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what a step's slots and the path of its cgroup tell about it. */
#include "daemon/step/step.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/str.h"
#include "identity/proc.h"

/* ---- the values in the files of a step's cgroup, while the cgroup is there and after */

/* The step's directory in another hierarchy than the one that is followed, or NULL. */
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
	struct cgroup_dirs d = {};

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
	cgroup_files__rescan(s->cg, &d, now);
}

static void read_cgroup_files(struct step *s, const struct step_env *env, double cg[CG_N])
{
	uint64_t now = clock__boot_ns();
	int i;

	for (i = 0; i < CG_N; i++)
		cg[i] = NAN;
	if (!s->cg)
		s->cg = cgroup_files__new(NULL);
	if (s->cg && cgroup_files__stale(s->cg, now))
		find_cgroup_files(s, env, now);
	if (s->cg)
		cgroup_files__read(s->cg, cg);
}

#define ANY_CPU_NS UINT64_MAX

static bool is_read(const double cg[CG_N])
{
	return !isnan(cg[CG_MEM]) || !isnan(cg[CG_PSI_CPU]) || !isnan(cg[CG_THROTTLED]);
}

static void remember_cgroup(struct step *s, const double cg[CG_N], uint64_t cpu_ns)
{
	memcpy(s->last_cg, cg, sizeof(s->last_cg));
	s->last_cg_cpu_ns = cpu_ns;
	s->have_last_cg = true;
}

/* Once the directories are gone, the values are those of the last task's end, if the directories
 * were there then, or those of a row without living processes, if none has run since. The values of
 * an earlier row are not those of the end. */
void step__read_cgroup(struct step *s, const struct step_env *env, const struct totals *now,
		       double cg[CG_N])
{
	const uint64_t cpu_ns = now ? now->v[T_CPU] : 0;
	bool good;
	int i;

	read_cgroup_files(s, env, cg);
	if (is_read(cg) && now && !now->v[T_THREADS])
		remember_cgroup(s, cg, cpu_ns);
	else if (is_read(cg))
		s->have_last_cg = false;
	good = s->have_last_cg && (s->last_cg_cpu_ns == ANY_CPU_NS || s->last_cg_cpu_ns == cpu_ns);
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
	/* A row may have found no process alive before its end was reported. */
	if (is_read(cg) || !s->have_last_cg || s->last_cg_cpu_ns == ANY_CPU_NS)
		remember_cgroup(s, cg, ANY_CPU_NS);
}

/* CPU time that a task may take on its way from slurmstepd to its program. */
#define STARTING_NS NSEC_PER_MSEC

static int grow_slots(struct step *s)
{
	unsigned max = s->max_slots ? 2 * s->max_slots : 16;
	uint32_t *own = realloc(s->slots, max * sizeof(*own));
	struct slot_owner *owners;

	if (!own)
		return -ENOMEM;
	s->slots = own;
	owners = realloc(s->slot_owners, max * sizeof(*owners));
	if (!owners)
		return -ENOMEM;
	s->slot_owners = owners;
	s->max_slots = max;
	return 0;
}

/* A task's number may be found after its ranks have begun. */
static struct slot_owner owner_of(const struct jp_slot *info, const struct slots *all)
{
	const struct jp_slot *task = info->task < all->n ? &all->of[info->task] : NULL;

	if (info->kind != JP_KIND_RANK)
		return (struct slot_owner){info->gtid, JP_GTID_NONE};
	return (struct slot_owner){task && task->step == info->step ? task->gtid : JP_GTID_NONE,
				   info->rank};
}

void step__collect_slots(struct step *s, struct slots from)
{
	s->nslots = 0;
	for (unsigned i = 0; i < from.nused; i++) {
		uint32_t slot = from.used[i];
		const struct jp_slot *info = &from.of[slot];

		if (info->step != s->slot)
			continue;
		/* still held by a task of the step that had our slot before */
		if (slot != s->slot && (info->flags & JP_SLOT_F_DONE))
			continue;
		if (s->nslots == s->max_slots && grow_slots(s))
			return;
		s->slot_owners[s->nslots] = owner_of(info, &from);
		s->slots[s->nslots++] = slot;
	}
}

const struct kern_root *step__cgroup_root(const struct step *s, const struct step_env *env)
{
	for (unsigned i = 0; i < env->cgroups->nroots; i++)
		if (env->cgroups->root[i].hier == s->hier)
			return &env->cgroups->root[i];
	return NULL;
}

/* The path is parsed by the layouts that are followed: a jobprof run inside a Slurm job is not a
 * step of Slurm. */
int step__parse_cgroup(const struct step *s, const struct step_env *env, const char *path,
		       struct cgroup_ids *ids)
{
	const struct kern_root *r = step__cgroup_root(s, env);

	return layout__parse_rows(env->cgroups->layout, env->cgroups->nlayouts, path,
				  r ? strlen(r->prefix) : 0, ids);
}

/* Paths with a SLUID do not contain the job id; slurmstepd's title does. The kernel side has kept
 * the title if it saw the step begin, also when the step is over or slurmstepd hangs. */
static void take_title(struct step *s, struct kern *k)
{
	char step[sizeof(s->ids.step_name)];

	if (!s->ids.has_job && s->ids.row->family == LAYOUT_SLURM)
		s->ids.has_job = !proc__stepd_title(kern__slot(k, s->slot)->title, &s->ids.job_id,
						    step, sizeof(step));
}

int step__parse_path(struct step *s, const struct step_env *env)
{
	int err = s->ids.has_step ? 0 : step__parse_cgroup(s, env, s->path, &s->ids);

	if (err || !s->ids.has_step)
		return err ? err : -EINVAL;
	take_title(s, env->k);
	return 0;
}

/* Several slurmds on one host have a name each. slurmstepd sends it, and paths may contain it. */
uint64_t step__interval(const struct step *s, const struct step_env *env, int kind)
{
	uint64_t ns = s->interval_ns[kind];

	return env->slower > 1 && ns < UINT64_MAX / env->slower ? ns * env->slower : ns;
}

const char *step__node_name(const struct step *s, const char *host_name)
{
	const struct request *r = s->req;

	/* the name becomes part of a file's name, which ends at ".h5" */
	if (r && r->known && str__safe_name(r->info.node_name) && !strstr(r->info.node_name, ".h5"))
		return r->info.node_name;
	return s->ids.node[0] ? s->ids.node : host_name;
}

void step__key(const struct step *s, struct step_key *p)
{
	memset(p, 0, sizeof(*p));
	p->hier = s->hier;
	memcpy(p->job_path, s->path, s->ids.job_end);
	p->step_id = s->ids.step_id;
	p->het_comp = s->ids.het_comp;
	p->job_id = s->ids.has_job ? s->ids.job_id : JPC_UNKNOWN;
	str__copy(p->node, sizeof(p->node), s->ids.node);
}

bool step__same_job(const struct step *a, const struct step *b)
{
	return a->ids.job_end && a->ids.job_end == b->ids.job_end &&
	       !strncmp(a->path, b->path, a->ids.job_end);
}

/* Root has processes in the extern step of every user: the sleep of Slurm 22.05, an sshd that has
 * not become its user yet. */
bool step__may_own(const struct step *s, uid_t uid)
{
	return uid || s->ids.step_id != STEP_EXTERN;
}

bool step__began_before(const struct step *s, const struct kern *k)
{
	return s->baseline || kern__missed_ns(k, s->slot) > STARTING_NS;
}

bool step__uses_node(const struct step *s)
{
	return s->sensors && (s->state == STEP_NEW || s->state == STEP_ACTIVE ||
			      s->state == STEP_ENDING || s->state == STEP_IGNORED);
}

bool step__quiet(struct step *s, struct kern *k)
{
	uint32_t slot;

	step__collect_slots(s, kern__slots(k));
	for_each_slot(slot, s) if (kern__held(k, slot)) return false;
	return !kern__requests(k, s->slot);
}

void step__release(struct step *s, struct kern *k)
{
	uint32_t slot;

	step__collect_slots(s, kern__slots(k));
	for_each_slot(slot, s) kern__release(k, slot);
}
