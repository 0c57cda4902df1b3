/* SPDX-License-Identifier: GPL-2.0-only */
/* The values in jobprof.conf: paths, names, intervals, sizes, words. */
#include "base/config/config_types.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/config/config.h"
#include "base/str.h"

static int set_string(char **field, const char *text, char *err, size_t errlen)
{
	char *copy = strdup(text);

	if (!copy) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	free(*field);
	*field = copy;
	return 0;
}

static int parse_path(const char *text, void *field, char *err, size_t errlen)
{
	if (text[0] != '/') {
		snprintf(err, errlen, "\"%s\" is not an absolute path", text);
		return -EINVAL;
	}
	return set_string(field, text, err, errlen);
}

static int parse_name(const char *text, void *field, char *err, size_t errlen)
{
	if (!str__safe_name(text)) {
		snprintf(err, errlen, "\"%s\" is not a name: 1 to 128 characters without \"/\"",
			 text);
		return -EINVAL;
	}
	return set_string(field, text, err, errlen);
}

/* slurm.conf may have it in any case, and Slurm has it in lower case everywhere. */
static int parse_cluster(const char *text, void *field, char *err, size_t errlen)
{
	int ret = parse_name(text, field, err, errlen);

	for (char *p = ret ? NULL : *(char **)field; p && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return ret;
}

static int parse_words(const char *text, void *field, char *err, size_t errlen)
{
	return set_string(field, text, err, errlen);
}

static void print_string(const char *key, const void *field, FILE *f)
{
	const char *s = *(char *const *)field;

	if (s)
		fprintf(f, strpbrk(s, " \t") ? "%s=\"%s\"\n" : "%s=%s\n", key, s);
}

static int parse_freq(const char *text, void *field, char *err, size_t errlen)
{
	struct freq f;
	int ret;

	freq__init(&f);
	ret = freq__parse(text, &f, err, errlen);
	if (!ret)
		*(struct freq *)field = f;
	return ret;
}

static int parse_slurms_freq(const char *text, void *field, char *err, size_t errlen)
{
	struct freq f;
	int ret;

	freq__init(&f);
	ret = freq__parse_slurms(text, &f, err, errlen);
	if (!ret)
		*(struct freq *)field = f;
	return ret;
}

static void print_freq(const char *key, const void *field, FILE *f)
{
	const struct freq *freq = field;

	fprintf(f, "%s=", key);
	for (unsigned i = 0; i < FREQ_N; i++) /* what follows task=0 is not the same as 0 */
		if (i == FREQ_TASK || !freq__at_end(freq, i))
			fprintf(f, "%s%s=%g", i ? "," : "", freq__name(i), freq__interval(freq, i));
	fputc('\n', f);
}

#define SLOTS_MIN   16
#define SLOTS_MAX   4096
#define STACKS_MIN  1024
#define STACKS_MAX  1048576
#define CGROUPS_MIN 1024
#define CGROUPS_MAX 1048576
#define RING_MIN    256
#define RING_MAX    262144

static int parse_count(const char *text, unsigned min, unsigned max, void *field, char *err,
		       size_t errlen)
{
	uint32_t n;

	if (parse_u32(text, &n) || n < min || n > max) {
		snprintf(err, errlen, "\"%s\" is not a number from %u to %u", text, min, max);
		return -EINVAL;
	}
	*(unsigned *)field = n;
	return 0;
}

static int parse_slots(const char *text, void *field, char *err, size_t errlen)
{
	return parse_count(text, SLOTS_MIN, SLOTS_MAX, field, err, errlen);
}

static int parse_stacks(const char *text, void *field, char *err, size_t errlen)
{
	return parse_count(text, STACKS_MIN, STACKS_MAX, field, err, errlen);
}

static int parse_cgroups(const char *text, void *field, char *err, size_t errlen)
{
	return parse_count(text, CGROUPS_MIN, CGROUPS_MAX, field, err, errlen);
}

static int parse_ring(const char *text, void *field, char *err, size_t errlen)
{
	unsigned n;

	if (parse_count(text, RING_MIN, RING_MAX, &n, err, errlen))
		return -EINVAL;
	if (n & (n - 1)) {
		snprintf(err, errlen, "%u is not a power of two", n);
		return -EINVAL;
	}
	*(unsigned *)field = n;
	return 0;
}

static void print_count(const char *key, const void *field, FILE *f)
{
	unsigned n = *(const unsigned *)field;

	if (n)
		fprintf(f, "%s=%u\n", key, n);
}

#define PUBLISH_MIN 1.0
#define PUBLISH_MAX 86400.0

static int parse_publish(const char *text, void *field, char *err, size_t errlen)
{
	double s;

	if (parse_double(text, &s) || (s != 0 && (s < PUBLISH_MIN || s > PUBLISH_MAX))) {
		snprintf(err, errlen, "\"%s\": seconds are 0 (only at the end) or %g to %g", text,
			 PUBLISH_MIN, PUBLISH_MAX);
		return -EINVAL;
	}
	*(double *)field = s;
	return 0;
}

static void print_double(const char *key, const void *field, FILE *f)
{
	fprintf(f, "%s=%g\n", key, *(const double *)field);
}

#define MEGABYTES_MAX 1e9

static int parse_megabytes(const char *text, void *field, char *err, size_t errlen)
{
	double mb;

	if (parse_double(text, &mb) || mb < 0 || mb > MEGABYTES_MAX) {
		snprintf(err, errlen, "\"%s\" is not a number of MiB from 0 to %g", text,
			 MEGABYTES_MAX);
		return -EINVAL;
	}
	*(double *)field = mb;
	return 0;
}

static int parse_pattern(const char *text, void *field, char *err, size_t errlen)
{
	struct config *c = field;
	int ret;

	if (c->n_cgroup_patterns == CONFIG_PATTERNS) {
		snprintf(err, errlen, "at most %d patterns", CONFIG_PATTERNS);
		return -EINVAL;
	}
	ret = parse_path(text, &c->cgroup_patterns[c->n_cgroup_patterns], err, errlen);
	if (!ret)
		c->n_cgroup_patterns++;
	return ret;
}

static void print_patterns(const char *key, const void *field, FILE *f)
{
	const struct config *c = field;

	for (unsigned i = 0; i < c->n_cgroup_patterns; i++)
		print_string(key, &c->cgroup_patterns[i], f);
}

static const char *const perf_names[] = {
	[PERF_MODE_AUTO] = "auto",
	[PERF_MODE_EXACT] = "exact",
	[PERF_MODE_SAMPLED] = "sampled",
	[PERF_MODE_OFF] = "off",
};

void config__print_perf_words(FILE *out)
{
	for (unsigned i = 0; i < sizeof(perf_names) / sizeof(perf_names[0]); i++)
		fprintf(out, "%s ", perf_names[i]);
}

int config__parse_perf(const char *text, enum config_perf *mode)
{
	for (unsigned i = 0; i < sizeof(perf_names) / sizeof(perf_names[0]); i++) {
		if (!strcasecmp(text, perf_names[i])) {
			*mode = (enum config_perf)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_perf(const char *text, void *field, char *err, size_t errlen)
{
	if (!config__parse_perf(text, field))
		return 0;
	snprintf(err, errlen, "\"%s\" is not one of auto, exact, sampled, off", text);
	return -EINVAL;
}

static void print_perf(const char *key, const void *field, FILE *f)
{
	fprintf(f, "%s=%s\n", key, perf_names[*(const enum config_perf *)field]);
}

static const char *const unwind_names[] = {[UNWIND_FP] = "fp", [UNWIND_DWARF] = "dwarf"};

void config__print_unwind_words(FILE *out)
{
	for (unsigned i = 0; i < sizeof(unwind_names) / sizeof(unwind_names[0]); i++)
		fprintf(out, "%s ", unwind_names[i]);
}

int config__parse_unwind(const char *text, enum config_unwind *how)
{
	for (unsigned i = 0; i < sizeof(unwind_names) / sizeof(unwind_names[0]); i++) {
		if (!strcasecmp(text, unwind_names[i])) {
			*how = (enum config_unwind)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_unwind(const char *text, void *field, char *err, size_t errlen)
{
	if (!config__parse_unwind(text, field))
		return 0;
	snprintf(err, errlen, "\"%s\" is not one of fp, dwarf", text);
	return -EINVAL;
}

static void print_unwind(const char *key, const void *field, FILE *f)
{
	fprintf(f, "%s=%s\n", key, unwind_names[*(const enum config_unwind *)field]);
}

static int parse_sample_event(const char *text, void *field, char *err, size_t errlen)
{
	bool cycles = !strcasecmp(text, "cycles");

	if (!cycles && strcasecmp(text, "cpu-clock")) {
		snprintf(err, errlen, "\"%s\" is not one of cpu-clock, cycles", text);
		return -EINVAL;
	}
	*(bool *)field = cycles;
	return 0;
}

static void print_sample_event(const char *key, const void *field, FILE *f)
{
	fprintf(f, "%s=%s\n", key, *(const bool *)field ? "cycles" : "cpu-clock");
}

static const char *const node_tables_names[] = {[NODE_TABLES_EXCLUSIVE] = "exclusive",
						[NODE_TABLES_ALWAYS] = "always",
						[NODE_TABLES_NEVER] = "never"};

static int parse_node_tables(const char *text, void *field, char *err, size_t errlen)
{
	for (unsigned i = 0; i < sizeof(node_tables_names) / sizeof(node_tables_names[0]); i++) {
		if (!strcasecmp(text, node_tables_names[i])) {
			*(enum config_node_tables *)field = (enum config_node_tables)i;
			return 0;
		}
	}
	snprintf(err, errlen, "\"%s\" is not one of exclusive, always, never", text);
	return -EINVAL;
}

static void print_node_tables(const char *key, const void *field, FILE *f)
{
	fprintf(f, "%s=%s\n", key, node_tables_names[*(const enum config_node_tables *)field]);
}

static int parse_extern(const char *text, void *field, char *err, size_t errlen)
{
	bool all = !strcasecmp(text, "all");

	if (!all && strcasecmp(text, "used")) {
		snprintf(err, errlen, "\"%s\" is not one of used, all", text);
		return -EINVAL;
	}
	*(bool *)field = all;
	return 0;
}

static void print_extern(const char *key, const void *field, FILE *f)
{
	fprintf(f, "%s=%s\n", key, *(const bool *)field ? "all" : "used");
}

static int parse_bool(const char *text, void *field, char *err, size_t errlen)
{
	bool yes = !strcasecmp(text, "yes");

	if (!yes && strcasecmp(text, "no")) {
		snprintf(err, errlen, "\"%s\" is not one of yes, no", text);
		return -EINVAL;
	}
	*(bool *)field = yes;
	return 0;
}

static void print_bool(const char *key, const void *field, FILE *f)
{
	fprintf(f, "%s=%s\n", key, *(const bool *)field ? "yes" : "no");
}

#define BUDGET_MIN 0.01
#define BUDGET_MAX 20.0

static int parse_budget(const char *text, void *field, char *err, size_t errlen)
{
	double percent;

	if (parse_double(text, &percent) || percent < BUDGET_MIN || percent > BUDGET_MAX) {
		snprintf(err, errlen, "\"%s\" is not a percentage from %g to %g", text, BUDGET_MIN,
			 BUDGET_MAX);
		return -EINVAL;
	}
	*(double *)field = percent;
	return 0;
}

#define BURST_MIN 0.01
#define BURST_MAX 60000.0

static int parse_burst(const char *text, void *field, char *err, size_t errlen)
{
	double ms;

	if (parse_double(text, &ms) || ms < BURST_MIN || ms > BURST_MAX) {
		snprintf(err, errlen, "\"%s\" is not a number of milliseconds from %g to %g", text,
			 BURST_MIN, BURST_MAX);
		return -EINVAL;
	}
	*(double *)field = ms;
	return 0;
}

static int parse_level(const char *text, void *field, char *err, size_t errlen)
{
	for (enum log_level l = LOGL_ERROR; l <= LOGL_DEBUG; l++) {
		if (!strcasecmp(text, log__level_name(l))) {
			*(enum log_level *)field = l;
			return 0;
		}
	}
	snprintf(err, errlen, "\"%s\" is not one of error, warn, info, debug", text);
	return -EINVAL;
}

static void print_level(const char *key, const void *field, FILE *f)
{
	fprintf(f, "%s=%s\n", key, log__level_name(*(const enum log_level *)field));
}

const struct config_type config_type_path = {parse_path, print_string, NULL};
const struct config_type config_type_name = {parse_name, print_string, NULL};
const struct config_type config_type_cluster = {parse_cluster, print_string, NULL};
const struct config_type config_type_words = {parse_words, print_string, NULL};
const struct config_type config_type_freq = {parse_freq, print_freq, parse_slurms_freq};
const struct config_type config_type_slots = {parse_slots, print_count, NULL};
const struct config_type config_type_stacks = {parse_stacks, print_count, NULL};
const struct config_type config_type_cgroups = {parse_cgroups, print_count, NULL};
const struct config_type config_type_ring = {parse_ring, print_count, NULL};
const struct config_type config_type_publish = {parse_publish, print_double, NULL};
const struct config_type config_type_megabytes = {parse_megabytes, print_double, NULL};
const struct config_type config_type_pattern = {parse_pattern, print_patterns, NULL};
const struct config_type config_type_perf = {parse_perf, print_perf, NULL};
const struct config_type config_type_unwind = {parse_unwind, print_unwind, NULL};
const struct config_type config_type_sample_event = {parse_sample_event, print_sample_event, NULL};
const struct config_type config_type_node_tables = {parse_node_tables, print_node_tables, NULL};
const struct config_type config_type_extern = {parse_extern, print_extern, NULL};
const struct config_type config_type_budget = {parse_budget, print_double, NULL};
const struct config_type config_type_burst = {parse_burst, print_double, NULL};
const struct config_type config_type_bool = {parse_bool, print_bool, NULL};
const struct config_type config_type_level = {parse_level, print_level, NULL};
