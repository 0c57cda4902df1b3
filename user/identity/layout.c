// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of cgroup layouts, and rows made from CgroupPattern. */
#include "identity/layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* clang-format off */
#define PATH(g)	   {g, JP_KIND_PATH, 0, COMP_NONE}
#define UID	   {"uid_*", JP_KIND_PATH, 0, COMP_UID}
#define JOB	   {"job_*", JP_KIND_PATH, JP_COMPONENT_WAKE, COMP_JOB}
#define SLUID	   {"s*", JP_KIND_PATH, JP_COMPONENT_WAKE, COMP_SLUID}
#define STEP	   {"step_*", JP_KIND_STEP, JP_COMPONENT_NEED_STEPD, COMP_STEP}
#define USER	   {"user", JP_KIND_GROUP, 0, COMP_NONE}
#define STEPD	   {"slurm", JP_KIND_STEPD, 0, COMP_STEPD}
#define SPECIAL	   {"task_special", JP_KIND_GROUP, 0, COMP_SPECIAL}
#define TASK	   {"task_*", JP_KIND_TASK, 0, COMP_TASK}
#define RUN_STEP   {"step_*", JP_KIND_STEP, 0, COMP_STEP}

/* With --enable-multiple-slurmd (Debian) names hold the node's: slurm_n1, n1_slurmstepd.scope. */
#define TOP	   {"slurm|slurm_*", JP_KIND_PATH, 0, COMP_NODE}
#define SLICE	   PATH("*")
#define SCOPE	   {"slurmstepd.scope|*_slurmstepd.scope", JP_KIND_PATH, 0, COMP_NODE}

const struct layout layouts[] = {
	{"slurm-v1-special", LAYOUT_SLURM, LAYOUT_V1, false, 5, {TOP, UID, JOB, STEP, SPECIAL}},
	{"slurm-v1", LAYOUT_SLURM, LAYOUT_V1, false, 5, {TOP, UID, JOB, STEP, TASK}},
	/* The waiting area of new slurmstepd: said so that it is not taken for a SLUID. */
	{"slurm-v2-system", LAYOUT_SLURM, LAYOUT_V2, false, 3, {SLICE, SCOPE, PATH("system")}},
	{"slurm-v2-stepd", LAYOUT_SLURM, LAYOUT_V2, false, 5, {SLICE, SCOPE, JOB, STEP, STEPD}},
	{"slurm-v2-special", LAYOUT_SLURM, LAYOUT_V2, false, 6, {SLICE, SCOPE, JOB, STEP, USER, SPECIAL}},
	{"slurm-v2", LAYOUT_SLURM, LAYOUT_V2, false, 6, {SLICE, SCOPE, JOB, STEP, USER, TASK}},
	{"slurm-sluid-stepd", LAYOUT_SLURM, LAYOUT_V2, false, 5, {SLICE, SCOPE, SLUID, STEP, STEPD}},
	{"slurm-sluid-special", LAYOUT_SLURM, LAYOUT_V2, false, 6, {SLICE, SCOPE, SLUID, STEP, USER, SPECIAL}},
	{"slurm-sluid", LAYOUT_SLURM, LAYOUT_V2, false, 6, {SLICE, SCOPE, SLUID, STEP, USER, TASK}},
	{"run", LAYOUT_RUN, LAYOUT_V1 | LAYOUT_V2, false, 4, {PATH("jobprof_*"), JOB, RUN_STEP, TASK}},
};
/* clang-format on */
const unsigned n_layouts = sizeof(layouts) / sizeof(layouts[0]);

unsigned layout__rows(enum layout_family family, const struct layout **out, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_layouts && n < max; i++)
		if (layouts[i].family == family)
			out[n++] = &layouts[i];
	return n;
}

static int check_pattern_name(const char *name, char *err, size_t errlen)
{
	const char *star = strchr(name, '*');

	if (!str__safe_name(name)) {
		snprintf(err, errlen, "\"%s\" cannot be the name of a cgroup", name);
		return -EINVAL;
	}
	if (strchr(name, '|') || (star && strchr(star + 1, '*'))) {
		snprintf(err, errlen, "\"%s\" has more than one * or a |", name);
		return -EINVAL;
	}
	if (star && (star - name >= JP_NAME_LEN || strlen(star + 1) >= JP_NAME_LEN)) {
		snprintf(err, errlen, "\"%s\" has more than %d characters on one side of the *",
			 name, JP_NAME_LEN - 1);
		return -EINVAL;
	}
	return 0;
}

/* The BPF programs wake up at the first name that is not known beforehand, at the latest at the
 * step. */
static void set_wake(struct layout *l, unsigned step)
{
	unsigned i = 0;

	while (i < step && !strchr(l->comp[i].glob, '*'))
		i++;
	l->comp[i].flags |= JP_COMPONENT_WAKE;
}

/* Cuts text at its slashes into l->comp[].glob. */
static int split_pattern(struct layout *l, char *text, bool *task_level, char *err, size_t errlen)
{
	for (char *p = text; p;) {
		char *name = p + 1;
		int ret;

		if (*task_level || l->n == LAYOUT_COMPS) {
			snprintf(err, errlen, "more than %d components, or one below the tasks'",
				 LAYOUT_COMPS);
			return -EINVAL;
		}
		if (*name == '/' && l->n) {
			*task_level = true;
			name++;
		}
		p = strchr(name, '/');
		if (p)
			*p = '\0';
		ret = check_pattern_name(name, err, errlen);
		if (ret)
			return ret;
		l->comp[l->n].glob = name;
		l->comp[l->n++].kind = JP_KIND_PATH;
	}
	return 0;
}

int layout__from_pattern(struct layout *out, char *text, char *err, size_t errlen)
{
	struct layout l = {.name = "pattern",
			   .family = LAYOUT_PATTERN,
			   .on = LAYOUT_V1 | LAYOUT_V2,
			   .absolute = true};
	bool task_level = false;
	unsigned step;
	int ret;

	if (*text != '/') {
		snprintf(err, errlen, "\"%s\" is not an absolute path", text);
		return -EINVAL;
	}
	ret = split_pattern(&l, text, &task_level, err, errlen);
	if (ret)
		return ret;
	step = l.n - 1 - task_level;
	l.comp[step].kind = JP_KIND_STEP;
	l.comp[step].id = COMP_NAME;
	set_wake(&l, step);
	if (task_level) {
		l.comp[step + 1].kind = JP_KIND_TASK;
		l.comp[step + 1].id = COMP_TASK;
	}
	*out = l;
	return 0;
}

static const struct {
	const char *name;
	uint32_t id;
} named_steps[] = {
	{"batch", STEP_BATCH},
	{"extern", STEP_EXTERN},
	{"interactive", STEP_INTERACTIVE},
	{"TBD", STEP_PENDING},
};

int layout__number(const char *s, uint32_t max, uint32_t *v)
{
	uint32_t n;

	if ((s[0] == '0' && s[1]) || parse_u32(s, &n) || n > max)
		return -EINVAL;
	*v = n;
	return 0;
}

int layout__step_id(const char *name, uint32_t *step_id, int32_t *het_comp)
{
	char number[16];
	const char *plus = strchr(name, '+');
	size_t len = plus ? (size_t)(plus - name) : strlen(name);
	uint32_t id, comp;

	for (size_t i = 0; i < sizeof(named_steps) / sizeof(named_steps[0]); i++) {
		if (strcmp(name, named_steps[i].name) != 0)
			continue;
		*step_id = named_steps[i].id;
		*het_comp = -1;
		return 0;
	}
	if (len >= sizeof(number))
		return -EINVAL;
	memcpy(number, name, len);
	number[len] = '\0';
	if (layout__number(number, STEP_MAX_NORMAL, &id))
		return -EINVAL;
	if (plus && layout__number(plus + 1, INT32_MAX, &comp))
		return -EINVAL;
	*step_id = id;
	*het_comp = plus ? (int32_t)comp : -1;
	return 0;
}

int layout__step_file_name(const struct cgroup_ids *ids, char *buf, size_t size)
{
	bool pattern = ids->row && ids->row->family == LAYOUT_PATTERN;
	int n;

	if (!ids->has_step || (!ids->job_id && !pattern))
		return -EINVAL;
	if (pattern || ids->step_id == STEP_BATCH)
		n = snprintf(buf, size, "%u_%s", ids->job_id, ids->step_name);
	else
		n = snprintf(buf, size, "%u_%u", ids->job_id, ids->step_id);
	return n < 0 || (size_t)n >= size ? -E2BIG : 0;
}
