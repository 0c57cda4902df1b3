// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls a function, and writes what its own clock says of each call: a line with begin and end, in
 * the order of the ends. The function may call itself, be left by longjmp, or end the program.
 */
#include <setjmp.h>

#include "tool.h"

#define HELP                                                           \
	"[-r DEPTH] [-l] [-x] CALLS MICROSECONDS, or -q SECONDS\n"     \
	"-r: each call calls itself; -l: longjmp out of every call;\n" \
	"-x: exit in the last call; -q: another function, as often as possible: prints how often"

static jmp_buf outside;
static bool leaves;
static volatile unsigned long quick_calls;

__attribute__((noinline, noclone)) static void work(unsigned depth, unsigned us)
{
	uint64_t begin = now_ns(), end;

	if (depth > 1)
		work(depth - 1, us);
	while ((end = now_ns()) < begin + us * 1000ull)
		;
	if (leaves)
		longjmp(outside, 1);
	printf("%llu %llu\n", (unsigned long long)begin, (unsigned long long)end);
}

__attribute__((noinline, noclone)) static void work_and_exit(void)
{
	exit(0);
}

__attribute__((noinline, noclone)) static void quick(void)
{
	quick_calls += 1;
}

static void call_quick(double seconds)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);

	while (now_ns() < end)
		for (unsigned i = 0; i < 1000; i++)
			quick();
	printf("%lu\n", quick_calls);
}

static void call(unsigned calls, unsigned depth, unsigned us)
{
	for (volatile unsigned i = 0; i < calls; i++)
		if (!setjmp(outside))
			work(depth, us);
}

int main(int argc, char **argv)
{
	unsigned depth = 1;
	bool exits = false;
	int c;

	while ((c = getopt(argc, argv, "r:lxq:h")) != -1) {
		if (c == 'r')
			depth = (unsigned)atoi(optarg);
		else if (c == 'l')
			leaves = true;
		else if (c == 'x')
			exits = true;
		else if (c == 'q')
			return call_quick(atof(optarg)), 0;
		else
			usage(HELP, c == 'h');
	}
	if (argc - optind != 2)
		usage(HELP, false);
	call((unsigned)atoi(argv[optind]), depth, (unsigned)atoi(argv[optind + 1]));
	if (exits)
		work_and_exit();
	return 0;
}
