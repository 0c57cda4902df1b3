// SPDX-License-Identifier: GPL-2.0-or-later
/* perf's names of generic events, how often each can plausibly happen, and what all parsers of a
 * list of events share: numbers, and the message on what is wrong with the list. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "kern/pmu/perf_names.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define HW(name, config, per_cycle)                                            \
	{                                                                      \
		name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, per_cycle, 0 \
	}
#define SW(name, config, per_s)                                            \
	{                                                                  \
		name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, 0, per_s \
	}

/*
 * Rates: a wide core retires four instructions per cycle over any length of time, a miss costs it
 * some twenty cycles; a fault or a switch takes the kernel a microsecond; clocks count ns.
 */
static const struct perf_name plain[] = {
	HW("cycles", CPU_CYCLES, 1),
	HW("cpu-cycles", CPU_CYCLES, 1),
	HW("instructions", INSTRUCTIONS, 4),
	HW("cache-references", CACHE_REFERENCES, 0.2),
	HW("cache-misses", CACHE_MISSES, 0.05),
	HW("branches", BRANCH_INSTRUCTIONS, 1),
	HW("branch-instructions", BRANCH_INSTRUCTIONS, 1),
	HW("branch-misses", BRANCH_MISSES, 0.05),
	HW("bus-cycles", BUS_CYCLES, 1),
	HW("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND, 1),
	HW("idle-cycles-frontend", STALLED_CYCLES_FRONTEND, 1),
	HW("stalled-cycles-backend", STALLED_CYCLES_BACKEND, 1),
	HW("idle-cycles-backend", STALLED_CYCLES_BACKEND, 1),
	HW("ref-cycles", REF_CPU_CYCLES, 1),
	SW("cpu-clock", CPU_CLOCK, 1e9),
	SW("task-clock", TASK_CLOCK, 1e9),
	SW("page-faults", PAGE_FAULTS, 1e6),
	SW("faults", PAGE_FAULTS, 1e6),
	SW("minor-faults", PAGE_FAULTS_MIN, 1e6),
	SW("major-faults", PAGE_FAULTS_MAJ, 1e6),
	SW("context-switches", CONTEXT_SWITCHES, 1e6),
	SW("cs", CONTEXT_SWITCHES, 1e6),
	SW("cpu-migrations", CPU_MIGRATIONS, 1e6),
	SW("migrations", CPU_MIGRATIONS, 1e6),
	SW("alignment-faults", ALIGNMENT_FAULTS, 1e6),
	SW("emulation-faults", EMULATION_FAULTS, 1e6),
};

#define READ	 (1 << PERF_COUNT_HW_CACHE_OP_READ)
#define WRITE	 (1 << PERF_COUNT_HW_CACHE_OP_WRITE)
#define PREFETCH (1 << PERF_COUNT_HW_CACHE_OP_PREFETCH)

static const struct {
	const char *name;
	unsigned cache, ops;
	double per_cycle; /* accesses; of misses there are at most MISSES */
} caches[] = {
	{"L1-dcache", PERF_COUNT_HW_CACHE_L1D, READ | WRITE | PREFETCH, 2},
	{"L1-icache", PERF_COUNT_HW_CACHE_L1I, READ | PREFETCH, 1},
	{"LLC", PERF_COUNT_HW_CACHE_LL, READ | WRITE | PREFETCH, 0.2},
	{"dTLB", PERF_COUNT_HW_CACHE_DTLB, READ | WRITE | PREFETCH, 2},
	{"iTLB", PERF_COUNT_HW_CACHE_ITLB, READ, 1},
	{"branch", PERF_COUNT_HW_CACHE_BPU, READ, 1},
	{"node", PERF_COUNT_HW_CACHE_NODE, READ | WRITE | PREFETCH, 0.2},
};
#define MISSES 0.05

static const struct {
	const char *one, *many;
	unsigned op;
} ops[] = {
	{"load", "loads", PERF_COUNT_HW_CACHE_OP_READ},
	{"store", "stores", PERF_COUNT_HW_CACHE_OP_WRITE},
	{"prefetch", "prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH},
};

#define CACHE_EVENTS (2 * ARRAY_SIZE(caches) * ARRAY_SIZE(ops))
#define ALL_EVENTS   (ARRAY_SIZE(plain) + CACHE_EVENTS)

static struct perf_name all[ALL_EVENTS];
static char cache_names[CACHE_EVENTS][32];
static unsigned n_all;

static void add_cache(size_t cache, size_t op, bool miss)
{
	char *name = cache_names[n_all - ARRAY_SIZE(plain)];
	uint64_t result =
		miss ? PERF_COUNT_HW_CACHE_RESULT_MISS : PERF_COUNT_HW_CACHE_RESULT_ACCESS;

	snprintf(name, sizeof(cache_names[0]), miss ? "%s-%s-misses" : "%s-%s", caches[cache].name,
		 miss ? ops[op].one : ops[op].many);
	all[n_all++] = (struct perf_name){
		.name = name,
		.type = PERF_TYPE_HW_CACHE,
		.config = caches[cache].cache | ops[op].op << 8 | result << 16,
		.per_cycle = miss ? MISSES : caches[cache].per_cycle,
	};
}

const struct perf_name *perf_names__all(unsigned *n)
{
	if (!n_all) {
		memcpy(all, plain, sizeof(plain));
		n_all = ARRAY_SIZE(plain);
		for (size_t c = 0; c < ARRAY_SIZE(caches); c++)
			for (size_t o = 0; o < ARRAY_SIZE(ops); o++) {
				if (!(caches[c].ops & 1u << ops[o].op))
					continue;
				add_cache(c, o, false);
				add_cache(c, o, true);
			}
	}
	*n = n_all;
	return all;
}

const struct perf_name *perf_names__find(const char *name, const char **near)
{
	const char *names[ALL_EVENTS];
	const struct perf_name *known;
	unsigned n;

	known = perf_names__all(&n);
	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(known[i].name, name))
			return &known[i];
		names[i] = known[i].name;
	}
	*near = str__nearest(name, names, n);
	return NULL;
}

int perf_error__set(const struct perf_error *error, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error->err, error->errlen, fmt, ap);
	va_end(ap);
	return code;
}

bool perf_number(const char *text, uint64_t *v)
{
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	const char *digits = base == 16 ? text + 2 : text;

	if (!*digits ||
	    digits[strspn(digits, base == 16 ? "0123456789abcdefABCDEF" : "0123456789")])
		return false;
	errno = 0;
	*v = strtoull(digits, NULL, base);
	return !errno;
}
