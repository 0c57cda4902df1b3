/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobprof site build: the pages of serve as files, for a web server alone. Each user and project
 * has a folder, whose pages are those that serve gives to the same viewer, made by the same code in
 * a child process; .htaccess says who may read it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io_full.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/serve_page.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/site_tree.h"
#include "cmd/jobprof/site_viewer.h"
#include "cmd/jobprof/verbs.h"
#include "index/coordinators.h"

#define DAYS	 30
#define SINCE	 "since=30d"
#define TEXT_MAX (256u << 20)
#define PAGE_S	 120 /* of one page: a user's file may never end, or hang */

struct options {
	struct site_args site;
	bool jobs;
};

static void print_actions(FILE *out)
{
	fputs("\nActions:\n  build    writes the pages of the last 30 days to a directory\n", out);
}

static const struct opt opts[] = {
	{0, "jobs", NULL, "also the page of each job that has a profile",
	 OPT_FLAG(struct options, jobs)},
	{0, "database", "PATH|URL",
	 "the index there, SQLite's file or postgresql://...; default: IndexDatabase of "
	 "jobprof.conf",
	 OPT_TEXT(struct options, site.database)},
	{0},
};

const struct command cmd_site = {
	.name = "jobprof site",
	.usage = "build [OPTION]... DIR",
	.about = "The pages of jobprof serve as files, for sites that want no server: of the last\n"
		 "30 days, a folder for each user and project, with .htaccess for Apache.",
	.more = print_actions,
	.opts = opts,
};

/* What the folders have. */
enum kind { OF_USER, OF_PROJECT, OF_STAFF };

enum { PAGE_HOME, PAGE_JOBS };

static const struct {
	const char *name, *arguments[3]; /* by the kind of folder; @: its name */
	bool is_sums;			 /* coordinators see it with CoordinatorSees=sums, too */
} pages[] = {
	[PAGE_HOME] = {"home", {"", NULL, NULL}, false}, /* of a user alone */
	[PAGE_JOBS] = {"jobs",
		       {SINCE "&limit=10000", SINCE "&limit=10000&project=@", SINCE "&limit=10000"},
		       false},
	{"usage", {SINCE "&by=name", SINCE "&by=user&project=@", SINCE "&by=project"}, true},
	{"findings", {SINCE, SINCE "&project=@", SINCE}, false},
	{"io", {SINCE, SINCE "&project=@", SINCE}, false},
	{"issues", {SINCE "&by=name", SINCE "&by=user&project=@", SINCE "&by=user"}, false},
	{"advice", {SINCE "&user=@", SINCE "&project=@", SINCE}, false},
	{"digest", {"since=7d", "since=7d&project=@", "since=7d"}, false},
};
#define N_PAGES (sizeof(pages) / sizeof(*pages))

struct build {
	const struct options *o;
	struct serve_site site;
	struct site_count *count;
	int top;
};

/* A folder: what it is of, and who reads it. */
struct folder {
	struct build *b;
	enum kind kind;
	const char *name;    /* of the user or project */
	const char *readers; /* .htaccess */
	int fd;
	struct string_list files;
	char pages[256]; /* their names, with blanks between them */
};

/* ---- one page */

/* Prints what serve answers to the folder's viewer. */
_Noreturn static void answer(const struct folder *f, const char *address, int out)
{
	struct http_request r = {0};
	enum http_type type;
	int status = 500;

	/* nobody is called "": of a project only its own jobs are seen */
	snprintf(r.user, sizeof(r.user), "%s",
		 f->kind == OF_USER    ? f->name
		 : f->kind == OF_STAFF ? "root"
				       : "");
	alarm(PAGE_S);
	if (dup2(out, STDOUT_FILENO) >= 0 && !http_address__parse(&r.address, address))
		status = serve_page__answer((void *)&f->b->site, &r, &type);
	_exit(status == 200 && !fflush(stdout) ? 0 : 1);
}

/* The answer in *text, from a process of its own, as verbs leave things behind them. 0 or -EIO. */
static int ask(const struct folder *f, const char *address, char **text, size_t *size)
{
	const int out = memfd_create("page", MFD_CLOEXEC);
	const pid_t child = out < 0 ? -1 : fork();
	int status = 1;
	off_t n;

	if (!child)
		answer(f, address, out);
	if (child > 0 && waitpid(child, &status, 0) != child)
		status = 1;
	n = status ? 0 : lseek(out, 0, SEEK_END);
	*text = n > 0 && n < TEXT_MAX ? malloc((size_t)n) : NULL;
	*size = (size_t)n;
	if (*text && pread_full(out, *text, (size_t)n, 0) != n) {
		free(*text);
		*text = NULL;
	}
	if (out >= 0)
		close(out);
	return *text ? 0 : -EIO;
}

/* One file of the folder. */
static int put(struct folder *f, int at, const char *name, const char *address)
{
	char *text;
	size_t n;
	int err = ask(f, address, &text, &n);

	if (err) {
		log_error("%s: no page %s was made", f->name, address);
		f->b->count->failed++;
		return err;
	}
	err = site_tree__put(f->b->count, at, name, text, n);
	free(text);
	return err;
}

/* ---- pages of jobs */

/* Whether a page is there that is younger than the profile. */
static bool is_young(int at, const char *name, const char *profile)
{
	struct stat page, file;

	return !fstatat(at, name, &page, AT_SYMLINK_NOFOLLOW) && !stat(profile, &file) &&
	       page.st_mtime > file.st_mtime;
}

static int put_job(struct folder *f, int at, json_t *row, struct string_list *names)
{
	const json_t *array = json_object_get(row, "array_id"),
		     *task = json_object_get(row, "array_task");
	const char *profile = json_string_value(json_object_get(row, "file"));
	char id[48], address[64], name[64];

	if (!profile)
		return 0;
	if (json_is_integer(task))
		snprintf(id, sizeof(id), "%lld_%lld", (long long)json_integer_value(array),
			 (long long)json_integer_value(task));
	else
		snprintf(id, sizeof(id), "%lld",
			 (long long)json_integer_value(json_object_get(row, "job_id")));
	snprintf(name, sizeof(name), "%s.html", id);
	snprintf(address, sizeof(address), "/job/%s", id);
	if (is_young(at, name, profile))
		f->b->count->kept++;
	else
		put(f, at, name, address); /* has been logged and counted */
	return string_list__append(names, name);
}

static int put_jobs(struct folder *f, const char *address)
{
	struct string_list names = {0};
	json_t *all = NULL, *row;
	size_t n, i;
	char *text;
	int fd = site_tree__folder(f->fd, "job"), err = fd < 0 ? fd : ask(f, address, &text, &n);

	if (!err) {
		all = json_loadb(text, n, 0, NULL);
		free(text);
		err = all ? 0 : -ENOMEM;
	}
	json_array_foreach (json_object_get(all, "rows"), i, row)
		err = err ? err : put_job(f, fd, row, &names);
	if (!err)
		err = site_tree__keep(f->b->count, fd, &names);
	if (!err)
		err = string_list__append(&f->files, "job");
	json_decref(all);
	string_list__free(&names);
	if (fd >= 0)
		close(fd);
	return err;
}

/* ---- a folder */

static int put_text(struct folder *f, const char *name, const char *text)
{
	int err = site_tree__put(f->b->count, f->fd, name, text, strlen(text));

	return err ? err : string_list__append(&f->files, name);
}

/* The address of a page of the folder. */
static void address_of(const struct folder *f, unsigned i, const char *ending, char *text,
		       size_t size)
{
	const char *arguments = pages[i].arguments[f->kind], *at = strchr(arguments, '@');

	snprintf(text, size, "/%s%s?%.*s%s", pages[i].name, ending,
		 at ? (int)(at - arguments) : (int)strlen(arguments), arguments, at ? f->name : "");
}

static int put_page(struct folder *f, unsigned i)
{
	char address[256], name[32];
	int err;

	address_of(f, i, "", address, sizeof(address));
	snprintf(name, sizeof(name), "%s.html", pages[i].name);
	put(f, f->fd, name, address); /* the old one stays where it fails */
	err = string_list__append(&f->files, name);
	if (err || i != PAGE_JOBS || !f->b->o->jobs)
		return err;
	address_of(f, i, ".json", address, sizeof(address));
	return put_jobs(f, address);
}

static bool is_in(const struct folder *f, unsigned i)
{
	if (!pages[i].arguments[f->kind])
		return false;
	return f->kind != OF_PROJECT || pages[i].is_sums || !site_viewer__are_sums();
}

/* The names of the pages, with blanks between them, and the first of them. */
static const char *name_pages(const struct folder *f, char *names, size_t size)
{
	const char *first = NULL;
	size_t n = 0;

	for (unsigned i = 0; i < N_PAGES; i++) {
		if (!is_in(f, i))
			continue;
		n += (size_t)snprintf(names + n, size - n, "%s%s", first ? " " : "", pages[i].name);
		first = first ? first : pages[i].name;
	}
	if (f->b->o->jobs && is_in(f, PAGE_JOBS))
		snprintf(names + n, size - n, " job");
	return first;
}

static int make_folder(struct folder *f)
{
	char index[512];
	const char *first = name_pages(f, f->pages, sizeof(f->pages));
	/* First who may read it: a folder is never there without. */
	int err = put_text(f, ".htaccess", f->readers);

	f->b->site.files = f->pages;
	for (unsigned i = 0; !err && i < N_PAGES; i++)
		err = is_in(f, i) ? put_page(f, i) : 0;
	snprintf(index, sizeof(index),
		 "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
		 "http-equiv=\"refresh\" content=\"0; url=%s.html\"><title>jobprof</title></head>"
		 "<body><a href=\"%s.html\">jobprof</a></body></html>\n",
		 first, first);
	if (!err)
		err = put_text(f, "index.html", index);
	return err ? err : site_tree__keep(f->b->count, f->fd, &f->files);
}

/* In a child process. */
static void start_folder(const struct build *b, int at, enum kind kind, const char *name,
			 const char *readers)
{
	struct build own = *b;
	struct folder f = {.b = &own, .kind = kind, .name = name, .readers = readers};
	pid_t child = fork();

	if (child > 0)
		return;
	if (child < 0) {
		log_error("%s: no process: %s", name, strerror(errno));
		b->count->failed++;
		return;
	}
	own.site.up = kind == OF_STAFF ? "../" : "../../";
	own.site.shown = kind == OF_USER ? NULL : name;
	own.site.account = kind == OF_PROJECT ? name : NULL;
	f.fd = kind == OF_STAFF ? dup(at) : site_tree__folder(at, name);
	if (f.fd < 0 || make_folder(&f))
		b->count->failed++;
	_exit(0);
}

static void wait_for(unsigned *running, unsigned most)
{
	int status;

	for (; *running > most; --*running)
		if (wait(&status) < 0)
			return;
}

/* ---- all folders of a kind */

static const char no_access[] = "Require all denied\n", any_user[] = "Require valid-user\n";

/* A line for .htaccess of these users, who have names that need no quotes. The caller frees it. */
static char *require_users(const struct string_list *users)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	for (unsigned i = 0; i < users->n; i++)
		fprintf(out, "%s%s", i ? " " : "Require user ", users->v[i]);
	fputs(users->n ? "\n" : no_access, out);
	return fclose(out) ? NULL : text;
}

/* Folders, and who may read each of them. */
struct folders {
	struct string_list names, readers; /* .htaccess */
};

struct site_lists {
	struct folders users, projects;
	struct string_list staff;
};

static int add_folder(struct folders *f, const char *name, const struct string_list *readers)
{
	int err = string_list__append(&f->names, name);

	return err ? err : string_list__take(&f->readers, require_users(readers));
}

static double since(void)
{
	return (double)time(NULL) - DAYS * 86400.0;
}

/* The names that can be a folder's; how many cannot is logged. */
static int list_names(struct string_list *names, struct index *ix, const char *sql,
		      const struct db_value *args, unsigned n, const char *of)
{
	struct db_rows r;
	unsigned strange = 0;
	int err = db__ask(&r, ix->db, sql, args, n);

	while (!err && db_rows__next(&r)) {
		const char *name = r.v[0].type == DB_TEXT ? r.v[0].text : "";

		if (http_name__is_user(name))
			err = string_list__append(names, name);
		else
			strange += *name != '\0';
	}
	err = db_rows__end(&r, err);
	if (strange)
		log_warn("site: %u %s have names that are none for a folder: they get no pages",
			 strange, of);
	return err;
}

static int list_users(struct site_lists *l, struct index *ix)
{
	const struct db_value args[] = {db_value__real(since())};
	struct string_list names = {0};
	int err = list_names(&names, ix, "SELECT DISTINCT j.\"user\" FROM job j WHERE j.start >= ?",
			     args, 1, "users");

	for (unsigned i = 0; !err && i < names.n; i++) {
		const struct string_list reader = {&names.v[i], 1};

		err = add_folder(&l->users, names.v[i], &reader);
	}
	string_list__free(&names);
	return err;
}

/* Who coordinates an account on each cluster that it has jobs on. */
#define COORDINATORS                                                                            \
	"SELECT DISTINCT c.\"user\" FROM coordinator c WHERE c.account = ? AND c.at >= ? AND "  \
	"NOT EXISTS (SELECT 1 FROM job j WHERE j.account = c.account AND j.start >= ? AND NOT " \
	"EXISTS (SELECT 1 FROM coordinator d WHERE d.\"user\" = c.\"user\" AND d.account = "    \
	"c.account AND d.at >= ? AND d.cluster IN ('', j.cluster))) ORDER BY 1"

/* Those that somebody coordinates: nobody else could read the folder. */
static int list_projects(struct site_lists *l, struct index *ix)
{
	const struct db_value known =
		db_value__int((int64_t)((double)time(NULL) - COORDINATORS_LAST_S));
	struct db_value args[] = {{0}, known, db_value__real(since()), known};
	struct string_list names = {0};
	int err = list_names(&names, ix, "SELECT DISTINCT j.account FROM job j WHERE j.start >= ?",
			     &args[2], 1, "projects");

	for (unsigned i = 0; !err && i < names.n; i++) {
		struct string_list readers = {0};

		args[0] = db_value__text(names.v[i]);
		err = list_names(&readers, ix, COORDINATORS, args, 4, "coordinators");
		if (!err && readers.n)
			err = add_folder(&l->projects, names.v[i], &readers);
		string_list__free(&readers);
	}
	string_list__free(&names);
	return err;
}

static int list_all(struct site_lists *l, struct index *ix)
{
	struct string_list staff = {0};
	int err = list_users(l, ix);

	if (!err)
		err = list_projects(l, ix);
	if (!err)
		err = site_viewer__list_staff(&staff);
	for (unsigned i = 0; !err && i < staff.n; i++)
		if (http_name__is_user(staff.v[i]))
			err = string_list__append(&l->staff, staff.v[i]);
	string_list__free(&staff);
	return err;
}

static void site_lists__free(struct site_lists *l)
{
	string_list__free(&l->users.names);
	string_list__free(&l->users.readers);
	string_list__free(&l->projects.names);
	string_list__free(&l->projects.readers);
	string_list__free(&l->staff);
}

/* top/user/NAME/ for each. */
static int make_folders(const struct build *b, enum kind kind, const char *folder,
			struct folders *of)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const int at = site_tree__folder(b->top, folder);
	unsigned running = 0;
	int err = at < 0 ? at : 0;

	if (!err)
		err = site_tree__put(b->count, at, ".htaccess", no_access, strlen(no_access));
	for (unsigned i = 0; !err && i < of->names.n; i++) {
		wait_for(&running, cpus > 1 ? (unsigned)cpus - 1 : 0);
		start_folder(b, at, kind, of->names.v[i], of->readers.v[i]);
		running++;
	}
	wait_for(&running, 0);
	if (!err)
		err = string_list__append(&of->names, ".htaccess");
	if (!err)
		err = site_tree__keep(b->count, at, &of->names);
	if (at >= 0)
		close(at);
	return err;
}

static int make_staff(const struct build *b, const struct string_list *staff)
{
	char *readers = require_users(staff);
	const int at = site_tree__folder(b->top, "all");
	unsigned running = 1;

	if (at < 0 || !readers)
		return -ENOMEM;
	start_folder(b, at, OF_STAFF, "all", readers);
	wait_for(&running, 0);
	free(readers);
	close(at);
	return 0;
}

/* ---- what all folders share */

/* The script and the style, by their names in the shell. */
static int make_assets(const struct build *b)
{
	static const char *const endings[] = {".js\"", ".css\""};
	struct build own = *b;
	struct folder f = {.b = &own, .kind = OF_STAFF, .name = "assets"};
	int err;

	f.fd = site_tree__folder(b->top, "assets");
	err = f.fd < 0 ? f.fd : put_text(&f, ".htaccess", any_user);
	for (int i = 0; !err && i < 2; i++) {
		const char *end = strstr(b->site.shell, endings[i]), *begin = end;
		char address[128], name[64];

		while (begin && begin > b->site.shell && begin[-1] != '/')
			begin--;
		snprintf(name, sizeof(name), "%.*s",
			 begin ? (int)(end + strlen(endings[i]) - 1 - begin) : 0,
			 begin ? begin : "");
		snprintf(address, sizeof(address), "/assets/%s", name);
		err = put(&f, f.fd, name, address);
		err = err ? err : string_list__append(&f.files, name);
	}
	if (!err)
		err = site_tree__keep(b->count, f.fd, &f.files);
	if (f.fd >= 0)
		close(f.fd);
	string_list__free(&f.files);
	return err;
}

static int make_all(const struct build *b, struct site_lists *l)
{
	int err = site_tree__put(b->count, b->top, ".htaccess", any_user, strlen(any_user));

	if (!err)
		err = make_assets(b);
	if (!err)
		err = make_folders(b, OF_USER, "user", &l->users);
	if (!err)
		err = make_folders(b, OF_PROJECT, "project", &l->projects);
	return err ? err : make_staff(b, &l->staff);
}

static int build(struct build *b, struct site_lists *l, const char *dir)
{
	const unsigned users = l->users.names.n, projects = l->projects.names.n;
	int err;

	umask(027); /* the web server's group reads, whatever the mask of who calls */
	err = site_tree__open(dir, &b->top);
	if (err)
		return 1;
	err = make_all(b, l);
	printf("%s: %u users, %u projects: %ju files written, %ju as they were, %ju removed%s\n",
	       dir, users, projects, (uintmax_t)b->count->written, (uintmax_t)b->count->kept,
	       (uintmax_t)b->count->removed, b->count->failed ? "; some failed" : "");
	close(b->top);
	return err || b->count->failed ? 1 : 0;
}

static int run(const struct options *o, const char *dir)
{
	struct build b = {.o = o, .site = {.up = "../../"}};
	struct site_lists l = {0};
	struct viewer v;
	struct index ix;
	bool is_own;
	char *where = site_args__where(&o->site, &is_own);
	int status = where ? 0 : 1;

	if (!status && is_own) {
		log_error("site: it is made of the index of the site: --database PATH names it");
		status = 1;
	}
	if (!status)
		status = site_args__open(&o->site, &ix, &v);
	if (!status) {
		if (!v.sees_all)
			log_error("site: the pages of all are made by root or the index's owner");
		status = !v.sees_all || list_all(&l, &ix) ? 1 : 0;
		index__close(&ix);
	}
	b.site.where = where;
	b.count = mmap(NULL, sizeof(*b.count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (!status)
		status = b.count == MAP_FAILED || serve_site__open(&b.site) ? 1 : 0;
	if (!status) {
		status = build(&b, &l, dir);
		serve_site__close(&b.site);
	}
	site_lists__free(&l);
	free(where);
	return status;
}

int verb_site(int argc, char **argv)
{
	struct options o = {0};
	int status;

	site_args__init(&o.site, "30d");
	status = options__read(&cmd_site, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind + 2 != argc || strcmp(argv[optind], "build") != 0)
		return options__wrong(&cmd_site, "what to do: jobprof site build DIR");
	return run(&o, argv[optind + 1]);
}
