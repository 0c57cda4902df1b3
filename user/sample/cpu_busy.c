// SPDX-License-Identifier: GPL-2.0-only
/* Busy time of each CPU, read from /proc/stat. */
#include "sample/cpu_busy.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "cpu255 " and ten numbers; the line of interrupts behind them is not read. */
#define LINE 192

struct cpu_busy {
	int fd;
	unsigned ncpus;
	bool started;
	double tick_s;
	uint64_t *ticks; /* [ncpus] */
	char *text;
	size_t size;
};

struct cpu_busy *cpu_busy__new(const char *proc, unsigned ncpus)
{
	struct cpu_busy *b = calloc(1, sizeof(*b));
	char path[512];

	if (!b)
		return NULL;
	snprintf(path, sizeof(path), "%s/stat", proc);
	b->fd = open(path, O_RDONLY | O_CLOEXEC);
	b->ncpus = ncpus;
	b->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
	b->size = (ncpus + 2) * LINE;
	b->ticks = calloc(ncpus + 1, sizeof(*b->ticks));
	b->text = malloc(b->size);
	if (b->fd < 0 || !b->ticks || !b->text) {
		cpu_busy__free(b);
		return NULL;
	}
	return b;
}

void cpu_busy__free(struct cpu_busy *b)
{
	if (!b)
		return;
	if (b->fd >= 0)
		close(b->fd);
	free(b->ticks);
	free(b->text);
	free(b);
}

/* user nice system, not idle and iowait, irq softirq; guests are in user. */
static int busy_ticks(char *p, uint64_t *ticks)
{
	static const bool is_busy[] = {true, true, true, false, false, true, true};

	*ticks = 0;
	for (unsigned i = 0; i < sizeof(is_busy); i++) {
		char *end;
		uint64_t v = strtoull(p, &end, 10);

		if (end == p)
			return -EBADMSG;
		*ticks += is_busy[i] ? v : 0;
		p = end;
	}
	return 0;
}

static void take_line(struct cpu_busy *b, char *line, double *busy_s)
{
	uint64_t ticks;
	char *rest;
	unsigned long cpu;

	if (!isdigit((unsigned char)line[3])) /* all CPUs together */
		return;
	cpu = strtoul(line + 3, &rest, 10);
	if (cpu >= b->ncpus || busy_ticks(rest, &ticks))
		return;
	/* iowait aside, the kernel's sums may step back by a tick */
	if (b->started && ticks > b->ticks[cpu])
		busy_s[cpu] = (double)(ticks - b->ticks[cpu]) * b->tick_s;
	b->ticks[cpu] = ticks;
}

int cpu_busy__take(struct cpu_busy *b, double *busy_s)
{
	ssize_t n = pread(b->fd, b->text, b->size - 1, 0);
	char *line = b->text, *end;

	for (unsigned i = 0; i < b->ncpus; i++)
		busy_s[i] = 0;
	if (n < 0)
		return -errno;
	b->text[n] = '\0';
	for (; !strncmp(line, "cpu", 3) && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		take_line(b, line, busy_s);
	}
	b->started = true;
	return 0;
}
