// SPDX-License-Identifier: GPL-2.0-or-later
/* libjobprof: sends a program's marks and rows to jobprofd. */
#include "client/libjobprof.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/client.h"
#include "client/column.h"
#include "client/region.h"

#define PAUSE_NS INT64_C(5000000000) /* after a failure, before the next attempt */
#define LAST_MS	 100		     /* that the program's end may wait for an answer */

_Static_assert(JOBPROF_COLUMNS_MAX == JPC_COLUMNS, "columns of a series");

struct own_series {
	struct jpc_table *table; /* the whole message */
	unsigned declared_on;	 /* number of the connection over which it was sent */
	int refused;		 /* on that connection: -errno */
};

static struct {
	pthread_mutex_t lock;
	struct client client;
	unsigned connection; /* connections are numbered from 1 */
	unsigned answers;    /* still to come on this connection */
	int64_t paused_until_ns;
	int pause_err;
	uint64_t dropped;
	int ring_fd[CLIENT_FDS]; /* of the ring that came last and was not taken yet, or -1 */
	struct own_series series[JOBPROF_SERIES_MAX];
	unsigned nseries;
} lib = {.lock = PTHREAD_MUTEX_INITIALIZER, .client.fd = -1, .ring_fd = {-1, -1}};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void keep_ring(const int fd[CLIENT_FDS])
{
	client__close_fds(lib.ring_fd);
	memcpy(lib.ring_fd, fd, sizeof(lib.ring_fd));
}

static void before_fork(void)
{
	pthread_mutex_lock(&lib.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lib.lock);
}

/* The connection is the parent's: messages and answers of two processes would get mixed up. */
static void after_fork_in_child(void)
{
	client__forget(&lib.client);
	client__close_fds(lib.ring_fd);
	lib.answers = 0;
	lib.dropped = 0;
	pthread_mutex_unlock(&lib.lock);
}

__attribute__((constructor)) static void at_load(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* After region.c's, which has no priority and sends a last message. */
__attribute__((destructor(200))) static void at_unload(void)
{
	client__close_fds(lib.ring_fd);
	client__close(&lib.client);
}

static bool is_refusal(int err)
{
	return err == -ESRCH || err == -EACCES || err == -EPERM;
}

static int pause_attempts(int err)
{
	client__close(&lib.client);
	lib.answers = 0;
	lib.pause_err = err;
	lib.paused_until_ns = clock_ns(CLOCK_MONOTONIC_COARSE) + PAUSE_NS;
	return err;
}

static void read_answer(const struct jpc_reply *r)
{
	if (lib.answers)
		lib.answers--;
	if (r->error >= 0)
		return;
	if (is_refusal(r->error)) {
		pause_attempts(r->error);
		return;
	}
	for (unsigned i = 0; i < lib.nseries; i++)
		if (lib.series[i].declared_on == lib.connection &&
		    lib.series[i].table->head.seq == r->head.seq)
			lib.series[i].refused = r->error;
}

static void read_answers(unsigned timeout_ms)
{
	struct jpc_reply r;
	int fd[CLIENT_FDS];

	while (lib.answers && lib.client.fd >= 0) {
		int n = client__receive_fds(&lib.client, &r, sizeof(r), timeout_ms, fd);

		if (n == -ETIMEDOUT)
			return;
		if (n == (int)sizeof(r.head) && r.head.type == JPC_RING && fd[0] >= 0) {
			keep_ring(fd);
			continue;
		}
		client__close_fds(fd);
		if (n == (int)sizeof(r) && r.head.type == JPC_REPLY)
			read_answer(&r);
		else
			client__close(&lib.client);
	}
}

static int open_connection(void)
{
	int err = client__open(&lib.client, client__path(NULL));

	if (err)
		return pause_attempts(err == -EAGAIN ? err : -ENOTCONN);
	lib.connection++;
	lib.answers = 0;
	return 0;
}

static int ensure_connected(void)
{
	read_answers(0);
	if (lib.client.fd >= 0)
		return 0;
	if (lib.paused_until_ns && clock_ns(CLOCK_MONOTONIC_COARSE) < lib.paused_until_ns)
		return lib.pause_err;
	return open_connection();
}

/* The first message of a connection asks for an answer: whether the process is in a profiled step.
 */
static int send_message(void *message, enum jpc_type type, size_t length)
{
	struct jpc_head *h = message;
	bool first = !lib.client.seq;
	int err;

	client__head(&lib.client, message, type, length);
	if (first)
		h->flags |= JPC_F_REPLY;
	err = client__send(&lib.client, message);
	if (!err && (first || type == JPC_TABLE || type == JPC_RING))
		lib.answers++;
	return err == -ENOBUFS || err == -ENOMEM ? -EAGAIN : err;
}

/* s: the series that jobprofd must know before the message, or NULL. */
static int send_after_series(struct own_series *s, void *message, enum jpc_type type, size_t length)
{
	int err;

	if (s && s->declared_on != lib.connection) {
		err = send_message(s->table, JPC_TABLE, s->table->head.length);
		if (err)
			return err;
		s->declared_on = lib.connection;
		s->refused = 0;
	}
	if (s && s->refused)
		return -EINVAL;
	return send_message(message, type, length);
}

static bool is_gone(int err)
{
	return err == -EPIPE || err == -ECONNRESET || err == -ENOTCONN;
}

static int deliver(struct own_series *s, void *message, enum jpc_type type, size_t length)
{
	int err = ensure_connected();

	if (err)
		return err;
	err = send_after_series(s, message, type, length);
	if (!is_gone(err))
		return err;
	/* jobprofd may have been restarted: one attempt. */
	client__close(&lib.client);
	err = open_connection();
	if (!err)
		err = send_after_series(s, message, type, length);
	return is_gone(err) ? pause_attempts(-ENOTCONN) : err;
}

static int deliver_counted(struct own_series *s, void *message, enum jpc_type type, size_t length)
{
	int err = deliver(s, message, type, length);

	if (err)
		lib.dropped++;
	return err;
}

void region__ask(void)
{
	struct jpc_ring_message m;
	int errno_before = errno;

	pthread_mutex_lock(&lib.lock);
	deliver(NULL, &m, JPC_RING, sizeof(m));
	pthread_mutex_unlock(&lib.lock);
	errno = errno_before;
}

void region__ask_last(bool none)
{
	struct jpc_ring_message m;
	unsigned connection;

	pthread_mutex_lock(&lib.lock);
	connection = lib.connection;
	if (!is_refusal(lib.pause_err))
		lib.paused_until_ns = 0;
	deliver(NULL, &m, JPC_RING, sizeof(m));
	if (none || lib.connection != connection)
		read_answers(LAST_MS);
	pthread_mutex_unlock(&lib.lock);
}

bool region__take_ring(int fd[CLIENT_FDS])
{
	bool coming;

	pthread_mutex_lock(&lib.lock);
	read_answers(0);
	coming = lib.client.fd >= 0 && lib.answers;
	memcpy(fd, lib.ring_fd, sizeof(lib.ring_fd));
	for (int i = 0; i < CLIENT_FDS; i++)
		lib.ring_fd[i] = -1;
	pthread_mutex_unlock(&lib.lock);
	return coming;
}

int jobprof_mark_at(const char *name, int64_t unix_ns)
{
	struct jpc_mark m = {.time_ns = unix_ns};
	int err, errno_before = errno;

	if (!name || unix_ns <= 0 || column__mark_name(m.name, name))
		return -EINVAL;
	pthread_mutex_lock(&lib.lock);
	err = deliver_counted(NULL, &m, JPC_MARK, sizeof(m));
	pthread_mutex_unlock(&lib.lock);
	errno = errno_before;
	return err;
}

int jobprof_mark(const char *name)
{
	return jobprof_mark_at(name, clock_ns(CLOCK_REALTIME));
}

static int make_table(struct jpc_table **out, const char *name, unsigned n,
		      const char *const columns[])
{
	size_t length = sizeof(struct jpc_table) + n * sizeof(struct jpc_column);
	struct jpc_table *t = calloc(1, length);
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->head.length = (uint32_t)length;
	t->ncols = n;
	memcpy(t->name, name, strlen(name));
	for (unsigned i = 0; i < n && !err; i++) {
		err = columns[i] ? column__parse(&t->col[i], columns[i], strlen(columns[i]))
				 : -EINVAL;
		for (unsigned j = 0; j < i && !err; j++)
			if (!strcmp(t->col[i].name, t->col[j].name))
				err = -EINVAL;
	}
	if (err) {
		free(t);
		return err;
	}
	*out = t;
	return 0;
}

/* The number of the series; t is taken if it is a new one. */
static int place_series(struct jpc_table *t, bool *taken)
{
	for (unsigned i = 0; i < lib.nseries; i++) {
		const struct jpc_table *o = lib.series[i].table;

		if (strcmp(o->name, t->name))
			continue;
		if (o->ncols != t->ncols || memcmp(o->col, t->col, t->ncols * sizeof(t->col[0])))
			return -EEXIST;
		return (int)i;
	}
	if (lib.nseries == JOBPROF_SERIES_MAX)
		return -ENOSPC;
	t->table = lib.nseries;
	lib.series[lib.nseries] = (struct own_series){.table = t};
	*taken = true;
	return (int)lib.nseries++;
}

int jobprof_series(const char *name, unsigned n, const char *const columns[])
{
	struct jpc_table *t;
	bool taken = false;
	int ret, errno_before = errno;

	if (!name || !columns || !n || n > JOBPROF_COLUMNS_MAX ||
	    !column__name_ok(name, sizeof(t->name) - 1))
		return -EINVAL;
	ret = make_table(&t, name, n, columns);
	if (!ret) {
		pthread_mutex_lock(&lib.lock);
		ret = place_series(t, &taken);
		pthread_mutex_unlock(&lib.lock);
		if (!taken)
			free(t);
	}
	errno = errno_before;
	return ret;
}

int jobprof_add_row_at(int series, int64_t unix_ns, const double values[], unsigned n)
{
	struct {
		struct jpc_rows rows;
		int64_t time_ns;
		double values[JOBPROF_COLUMNS_MAX];
	} m;
	int err = -EINVAL, errno_before = errno;

	if (!values || !n || n > JOBPROF_COLUMNS_MAX || unix_ns <= 0)
		return -EINVAL;
	m.rows = (struct jpc_rows){.table = (uint32_t)series, .nrows = 1};
	m.time_ns = unix_ns;
	memcpy(m.values, values, n * sizeof(values[0]));
	pthread_mutex_lock(&lib.lock);
	if (series >= 0 && (unsigned)series < lib.nseries && lib.series[series].table->ncols == n)
		err = deliver_counted(&lib.series[series], &m, JPC_ROWS,
				      sizeof(m.rows) + sizeof(m.time_ns) + n * sizeof(values[0]));
	pthread_mutex_unlock(&lib.lock);
	errno = errno_before;
	return err;
}

int jobprof_add_row(int series, const double values[], unsigned n)
{
	return jobprof_add_row_at(series, clock_ns(CLOCK_REALTIME), values, n);
}

uint64_t jobprof_dropped(void)
{
	uint64_t n;

	pthread_mutex_lock(&lib.lock);
	n = lib.dropped;
	pthread_mutex_unlock(&lib.lock);
	return n;
}
