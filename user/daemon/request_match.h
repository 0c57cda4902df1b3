/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests of steps (request.h) and the steps that they are of. A key stands for a step whose
 * cgroup is there. */
#ifndef JP_DAEMON_REQUEST_MATCH_H
#define JP_DAEMON_REQUEST_MATCH_H

#include "daemon/request.h"

struct daemon;
struct step;

struct step *daemon_find_step(const struct daemon *d, const struct step_key *p);
bool daemon_step_has_key(const struct daemon *d, const struct step *s, const struct step_key *p);
/* NULL: it is not there any more. */
struct request *daemon_find_request(const struct daemon *d, uint64_t serial);
/* The request of the step of that key; make: a new one if there is none. NULL: none, no memory. */
struct request *daemon_request_of(struct daemon *d, const struct step_key *p, bool make);
/* Gives steps their requests, and forgets those whose steps have not come. */
void daemon_claim_requests(struct daemon *d, uint64_t now);
/* Journals the rows of external series that requests have. */
void daemon_journal_external(struct daemon *d);

#endif
