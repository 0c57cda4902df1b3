// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the ids from a cgroup's path. Users name some of these directories, so names in any other
 * form are refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "identity/layout.h"

#define COMPS_MAX 64 /* deeper directories are below any layout */

/* A component of the path, or the part of it that the glob's star stands for. */
struct span {
	const char *s;
	size_t len;
};

static int split_path(const char *path, struct span out[COMPS_MAX])
{
	int n = 0;

	if (path[0] != '/')
		return -EINVAL;
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return -EINVAL;
	if (!path[1])
		return 0;
	for (const char *p = path; *p;) {
		size_t len = strcspn(++p, "/");

		if (!len || (len == 1 && p[0] == '.') || (len == 2 && !memcmp(p, "..", 2)))
			return -EINVAL;
		if (n < COMPS_MAX)
			out[n++] = (struct span){p, len};
		p += len;
	}
	return n;
}

/* Whether text matches one of the alternatives; *star becomes the part that the star stands for. */
static bool match_glob(const char *globs, struct span text, struct span *star)
{
	while (globs) {
		size_t len = strcspn(globs, "|");
		const char *s = memchr(globs, '*', len);
		size_t prefix = s ? (size_t)(s - globs) : len, suffix = s ? len - prefix - 1 : 0;

		if ((s ? text.len >= prefix + suffix : text.len == len) &&
		    !memcmp(text.s, globs, prefix) &&
		    !memcmp(text.s + text.len - suffix, globs + len - suffix, suffix)) {
			*star = (struct span){text.s + prefix, text.len - prefix - suffix};
			return true;
		}
		globs = globs[len] ? globs + len + 1 : NULL;
	}
	return false;
}

static int copy_span(char *dst, size_t size, struct span text)
{
	if (text.len >= size)
		return -EINVAL;
	memcpy(dst, text.s, text.len);
	dst[text.len] = '\0';
	return 0;
}

/* Reads a number as layout__number() does, from a part of the path. */
static int span_number(struct span text, uint32_t max, uint32_t *v)
{
	char number[16];

	return copy_span(number, sizeof(number), text) ? -EINVAL : layout__number(number, max, v);
}

/* Whether text is a SLUID exactly as Slurm writes one, so that no run of a job has two names. */
static bool is_sluid(struct span text, char out[SLUID_LEN + 1])
{
	char again[SLUID_LEN + 1];
	uint64_t id;

	if (copy_span(out, SLUID_LEN + 1, text) || sluid__decode(out, &id))
		return false;
	sluid__encode(id, again);
	return !strcmp(out, again);
}

/*
 * A name fit for a file: what is not a letter, digit, '.' or '-' becomes '-', as do '.' at the
 * beginning and in ".h5". Where that lost something, a hash of the whole name keeps two names
 * apart.
 */
static void sanitise(struct span text, char out[65])
{
	enum { KEPT = 64 - 9 };
	uint32_t hash = 2166136261u; /* FNV-1a */
	bool changed = text.len > 64;
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.s[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-' || (c == '.' && i);

		if (c == '.' && text.len - i >= 3 && !memcmp(text.s + i, ".h5", 3))
			plain = false;
		changed |= !plain;
		hash = (hash ^ (unsigned char)c) * 16777619u;
		if (n < 64)
			out[n++] = plain ? c : '-';
	}
	if (changed) {
		n = n > KEPT ? KEPT : n;
		n += (size_t)snprintf(out + n, 10, "-%08x", hash);
	}
	out[n] = '\0';
}

/* The node's name becomes part of a file's name, whose end is ".h5". */
static void read_node(struct cgroup_ids *ids, struct span name)
{
	if (copy_span(ids->node, sizeof(ids->node), name) || !str__safe_name(ids->node) ||
	    strstr(ids->node, ".h5"))
		ids->node[0] = '\0';
}

static int read_comp(struct cgroup_ids *ids, enum comp_id id, struct span whole, struct span star)
{
	uint32_t n;
	int err;

	switch (id) {
	case COMP_NONE:
		return 0;
	case COMP_NODE:
		read_node(ids, star);
		return 0;
	case COMP_UID:
		ids->has_uid = true;
		return span_number(star, UINT32_MAX - 1, &ids->uid);
	case COMP_JOB:
		ids->has_job = true;
		err = span_number(star, STEP_NONE - 1, &ids->job_id);
		return err || ids->job_id ? err : -EINVAL;
	case COMP_SLUID:
		return is_sluid(whole, ids->sluid) ? 0 : -EINVAL;
	case COMP_STEP:
		ids->has_step = true;
		if (copy_span(ids->step_name, sizeof(ids->step_name), star))
			return -EINVAL;
		return layout__step_id(ids->step_name, &ids->step_id, &ids->het_comp);
	case COMP_NAME:
		ids->has_step = true;
		sanitise(whole, ids->step_name);
		return 0;
	case COMP_STEPD:
		ids->is_stepd = true;
		return 0;
	case COMP_SPECIAL:
		ids->task_special = true;
		return 0;
	case COMP_TASK:
		err = span_number(star, INT32_MAX, &n);
		if (!err)
			ids->task = (int32_t)n;
		/* Patterns say nothing of what their tasks are called. */
		return ids->row->family == LAYOUT_PATTERN ? 0 : err;
	}
	return -EINVAL;
}

/* How many components of path the row matches; *job: whether a job or a step is among them. */
static unsigned match_row(const struct layout *row, const struct span *path, unsigned n, bool *job)
{
	char sluid[SLUID_LEN + 1];
	struct span star;
	unsigned i;

	*job = false;
	for (i = 0; i < row->n && i < n; i++) {
		enum comp_id id = row->comp[i].id;

		if (!match_glob(row->comp[i].glob, path[i], &star) ||
		    (id == COMP_SLUID && !is_sluid(path[i], sluid)))
			break;
		*job |= id == COMP_JOB || id == COMP_SLUID || id == COMP_NAME;
	}
	return i;
}

static int fill_ids(struct cgroup_ids *ids, const struct span *comp, unsigned n, const char *path)
{
	for (unsigned i = 0; i < n; i++) {
		enum comp_id id = ids->row->comp[i].id;
		size_t end = (size_t)(comp[i].s + comp[i].len - path);
		struct span star = {"", 0};
		int err;

		match_glob(ids->row->comp[i].glob, comp[i], &star);
		err = read_comp(ids, id, comp[i], star);
		if (err)
			return err;
		if (id == COMP_JOB || id == COMP_SLUID || id == COMP_NAME)
			ids->job_end = end;
		if (id == COMP_STEP || id == COMP_NAME)
			ids->step_end = end;
		ids->kind = ids->row->comp[i].kind;
	}
	return 0;
}

int layout__parse_rows(const struct layout *const *rows, unsigned n, const char *path, size_t from,
		       struct cgroup_ids *ids)
{
	struct span comp[COMPS_MAX];
	int ncomps = split_path(path, comp);

	*ids = (struct cgroup_ids){.step_id = STEP_NONE, .het_comp = -1, .task = -1};
	if (ncomps < 0)
		return ncomps;
	for (unsigned at = 0; at < (unsigned)ncomps; at++) {
		unsigned best = 0;

		for (unsigned i = 0; i < n; i++) {
			bool job;
			unsigned m;

			if (rows[i]->absolute ? at != 0 : comp[at].s < path + from)
				continue;
			m = match_row(rows[i], comp + at, (unsigned)ncomps - at, &job);
			if (job && m > best) {
				best = m;
				ids->row = rows[i];
			}
		}
		if (best)
			return fill_ids(ids, comp + at, best, path);
	}
	return -ENOENT;
}
