// SPDX-License-Identifier: GPL-2.0-only
/* Why Slurm ended a step: squeue is run, and its lines are read. */
#include "daemon/child/end_reason.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io_full.h"
#include "base/str.h"
#include "daemon/child/child.h"

/* While a job completes squeue tells a time limit at once, but "cancelled" only after it. */
#define AGAIN_NS   (400 * 1000 * 1000ull)
#define GIVE_UP_NS (8 * NSEC_PER_SEC)
/* A child that finds no squeue prints this line: as an answer it has no meaning. */
#define NO_SQUEUE "NO_SQUEUE\n"
/* For the first id of an array or of a heterogeneous job squeue lists all elements and
 * components. */
#define ANSWER_LEN (1 << 20)

static const struct {
	const char *state, *reason; /* "": any */
	const char *meaning;
} meanings[] = {
	{"", "TimeLimit", "time limit"},  {"TIMEOUT", "", "time limit"},
	{"CANCELLED", "", "cancelled"},	  {"PREEMPTED", "", "preempted"},
	{"NODE_FAIL", "", "node failed"}, {"DEADLINE", "", "deadline"},
};

static const char *meaning_of(const char *state, const char *reason)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if ((!meanings[i].state[0] || !strcmp(meanings[i].state, state)) &&
		    (!meanings[i].reason[0] || !strcmp(meanings[i].reason, reason)))
			return meanings[i].meaning;
	return NULL;
}

bool end_reason__meaning(const char *text, uint32_t job_id, const char **meaning)
{
	char number[16], state[32], reason[64];
	const char *end;
	uint32_t id;
	int n;

	*meaning = NULL;
	for (; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		n = sscanf(text, "%15[0-9] %31[^ \n] %63[^ \n]", number, state, reason);
		if (n < 2 || parse_u32(number, &id) || id != job_id)
			continue;
		*meaning = meaning_of(state, n > 2 ? reason : "");
		return *meaning || !strcmp(state, "COMPLETING");
	}
	return false;
}

void end_reason__find_squeue(struct slurmd *slurmd, pid_t stepd)
{
	/* no search here: the file system of squeue may hang */
	if (slurmd__squeue(stepd, "slurmstepd", slurmd->squeue, sizeof(slurmd->squeue)))
		slurmd->squeue[0] = '\0';
}

void end_reason__begin(struct end_reason *w, const struct slurmd *slurmd, const char *node,
		       uint32_t job_id, uint64_t now_ns)
{
	*w = (struct end_reason){
		.fd = -1, .job_id = job_id, .next_ns = now_ns, .end_ns = now_ns + GIVE_UP_NS};
	if (slurmd)
		w->slurmd = *slurmd;
	str__copy(w->node, sizeof(w->node), node);
}

/* Paths that slurmstepd has not sent are taken from the node's slurmd. */
static void find_missing_paths(struct slurmd *slurmd, const char *node)
{
	struct slurmd found;

	if ((slurmd->squeue[0] && slurmd->conf[0]) || slurmd__find(&found, node))
		return;
	if (!slurmd->squeue[0])
		*slurmd = found;
	else if (!strcmp(slurmd->squeue, found.squeue))
		memcpy(slurmd->conf, found.conf, sizeof(slurmd->conf));
}

static void __attribute__((noreturn)) run_squeue(struct end_reason *w, int out, pid_t parent)
{
	char job[16], conf[SLURMD_PATH + 16];
	char *env[] = {conf, NULL};
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	child__begin();
	if (!child__end_with(parent, SIGKILL)) {
		find_missing_paths(&w->slurmd, w->node);
		snprintf(job, sizeof(job), "%u", w->job_id);
		snprintf(conf, sizeof(conf), "%s%s", w->slurmd.conf[0] ? "SLURM_CONF=" : "LANG=C",
			 w->slurmd.conf);
		if (w->slurmd.squeue[0])
			execle(w->slurmd.squeue, "squeue", "-h", "-t", "all", "-j", job, "-o",
			       "%A %T %r", (char *)NULL, env);
	}
	_exit(write(STDOUT_FILENO, NO_SQUEUE, strlen(NO_SQUEUE)) < 0 ? 126 : 127);
}

static void start_squeue(struct end_reason *w)
{
	pid_t parent = getpid();
	int p[2];

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK))
		return;
	fcntl(p[0], F_SETPIPE_SZ, ANSWER_LEN);
	w->pid = fork();
	if (!w->pid)
		run_squeue(w, p[1], parent);
	close(p[1]);
	if (w->pid < 0) {
		close(p[0]);
		w->pid = 0;
		return;
	}
	w->fd = p[0];
	w->asked++;
}

bool end_reason__advance(struct end_reason *w, uint64_t now_ns)
{
	if (w->answer[0] || now_ns >= w->end_ns) {
		end_reason__stop(w);
		return true;
	}
	if (!w->pid && now_ns >= w->next_ns) {
		w->next_ns = now_ns + (AGAIN_NS << w->asked);
		start_squeue(w);
	}
	return false;
}

static void read_answer(struct end_reason *w)
{
	char *text = malloc(ANSWER_LEN);
	const char *meaning;
	ssize_t n;

	if (!text)
		return;
	n = read_full(w->fd, text, ANSWER_LEN - 1);
	text[n > 0 ? n : 0] = '\0';
	/* only other lines, or a state that is no end: Slurm has not ended the step */
	if (n > 0 && !end_reason__meaning(text, w->job_id, &meaning))
		w->end_ns = 0;
	else if (n > 0 && meaning)
		str__copy(w->answer, sizeof(w->answer), meaning);
	free(text);
}

bool end_reason__reaped(struct end_reason *w, pid_t pid)
{
	if (!w->pid || w->pid != pid)
		return false;
	w->pid = 0;
	read_answer(w);
	close(w->fd);
	w->fd = -1;
	return true;
}

/* The loop reaps the killed squeue as an unknown child. */
void end_reason__stop(struct end_reason *w)
{
	if (!w->pid)
		return;
	kill(w->pid, SIGKILL);
	close(w->fd);
	w->fd = -1;
	w->pid = 0;
}
