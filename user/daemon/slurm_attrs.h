/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes from what Slurm's plugins have sent about a step: they outrank what its environment
 * says. */
#ifndef JP_DAEMON_SLURM_ATTRS_H
#define JP_DAEMON_SLURM_ATTRS_H

struct step;

void step__put_slurm_attrs(struct step *s);

#endif
