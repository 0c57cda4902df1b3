/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends the mails of the spool, with what the index knows of their jobs: one mail for all tasks of
 * an array, a bounded number per minute, and none twice. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/call.h"
#include "base/cleanup.h"
#include "base/io_full.h"
#include "base/json.h"
#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "cmd/jobprof/index_actions.h"
#include "cmd/jobprof/mail.h"
#include "cmd/jobprof/site_job.h"
#include "view/site/mail.h"

#define AGAIN_S	  3600	       /* pause between mails on an array that still runs */
#define GIVE_UP_S 86400	       /* a mail that could not be sent for so long is given up */
#define KNOWN_S	  (30 * 86400) /* ids of sent mails are stored so long */
#define CLOCKS_S  600	       /* by which the clocks of nodes may differ */
#define FAILURES  10	       /* failed mails that end a turn */
#define TEXT	  256

/* A file of the spool. */
struct event {
	char *path, *subject, *to;
	char cluster[TEXT], user[TEXT], type[TEXT], state[TEXT], name[TEXT];
	char key[4 * TEXT]; /* events of the same key become one mail */
	double at;
	uint32_t job, array; /* 0: none */
	uint32_t tasks;	     /* of the array; 0: not known */
	unsigned before;     /* mails of the same user that come first */
	bool is_array;	     /* the event is about the array as a whole */
};

struct queue {
	struct index *ix;
	const struct mail_options *o;
	struct mail_result *res;
	struct event *v;
	unsigned n;
	double now;
	int dir;
	uid_t owner;	 /* of the spool */
	double left;	 /* mails that may be sent now */
	unsigned unsent; /* mails that sendmail did not take in this turn */
};

/* ---- reading */

static void free_event(struct event *e)
{
	free(e->path);
	free(e->subject);
	free(e->to);
}

static const char *env_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(json_object_get(o, "env"), name));

	return text ? text : "";
}

static uint32_t number_of(const json_t *o, const char *name)
{
	uint32_t v;

	return parse_u32(env_of(o, name), &v) ? 0 : v;
}

static void copy_env(char to[static TEXT], const json_t *o, const char *name)
{
	snprintf(to, TEXT, "%s", env_of(o, name));
}

/* Takes the variables that slurmctld sets since 21.08. */
static void take_variables(struct event *e, const json_t *o)
{
	copy_env(e->cluster, o, "SLURM_CLUSTER_NAME");
	copy_env(e->user, o, "SLURM_JOB_USER");
	copy_env(e->type, o, "SLURM_JOB_MAIL_TYPE");
	copy_env(e->state, o, "SLURM_JOB_STATE");
	copy_env(e->name, o, "SLURM_JOB_NAME");
	e->job = number_of(o, "SLURM_JOB_ID");
	e->array = number_of(o, "SLURM_ARRAY_JOB_ID");
	e->tasks = number_of(o, "SLURM_ARRAY_TASK_COUNT");
	e->is_array = str__starts(e->subject, "Slurm Array Summary ");
}

static bool is_end(const struct event *e)
{
	return !strcmp(e->type, "Ended") || !strcmp(e->type, "Failed");
}

/* 0; -EINVAL: it is no mail of `jobprof mail`; -ENOMEM. */
static int take_content(struct event *e, const char *text, size_t len)
{
	json_t *o = json_loadb(text, len, 0, NULL);
	const char *subject = json_string_value(json_object_get(o, "subject"));
	const char *to = json_string_value(json_object_get(o, "to"));
	int err = 0;

	e->at = json__number_of(o, "at");
	if (!subject || !to || !mail__is_address(to) || isnan(e->at))
		err = -EINVAL;
	if (!err) {
		e->subject = strdup(subject);
		e->to = strdup(to);
		err = e->subject && e->to ? 0 : -ENOMEM;
	}
	if (!err) {
		take_variables(e, o);
		if (e->array && is_end(e) && !e->is_array)
			snprintf(e->key, sizeof(e->key), "%.200s %u %.500s", e->cluster, e->array,
				 e->to);
		else
			snprintf(e->key, sizeof(e->key), "%.900s", e->path);
	}
	json_decref(o);
	return err;
}

/* Only regular files of the spool's owner, root or this user are read: others may be forged. */
static int read_event(const struct queue *q, struct event *e)
{
	int fd = openat(q->dir, e->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err = 0;
	char *text = malloc(MAIL_FILE_MAX);
	ssize_t n = 0;
	struct stat st;

	if (fd < 0 || !text || fstat(fd, &st))
		err = fd >= 0 ? -ENOMEM : errno == ELOOP || errno == ENXIO ? -EINVAL : -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size > MAIL_FILE_MAX ||
		 (st.st_uid != q->owner && st.st_uid && st.st_uid != geteuid()))
		err = -EINVAL;
	else
		n = read_full(fd, text, MAIL_FILE_MAX);
	if (!err)
		err = n < 0 ? (int)n : take_content(e, text, (size_t)n);
	if (fd >= 0)
		close(fd);
	free(text);
	return err;
}

static int add_event(struct queue *q, const char *name)
{
	struct event e = {.path = strdup(name)};
	int err = e.path ? read_event(q, &e) : -ENOMEM;

	if (err == -EINVAL) {
		log_error("%s/%s: it is no mail of jobprof mail: it is removed", q->o->spool, name);
		unlinkat(q->dir, name, 0);
		q->res->refused++;
	} else if (err && err != -ENOENT && err != -ENOMEM) {
		log_error("%s/%s: it cannot be read: %s; the mail stays there", q->o->spool, name,
			  strerror(-err));
		q->res->failed++;
	}
	if (!err && room__grow(&q->v, q->n, 1, sizeof(*q->v)))
		err = -ENOMEM;
	if (err)
		free_event(&e);
	else
		q->v[q->n++] = e;
	return err == -ENOMEM ? err : 0;
}

static int read_spool(struct queue *q)
{
	_cleanup_closedir_ DIR *d = fdopendir(dup(q->dir));
	struct dirent *e;
	int err = d ? 0 : -errno;

	while (!err && d && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (*e->d_name != '.' && n > strlen(MAIL_FILE) &&
		    !strcmp(e->d_name + n - strlen(MAIL_FILE), MAIL_FILE))
			err = add_event(q, e->d_name);
	}
	return err;
}

/* Opens the spool and marks it as served. */
static int open_spool(struct queue *q)
{
	struct stat st;
	int fd;

	q->dir = open(q->o->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (q->dir < 0 || fstat(q->dir, &st)) {
		log_error("%s: %s; MailSpool is made by who administers Slurm: see jobprof-mail(1)",
			  q->o->spool, strerror(errno));
		return -errno;
	}
	q->owner = st.st_uid;
	fd = openat(q->dir, MAIL_SERVED, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || futimens(fd, NULL)) {
		log_error("%s/" MAIL_SERVED ": %s", q->o->spool, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -EACCES;
	}
	close(fd);
	return 0;
}

/* ---- what is due */

static const struct viewer everybody = {.sees_all = true};

/* Removes rows of other users: a profile of theirs may claim this job, and is not for its mail. */
static void drop_others(struct row_list *l, const char *user)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n; i++)
		if (!*user || (l->v[i].text[INDEX_user] && !strcmp(l->v[i].text[INDEX_user], user)))
			l->v[n++] = l->v[i];
		else
			row__free(&l->v[i]);
	l->n = n;
}

/* Reads the rows of the event's job; *known: the index has its end and findings. 0 or -errno. */
static int find_job(struct queue *q, const struct event *e, struct row_list *rows, bool *known)
{
	const struct jobspec job = {.kind = JOBSPEC_JOB, .job = e->job};
	int err =
		e->job ? index__find(q->ix, &job, *e->cluster ? e->cluster : NULL, &everybody, rows)
		       : 0;

	drop_others(rows, e->user);
	*known = !err && rows->n && rows->v[0].number[INDEX_end] >= e->at - CLOCKS_S &&
		 !isnan(rows->v[0].number[INDEX_findings]);
	return err;
}

static int find_array(struct queue *q, const struct event *e, unsigned n, struct row_list *rows,
		      bool *known)
{
	int err = index__find_array(q->ix, e->array, *e->cluster ? e->cluster : NULL, &everybody,
				    rows);

	drop_others(rows, e->user);
	*known = !err && rows->n >= (e->tasks > n ? e->tasks : n);
	for (unsigned i = 0; *known && i < rows->n; i++)
		*known = !isnan(rows->v[i].number[INDEX_findings]);
	return err;
}

/* Unix time of the last mail on these tasks; NaN: there was none. */
static double last_of(struct queue *q, const struct event *e, int *err)
{
	const struct db_value about = db_value__text(e->key);

	return db__number(q->ix->db, err, "SELECT max(at) FROM mail WHERE about = ?", &about, 1);
}

/* Whether a mail on the events e[n] of one key, sorted by time, can be sent now. Tasks of an array
 * that end one after the other share a mail. */
static bool is_due(struct queue *q, const struct event *e, unsigned n, bool known, int *err)
{
	const struct event *last = &e[n - 1];
	const bool is_part = e->array && is_end(e) && !e->is_array;
	double before;

	*err = 0;
	if (!is_end(e) || (known && (!is_part || n == e->tasks)))
		return true;
	if (q->now < last->at + q->o->delay_s)
		return false;
	before = is_part && n != e->tasks ? last_of(q, e, err) : NAN;
	return !*err && !(q->now < before + AGAIN_S);
}

/* ---- the text of a mail */

#define STATES 16

struct state_count {
	const char *state;
	unsigned n;
};

static int by_count(const void *a, const void *b)
{
	const struct state_count *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->state, y->state);
}

/* Writes a subject, with the most frequent state first:
 * "Slurm Array Job_id=7 Name=x Ended, 3 tasks: 2 COMPLETED, 1 FAILED". */
static void name_tasks(char *to, size_t size, const struct event *e, unsigned n)
{
	struct state_count states[STATES] = {0};
	unsigned nstates = 0, k;
	FILE *f = fmemopen(to, size, "w");

	*to = '\0';
	for (unsigned i = 0; i < n; i++) {
		for (k = 0; k < nstates && strcmp(states[k].state, e[i].state); k++)
			;
		if (k == STATES)
			continue;
		if (k == nstates)
			states[nstates++].state = e[i].state;
		states[k].n++;
	}
	if (!f)
		return;
	qsort(states, nstates, sizeof(*states), by_count);
	fprintf(f, "Slurm Array Job_id=%u Name=%s Ended, %u tasks", e->array, e->name, n);
	for (k = 0; k < nstates; k++)
		fprintf(f, "%s%u %s", k ? ", " : ": ", states[k].n, states[k].state);
	fclose(f);
}

static char *lines_of(const struct event *e, unsigned n, const struct row_list *rows)
{
	char *lines = NULL;
	size_t len;
	FILE *f = open_memstream(&lines, &len);

	if (!f)
		return NULL;
	if (rows->n && (n > 1 || e->is_array)) {
		seff__print_array(rows->v, rows->n, site_job__group(rows->v->text[INDEX_user]), f);
	} else if (rows->n) {
		const struct seff_job job = {rows->v, site_job__group(rows->v->text[INDEX_user]),
					     !is_end(e), false};

		seff__print(&job, f);
	}
	return fclose(f) ? NULL : lines;
}

static char *body(const struct mail_body *b, void (*print)(const struct mail_body *b, FILE *out))
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	print(b, f);
	return fclose(f) ? NULL : text;
}

/* The mail on events e[n]; NULL: no memory. */
static char *compose(const struct event *e, unsigned n, const struct row_list *rows, const char *id)
{
	const bool is_one = n == 1 && !e->is_array;
	char subject[4 * TEXT], command[64];
	struct mail_body b = {.command = rows->n ? command : NULL,
			      .row = is_one && rows->n ? rows->v : NULL};
	struct mail m = {.to = e->to, .subject = e->subject, .id = id, .at = e[n - 1].at};
	char *lines = is_end(e) ? lines_of(e, n, rows) : strdup(""), *text, *html, *mail = NULL;

	if (n > 1) {
		name_tasks(subject, sizeof(subject), e, n);
		m.subject = subject;
	}
	snprintf(command, sizeof(command), is_one ? "jobprof report -j %u" : "jobprof seff -a %u",
		 is_one ? e->job : e->array);
	b.head = m.subject;
	b.lines = lines ? lines : "";
	b.says_end = is_end(e);
	m.text = text = body(&b, mail_body__print_text);
	m.html = html = body(&b, mail_body__print_html);
	if (lines && text && html)
		mail = mail__compose(&m);
	free(lines);
	free(text);
	free(html);
	return mail;
}

/* ---- sending */

/* Copies the letters, digits and "-" of a text, at most 40; "x" where there are none. */
static void put_token(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 1 < size && n < 40; from++)
		if ((*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
		    (*from >= '0' && *from <= '9') || *from == '-')
			to[n++] = *from;
	if (!n)
		to[n++] = 'x';
	to[n] = '\0';
}

/* The id is the same each time that the same events are tried. */
static void make_id(char *to, size_t size, const struct event *e, unsigned n)
{
	char type[64], cluster[64], file[64];

	put_token(type, sizeof(type), e->type);
	put_token(cluster, sizeof(cluster), e->cluster);
	put_token(file, sizeof(file), e[n - 1].path);
	snprintf(to, size, "jobprof.%u.%s.%s@%s", n > 1 || e->is_array ? e->array : e->job, type,
		 file, cluster);
}

static int hand_over(const struct mail_options *o, const char *mail)
{
	const char *argv[] = {o->sendmail, "-t", "-i", NULL};
	int fd = memfd_create("mail", MFD_CLOEXEC), err;
	char said[512];

	if (fd < 0 || write_full(fd, mail, strlen(mail)) || lseek(fd, 0, SEEK_SET))
		err = -errno;
	else
		err = call__program(argv, fd, said, sizeof(said), o->wait_s);
	if (fd >= 0)
		close(fd);
	if (err == -ETIME)
		log_error("%s: it had not ended after %u s", o->sendmail, o->wait_s);
	else if (err < 0)
		log_error("%s: %s", o->sendmail, strerror(-err));
	else if (err)
		log_error("%s: status %d: %s", o->sendmail, err, said);
	return err > 0 ? -EIO : err;
}

/* Stores the id and hands the mail to sendmail in one transaction: after a crash in between, the
 * mail is tried again under the same id. */
static int send_once(struct queue *q, const struct event *e, const char *id, const char *mail)
{
	const struct db_value args[] = {db_value__text(id), db_value__text(e->key),
					db_value__int((int64_t)q->now)};
	int err = index__begin(q->ix);

	if (!err)
		err = db__run(q->ix->db, "INSERT INTO mail (id, about, at) VALUES (?, ?, ?)", args,
			      3);
	if (!err)
		err = hand_over(q->o, mail);
	return index__end(q->ix, err);
}

static bool was_sent(struct queue *q, const char *id, int *err)
{
	const struct db_value arg = db_value__text(id);

	return db__number(q->ix->db, err, "SELECT count(*) FROM mail WHERE id = ?", &arg, 1) > 0;
}

static void remove_files(struct queue *q, const struct event *e, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		unlinkat(q->dir, e[i].path, 0);
}

/* The next turn tries the mail again, and this one goes on with the others, unless sendmail hangs
 * or many mails fail. 0, or -errno: the turn ends. */
static int give_up(struct queue *q, const struct event *e, unsigned n, int err)
{
	q->res->failed++;
	q->unsent++;
	if (e[n - 1].at < q->now - GIVE_UP_S) {
		log_error("%s: the mail \"%s\" could not be sent for a day: it is lost", e->to,
			  e->subject);
		remove_files(q, e, n);
	}
	return err == -EIO && q->unsent < FAILURES ? 0 : err;
}

/* 0: the mail was sent, or waits for another turn; -errno: nothing can be sent now. */
static int send_group(struct queue *q, const struct event *e, unsigned n,
		      const struct row_list *rows)
{
	char id[4 * TEXT], *mail;
	int err;

	make_id(id, sizeof(id), e, n);
	if (was_sent(q, id, &err)) {
		remove_files(q, e, n);
		return 0;
	}
	mail = err ? NULL : compose(e, n, rows, id);
	if (!err)
		err = mail ? send_once(q, e, id, mail) : -ENOMEM;
	free(mail);
	if (!err) {
		q->res->sent++;
		q->left--;
		remove_files(q, e, n);
		return 0;
	}
	return give_up(q, e, n, err);
}

/* ---- a turn */

static int by_key(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Slurm before 21.08 does not name the user. */
static const char *user_of(const struct event *e)
{
	return *e->user ? e->user : e->to;
}

static int by_user(const void *a, const void *b)
{
	const int order = strcmp(user_of(a), user_of(b));

	return order ? order : by_key(a, b);
}

static int by_turn(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->before != y->before ? (x->before > y->before) - (x->before < y->before)
				      : by_key(a, b);
}

/* The users take turns: one who causes many mails keeps no other user's waiting. */
static void sort_events(struct queue *q)
{
	if (q->n)
		qsort(q->v, q->n, sizeof(*q->v), by_user);
	for (unsigned i = 1; i < q->n; i++) {
		const struct event *last = &q->v[i - 1];
		struct event *e = &q->v[i];

		if (!strcmp(user_of(e), user_of(last)))
			e->before = last->before + (strcmp(e->key, last->key) != 0);
	}
	if (q->n)
		qsort(q->v, q->n, sizeof(*q->v), by_turn);
}

static int do_group(struct queue *q, const struct event *e, unsigned n)
{
	struct row_list rows = {0};
	bool known = false;
	int err;

	if (e->array && is_end(e) && (n > 1 || e->is_array))
		err = find_array(q, e, n, &rows, &known);
	else
		err = find_job(q, e, &rows, &known);
	if (!err && (!is_due(q, e, n, known, &err) || q->left < 1))
		q->res->waiting++;
	else if (!err)
		err = send_group(q, e, n, &rows);
	row_list__free(&rows);
	return err;
}

/* Removes old ids, and computes how many mails the rate allows now. */
static int count_sent(struct queue *q)
{
	const struct db_value old = db_value__int((int64_t)q->now - KNOWN_S);
	const struct db_value minute = db_value__int((int64_t)q->now - 60);
	int err = db__write(q->ix->db, "DELETE FROM mail WHERE at < ?", &old, 1);

	if (!err)
		q->left = q->o->rate - db__number(q->ix->db, &err,
						  "SELECT count(*) FROM mail WHERE at > ?", &minute,
						  1);
	return err;
}

int mail_queue__turn(struct index *ix, const struct mail_options *o, struct mail_result *res)
{
	struct queue q = {.ix = ix, .o = o, .res = res, .now = (double)time(NULL), .dir = -1};
	int err = open_spool(&q);
	unsigned n;

	db__share(ix->db);
	if (!err)
		err = count_sent(&q);
	if (!err)
		err = read_spool(&q);
	sort_events(&q);
	for (unsigned i = 0; !err && i < q.n; i += n) {
		for (n = 1; i + n < q.n && !strcmp(q.v[i + n].key, q.v[i].key); n++)
			;
		err = do_group(&q, &q.v[i], n);
	}
	for (unsigned i = 0; i < q.n; i++)
		free_event(&q.v[i]);
	free(q.v);
	if (q.dir >= 0)
		close(q.dir);
	return err;
}

/* ---- the action */

int index_mail__run(const struct index_options *o, const char *where, int n, char **words)
{
	struct mail_options how = {
		.spool = o->spool,
		.sendmail = o->sendmail ? o->sendmail : MAIL_SENDMAIL,
		.rate = o->rate < 0 ? MAIL_RATE : o->rate,
		.wait_s = o->wait_s >= 1 && o->wait_s < 1e6 ? (unsigned)o->wait_s : MAIL_WAIT_S,
		.delay_s = o->delay < 0 ? MAIL_DELAY_S : o->delay,
	};
	struct mail_settings set = {0};
	struct mail_result res = {0};
	struct index ix;
	int err = o->spool ? 0 : mail_settings__read(&set);

	if (!o->spool)
		how.spool = set.spool;
	if (!err)
		err = index__open(&ix, where, DB_WRITE);
	if (!err) {
		err = mail_queue__turn(&ix, &how, &res);
		index__close(&ix);
		if (!o->is_service || res.sent || res.failed || res.refused)
			printf("%u sent, %u waiting, %u failed, %u refused\n", res.sent,
			       res.waiting, res.failed, res.refused);
	}
	mail_settings__free(&set);
	return err || res.failed || res.refused;
}
