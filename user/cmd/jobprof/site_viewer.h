/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who asks the index, and whose jobs the asker may see: own ones; those of accounts that Slurm says
 * the asker coordinates; all, for root, members of ViewGroups and StaffGroups, and the owner of the
 * index. Who sees jobs of others is written to the system's log.
 */
#ifndef JP_CMD_JOBPROF_SITE_VIEWER_H
#define JP_CMD_JOBPROF_SITE_VIEWER_H

#include <jansson.h>

#include "base/config/config.h"
#include "index/query.h"

enum site_role { ROLE_USER, ROLE_VIEW, ROLE_STAFF };

/* The keys of jobprof.conf that are about rights. */
void site_viewer__configure(const struct config *c);

/* Makes this process, a child of a server, ask for that user (NULL: for its own), and of the index
 * at that place alone. address: what the user asked for, for the log. All texts are to last. */
void site_viewer__ask_for(const char *user, const char *where, const char *address);
/* After it: this process sees the jobs of that account alone, in the place of a user's. The text is
 * to last. */
void site_viewer__see_account(const char *account);
/* The place that site_viewer__ask_for() got, or NULL. */
const char *site_viewer__where(void);

enum site_role site_viewer__role(const char *user);
/* Appends the members of the groups that see all. 0 or -ENOMEM. */
int site_viewer__list_staff(struct string_list *users);
/* Whether coordinators see sums alone. */
bool site_viewer__are_sums(void);

/* Fills *v. path: the index; is_own: it is the user's own. */
void site_viewer__init(struct viewer *v, const char *path, bool is_own);
/* With the index open, adds the rights of a coordinator to ask what the filter asks; of_sums: only
 * sums over many jobs are printed. 0 or -errno. */
int site_viewer__add_accounts(struct viewer *v, struct index *ix, const struct job_filter *f,
			      bool of_sums);
/* Writes to the system's log that this viewer looks at jobs of others, if the filter does not rule
 * them out; once in a process. */
void site_viewer__log(const struct viewer *v, const struct job_filter *f);
/* "all", "own", or a list of accounts. */
json_t *site_viewer__sees(const struct viewer *v, struct index *ix);

/* Where this process asks for a user who does not see all: the only user whose files it may read
 * that no row of the index names. NULL: anybody's. */
const char *site_viewer__only_user(void);
/* Where this process asks for a user: from now on it opens only files of this owner of a job, and
 * of those that it was given before. */
void site_viewer__limit_files(const char *owner);

#endif
