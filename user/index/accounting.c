// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks sacct for the jobs that ended in a window of time, and makes rows of what it prints. A user
 * chooses the name of a job, which may contain newlines and delimiters. So each call has a random
 * delimiter, which nobody could put into a name, and a row begins and ends with the job's number.
 */
#include "index/accounting.h"

#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/log.h"
#include "base/str.h"
#include "identity/slurm_lines.h"

#define WAIT_S	    600.0
#define OUTPUT	    (UINT64_C(1) << 30) /* bytes of one answer */
#define TRANSACTION 500			/* rows */
#define WANTED	    10000		/* jobs that a window should have */
#define MOST	    (5 * WANTED)	/* jobs with which a window is too long */
#define SHORTEST_S  60.0
#define FIRST_S	    3600.0 /* first window; also how much before the last end is read again */
#define FIRST_AGO_S (30 * 86400.0)
#define ROW_LEN	    (1u << 20)

/* The fields that sacct prints. TotalCPU of a job is the sum over its steps; to compute it sacct
 * lists the steps, too, which is_left_out() skips. Older releases have no Restarts. */
/* clang-format off */
#define FIELDS(X) \
	X(JobIDRaw) X(JobID) X(Cluster) X(User) X(UID) X(Account) X(Partition) X(QOS) X(State) \
	X(ExitCode) X(Submit) X(Eligible) X(Start) X(End) X(ElapsedRaw) X(TimelimitRaw) \
	X(NNodes) X(NodeList) X(AllocCPUS) X(AllocTRES) X(TotalCPU) X(Restarts) X(JobName)

enum field {
#define X(name) F_##name,
	FIELDS(X)
#undef X
	F_again, /* JobIDRaw once more */
	N_FIELDS
};

static const char *const fields[N_FIELDS] = {
#define X(name) #name,
	FIELDS(X)
#undef X
	"JobIDRaw",
};
/* clang-format on */

/* With these states of ended jobs, sacct selects the jobs whose end is in the window. */
#define STATES "BF,CA,CD,DL,F,NF,OOM,PR,RQ,RS,TO"

struct sync {
	struct index *ix;
	const struct accounting_options *o;
	struct accounting_result *res;
	bool has_restarts;
	char delimiter[20];
	char *row; /* lines of a row that is not complete: ROW_LEN bytes */
	size_t len;
	unsigned parts; /* delimiters in row */
	bool may_shorten;
	bool has_warned;     /* of a line that is not a row */
	unsigned long jobs;  /* in this window */
	struct row *pending; /* TRANSACTION rows that are not written yet */
	unsigned npending;
	unsigned long written; /* in this window */
	double now, last_end;  /* last_end: of all jobs, at most now; NaN: no job */
};

/* ---- commands */

int accounting_ask(const struct accounting_options *o, char *const argv[],
		   int (*take)(void *arg, const char *line), void *arg)
{
	const char *slash = o->sacct ? strrchr(o->sacct, '/') : NULL;
	char *dir = slash ? strndup(o->sacct, (size_t)(slash - o->sacct) + 1) : NULL;
	struct slurm_lines l = {.dir = dir,
				.argv = argv,
				.seconds = o->wait_s > 0 ? o->wait_s : WAIT_S,
				.most = OUTPUT,
				.take = take,
				.arg = arg};
	int err = slurm_lines__read(&l);

	if (err == -ETIME)
		log_error("%s: it has not answered within %.0f s, and was stopped: does slurmdbd "
			  "run?",
			  argv[0], l.seconds);
	else if (err == -EIO)
		log_error("%s: %s", argv[0], l.said);
	free(dir);
	return err;
}

static int take_help(void *arg, const char *line)
{
	bool *has_restarts = arg;

	*has_restarts |= strstr(line, "Restarts") != NULL;
	return 0;
}

/* Asks which fields this release of Slurm has. */
static int find_fields(struct sync *s)
{
	char *const argv[] = {"sacct", "--helpformat", NULL};

	int err = accounting_ask(s->o, argv, take_help, &s->has_restarts);

	if (err == -ENOENT)
		log_error("%s: it cannot be run: is Slurm installed?",
			  s->o->sacct ? s->o->sacct : "sacct");
	return err;
}

/* ---- one value */

/* NaN if the text is not a number, as "Unknown". */
static double number(const char *text)
{
	uint64_t v;

	return parse_u64(text, &v) || v > INT64_MAX / 2 ? NAN : (double)v;
}

/* Converts "[days-][[hours:]minutes:]seconds[.parts]" to seconds; NaN: it is none. */
static double duration(const char *text)
{
	const size_t days = strcspn(text, "-");
	double sum = 0, v;
	char part[32];

	if (text[days]) {
		snprintf(part, sizeof(part), "%.*s", (int)days, text);
		sum = number(part) * 24;
		text += days + 1;
	}
	for (;;) {
		const size_t n = strcspn(text, ":");

		snprintf(part, sizeof(part), "%.*s", (int)n, text);
		if (parse_double(part, &v))
			return NAN;
		sum += v;
		if (!text[n])
			return sum;
		sum *= 60;
		text += n + 1;
	}
}

/* Converts "400M" to MiB; a number without a unit is returned as it is. */
static double amount(const char *text)
{
	static const char units[] = "KMGTP";
	const size_t n = strspn(text, "0123456789.");
	const char *unit = text[n] ? strchr(units, text[n]) : NULL;
	char digits[32];
	double v;

	snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
	if (parse_double(digits, &v) || (text[n] && (!unit || text[n + 1])))
		return NAN;
	return unit ? ldexp(v, 10 * (int)(unit - units - 1)) : v;
}

/* Returns the amount of `name` in a list such as "cpu=4,mem=400M,gres/gpu:a100=2", else the sum
 * over its types, "name:type". NaN: the list has neither. */
static double of_tres(const char *list, const char *name)
{
	const size_t len = strlen(name);
	double sum = NAN;
	char word[256];

	for (const char *p = list; *p; p += *p == ',') {
		const size_t n = strcspn(p, ",");
		const char *value;

		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		p += n;
		value = strchr(word, '=');
		if (!value || strncmp(word, name, len))
			continue;
		if (word[len] == '=')
			return amount(value + 1);
		if (word[len] == ':')
			sum = (isnan(sum) ? 0 : sum) + amount(value + 1);
	}
	return sum;
}

/* ---- a row */

static bool is_in(double v, double least, double most)
{
	return v >= least && v <= most;
}

/* Returns the first required field that is absent or impossible; NULL: there is none. */
static const char *find_nonsense(char *const f[N_FIELDS])
{
	const double start = number(f[F_Start]), end = number(f[F_End]);
	struct row begun;
	int bad = -1;

	row__init(&begun);
	begun.number[INDEX_start] = start;
	if (strcmp(f[F_JobIDRaw], f[F_again]) || !is_in(number(f[F_JobIDRaw]), 1, UINT32_MAX))
		bad = F_JobIDRaw;
	else if (!*f[F_Cluster])
		bad = F_Cluster;
	else if (!is_in(start, 1, UINT32_MAX) || row__find_bad_time(&begun, true))
		bad = F_Start;
	else if (!is_in(end, start, UINT32_MAX))
		bad = F_End;
	else if (!is_in(number(f[F_ElapsedRaw]), 0, end - start))
		bad = F_ElapsedRaw;
	else if (!is_in(number(f[F_AllocCPUS]), 0, 1e9))
		bad = F_AllocCPUS;
	return bad < 0 ? NULL : fields[bad];
}

/* Steps have a dot in their number. A job that has not begun has no nodes; a job that has not ended
 * is read after its end. */
static bool is_left_out(char *const f[N_FIELDS])
{
	return strchr(f[F_JobIDRaw], '.') || !strcmp(f[F_End], "Unknown") ||
	       !strcmp(f[F_Start], "Unknown") || !strcmp(f[F_Start], "None") || !*f[F_NodeList] ||
	       !strcmp(f[F_NodeList], "None assigned");
}

/* sacct prints no name, or "nobody", for a user without an association or an account on its host.
 * Then this machine's name counts, else the number. */
static int take_user(struct row *r, char *const f[N_FIELDS])
{
	const double uid = number(f[F_UID]);
	const struct passwd *pw;

	if (*f[F_User] && strcmp(f[F_User], "nobody"))
		return row__set_text(r, INDEX_user, f[F_User]);
	pw = is_in(uid, 0, UINT32_MAX) ? getpwuid((uid_t)uid) : NULL;
	if (pw || !*f[F_UID])
		return row__set_text(r, INDEX_user, pw ? pw->pw_name : f[F_User]);
	return row__set_text(r, INDEX_user, f[F_UID]);
}

/* "12_3" is task 3 of array 12, "12+1" the second component of heterogeneous job 12. */
static void take_ids(struct row *r, const char *id)
{
	const size_t n = strspn(id, "0123456789");
	char head[32];

	snprintf(head, sizeof(head), "%.*s", (int)n, id);
	if (id[n] == '+') {
		r->number[INDEX_het_id] = number(head);
	} else if (id[n] == '_') {
		r->number[INDEX_array_id] = number(head);
		r->number[INDEX_array_task] = number(id + n + 1);
	}
}

/* Cuts "CANCELLED by 1002": the index does not store who cancelled a job. */
static void cut_state(char *state)
{
	state[strcspn(state, " ")] = '\0';
}

static int take_texts(struct row *r, char *const f[N_FIELDS])
{
	static const struct {
		enum field from;
		enum index_column to;
	} texts[] = {
		{F_Cluster, INDEX_cluster},	{F_Account, INDEX_account},
		{F_Partition, INDEX_partition}, {F_QOS, INDEX_qos},
		{F_State, INDEX_state},		{F_ExitCode, INDEX_exit_code},
		{F_NodeList, INDEX_node_list},	{F_JobName, INDEX_name},
	};
	int err = take_user(r, f);

	cut_state(f[F_State]);
	for (size_t i = 0; !err && i < sizeof(texts) / sizeof(*texts); i++)
		if (*f[texts[i].from])
			err = row__set_text(r, texts[i].to, f[texts[i].from]);
	return err;
}

/* Memory is what was allocated: a request may be per CPU or per node, and the number of nodes is
 * not known before the job begins. */
static void take_numbers(const struct sync *s, struct row *r, char *const f[N_FIELDS])
{
	double *v = r->number;

	v[INDEX_job_id] = number(f[F_JobIDRaw]);
	take_ids(r, f[F_JobID]);
	v[INDEX_restart] = s->has_restarts ? number(f[F_Restarts]) : NAN;
	v[INDEX_submit] = number(f[F_Submit]);
	v[INDEX_eligible] = number(f[F_Eligible]);
	v[INDEX_start] = number(f[F_Start]);
	v[INDEX_end] = number(f[F_End]);
	v[INDEX_elapsed_s] = number(f[F_ElapsedRaw]);
	v[INDEX_limit_s] = 60 * number(f[F_TimelimitRaw]);
	if (v[INDEX_limit_s] >= SLURM_NO_LIMIT_S)
		v[INDEX_limit_s] = NAN;
	v[INDEX_nodes] = number(f[F_NNodes]);
	v[INDEX_cpus] = number(f[F_AllocCPUS]);
	v[INDEX_gpus] = of_tres(f[F_AllocTRES], "gres/gpu");
	v[INDEX_mem_asked_mb] =
		v[INDEX_nodes] > 0 ? of_tres(f[F_AllocTRES], "mem") / v[INDEX_nodes] : NAN;
	v[INDEX_slurm_cpu_s] = duration(f[F_TotalCPU]);
}

static void name_mark(const struct sync *s, char *to, size_t size)
{
	snprintf(to, size, "accounted_until%s%.200s", s->o->clusters ? " " : "",
		 s->o->clusters ? s->o->clusters : "");
}

/* Stores the last end that Slurm reported; this machine's clock may be wrong. The hour before it is
 * read again: slurmdbd may learn the end of a job before its other data. */
static int note_last_end(struct sync *s)
{
	char key[256], value[32];
	const struct db_value args[] = {db_value__text(key), db_value__text(value)};

	name_mark(s, key, sizeof(key));
	snprintf(value, sizeof(value), "%.0f", s->last_end);
	return db__run(s->ix->db,
		       "INSERT INTO meta (key, value) VALUES (?, ?) "
		       "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		       args, 2);
}

static void forget_pending(struct sync *s)
{
	while (s->npending)
		row__free(&s->pending[--s->npending]);
}

static int put(struct sync *s, const struct row *r, struct privacy_past *past)
{
	const struct index_source from = {.source = ROW_SOURCE_SLURM};

	if (privacy_past__has(past, r->text[INDEX_user], r->number[INDEX_start], &s->res->left))
		return 0;
	s->written++;
	return index__put(s->ix, r, &from);
}

/* Writes the rows that were read, in a transaction; at the end of a window also up to when all is
 * read. Other processes may write while sacct is waited for. */
static int write_pending(struct sync *s, bool is_end)
{
	struct privacy_past past;
	int err = index__begin(s->ix);

	if (err)
		return err;
	err = privacy_past__load(&past, s->ix);
	for (unsigned i = 0; !err && i < s->npending; i++)
		err = put(s, &s->pending[i], &past);
	if (!err)
		err = privacy_past__rename(&past, s->ix);
	privacy_past__free(&past);
	if (!err && is_end && !isnan(s->last_end))
		err = note_last_end(s);
	err = index__end(s->ix, err);
	forget_pending(s);
	return err;
}

static int take_row(struct sync *s, char *const f[N_FIELDS])
{
	char bad[64];
	struct row r;
	int err;

	row__init(&r);
	take_numbers(s, &r, f);
	err = take_texts(&r, f);
	if (!err)
		err = hostlist__parse(&r.nodes, f[F_NodeList], bad, sizeof(bad));
	if (err == -EINVAL || err == -E2BIG) { /* the job is stored without names of nodes */
		string_list__free(&r.nodes);
		err = 0;
	}
	if (!err && s->npending == TRANSACTION)
		err = write_pending(s, false);
	if (!err) {
		s->last_end = fmax(s->last_end, fmin(r.number[INDEX_end], s->now));
		s->pending[s->npending++] = r;
	} else {
		row__free(&r);
	}
	return !err && ++s->jobs > MOST && s->may_shorten ? -EFBIG : err;
}

/* ---- lines */

/* Counts a line that is not a row, and logs the first one. */
static void count_nonsense(struct sync *s, const char *what)
{
	s->res->senseless++;
	if (!s->has_warned)
		log_warn("sacct: a line makes no sense (%s) and is left out: %.60s", what, s->row);
	s->has_warned = true;
	s->len = 0;
	s->parts = 0;
}

static unsigned count_delimiters(const struct sync *s, const char *line)
{
	unsigned n = 0;

	for (const char *p = line; (p = strstr(p, s->delimiter)); p += strlen(s->delimiter))
		n++;
	return n;
}

/* Splits a complete row into its fields. */
static int cut_row(struct sync *s)
{
	char *f[N_FIELDS], *at = s->row;
	const char *bad;

	for (unsigned i = 0; i < N_FIELDS; i++) {
		char *end = strstr(at, s->delimiter);

		f[i] = at;
		at = end ? end + strlen(s->delimiter) : s->row + s->len;
		if (end)
			*end = '\0';
	}
	s->len = 0;
	s->parts = 0;
	if (is_left_out(f))
		return 0;
	bad = find_nonsense(f);
	if (!bad)
		return take_row(s, f);
	count_nonsense(s, bad);
	return 0;
}

/* Takes a line of sacct. A row has as many lines as the job's name. */
static int take_line(void *arg, const char *line)
{
	struct sync *s = arg;
	const unsigned parts = count_delimiters(s, line);
	const size_t len = strlen(line);

	if (s->len && (s->parts + parts >= N_FIELDS || s->len + len + 2 > ROW_LEN))
		count_nonsense(s, "it has no end");
	if (len + 2 > ROW_LEN)
		return 0;
	if (s->len)
		s->row[s->len++] = '\n';
	memcpy(s->row + s->len, line, len + 1);
	s->len += len;
	s->parts += parts;
	if (s->parts == N_FIELDS - 1)
		return cut_row(s);
	if (!s->parts || s->parts >= N_FIELDS)
		count_nonsense(s, "number of fields");
	return 0;
}

/* ---- a window */

/* Prints a time in UTC, the time zone in which slurm_lines runs sacct. */
static void print_time(double t, char *to, size_t size)
{
	const time_t seconds = (time_t)t;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(to, size, "%Y-%m-%dT%H:%M:%S", &tm);
}

static int choose_delimiter(struct sync *s)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(s->delimiter, sizeof(s->delimiter), "\x1f%016llx", (unsigned long long)random);
	return 0;
}

/* JobIDRaw replaces a field that this release does not have. */
static void print_format(const struct sync *s, char *to, size_t size)
{
	size_t n = 0;

	for (int i = 0; i < N_FIELDS; i++) {
		const char *name = i == F_Restarts && !s->has_restarts ? "JobIDRaw" : fields[i];

		n += (size_t)snprintf(to + n, size - n, "%s%s", i ? "," : "--format=", name);
	}
}

static int ask_window(struct sync *s, double from, double to)
{
	char since[32], until[32], format[512], delimiter[40];
	const char *clusters = s->o->clusters;
	char *const argv[] = {"sacct",
			      "-P",
			      "-n",
			      "-a",
			      "-D",
			      "--noconvert",
			      "-s",
			      STATES,
			      "-S",
			      since,
			      "-E",
			      until,
			      format,
			      delimiter,
			      clusters ? "-M" : "-L",
			      (char *)clusters,
			      NULL};

	print_time(from, since, sizeof(since));
	print_time(to, until, sizeof(until));
	print_format(s, format, sizeof(format));
	snprintf(delimiter, sizeof(delimiter), "--delimiter=%s", s->delimiter);
	s->res->calls++;
	return accounting_ask(s->o, argv, take_line, s);
}

/* Reads the jobs that ended from `from` to `to`, both included. 0; -EFBIG: there are too many;
 * -errno. */
static int read_window(struct sync *s, double from, double to)
{
	const struct accounting_result before = *s->res;
	int err = choose_delimiter(s);

	s->jobs = s->written = 0;
	s->may_shorten = to - from >= SHORTEST_S;
	if (!err)
		err = ask_window(s, from, to);
	if (s->len)
		count_nonsense(s, "it has no end");
	if (!err)
		err = write_pending(s, true);
	forget_pending(s);
	if (!err)
		s->res->jobs += s->written;
	if (err == -EFBIG) { /* it is read again */
		s->res->senseless = before.senseless;
		s->res->left = before.left;
	}
	return err;
}

/* Length in s of the next window, so that it has WANTED jobs at the rate of this one. Within a
 * window that had too many jobs it does not grow. */
static double next_length(double length, unsigned long jobs, bool is_dense)
{
	const double wanted = jobs ? length * WANTED / (double)jobs : HUGE_VAL;
	const double longest = is_dense ? length : length * 4;

	return fmax(fmin(fmax(wanted, length / 8), longest), SHORTEST_S);
}

static int read_windows(struct sync *s, double from)
{
	const double now = s->now;
	double length = FIRST_S, dense_until = 0;
	int err = 0;

	while (!err && from <= now) {
		const double to = fmin(from + length - 1, now);

		err = read_window(s, from, to);
		if (err == -EFBIG && s->may_shorten) {
			length = fmax(length / 8, SHORTEST_S);
			dense_until = to;
			err = 0;
			continue;
		}
		length = next_length(to - from + 1, s->jobs, to < dense_until);
		from = to + 1;
	}
	if (err == -EFBIG)
		log_error("sacct: it prints more than 1 GiB about one minute: does it print other "
			  "things than jobs?");
	return err;
}

/* Unix time at which the first window begins. */
static double find_begin(struct sync *s, int *err)
{
	char key[256];
	const struct db_value arg = db_value__text(key);
	double last;

	name_mark(s, key, sizeof(key));
	last = db__number(s->ix->db, err, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = ?",
			  &arg, 1);
	if (!isnan(last))
		s->last_end = last = fmin(last, s->now);
	if (!isnan(s->o->since))
		return s->o->since;
	return isnan(last) ? s->now - FIRST_AGO_S : last - FIRST_S;
}

int accounting__sync(struct index *ix, const struct accounting_options *o,
		     struct accounting_result *res)
{
	struct sync s = {.ix = ix,
			 .o = o,
			 .res = res,
			 .row = malloc(ROW_LEN),
			 .pending = calloc(TRANSACTION, sizeof(*s.pending)),
			 .now = (double)time(NULL),
			 .last_end = NAN};
	double from = NAN;
	int err = 0;

	if (!s.row || !s.pending) {
		log_error("%s", strerror(ENOMEM));
		err = -ENOMEM;
	}
	db__share(ix->db);
	unsetenv("SLURM_CLUSTERS"); /* these would change the options of sacct */
	unsetenv("SACCT_FEDERATION");
	unsetenv("SACCT_LOCAL");
	if (!err)
		from = find_begin(&s, &err);
	if (!err)
		err = find_fields(&s);
	if (!err)
		err = read_windows(&s, from);
	free(s.pending);
	free(s.row);
	return err ? err : index__settle(ix);
}
