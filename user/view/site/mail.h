/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mail on a job or an array, as sendmail -t takes it: text and HTML of the same lines
 * (multipart/alternative, base64). Names of users become neither headers nor markup.
 */
#ifndef JP_VIEW_SITE_MAIL_H
#define JP_VIEW_SITE_MAIL_H

#include <stdbool.h>
#include <stdio.h>

#include "view/site/seff.h"

struct mail {
	const char *to;	     /* mail__is_address() */
	const char *subject; /* any text */
	const char *id;	     /* of Message-ID, without <>: letters, digits and ".-_@" */
	double at;	     /* Unix time, for Date */
	const char *text;    /* UTF-8 or ASCII */
	const char *html;    /* a whole document */
};

/* Whether it can be a header's list of addresses, alice@site.org,bob: visible ASCII without blanks,
 * and without the characters of comments, groups and routes. */
bool mail__is_address(const char *text);

/* The whole mail; the caller frees it. NULL: no memory. */
char *mail__compose(const struct mail *m);

/* What a mail is about: lines "NAME: VALUE", and findings. */
struct mail_body {
	const char *head;      /* its first sentence; any text */
	const char *lines;     /* as seff prints them; "": nothing is known */
	const struct row *row; /* whose findings are listed; NULL: none */
	const char *command;   /* that prints more; NULL: there is none */
	bool says_end;	       /* it is about a job that has ended */
};

void mail_body__print_text(const struct mail_body *b, FILE *out);
void mail_body__print_html(const struct mail_body *b, FILE *out);

#endif
