// SPDX-License-Identifier: GPL-2.0-only
/* The values in the files of a step's cgroup, while the cgroup is there and after. */
#include "daemon/step/step_cgroup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"

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

/* Once the directories are gone, the values are those of the last task's end, if the directories
 * were there then, or those of a row without living processes, if none has run since. The values of
 * an earlier row are not those of the end. */
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
	/* A row may have found no process alive before its end was reported. */
	if (is_read(cg) || !s->have_last_cg || s->last_cg_runtime == ANY_RUNTIME)
		remember_cgroup(s, cg, ANY_RUNTIME);
}
