/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What serve answers: its addresses, and which verb says what is on each page. */
#ifndef JP_CMD_JOBPROF_SERVE_PAGE_H
#define JP_CMD_JOBPROF_SERVE_PAGE_H

#include "http/http.h"

struct serve_site {
	const char *where;   /* the index; NULL: the user's own */
	bool is_own;	     /* it is asked by the user of this process alone */
	char *shell;	     /* a page without its contents */
	char path[4096];     /* where it is, with its script and style beside it */
	const char *pages;   /* the names of all, with blanks between them */
	const char *shown;   /* whose pages these are; NULL: who asks */
	const char *account; /* the jobs of this account alone, whoever asks; NULL: of who asks */
	/* Where pages are files: the way from their folder to that of "assets", and which there
	 * are, with blanks between them. */
	const char *up, *files;
};

/* Reads the shell. 0, or the exit status, logged. */
int serve_site__open(struct serve_site *s);
void serve_site__close(struct serve_site *s);

/* As http_answer; arg: the struct serve_site. */
int serve_page__answer(void *arg, const struct http_request *r, enum http_type *type);
/* As http_rights. */
void serve_page__rights(void *arg, const struct http_address *a, const char *user,
			char word[static HTTP_RIGHTS]);

#endif
