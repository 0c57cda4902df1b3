/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contacts: to whom support has written, why, and whether it helped. */
#ifndef JP_INDEX_CONTACT_H
#define JP_INDEX_CONTACT_H

#include "index/query.h"

/* A contact; a text that was not given is NULL. */
struct contact {
	int64_t id;
	double at; /* Unix time */
	const char *who, *user, *account, *rule, *signature, *ticket, *text;
	int64_t job; /* 0: no particular one */
	const char
		*name; /* of a job of the signature; NULL: not known, and never of contact__add() */
};

/* Stores a contact. 0 or -errno, logged. */
int contact__add(struct index *ix, const struct contact *c);
/* Deletes the latest contact about `word`, a user or a signature, or about job like->job of
 * like->user. It must also have the rule, the ticket, the text and the time (NaN: any) of *like.
 * *removed points into *texts. 0; -ENOENT: there is none; -errno. */
int contact__remove(struct contact *removed, struct index *ix, const char *word,
		    const struct contact *like, struct string_list *texts);

#define CONTACT_BEFORE_S (6 * 7 * 86400.0)
#define CONTACT_AFTER_S	 (8 * 7 * 86400.0)
#define CONTACT_WEEKS	 14 /* of these, the contact is at the end of the sixth */

/* What the jobs that a contact was about did before and after it. */
struct advice {
	double runs_before, runs_after;
	double weeks_before, weeks_after; /* that the index covers */
	double lost_before, lost_after;	  /* core-s per week; NaN: no jobs */
	/* core-s per week that would be lost if the core time after the contact had the lost share
	 * of before: a user who only computes less has not improved. */
	double expected;
	double saved; /* core-s per week: expected - lost_after; NaN: unknown */
	const char
		*verdict; /* "helped", "helped a little", "no change", "worse", "too early", ... */
	bool has_helped;
	double week_lost[CONTACT_WEEKS]; /* core-s; NaN: not known, or still to come */
};

/* The results of several contacts. Begins zeroed. */
struct advice_sum {
	unsigned n, helped, known;  /* known: those whose saving is known */
	double saved, saved_by_all; /* core-s per week: of those that helped; of the known ones */
};

void contact__add_up(struct advice_sum *s, const struct advice *a);

/* The last contact with the user about the rule, or about no particular one, in jobs of the
 * signature or in all, that the viewer may see. 0; -ENOENT: there is none; -errno. *c points into
 * *texts. */
int contact__last(struct contact *c, struct advice *a, struct index *ix, const struct viewer *v,
		  const struct contact *like, struct string_list *texts);

/* Called with a contact and its result. What it returns, if not 0, ends the reading. */
typedef int contact_take(void *arg, const struct contact *c, const struct advice *a);
/* Calls take with each contact since that Unix time (NaN: all) that the viewer may see, the latest
 * first. 0, -errno, or what take returned. */
int contact__each(struct index *ix, double since, const struct viewer *v, contact_take *take,
		  void *arg);

#endif
