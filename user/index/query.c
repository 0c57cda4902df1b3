/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns filters, and what a reader may see, into SQL. */
#include "index/query.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "analysis/pika/pika.h"
#include "identity/jobspec.h"
#include "index/coordinators.h"
#include "index/sums.h"

void job_filter__init(struct job_filter *f)
{
	*f = (struct job_filter){.since = NAN, .until = NAN, .ran_at = NAN};
	for (int i = 0; i < N_RANGES; i++)
		f->range[i].least = f->range[i].most = NAN;
}

bool job_filter__is_of_rows(const struct job_filter *f)
{
	for (int i = 0; i < N_RANGES; i++)
		if (!isnan(f->range[i].least) || !isnan(f->range[i].most))
			return true;
	return f->state || f->name || f->program || f->signature || f->node || f->finding ||
	       f->tag || f->jobs || !isnan(f->ran_at);
}

static const struct {
	const char *name, *code;
} states[] = {
	{"COMPLETED", "CD"},	 {"FAILED", "F"},	{"TIMEOUT", "TO"},
	{"CANCELLED", "CA"},	 {"NODE_FAIL", "NF"},	{"OUT_OF_MEMORY", "OOM"},
	{"PREEMPTED", "PR"},	 {"BOOT_FAIL", "BF"},	{"DEADLINE", "DL"},
	{"RUNNING", "R"},	 {"PENDING", "PD"},	{"SUSPENDED", "S"},
	{"COMPLETING", "CG"},	 {"CONFIGURING", "CF"}, {"REQUEUED", "RQ"},
	{"RESIZING", "RS"},	 {"REVOKED", "RV"},	{"SIGNALING", "SI"},
	{"SPECIAL_EXIT", "SE"},	 {"STAGE_OUT", "SO"},	{"STOPPED", "ST"},
	{"LAUNCH_FAILED", "LF"}, {"REQUEUE_FED", "RF"}, {"REQUEUE_HOLD", "RH"},
	{"RESV_DEL_HOLD", "RD"},
};
#define N_STATES (sizeof(states) / sizeof(*states))

const char *job_filter__state(const char *word, size_t len, const char **nearest)
{
	const char *names[N_STATES];
	char text[64];

	/* "CANCELLED by 1000" */
	snprintf(text, sizeof(text), "%.*s", (int)(len < 60 ? len : 60), word);
	text[strcspn(text, " ")] = '\0';
	for (size_t i = 0; i < N_STATES; i++) {
		names[i] = states[i].name;
		if (!strcasecmp(text, states[i].name) || !strcasecmp(text, states[i].code))
			return states[i].name;
	}
	*nearest = str__nearest(text, names, N_STATES);
	return NULL;
}

int query__init(struct query *q)
{
	*q = (struct query){0};
	q->out = open_memstream(&q->sql, &q->len);
	q->err = q->out ? 0 : -ENOMEM;
	return q->err;
}

void query__free(struct query *q)
{
	if (q->out)
		fclose(q->out);
	free(q->sql);
	string_list__free(&q->texts);
	*q = (struct query){0};
}

void query__add(struct query *q, const char *sql)
{
	if (q->out)
		fputs(sql, q->out);
}

void query__arg(struct query *q, struct db_value v)
{
	if (q->nargs == QUERY_ARGS)
		q->err = -E2BIG;
	else
		q->args[q->nargs++] = v;
}

/* Cleans a text, as those of rows are. NULL: no memory. */
static char *clean(const char *text, size_t len)
{
	char *copy = strndup(text, len), *text_of_rows;
	unsigned replaced;

	text_of_rows = copy ? utf8__clean(copy, SIZE_MAX, &replaced) : NULL;
	free(copy);
	return text_of_rows;
}

static void text_arg(struct query *q, const char *text, size_t len)
{
	if (string_list__take(&q->texts, clean(text, len)))
		q->err = -ENOMEM;
	else
		query__arg(q, db_value__text(q->texts.v[q->texts.n - 1]));
}

/* Adds a condition: the column `sql` contains the text, or begins with it. */
static void add_like(struct query *q, const char *sql, const char *text, size_t len, bool at_begin)
{
	char *part = clean(text, len), *pattern = part ? malloc(2 * strlen(part) + 3) : NULL,
	     *to = pattern;

	query__add(q, sql);
	query__add(q, " LIKE ? ESCAPE '\\'");
	if (!pattern) {
		q->err = -ENOMEM;
		free(part);
		return;
	}
	if (!at_begin)
		*to++ = '%';
	for (const char *p = part; *p; p++) {
		if (strchr("%_\\", *p))
			*to++ = '\\';
		*to++ = *p;
	}
	*to++ = '%';
	text_arg(q, pattern, (size_t)(to - pattern));
	free(pattern);
	free(part);
}

void query__add_like(struct query *q, const char *sql, const char *text)
{
	add_like(q, sql, text, strlen(text), false);
}

/* Adds a condition: the column contains the text, or equals what follows "=". */
static void add_part(struct query *q, const char *sql, const char *text)
{
	if (text && *text == '=') {
		query__add(q, sql);
		query__add(q, " = ?");
		text_arg(q, text + 1, strlen(text + 1));
	} else if (text) {
		add_like(q, sql, text, strlen(text), false);
	}
}

/* Adds " AND column IN (?, ?)" with the words of a list. */
static void add_list(struct query *q, const char *column, const char *list)
{
	const char *sep = "";

	if (!list)
		return;
	query__add(q, " AND ");
	query__add(q, column);
	query__add(q, " IN (");
	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		query__add(q, sep);
		query__add(q, "?");
		text_arg(q, p, strcspn(p, ","));
		sep = ", ";
	}
	query__add(q, ")");
}

static void add_users(struct query *q, const char *column, const char *list, const struct viewer *v)
{
	add_list(q, column, list && !strcmp(list, "@me") ? v->user : list);
}

/* "CANCELLED by 1000" is CANCELLED, too. */
static void add_state(struct query *q, const char *name)
{
	if (!strcmp(name, "CANCELLED")) {
		add_like(q, "j.state", name, strlen(name), true);
	} else {
		query__add(q, "j.state = ?");
		text_arg(q, name, strlen(name));
	}
}

static int add_states(struct query *q, const char *list)
{
	const char *sep = " AND (", *nearest;

	for (const char *p = list; p; p = strchr(p, ',')) {
		const char *name;
		int n;

		p += *p == ',';
		n = (int)strcspn(p, ",");
		name = job_filter__state(p, (size_t)n, &nearest);
		if (!name) {
			log_error("-s %.*s: Slurm has no such state%s%s", n, p,
				  nearest ? "; did you mean " : "", nearest ? nearest : "");
			return -EINVAL;
		}
		query__add(q, sep);
		add_state(q, name);
		sep = " OR ";
	}
	if (list)
		query__add(q, ")");
	return 0;
}

static void add_bound(struct query *q, const char *sql, double v)
{
	if (isnan(v))
		return;
	query__add(q, sql);
	query__arg(q, db_value__int((int64_t)v));
}

static void add_ranges(struct query *q, const struct job_filter *f)
{
	enum kind { WHOLE, SHARE, BYTES };
	static const struct {
		const char *sql;
		enum kind kind;
	} of[N_RANGES] = {
		[RANGE_NODES] = {"j.nodes", WHOLE},
		[RANGE_RAN] = {"j.elapsed_s", WHOLE},
		[RANGE_CPU] = {"j.cpu_s / NULLIF(j.held_core_s, 0)", SHARE},
		[RANGE_MEMORY] = {"j.peak_mb / NULLIF(j.mem_asked_mb, 0)", SHARE},
		[RANGE_LIMIT] = {"CAST(j.elapsed_s AS {real}) / NULLIF(j.limit_s, 0)", SHARE},
		[RANGE_READ] = {"j.read_bytes", BYTES},
		[RANGE_WRITTEN] = {"j.write_bytes", BYTES},
		[RANGE_READ_RATE] = {"j.read_bw_max", BYTES},
		[RANGE_WRITE_RATE] = {"j.write_bw_max", BYTES},
	};

	for (int i = 0; i < N_RANGES; i++) {
		const double bounds[] = {f->range[i].least, f->range[i].most};
		const bool is_open =
			bounds[0] < bounds[1] &&
			(of[i].kind == BYTES || (of[i].kind == SHARE && bounds[1] < 1));

		for (int k = 0; k < 2; k++) {
			if (isnan(bounds[k]))
				continue;
			query__add(q, " AND ");
			query__add(q, of[i].sql);
			query__add(q, !k ? " >= ?" : is_open ? " < ?" : " <= ?");
			query__arg(q, of[i].kind != WHOLE
					      ? db_value__real(bounds[k])
					      : db_value__int((int64_t)fmin(bounds[k], 1e18)));
		}
	}
}

/* Ids grow roughly with begins: findings of jobs of other times need not be read. Without "+ 0"
 * PostgreSQL would search the least id from the first one of all on. */
static void add_rule(struct query *q, const struct job_filter *f)
{
	const bool is_bounded = !isnan(f->since) || !isnan(f->until);

	query__add(q, " AND j.id IN (SELECT f.job FROM ");
	if (is_bounded) {
		query__add(q, "(SELECT min(i.id + 0) AS least, max(i.id + 0) AS most FROM job i "
			      "WHERE true");
		add_bound(q, " AND i.start >= ?", f->since);
		add_bound(q, " AND i.start < ?", f->until);
		query__add(q, ") w CROSS JOIN ");
	}
	query__add(q, "finding f WHERE f.rule = ?");
	text_arg(q, f->finding, strlen(f->finding));
	query__add(q, is_bounded ? " AND f.job >= w.least AND f.job <= w.most)" : ")");
}

static void add_finding(struct query *q, const struct job_filter *f)
{
	if (!f->finding)
		return;
	if (!strcmp(f->finding, "none"))
		query__add(q, " AND j.findings = 0");
	else if (!strcmp(f->finding, "unknown"))
		query__add(q, " AND j.findings IS NULL");
	else if (!strcmp(f->finding, "any"))
		query__add(q, " AND j.findings > 0");
	else
		add_rule(q, f);
}

bool job_filter__has_rule(const struct job_filter *f)
{
	return f->finding && strcmp(f->finding, "none") && strcmp(f->finding, "any") &&
	       strcmp(f->finding, "unknown");
}

void query__add_cost(struct query *q, const struct job_filter *f)
{
	query__add(q,
		   "(SELECT sum(c.cost_core_s) FROM finding c WHERE c.job = j.id AND c.rule = ?)");
	text_arg(q, f->finding, strlen(f->finding));
}

static int add_tag(struct query *q, const char *tag)
{
	if (!tag)
		return 0;
	for (unsigned i = 0; i < JOB_TAGS; i++) {
		if (strcmp(job_tag__name((enum job_tag)i), tag))
			continue;
		query__add(q, " AND (j.tags & ?) <> 0");
		query__arg(q, db_value__int(1 << i));
		return 0;
	}
	log_error("--tag %s: there is no such tag of PIKA", tag);
	return -EINVAL;
}

static void add_job(struct query *q, const struct jobspec *s)
{
	static const char *const sql[] = {
		[JOBSPEC_JOB] = "j.job_id = ? OR j.array_id = ?",
		[JOBSPEC_ARRAY] = "(j.array_id = ? AND j.array_task = ?)",
		[JOBSPEC_HET] = "(j.het_id = ? AND j.job_id = ?)",
		[JOBSPEC_SLUID] = "j.sluid = ?",
	};

	query__add(q, sql[s->kind]);
	if (s->kind == JOBSPEC_SLUID) {
		text_arg(q, s->sluid, strlen(s->sluid));
		return;
	}
	query__arg(q, db_value__int(s->job));
	/* components have consecutive ids */
	query__arg(q, db_value__int(s->kind == JOBSPEC_ARRAY ? (int64_t)s->part
				    : s->kind == JOBSPEC_HET ? (int64_t)s->job + s->part
							     : (int64_t)s->job));
}

static int add_jobs(struct query *q, const char *list)
{
	const char *sep = " AND (";
	struct jobspec *jobs = NULL;
	unsigned n = 0;
	char bad[256];
	int err = list ? jobspec__parse(&jobs, &n, list, bad, sizeof(bad)) : 0;

	if (err == -EINVAL)
		log_error("-j %s", bad);
	for (unsigned i = 0; !err && i < n; i++) {
		query__add(q, sep);
		add_job(q, &jobs[i]);
		sep = " OR ";
	}
	if (!err && n)
		query__add(q, ")");
	free(jobs);
	return err;
}

static int add_nodes(struct query *q, const char *list)
{
	const char *sep = q->of_nodes
				  ? " AND (n.node IN ("
				  : " AND j.id IN (SELECT n.job FROM job_node n WHERE n.node IN (";
	struct string_list nodes = {0};
	char bad[128];
	int err = list ? hostlist__parse(&nodes, list, bad, sizeof(bad)) : 0;

	if (err == -EINVAL)
		log_error("-w %s: \"%s\" is no list of nodes, as n1,n[2-4]", list, bad);
	for (unsigned i = 0; !err && i < nodes.n && !q->err; i++) {
		query__add(q, sep);
		query__add(q, "?");
		text_arg(q, nodes.v[i], strlen(nodes.v[i]));
		sep = ", ";
	}
	if (!err && nodes.n)
		query__add(q, "))");
	if (err == -E2BIG)
		q->err = err;
	string_list__free(&nodes);
	return err == -E2BIG ? 0 : err;
}

/* The scan of begins is bounded by since and until, if they are given. */
static void add_ran_at(struct query *q, double at)
{
	add_bound(q, " AND j.start <= ?", at);
	add_bound(q, " AND COALESCE(j.\"end\", j.start + j.elapsed_s) > ?", at);
}

/* ---- sums by day or month */

/* Whether a time is midnight, of the first of a month if of_month. *n: the number of its day or
 * month. NaN is no bound, and is true. */
static bool is_begin(double s, bool of_month, double *n)
{
	time_t t = (time_t)s;
	struct tm tm;

	*n = NAN;
	if (isnan(s))
		return true;
	if (!localtime_r(&t, &tm) || tm.tm_hour || tm.tm_min || tm.tm_sec ||
	    (of_month && tm.tm_mday != 1))
		return false;
	*n = of_month ? (tm.tm_year + 1900) * 12 + tm.tm_mon
		      : floor((s + (double)tm.tm_gmtoff) / 86400);
	return true;
}

/* Whether the index's day or month n begins at that time, too: the index has a time zone of its
 * own, and the days of the jobs before and after show it. */
static bool is_begin_there(struct index *ix, double s, const char *column, double n)
{
	const struct db_value at = db_value__int((int64_t)s);
	char sql[128];
	double before, after;
	int err;

	if (isnan(s))
		return true;
	snprintf(sql, sizeof(sql), "SELECT %s FROM job WHERE start < ? ORDER BY start DESC LIMIT 1",
		 column);
	before = db__number(ix->db, &err, sql, &at, 1);
	snprintf(sql, sizeof(sql), "SELECT %s FROM job WHERE start >= ? ORDER BY start LIMIT 1",
		 column);
	after = err ? NAN : db__number(ix->db, &err, sql, &at, 1);
	return !err && !(before >= n) && !(after < n);
}

static bool fits(struct index *ix, const struct job_filter *f, const char *table)
{
	const bool of_month = !strcmp(table, "month");
	double from, to;

	return is_begin(f->since, of_month, &from) && is_begin(f->until, of_month, &to) &&
	       is_begin_there(ix, f->since, table, from) && is_begin_there(ix, f->until, table, to);
}

/* The month of a day. *is_first: it is the first day of that. */
static int month_of(double day, bool *is_first)
{
	time_t t = (time_t)(day * 86400);
	struct tm tm = {0};

	gmtime_r(&t, &tm);
	*is_first = tm.tm_mday == 1;
	return (tm.tm_year + 1900) * 12 + tm.tm_mon;
}

static double first_day(int month)
{
	struct tm tm = {.tm_year = month / 12 - 1900, .tm_mon = month % 12, .tm_mday = 1};

	return (double)timegm(&tm) / 86400;
}

#define DIRTY_DAYS 16 /* with more of them, rows are asked for all days */

/* Days whose sums differ from their rows, and their months, as lists of SQL. */
struct dirty {
	char days[DIRTY_DAYS * 12 + 1], months[DIRTY_DAYS * 12 + 1];
	int n;
	double first, last;
};

/* False: there are too many, or there was an error, logged. If sums are made in the meantime the
 * answer is the same. */
static bool find_dirty(struct index *ix, struct dirty *d)
{
	struct db_rows r;
	int err =
		db__ask(&r, ix->db, "SELECT DISTINCT day, month FROM dirty ORDER BY day", NULL, 0);
	bool is_full = false;

	*d = (struct dirty){0};
	while (!err && !is_full && db_rows__next(&r)) {
		const char *sep = d->n ? ", " : "";

		is_full = d->n == DIRTY_DAYS;
		if (is_full)
			break;
		d->last = db_value__number(&r.v[0]);
		d->first = d->n++ ? d->first : d->last;
		sprintf(strchr(d->days, '\0'), "%s%d", sep, (int)r.v[0].i);
		sprintf(strchr(d->months, '\0'), "%s%d", sep, (int)r.v[1].i);
	}
	err = db_rows__end(&r, err);
	return !err && !is_full;
}

/* Days, `from` included and `to` not, and the whole months in them, as months and as days. */
struct span {
	double from, to;
	int first_month, end_month;
	double from_month, to_month;
};

static struct span span_of(const struct job_filter *f)
{
	struct span s = {.from = NAN, .to = NAN};
	bool is_first;

	is_begin(f->since, false, &s.from);
	is_begin(f->until, false, &s.to);
	s.from = isnan(s.from) ? 0 : s.from;
	s.to = isnan(s.to) ? 1e6 : s.to;
	s.first_month = month_of(s.from, &is_first);
	s.first_month += !is_first;
	s.end_month = month_of(s.to, &is_first);
	s.from_month = first_day(s.first_month);
	s.to_month = first_day(s.end_month);
	if (s.end_month > s.first_month)
		return s;
	s.end_month = s.first_month;
	s.from_month = s.to_month = s.to;
	return s;
}

#define KEYS(of) of "cluster, " of "\"user\", " of "account, " of "partition, " of "month"

static void add_days(FILE *out, double from, double to, const struct dirty *d)
{
	fprintf(out, " UNION ALL SELECT " KEYS("") ", %s FROM day WHERE day >= %.0f AND day < %.0f",
		sums__columns, from, to);
	if (d->n)
		fprintf(out, " AND day NOT IN (%s)", d->days);
}

/* Adds what the sums lack: the other days of months with dirty days, and the rows of dirty days. */
static void add_dirty(FILE *out, const struct span *s, const struct dirty *d)
{
	add_days(out, s->from_month, s->to_month, d);
	fprintf(out,
		" AND month IN (%s) UNION ALL SELECT " KEYS(
			"j.") ", %s FROM job j WHERE j.start >= "
			      "%.0f AND j.start < %.0f AND j.day IN (%s) AND j.day >= %.0f AND "
			      "j.day < %.0f "
			      "GROUP BY " KEYS("j."),
		d->months, sums__of_jobs, d->first * 86400 - 50400, d->last * 86400 + 129600,
		d->days, s->from, s->to);
}

/* Selects the sums of a range of days, with whole months as months: a year of a user is then a few
 * hundred rows and not thousands. */
static const char *days_and_months(const struct job_filter *f, const struct dirty *d)
{
	static char sql[8192];
	const struct span s = span_of(f);
	FILE *out;

	if (s.end_month == s.first_month && !d->n)
		return "day";
	out = fmemopen(sql, sizeof(sql), "w");
	if (!out)
		return NULL;
	fprintf(out, "(SELECT " KEYS("") ", %s FROM month WHERE month >= %d AND month < %d",
		sums__columns, s.first_month, s.end_month);
	if (d->n)
		fprintf(out, " AND month NOT IN (%s)", d->months);
	add_days(out, s.from, s.from_month, d);
	add_days(out, s.to_month, s.to, d);
	if (d->n)
		add_dirty(out, &s, d);
	putc(')', out);
	return fclose(out) ? NULL : sql;
}

const char *query__sums_for(struct index *ix, const struct job_filter *f)
{
	struct dirty d;
	bool of_months;

	if (job_filter__is_of_rows(f))
		return NULL;
	of_months = fits(ix, f, "month");
	if ((!of_months && !fits(ix, f, "day")) || !find_dirty(ix, &d))
		return NULL;
	return of_months && !d.n ? "month" : days_and_months(f, &d);
}

bool query__has_whole_days(struct index *ix, const struct job_filter *f)
{
	return fits(ix, f, "day");
}

bool query__is_of_days(struct index *ix, const struct job_filter *f)
{
	struct dirty d;

	return !job_filter__is_of_rows(f) && fits(ix, f, "day") && find_dirty(ix, &d) && !d.n;
}

/* Entries of coordinators.h that count, of the viewer. */
static void add_entries(struct query *q, const struct viewer *v)
{
	query__add(q, "FROM coordinator c WHERE c.\"user\" = ?");
	text_arg(q, v->user, strlen(v->user));
	query__add(q, " AND c.at >= ?");
	query__arg(q, db_value__int((int64_t)((double)time(NULL) - COORDINATORS_LAST_S)));
}

/* Databases use their index of accounts for the list alone; the clusters of an entry are compared
 * for the rows that it finds. */
void query__add_rights(struct query *q, const char *user, const char *account, const char *cluster,
		       const struct viewer *v)
{
	if (v->sees_all)
		return;
	if (v->account) {
		query__add(q, " AND ");
		query__add(q, account);
		query__add(q, " = ?");
		text_arg(q, v->account, strlen(v->account));
		return;
	}
	query__add(q, " AND (");
	query__add(q, user);
	query__add(q, " = ?");
	text_arg(q, v->user, strlen(v->user));
	if (v->coordinates) {
		query__add(q, " OR (");
		query__add(q, account);
		query__add(q, " IN (SELECT c.account ");
		add_entries(q, v);
		query__add(q, ") AND EXISTS (SELECT 1 ");
		add_entries(q, v);
		query__add(q, " AND c.account = ");
		query__add(q, account);
		query__add(q, " AND c.cluster IN ('', ");
		query__add(q, cluster);
		query__add(q, ")))");
	}
	query__add(q, ")");
}

void query__where_sums(struct query *q, const char *table, const struct job_filter *f,
		       const struct viewer *v)
{
	const bool of_month = !strcmp(table, "month");
	double from = NAN, to = NAN;

	if (*table != '(') { /* rows in parentheses have their bounds */
		is_begin(f->since, of_month, &from);
		is_begin(f->until, of_month, &to);
	}
	query__add(q, " WHERE true");
	query__add_rights(q, "s.\"user\"", "s.account", "s.cluster", v);
	if (q->in_order) {
		add_bound(q, " AND +s.day >= ?", from);
		add_bound(q, " AND +s.day < ?", to);
	} else {
		add_bound(q, of_month ? " AND s.month >= ?" : " AND s.day >= ?", from);
		add_bound(q, of_month ? " AND s.month < ?" : " AND s.day < ?", to);
	}
	add_list(q, "s.cluster", f->cluster);
	add_users(q, "s.\"user\"", f->user, v);
	add_list(q, "s.account", f->account);
	add_list(q, "s.partition", f->partition);
}

static int add_where(struct query *q, const struct job_filter *f, const struct viewer *v)
{
	int err;

	query__add(q, " WHERE true");
	query__add_rights(q, "j.\"user\"", "j.account", "j.cluster", v);
	/* With +start databases use no index on start. */
	add_bound(q, q->in_order ? " AND +j.start >= ?" : " AND j.start >= ?", f->since);
	add_bound(q, q->in_order ? " AND +j.start < ?" : " AND j.start < ?", f->until);
	add_ran_at(q, f->ran_at);
	add_ranges(q, f);
	add_list(q, "j.cluster", f->cluster);
	add_users(q, "j.\"user\"", f->user, v);
	add_list(q, "j.account", f->account);
	add_list(q, "j.partition", f->partition);
	add_list(q, "j.signature", f->signature);
	add_part(q, " AND j.name", f->name);
	add_part(q, " AND j.program", f->program);
	add_finding(q, f);
	err = add_states(q, f->state);
	if (!err)
		err = add_nodes(q, f->node);
	if (!err)
		err = add_tag(q, f->tag);
	return err ? err : add_jobs(q, f->jobs);
}

int query__where(struct query *q, const struct job_filter *f, const struct viewer *v)
{
	int err = add_where(q, f, v);

	q->err = q->err ? q->err : err;
	return err;
}

int query__ask(struct query *q, struct db *d, struct db_rows *r)
{
	*r = (struct db_rows){.db = d};
	if (q->err == -E2BIG) {
		log_error("the lists have too many words: a question can have %d", QUERY_ARGS);
		return -EINVAL;
	}
	if (q->err || fflush(q->out))
		return q->err ? q->err : -ENOMEM;
	return db__ask(r, d, q->sql, q->args, q->nargs);
}

int query__each(struct query *q, struct db *d, int (*take)(void *arg, const struct db_value *v),
		void *arg)
{
	struct db_rows r;
	int err = query__ask(q, d, &r);

	while (!err && db_rows__next(&r))
		err = take(arg, r.v);
	err = db_rows__end(&r, err);
	query__free(q);
	return err;
}
