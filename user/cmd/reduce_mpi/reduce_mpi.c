/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof-reduce-mpi: jobprof reduce as the processes of an MPI program. Messages go up and down
 * the tree from process to process, and nothing is collective before the end. So the others go on
 * when one process dies, if the launcher lets them. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program.h"
#include "cmd/jobprof/reduce/reduce.h"

#define BEAT_S	 1.0
#define SILENT_S 10.0 /* after so long without a word a process is lost */

enum tag { TAG_BEAT = 1, TAG_PART, TAG_END };

static struct reduce_world world;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int join_world(void)
{
	int size, rank;

	if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
		return -EIO;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	/* The files were divided by what the launcher told. */
	if ((unsigned)size == world.size && (unsigned)rank == world.rank)
		return 0;
	log_error("process %u of %u knows of %d: start them as srun --mpi=pmix does, or mpirun",
		  world.rank, world.size, size);
	return -EPROTO;
}

/* Sends a message without content, which nobody waits for. */
static void tell(unsigned to, enum tag tag)
{
	MPI_Request request;

	if (!MPI_Isend(NULL, 0, MPI_BYTE, (int)to, tag, MPI_COMM_WORLD, &request))
		MPI_Request_free(&request);
}

static void tell_children(enum tag tag)
{
	unsigned first = world.rank * REDUCE_FANOUT + 1;

	for (unsigned i = first; i < first + REDUCE_FANOUT && i < world.size; i++)
		tell(i, tag);
}

/* Tells parent and children that this process lives, once in a while. */
static void beat(void)
{
	static double next;

	if (now_s() < next)
		return;
	next = now_s() + BEAT_S;
	if (world.rank)
		tell(reduce_tree__parent(world.rank), TAG_BEAT);
	tell_children(TAG_BEAT);
}

/* Waits for a message that is not a sign of life. false: nothing has come for too long. */
static bool hear(unsigned from, MPI_Status *status, MPI_Request *pending)
{
	double end = now_s() + SILENT_S;

	while (now_s() < end) {
		int is_there = 0, done = 0;

		if (pending && (MPI_Test(pending, &done, MPI_STATUS_IGNORE) || done))
			return done;
		if (MPI_Iprobe((int)from, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, status))
			return false;
		if (is_there && status->MPI_TAG != TAG_BEAT)
			return true;
		if (is_there) {
			MPI_Recv(NULL, 0, MPI_BYTE, (int)from, TAG_BEAT, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			end = now_s() + SILENT_S;
			continue;
		}
		beat();
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

static void send_part(unsigned to, const void *bytes, size_t n)
{
	MPI_Request request;
	MPI_Status status;

	if (!MPI_Isend(bytes, (int)n, MPI_BYTE, (int)to, TAG_PART, MPI_COMM_WORLD, &request))
		hear(to, &status, &request);
}

static bool receive(unsigned from, struct message *m)
{
	MPI_Status status;
	char *bytes;
	int n = 0;
	bool ok;

	if (!hear(from, &status, NULL))
		return false;
	MPI_Get_count(&status, MPI_BYTE, &n);
	bytes = n >= 0 && (unsigned)n <= PAYLOAD_MAX ? malloc((size_t)n + 1) : NULL;
	ok = bytes &&
	     !MPI_Recv(bytes, n, MPI_BYTE, (int)from, TAG_PART, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (ok)
		message__put(m, bytes, (size_t)n);
	free(bytes);
	return ok && !m->bad;
}

/* The end of MPI waits for all. Where one was lost, process 0 ends the others. */
static void leave(bool is_whole, int status)
{
	MPI_Status ending;

	fflush(NULL);
	if (!world.rank && !is_whole)
		MPI_Abort(MPI_COMM_WORLD, status ? status : 1);
	if (world.rank && !hear(reduce_tree__parent(world.rank), &ending, NULL))
		_exit(1);
	tell_children(TAG_END);
	MPI_Finalize();
}

int main(int argc, char **argv)
{
	int status;

	program__close_to_user();
	log__init("jobprof reduce", LOGL_INFO);
	world = (struct reduce_world){.join = join_world,
				      .send = send_part,
				      .beat = beat,
				      .receive = receive,
				      .leave = leave};
	world.size = reduce_world__of_environment(&world.rank);
	status = reduce__run(argc, argv, &world);
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	log_error("cannot write the output: %s", strerror(errno));
	return status ? status : 1;
}
