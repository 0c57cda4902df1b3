// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ranks with unequal work, which wait for each other in MPI, and measure both: its wrappers of
 * MPI's functions (PMPI) take the thread's CPU clock around each call. Each rank writes
 * "useful cpu wall waited", seconds, to DIR/RANK: CPU time outside of MPI, all of it, the life of
 * the process, and how long it was runnable without a CPU. jpmpi DIR SECONDS WORK...: of rank i
 * WORK[i], in parts of the others', until each has used that much CPU time, or LIMIT_S are over.
 * The rounds differ in length by up to three times, the same on all ranks: rounds of one length
 * could keep in step with the clock that samples them. With JPMPI_BLOCKS in the environment they
 * sleep while they wait, and look again every POLL_US.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* What mpi.h of Open MPI 1.7 to 5 says: its headers are in a package of their own. */
typedef void *MPI_Comm, *MPI_Datatype, *MPI_Op, *MPI_Request;
typedef void MPI_Status;
extern char ompi_mpi_comm_world[], ompi_mpi_double[], ompi_mpi_int[], ompi_mpi_op_max[];
#define MPI_COMM_WORLD	  ((MPI_Comm)ompi_mpi_comm_world)
#define MPI_DOUBLE	  ((MPI_Datatype)ompi_mpi_double)
#define MPI_INT		  ((MPI_Datatype)ompi_mpi_int)
#define MPI_MAX		  ((MPI_Op)ompi_mpi_op_max)
#define MPI_STATUS_IGNORE NULL
int PMPI_Init(int *argc, char ***argv);
int PMPI_Finalize(void);
int PMPI_Barrier(MPI_Comm comm);
int PMPI_Iallreduce(const void *from_buf, void *to, int n, MPI_Datatype type, MPI_Op op,
		    MPI_Comm comm, MPI_Request *request);
int PMPI_Ibarrier(MPI_Comm comm, MPI_Request *request);
int PMPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int PMPI_Allreduce(const void *from_buf, void *to, int n, MPI_Datatype type, MPI_Op op,
		   MPI_Comm comm);
int PMPI_Sendrecv(const void *out, int n, MPI_Datatype type, int to, int tag, void *in, int m,
		  MPI_Datatype in_type, int of, int in_tag, MPI_Comm comm, MPI_Status *status);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);

#define LIMIT_S 80
#define POLL_US 10000 /* seldom, as each look takes CPU time inside of MPI */

static double in_mpi;
static int blocks;

static double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define TIMED(call)                                        \
	double from = clock_s(CLOCK_THREAD_CPUTIME_ID);    \
	int err = call;                                    \
                                                           \
	in_mpi += clock_s(CLOCK_THREAD_CPUTIME_ID) - from; \
	return err

int MPI_Init(int *argc, char ***argv)
{
	TIMED(PMPI_Init(argc, argv));
}

int MPI_Finalize(void)
{
	TIMED(PMPI_Finalize());
}

static int sleep_until_done(MPI_Request *request, int err)
{
	int done = 0;

	while (!err && !done) {
		err = PMPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (!done)
			usleep(POLL_US);
	}
	return err;
}

int MPI_Barrier(MPI_Comm comm)
{
	MPI_Request r;

	TIMED(blocks ? sleep_until_done(&r, PMPI_Ibarrier(comm, &r)) : PMPI_Barrier(comm));
}

int MPI_Allreduce(const void *from_buf, void *to, int n, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	MPI_Request r;

	TIMED(blocks ? sleep_until_done(&r, PMPI_Iallreduce(from_buf, to, n, type, op, comm, &r))
		     : PMPI_Allreduce(from_buf, to, n, type, op, comm));
}

int MPI_Sendrecv(const void *out, int n, MPI_Datatype type, int to, int tag, void *in, int m,
		 MPI_Datatype in_type, int of, int in_tag, MPI_Comm comm, MPI_Status *status)
{
	TIMED(PMPI_Sendrecv(out, n, type, to, tag, in, m, in_type, of, in_tag, comm, status));
}

/* The length of the next round, 0.5 to 1.5: a linear congruential generator (Knuth's MMIX). */
static double next_length(void)
{
	static unsigned long state = 1;

	state = state * 6364136223846793005UL + 1442695040888963407UL;
	return 0.5 + (double)(state >> 11) / (double)(1UL << 53);
}

static double since_start_s(void)
{
	FILE *f = fopen("/proc/self/stat", "r");
	char text[1024], *p = NULL;
	double ticks = NAN;

	if (f && fgets(text, sizeof(text), f))
		for (p = text; *p; p++)
			if (*p == ')')
				break;
	if (p && *p)
		sscanf(p,
		       ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		       "%*s %lf",
		       &ticks);
	if (f)
		fclose(f);
	return clock_s(CLOCK_BOOTTIME) - ticks / (double)sysconf(_SC_CLK_TCK);
}

static double waited_s(void)
{
	FILE *f = fopen("/proc/self/schedstat", "r");
	double ran, waited = NAN;

	if (f && fscanf(f, "%lf %lf", &ran, &waited) != 2)
		waited = NAN;
	if (f)
		fclose(f);
	return waited / 1e9;
}

int main(int argc, char **argv)
{
	static double out[4096], in[4096];
	double end = clock_s(CLOCK_MONOTONIC) + LIMIT_S, x = 1.1, wall;
	int rank, ranks, go = 1, all;
	char path[4096];
	FILE *f;

	blocks = getenv("JPMPI_BLOCKS") != NULL;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	while (go) {
		int n = (int)(20000 * atof(argv[3 + rank]) * next_length());

		for (int i = 0; i < n; i++)
			x += sin(i * 1.1) * 1e-9;
		MPI_Barrier(MPI_COMM_WORLD);
		if (!blocks)
			MPI_Sendrecv(out, 4096, MPI_DOUBLE, (rank + 1) % ranks, 0, in, 4096,
				     MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		all = clock_s(CLOCK_MONOTONIC) < end &&
		      clock_s(CLOCK_PROCESS_CPUTIME_ID) < atof(argv[2]);
		MPI_Allreduce(&all, &go, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	wall = since_start_s();
	snprintf(path, sizeof(path), "%s/%d", argv[1], rank);
	f = fopen(path, "w");
	if (!f)
		return 1;
	fprintf(f, "%.6f %.6f %.6f %.6f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID) - in_mpi + (x > 1e9),
		clock_s(CLOCK_PROCESS_CPUTIME_ID), wall, waited_s());
	return fclose(f) != 0;
}
