// SPDX-License-Identifier: GPL-2.0-or-later
/* Jacobi's method with halos: halo STEPS SIZE [WEIGHT]: rank 0 has WEIGHT times the work of the
 * others. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void sweep(const double *a, double *b, long n)
{
	for (long i = 1; i < n - 1; i++)
		for (long j = 1; j < n - 1; j++)
			b[i * n + j] = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] +
					       a[i * n + j - 1] + a[i * n + j + 1]);
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	long steps = argc > 1 ? atol(argv[1]) : 10, n = argc > 2 ? atol(argv[2]) : 500;
	double weight = argc > 3 && rank == 0 ? atof(argv[3]) : 1;
	double *a = calloc(n * n, sizeof(*a)), *b = calloc(n * n, sizeof(*b)),
	       *halo = calloc(n, sizeof(*halo)), all = 0;

	for (long i = 0; i < n * n; i++)
		a[i] = i % 7;
	for (long s = 0; s < steps; s++) {
		for (int k = 0; k < (int)(10 * weight + 0.5); k++) {
			sweep(a, b, n);
			double *old = a;

			a = b;
			b = old;
		}
		MPI_Sendrecv(a, n, MPI_DOUBLE, (rank + 1) % ranks, 0, halo, n, MPI_DOUBLE,
			     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Allreduce(&a[n + 1], &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("%g\n", all);
	MPI_Finalize();
	return 0;
}
