// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spends the seconds of CPU time of argv[1] in ten functions, the k-th of which does k units of
 * work: for tests of stacks. The name of the last one is meant to be taken amiss.
 */
#include <stdlib.h>
#include <time.h>

#define UNIT 40000

static volatile double sink;

static void work(unsigned n)
{
	for (unsigned i = 0; i < n * UNIT; i++)
		sink = sink * 0.5 + i;
}

/* Each has its own code: work() goes into it. */
#define HOT(name, n)                                     \
	__attribute__((noinline)) static void name(void) \
	{                                                \
		for (unsigned i = 0; i < (n)*UNIT; i++)  \
			sink = sink * 0.5 + i + (n);     \
	}

HOT(hot_1, 1)
HOT(hot_2, 2)
HOT(hot_3, 3)
HOT(hot_4, 4)
HOT(hot_5, 5)
HOT(hot_6, 6)
HOT(hot_7, 7)
HOT(hot_8, 8)
HOT(hot_9, 9)
/* Without the counters of gcov, whose names do not assemble. */
__attribute__((noinline, no_profile_instrument_function)) void
hostile(void) __asm__("\"<svg onload=alert(1)>;&\"");
__attribute__((noinline, no_profile_instrument_function)) void hostile(void)
{
	work(10);
}

__attribute__((noinline)) static void inner(void)
{
	hot_1(), hot_2(), hot_3(), hot_4(), hot_5();
	sink = 0; /* no tail call */
}

__attribute__((noinline)) static void outer(void)
{
	inner();
	hot_6(), hot_7(), hot_8(), hot_9();
	hostile();
	sink = 0;
}

int main(int argc, char **argv)
{
	clock_t end = (clock_t)(argc > 1 ? atof(argv[1]) * CLOCKS_PER_SEC : 0);

	while (clock() < end)
		outer();
	return 0;
}
