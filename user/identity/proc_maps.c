// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the code of a process in its memory map. */
#include "identity/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/str.h"
#include "identity/proc.h"

struct line {
	struct code_range range;
	uint64_t inode;
	unsigned major, minor;
	bool code;
	const char *path;
};

int code_range__compare(const void *addr, const void *range)
{
	const uint64_t *a = addr;
	const struct code_range *r = range;

	return *a < r->start ? -1 : *a >= r->end;
}

uint64_t code_range__offset(const struct code_range *r, uint64_t addr)
{
	return addr - r->start + r->offset;
}

static bool parse_line(char *text, struct line *l)
{
	char perms[8];
	int at = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &l->range.start, &l->range.end, perms, &l->range.offset, &l->major, &l->minor,
		   &l->inode, &at) < 7 ||
	    !at)
		return false;
	l->code = strchr(perms, 'x');
	l->path = text + at;
	return true;
}

/* The file that is mapped, by the kernel's link to it and never by its path, which is the user's to
 * choose: O_PATH opens nothing, so that a device or a pipe is seen before it is opened. */
int proc_maps__open(pid_t pid, uint64_t start, uint64_t end)
{
	char path[96];
	struct stat st;
	int link, fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start,
		 end);
	link = open(path, O_PATH | O_CLOEXEC);
	if (link < 0)
		return -errno;
	if (fstat(link, &st) || !S_ISREG(st.st_mode)) {
		close(link);
		return -ENOENT;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", link);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	close(link);
	return fd < 0 ? -ENOENT : fd;
}

static void name_file(pid_t pid, bool ids, const struct line *l, char name[PROC_MAP_NAME])
{
	char id[ELF_BUILD_ID] = "";
	size_t len = strlen(l->path), room;
	int fd = ids ? proc_maps__open(pid, l->range.start, l->range.end) : -1;

	if (fd >= 0) {
		if (elf__build_id(fd, id))
			id[0] = '\0';
		close(fd);
	}
	room = PROC_MAP_NAME - (id[0] ? strlen(id) : 1) - 2;
	snprintf(name, PROC_MAP_NAME, "%s %s%s", id[0] ? id : "-", len > room ? "..." : "",
		 len > room ? l->path + len - (room - 3) : l->path);
}

/* The map of the same file nearest before. */
static const struct proc_map *same_file(const struct proc_map *maps, unsigned n,
					const struct line *l, uint64_t last_inode)
{
	return n && l->inode && last_inode == l->inode ? &maps[n - 1] : NULL;
}

/* There may be a map for it. */
static bool is_code(const struct line *l)
{
	return l->code && (l->path[0] == '/' || l->path[0] == '[');
}

static void take_line(pid_t pid, bool ids, const struct line *l, struct proc_map *maps, unsigned *n,
		      uint64_t *last_inode)
{
	const struct proc_map *same = same_file(maps, *n, l, *last_inode);
	struct proc_map *m = &maps[*n];

	*m = (struct proc_map){.range = l->range};
	if (l->path[0] == '[')
		snprintf(m->name, sizeof(m->name), "%.64s", l->path);
	else if (same)
		memcpy(m->name, same->name, sizeof(m->name));
	else
		name_file(pid, ids, l, m->name);
	*last_inode = l->path[0] == '/' ? l->inode : 0;
	++*n;
}

int proc_maps__read(pid_t pid, bool ids, struct proc_map maps[PROC_MAPS], unsigned *n, bool *cut)
{
	struct proc_lines lines;
	uint64_t last_inode = 0;
	struct line l;
	int err;

	*n = 0;
	*cut = false;
	err = proc_lines__open(&lines, pid);
	if (err)
		return err;
	while (proc_lines__next(&lines))
		if (!parse_line(lines.line, &l) || !is_code(&l))
			continue;
		else if (*n < PROC_MAPS)
			take_line(pid, ids, &l, maps, n, &last_inode);
		else
			*cut = true;
	return *n ? 0 : -ESRCH;
}
