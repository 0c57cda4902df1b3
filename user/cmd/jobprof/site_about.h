/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every page says beside its table: how old the index is, which words its jobs have. */
#ifndef JP_CMD_JOBPROF_SITE_ABOUT_H
#define JP_CMD_JOBPROF_SITE_ABOUT_H

#include <jansson.h>

/* Adds to the object, as far as they are known: "fed_at", when the index read last; "words", lists
 * of the states, partitions, findings and tags that a filter may have; "prices" of the site; whose
 * jobs the viewer sees: "sees" as site_viewer__sees(), "sees_all". */
void site_about__add(json_t *site);

#endif
