// SPDX-License-Identifier: GPL-2.0-or-later
/* The mounted cgroup hierarchies, read from mountinfo and /proc/cgroups. */
#include "identity/hierarchy.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"

/* The hierarchies of v1, best first: where Slurm's tree is in several, the one that it always makes
 * leads. */
static const char *const preferred[] = {"freezer", "memory", "cpuset", "devices", "cpuacct"};

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += len)
		if ((p == list || p[-1] == ',') && (p[len] == ',' || !p[len]))
			return true;
	return false;
}

/* Column 2 of /proc/cgroups for a controller; 0: unknown, or not mounted as v1. */
static uint32_t controller_id(const char *cgroups, const char *name)
{
	_cleanup_fclose_ FILE *f = fopen(cgroups, "re");
	char line[256], controller[64];
	unsigned id;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %u", controller, &id) == 2 && !strcmp(controller, name))
			return id;
	return 0;
}

/* Hierarchies without controllers are only named in /proc/<pid>/cgroup: "9:name=systemd:/". */
static uint32_t named_id(const char *self_cgroup, const char *name)
{
	_cleanup_fclose_ FILE *f = fopen(self_cgroup, "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) >= 0) {
		char *controllers = strchr(line, ':'), *path;
		uint32_t id;

		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*controllers++ = '\0';
		*path = '\0';
		if (has_word(controllers, name) && !parse_u32(line, &id))
			return id;
	}
	return 0;
}

/* Reads the controllers and the name of a hierarchy from the options of its v1 mount. */
static void read_options(struct hierarchy *h, char *options, const char *cgroups,
			 const char *self_cgroup)
{
	char *save = NULL;
	size_t len = 0;

	for (char *o = strtok_r(options, ",\n", &save); o; o = strtok_r(NULL, ",\n", &save)) {
		uint32_t id = str__starts(o, "name=") ? named_id(self_cgroup, o)
						      : controller_id(cgroups, o);

		if (!id)
			continue;
		h->id = id;
		if (len + strlen(o) + 2 < sizeof(h->controllers))
			len += (size_t)sprintf(h->controllers + len, "%s%s", len ? "," : "", o);
	}
}

/*
 * "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup cgroup rw,memory": id, parent, device,
 * root, mount point, options, any number of tags, a dash, type, source, options of the super block.
 */
static bool parse_mount(struct hierarchy *h, char *line, const char *cgroups,
			const char *self_cgroup)
{
	char *dash = strstr(line, " - "), *save = NULL, *field[5], *type, *options;

	memset(h, 0, sizeof(*h));
	if (!dash)
		return false;
	*dash = '\0';
	type = strtok_r(dash + 3, " \n", &save);
	strtok_r(NULL, " \n", &save);
	options = strtok_r(NULL, " \n", &save);
	if (!type || !options || (strcmp(type, "cgroup") != 0 && strcmp(type, "cgroup2") != 0))
		return false;
	save = NULL;
	for (unsigned i = 0; i < 5; i++) {
		field[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!field[i])
			return false;
	}
	str__unescape(field[3]);
	str__unescape(field[4]);
	if (str__copy(h->root, sizeof(h->root), field[3]) ||
	    str__copy(h->mount, sizeof(h->mount), field[4]))
		return false;
	h->v2 = !strcmp(type, "cgroup2");
	if (!h->v2)
		read_options(h, options, cgroups, self_cgroup);
	return h->v2 || h->id;
}

/* Keeps one mount of each hierarchy: a later one only if it shows more of the tree. */
static unsigned add_mount(struct hierarchy *out, unsigned n, unsigned max,
			  const struct hierarchy *h)
{
	for (unsigned i = 0; i < n; i++) {
		if (out[i].id != h->id)
			continue;
		if (strlen(h->root) < strlen(out[i].root))
			out[i] = *h;
		return n;
	}
	if (n < max)
		out[n++] = *h;
	return n;
}

int hierarchy__discover_from(struct hierarchy *out, unsigned max, const char *mountinfo,
			     const char *cgroups, const char *self_cgroup)
{
	_cleanup_fclose_ FILE *f = fopen(mountinfo, "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	unsigned n = 0;

	if (!f)
		return -errno;
	while (getline(&line, &cap, f) >= 0) {
		struct hierarchy h;

		if (parse_mount(&h, line, cgroups, self_cgroup))
			n = add_mount(out, n, max, &h);
	}
	return ferror(f) ? -EIO : (int)n;
}

int hierarchy__discover(struct hierarchy *out, unsigned max)
{
	return hierarchy__discover_from(out, max, "/proc/self/mountinfo", "/proc/cgroups",
					"/proc/self/cgroup");
}

static bool has_slurm(const struct hierarchy *h)
{
	_cleanup_closedir_ DIR *d = opendir(h->mount);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_type == DT_DIR &&
		    (!strcmp(e->d_name, "slurm") || str__starts(e->d_name, "slurm_")))
			return true;
	return false;
}

static int find_v1(const struct hierarchy *h, unsigned n, bool with_slurm)
{
	for (unsigned p = 0; p < sizeof(preferred) / sizeof(preferred[0]); p++)
		for (unsigned i = 0; i < n; i++)
			if (!h[i].v2 && has_word(h[i].controllers, preferred[p]) &&
			    (!with_slurm || has_slurm(&h[i])))
				return (int)i;
	return -1;
}

unsigned hierarchy__carriers(const struct hierarchy *h, unsigned n, unsigned *out, unsigned max)
{
	unsigned found = 0;
	int v1 = find_v1(h, n, true);

	if (v1 < 0)
		v1 = find_v1(h, n, false);
	for (unsigned i = 0; i < n && found < max; i++)
		if (h[i].v2)
			out[found++] = i;
	if (v1 >= 0 && found < max)
		out[found++] = (unsigned)v1;
	return found;
}

int hierarchy__cgroup_of(const char *pid, const struct hierarchy *h, char *out, size_t len)
{
	char file[64], text[8192], *line, *save;

	snprintf(file, sizeof(file), "/proc/%s/cgroup", pid);
	if (read_file(AT_FDCWD, file, text, sizeof(text)) < 0)
		return -ENOENT;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = 0;
		if (!strcmp(list + 1, h->controllers) && (h->v2 || list[1]))
			return str__copy(out, len, path);
	}
	return -ENOENT;
}
