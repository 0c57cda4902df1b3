/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of an event list that perf_event.c puts together: known names, and PMU terms. */
#ifndef JP_KERN_PERF_NAMES_H
#define JP_KERN_PERF_NAMES_H

#include "kern/perf_event.h"

/* An event that has the same name on every machine. */
struct perf_name {
	const char *name;
	uint32_t type;
	uint64_t config;
	double per_cycle;  /* more of them in a clock cycle are not plausible; 0: see below */
	double per_second; /* the same per second and CPU, of events that no clock drives */
};

/* All of them, aliases too. */
const struct perf_name *perf_names__all(unsigned *n);
/* NULL: no such. *near: the one that was most likely meant, or NULL. */
const struct perf_name *perf_names__find(const char *name, const char **near);

/* Where messages go: err is always ended with NUL. */
struct perf_why {
	char *err;
	size_t errlen;
};
/* Returns code. */
int perf_why__say(const struct perf_why *why, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Decimal, or hexadecimal with 0x; the whole string. False: it is not, or has more than 64 bits. */
bool perf_number(const char *text, uint64_t *v);

/*
 * pmu and terms (a copy that is cut up) as between the slashes of pmu/terms/: sets type, config,
 * config1 and config2 of ev, and its column if there is a name= among the terms.
 */
int perf_pmu__parse(const char *pmu, char *terms, const char *sysfs, struct perf_event *ev,
		    const struct perf_why *why);

#endif
