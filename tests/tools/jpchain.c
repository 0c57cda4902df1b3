// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spends the seconds of CPU time of argv[1] in five(), which four() has called, and so on from
 * main(): for tests of stacks. Frames differ in size, one of them from call to call, and no call is
 * a tail call.
 */
#include <alloca.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 200000
#define KEPT   __attribute__((noinline, noclone)) static

static volatile double sink;

#ifndef IN_FIVE
#define IN_FIVE
#endif

KEPT double five(const double *a, unsigned n)
{
	double s = 0;

	IN_FIVE;
	for (unsigned i = 0; i < n; i++)
		s = s * 0.5 + a[i & 63];
	return s;
}

KEPT double four(unsigned n)
{
	double a[64], r;

	for (unsigned i = 0; i < 64; i++)
		a[i] = i + n;
	r = five(a, n) + 1;
	sink = a[3];
	return r;
}

KEPT double three(unsigned n)
{
	volatile char *room = alloca(n % 100 + 200);
	double r;

	room[1] = 2;
	r = four(n) * 2;
	sink = room[1];
	return r;
}

KEPT double two(unsigned n)
{
	volatile char room[300];
	double r;

	room[n % 300] = 1;
	r = three(n) - 1;
	sink = room[n % 17];
	return r;
}

KEPT double one(unsigned n)
{
	double r = two(n) + 3;

	sink = r;
	return r;
}

int main(int argc, char **argv)
{
	clock_t end = (clock_t)(argc > 1 ? atof(argv[1]) * CLOCKS_PER_SEC : 0);

	for (unsigned i = 0; clock() < end; i++) {
		one(ROUNDS + i % 64);
		sink = i;
	}
	return 0;
}
