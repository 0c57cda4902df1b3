// SPDX-License-Identifier: GPL-2.0-or-later
/* Learns why Slurm ended a step: runs squeue, and reads its lines. */
#include "daemon/child/end_reason.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

/* While a job completes squeue tells a time limit at once, but "cancelled" only after it. */
#define AGAIN_NS   (400 * 1000 * 1000ull)
#define GIVE_UP_NS (20 * NSEC_PER_SEC)

static const struct {
	const char *state, *reason; /* "": any */
	const char *meaning;
} meanings[] = {
	{"", "TimeLimit", "time limit"},
	{"TIMEOUT", "", "time limit"},
	{"CANCELLED", "", "cancelled"},
	{"PREEMPTED", "", "preempted"},
	{"NODE_FAIL", "", "node failed"},
	{"DEADLINE", "", "deadline"},
	/* a job that ran and waits to run again: the least time that a requeued job waits, or
	   Slurm's reason that the job is held */
	{"REQUEUED", "", "requeued"},
	{"REQUEUE_HOLD", "", "requeued"},
	{"REQUEUE_FED", "", "requeued"},
	{"SPECIAL_EXIT", "", "requeued"},
	{"PENDING", "BeginTime", "requeued"},
	{"PENDING", "None", "requeued"},
	{"PENDING", "JobHeldUser", "requeued"},
	{"PENDING", "JobHeldAdmin", "requeued"},
};

static const char *meaning_of(const char *state, const char *reason)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if ((!meanings[i].state[0] || !strcmp(meanings[i].state, state)) &&
		    (!meanings[i].reason[0] || !strcmp(meanings[i].reason, reason)))
			return meanings[i].meaning;
	return NULL;
}

/* A job that runs again by now, as a job does at once when its time to begin is changed. */
static bool was_restarted(const char *count, uint32_t before)
{
	uint32_t now;

	return before != UINT32_MAX && !parse_u32(count, &now) && now > before;
}

bool end_reason__meaning(const char *text, uint32_t job_id, uint32_t restarts, const char **meaning)
{
	char number[16], state[32], count[16], reason[64];
	const char *end;
	uint32_t id;
	int n;

	*meaning = NULL;
	for (; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		n = sscanf(text, "%15[0-9] %31[^ \n] %15[^ \n] %63[^ \n]", number, state, count,
			   reason);
		if (n < 2 || parse_u32(number, &id) || id != job_id)
			continue;
		*meaning = meaning_of(state, n > 3 ? reason : "");
		if (!*meaning && n > 2 && was_restarted(count, restarts))
			*meaning = "requeued";
		return *meaning || !strcmp(state, "COMPLETING");
	}
	return false;
}

void end_reason__find_squeue(struct slurmd *slurmd, pid_t stepd)
{
	/* squeue is not searched for here, since its file system may hang */
	if (slurmd__squeue(stepd, "slurmstepd", slurmd->squeue, sizeof(slurmd->squeue)))
		slurmd->squeue[0] = '\0';
}

void end_reason__begin(struct end_reason *w, const struct slurmd *slurmd, const char *node,
		       uint32_t job_id, uint32_t restarts, uint64_t now_ns)
{
	*w = (struct end_reason){.job_id = job_id,
				 .restarts = restarts,
				 .next_ns = now_ns,
				 .end_ns = now_ns + GIVE_UP_NS};
	slurm_command__init(&w->squeue, slurmd, node);
}

static void start_squeue(struct end_reason *w)
{
	char job[16];
	const char *const argv[] = {
		"squeue", "-h", "-t", "all",
		"-j",	  job,	"-O", "JobID:15,State:31,RestartCnt:15,Reason:63",
		NULL};

	snprintf(job, sizeof(job), "%u", w->job_id);
	w->asked += slurm_command__start(&w->squeue, argv);
}

bool end_reason__advance(struct end_reason *w, uint64_t now_ns)
{
	if (w->answer[0] || now_ns >= w->end_ns) {
		end_reason__stop(w);
		return true;
	}
	if (!w->squeue.pid && now_ns >= w->next_ns) {
		w->next_ns = now_ns + (AGAIN_NS << w->asked);
		start_squeue(w);
	}
	return false;
}

static void take_answer(struct end_reason *w, const char *text)
{
	const char *meaning;

	/* only other lines, or a state that is no end: Slurm has not ended the step */
	if (!end_reason__meaning(text, w->job_id, w->restarts, &meaning))
		w->end_ns = 0;
	else if (meaning)
		str__copy(w->answer, sizeof(w->answer), meaning);
}

bool end_reason__reaped(struct end_reason *w, pid_t pid)
{
	char *text;

	if (!slurm_command__reaped(&w->squeue, pid, &text))
		return false;
	if (text)
		take_answer(w, text);
	free(text);
	return true;
}

void end_reason__stop(struct end_reason *w)
{
	slurm_command__stop(&w->squeue);
}
