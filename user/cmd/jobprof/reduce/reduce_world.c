/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds out whether several processes were started, and becomes the program that uses MPI. */
#include "cmd/jobprof/reduce/reduce_world.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

const struct reduce_world reduce_world__alone = {.size = 1};

/* Open MPI's mpirun sets the first pair, srun the second. */
static const struct {
	const char *size, *rank;
} variables[] = {
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
	{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
	{"PMI_SIZE", "PMI_RANK"},
};

unsigned reduce_world__of_environment(unsigned *rank)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *size = getenv(variables[i].size), *own = getenv(variables[i].rank);
		uint32_t n;

		if (size && own && !parse_u32(size, &n) && !parse_u32(own, rank) && n && *rank < n)
			return n;
	}
	*rank = 0;
	return 1;
}

/* Beside this program where it was built, or in ../libexec/jobprof where it was installed. */
static bool find_program(char *path, size_t size)
{
	static const char *const places[] = {"jobprof-reduce-mpi",
					     "../libexec/jobprof/jobprof-reduce-mpi"};
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (n < 0)
		return false;
	own[n] = '\0';
	slash = strrchr(own, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		int len = snprintf(path, size, "%.*s/%s", (int)(slash - own), own, places[i]);

		if (len > 0 && (size_t)len < size && !access(path, X_OK))
			return true;
	}
	return false;
}

int reduce_world__elsewhere(char **argv)
{
	char path[PATH_MAX + 64];
	unsigned rank;

	if (reduce_world__of_environment(&rank) == 1)
		return 0;
	if (find_program(path, sizeof(path))) {
		execv(path, argv);
		log_error("%s: cannot be executed: %s", path, strerror(errno));
	} else if (!rank) {
		log_error("several processes need jobprof-reduce-mpi, which is not installed: "
			  "install libopenmpi-dev, then \"make\" and \"make install\" make it; or "
			  "start one process");
	}
	return 1;
}
