/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a step's tasks and ranks execute, with which libraries, and on which CPUs they may run. A
 * helper reads this when a task is first seen, and then less and less often. The program is that of
 * the process with most CPU time so far; the other values are those last seen.
 */
#ifndef JP_DAEMON_STEP_TASK_ABOUT_H
#define JP_DAEMON_STEP_TASK_ABOUT_H

#include "daemon/step/step.h"

struct task_about {
	int kind;	/* KIND_TASKS or KIND_RANKS */
	int number;	/* number of the task or rank */
	uint32_t slot;	/* slot of the last question */
	uint32_t first; /* first process of that slot */
	uint64_t asked_ns;
	uint64_t due_ns;  /* when the next question is due */
	uint64_t wait_ns; /* the time from that question to the one after it */
	bool asking;
	bool changed;	       /* since the attributes were last put into a frame */
	bool in_frame;	       /* the attributes are in the frame that is being built */
	struct proc_cpus cpus; /* cpus 0: not known */
	pid_t pid;	       /* of the program; 0: not known */
	uint64_t ticks;
	struct proc_program program;
	struct proc_libraries libraries;
};

/* Asks the questions that are due. The step's slots must have been collected. */
void task_about__ask(struct step *s, const struct step_env *env, uint64_t now_ns);
/* All are due now: the step does something else than before. */
void task_about__again(struct step *s, uint64_t now_ns);
/* When task_about__ask() is due for tasks that are known; UINT64_MAX: for none. */
uint64_t task_about__due(const struct step *s);
/* Takes an answer to LOOKUP_PROGRAM or LOOKUP_LIBRARIES. */
void task_about__answered(struct step *s, const struct step_env *env, const struct lookup *q,
			  const struct lookup_answer *a);
void task_about__end_frame(struct step *s, enum frame_end end);

#endif
