// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs squeue, and sacct for jobs that squeue does not know, to learn a job's ids and state. */
#include "identity/slurmjob.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#define LIMIT_S	   5
#define ANSWER_LEN (4 << 20) /* an array may have so many elements */

/* Reads until the child has ended or the time is over: without a controller the commands wait. */
static size_t read_answer(int fd, char *text, size_t size)
{
	const uint64_t end = clock__mono_ns() + LIMIT_S * NSEC_PER_SEC;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t len = 0;

	while (len < size - 1) {
		const uint64_t now = clock__mono_ns();
		ssize_t n;

		if (now >= end || poll(&p, 1, (int)((end - now) / 1000000) + 1) <= 0)
			break;
		n = read(fd, text + len, size - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	return len;
}

static void run_squeue(char *const argv[], int out)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	setenv("SLURM_TIME_FORMAT", "%s", 1);
	execvp(argv[0], argv);
	_exit(127);
}

/* Runs a command and stores its output; "": the command cannot be run, or prints nothing in time.
 * */
static void ask_slurm(char *const argv[], char *text, size_t size)
{
	int p[2];
	pid_t pid;

	*text = '\0';
	if (pipe2(p, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid)
		run_squeue(argv, p[1]);
	close(p[1]);
	if (pid > 0) {
		read_answer(p[0], text, size);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(p[0]);
}

bool slurmjob__runs(const struct slurmjob *j)
{
	static const char *const states[] = {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED",
					     "CONFIGURING"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (str__starts(j->state, states[i]))
			return true;
	return false;
}

/* "ID|STATE|START" */
static bool parse_line(const char *line, struct slurmjob *out)
{
	char id[32], start[32] = "";
	struct slurmjob j = {.start = -1};
	uint32_t at;

	if (sscanf(line, "%31[^|]|%31[^|]|%31[^|]", id, j.state, start) < 2 || parse_u32(id, &j.id))
		return false;
	/* The start of a job that waits is only a guess. */
	if (!parse_u32(start, &at) && at && strcmp(j.state, "PENDING"))
		j.start = at;
	*out = j;
	return true;
}

static bool choose_line(char *text, uint32_t raw, struct slurmjob *out)
{
	struct slurmjob j;
	bool any = false;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!parse_line(line, &j) || (raw && j.id != raw) ||
		    (any && (slurmjob__runs(out) || !slurmjob__runs(&j))))
			continue;
		*out = j;
		any = true;
	}
	return any;
}

static void ask_squeue(const char *job, char *text, size_t size)
{
	char *const argv[] = {"squeue", "-h",	     "-r", "-t",       "all",
			      "-j",	(char *)job, "-o", "%A|%T|%S", NULL};

	ask_slurm(argv, text, size);
}

static void ask_sacct(const char *job, char *text, size_t size)
{
	char *const argv[] = {
		"sacct", "-n", "-X", "-P", "-j", (char *)job, "-o", "JobIDRaw,State,Start", NULL};

	ask_slurm(argv, text, size);
}

bool slurmjob__ask(const char *job, uint32_t raw, struct slurmjob *out)
{
	char *text = malloc(ANSWER_LEN);
	bool known;

	*out = (struct slurmjob){.start = -1};
	if (!text)
		return false;
	ask_squeue(job, text, ANSWER_LEN);
	known = choose_line(text, raw, out);
	if (!known) {
		ask_sacct(job, text, ANSWER_LEN);
		known = choose_line(text, raw, out);
	}
	free(text);
	return known;
}

unsigned slurmjob__running(const char *job, uint32_t *ids, unsigned max)
{
	char *text = malloc(ANSWER_LEN), *save = NULL;
	struct slurmjob j;
	unsigned n = 0;

	if (!text)
		return 0;
	ask_squeue(job, text, ANSWER_LEN);
	for (char *line = strtok_r(text, "\n", &save); line && n < max;
	     line = strtok_r(NULL, "\n", &save))
		if (parse_line(line, &j) && slurmjob__runs(&j))
			ids[n++] = j.id;
	free(text);
	return n;
}
