/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of verbs on the index; where the index is; who the viewer is. */
#include "cmd/jobprof/site_args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/config/config.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cmd/jobprof/site_viewer.h"
#include "cmd/jobprof/site_when.h"
#include "cmd/jobprof/user_name.h"
#include "index/queue.h"
#include "index/running.h"
#include "index/scan.h"
#include "jobfile/profiles.h"

/* ---- times and ranges */

int site_args__take_since(void *to, const struct opt *o, const char *arg)
{
	struct site_args *a = to;

	a->since_word = arg;
	a->is_since_given = true;
	return site_when__parse(&a->filter.since, o->name, arg);
}

int site_args__take_until(void *to, const struct opt *o, const char *arg)
{
	struct site_args *a = to;

	a->until_word = arg;
	return site_when__parse(&a->filter.until, o->name, arg);
}

/* Reads "4", "4-16" or "8-"; `parse` reads each number. 0 or -EINVAL. */
static int parse_range(double *least, double *most, const char *arg,
		       int (*parse)(const char *, double *))
{
	char text[32];
	char *dash;

	if (strlen(arg) >= sizeof(text))
		return -EINVAL;
	strcpy(text, arg);
	dash = strchr(text, '-');
	if (dash)
		*dash++ = '\0';
	if (parse(text, least))
		return -EINVAL;
	if (!dash)
		*most = *least;
	return dash && *dash ? parse(dash, most) : 0;
}

static int parse_percent(const char *text, double *share)
{
	int err = parse_double(text, share);

	if (!err)
		*share /= 100;
	return err;
}

int site_args__parse_bytes(const char *text, double *bytes)
{
	static const char letters[] = "kMGTPE";
	const size_t n = strspn(text, "0123456789.");
	const char *unit = text + n, *letter = *unit ? strchr("kKMGTPE", *unit) : NULL;
	char number[32];

	if (!n || n >= sizeof(number))
		return -EINVAL;
	snprintf(number, sizeof(number), "%.*s", (int)n, text);
	if (parse_double(number, bytes))
		return -EINVAL;
	if (letter) {
		const bool is_binary = unit[1] == 'i';
		const int power = (int)(strchr(letters, *unit == 'K' ? 'k' : *unit) - letters) + 1;

		*bytes *= pow(is_binary ? 1024 : 1000, power);
		unit += 1 + is_binary;
	}
	unit += *unit == 'B';
	return *unit && strcmp(unit, "/s") ? -EINVAL : 0;
}

/* A share must be a range: hardly any job has exactly one given share. */
int site_args__take_range(void *to, const struct opt *o, const char *arg)
{
	static const char share[] = "it is a range of percent, as 0-10 or 90-";
	static const char bytes[] = "it is a range of bytes, as 1GiB-2GiB or 500MB-";
	static const struct {
		const char *name, *form;
		int (*parse)(const char *, double *);
	} of[N_RANGES] = {
		[RANGE_NODES] = {"nodes", "it is a number, as 4, or a range, as 4-16 or 8-",
				 parse_double},
		[RANGE_RAN] = {"ran", "it is a time, as 90s, or a range, as 1h- or 10m-2h",
			       site_when__parse_span},
		[RANGE_CPU] = {"cpu-share", share, parse_percent},
		[RANGE_MEMORY] = {"memory-share", share, parse_percent},
		[RANGE_LIMIT] = {"limit-share", share, parse_percent},
		[RANGE_READ] = {"read", bytes, site_args__parse_bytes},
		[RANGE_WRITTEN] = {"written", bytes, site_args__parse_bytes},
		[RANGE_READ_RATE] = {"read-rate", bytes, site_args__parse_bytes},
		[RANGE_WRITE_RATE] = {"write-rate", bytes, site_args__parse_bytes},
	};
	struct site_args *a = to;
	double least, most = NAN;
	int i = 0;

	while (strcmp(of[i].name, o->name))
		i++;
	a->range_word[i] = arg;
	if (parse_range(&least, &most, arg, of[i].parse) || most < least ||
	    (of[i].parse != parse_double && of[i].parse != site_when__parse_span &&
	     !strchr(arg, '-'))) {
		log_error("--%s %s: %s", o->name, arg, of[i].form);
		return 2;
	}
	a->filter.range[i].least = least;
	a->filter.range[i].most = most;
	return 0;
}

/* Jobs of all times, unless -S is given. */
int site_args__take_jobs(void *to, const struct opt *o, const char *arg)
{
	struct site_args *a = to;

	a->filter.jobs = arg;
	if (a->is_since_given)
		return 0;
	a->since_word = NULL;
	a->filter.since = NAN;
	return 0;
}

#define BEGUN_S (30 * 86400.0) /* how long before --ran-at a job may have begun, without -S */

int site_args__take_ran_at(void *to, const struct opt *o, const char *arg)
{
	struct site_args *a = to;
	int status = site_when__parse(&a->filter.ran_at, o->name, arg);

	a->ran_at_word = arg;
	if (!a->is_since_given) {
		a->since_word = NULL;
		a->filter.since = a->filter.jobs ? NAN : a->filter.ran_at - BEGUN_S;
	}
	if (!a->until_word)
		a->filter.until = floor(a->filter.ran_at) + 1;
	return status;
}

void site_args__print_states(FILE *out)
{
	fputs("completed failed timeout cancelled node_fail out_of_memory preempted ", out);
}

#define JOBPROF_CONF JOBPROF_SYSCONFDIR "/jobprof/jobprof.conf"

/* Errors in the file are logged. */
static void read_config(struct site_args *a)
{
	static char cluster[128];
	struct config c;

	if (access(JOBPROF_CONF, R_OK) || config__init(&c))
		return;
	if (!config__load(&c, JOBPROF_CONF)) {
		site_viewer__configure(&c);
		snprintf(a->configured, sizeof(a->configured), "%s", c.index ? c.index : "");
		snprintf(a->currency, sizeof(a->currency), "%s", c.prices.currency);
		snprintf(cluster, sizeof(cluster), "%s", c.cluster ? c.cluster : "");
		a->cluster = *cluster ? cluster : NULL;
		a->core_h = c.prices.core_h;
		a->admin_comment = c.admin_comment;
		a->gpu_h = c.prices.gpu_h;
		a->kwh = c.prices.kwh;
		a->co2_g_kwh = c.prices.co2_g_kwh;
		a->retention_days = c.retention_days;
		a->quota_mib = c.quota_mib;
	}
	config__free(&c);
}

void site_args__init(struct site_args *a, const char *since)
{
	*a = (struct site_args){.since_word = since};
	job_filter__init(&a->filter);
	site_when__parse(&a->filter.since, "since", since);
	read_config(a);
}

/* ---- which index */

#define SITE_DIR   "/var/lib/jobprof-index"
#define SITE_INDEX SITE_DIR "/index.db"

static char *own_path(void)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int n = data && *data == '/'   ? asprintf(&path, "%s/jobprof/index.db", data)
		: home && *home == '/' ? asprintf(&path, "%s/.local/share/jobprof/index.db", home)
				       : 0;

	if (n > 0)
		return path;
	log_error("no place for your own index: HOME is not set; --database PATH names one");
	return NULL;
}

/* Whether the user may read the site's index; who may not has an index of the user's own. A server
 * is left to staff, since it would show others only their own jobs. */
static bool may_read(const char *configured)
{
	char *name = NULL;
	bool may = !getuid();

	if (*configured == '/')
		return may || !access(configured, R_OK);
	if (!may && !user_name__of_uid(getuid(), &name))
		may = site_viewer__role(name) != ROLE_USER;
	free(name);
	return may;
}

/* Whether this is the service's user, who makes the site's index if there is none. */
static bool makes_index(void)
{
	struct stat st;

	return getuid() && !stat(SITE_DIR, &st) && st.st_uid == getuid();
}

char *site_args__where(const struct site_args *a, bool *is_own)
{
	*is_own = false;
	if (site_viewer__where())
		return strdup(site_viewer__where());
	if (a->database)
		return strdup(a->database);
	if (!a->dir && *a->configured && (may_read(a->configured) || makes_index()))
		return strdup(a->configured);
	if (!a->dir && (!access(SITE_INDEX, R_OK) || makes_index()))
		return strdup(SITE_INDEX);
	*is_own = true;
	return own_path();
}

int site_args__make_way(const char *path)
{
	char *copy = strdup(path);
	int err = copy ? 0 : -ENOMEM;

	for (char *p = copy ? strchr(copy + 1, '/') : NULL; !err && p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(copy, 0700) && errno != EEXIST) {
			err = -errno;
			log_error("%s: %s", copy, strerror(-err));
		}
		*p = '/';
	}
	free(copy);
	return err;
}

/* The directory of the user's own profiles: -p, else the user's directory in ProfileHDF5Dir, else
 * the working directory. NULL: no memory, or no such directory (logged). */
static char *own_profiles(const struct site_args *a)
{
	char *site = NULL, *name = NULL, *own = NULL;
	bool has = !a->dir && getuid() && !profile_dir__ask(&site) &&
		   !user_name__of_uid(getuid(), &name) && asprintf(&own, "%s/%s", site, name) > 0 &&
		   path__is_dir(own);

	if (!has) {
		free(own);
		own = realpath(a->dir ? a->dir : ".", NULL);
		if (!own)
			log_error("%s: %s", a->dir ? a->dir : ".", strerror(errno));
	}
	free(site);
	free(name);
	return own;
}

/* Of the user's own jobs; a queue that cannot be read is none. */
static int look_at_running(struct index *ix, const struct site_args *a, const char *dir,
			   const struct scan_options *o)
{
	struct queue_options queue = {.cluster = a->cluster};
	char *name = NULL;

	if (!user_name__of_uid(getuid(), &name)) {
		queue.user = name;
		queue__read(ix, &queue);
	}
	free(name);
	return running__scan(ix, dir, o);
}

/* Updates the user's own index. 0 or -errno. */
static int refresh(const struct site_args *a, const char *path)
{
	const struct scan_options o = {.read = site_read__jobs, .own = !a->dir};
	struct scan_result res = {0};
	struct index ix;
	char *dir = own_profiles(a);
	int err = !dir ? -ENOENT : site_args__make_way(path);

	if (!err)
		err = index__open(&ix, path, DB_WRITE);
	if (!err) {
		err = scan__path(&ix, dir, &o, &res);
		if (!err && a->looks)
			err = look_at_running(&ix, a, dir, &o);
		index__close(&ix);
	}
	free(dir);
	return err;
}

void site_args__say_none(const char *where)
{
	char *name = db__name_of(where);

	log_error("%s: there is no index; jobprof index scan DIR makes one",
		  name ? name : "the index");
	free(name);
}

/* Limits of a verb's queries, s; JOBPROF_LIMIT: another one, 0: none. A server has many viewers. */
#define LIMIT_S	      30
#define LIMIT_SERVE_S 10
#define LIMIT_USER_S  3 /* there, for who does not see all */

static double limit_s(const struct viewer *v)
{
	const char *text = getenv("JOBPROF_LIMIT");
	double s;

	if (text && !parse_double(text, &s))
		return s;
	return !site_viewer__where() ? LIMIT_S : v->sees_all ? LIMIT_SERVE_S : LIMIT_USER_S;
}

int site_args__open(const struct site_args *a, struct index *ix, struct viewer *v)
{
	bool is_own;
	char *path = NULL;
	int err;

	if (site_filter__check(a))
		return 2;
	path = site_args__where(a, &is_own);
	if (!path)
		return 1;
	site_viewer__init(v, path, is_own);
	if (is_own && !a->as_it_is)
		refresh(a, path); /* errors have been logged */
	err = index__open(ix, path, DB_READ);
	if (err == -ENOENT && is_own && a->as_it_is) {
		free(path);
		return -ENOENT;
	}
	if (err == -ENOENT)
		site_args__say_none(path);
	free(path);
	if (err)
		return 1;
	db__limit(ix->db, limit_s(v));
	err = site_viewer__add_accounts(v, ix, &a->filter, a->asks_sums) ? 1 : 0;
	if (!err)
		err = site_filter__check_finding(a, ix, v);
	if (err)
		index__close(ix);
	else if (!a->is_aside)
		site_viewer__log(v, &a->filter);
	return err;
}

/* ---- verbs that can do without the index */

#define PATIENCE_S 2 /* limit for a large index, or a server that does not answer */

/* A question about the job of a file. */
struct aside {
	uint32_t job;
	const char *path; /* absolute, as in the index */
	int (*ask)(struct index *ix, const struct aside *w, const struct viewer *v);
	void *out;
	unsigned most;
};

static int ask_aside(const struct aside *w)
{
	struct site_args a = {0};
	struct viewer viewer;
	struct index ix;
	bool is_own;
	char *where;
	int err = -ENOENT;

	read_config(&a);
	where = site_args__where(&a, &is_own);
	if (where)
		err = index__open(&ix, where, DB_READ);
	if (!err) {
		site_viewer__init(&viewer, where, is_own);
		db__limit(ix.db, PATIENCE_S);
		err = w->ask(&ix, w, &viewer);
		index__close(&ix);
	}
	free(where);
	return err;
}

static int ask_quietly(struct aside *w)
{
	char *full = realpath(w->path, NULL);
	int err;

	if (!full)
		return -ENOENT;
	w->path = full;
	w->job = w->job ? w->job : profile_name__job(w->path);
	log__set_level(LOGL_NONE);
	err = ask_aside(w);
	log__set_level(LOGL_INFO);
	free(full);
	return err;
}

static int ask_files(struct index *ix, const struct aside *w, const struct viewer *v)
{
	return alike__files(w->out, ix, w->job, w->path, v, w->most);
}

int site_args__alike(struct string_list *files, uint32_t job, const char *path, unsigned most)
{
	struct string_list all = {0};
	struct aside w = {.job = job, .path = path, .ask = ask_files, .out = &all, .most = most};
	int err = ask_quietly(&w) == -ENOMEM ? -ENOMEM : 0;

	for (unsigned i = 0; !err && i < all.n; i++)
		if (!access(all.v[i], R_OK))
			err = string_list__append(files, all.v[i]);
	string_list__free(&all);
	return err;
}

static int ask_others(struct index *ix, const struct aside *w, const struct viewer *v)
{
	return alike__of(w->out, ix, w->job, w->path, v);
}

void site_args__compare(struct alike *out, uint32_t job, const char *path)
{
	struct aside w = {.job = job, .path = path, .ask = ask_others, .out = out};

	if (ask_quietly(&w))
		alike__free(out); /* it may be filled in part */
}

double site_args__money(const struct site_args *a, double core_s, double gpu_s)
{
	double sum = NAN;

	if (a->core_h > 0 && !isnan(core_s))
		sum = core_s / 3600 * a->core_h;
	if (a->gpu_h > 0 && !isnan(gpu_s))
		sum = (isnan(sum) ? 0 : sum) + gpu_s / 3600 * a->gpu_h;
	return sum;
}

/* ---- forms */

bool site_args__is_word(const char *text)
{
	for (const char *p = text; *p; p += utf8__visible(p))
		if (!utf8__visible(p) || *p == ',')
			return false;
	return *text;
}

void site_args__print_word(FILE *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./@%+:-";

	if (strspn(text, plain) == strlen(text) && *text != '-') {
		fputs(text, out);
		return;
	}
	putc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		putc(*text, out);
	}
	putc('\'', out);
}

#define FILTERS 22
#define NAMED	(FILTERS + 4)

struct named {
	const char *name, *word; /* NULL: it was not given */
};

/* Those that say which jobs come first. */
static void name_words(const struct site_args *a, struct named to[static NAMED])
{
	const struct job_filter *f = &a->filter;
	const struct named all[NAMED] = {{"user", f->user},
					 {"project", f->account},
					 {"name", f->name},
					 {"program", f->program},
					 {"state", f->state},
					 {"partition", f->partition},
					 {"cluster", f->cluster},
					 {"jobs", f->jobs},
					 {"nodes", a->range_word[RANGE_NODES]},
					 {"ran", a->range_word[RANGE_RAN]},
					 {"cpu-share", a->range_word[RANGE_CPU]},
					 {"memory-share", a->range_word[RANGE_MEMORY]},
					 {"limit-share", a->range_word[RANGE_LIMIT]},
					 {"read", a->range_word[RANGE_READ]},
					 {"written", a->range_word[RANGE_WRITTEN]},
					 {"read-rate", a->range_word[RANGE_READ_RATE]},
					 {"write-rate", a->range_word[RANGE_WRITE_RATE]},
					 {"ran-at", a->ran_at_word},
					 {"node", f->node},
					 {"finding", f->finding},
					 {"tag", f->tag},
					 {"signature", f->signature},
					 {"since", a->since_word},
					 {"until", a->until_word},
					 {"profiledir", a->dir},
					 {"database", a->database}};

	memcpy(to, all, sizeof(all));
}

void site_args__print_options(const struct site_args *a, const char *but)
{
	struct named all[NAMED];

	name_words(a, all);
	for (size_t i = 0; i < NAMED; i++) {
		if (!all[i].word || (but && !strcmp(all[i].name, but)))
			continue;
		printf(" --%s ", all[i].name);
		site_args__print_word(stdout, all[i].word);
	}
}

json_t *site_args__filter(const struct site_args *a)
{
	struct named all[NAMED];
	json_t *o = json_object();

	name_words(a, all);
	for (size_t i = 0; i < FILTERS; i++)
		if (all[i].word)
			json__set(o, all[i].name, json__text(all[i].word));
	return o;
}

void site_args__print_times(FILE *out, const struct site_args *a)
{
	if (a->ran_at_word)
		fprintf(out, " that ran at %s", a->ran_at_word);
	if (a->since_word && strcmp(a->since_word, "all"))
		fprintf(out, " since %s", a->since_word);
	if (a->until_word && strcmp(a->until_word, "all"))
		fprintf(out, " until %s", a->until_word);
}

/* ": 1,234 core-h held, 56 lost (5 %), of which cpu.unused 7". */
static void print_held(FILE *out, double held_s, double lost_s, double rule_s, const char *rule)
{
	char held[SITE_CELL], lost[SITE_CELL], part[SITE_CELL], cost[SITE_CELL];

	site_cell__put(held, CELL_HOURS, held_s);
	site_cell__put(lost, CELL_HOURS, lost_s);
	site_cell__put(part, CELL_SHARE, lost_s / held_s);
	site_cell__put(cost, CELL_HOURS, rule_s);
	fprintf(out, ": %s core-h held, %s lost", held, lost);
	if (lost_s >= 0)
		fprintf(out, " (%s %%)", part);
	if (!isnan(rule_s))
		fprintf(out, ", of which %s %s", rule, cost);
}

void site_args__print_head(const struct site_args *a, double jobs, double held_s, double lost_s,
			   double profiled_s, double rule_s)
{
	const unsigned width = site_table__width(stdout);
	char count[SITE_CELL], without[SITE_CELL], *text = NULL, *held = NULL;
	size_t len = 0, times = 0;
	FILE *out = open_memstream(&text, &len);

	site_cell__put(without, CELL_SHARE, 1 - profiled_s / held_s);
	site_cell__put(count, CELL_COUNT, jobs);
	if (out) {
		fprintf(out, "%s job%s", count, jobs == 1 ? "" : "s");
		site_args__print_times(out, a);
		if (!(jobs > 0) && !isnan(a->filter.since))
			fputs("; of all times: -S all", out);
		times = (size_t)ftell(out);
		if (held_s > 0)
			print_held(out, held_s, lost_s, rule_s, a->filter.finding);
	}
	if (out && !fclose(out)) {
		/* What was held is in a line of its own where both are too long for one. */
		if (held_s > 0 && utf8__length(text) > width)
			held = text + times + 1;
		if (held)
			*held++ = '\0';
		site_table__wrap(text, width, stdout);
		if (held)
			site_table__wrap(held, width, stdout);
	}
	free(text);
	if (held_s > profiled_s)
		printf("%s %% of what was held has no profile: nobody knows how much of that was "
		       "lost\n",
		       without);
	putchar('\n');
}

static bool by_column;

void site_args__print_by_column(void)
{
	by_column = true;
}

/* Takes `about`, to whose members the rows are added. 0, or the exit status. */
static int print_json(const struct site_table *t, json_t *about)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (out && !json__print(about, out, JSON_COMPACT) && !fclose(out)) {
		n = strlen(text) - 2; /* without its end, "}\n" */
		printf("%.*s%s\"rows\":", (int)n, text, n > 1 ? "," : "");
		if (by_column)
			site_table__print_columns(t, stdout);
		else
			site_table__print_json(t, stdout);
		if (t->has_sum) {
			fputs(",\"sum\":", stdout);
			about = site_table__json_row(t, t->nrows - 1);
			json__dump(about, stdout, JSON_COMPACT);
			json_decref(about);
		}
		fputs("}\n", stdout);
	}
	free(text);
	return text && !ferror(stdout) ? 0 : 1;
}

int site_args__print(const struct site_args *a, const struct site_table *t, json_t *about)
{
	if (a->json)
		return print_json(t, about);
	json_decref(about); /* of NULL: nothing */
	if (a->csv)
		site_table__csv(t, stdout);
	else
		site_table__print(t, site_table__width(stdout), stdout);
	return 0;
}
