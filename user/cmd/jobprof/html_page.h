/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages for a browser: JSON inside of the template that make builds from web/, which draws by what
 * it is given. */
#ifndef JP_CMD_JOBPROF_HTML_PAGE_H
#define JP_CMD_JOBPROF_HTML_PAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "model/job/job.h"

/* The caller frees it; NULL: it is not there, or not whole, which has been said. */
char *html_page__template(void);
/* Whether a file is one of the inputs, which it says as an error. */
bool html_page__is_input(const char *path, const struct job_input *inputs, unsigned n);
/* Writes the page of a JSON object, which it takes; NULL is out of memory. 0 or -errno. */
int html_page__put(int fd, const char *template, json_t *json);

#endif
