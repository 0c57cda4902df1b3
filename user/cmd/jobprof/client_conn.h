/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connection of verbs that send a message to jobprofd and wait for the reply. */
#ifndef JP_CMD_JOBPROF_CLIENT_CONN_H
#define JP_CMD_JOBPROF_CLIENT_CONN_H

#include <stddef.h>
#include <stdint.h>

#include "base/options.h"
#include "client/client.h"

#define CLIENT_CONN_TIMEOUT_MS 5000

/* Where jobprof run listens, by its process id, which outside of Slurm is also its job's id. */
#define CLIENT_CONN_RUN_DIR  "/run/jobprof"
#define CLIENT_CONN_RUN_FORM "run-%d.sock"

/* Logs why a message had no effect, and what to do; err is a negative errno, text is the reply's
 * text or "". Returns the exit status. */
int client_conn__failed(int err, const char *text);
/* The same as a text. */
void client_conn__explain(char *to, size_t size, int err, const char *text);
/* 0, or the exit status. */
int client_conn__open(struct client *c);
/* Sends a message whose head is filled in, and waits for the reply. 0, or the exit status. */
int client_conn__call(struct client *c, void *message);

/* Takes the option --time: seconds since 1970 with fractions, into an int64_t of ns. 0, or the exit
 * status. */
int client_conn__parse_time(void *to, const struct opt *o, const char *text);
int64_t client_conn__now_ns(void);

#endif
