// SPDX-License-Identifier: GPL-2.0-or-later
/* The sources rapl and rapl-cores: energy counters of processors by the best of three ways. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sensor/rapl/rapl.h"

/* Perf comes first, since the kernel handles overflow there. MSRs come last: no document tells
 * which of them have a counter. */
static const struct rapl_way *const ways[] = {&rapl_perf, &rapl_powercap, &rapl_msr};

#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

/* Closes and frees all that was opened. */
static void close_all(struct rapl *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->counters[i].fd >= 0)
			close(r->counters[i].fd);
	free(r->channels);
	free(r->counters);
	free(r->raw);
	free(r->groups);
	r->channels = NULL;
	r->counters = NULL;
	r->raw = NULL;
	r->groups = NULL;
	r->n = r->ngroups = 0;
	r->way = NULL;
}

static void rapl_close(struct sensor *s)
{
	struct rapl *r = (struct rapl *)s;

	close_all(r);
	cpus__free(&r->cpus);
}

/* Reads all counters once: energy counts from this reading on. */
static int set_base(struct rapl *r)
{
	r->raw = calloc(r->n, sizeof(*r->raw));
	if (!r->raw)
		return -ENOMEM;
	r->way->read(r);
	for (unsigned i = 0; i < r->n; i++)
		rapl_counter__take(&r->counters[i], &r->raw[i]);
	return 0;
}

static void add_reason(struct rapl *r, const char *way, const char *text)
{
	size_t used = strlen(r->reason);

	if (used < sizeof(r->reason))
		snprintf(r->reason + used, sizeof(r->reason) - used, "%s%s: %s", used ? "; " : "",
			 way, text);
}

/* The error that is reported: "not permitted" before "does not work" before "does not exist". */
static int worse(int was, int err)
{
	if (was == -EACCES || err == -ENOENT)
		return was;
	return err;
}

static int choose_way(struct rapl *r)
{
	char one[160];
	int err, all = -ENOENT;

	for (unsigned i = 0; i < N_WAYS; i++) {
		r->way = ways[i];
		one[0] = '\0';
		err = ways[i]->open(r, one, sizeof(one));
		if (!err)
			return set_base(r);
		close_all(r);
		if (err == -EPERM)
			err = -EACCES;
		if (err == -EACCES && all != -EACCES)
			r->reason[0] = '\0'; /* without permission nothing else matters */
		if (err == -EACCES || all != -EACCES)
			add_reason(r, ways[i]->name, one);
		all = worse(all, err);
		if (err == -ENOMEM)
			break;
	}
	return all;
}

static int rapl_open(struct sensor *s, const struct sensor_ops *ops,
		     const struct sensor_roots *roots)
{
	struct rapl *r = (struct rapl *)s;
	int err = cpus__read(&r->cpus, roots);

	r->roots = *roots;
	r->cores = ops == &sensor_rapl_cores;
	return err ? err : choose_way(r);
}

/* Writes "perf power PMU: 2 package, 2 dram". */
static void rapl_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			  char *text, size_t len)
{
	const struct rapl *r = (const struct rapl *)s;
	unsigned count[PART_OTHER + 1] = {};
	size_t used;

	snprintf(text, len, "%s%s", err ? r->reason : r->way->name, err ? "" : ":");
	for (unsigned i = 0; !err && i < r->n; i++)
		count[r->channels[i].part]++;
	for (unsigned p = 0; p <= PART_OTHER; p++) {
		used = strlen(text);
		if (count[p])
			snprintf(text + used, len - used, "%s%u %s",
				 text[used - 1] == ':' ? " " : ", ", count[p],
				 sensor__part_name(p));
	}
}

static unsigned rapl_channels(const struct sensor *s, const struct sensor_channel **out)
{
	const struct rapl *r = (const struct rapl *)s;

	*out = r->channels;
	return r->n;
}

static int rapl_read(struct sensor *s, struct sensor_value *values)
{
	struct rapl *r = (struct rapl *)s;
	bool good = false, denied = false;

	r->way->read(r);
	for (unsigned i = 0; i < r->n; i++) {
		values[i] = rapl_counter__take(&r->counters[i], &r->raw[i]);
		good |= !isnan(values[i].value);
		denied |= values[i].quality == READING_DENIED;
	}
	if (good)
		return 0;
	return denied ? -EACCES : -ENODATA;
}

const struct sensor_ops sensor_rapl = {
	.name = "rapl",
	.doc = "energy of processor packages, their DRAM and the platform (RAPL)",
	.size = sizeof(struct rapl),
	.open = rapl_open,
	.describe = rapl_describe,
	.channels = rapl_channels,
	.read = rapl_read,
	.close = rapl_close,
};

/* A source of its own, on a thread: each core's counter is read by an interrupt on that core. */
const struct sensor_ops sensor_rapl_cores = {
	.name = "rapl-cores",
	.doc = "energy of single cores (RAPL of AMD)",
	.slow = true,
	.size = sizeof(struct rapl),
	.open = rapl_open,
	.describe = rapl_describe,
	.channels = rapl_channels,
	.read = rapl_read,
	.close = rapl_close,
};
