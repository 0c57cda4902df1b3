// SPDX-License-Identifier: GPL-2.0-or-later
/* Parallel loops of OpenMP, as in a solver: loops ROUNDS N: ROUNDS loops over N elements each. */
#include <stdio.h>
#include <stdlib.h>

#define SIZE (1 << 18)
static double a[SIZE];

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1, n = argc > 2 ? atol(argv[2]) : SIZE;

	for (long r = 0; r < rounds; r++) {
#pragma omp parallel for schedule(static)
		for (long i = 0; i < n; i++) {
			double x = a[i % SIZE];

			for (int k = 0; k < 40; k++)
				x = x * 1.0000001 + 0.5;
			a[i % SIZE] = x;
		}
	}
	printf("%g\n", a[0]);
	return 0;
}
