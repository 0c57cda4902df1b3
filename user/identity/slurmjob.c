// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs squeue, and sacct for jobs that squeue does not know, to learn a job's ids and state. */
#include "identity/slurmjob.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "identity/slurm_lines.h"

#define LIMIT_S	   5
#define ANSWER_LEN (4 << 20) /* an array may have so many elements */

/* Takes the lines of a command; what it prints in time counts, also where it fails: without a
 * controller the commands wait. */
static void ask_slurm(char *const argv[], int (*take)(void *arg, const char *line), void *arg)
{
	struct slurm_lines l = {
		.argv = argv, .seconds = LIMIT_S, .most = ANSWER_LEN, .take = take, .arg = arg};

	slurm_lines__read(&l);
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

/* The best line up to now. */
struct choice {
	uint32_t raw;
	struct slurmjob *out;
	bool any;
};

static int choose_line(void *arg, const char *line)
{
	struct choice *c = arg;
	struct slurmjob j;

	if (!parse_line(line, &j) || (c->raw && j.id != c->raw) ||
	    (c->any && (slurmjob__runs(c->out) || !slurmjob__runs(&j))))
		return 0;
	*c->out = j;
	c->any = true;
	return 0;
}

static void ask_squeue(const char *job, int (*take)(void *arg, const char *line), void *arg)
{
	char *const argv[] = {"squeue", "-h",	     "-r", "-t",       "all",
			      "-j",	(char *)job, "-o", "%A|%T|%S", NULL};

	ask_slurm(argv, take, arg);
}

static void ask_sacct(const char *job, int (*take)(void *arg, const char *line), void *arg)
{
	char *const argv[] = {
		"sacct", "-n", "-X", "-P", "-j", (char *)job, "-o", "JobIDRaw,State,Start", NULL};

	ask_slurm(argv, take, arg);
}

bool slurmjob__ask(const char *job, uint32_t raw, struct slurmjob *out)
{
	struct choice c = {.raw = raw, .out = out};

	*out = (struct slurmjob){.start = -1};
	ask_squeue(job, choose_line, &c);
	if (!c.any)
		ask_sacct(job, choose_line, &c);
	return c.any;
}

struct running {
	uint32_t *ids;
	unsigned n, max;
};

static int take_running(void *arg, const char *line)
{
	struct running *r = arg;
	struct slurmjob j;

	if (r->n < r->max && parse_line(line, &j) && slurmjob__runs(&j))
		r->ids[r->n++] = j.id;
	return 0;
}

unsigned slurmjob__running(const char *job, uint32_t *ids, unsigned max)
{
	struct running r = {.ids = ids, .max = max};

	ask_squeue(job, take_running, &r);
	return r.n;
}
