// SPDX-License-Identifier: GPL-2.0-only
/* The job and step of a slot. Paths hold names that users choose: they are only ever shown. */
#include <stdlib.h>
#include <string.h>

#include "cmd/dump/dump.h"
#include "identity/identity.h"

/* A jobprof run may be anywhere, also inside a Slurm job: its own tree is the last on the path. */
static size_t run_begin(const char *path)
{
	const char *at = NULL;

	for (const char *p = path; (p = strstr(p, "/jobprof_")); p++)
		at = p;
	return at ? (size_t)(at - path) : 0;
}

static bool parse_path(const char *path, enum layout_family family, size_t from,
		       struct cgroup_ids *ids)
{
	const struct layout *rows[32];
	unsigned n = layout__rows(family, rows, 32);

	return !layout__parse_rows(rows, n, path, from, ids) && ids->has_step;
}

static const char *mount_of(uint32_t id)
{
	static struct hierarchy h[HIERARCHY_MAX];
	static int n = -1;

	if (n < 0)
		n = hierarchy__discover(h, HIERARCHY_MAX);
	for (int i = 0; i < n; i++)
		if (h[i].id == id)
			return h[i].mount;
	return NULL;
}

static bool set_from_title(const char *title, struct cgroup_ids *ids)
{
	char step[sizeof(ids->step_name)];
	uint32_t job;

	if (proc__stepd_title(title, &job, step, sizeof(step)))
		return false;
	ids->job_id = job;
	ids->has_job = true;
	return true;
}

/* Finds the job in the title of slurmstepd, as jobprofd does, since the path of a SLUID names none.
 * The kernel side keeps the title of a step whose begin it saw. */
static void find_title(const struct jp_slot *info, struct cgroup_ids *ids)
{
	const char *mount = mount_of(info->hier);
	char path[768], title[256];
	FILE *f;
	int pid;

	if (set_from_title(info->title, ids) || !mount)
		return;
	snprintf(path, sizeof(path), "%s%s/slurm/cgroup.procs", mount, info->path);
	f = fopen(path, "re");
	while (f && !ids->has_job && fscanf(f, "%d", &pid) == 1) {
		/* a user's process may keep its title to itself for ever */
		if (proc__is_stepd(pid) > 0 && proc__title(pid, title, sizeof(title)) >= 0)
			set_from_title(title, ids);
	}
	if (f)
		fclose(f);
}

bool dump__identify(const struct jp_slot *info, struct cgroup_ids *ids)
{
	if (!parse_path(info->path, LAYOUT_RUN, run_begin(info->path), ids) &&
	    !parse_path(info->path, LAYOUT_SLURM, 0, ids)) {
		memset(ids, 0, sizeof(*ids));
		ids->step_id = STEP_NONE;
		return false;
	}
	if (!ids->has_job)
		find_title(info, ids);
	return true;
}
