// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns a process's memory map into kinds of files with code. */
#include "identity/proc_modules.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "identity/proc.h"

static const struct {
	enum jp_module module;
	const char *pattern;
} modules[] = {
#define MODULE(kind, pattern) {JP_MODULE_##kind, pattern},
#include "schemas/modules.def"
};

/* JP_MODULES: no kind of its own. */
static enum jp_module kind_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (!fnmatch(modules[i].pattern, name, 0))
			return modules[i].module;
	return JP_MODULES;
}

static enum jp_module module_of(const char *path, const char *program)
{
	enum jp_module kind = kind_of(path);

	if (path[0] == '/' && !strcmp(path, program) && kind != JP_MODULE_INTERPRETER)
		return JP_MODULE_OWN;
	if (kind != JP_MODULES)
		return kind;
	if (path[0] != '/' || str__starts(path, "/memfd:") || str__starts(path, "/dev/zero"))
		return JP_MODULE_GENERATED;
	return JP_MODULE_LIBRARY;
}

/* A line is "FROM-TO PERMISSIONS OFFSET DEVICE INODE PATH". */
void proc_modules__take(struct proc_modules *m, const char *line, const char *program)
{
	struct module_range *r = &m->range[m->n];
	char permissions[5], path[PATH_MAX + 16] = "";
	uint64_t from, to;
	int at = 0;

	if (m->n == MODULE_RANGES ||
	    sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &from, &to, permissions,
		   &at) < 3 ||
	    !strchr(permissions, 'x') || !at)
		return;
	str__copy(path, sizeof(path), line + at);
	path[strcspn(path, "\n")] = '\0';
	*r = (struct module_range){from, to, module_of(path, program)};
	m->n++;
}

int proc_modules__read(pid_t pid, struct proc_modules *m)
{
	char program[PATH_MAX + 16];
	struct proc_lines lines;
	int err;

	m->n = 0;
	err = proc_lines__open(&lines, pid);
	if (err)
		return err;
	if (proc__link(pid, "exe", program, sizeof(program)))
		program[0] = '\0';
	while (proc_lines__next(&lines))
		proc_modules__take(m, lines.line, program);
	return m->n ? 0 : -ESRCH;
}

enum jp_module proc_modules__at(const struct proc_modules *m, uint64_t address)
{
	unsigned lo = 0, hi = m->n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (address >= m->range[mid].to)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n && address >= m->range[lo].from ? m->range[lo].module : JP_MODULE_UNKNOWN;
}
