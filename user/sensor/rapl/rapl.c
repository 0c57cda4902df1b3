// SPDX-License-Identifier: GPL-2.0-only
/* Energy counters of the processors: which way leads to them, and their channels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sensor/rapl/rapl.h"

/* Perf first: the kernel folds wraps. MSRs last: which of them mean anything is documented nowhere.
 */
static const struct rapl_way *const ways[] = {&rapl_perf, &rapl_powercap, &rapl_msr};

#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

/* Nothing is left of what a way has opened. */
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

	if (!r)
		return;
	close_all(r);
	cpus__free(&r->cpus);
	free(r);
}

/* What is counted from here on. */
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

static void say_why(char *why, size_t len, const char *way, const char *text)
{
	size_t used = strlen(why);

	if (used < len)
		snprintf(why + used, len - used, "%s%s: %s", used ? "; " : "", way, text);
}

/* "not permitted" is said before "does not work", and that before "not there". */
static int worse(int was, int err)
{
	if (was == -EACCES || err == -ENOENT)
		return was;
	return err;
}

static int choose_way(struct rapl *r, char *why, size_t len)
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
			why[0] = '\0'; /* without permission nothing else matters */
		if (err == -EACCES || all != -EACCES)
			say_why(why, len, ways[i]->name, one);
		all = worse(all, err);
		if (err == -ENOMEM)
			break;
	}
	return all;
}

static int open_source(struct rapl **out, const struct sensor_roots *roots, bool cores, char *why,
		       size_t len)
{
	struct rapl *r = calloc(1, sizeof(*r));
	int err;

	why[0] = '\0';
	if (!r)
		return -ENOMEM;
	r->roots = *roots;
	r->cores = cores;
	err = cpus__read(&r->cpus, roots);
	if (!err)
		err = choose_way(r, why, len);
	if (err) {
		rapl_close((struct sensor *)r);
		return err;
	}
	*out = r;
	return 0;
}

/* "perf power PMU: 2 package, 2 dram" */
static void describe_parts(const struct rapl *r, char *why, size_t len)
{
	unsigned count[PART_OTHER + 1] = {};
	size_t used;

	for (unsigned i = 0; i < r->n; i++)
		count[r->channels[i].part]++;
	snprintf(why, len, "%s:", r->way->name);
	for (unsigned p = 0; p <= PART_OTHER; p++) {
		used = strlen(why);
		if (count[p])
			snprintf(why + used, len - used, "%s%u %s",
				 why[used - 1] == ':' ? " " : ", ", count[p], sensor__part_name(p));
	}
}

static int probe_way(const struct sensor_roots *roots, bool cores, char *why, size_t len)
{
	struct rapl *r = NULL;
	char text[512];
	int err = open_source(&r, roots, cores, text, sizeof(text));

	if (!err)
		describe_parts(r, text, sizeof(text));
	snprintf(why, len, "%s", text);
	rapl_close((struct sensor *)r);
	return err;
}

static int probe_packages(const struct sensor_roots *roots, char *why, size_t len)
{
	return probe_way(roots, false, why, len);
}

static int probe_cores(const struct sensor_roots *roots, char *why, size_t len)
{
	return probe_way(roots, true, why, len);
}

static int open_packages(struct sensor **out, const struct sensor_roots *roots)
{
	char why[512];

	return open_source((struct rapl **)out, roots, false, why, sizeof(why));
}

static int open_cores(struct sensor **out, const struct sensor_roots *roots)
{
	char why[512];

	return open_source((struct rapl **)out, roots, true, why, sizeof(why));
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
	.probe = probe_packages,
	.open = open_packages,
	.channels = rapl_channels,
	.read = rapl_read,
	.close = rapl_close,
};

/* A source of its own, on a thread: each core's counter takes an interrupt on that core. */
const struct sensor_ops sensor_rapl_cores = {
	.name = "rapl-cores",
	.doc = "energy of single cores (RAPL of AMD)",
	.slow = true,
	.probe = probe_cores,
	.open = open_cores,
	.channels = rapl_channels,
	.read = rapl_read,
	.close = rapl_close,
};
