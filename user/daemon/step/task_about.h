/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a step's tasks, and the ranks within them, execute, with which libraries, and on which CPUs
 * they may run: a helper reads it when one is first seen, and then more and more rarely. The
 * program is that of the process that was seen with most CPU time; all else is as it was last seen.
 */
#ifndef JP_DAEMON_STEP_TASK_ABOUT_H
#define JP_DAEMON_STEP_TASK_ABOUT_H

#include "daemon/step/step.h"

struct task_about {
	int kind;	/* KIND_TASKS or KIND_RANKS, */
	int number;	/* and which of them */
	uint32_t slot;	/* of the last question, */
	uint32_t first; /* and its first process */
	uint64_t asked_ns;
	uint64_t due_ns;  /* of the next question, */
	uint64_t wait_ns; /* and the time from that to the one after it */
	bool asking;
	bool changed;	       /* since the attributes were written; */
	bool in_frame;	       /* they are in the frame that is being built */
	struct proc_cpus cpus; /* cpus 0: not known */
	pid_t pid;	       /* of the program; 0: not known */
	uint64_t ticks;
	struct proc_program program;
	struct proc_libraries libraries;
};

/* Asks what is due. The step's slots must be collected. */
void task_about__ask(struct step *s, const struct step_env *env, uint64_t now_ns);
/* When task_about__ask() is due for tasks that are known; UINT64_MAX: for none. */
uint64_t task_about__due(const struct step *s);
/* Takes an answer to LOOKUP_PROGRAM or LOOKUP_LIBRARIES. */
void task_about__answered(struct step *s, const struct step_env *env, const struct lookup *q,
			  const struct lookup_answer *a);
void task_about__end_frame(struct step *s, enum frame_end end);

#endif
