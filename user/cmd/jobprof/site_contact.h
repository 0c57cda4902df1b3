/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A contact and what became of it, as a row of a table. */
#ifndef JP_CMD_JOBPROF_SITE_CONTACT_H
#define JP_CMD_JOBPROF_SITE_CONTACT_H

#include "cmd/jobprof/site_args.h"
#include "index/contact.h"

extern const struct site_column site_contact__columns[];
extern const unsigned site_contact__ncolumns;

/* 0 or -ENOMEM. */
int site_contact__add(struct site_table *t, const struct contact *c, const struct advice *a);
/* Whether the contact's user and project are of the filter's; what else it says is not known of
 * contacts. */
bool site_contact__is_of(const struct contact *c, const struct job_filter *f);

#endif
