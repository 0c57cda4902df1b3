/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages for a browser: the template that make builds from web/, with JSON inside; its script draws
 * what the JSON has. */
#ifndef JP_CMD_JOBPROF_HTML_PAGE_H
#define JP_CMD_JOBPROF_HTML_PAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "model/job/job.h"

/* Reads the template. The caller frees it; NULL: it is missing or incomplete, which is logged. */
char *html_page__template(void);
/* From now on html_page__template() gives a copy of this text: of a server, whose pages have their
 * script and style elsewhere. It is to last. */
void html_page__use(const char *template);
/* Whether a file is one of the inputs, which is logged as an error. */
bool html_page__is_input(const char *path, const struct job_input *inputs, unsigned n);
/* Writes the page of a JSON object, and releases the object; NULL means that there is no memory. 0
 * or -errno. */
int html_page__put(int fd, const char *template, json_t *json);
/* The same of JSON as text, in ASCII. */
int html_page__put_text(int fd, const char *template, const char *json);
/* The template with a JSON object, which is released, at another place that it has. The caller
 * frees it; NULL: no memory. */
char *html_page__fill(const char *template, const char *place, json_t *json);

#endif
