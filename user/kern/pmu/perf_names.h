/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What perf_event.c needs to parse a list of events: known names, and PMU terms. */
#ifndef JP_KERN_PERF_NAMES_H
#define JP_KERN_PERF_NAMES_H

#include "kern/pmu/perf_event.h"

/* An event that has the same name on every machine. */
struct perf_name {
	const char *name;
	uint32_t type;
	uint64_t config;
	double per_cycle;  /* highest plausible number in a clock cycle; 0: see below */
	double per_second; /* the same per second and CPU, for events that do not follow a clock */
};

/* All names, aliases too. */
const struct perf_name *perf_names__all(unsigned *n);
/* Finds a name. NULL: there is none; *near is the most similar name then, or NULL. */
const struct perf_name *perf_names__find(const char *name, const char **near);

/* The buffer of error messages: err always ends with NUL. */
struct perf_error {
	char *err;
	size_t errlen;
};
/* Writes the message. Returns code. */
int perf_error__set(const struct perf_error *error, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Parses a whole string as a number, decimal, or hexadecimal with 0x. False: it is not one, or has
 * more than 64 bits. */
bool perf_number(const char *text, uint64_t *v);

/*
 * Parses pmu and terms (a copy that is modified) as in pmu/terms/: sets type, config, config1 and
 * config2 of ev, and its column if the terms have a name=.
 */
int perf_pmu__parse(const char *pmu, char *terms, const char *sysfs, struct perf_event *ev,
		    const struct perf_error *error);
/*
 * Finds an event by the PMU's own name for it, also for a PMU that counts for several CPUs at once:
 * sets type, config, config1 and config2 of ev. 0; -ENOENT: the PMU has no such event, or its terms
 * are not known here.
 */
int perf_pmu__named(const char *pmu, const char *event, const char *sysfs, struct perf_event *ev);

#endif
