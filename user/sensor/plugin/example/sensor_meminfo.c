// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sensor of a site's own, to begin from: where the node's memory is, and what it swaps, from
 * /proc/meminfo and /proc/vmstat.
 *
 *	gcc -O2 -fPIC -shared -o sensor_meminfo.so sensor_meminfo.c
 *	install -o root -m 644 sensor_meminfo.so /usr/local/lib/jobprof/sensors/
 *	jobprof sensors
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobprof-sensor.h"

enum file { MEMINFO, VMSTAT, NFILES };

static const struct jobprof_sensor_column columns[] = {
	{"CachedMB", "MB", "Page cache: files that are in memory.", JOBPROF_SENSOR_LEVEL},
	{"DirtyMB", "MB", "Page cache that is to be written.", JOBPROF_SENSOR_LEVEL},
	{"WritebackMB", "MB", "Page cache that is being written.", JOBPROF_SENSOR_LEVEL},
	{"ShmemMB", "MB", "Shared memory and tmpfs.", JOBPROF_SENSOR_LEVEL},
	{"SlabMB", "MB", "The kernel's own structures.", JOBPROF_SENSOR_LEVEL},
	{"HugeMB", "MB", "Memory reserved for huge pages.", JOBPROF_SENSOR_LEVEL},
	{"SwapFreeMB", "MB", "Swap space that is free.", JOBPROF_SENSOR_LEVEL},
	{"SwapInMB", "MB", "Read from swap space.", JOBPROF_SENSOR_COUNT},
	{"SwapOutMB", "MB", "Written to swap space.", JOBPROF_SENSOR_COUNT},
};

#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

/* Which line of which file each column is: KiB in one, pages in the other. */
static const struct {
	enum file file;
	const char *word;
} lines[NCOLUMNS] = {
	{MEMINFO, "Cached:"},	{MEMINFO, "Dirty:"}, {MEMINFO, "Writeback:"},
	{MEMINFO, "Shmem:"},	{MEMINFO, "Slab:"},  {MEMINFO, "Hugetlb:"},
	{MEMINFO, "SwapFree:"}, {VMSTAT, "pswpin"},  {VMSTAT, "pswpout"},
};

struct state {
	char path[NFILES][PATH_MAX];
	double mb[NFILES]; /* of one of a file's units */
};

static int open_it(void **state, const struct jobprof_sensor_roots *roots)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->mb[MEMINFO] = 1.0 / 1024;
	s->mb[VMSTAT] = (double)sysconf(_SC_PAGESIZE) / 1048576;
	if (snprintf(s->path[MEMINFO], PATH_MAX, "%s/meminfo", roots->proc) >= PATH_MAX ||
	    snprintf(s->path[VMSTAT], PATH_MAX, "%s/vmstat", roots->proc) >= PATH_MAX ||
	    access(s->path[MEMINFO], F_OK)) {
		free(s);
		return -ENOENT;
	}
	*state = s;
	return 0;
}

/* Whole lines; a file that cannot be read has none. */
static void slurp(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && len < size - 1) {
		n = read(fd, text + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	while (len && text[len - 1] != '\n')
		len--;
	text[len] = '\0';
	if (fd >= 0)
		close(fd);
}

/* The number behind the word that a line begins with; -1: there is none. */
static double number_of(const char *text, const char *word)
{
	size_t len = strlen(word);
	unsigned long long v;

	while (text && (strncmp(text, word, len) != 0 || text[len] != ' ')) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text && sscanf(text + len, "%20llu", &v) == 1 ? (double)v : -1;
}

static int read_it(void *state, struct jobprof_sensor_value *values)
{
	struct state *s = state;
	char text[NFILES][16384];

	for (unsigned f = 0; f < NFILES; f++)
		slurp(s->path[f], text[f], sizeof(text[f]));
	for (unsigned i = 0; i < NCOLUMNS; i++) {
		double v = number_of(text[lines[i].file], lines[i].word);

		values[i].value = v * s->mb[lines[i].file];
		if (v < 0)
			values[i].quality = JOBPROF_SENSOR_NONE;
	}
	return 0;
}

static void close_it(void *state)
{
	free(state);
}

JOBPROF_SENSOR = {
	.abi = JOBPROF_SENSOR_ABI,
	.size = sizeof(struct jobprof_sensor),
	.ncolumns = NCOLUMNS,
	.name = "meminfo",
	.doc = "where the node's memory is, and what it swaps",
	.series = "MemInfo",
	.columns = columns,
	.open = open_it,
	.read = read_it,
	.close = close_it,
};
