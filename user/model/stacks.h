/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of a file (tables Stacks and CallTree), of all nodes and steps together. */
#ifndef JP_MODEL_STACKS_H
#define JP_MODEL_STACKS_H

#include "base/id_table.h"
#include "jobfile/select.h"

struct model_file;

/* A function of a stack below its caller: a row of CallTree. */
struct stack_frame {
	uint64_t id, parent; /* 0: none */
	uint64_t module, offset;
};

/* A row of Stacks. */
struct stack_count {
	uint32_t frame; /* index in frames */
	int task;
	double end_s; /* of the interval, since the step began */
	double samples, seconds;
};

struct stacks {
	struct stack_frame *frames;
	struct stack_count *counts;
	struct id_table frame_of;  /* by id */
	struct id_table module_of; /* by hash: the index in modules */
	char **modules;		   /* "BUILDID PATH", or a name in brackets and perhaps more */
	unsigned nframes, ncounts, nmodules;
	unsigned orphans; /* rows whose stack is not in the file, or whose values are no numbers */
	double no_room;	  /* samples and gaps for whose functions the tree had no room at all */
	int64_t lost, cut_maps; /* the attributes Lost Stacks and Cut Maps */
};

/* Reads the steps, nodes and tasks that sel selects. 0; -ENODATA: the file has no stacks; -ESRCH:
 * it has none of those tasks; -EBADMSG: damaged; -EMSGSIZE: more than are followed; -ENOMEM.
 * stacks__free() in all cases. */
int stacks__read(struct stacks *out, const struct model_file *f, const struct selection *sel);
/* Opens the file and does what stacks__read() does; also the errors of model_file__open(). */
int stacks__read_file(struct stacks *out, const char *path, const struct selection *sel);
void stacks__free(struct stacks *s);
/* The name of a frame's module; "?": the file does not have it. */
const char *stacks__module(const struct stacks *s, const struct stack_frame *n);

#endif
