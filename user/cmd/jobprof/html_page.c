/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages for a browser: JSON inside of the template that make builds from web/. The template has the
 * script that draws the JSON. */
#include "cmd/jobprof/html_page.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/outbuf.h"
#include "base/program.h"

#define TEMPLATE_MAX (4u << 20)
#define PLACE	     "<!--data-->" /* in the template, once: the JSON takes its place */

static const char *used;

void html_page__use(const char *template)
{
	used = template;
}

char *html_page__template(void)
{
	char path[PATH_MAX], *text = NULL;
	size_t n = 0;
	FILE *f;

	if (used)
		return strdup(used);
	program__find_data("web/report.html", "../share/jobprof/report.html", path, sizeof(path));
	f = fopen(path, "re");
	if (f)
		text = calloc(1, TEMPLATE_MAX + 1);
	if (text)
		n = fread(text, 1, TEMPLATE_MAX, f);
	if (f)
		fclose(f);
	if (n && strstr(text, PLACE))
		return text;
	log_error(
		"--html: %s: the page's template is not there: install node and npm, then \"make\" "
		"and \"make install\" make it",
		path);
	free(text);
	return NULL;
}

char *html_page__fill(const char *template, const char *place, json_t *json)
{
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL, *page = NULL;
	const char *at = strstr(template, place);
	size_t n;
	FILE *out = text ? open_memstream(&page, &n) : NULL;

	if (out) {
		fwrite(template, 1, (size_t)(at - template), out);
		for (const char *p = text; *p; p++)
			fprintf(out, strchr("<>&", *p) ? "\\u%04x" : "%c", (unsigned char)*p);
		fputs(at + strlen(place), out);
		if (fclose(out)) {
			free(page);
			page = NULL;
		}
	}
	json_decref(json);
	free(text);
	return page;
}

/* No byte of the JSON ends the script element or begins a comment: markup is escaped by the means
 * of JSON, and all that is not ASCII, such as line separators, is escaped already. */
static void put_json(struct outbuf *out, const char *json)
{
	for (const char *p = json; *p;) {
		const size_t n = strcspn(p, "<>&");

		outbuf__mem(out, p, n);
		p += n;
		if (!*p)
			break;
		outbuf__str(out, *p == '<' ? "\\u003c" : *p == '>' ? "\\u003e" : "\\u0026");
		p++;
	}
}

int html_page__put_text(int fd, const char *template, const char *json)
{
	const char *place = strstr(template, PLACE);
	struct outbuf out;
	int err = outbuf__init(&out, fd);

	if (err)
		return err;
	outbuf__mem(&out, template, (size_t)(place - template));
	put_json(&out, json);
	outbuf__str(&out, place + strlen(PLACE));
	return outbuf__end(&out);
}

int html_page__put(int fd, const char *template, json_t *json)
{
	char *text =
		json ? json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15))
		     : NULL;
	int err = text ? html_page__put_text(fd, template, text) : -ENOMEM;

	json_decref(json);
	free(text);
	return err;
}

bool html_page__is_input(const char *path, const struct job_input *inputs, unsigned n)
{
	struct stat a, b;

	for (unsigned i = 0; i < n; i++)
		if (!stat(path, &a) && !stat(inputs[i].path, &b) && a.st_dev == b.st_dev &&
		    a.st_ino == b.st_ino) {
			log_error("%s: cannot be written: it is what is read", path);
			return true;
		}
	return false;
}
