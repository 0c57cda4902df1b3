/* SPDX-License-Identifier: GPL-2.0-only */
/* A unit of a job as a message: its totals, and the bins that are kept of it. */
#ifndef JP_MODEL_JOB_MESSAGE_H
#define JP_MODEL_JOB_MESSAGE_H

#include "model/binned.h"
#include "pool/pool.h"

/* Takes the bins that a unit of a series keeps; series NULL: of a node, all of them and `held`. */
void job_message__put_unit(struct message *m, const struct binner *b, const char *series);

/* Makes a binner of it, which has been made for the grid. 0; -EBADMSG. */
int job_message__take_unit(struct message *m, struct binner *b, const char *series);

#endif
