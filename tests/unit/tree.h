/* SPDX-License-Identifier: GPL-2.0-only */
/* Made-up trees of files. */
#ifndef JP_TESTS_TREE_H
#define JP_TESTS_TREE_H

/* DIR/PATH holds text; the directories on the way are made. */
static void put(const char *dir, const char *path, const char *text)
{
	char cmd[512], full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	snprintf(cmd, sizeof(cmd), "mkdir -p $(dirname '%s')", full);
	assert_int_equal(system(cmd), 0);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#endif
