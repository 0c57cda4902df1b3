/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds profiles for who asks, and draws one quantity of a job. */
#include "cmd/jobprof/serve_panel.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/serve_shell.h"
#include "cmd/jobprof/site_job.h"
#include "cmd/jobprof/site_viewer.h"
#include "cmd/jobprof/verbs.h"
#include "jobfile/merge/merge_name.h"

#define FILES_MAX 4096
#define WORDS	  12
#define SVG_MAX	  (4u << 20)

/* ---- the job's files */

static int add_profile(struct string_list *files, const struct site_job *j,
		       const struct site_args *a)
{
	struct profiles found = {0};
	const struct profile *profile = NULL;
	int err = site_job__profile(j, a, &found, &profile);

	for (unsigned i = 0; !err && i < profile->n && i < FILES_MAX; i++)
		err = string_list__append(files, profile->files[i].path);
	profiles__free(&found);
	return err;
}

/* The viewer's profiles, in which the job is that no row of the index names. */
static char *own_profiles(void)
{
	const char *user = site_viewer__only_user();
	char *site = NULL, *dir = NULL;

	if (user && !profile_dir__ask(&site) && asprintf(&dir, "%s/%s", site, user) < 0)
		dir = NULL;
	free(site);
	return dir;
}

int serve_panel__files(struct string_list *files, const char *job)
{
	struct site_args a;
	struct site_job j;
	char *dir = own_profiles();
	int err;

	site_args__init(&a, "all");
	a.as_it_is = true;
	a.dir = dir;
	err = site_job__find(&j, &a, job) ? -EACCES : 0;
	if (!err) {
		site_viewer__limit_files(j.row.text[INDEX_user] ? j.row.text[INDEX_user] : "");
		err = j.is_live ? site_job__live(&j, &a, files) : add_profile(files, &j, &a);
		err = err || !files->n ? -ENOENT : 0;
	}
	site_job__free(&j);
	free(dir);
	return err;
}

/* ---- verbs */

int serve_panel__report(const struct string_list *files, const char *shell)
{
	char **argv = calloc(files->n + 4, sizeof(*argv));
	int argc = 0, status;

	if (!argv)
		return 1;
	argv[argc++] = "report";
	argv[argc++] = "--html=-";
	for (unsigned i = 0; i < files->n; i++)
		argv[argc++] = files->v[i];
	html_page__use(shell);
	optind = 0;
	status = verb_report(argc, argv);
	free(argv);
	return status;
}

/* ---- Grafana's addresses */

/* In the order of their numbers in conf/ood/cluster.yml, from 1; the first of the columns that the
 * profile has. */
static const struct panel {
	const char *title;
	struct {
		const char *series, *column;
	} of[3];
} panels[] = {
	{"CPUs at work", {{"Step", "CPUTime"}, {"Tasks", "CPUTime"}, {"Tasks", "CPUUtilization"}}},
	{"Memory", {{"Step", "MemMB"}, {"Step", "RSS"}, {"Tasks", "RSS"}}},
	{"GPUs at work",
	 {{"Step", "GPUUtilization"}, {"GPU", "Utilization"}, {"Tasks", "GPUUtilization"}}},
	{"Memory of GPUs", {{"Step", "GPUMemMB"}, {"GPU", "MemMB"}, {"Tasks", "GPUMemMB"}}},
};

static bool is_grafanas(const char *name)
{
	static const char *const names[] = {"orgId",   "theme",	  "from",     "to",
					    "panelId", "refresh", "timezone", "kiosk"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "var-", 4);
}

const char *serve_panel__of_grafana(const struct http_address *a)
{
	for (unsigned i = 0; i < a->nargs; i++)
		if (!is_grafanas(a->args[i].name))
			return NULL;
	return http_address__arg(a, "var-jobid");
}

/* Whether the file is of that node by its name; a job's file is of all its nodes. */
static bool is_of_node(const char *path, const char *node)
{
	const char *slash = strrchr(path, '/');
	struct merge_name name;
	const enum merge_name_kind kind = merge_name__parse(slash ? slash + 1 : path, &name);

	return (kind != NAME_FILE && kind != NAME_RUNNING) || !strcmp(name.node, node);
}

struct drawing {
	const struct string_list *files;
	const char *node; /* NULL: all */
};

/* jobprof plot --sum of one column. Its exit status. */
static int plot(const struct drawing *d, const char *series, const char *column, int *fd)
{
	char *argv[WORDS + 8] = {"plot",	 "--sum", "--svg=-",	 "-s",
				 (char *)series, "-d",	  (char *)column};
	int argc = 7;

	if (d->node) {
		argv[argc++] = "-N";
		argv[argc++] = (char *)d->node;
	}
	for (unsigned i = 0; i < d->files->n && argc < WORDS + 7; i++)
		if (!d->node || is_of_node(d->files->v[i], d->node))
			argv[argc++] = d->files->v[i];
	return serve_shell__run(verb_plot, argc, argv, fd);
}

/* Prints the picture without its own style, which the pages' policy does not allow. */
static int put_svg(int fd)
{
	const off_t n = lseek(fd, 0, SEEK_END);
	char *text = n > 0 && n < SVG_MAX ? calloc(1, (size_t)n + 1) : NULL, *begin, *style, *end;
	int status = 1;

	if (text && pread(fd, text, (size_t)n, 0) == n && (begin = strstr(text, "<svg"))) {
		style = strstr(begin, "<style>");
		end = style ? strstr(style, "</style>") : NULL;
		if (end)
			printf("%.*s%s", (int)(style - begin), begin, end + strlen("</style>"));
		else
			fputs(begin, stdout);
		status = 0;
	}
	free(text);
	return status;
}

/* The first column that is there: of the node, else of all. 0; 1: there is none. */
static int put_panel(const struct panel *p, struct drawing *d)
{
	int status = 1;

	for (; status; d->node = NULL) {
		for (size_t i = 0; status && i < sizeof(p->of) / sizeof(*p->of); i++) {
			int fd = -1;

			status = plot(d, p->of[i].series, p->of[i].column, &fd);
			if (!status)
				status = put_svg(fd);
			if (fd >= 0)
				close(fd);
		}
		if (!d->node)
			break;
	}
	return status;
}

static const struct panel *panel_of(const struct http_address *a)
{
	const char *id = http_address__arg(a, "panelId");
	const size_t n = id ? strspn(id, "0123456789") : 0;
	const unsigned long i = n && n < 6 && !id[n] ? strtoul(id, NULL, 10) : 0;

	return i && i <= sizeof(panels) / sizeof(*panels) ? &panels[i - 1] : NULL;
}

int serve_panel__panel(const struct http_address *a, const struct string_list *files,
		       const char *style)
{
	const char *theme = http_address__arg(a, "theme"), *node = http_address__arg(a, "var-host");
	const struct panel *p = panel_of(a);
	struct drawing d = {files, node && http_name__is_user(node) ? node : NULL};

	if (!p) {
		puts("panelId: 1 is CPUs, 2 memory, 3 GPUs, 4 memory of GPUs");
		return 2;
	}
	printf("<!doctype html>\n<html lang=\"en\" class=\"solo %s\">\n<head>\n"
	       "<meta charset=\"utf-8\">\n<title>%s</title>\n"
	       "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"%s\">\n"
	       "</head>\n<body>\n<h1>%s</h1>\n",
	       theme && !strcmp(theme, "dark") ? "dark" : "light", p->title, style, p->title);
	log__set_level(LOGL_NONE); /* that a column is not there is no error here */
	if (put_panel(p, &d))
		puts("<p>not known: the job's profile has no numbers of this yet</p>");
	log__set_level(LOGL_INFO);
	puts("</body>\n</html>");
	return 0;
}
