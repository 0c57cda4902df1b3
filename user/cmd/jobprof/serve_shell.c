/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shell of all pages, and what each page knows of the one who asks. */
#include "cmd/jobprof/serve_shell.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/program.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/site_about.h"

#define SHELL_MAX 65536
#define PLACE	  "<!--site-->" /* in the shell, once: what all pages have */
#define ROOT	  "%root%"	/* there, too: the way to the folder of "assets" */

/* The way from a page to the folder of all pages: it is relative, as the site's web server may
 * have them below any folder. */
static const char *root_of(const char *path)
{
	static const char ups[] = "../../../../../../../../";
	size_t depth = 0;

	for (const char *p = path + 1; *p; p++)
		depth += *p == '/';
	return depth * 3 < sizeof(ups) ? ups + sizeof(ups) - 1 - depth * 3 : ups;
}

static json_t *words_json(const char *words)
{
	json_t *a = json_array();
	size_t n;

	for (const char *p = words; *p; p += n + (p[n] == ' ')) {
		n = strcspn(p, " ");
		json_array_append_new(a, json_stringn(p, n));
	}
	return a;
}

json_t *serve_shell__site(const struct serve_site *s, const struct http_request *r,
			  const char *page, char *command)
{
	json_t *o = json_object(), *args = json_object();

	for (unsigned i = 0; i < r->address.nargs; i++)
		json__set(args, r->address.args[i].name, json__text(r->address.args[i].value));
	json__set(o, "page", json__text(page));
	json__set(o, "root", json__text(root_of(r->address.path)));
	json__set(o, "is_static", json_boolean(s->up));
	if (s->files)
		json__set(o, "files", words_json(s->files));
	json__set(o, "arguments", args);
	json__set(o, "command", command ? json__text(command) : json_null());
	json__set(o, "user", json__text(s->shown ? s->shown : r->user));
	json__set(o, "sees", json__text("own"));
	json__set(o, "sees_all", json_false());
	json__set(o, "now", json_integer(time(NULL)));
	json__set(o, "version", json__text(JOBPROF_VERSION));
	json__set(o, "pages", words_json(s->files ? s->files : s->pages ? s->pages : ""));
	site_about__add(o);
	free(command);
	return o;
}

char *serve_shell__fill(const struct serve_site *s, const struct http_request *r, json_t *site)
{
	char *text = NULL, *page;
	const char *p = s->shell, *at;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	for (; out && (at = strstr(p, ROOT)); p = at + strlen(ROOT))
		fprintf(out, "%.*s%s%s", (int)(at - p), p, root_of(r->address.path),
			s->up ? s->up : "");
	if (out)
		fputs(p, out);
	if (!out || fclose(out)) {
		json_decref(site);
		return NULL;
	}
	page = html_page__fill(text, PLACE, site);
	free(text);
	return page;
}

bool serve_shell__style(const struct serve_site *s, const struct http_request *r, char *text,
			size_t size)
{
	const char *end = strstr(s->shell, ".css\""), *begin = end;

	while (begin && begin > s->shell && begin[-1] != '/')
		begin--;
	return begin && (size_t)snprintf(text, size, "%s%sassets/%.*s", root_of(r->address.path),
					 s->up ? s->up : "", (int)(end + 4 - begin), begin) < size;
}

int serve_shell__print(const struct serve_site *s, const struct http_request *r, json_t *site,
		       const char *data)
{
	char *shell = serve_shell__fill(s, r, site);
	int status = shell && data && !html_page__put_text(STDOUT_FILENO, shell, data) ? 0 : 1;

	free(shell);
	return status;
}

int serve_shell__run(int (*verb)(int argc, char **argv), int argc, char **argv, int *fd)
{
	const int before = dup(STDOUT_FILENO);
	int status = 1;

	*fd = memfd_create("verb", MFD_CLOEXEC);
	if (*fd >= 0 && before >= 0 && !fflush(stdout) && dup2(*fd, STDOUT_FILENO) >= 0) {
		optind = 0; /* getopt begins anew */
		status = verb(argc, argv);
		if (fflush(stdout))
			status = 1;
		dup2(before, STDOUT_FILENO);
	}
	close(before);
	return status;
}

/* ---- why there is no page */

static const char *words_of(int status)
{
	return status == 400   ? "The address makes no sense"
	       : status == 403 ? "You may not see this, or it does not exist"
	       : status == 404 ? "There is no such page"
			       : "This failed, or took too long; the log of the server says why";
}

int serve_shell__begin_anew(void)
{
	return fflush(stdout) || ftruncate(STDOUT_FILENO, 0) || lseek(STDOUT_FILENO, 0, SEEK_SET)
		       ? -1
		       : 0;
}

static char *refusal(int status, const char *what)
{
	json_t *o = json_object(), *all = json_object();
	char *text;

	json__set(o, "status", json_integer(status));
	json__set(o, "what", what ? json__text(what) : json_null());
	json__set(all, "refused", o);
	text = json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(all);
	return text;
}

int serve_shell__refuse(const struct serve_site *s, const struct http_request *r, int status,
			const char *what, enum http_type *type)
{
	char *data = *type == HTTP_HTML ? refusal(status, what) : NULL;

	serve_shell__begin_anew();
	if (!data || serve_shell__print(s, r, serve_shell__site(s, r, "refused", NULL), data)) {
		serve_shell__begin_anew();
		*type = HTTP_TEXT;
		printf("%s%s%s.\n", words_of(status), what ? ": " : "", what ? what : "");
	}
	free(data);
	return status;
}

/* ---- files of the shell */

int serve_shell__asset(const struct serve_site *s, const char *name, enum http_type *type)
{
	const char *dot = strchr(name, '.');
	char path[sizeof(s->path) + 8], buf[16384];
	size_t n;
	FILE *f;

	if (!dot || strlen(name) < 16 || !strstr(s->shell, name))
		return 404;
	snprintf(path, sizeof(path), "%.*s%s", (int)(strrchr(s->path, '.') - s->path), s->path,
		 dot);
	f = fopen(path, "re");
	if (!f)
		return 404;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		fwrite(buf, 1, n, stdout);
	*type = !strcmp(dot, ".js") ? HTTP_SCRIPT : HTTP_STYLE;
	return fclose(f) ? 500 : 200;
}

int serve_site__open(struct serve_site *s)
{
	FILE *f;
	size_t n = 0;

	program__find_data("web/site.html", "../share/jobprof/site.html", s->path, sizeof(s->path));
	f = fopen(s->path, "re");
	s->shell = calloc(1, SHELL_MAX + 1);
	if (f && s->shell)
		n = fread(s->shell, 1, SHELL_MAX, f);
	if (f)
		fclose(f);
	if (!n || !strstr(s->shell, PLACE)) {
		log_error("serve: %s: the pages are not there: install node and npm, then \"make\" "
			  "and \"make install\" make them",
			  s->path);
		free(s->shell);
		return 1;
	}
	return 0;
}

void serve_site__close(struct serve_site *s)
{
	free(s->shell);
}
