// SPDX-License-Identifier: GPL-2.0-only
/* Reads what "scontrol -o show job" prints, of Slurm 22.05 to 26.05. */
#include "daemon/child/job_facts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define VALUE_MAX 64

struct line {
	const char *text;
	size_t len;
};

/* The value of the only word that begins with the key; false: there is none, or there are more. */
static bool find_value(const struct line *l, const char *key, char value[VALUE_MAX])
{
	const char *at = l->text, *end = l->text + l->len, *found = NULL;
	size_t n = strlen(key), len;

	while ((at = memmem(at, end - at, key, n))) {
		/* within another word: users may write what they like there, and Slurm does not */
		if (at == l->text || at[-1] == ' ') {
			if (found)
				return false;
			found = at + n;
		}
		at += n;
	}
	if (!found)
		return false;
	len = strcspn(found, " \n");
	if (len >= VALUE_MAX || found + len > end)
		return false;
	memcpy(value, found, len);
	value[len] = '\0';
	return true;
}

static int64_t read_time(const struct line *l, const char *key)
{
	char value[VALUE_MAX];
	uint32_t t;

	return find_value(l, key, value) && !parse_u32(value, &t) && t ? (int64_t)t : -1;
}

/* [DAYS-]HH:MM:SS; words are UNLIMITED and Partition_Limit. */
static int64_t read_limit(const struct line *l)
{
	unsigned days = 0, h, m, s;
	char value[VALUE_MAX], rest;

	if (!find_value(l, "TimeLimit=", value))
		return -1;
	if (sscanf(value, "%5u-%2u:%2u:%2u%c", &days, &h, &m, &s, &rest) != 4) {
		days = 0;
		if (sscanf(value, "%2u:%2u:%2u%c", &h, &m, &s, &rest) != 3)
			return -1;
	}
	return ((int64_t)days * 24 + h) * 3600 + (int64_t)m * 60 + s;
}

/* "20M", "1.50G", "0": nothing was asked for, which may be all of a node. */
static double read_memory(const struct line *l, const char *key)
{
	static const char units[] = "KMGTP";
	char value[VALUE_MAX], *end;
	const char *unit;
	double v;

	if (!find_value(l, key, value) || !isdigit((unsigned char)value[0]))
		return NAN;
	v = strtod(value, &end);
	if (v <= 0)
		return NAN;
	if (!*end)
		return v;
	unit = strchr(units, *end);
	return unit && !end[1] ? v * pow(1024, (double)(unit - units) - 1) : NAN;
}

/* Slurm 25.11 and later say with Exclusive whether other jobs may be on the nodes; before, it is
 * OverSubscribe=NO. */
static void read_sharing(const struct line *l, struct job_facts *f)
{
	static const struct {
		const char *key, *value, *sharing;
	} kinds[] = {
		{"Exclusive=", "NODE", "exclusive"}, {"Exclusive=", "NO", "shared"},
		{"Exclusive=", "USER", "user"},	     {"Exclusive=", "MCS", "mcs"},
		{"Exclusive=", "TOPO", "topo"},	     {"OverSubscribe=", "NO", "exclusive"},
		{"OverSubscribe=", "OK", "shared"},  {"OverSubscribe=", "YES", "shared"},
		{"OverSubscribe=", "USER", "user"},  {"OverSubscribe=", "MCS", "mcs"},
		{"OverSubscribe=", "TOPO", "topo"},
	};
	char value[VALUE_MAX];
	const char *key = memmem(l->text, l->len, " Exclusive=", strlen(" Exclusive="))
				  ? "Exclusive="
				  : "OverSubscribe=";

	if (!find_value(l, key, value))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].key, key) && !strcmp(kinds[i].value, value))
			str__copy(f->sharing, sizeof(f->sharing), kinds[i].sharing);
}

static bool is_state(const char *word)
{
	return word[0] && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0';
}

static void read_line(const struct line *l, struct job_facts *f)
{
	char value[VALUE_MAX];

	f->time_limit = read_limit(l);
	f->submitted = read_time(l, "SubmitTime=");
	f->eligible = read_time(l, "EligibleTime=");
	f->node_memory = read_memory(l, "MinMemoryNode=");
	f->cpu_memory = read_memory(l, "MinMemoryCPU=");
	read_sharing(l, f);
	if (find_value(l, "JobState=", value) && is_state(value))
		str__copy(f->state, sizeof(f->state), value);
}

static bool is_of_job(const char *line, uint32_t job_id)
{
	char begin[32];

	snprintf(begin, sizeof(begin), "JobId=%u ", job_id);
	return str__starts(line, begin);
}

bool job_facts__parse(const char *text, uint32_t job_id, struct job_facts *f)
{
	struct line l = {};

	*f = (struct job_facts){.time_limit = -1,
				.submitted = -1,
				.eligible = -1,
				.node_memory = NAN,
				.cpu_memory = NAN};
	while (*text) {
		const char *end = strchrnul(text, '\n');

		if (is_of_job(text, job_id)) {
			if (l.text)
				return false;
			l = (struct line){text, (size_t)(end - text)};
		}
		text = *end ? end + 1 : end;
	}
	if (l.text)
		read_line(&l, f);
	return l.text;
}

bool job_facts__ended(const struct job_facts *f)
{
	static const char *const states[] = {"COMPLETED", "FAILED",	   "TIMEOUT",
					     "CANCELLED", "PREEMPTED",	   "NODE_FAIL",
					     "DEADLINE",  "OUT_OF_MEMORY", "BOOT_FAIL"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(f->state, states[i]))
			return true;
	return false;
}
