/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom support has written to and why, and what became of it. */
#ifndef JP_INDEX_CONTACT_H
#define JP_INDEX_CONTACT_H

#include "index/query.h"

/* What a contact was about. NULL: any. */
struct contact {
	int64_t id;
	double at; /* Unix time */
	const char *who, *user, *account, *rule, *signature, *ticket, *text;
	int64_t job; /* 0: none in particular */
};

/* 0 or -errno. */
int contact__add(struct index *ix, const struct contact *c);
/* Removes the latest contact about that word, which is a user or a signature, or about like->job of
 * like->user, that has the rule, ticket, text and time (NaN: any) of *like. 0;
 * -ENOENT: there is none; -errno. *removed points into *texts. */
int contact__remove(struct contact *removed, struct index *ix, const char *word,
		    const struct contact *like, struct string_list *texts);

#define CONTACT_BEFORE_S (6 * 7 * 86400.0)
#define CONTACT_AFTER_S	 (8 * 7 * 86400.0)

/* What the jobs of a contact's user or signature lost before it and after it. */
struct advice {
	double runs_before, runs_after;
	double weeks_before, weeks_after; /* of which the index has rows */
	double lost_before, lost_after;	  /* core-s a week; NaN: no jobs */
	/* The loss if the core time after the contact had the share that was lost before: less use
	 * of the machine is no success. */
	double expected;
	double saved; /* core-s a week: expected - lost_after; NaN: not known */
	const char
		*verdict; /* "helped", "helped a little", "no change", "worse", "too early", ... */
	bool has_helped;
};

/* What became of several contacts. Begins zeroed. */
struct advice_sum {
	unsigned n, helped, known; /* known: those whose saving is known */
	double saved,
		saved_by_all; /* core-s a week: by those that helped, by those that are known */
};

void contact__add_up(struct advice_sum *s, const struct advice *a);

/* Called with a contact and what became of it. A value other than 0 ends contact__each(), which
 * returns it. */
typedef int contact_take(void *arg, const struct contact *c, const struct advice *a);
/* All contacts since then that the reader may see, the latest first. 0 or -errno. */
int contact__each(struct index *ix, double since, const struct viewer *v, contact_take *take,
		  void *arg);

#endif
