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

/* ---- words, each of which stands for its place in the list */

static const char *const bools[] = {"no", "yes", NULL};
static const char *const sample_events[] = {"cpu-clock", "cycles", NULL};
static const char *const extern_steps[] = {"used", "all", NULL};
static const char *const levels[] = {"error", "warn", "info", "debug", NULL};
static const char *const node_tables[] = {[NODE_TABLES_EXCLUSIVE] = "exclusive",
					  [NODE_TABLES_ALWAYS] = "always",
					  [NODE_TABLES_NEVER] = "never",
					  NULL};
static const char *const perf_modes[] = {[PERF_MODE_AUTO] = "auto",
					 [PERF_MODE_EXACT] = "exact",
					 [PERF_MODE_SAMPLED] = "sampled",
					 [PERF_MODE_OFF] = "off",
					 NULL};
static const char *const unwinds[] = {[UNWIND_FP] = "fp", [UNWIND_DWARF] = "dwarf", NULL};

static int parse_word(const struct config_type *t, const char *text, void *field, char *err,
		      size_t errlen)
{
	size_t n = (size_t)snprintf(err, errlen, "\"%s\" is not one of", text);

	for (unsigned i = 0; t->words[i]; i++) {
		if (!strcasecmp(text, t->words[i])) {
			if (t->is_bool)
				*(bool *)field = i;
			else
				*(unsigned *)field = i;
			err[0] = '\0';
			return 0;
		}
		if (n < errlen)
			n += (size_t)snprintf(err + n, errlen - n, "%s %s", i ? "," : "",
					      t->words[i]);
	}
	return -EINVAL;
}

const struct config_type config_type_path = {.parse = parse_path, .print = print_string};
const struct config_type config_type_name = {.parse = parse_name, .print = print_string};
const struct config_type config_type_cluster = {.parse = parse_cluster, .print = print_string};
const struct config_type config_type_words = {.parse = parse_words, .print = print_string};
const struct config_type config_type_freq = {
	.parse = parse_freq, .print = print_freq, .parse_slurms = parse_slurms_freq};
const struct config_type config_type_slots = {.parse = parse_slots, .print = print_count};
const struct config_type config_type_stacks = {.parse = parse_stacks, .print = print_count};
const struct config_type config_type_cgroups = {.parse = parse_cgroups, .print = print_count};
const struct config_type config_type_ring = {.parse = parse_ring, .print = print_count};
const struct config_type config_type_publish = {.parse = parse_publish, .print = print_double};
const struct config_type config_type_megabytes = {.parse = parse_megabytes, .print = print_double};
const struct config_type config_type_pattern = {.parse = parse_pattern, .print = print_patterns};
const struct config_type config_type_budget = {.parse = parse_budget, .print = print_double};
const struct config_type config_type_burst = {.parse = parse_burst, .print = print_double};
const struct config_type config_type_perf = {.words = perf_modes};
const struct config_type config_type_unwind = {.words = unwinds};
const struct config_type config_type_node_tables = {.words = node_tables};
const struct config_type config_type_level = {.words = levels};
const struct config_type config_type_sample_event = {.words = sample_events, .is_bool = true};
const struct config_type config_type_extern = {.words = extern_steps, .is_bool = true};
const struct config_type config_type_bool = {.words = bools, .is_bool = true};

int config_type__parse(const struct config_type *t, bool slurms, const char *text, void *field,
		       char *err, size_t errlen)
{
	if (t->words)
		return parse_word(t, text, field, err, errlen);
	return (slurms && t->parse_slurms ? t->parse_slurms : t->parse)(text, field, err, errlen);
}

void config_type__print(const struct config_type *t, const char *key, const void *field, FILE *f)
{
	if (t->words)
		fprintf(f, "%s=%s\n", key,
			t->words[t->is_bool ? *(const bool *)field : *(const unsigned *)field]);
	else
		t->print(key, field, f);
}

static void print_words(const char *const *words, FILE *out)
{
	for (; *words; words++)
		fprintf(out, "%s ", *words);
}

void config__print_perf_words(FILE *out)
{
	print_words(perf_modes, out);
}

void config__print_unwind_words(FILE *out)
{
	print_words(unwinds, out);
}

int config__parse_perf(const char *text, enum config_perf *mode)
{
	char err[256];

	return parse_word(&config_type_perf, text, mode, err, sizeof(err));
}

int config__parse_unwind(const char *text, enum config_unwind *how)
{
	char err[256];

	return parse_word(&config_type_unwind, text, how, err, sizeof(err));
}
