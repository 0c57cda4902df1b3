/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page is what a verb prints with --json, inside of a shell whose script draws it; the arguments
 * of its address are options of that verb. So a page and the verb say the same to the same user.
 */
#include "cmd/jobprof/serve_page.h"

#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/program.h"
#include "base/str.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/site_about.h"
#include "cmd/jobprof/serve_panel.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"

#define SHELL_MAX  65536
#define PLACE	   "<!--site-->" /* in the shell, once: what all pages have */
#define ROOT	   "%root%"	 /* there, too: the way to the folder of "assets" */
#define WORDS	   (HTTP_ARGS_MAX + 8)
#define OUTPUT_MAX (256u << 20)
#define PARTS	   6
#define PART_WORDS 6

/* ---- pages */

struct only_filter {
	struct site_args site;
};
static const struct opt filters[] = {OPTS_FILTER(struct only_filter), {0}};

/* What a verb prints with --json, under a name of its own. */
struct part {
	int (*verb)(int argc, char **argv);
	const struct command *command;
	const char *name;
	const char *words[PART_WORDS]; /* before those of the address, which outdo them */
};

struct page {
	const char *path;
	struct part parts[PARTS];
	const char *arguments; /* beside filters, with blanks around each */
	bool has_csv;	       /* of the first part */
	bool has_html;	       /* the first part has a page of its own by --html */
};

#define PART(verb, name, ...)                   \
	{                                       \
		verb_##verb, &cmd_##verb, name, \
		{                               \
			__VA_ARGS__             \
		}                               \
	}

static const struct page pages[] = {
	{"/jobs", {PART(jobs, "jobs")}, " sort all ", true, false},
	{"/usage",
	 {PART(usage, "usage"), PART(usage, "histograms", "--histograms")},
	 " by sort all ",
	 true,
	 false},
	{"/findings", {PART(findings, "findings")}, " all ", true, false},
	{"/io", {PART(usage, "io", "--io")}, " all ", true, false},
	{"/issues", {PART(issues, "issues")}, " by sort all ", true, false},
	{"/advice", {PART(advice, "advice")}, " contacts all ", true, false},
	{"/find", {PART(find, "find")}, " word ", true, false},
	{"/contacted", {PART(contacted, "contacted")}, " ", false, false},
	{"/node", {PART(node, "node")}, " ", true, false},
	{"/nodes", {PART(nodes, "nodes")}, " ", true, false},
	{"/digest", {PART(digest, "digest")}, " ", true, true},
	{"/running", {PART(running, "running")}, " all ", true, false},
};

/* A stream of events is what .json is, each time that it changes: of the page that lives. */
static bool has_form(const struct page *p, enum http_type type)
{
	return type == HTTP_CSV	     ? p->has_csv
	       : type == HTTP_EVENTS ? p->parts[0].verb == verb_running
				     : true;
}

/* The page of an address, which may end with .json, .csv or .events. NULL: there is none. */
static const struct page *page_of(const char *path, enum http_type *type)
{
	const size_t n = strcspn(path, ".");

	*type = !path[n]		       ? HTTP_HTML
		: !strcmp(path + n, ".json")   ? HTTP_JSON
		: !strcmp(path + n, ".csv")    ? HTTP_CSV
		: !strcmp(path + n, ".events") ? HTTP_EVENTS
					       : HTTP_TEXT;
	if (*type == HTTP_TEXT)
		return NULL;
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		if (strlen(pages[i].path) == n && !strncmp(path, pages[i].path, n))
			return has_form(&pages[i], *type) ? &pages[i] : NULL;
	return NULL;
}

static bool is_allowed(const struct page *p, const char *name)
{
	char word[64];

	for (const struct opt *o = filters; o->name; o++)
		if (!strcmp(o->name, name))
			return true;
	return (size_t)snprintf(word, sizeof(word), " %s ", name) < sizeof(word) &&
	       strstr(p->arguments, word);
}

static const struct opt *option_of(const struct command *c, const char *name)
{
	for (const struct opt *o = c->opts; o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

/* ---- the command that a page is */

struct words {
	char *v[WORDS];
	int n;
};

static int add(struct words *w, char *word)
{
	if (!word || w->n + 1 >= WORDS)
		return -1;
	w->v[w->n++] = word;
	return 0;
}

static void words__free(struct words *w)
{
	for (int i = 0; i < w->n; i++)
		free(w->v[i]);
}

/* One argument of the address, if the part's verb has it. 0 or -1. */
static int add_argument(struct words *w, const struct part *part, const struct http_arg *a)
{
	const struct opt *o = option_of(part->command, a->name);
	char *word = NULL;

	if (!o || (o->arg && !*a->value))
		return 0;
	if ((o->arg ? asprintf(&word, "--%s=%s", o->name, a->value)
		    : asprintf(&word, "--%s", o->name)) < 0)
		return -1;
	return add(w, word);
}

/* The words of a part's verb. 0; -1: no memory, or there are too many. */
static int make_words(struct words *w, const struct part *part, const struct http_address *a)
{
	int err = add(w, strdup(strrchr(part->command->name, ' ') + 1));

	for (unsigned i = 0; !err && i < PART_WORDS && part->words[i]; i++)
		err = add(w, strdup(part->words[i]));
	for (unsigned i = 0; !err && i < a->nargs; i++)
		err = add_argument(w, part, &a->args[i]);
	return err;
}

/* 0; -1: an argument is none of this page, which is printed. */
static int check_arguments(const struct page *p, const struct http_address *a)
{
	for (unsigned i = 0; i < a->nargs; i++) {
		if (is_allowed(p, a->args[i].name))
			continue;
		printf("%s: this page has no such argument\n", a->args[i].name);
		return -1;
	}
	return 0;
}

/* As a shell reads it. */
static char *command_line(const struct words *w)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	fputs("jobprof", out);
	for (int i = 0; i < w->n; i++) {
		const char *value = strncmp(w->v[i], "--", 2) ? w->v[i] : strchr(w->v[i], '=');

		putc(' ', out);
		if (value == w->v[i]) {
			site_args__print_word(out, value);
		} else if (!value) {
			fputs(w->v[i], out);
		} else {
			fprintf(out, "%.*s=", (int)(value - w->v[i]), w->v[i]);
			site_args__print_word(out, value + 1);
		}
	}
	return fclose(out) ? NULL : text;
}

/* ---- what all pages have */

/* The names of all pages, for links to them. */
static json_t *list_pages(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		json_array_append_new(list, json__text(pages[i].path + 1));
	return list;
}

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

static json_t *site_json(const struct serve_site *s, const struct http_request *r, const char *page,
			 const struct words *w)
{
	json_t *o = json_object(), *args = json_object();
	char *line = w ? command_line(w) : NULL;

	for (unsigned i = 0; i < r->address.nargs; i++)
		json__set(args, r->address.args[i].name, json__text(r->address.args[i].value));
	json__set(o, "page", json__text(page));
	json__set(o, "root", json__text(root_of(r->address.path)));
	json__set(o, "is_static", json_boolean(s->up));
	if (s->files)
		json__set(o, "files", words_json(s->files));
	json__set(o, "arguments", args);
	json__set(o, "command", line ? json__text(line) : json_null());
	json__set(o, "user", json__text(s->shown ? s->shown : r->user));
	json__set(
		o, "sees_all",
		json_boolean(s->shown ? s->shows_all : s->is_own || site_args__is_staff(r->user)));
	json__set(o, "now", json_integer(time(NULL)));
	json__set(o, "version", json__text(JOBPROF_VERSION));
	json__set(o, "pages", list_pages());
	site_about__add(o);
	free(line);
	return o;
}

/* The shell with the way to its script and style, and with that JSON, which is released. The caller
 * frees it; NULL: no memory. */
static char *fill_shell(const struct serve_site *s, const struct http_request *r, json_t *site)
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

/* ---- answers */

/* Copies a verb's output behind what is in `out`; "null": there is none. 0 or -1. */
static int copy_output(FILE *out, int fd)
{
	char buf[16384];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		at += n;
		if (at > OUTPUT_MAX || fwrite(buf, 1, (size_t)n, out) != (size_t)n)
			return -1;
	}
	if (!at)
		fputs("null", out);
	return n < 0 ? -1 : 0;
}

/* Prints "NAME": what the part's verb prints with --json. Its exit status. */
static int print_part(FILE *out, const struct part *part, const struct http_address *a)
{
	struct words w = {0};
	int fd = -1, status = 1;

	if (!make_words(&w, part, a) && !add(&w, strdup("--json")))
		status = serve_panel__run(part->verb, w.n, w.v, &fd);
	fprintf(out, "\"%s\":", part->name);
	if (fd < 0 || copy_output(out, fd))
		status = 1;
	if (fd >= 0)
		close(fd);
	words__free(&w);
	return status;
}

/* All parts, as {"jobs": what the verb printed}. The first exit status that is not 0; *text: NULL
 * where memory is out. */
static int make_data(const struct page *p, const struct http_address *a, char **text)
{
	size_t n;
	FILE *out = open_memstream(text, &n);
	int status = 0;

	if (!out)
		return 1;
	for (unsigned i = 0; i < PARTS && p->parts[i].verb; i++) {
		int one;

		putc(i ? ',' : '{', out);
		one = print_part(out, &p->parts[i], a);
		status = status ? status : one;
	}
	putc('}', out);
	if (fclose(out)) {
		free(*text);
		*text = NULL;
	}
	return *text ? status : 1;
}

static int show_own_page(const struct serve_site *s, const struct http_request *r,
			 const struct page *p, struct words *w)
{
	char *shell = fill_shell(s, r, site_json(s, r, p->path + 1, w));
	int status;

	html_page__use(shell);
	status = !shell || add(w, strdup("--html=-")) ? 1 : p->parts[0].verb(w->n, w->v);
	free(shell);
	return status;
}

static int show_page(const struct serve_site *s, const struct http_request *r, const struct page *p,
		     struct words *w)
{
	json_t *site = site_json(s, r, p->path + 1, w);
	char *shell, *data = NULL;
	int status;

	if (p->has_html && !show_own_page(s, r, p, w)) {
		json_decref(site);
		return 200;
	}
	status = make_data(p, &r->address, &data);
	json__set(site, "error", json_boolean(status == 2));
	shell = fill_shell(s, r, site);
	if (!shell || !data || status == 1 || html_page__put_text(STDOUT_FILENO, shell, data))
		status = 1;
	free(shell);
	free(data);
	return status == 2 ? 400 : status ? 500 : 200;
}

/* What a program reads: of one part what its verb prints, of several all of them. */
static int print_data(const struct page *p, const struct http_request *r, struct words *w,
		      enum http_type type)
{
	char *data = NULL;
	int status;

	if (type == HTTP_CSV || !p->parts[1].verb) {
		return add(w, strdup(type == HTTP_CSV ? "--csv" : "--json"))
			       ? 1
			       : p->parts[0].verb(w->n, w->v);
	}
	status = make_data(p, &r->address, &data);
	if (!status)
		puts(data);
	free(data);
	return status;
}

static int answer_page(const struct serve_site *s, const struct http_request *r,
		       const struct page *p, enum http_type *type)
{
	struct words w = {0};
	int status = 500;

	if (check_arguments(p, &r->address)) {
		*type = HTTP_TEXT;
		return 400;
	}
	if (make_words(&w, &p->parts[0], &r->address)) {
		*type = HTTP_TEXT;
	} else if (*type == HTTP_HTML) {
		status = show_page(s, r, p, &w);
	} else {
		status = print_data(p, r, &w, *type);
		status = status == 2 ? 400 : status ? 500 : 200;
		*type = status == 200 ? *type : HTTP_TEXT;
	}
	words__free(&w);
	return status;
}

/* The address of the style, from a page. False: the shell has none. */
static bool style_of(const struct serve_site *s, const struct http_request *r, char *text,
		     size_t size)
{
	const char *end = strstr(s->shell, ".css\""), *begin = end;

	while (begin && begin > s->shell && begin[-1] != '/')
		begin--;
	return begin && (size_t)snprintf(text, size, "%s%sassets/%.*s", root_of(r->address.path),
					 s->up ? s->up : "", (int)(end + 4 - begin), begin) < size;
}

/* The job's page is that of report --html; of a panel a picture alone. */
static int answer_job(const struct serve_site *s, const struct http_request *r, const char *id,
		      bool is_panel, enum http_type *type)
{
	struct string_list files = {0};
	char style[256], *shell;
	int status = 403;

	*type = HTTP_TEXT;
	if (!serve_panel__files(&files, s->is_own ? NULL : r->user, id)) {
		if (is_panel) {
			status = style_of(s, r, style, sizeof(style))
					 ? serve_panel__panel(&r->address, &files, style)
					 : 1;
		} else {
			shell = fill_shell(s, r, site_json(s, r, "job", NULL));
			status = shell ? serve_panel__report(&files, shell) : 1;
			free(shell);
		}
		status = status == 2 ? 400 : status ? 500 : 200;
		*type = status == 200 ? HTTP_HTML : HTTP_TEXT;
	}
	string_list__free(&files);
	return status;
}

/* As Open OnDemand asks a Grafana: /d/UID/NAME/ is the job's page, /d-solo/UID/NAME/ a panel. */
static int answer_grafana(const struct serve_site *s, const struct http_request *r, bool is_panel,
			  enum http_type *type)
{
	const char *job = serve_panel__of_grafana(&r->address);

	if (job && *job)
		return answer_job(s, r, job, is_panel, type);
	*type = HTTP_TEXT;
	puts("an address of this kind has var-jobid, and arguments of Grafana alone");
	return 400;
}

/* The script or the style, by the name that the shell has for it: it changes with the contents. */
static int answer_asset(const struct serve_site *s, const char *name, enum http_type *type)
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

static const char *behind(const char *path, const char *begin)
{
	const size_t n = strlen(begin);

	return strncmp(path, begin, n) || !path[n] ? NULL : path + n;
}

int serve_page__answer(void *arg, const struct http_request *r, enum http_type *type)
{
	const struct serve_site *s = arg;
	const char *path = r->address.path, *rest;
	const struct page *page;

	optind = 0; /* getopt begins anew */
	if ((rest = behind(path, "/assets/")))
		return answer_asset(s, rest, type);
	if (s->where)
		site_args__ask_for(s->is_own ? NULL : r->user, s->where);
	if ((rest = behind(path, "/job/")))
		return r->address.nargs ? 400 : answer_job(s, r, rest, false, type);
	if (behind(path, "/d/") || behind(path, "/d-solo/"))
		return answer_grafana(s, r, path[2] == '-', type);
	page = page_of(strcmp(path, "/") ? path : "/jobs", type);
	if (!page) {
		*type = HTTP_TEXT;
		puts("There is no such page.");
		return 404;
	}
	return answer_page(s, r, page, type);
}

/* Staff sees what all of staff see, others what is theirs. */
void serve_page__rights(void *arg, const char *user, char word[static HTTP_RIGHTS])
{
	const struct serve_site *s = arg;
	uint32_t uid;

	*word = '\0';
	if (s->is_own || (!getpwnam(user) && parse_u32(user, &uid)))
		snprintf(word, HTTP_RIGHTS, "%s", s->is_own ? "own" : "");
	else
		snprintf(word, HTTP_RIGHTS, "%s", site_args__is_staff(user) ? "all jobs" : user);
}

/* ---- the shell */

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
