/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all pages of serve have: the shell that the JSON of a page is put into, its script and
 * style, the JSON about the viewer, the output of a verb, and the page that says why there is none.
 */
#ifndef JP_CMD_JOBPROF_SERVE_SHELL_H
#define JP_CMD_JOBPROF_SERVE_SHELL_H

#include <jansson.h>

#include "cmd/jobprof/serve_page.h"

/* The shell with the way to its script and style, and with the JSON of serve_shell__site(), which
 * is released. NULL: no memory. */
char *serve_shell__fill(const struct serve_site *s, const struct http_request *r, json_t *site);
/* What each page knows: its name and arguments, the command line that prints the same (or NULL,
 * which is freed here), who asks, and whose jobs the asker sees. */
json_t *serve_shell__site(const struct serve_site *s, const struct http_request *r,
			  const char *page, char *command);
/* The address of the style, from a page. False: the shell has none. */
bool serve_shell__style(const struct serve_site *s, const struct http_request *r, char *text,
			size_t size);
/* Writes a page of JSON as text. 0 or 1. */
int serve_shell__print(const struct serve_site *s, const struct http_request *r, json_t *site,
		       const char *data);

/* Runs a verb with its output in *fd, a file in memory. Its exit status. */
int serve_shell__run(int (*verb)(int argc, char **argv), int argc, char **argv, int *fd);

/* Takes back what was written, as a part of a page that failed: standard output is a file in memory
 * (http/answer.c). 0 or -1. */
int serve_shell__begin_anew(void);
/* Writes a page that says what the status means here, in place of what was written before; as text
 * where it cannot, or *type is not HTML. what: what is wrong with the address, or NULL. Returns the
 * status. */
int serve_shell__refuse(const struct serve_site *s, const struct http_request *r, int status,
			const char *what, enum http_type *type);

/* The script or the style, by the name that the shell has for it: it changes with the contents. The
 * status. */
int serve_shell__asset(const struct serve_site *s, const char *name, enum http_type *type);

#endif
