/* SPDX-License-Identifier: GPL-2.0-or-later */
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

#include "base/clock.h"
#include "base/cpuinfo.h"

/* ---- the present frequency of each CPU, kept for a second */

#define MAX_CPUS 4096

/* A driver may be loaded later: what is not there is looked for again after that time. */
#define ABSENT_NS (60 * NSEC_PER_SEC)

static struct {
	unsigned khz;
	unsigned long long next_ns;
} cache[MAX_CPUS];

/* A virtual machine shows its clock here only; it does not change. */
static unsigned nominal_khz(void)
{
	static int known = -1;

	if (known < 0)
		known = (int)(cpuinfo__highest_mhz("/proc") * 1000);
	return known;
}

static unsigned read_khz(unsigned cpu, unsigned long long *good_ns)
{
	char path[96];
	unsigned khz = 0;
	FILE *f;

	*good_ns = NSEC_PER_SEC;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
	f = fopen(path, "re");
	if (!f) {
		*good_ns = ABSENT_NS;
		return nominal_khz();
	}
	if (fscanf(f, "%u", &khz) != 1)
		khz = 0;
	fclose(f);
	return khz;
}

unsigned cpufreq__khz(unsigned cpu, unsigned long long now_ns)
{
	unsigned long long good_ns;

	if (cpu >= MAX_CPUS)
		return 0;
	if (now_ns >= cache[cpu].next_ns) {
		cache[cpu].khz = read_khz(cpu, &good_ns);
		cache[cpu].next_ns = now_ns + good_ns;
	}
	return cache[cpu].khz;
}

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
