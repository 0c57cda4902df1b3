/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node's totals, from /proc. */
#include "cmd/jobprof/top/top_node.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#define FILE_MAX     (256 * 1024) /* /proc/stat of many CPUs */
#define SECTOR_BYTES 512.0

/* Reads a file of /proc into buf[FILE_MAX]. Returns it, "" where it cannot be read. */
static char *read_proc(char *buf, const char *path)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(buf, 1, FILE_MAX - 1, f) : 0;

	buf[n] = '\0';
	if (f)
		fclose(f);
	return buf;
}

static void read_cpus(struct top_node *n, struct top_sums *s, char *buf)
{
	double v[8] = {}, sum = 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	n->cpus = cpus > 0 ? (unsigned)cpus : 0;
	s->busy = s->waiting_disk = s->all = NAN;
	if (sscanf(read_proc(buf, "/proc/stat"), "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0],
		   &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) < 5)
		return;
	for (unsigned i = 0; i < 8; i++)
		sum += v[i];
	s->all = sum;
	s->busy = sum - v[3] - v[4];
	s->waiting_disk = v[4];
}

static void read_pressure(struct top_sums *s, char *buf)
{
	const char *total = strstr(read_proc(buf, "/proc/pressure/cpu"), "total=");

	s->waiting_cpu = total ? strtod(total + 6, NULL) : NAN;
}

static bool is_whole_disk(const char *name)
{
	char path[128];

	if (!strncmp(name, "loop", 4) || !strncmp(name, "ram", 3) || !strncmp(name, "dm-", 3) ||
	    !strncmp(name, "md", 2) || !strncmp(name, "zram", 4))
		return false;
	snprintf(path, sizeof(path), "/sys/block/%.64s", name);
	return !access(path, F_OK);
}

static void read_disks(struct top_sums *s, char *buf)
{
	char *rest = read_proc(buf, "/proc/diskstats"), *line, name[65];
	double in, out;

	s->read = s->written = *rest ? 0 : NAN;
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "%*u %*u %64s %*u %*u %lf %*u %*u %*u %lf", name, &in, &out) ==
			    3 &&
		    is_whole_disk(name)) {
			s->read += in * SECTOR_BYTES;
			s->written += out * SECTOR_BYTES;
		}
}

static void read_network(struct top_sums *s, char *buf)
{
	char *rest = read_proc(buf, "/proc/net/dev"), *line, name[65];
	double in, out;

	s->in = s->out = *rest ? 0 : NAN;
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, " %64[^:]: %lf %*u %*u %*u %*u %*u %*u %*u %lf", name, &in,
			   &out) == 3 &&
		    strcmp(name, "lo") != 0) {
			s->in += in;
			s->out += out;
		}
}

static double find_kib(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtod(at + strlen(key), NULL) * 1024 : NAN;
}

static void read_memory(struct top_node *n, char *buf)
{
	const char *text = read_proc(buf, "/proc/meminfo");

	n->memory = find_kib(text, "MemTotal:");
	n->memory_used = n->memory - find_kib(text, "MemAvailable:");
	n->swap_used = find_kib(text, "SwapTotal:") - find_kib(text, "SwapFree:");
}

static void read_name(struct top_node *n)
{
	char name[sizeof(n->name)];

	if (gethostname(name, sizeof(name)))
		strcpy(name, "?");
	name[sizeof(name) - 1] = '\0';
	name[strcspn(name, ".")] = '\0';
	strcpy(n->name, name);
}

static void read_load(struct top_node *n, char *buf)
{
	for (unsigned i = 0; i < 3; i++)
		n->load[i] = NAN;
	(void)sscanf(read_proc(buf, "/proc/loadavg"), "%lf %lf %lf", &n->load[0], &n->load[1],
		     &n->load[2]);
	if (sscanf(read_proc(buf, "/proc/uptime"), "%lf", &n->up_s) != 1)
		n->up_s = NAN;
	read_name(n);
}

/* A counter that goes back, as where a device has gone, makes the rate unknown. */
static double rate(double now, double before, double seconds)
{
	return seconds > 0 && now >= before ? (now - before) / seconds : NAN;
}

void top_node__look(struct top_node *n)
{
	struct top_sums s = {.at_ns = clock__mono_ns()};
	const struct top_sums *p = &n->sums;
	double seconds = p->at_ns ? (double)(s.at_ns - p->at_ns) / NSEC_PER_SEC : 0;
	char *buf = malloc(FILE_MAX);

	if (!buf)
		return;
	read_cpus(n, &s, buf);
	read_pressure(&s, buf);
	read_disks(&s, buf);
	read_network(&s, buf);
	read_memory(n, buf);
	read_load(n, buf);
	free(buf);
	n->busy = 100 * rate(s.busy, p->busy, seconds > 0 ? s.all - p->all : 0);
	n->waiting_disk =
		100 * rate(s.waiting_disk, p->waiting_disk, seconds > 0 ? s.all - p->all : 0);
	n->waiting_cpu = rate(s.waiting_cpu, p->waiting_cpu, seconds) / 1e4;
	n->read = rate(s.read, p->read, seconds);
	n->written = rate(s.written, p->written, seconds);
	n->in = rate(s.in, p->in, seconds);
	n->out = rate(s.out, p->out, seconds);
	n->sums = s;
}
