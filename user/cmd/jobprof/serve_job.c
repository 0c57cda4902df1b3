/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of a job, and of two that are compared. The job is looked for in the index with the
 * viewer's rights. This process may read more profiles than the viewer: it opens only files of the
 * user whose job that is.
 */
#include "cmd/jobprof/serve_job.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/foreign.h"
#include "base/json.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/serve_panel.h"
#include "cmd/jobprof/serve_shell.h"
#include "cmd/jobprof/site_viewer.h"
#include "cmd/jobprof/verbs.h"

/* ---- one job */

static char *text_of(int fd)
{
	const off_t n = lseek(fd, 0, SEEK_END);
	char *text = n >= 0 ? calloc(1, (size_t)n + 1) : NULL;

	if (text && pread(fd, text, (size_t)n, 0) != n) {
		free(text);
		return NULL;
	}
	return text;
}

/* {"no_profile": {"job": ID, "text": lines of seff, "jobs": its row}}. */
static char *lines_of(const char *id)
{
	char *seff[] = {"seff", (char *)id, NULL}, *text = NULL, *row = NULL, *json = NULL;
	_cleanup_free_ char *jobs_word = NULL;
	json_t *lines = json_object();
	int fd = -1, fd_row = -1;

	if (!serve_shell__run(verb_seff, 2, seff, &fd))
		text = text_of(fd);
	if (asprintf(&jobs_word, "--jobs=%s", id) > 0) {
		char *jobs[] = {"jobs", jobs_word, "--json", NULL};

		if (!serve_shell__run(verb_jobs, 3, jobs, &fd_row))
			row = text_of(fd_row);
	}
	json__set(lines, "job", json__text(id));
	json__set(lines, "text", text ? json__text(text) : json_null());
	json__set(lines, "jobs", row ? json_loads(row, 0, NULL) : json_null());
	lines = json_pack("{s:o}", "no_profile", lines);
	if (lines)
		json = json_dumps(lines, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(lines);
	if (fd >= 0)
		close(fd);
	if (fd_row >= 0)
		close(fd_row);
	free(text);
	free(row);
	return json;
}

static int show_lines(const struct serve_site *s, const struct http_request *r, const char *id)
{
	_cleanup_free_ char *data = lines_of(id);
	char *command = NULL;

	if (asprintf(&command, "jobprof seff %s", id) < 0)
		command = NULL;
	return serve_shell__print(s, r, serve_shell__site(s, r, "job", command), data);
}

static int show_report(const struct serve_site *s, const struct http_request *r,
		       const struct string_list *files)
{
	_cleanup_free_ char *shell = serve_shell__fill(s, r, serve_shell__site(s, r, "job", NULL));

	return shell ? serve_panel__report(files, shell) : 1;
}

int serve_job__one(const struct serve_site *s, const struct http_request *r, const char *id,
		   enum http_type *type)
{
	struct string_list files = {0};
	const int found = serve_panel__files(&files, id);
	int status = found ? 1 : show_report(s, r, &files);

	*type = HTTP_HTML;
	/* a report that failed may have written a part */
	if (found != -EACCES && status && !serve_shell__begin_anew())
		status = show_lines(s, r, id);
	string_list__free(&files);
	if (status)
		return serve_shell__refuse(s, r, found == -EACCES ? 403 : 500, NULL, type);
	return 200;
}

int serve_job__grafana(const struct serve_site *s, const struct http_request *r, bool is_panel,
		       enum http_type *type)
{
	const char *job = serve_panel__of_grafana(&r->address);
	struct string_list files = {0};
	char style[256];
	int status = 1;

	*type = is_panel ? HTTP_TEXT : HTTP_HTML; /* of what is refused */
	if (!job || !*job)
		return serve_shell__refuse(s, r, 400,
					   "such an address has var-jobid, and arguments of "
					   "Grafana alone",
					   type);
	if (!is_panel)
		return serve_job__one(s, r, job, type);
	if (serve_panel__files(&files, job)) {
		string_list__free(&files);
		return serve_shell__refuse(s, r, 403, NULL, type);
	}
	if (serve_shell__style(s, r, style, sizeof(style)))
		status = serve_panel__panel(&r->address, &files, style);
	string_list__free(&files);
	if (status)
		return serve_shell__refuse(s, r, status == 2 ? 400 : 500, NULL, type);
	*type = HTTP_HTML;
	return 200;
}

/* ---- two jobs */

#define CHOSEN 16 /* jobs in the address, of which the page offers the others */

/* Cuts a list at its commas, in place. Returns how many words there are; 0: too many. */
static unsigned split(char *list, char *words[CHOSEN])
{
	unsigned n = 0;

	for (char *p = list; p; p = strchr(p, ',')) {
		if (n)
			*p++ = '\0';
		if (n == CHOSEN)
			return 0;
		words[n++] = p;
	}
	return n;
}

/* As serve_panel__files(); *fd: the one file, which is the job's user's. */
static int open_file(struct string_list *files, const char *word, int *fd)
{
	int err;

	foreign__of_all();
	err = serve_panel__files(files, word);
	*fd = err || files->n != 1 ? -1 : foreign__open(AT_FDCWD, files->v[0], 0);
	return err;
}

/* From now on these files are read and the viewer's own: who may read all of both users could be
 * led by a link of one to other jobs of the other. */
static int limit_to(const int fds[2])
{
	const char *viewer = site_viewer__only_user();
	struct stat st;
	int err = fds[0] < 0 || fds[1] < 0 ? -1 : 0;

	foreign__of_all();
	if (viewer)
		site_viewer__limit_files(viewer);
	for (int i = 0; !err && i < 2; i++)
		err = viewer ? foreign__only_this(fds[i])
			     : fstat(fds[i], &st) ?: foreign__only_of(st.st_uid);
	return err;
}

static int compare(const struct serve_site *s, const struct http_request *r, char *const words[2])
{
	char *argv[] = {"compare", "--html", "-", NULL, NULL, NULL}, *command = NULL;
	_cleanup_free_ char *shell = NULL;
	struct string_list files[2] = {{0}, {0}};
	int fds[2], first = open_file(&files[0], words[0], &fds[0]),
		    second = open_file(&files[1], words[1], &fds[1]), status = 500;

	if (first == -EACCES || second == -EACCES)
		status = 403;
	else if (first || second || limit_to(fds))
		status = 404; /* files that are not merged are of several nodes */
	else if (asprintf(&command, "jobprof compare %s %s", words[0], words[1]) >= 0)
		shell = serve_shell__fill(s, r, serve_shell__site(s, r, "compare", command));
	if (shell) {
		argv[3] = files[0].v[0];
		argv[4] = files[1].v[0];
		html_page__use(shell);
		optind = 0; /* getopt begins anew */
		status = verb_compare(5, argv) ? 500 : 200;
	}
	string_list__free(&files[0]);
	string_list__free(&files[1]);
	return status;
}

int serve_job__compare(const struct serve_site *s, const struct http_request *r,
		       enum http_type *type)
{
	const char *jobs = http_address__arg(&r->address, "jobs"), *what = NULL;
	_cleanup_free_ char *list = jobs ? strdup(jobs) : NULL;
	char *words[CHOSEN];
	int status = 400;

	*type = HTTP_HTML;
	if (!list || r->address.nargs != 1 || split(list, words) < 2)
		what = "it is /compare?jobs=A,B, with 2 to 16 jobs";
	else
		status = compare(s, r, words);
	if (status == 404)
		what = "one of these jobs has no profile, or one that is not merged";
	return status == 200 ? 200 : serve_shell__refuse(s, r, status, what, type);
}
