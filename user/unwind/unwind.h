/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of programs without frame pointers. The kernel side copies the registers and the top of a
 * thread's stack; the tables for exceptions (.eh_frame) of the mapped files say where each function
 * stores the registers of its caller. The input is hostile: this code runs in a helper process of
 * its own, which may hang or end.
 */
#ifndef JP_UNWIND_UNWIND_H
#define JP_UNWIND_UNWIND_H

#include "bpf/jobprof.h"

struct unwinder;

/* source: a socket to the process that opens files (unwind/code_source.h). NULL: no memory. */
struct unwinder *unwinder__new(int source);
void unwinder__free(struct unwinder *u);
/* Fills in the key's hash and the frames. User frames reach as far out as the tables and the copy
 * allow; the innermost one is always set. The process is read if it still lives; with u NULL it is
 * not read, and the stack has the innermost frame only. */
void unwinder__stack(struct unwinder *u, const struct jp_stack_copy *c, struct jp_stack_key *key,
		     struct jp_stack *out);

#endif
