/* SPDX-License-Identifier: GPL-2.0-only */
/* Every step goes forward as far as it can: from NEW to DONE (step.h). */
#ifndef JP_DAEMON_ADVANCE_H
#define JP_DAEMON_ADVANCE_H

#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct step;

void daemon_advance(struct daemon *d, uint64_t now);
/* Some step waits for something soon. */
bool step_list__busy(const struct step *steps, uint64_t now);

#endif
