// SPDX-License-Identifier: GPL-2.0-only
/* Mounts of some types of file systems, read from mountinfo. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "sensor/mounts/mounts.h"

/* ID PARENT DEVICE ROOT POINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS; cut in place. */
static bool parse_line(char *line, struct mount_line *m)
{
	char *behind = strstr(line, " - "), *save, *word[5];

	if (!behind)
		return false;
	*behind = '\0';
	for (unsigned i = 0; i < 5; i++) {
		word[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!word[i])
			return false;
	}
	m->device = word[2];
	m->root = word[3];
	m->point = word[4];
	m->type = strtok_r(behind + 3, " ", &save);
	m->source = m->type ? strtok_r(NULL, " ", &save) : NULL;
	return m->source != NULL;
}

static bool is_wanted(const struct mount_line *m, const char *const *types)
{
	for (; *types; types++)
		if (!strcmp(*types, m->type))
			return true;
	return false;
}

static int add_mount(struct mount_lines *m, const struct mount_line *line)
{
	for (unsigned i = 0; i < m->n; i++) {
		if (strcmp(m->line[i].device, line->device) != 0)
			continue;
		/* Mounted twice, or a part of it elsewhere: its counters are the same. */
		if (strcmp(m->line[i].root, "/") != 0 && !strcmp(line->root, "/"))
			m->line[i] = *line;
		return 0;
	}
	if (room__grow(&m->line, m->n, 1, sizeof(*m->line)))
		return -ENOMEM;
	m->line[m->n++] = *line;
	return 0;
}

int mount_lines__read(struct mount_lines *m, const char *proc, const char *const *types)
{
	struct sensor_text text = {.fd = -1};
	char *path, *line, *save = NULL;
	int err;

	*m = (struct mount_lines){0};
	if (asprintf(&path, "%s/self/mountinfo", proc) < 0)
		return -ENOMEM;
	text.path = path;
	err = sensor_text__read(&text);
	m->text = text.buf;
	text.buf = NULL;
	if (!err)
		for (line = strtok_r(m->text, "\n", &save); line && !err;
		     line = strtok_r(NULL, "\n", &save)) {
			struct mount_line one;

			if (parse_line(line, &one) && is_wanted(&one, types))
				err = add_mount(m, &one);
		}
	sensor_text__free(&text);
	free(path);
	return err == -ENOENT ? 0 : err;
}

void mount_lines__free(struct mount_lines *m)
{
	free(m->line);
	free(m->text);
	*m = (struct mount_lines){0};
}
