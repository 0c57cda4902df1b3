// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/cpuinfo: its lines are "key : value", and an empty one ends those of a CPU. */
#include "base/cpuinfo.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static FILE *open_cpuinfo(const char *proc)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/cpuinfo", proc);
	return fopen(path, "re");
}

void cpuinfo__read(struct cpuinfo *c, const char *proc)
{
	_cleanup_fclose_ FILE *f = open_cpuinfo(proc);
	char line[512];

	memset(c, 0, sizeof(*c));
	while (f && fgets(line, sizeof(line), f) && line[0] != '\n') {
		(void)sscanf(line, "vendor_id : %31s", c->vendor);
		(void)sscanf(line, "CPU implementer : %31s", c->vendor);
		(void)sscanf(line, "cpu family : %i", &c->family);
		(void)sscanf(line, "CPU architecture : %i", &c->family);
		(void)sscanf(line, "model : %i", &c->model);
		(void)sscanf(line, "CPU part : %i", &c->model);
		(void)sscanf(line, "model name : %255[^\n]", c->name);
	}
}

double cpuinfo__highest_mhz(const char *proc)
{
	_cleanup_fclose_ FILE *f = open_cpuinfo(proc);
	double mhz, highest = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu MHz : %lf", &mhz) == 1 && mhz > highest && mhz < 1e5)
			highest = mhz;
	return highest;
}
