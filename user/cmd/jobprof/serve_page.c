/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page is what a verb prints with --json, inside of a shell whose script draws it; the arguments
 * of its address are options of that verb. So a page and the verb say the same to the same user.
 */
#include "cmd/jobprof/serve_page.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/serve_job.h"
#include "cmd/jobprof/serve_shell.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/site_viewer.h"
#include "cmd/jobprof/verbs.h"

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
	bool of_leaders;	       /* not for those who see all jobs */
};

struct page {
	const char *path;
	struct part parts[PARTS];
	const char *arguments; /* beside filters, with blanks around each */
	bool has_html;	       /* the first part has a page of its own by --html */
};

#define PART(verb, name, ...)                                        \
	{                                                            \
		verb_##verb, &cmd_##verb, name, {__VA_ARGS__}, false \
	}

#define ME "--user=@me"

static const struct page pages[] = {
	{"/home",
	 {PART(jobs, "jobs", ME, "--since=7d", "--sort=start", "--limit=10000"),
	  PART(advice, "advice", ME),
	  PART(usage, "days", ME, "--by=day", "--since=62d", "--all"),
	  PART(apps, "apps", ME),
	  PART(running, "running", ME),
	  {verb_usage, &cmd_usage, "projects", {"--by=project", "--since=30d"}, true}},
	 " ",
	 false},
	{"/jobs", {PART(jobs, "jobs", "--limit=10000")}, " sort limit all ", false},
	{"/apps", {PART(apps, "apps")}, " sort all ", false},
	{"/usage",
	 {PART(usage, "usage"), PART(usage, "histograms", "--histograms")},
	 " by sort all ",
	 false},
	{"/findings", {PART(findings, "findings")}, " all ", false},
	{"/io", {PART(usage, "io", "--io")}, " all ", false},
	{"/issues", {PART(issues, "issues")}, " by sort all ", false},
	{"/advice", {PART(advice, "advice")}, " contacts all ", false},
	{"/find", {PART(find, "find")}, " word ", false},
	{"/node", {PART(node, "node")}, " table ", false},
	{"/nodes", {PART(nodes, "nodes")}, " table ", false},
	{"/digest", {PART(digest, "digest")}, " ", true},
	{"/running", {PART(running, "running")}, " all ", false},
};

/* A stream of events is what .json is, each time that it changes: of the page that lives. */
static bool has_form(const struct page *p, enum http_type type)
{
	return type != HTTP_EVENTS || p->parts[0].verb == verb_running;
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
	return !strchr(name, ' ') &&
	       (size_t)snprintf(word, sizeof(word), " %s ", name) < sizeof(word) &&
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

/* The name of an argument that is none of this page; NULL: there is none. */
static const char *find_wrong(const struct page *p, const struct http_address *a)
{
	for (unsigned i = 0; i < a->nargs; i++)
		if (!is_allowed(p, a->args[i].name))
			return a->args[i].name;
	return NULL;
}

/* Whether a later word has the same option, which then is the one that counts. */
static bool is_outdone(const struct words *w, int i)
{
	const size_t n = strcspn(w->v[i], "=");

	for (int k = i + 1; k < w->n; k++)
		if (w->v[i][n] && !strncmp(w->v[i], w->v[k], n + 1))
			return true;
	return false;
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

		if (is_outdone(w, i))
			continue;
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

static bool sees_all(const struct serve_site *s, const struct http_request *r)
{
	return s->is_own || site_viewer__role(r->user) != ROLE_USER;
}

/* Prints "NAME": what the part's verb prints with --json. Its exit status. */
static int print_part(FILE *out, const struct part *part, const struct http_address *a)
{
	struct words w = {0};
	int fd = -1, status = 1;

	if (!make_words(&w, part, a) && !add(&w, strdup("--json")))
		status = serve_shell__run(part->verb, w.n, w.v, &fd);
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
static int make_data(const struct page *p, const struct serve_site *s, const struct http_request *r,
		     char **text)
{
	size_t n;
	FILE *out = open_memstream(text, &n);
	int status = 0;

	if (!out)
		return 1;
	for (unsigned i = 0; i < PARTS && p->parts[i].verb; i++) {
		int one;

		if (p->parts[i].of_leaders && sees_all(s, r))
			continue;
		putc(i ? ',' : '{', out);
		one = print_part(out, &p->parts[i], &r->address);
		status = status ? status : one;
	}
	putc('}', out);
	if (fclose(out)) {
		free(*text);
		*text = NULL;
	}
	return *text ? status : 1;
}

/* What a verb has logged of a wrong argument since there were so many errors. NULL: another error
 * is the last one, and may name what is no business of who asks. */
static const char *wrong_argument(int status, uint64_t before)
{
	const struct log_errors *e = log__errors();

	return status == 2 && e->n > before && *e->text == '-' ? e->text : NULL;
}

/* Of a verb's exit status. */
static int http_status(int status)
{
	return !status ? 200 : status == 2 ? 400 : status == EX_NOPERM ? 403 : 500;
}

static int show_own_page(const struct serve_site *s, const struct http_request *r,
			 const struct page *p, struct words *w)
{
	char *shell =
		serve_shell__fill(s, r, serve_shell__site(s, r, p->path + 1, command_line(w)));
	int status;

	html_page__use(shell);
	status = !shell || add(w, strdup("--html=-")) ? 1 : p->parts[0].verb(w->n, w->v);
	free(shell);
	return status;
}

static int show_page(const struct serve_site *s, const struct http_request *r, const struct page *p,
		     struct words *w)
{
	json_t *site = serve_shell__site(s, r, p->path + 1, command_line(w));
	const uint64_t before = log__errors()->n;
	const char *wrong;
	char *shell, *data = NULL;
	int status;

	if (p->has_html && !show_own_page(s, r, p, w)) {
		json_decref(site);
		return 200;
	}
	site_args__print_by_column();
	status = make_data(p, s, r, &data);
	wrong = wrong_argument(status, before);
	json__set(site, "error", wrong ? json__text(wrong) : json_boolean(status == 2));
	shell = serve_shell__fill(s, r, site);
	if (!shell || !data || (status && status != 2) ||
	    html_page__put_text(STDOUT_FILENO, shell, data))
		status = status ? status : 1;
	free(shell);
	free(data);
	return http_status(status);
}

/* What a program reads: of one part what its verb prints, of several all of them. */
static int print_data(const struct page *p, const struct serve_site *s,
		      const struct http_request *r, struct words *w, enum http_type type)
{
	char *data = NULL;
	int status;

	if (type == HTTP_CSV || !p->parts[1].verb) {
		return add(w, strdup(type == HTTP_CSV ? "--csv" : "--json"))
			       ? 1
			       : p->parts[0].verb(w->n, w->v);
	}
	status = make_data(p, s, r, &data);
	if (!status)
		puts(data);
	free(data);
	return status;
}

static int answer_page(const struct serve_site *s, const struct http_request *r,
		       const struct page *p, enum http_type *type)
{
	struct words w = {0};
	const char *wrong = find_wrong(p, &r->address);
	const uint64_t before = log__errors()->n;
	char what[128];
	int status = 500;

	if (wrong) {
		snprintf(what, sizeof(what), "%.64s: this page has no such argument", wrong);
		return serve_shell__refuse(s, r, 400, what, type);
	}
	if (make_words(&w, &p->parts[0], &r->address)) {
		*type = HTTP_TEXT;
	} else if (*type == HTTP_HTML) {
		status = show_page(s, r, p, &w);
		if (status == 500 || status == 403)
			serve_shell__refuse(s, r, status, NULL, type);
	} else {
		status = print_data(p, s, r, &w, *type);
		wrong = wrong_argument(status, before);
		status = http_status(status);
		*type = status == 200 ? *type : HTTP_TEXT;
		if (wrong)
			serve_shell__refuse(s, r, status, wrong, type);
	}
	words__free(&w);
	return status;
}

static const char *behind(const char *path, const char *begin)
{
	const size_t n = strlen(begin);

	return strncmp(path, begin, n) || !path[n] ? NULL : path + n;
}

/* The address as it was asked for, for the log. NULL: no memory. */
static char *address_of(const struct http_address *a)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	fputs(a->path, out);
	for (unsigned i = 0; i < a->nargs; i++)
		fprintf(out, "%c%s=%s", i ? '&' : '?', a->args[i].name, a->args[i].value);
	return fclose(out) ? NULL : text;
}

/* Whether the address asks for what is of the one who asks. */
static bool is_of_me(const struct http_address *a)
{
	for (unsigned i = 0; i < a->nargs; i++)
		if (strstr(a->args[i].value, "@me"))
			return true;
	return false;
}

/* Staff sees what all of staff see, but for own jobs; others what is theirs. */
void serve_page__rights(void *arg, const struct http_address *a, const char *user,
			char word[static HTTP_RIGHTS])
{
	const struct serve_site *s = arg;
	uint32_t uid;

	*word = '\0';
	if (s->is_own || (!getpwnam(user) && parse_u32(user, &uid)))
		snprintf(word, HTTP_RIGHTS, "%s", s->is_own ? "own" : "");
	else
		snprintf(word, HTTP_RIGHTS, "%s",
			 site_viewer__role(user) != ROLE_USER && !is_of_me(a) ? "all jobs" : user);
}

static int answer(const struct serve_site *s, const struct http_request *r, enum http_type *type)
{
	const char *path = r->address.path, *rest = behind(path, "/job/");
	const bool is_user = s->is_own || !sees_all(s, r);
	const struct page *page = page_of(strcmp(path, "/") ? path
					  : is_user	    ? "/home"
							    : "/jobs",
					  type);

	if (rest && r->address.nargs) {
		*type = HTTP_HTML;
		return serve_shell__refuse(s, r, 400, "the page of a job has no arguments", type);
	}
	if (rest)
		return serve_job__one(s, r, rest, type);
	if (behind(path, "/d/") || behind(path, "/d-solo/"))
		return serve_job__grafana(s, r, path[2] == '-', type);
	if (!strcmp(path, "/compare"))
		return serve_job__compare(s, r, type);
	if (page)
		return answer_page(s, r, page, type);
	*type = strchr(path, '.') ? HTTP_TEXT : HTTP_HTML;
	return serve_shell__refuse(s, r, 404, NULL, type);
}

/* The names of all pages, for links to them, with blanks between them. */
static const char *names_of_pages(void)
{
	static char names[1024];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages) && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? " " : "",
				      pages[i].path + 1);
	return names;
}

int serve_page__answer(void *arg, const struct http_request *r, enum http_type *type)
{
	struct serve_site *s = arg;
	const char *asset = behind(r->address.path, "/assets/");
	char *address = address_of(&r->address);
	int status;

	optind = 0; /* getopt begins anew */
	s->pages = names_of_pages();
	if (s->where)
		site_viewer__ask_for(s->is_own ? NULL : r->user, s->where,
				     r->is_again ? NULL
				     : address	 ? address
						 : "?");
	if (s->account)
		site_viewer__see_account(s->account);
	status = asset ? serve_shell__asset(s, asset, type) : answer(s, r, type);
	free(address);
	return status;
}
