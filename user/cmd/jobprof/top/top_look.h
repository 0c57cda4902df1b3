/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobprof top looks at, again and again: jobprofd on this node, or the files of one job. */
#ifndef JP_CMD_JOBPROF_TOP_LOOK_H
#define JP_CMD_JOBPROF_TOP_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/jobprof/top/top_files.h"
#include "cmd/jobprof/top/top_node.h"
#include "cmd/jobprof/top/top_text.h"

#define TOP_JOBS 1024u /* an array's tasks */

struct top {
	const char *job, *where; /* -j, -p; NULL: not given */
	uint32_t job_id; /* of jobprofd's question: JPC_ALL, or that of -j; 0: -j are several */
	uint32_t jobs[TOP_JOBS];
	unsigned njobs;
	double delay;
	bool of_files; /* rows are nodes, from files */
	char about[96];
	struct top_rows rows;
	struct top_view view;
	struct top_node node;
	struct top_files files;
	struct top_layout layout;
	char trouble[256]; /* why the last look failed; "": it did not */
};

/* The first look, which finds out what there is to look at. 0, or the exit status, logged. */
int top__begin(struct top *t);
/* Another look; where that fails the rows stay, and trouble has the reason. */
void top__look(struct top *t);
/* Puts rows in order and columns to the width. */
void top__arrange(struct top *t, unsigned width);
struct top_head top__head(const struct top *t);
void top__free(struct top *t);

/* The screen with its keys: until the user ends it, or after so many looks (0: no end). Returns the
 * exit status. */
int top_keys__run(struct top *t, unsigned rounds);

#endif
