/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests (request.h) and the steps to which they belong. A key finds a step only while the step's
 * cgroup is there. */
#ifndef JP_DAEMON_FOLLOW_REQUEST_MATCH_H
#define JP_DAEMON_FOLLOW_REQUEST_MATCH_H

#include "daemon/step/request.h"

struct step;
struct step_env;

/* The step of the list that has the key and has not ended, or NULL. */
struct step *request_match__find_step(struct step *steps, const struct step_key *p);
bool request_match__has_key(const struct step *s, const struct step_key *p);
/* The request of that serial. NULL: it has been freed. */
struct request *request_match__of_serial(const struct step_env *env, uint64_t serial);
/* The request of the step of that key; make: a new one if there is none. NULL: none, no memory. */
struct request *request_match__of_step(const struct step_env *env, const struct step_key *p,
				       bool make);
/* Gives steps their requests, and frees requests whose steps have not come. */
void request_match__claim(const struct step_env *env, uint64_t now);
/* Journals the rows of external series that requests have. */
void request_match__journal_external(struct step *steps, const struct step_env *env);

#endif
