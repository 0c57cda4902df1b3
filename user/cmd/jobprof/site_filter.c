/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks a filter: impossible words are refused, and where no job matches, the words that the index
 * has no job of are logged. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pika/pika.h"
#include "base/escape.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cmd/jobprof/site_args.h"
#include "findings/findings.h"
#include "identity/jobspec.h"

static int check_state(const char *list)
{
	const char *nearest = NULL;

	for (const char *p = list; p; p = strchr(p, ',')) {
		int n;

		p += *p == ',';
		n = (int)strcspn(p, ",");
		if (job_filter__state(p, (size_t)n, &nearest))
			continue;
		log_error("--state %.*s: Slurm has no such state%s%s", n, p,
			  nearest ? "; did you mean " : "", nearest ? nearest : "");
		return 2;
	}
	return 0;
}

/* *n: how many there are. */
static int check_jobs(const char *list, unsigned *n)
{
	struct jobspec *jobs = NULL;
	char bad[256];
	int err = list ? jobspec__parse(&jobs, n, list, bad, sizeof(bad)) : 0;

	free(jobs);
	if (err)
		log_error("--jobs %s", err == -EINVAL  ? bad
				       : err == -E2BIG ? "LIST: it has too many words"
						       : strerror(-err));
	return err ? 2 : 0;
}

static int check_nodes(const char *list, unsigned *n)
{
	struct string_list nodes = {0};
	char bad[128];
	int err = list ? hostlist__parse(&nodes, list, bad, sizeof(bad)) : 0;

	*n = nodes.n;
	string_list__free(&nodes);
	if (err == -EINVAL)
		log_error("--node %s: \"%s\" is no list of nodes such as n1,n[2-4]", list, bad);
	else if (err)
		log_error("--node %s: %s", list,
			  err == -E2BIG ? "it has too many words" : strerror(-err));
	return err ? 2 : 0;
}

static unsigned words_of(const char *list)
{
	unsigned n = list ? 1 : 0;

	for (; list && *list; list++)
		n += *list == ',';
	return n;
}

#define WORDS_MAX 480 /* QUERY_ARGS, less what questions have of their own */

/* Jobs are looked for by two numbers each. */
static int check_words(const struct job_filter *f, unsigned jobs, unsigned nodes)
{
	const struct {
		const char *name;
		unsigned n;
	} of[] = {{"jobs", 2 * jobs},
		  {"node", nodes},
		  {"user", words_of(f->user)},
		  {"project", words_of(f->account)},
		  {"state", words_of(f->state)},
		  {"partition", words_of(f->partition)},
		  {"cluster", words_of(f->cluster)},
		  {"signature", words_of(f->signature)}};
	unsigned sum = 0, longest = 0;

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++) {
		sum += of[i].n;
		longest = of[i].n > of[longest].n ? i : longest;
	}
	if (sum <= WORDS_MAX)
		return 0;
	log_error("--%s: these are too many words, %u: all lists together may have %d, in which a "
		  "job counts twice",
		  of[longest].name, of[longest].n, WORDS_MAX);
	return 2;
}

static int check_tag(const char *tag)
{
	unsigned i = 0;

	while (tag && i < JOB_TAGS && strcmp(job_tag__name((enum job_tag)i), tag))
		i++;
	if (i < JOB_TAGS)
		return 0;
	log_error("--tag %s: there is no such tag of PIKA", tag);
	return 2;
}

static int check_times(const struct site_args *a)
{
	const struct job_filter *f = &a->filter;

	if (f->ran_at < f->since) {
		log_error("--since %s is after --ran-at %s: what began then ran later",
			  a->since_word, a->ran_at_word);
		return 2;
	}
	if (!a->until_word || !(f->until <= f->since))
		return 0;
	log_error("--until %s is not after %s%s%s", a->until_word,
		  a->since_word ? "--since " : "the 30 days before --ran-at",
		  a->since_word ? a->since_word : "",
		  a->is_since_given || !a->since_word ? "" : ", which is the default");
	return 2;
}

/* Of a list or a part of a text; what is empty is more often a variable that is not set than meant.
 */
static int check_empty(const struct job_filter *f)
{
	const struct {
		const char *name, *word;
	} of[] = {{"user", f->user},	      {"project", f->account}, {"name", f->name},
		  {"program", f->program},    {"cluster", f->cluster}, {"partition", f->partition},
		  {"signature", f->signature}};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (of[i].word && !*of[i].word) {
			log_error("--%s: it is empty; without the option it is any", of[i].name);
			return 2;
		}
	return 0;
}

int site_filter__check(const struct site_args *a)
{
	unsigned jobs = 0, nodes = 0;
	int status = check_times(a);

	if (!status)
		status = check_empty(&a->filter);
	if (!status && a->database && a->dir && !a->as_it_is) {
		log_error("--database and --profiledir: only your own index is brought up to date "
			  "by the way; jobprof index scan %s --database %s does it",
			  a->dir, a->database);
		return 2;
	}
	if (!status)
		status = check_state(a->filter.state);
	if (!status)
		status = check_jobs(a->filter.jobs, &jobs);
	if (!status)
		status = check_tag(a->filter.tag);
	if (!status)
		status = check_nodes(a->filter.node, &nodes);
	return status ? status : check_words(&a->filter, jobs, nodes);
}

/* ---- findings */

struct search {
	const char *word;
	bool is_found;
	struct string_list names;
};

static int look(void *arg, const struct rule_many *m)
{
	struct search *s = arg;

	s->is_found |= !strcmp(m->id, s->word);
	return string_list__append(&s->names, m->id);
}

/* Whether a query SELECT 1 ... has an answer for a word of the user's. True also after an error:
 * nothing is known to be lacking. */
static bool has(struct index *ix, const char *sql, const char *word)
{
	unsigned replaced;
	char *clean = utf8__clean(word, SIZE_MAX, &replaced);
	const struct db_value arg = db_value__text(clean);
	double n = NAN;
	int err = clean ? 0 : -ENOMEM;

	if (!err)
		n = db__number(ix->db, &err, sql, &arg, 1);
	free(clean);
	return err || n == 1;
}

/* Whether the index has such a job that the viewer may see. What cannot be asked is so. */
static bool has_job_of(struct index *ix, const struct job_filter *f, const struct viewer *v)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);
	bool has;

	query__add(&q, "SELECT 1 FROM job j");
	if (!err)
		err = query__where(&q, f, v);
	query__add(&q, " LIMIT 1");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	has = err || db_rows__next(&r) || r.err;
	db_rows__end(&r, err);
	query__free(&q);
	return has;
}

/* Who does not see all is not told what others' jobs have. */
static bool has_finding(struct index *ix, const struct viewer *v, const char *rule)
{
	struct job_filter f;

	if (v->sees_all)
		return has(ix, "SELECT 1 FROM finding WHERE rule = ? LIMIT 1", rule);
	job_filter__init(&f);
	f.finding = rule;
	return has_job_of(ix, &f, v);
}

int site_filter__check_finding(const struct site_args *a, struct index *ix, const struct viewer *v)
{
	static const char *const words[] = {"any", "none", "unknown"};
	struct search s = {.word = a->filter.finding};
	const char *nearest;

	s.is_found = !s.word;
	for (size_t i = 0; !s.is_found && i < sizeof(words) / sizeof(*words); i++)
		s.is_found = !strcmp(words[i], s.word);
	if (!s.is_found)
		s.is_found = has_finding(ix, v, s.word);
	if (s.is_found || rules__each_many(look, &s) || s.is_found) {
		string_list__free(&s.names);
		return 0;
	}
	nearest = str__nearest(s.word, (const char *const *)s.names.v, s.names.n);
	log_error("--finding %s: no rule has this name%s%s", s.word,
		  nearest ? "; did you mean " : ", see jobprof-rules(5)", nearest ? nearest : "");
	string_list__free(&s.names);
	return 2;
}

/* ---- columns */

#define COLUMNS 64

const struct site_column *site_filter__sort(const char *word, const struct site_column *columns,
					    unsigned n)
{
	const char *names[COLUMNS], *nearest;
	const char *key = word + (*word == '-');

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(columns[i].key, key))
			return &columns[i];
	n = n < COLUMNS ? n : COLUMNS;
	for (unsigned i = 0; i < n; i++)
		names[i] = columns[i].key;
	nearest = str__nearest(key, names, n);
	log_error("--sort %s: there is no such column; %s%s", word,
		  nearest ? "did you mean " : "--json shows them", nearest ? nearest : "");
	return NULL;
}

void site_filter__print_sorts(FILE *out, const struct site_column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s ", columns[i].key);
}

/* ---- no job */

/* The table month, and dirty, whose sums are still to be made, together have all values of these
 * columns. */
#define OF_SUMS(column)                                                                      \
	"SELECT 1 FROM (SELECT " column " AS k FROM month UNION ALL SELECT " column " FROM " \
	"dirty) t WHERE k = ? LIMIT 1"

/* Of any time and of anybody. */
static bool has_job(struct index *ix, const char *word)
{
	const struct viewer everybody = {.sees_all = true};
	struct job_filter f;

	job_filter__init(&f);
	f.jobs = word;
	return has_job_of(ix, &f, &everybody);
}

/* sql NULL: words are jobs. */
static void put_lacking(FILE *out, struct index *ix, const char *sql, const char *what,
			const struct string_list *words)
{
	for (unsigned i = 0; i < words->n; i++) {
		if (sql ? has(ix, sql, words->v[i]) : has_job(ix, words->v[i]))
			continue;
		fprintf(out, "%s%s ", ftell(out) > 0 ? ", no " : "no ", what);
		print__utf8(out, words->v[i]);
	}
}

static int split(struct string_list *words, const char *list)
{
	int err = 0;

	for (const char *p = list; !err && p; p = strchr(p, ',')) {
		p += *p == ',';
		err = string_list__take(words, strndup(p, strcspn(p, ",")));
	}
	return err;
}

#define MOST_WORDS 32 /* a longer list is not checked: no user would read the answer */

void site_filter__hint(const struct site_args *a, struct index *ix, const struct viewer *v)
{
	const struct job_filter *f = &a->filter;
	const struct {
		const char *list, *what, *sql;
	} of[] = {
		{f->cluster, "cluster", OF_SUMS("cluster")},
		{f->user && strcmp(f->user, "@me") ? f->user : NULL, "user", OF_SUMS("\"user\"")},
		{f->account, "project", OF_SUMS("account")},
		{f->partition, "partition", OF_SUMS("partition")},
		{f->node, "node", "SELECT 1 FROM job_node WHERE node = ? LIMIT 1"},
		{f->jobs, "job", NULL},
		{f->signature, "signature", "SELECT 1 FROM job WHERE signature = ? LIMIT 1"},
	};
	char *text = NULL, bad[2];
	size_t len;
	FILE *out = v->sees_all ? open_memstream(&text, &len) : NULL;

	for (size_t i = 0; out && i < sizeof(of) / sizeof(*of); i++) {
		struct string_list words = {0};
		int err = !of[i].list		  ? 0
			  : of[i].list == f->node ? hostlist__parse(&words, f->node, bad, 0)
						  : split(&words, of[i].list);

		if (!err && words.n <= MOST_WORDS)
			put_lacking(out, ix, of[i].sql, of[i].what, &words);
		string_list__free(&words);
	}
	if (out && !fclose(out) && *text)
		log_info("the index has %s", text);
	free(text);
}

void site_filter__print_unknown(double share, const char *what)
{
	char text[SITE_CELL];

	if (!(share > 0))
		return;
	site_cell__put(text, CELL_SHARE, share);
	printf("%s %% of what these jobs held has no profile: nobody knows what %s\n", text, what);
}
