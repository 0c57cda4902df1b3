/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mail about a job or an array, as sendmail -t reads it: the same lines as text and HTML
 * (multipart/alternative, base64). Names of users cannot become headers or markup.
 */
#ifndef JP_VIEW_SITE_MAIL_H
#define JP_VIEW_SITE_MAIL_H

#include <stdbool.h>
#include <stdio.h>

#include "view/site/seff.h"

struct mail {
	const char *to;	     /* a text that mail__is_address() accepts */
	const char *subject; /* any text */
	const char *id;	     /* of Message-ID, without <>: letters, digits and ".-_@" */
	double at;	     /* Unix time, for Date */
	const char *text;    /* UTF-8 or ASCII */
	const char *html;    /* a whole document */
};

/* Whether it can be a header's list of addresses, as alice@site.org,bob: visible ASCII without
 * blanks and without the characters of comments, groups and routes. */
bool mail__is_address(const char *text);

/* Returns the whole mail; the caller frees it. NULL: no memory. */
char *mail__compose(const struct mail *m);

/* The body of a mail: lines "NAME: VALUE", and findings. */
struct mail_body {
	const char *head;      /* the first sentence; any text */
	const char *lines;     /* as seff prints them; "": nothing is known */
	const struct row *row; /* its findings are listed; NULL: none */
	const char *command;   /* a command that explains more; NULL: none */
	bool says_end;	       /* the job has ended */
};

void mail_body__print_text(const struct mail_body *b, FILE *out);
void mail_body__print_html(const struct mail_body *b, FILE *out);

#endif
