/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay [-n VARIANTS] FILE...: what the fuzzers do, without them: reads each file as it is and
 * VARIANTS damaged copies of it, the same ones every time. Says what was read, what the library
 * faulted on, and what was our fault; for one of ours the status is 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/h5mutate.h"
#include "tests/fuzz/libfault.h"
#include "tests/fuzz/reader.h"

#define FILE_MAX (16u << 20)

/* Parent and child share it. */
struct state {
	unsigned variant; /* the one being read; 0 is the file itself */
	unsigned read, library;
};

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:allocator_may_return_null=1:handle_abort=1:"
	       "max_allocation_size_mb=4096:hard_rss_limit_mb=4096";
}

static uint8_t *slurp(const char *path, size_t *len)
{
	uint8_t *p = malloc(FILE_MAX);
	FILE *f = fopen(path, "rb");

	if (!p || !f) {
		perror(path);
		exit(2);
	}
	*len = fread(p, 1, FILE_MAX, f);
	fclose(f);
	return p;
}

/* Never returns. */
static void read_variants(const uint8_t *file, size_t len, unsigned n, struct state *s)
{
	uint8_t *copy = malloc(len + 1);

	libfault__judge_reports();
	for (; copy && s->variant <= n; s->variant++) {
		size_t size = len;

		memcpy(copy, file, len);
		if (s->variant)
			size = h5mutate(copy, len, s->variant);
		if (reader__fuzz(copy, size))
			s->library++;
		else
			s->read++;
	}
	_exit(copy ? 0 : 2);
}

/* Returns how many were our fault. */
static unsigned replay(const char *path, unsigned n, struct state *s)
{
	unsigned ours = 0;
	size_t len;
	uint8_t *file = slurp(path, &len);

	for (s->variant = 0; s->variant <= n; s->variant++) {
		int status;
		pid_t pid = fork();

		if (pid < 0)
			exit(2);
		if (!pid)
			read_variants(file, len, n, s);
		if (waitpid(pid, &status, 0) != pid)
			exit(2);
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			break;
		if (WIFEXITED(status) && WEXITSTATUS(status) == LIBFAULT_EXIT) {
			s->library++;
			continue;
		}
		printf("%s, variant %u: status %#x\n", path, s->variant, status);
		ours++;
	}
	free(file);
	return ours;
}

int main(int argc, char **argv)
{
	struct state *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned n = 0, ours = 0;
	int c;

	while ((c = getopt(argc, argv, "n:")) != -1) {
		if (c != 'n')
			return 2;
		n = strtoul(optarg, NULL, 10);
	}
	if (s == MAP_FAILED || optind == argc)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = optind; i < argc; i++)
		ours += replay(argv[i], n, s);
	printf("%u read, %u faults of the library, %u of ours\n", s->read, s->library, ours);
	return ours != 0;
}
