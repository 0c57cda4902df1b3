// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends the step, the tables and the samples of Slurm's gatherers to jobprofd. */
#include "slurm/profile_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/room.h"
#include "base/str.h"
#include "client/client.h"
#include "slurm/profile_columns.h"

#define NSEC	   ((int64_t)NSEC_PER_SEC)
#define GROUPS_MAX 64
#define TABLES_MAX 65536
#define ANSWERS	   256 /* answers that are read at once */
#define HELD_MAX   32  /* rows stored until jobprofd knows the step */
#define TRIES	   3   /* tries to declare a table that was refused */

struct table {
	struct jpc_table *message;
	uint16_t seq;  /* of its last declaration */
	bool declared; /* over this connection */
	unsigned refused;
};

struct sink {
	pthread_mutex_t lock;
	void (*log)(const char *line);
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct client client;
	uid_t uid;	      /* root: no connection may be made with the user's rights */
	int64_t retry_ns;     /* earliest time of the next try to connect */
	struct jpc_step step; /* sent again over every connection */
	uint16_t step_seq;
	unsigned wait_ms;  /* how long sink__step() may still wait */
	bool step_unknown; /* jobprofd does not know the step: no rows are sent yet */
	bool logged_unreachable, logged_refusal;
	_Atomic uint32_t measures;
	char groups[GROUPS_MAX][sizeof(((struct jpc_table *)0)->group)];
	int ngroups;
	struct table *tables;
	int ntables;
	struct jpc_rows *held[HELD_MAX];
	int nheld;
	uint64_t rows, lost;
};

__attribute__((format(printf, 2, 3))) static void log_text(struct sink *s, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (char *p = line; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	s->log(line);
}

struct sink *sink__new(const char *path, unsigned wait_ms, void (*log)(const char *line))
{
	struct sink *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (str__copy(s->path, sizeof(s->path), path)) {
		free(s);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->log = log;
	s->wait_ms = wait_ms;
	s->client.fd = -1;
	s->uid = geteuid();
	return s;
}

void sink__free(struct sink *s)
{
	if (!s)
		return;
	client__close(&s->client);
	for (int i = 0; i < s->ntables; i++)
		free(s->tables[i].message);
	for (int i = 0; i < s->nheld; i++)
		free(s->held[i]);
	free(s->tables);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

uint32_t sink__measures(struct sink *s)
{
	return atomic_load(&s->measures);
}

static bool is_gone(int err)
{
	return err == -EPIPE || err == -ECONNRESET || err == -ENOTCONN || err == -EPROTO;
}

static void disconnect(struct sink *s)
{
	client__close(&s->client);
	for (int i = 0; i < s->ntables; i++)
		s->tables[i].declared = false;
}

static void log_refusal(struct sink *s, const char *object, const struct jpc_reply *r)
{
	if (!s->logged_refusal && s->step.asked)
		log_text(s, "jobprofd refused the %s: %s", object,
			 r->text[0] ? r->text : strerror(-r->error));
	s->logged_refusal = true;
}

static void read_answer(struct sink *s, const struct jpc_reply *r)
{
	if (r->head.seq == s->step_seq) {
		if (r->error)
			log_refusal(s, "step", r);
		else
			atomic_store(&s->measures, r->measures);
		return;
	}
	for (int i = 0; r->error && i < s->ntables; i++) {
		struct table *t = &s->tables[i];

		if (!t->declared || t->seq != r->head.seq)
			continue;
		log_refusal(s, "table", r);
		t->declared = false;
		t->refused++;
	}
}

/* Reads the answers that have arrived, without waiting. */
static void read_answers(struct sink *s)
{
	struct jpc_reply r;

	for (int i = 0; s->client.fd >= 0 && i < ANSWERS; i++) {
		int n = client__receive(&s->client, &r, sizeof(r), 0);

		if (n == -ETIMEDOUT)
			return;
		if (n != sizeof(r) || r.head.type != JPC_REPLY) {
			disconnect(s);
			return;
		}
		r.text[sizeof(r.text) - 1] = '\0';
		read_answer(s, &r);
	}
}

static int send_step(struct sink *s)
{
	client__head(&s->client, &s->step, JPC_STEP, sizeof(s->step));
	s->step_seq = s->step.head.seq;
	return client__send(&s->client, &s->step);
}

static int open_socket(struct sink *s)
{
	uint16_t seq = s->client.seq;
	int err = client__open(&s->client, s->path);

	s->client.seq = seq; /* numbers continue, so that answers of two connections differ */
	s->retry_ns = (int64_t)clock__mono_ns() + NSEC;
	return err;
}

static int ensure_connected(struct sink *s)
{
	int err;

	if (s->client.fd >= 0)
		return 0;
	if ((int64_t)clock__mono_ns() < s->retry_ns || geteuid() != s->uid)
		return -ENOTCONN;
	err = open_socket(s);
	if (!err)
		err = send_step(s);
	if (err)
		disconnect(s);
	return err;
}

static void log_unreachable(struct sink *s, int err)
{
	if (s->logged_unreachable)
		return;
	s->logged_unreachable = true;
	log_text(s,
		 "jobprofd does not take messages at %s (%s): the step runs on, samples are lost "
		 "until it does",
		 s->path, strerror(-err));
}

static int deliver_row(struct sink *s, struct table *t, struct jpc_rows *rows);

static size_t rows_size(const struct table *t)
{
	return sizeof(struct jpc_rows) + (1 + t->message->ncols) * sizeof(uint64_t);
}

/* Stores a sample from before slurmstepd is in its cgroup, to send it later. */
static int hold_row(struct sink *s, const struct table *t, const struct jpc_rows *rows)
{
	struct jpc_rows *copy = s->nheld < HELD_MAX ? malloc(rows_size(t)) : NULL;

	if (!copy)
		return -EAGAIN;
	memcpy(copy, rows, rows_size(t));
	s->held[s->nheld++] = copy;
	return 0;
}

static void send_held_rows(struct sink *s)
{
	for (int i = 0; i < s->nheld; i++) {
		if (deliver_row(s, &s->tables[s->held[i]->table], s->held[i]))
			s->lost++;
		free(s->held[i]);
	}
	s->nheld = 0;
}

void sink__open(struct sink *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->client.fd < 0 && geteuid() == s->uid)
		open_socket(s);
	s->step_unknown = true;
	pthread_mutex_unlock(&s->lock);
}

/* Sends the step and waits for the answer. -ESRCH: jobprofd does not know the cgroup yet, and a new
 * connection is open, over which nothing was sent. */
static int ask_step(struct sink *s)
{
	int64_t began = (int64_t)clock__mono_ns();
	unsigned used_ms, may_ms = s->wait_ms;
	struct jpc_reply r;
	int err;

	client__head(&s->client, &s->step, JPC_STEP, sizeof(s->step));
	s->step_seq = s->step.head.seq;
	err = client__call(&s->client, &s->step, &r, may_ms);
	used_ms = ((int64_t)clock__mono_ns() - began) / 1000000;
	s->wait_ms = used_ms < may_ms ? may_ms - used_ms : 0;
	if (err == -ETIMEDOUT)
		log_text(s, "jobprofd did not answer at %s within %u ms: the step goes on without",
			 s->path, may_ms);
	if (err)
		return err;
	if (r.error == -ESRCH) {
		disconnect(s);
		if (geteuid() == s->uid)
			open_socket(s);
		return r.error;
	}
	read_answer(s, &r);
	return 0;
}

int sink__step(struct sink *s, const struct jpc_step *step, bool wait)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	s->step = *step;
	if (s->client.fd < 0 && geteuid() == s->uid)
		err = open_socket(s);
	if (!err)
		err = wait && s->wait_ms ? ask_step(s) : send_step(s);
	s->step_unknown = err == -ESRCH;
	if (err && err != -ETIMEDOUT && err != -ESRCH && wait)
		log_unreachable(s, err);
	if (is_gone(err))
		disconnect(s);
	if (!s->step_unknown)
		send_held_rows(s);
	pthread_mutex_unlock(&s->lock);
	return err;
}

int sink__group(struct sink *s, const char *name)
{
	int i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < s->ngroups && strcmp(s->groups[i], name) != 0;)
		i++;
	if (i == s->ngroups) {
		if (i == GROUPS_MAX)
			i = -ENOSPC;
		else if (!*name || str__copy(s->groups[i], sizeof(s->groups[i]), name))
			i = -EINVAL;
		else
			s->ngroups++;
	}
	pthread_mutex_unlock(&s->lock);
	return i;
}

static int fill_columns(struct jpc_table *m, const struct sink_field *fields)
{
	const char *table = m->group[0] ? m->group : m->name;

	for (uint32_t i = 0; i < m->ncols; i++) {
		struct jpc_column *c = &m->col[i];

		if ((fields[i].type != SINK_U64 && fields[i].type != SINK_F64) || !fields[i].name ||
		    !*fields[i].name || str__copy(c->name, sizeof(c->name), fields[i].name))
			return -EINVAL;
		c->cell = fields[i].type == SINK_U64 ? JPC_U64 : JPC_F64;
		profile_column__describe(table, c);
	}
	return 0;
}

static int add_table(struct sink *s, struct jpc_table *m)
{
	if (s->ntables == TABLES_MAX)
		return -ENOSPC;
	if (room__grow(&s->tables, s->ntables, 1, sizeof(*s->tables)))
		return -ENOMEM;
	m->table = s->ntables;
	s->tables[s->ntables] = (struct table){.message = m};
	return s->ntables++;
}

int sink__table(struct sink *s, int64_t group, const char *name, const struct sink_field *fields)
{
	struct jpc_table *m;
	uint32_t n = 0;
	int id = -EINVAL;

	while (n <= JPC_COLUMNS && fields && fields[n].type != SINK_END)
		n++;
	if (!n || n > JPC_COLUMNS || !*name)
		return -EINVAL;
	m = calloc(1, sizeof(*m) + n * sizeof(m->col[0]));
	if (!m)
		return -ENOMEM;
	m->ncols = n;
	pthread_mutex_lock(&s->lock);
	if (group < s->ngroups && !str__copy(m->name, sizeof(m->name), name)) {
		if (group >= 0)
			memcpy(m->group, s->groups[group], sizeof(m->group));
		id = fill_columns(m, fields);
		if (!id)
			id = add_table(s, m);
	}
	pthread_mutex_unlock(&s->lock);
	if (id < 0)
		free(m);
	return id;
}

/* Slurm gives whole seconds: a sample of the current second gets the current instant. */
static int64_t sample_ns(time_t when)
{
	int64_t now = (int64_t)clock__real_ns(), ns = (int64_t)when * NSEC;

	if (now <= ns)
		return ns;
	return now < ns + NSEC ? now : now < ns + 2 * NSEC ? ns + NSEC - 1 : ns;
}

static int declare_table(struct sink *s, struct table *t)
{
	int err;

	if (t->declared)
		return 0;
	if (t->refused >= TRIES)
		return -EACCES;
	client__head(&s->client, t->message, JPC_TABLE,
		     sizeof(*t->message) + t->message->ncols * sizeof(t->message->col[0]));
	err = client__send(&s->client, t->message);
	if (err)
		return err;
	t->seq = t->message->head.seq;
	t->declared = true;
	return 0;
}

static int deliver_row(struct sink *s, struct table *t, struct jpc_rows *rows)
{
	int err = ensure_connected(s);

	if (!err)
		err = declare_table(s, t);
	if (err)
		return err;
	client__head(&s->client, rows, JPC_ROWS, rows_size(t));
	return client__send(&s->client, rows);
}

int sink__row(struct sink *s, int table, const void *cells, time_t when)
{
	union {
		struct jpc_rows rows;
		uint64_t space[sizeof(struct jpc_rows) / 8 + 1 + JPC_COLUMNS];
	} u;
	struct table *t;
	int err = -EINVAL;

	pthread_mutex_lock(&s->lock);
	if (table < 0 || table >= s->ntables)
		goto out;
	t = &s->tables[table];
	u.rows.table = table;
	u.rows.nrows = 1;
	u.rows.cell[0] = sample_ns(when);
	memcpy(&u.rows.cell[1], cells, t->message->ncols * sizeof(uint64_t));
	s->rows++;
	if (!s->step_unknown)
		read_answers(s);
	err = s->step_unknown ? hold_row(s, t, &u.rows) : deliver_row(s, t, &u.rows);
	if (is_gone(err) && s->client.fd >= 0) { /* jobprofd was restarted since the last sample */
		disconnect(s);
		err = deliver_row(s, t, &u.rows);
	}
	if (err) {
		s->lost++;
		if (!s->step_unknown)
			log_unreachable(s, err);
	}
out:
	pthread_mutex_unlock(&s->lock);
	return err;
}

void sink__end(struct sink *s)
{
	pthread_mutex_lock(&s->lock);
	read_answers(s);
	if (s->client.fd < 0 && s->step.asked) {
		/* a restarted jobprofd must learn of --profile=none */
		s->retry_ns = 0;
		ensure_connected(s);
	}
	s->lost += s->nheld;
	if (s->lost)
		log_text(s,
			 "%" PRIu64 " of %" PRIu64
			 " samples of Slurm's gatherers did not reach jobprofd",
			 s->lost, s->rows);
	disconnect(s);
	pthread_mutex_unlock(&s->lock);
}

void sink__child(struct sink *s)
{
	/* the lock may be locked by a thread that the fork did not copy: it is not taken */
	if (s->client.fd >= 0)
		close(s->client.fd);
}
