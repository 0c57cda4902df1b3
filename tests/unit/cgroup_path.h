/* SPDX-License-Identifier: GPL-2.0-only */
/* What a test expects of a cgroup's path. */
#ifndef JP_TESTS_CGROUP_PATH_H
#define JP_TESTS_CGROUP_PATH_H

#include "tests/unit/unit.h"
#include "identity/layout.h"

/* Reads a path by all built-in rows. */
static inline int parse_path(const char *path, struct cgroup_ids *ids)
{
	const struct layout *rows[16] = {0};
	unsigned n = 0;

	for (; n < n_layouts && n < sizeof(rows) / sizeof(rows[0]); n++)
		rows[n] = &layouts[n];
	return layout__parse_rows(rows, n, path, 0, ids);
}

static inline struct cgroup_ids parsed(const char *path)
{
	struct cgroup_ids ids;
	int err = parse_path(path, &ids);

	if (err)
		fail_msg("%s: %s", path, strerror(-err));
	return ids;
}

static inline void file_name_is(const struct cgroup_ids *ids, const char *want)
{
	char buf[128];

	assert_int_equal(layout__step_file_name(ids, buf, sizeof(buf)), 0);
	assert_string_equal(buf, want);
}

#endif
