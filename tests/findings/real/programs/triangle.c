// SPDX-License-Identifier: GPL-2.0-or-later
/* A loop over the rows of a triangle: triangle ROUNDS N, with OMP_SCHEDULE. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1, n = argc > 2 ? atol(argv[2]) : 1000;
	double total = 0;

	for (long r = 0; r < rounds; r++) {
#pragma omp parallel for schedule(runtime) reduction(+ : total)
		for (long i = 0; i < n; i++)
			for (long j = 0; j < i; j++)
				total += 1.0 / (1 + i + j);
	}
	printf("%g\n", total);
	return 0;
}
