// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprof_live(), steps__ask(), bursts__ask() and totals__ask(): tables of a step, asked of
 * jobprofd; metrics__ask(). */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/bursts.h"
#include "client/client.h"
#include "client/libjobprof.h"
#include "client/metrics.h"
#include "client/steps.h"
#include "client/totals.h"

_Static_assert(sizeof(union jobprof_cell) == 8, "cells are sent as they are");

struct live {
	struct client client;
	char *buf;
	struct jpc_table *table; /* the last one, NULL before */
	char step[sizeof(((struct jpc_table *)0)->group)];
	char series[sizeof(((struct jpc_table *)0)->group) + sizeof(((struct jpc_table *)0)->name) +
		    1];
	struct jobprof_live_column columns[JPC_COLUMNS];
	void (*fn)(const struct jobprof_table *t, void *arg);
	void (*about)(const struct jpc_step *s, void *arg); /* NULL: no STEP is expected */
	void *arg;
	unsigned flags; /* of the question */
	int *file; /* where the descriptor of a JOURNAL or METRICS goes; NULL: none is wanted */
	struct jpc_metrics metrics;
};

#define ENDS(array) (memchr((array), 0, sizeof(array)) != NULL)

/* The socket may belong to another program than jobprofd: no length is trusted. */
static int check_table(const struct jpc_table *t, size_t n)
{
	if (n < sizeof(*t) || t->ncols > JPC_COLUMNS ||
	    n != sizeof(*t) + t->ncols * sizeof(t->col[0]) || !ENDS(t->group) || !ENDS(t->name))
		return -EPROTO;
	for (unsigned i = 0; i < t->ncols; i++)
		if (!ENDS(t->col[i].name) || !ENDS(t->col[i].unit))
			return -EPROTO;
	return 0;
}

/* The group is STEP or STEP/GROUP. */
static int read_table(struct live *l, size_t n)
{
	const struct jpc_table *t = (struct jpc_table *)l->buf;
	const char *slash;

	if (check_table(t, n))
		return -EPROTO;
	free(l->table);
	l->table = malloc(n);
	if (!l->table)
		return -ENOMEM;
	memcpy(l->table, t, n);
	slash = strchr(t->group, '/');
	snprintf(l->step, sizeof(l->step), "%.*s", (int)strcspn(t->group, "/"), t->group);
	snprintf(l->series, sizeof(l->series), "%s%s%s", slash ? slash + 1 : "", slash ? "/" : "",
		 t->name);
	for (unsigned i = 0; i < t->ncols; i++)
		l->columns[i] = (struct jobprof_live_column){
			.name = l->table->col[i].name,
			.unit = l->table->col[i].unit,
			.is_double = l->table->col[i].cell == JPC_F64,
		};
	return 0;
}

static int read_about(struct live *l, size_t n)
{
	const struct jpc_step *s = (struct jpc_step *)l->buf;

	if (!l->about || n != sizeof(*s) || !ENDS(s->step_name) || !ENDS(s->job_name) ||
	    !ENDS(s->user) || !ENDS(s->account) || !ENDS(s->partition) || !ENDS(s->cpus))
		return -EPROTO;
	l->about(s, l->arg);
	return 0;
}

static int read_rows(struct live *l, size_t n)
{
	const struct jpc_rows *r = (struct jpc_rows *)l->buf;
	struct jobprof_table t;

	if (!l->table || n < sizeof(*r) || r->table != l->table->table || r->nrows > JPC_MAX ||
	    n != sizeof(*r) + (size_t)r->nrows * l->table->ncols * sizeof(r->cell[0]))
		return -EPROTO;
	t = (struct jobprof_table){
		.step = l->step,
		.series = l->series,
		.ncols = l->table->ncols,
		.nrows = r->nrows,
		.columns = l->columns,
		.cells = (const union jobprof_cell *)r->cell,
	};
	l->fn(&t, l->arg);
	return 0;
}

/* 1: the message was the REPLY, *result is its number or error. */
static int read_message(struct live *l, size_t n, int fd, int *result, char *reason, size_t len)
{
	struct jpc_reply *r = (struct jpc_reply *)l->buf;
	bool has_file = (r->head.type == JPC_JOURNAL || r->head.type == JPC_METRICS) && l->file &&
			*l->file < 0;

	if (has_file)
		*l->file = fd;
	else if (fd >= 0)
		close(fd);
	switch (r->head.type) {
	case JPC_METRICS:
		if (n != sizeof(l->metrics))
			return -EPROTO;
		memcpy(&l->metrics, l->buf, sizeof(l->metrics));
		/* fall through */
	case JPC_JOURNAL:
		return has_file && fd >= 0 ? 0 : -EPROTO;
	case JPC_STEP:
		return read_about(l, n);
	case JPC_TABLE:
		return read_table(l, n);
	case JPC_ROWS:
		return read_rows(l, n);
	case JPC_REPLY:
		if (n != sizeof(*r) || !ENDS(r->text))
			return -EPROTO;
		*result = r->error < 0 ? r->error : (int)(r->number & INT32_MAX);
		if (r->error < 0)
			snprintf(reason, len, "%s", r->text);
		return 1;
	default:
		return -EPROTO;
	}
}

/* Sends a question whose head is filled in, and reads the answer. */
static int ask_daemon(struct live *l, const void *question, unsigned timeout_ms, char *reason,
		      size_t len)
{
	int64_t end_ms = client__now_ms() + timeout_ms;
	int ret, result = 0;

	ret = client__send(&l->client, question);
	while (!ret) {
		int64_t left = end_ms - client__now_ms();
		int fd[CLIENT_FDS];

		ret = client__receive_fds(&l->client, l->buf, JPC_MAX,
					  left < 0 ? 0 : (unsigned)left, fd);
		if (ret <= 0)
			break;
		ret = read_message(l, (size_t)ret, fd[0], &result, reason, len);
		fd[0] = -1; /* it is the reader's */
		client__close_fds(fd);
	}
	return ret < 0 ? ret : result;
}

static int open_live(struct live *l)
{
	int err;

	l->buf = malloc(JPC_MAX);
	if (!l->buf)
		return -ENOMEM;
	err = client__open(&l->client, client__path(NULL));
	return err == -ENOENT || err == -ECONNREFUSED ? -ENOTCONN : err;
}

static void close_live(struct live *l)
{
	client__close(&l->client);
	free(l->table);
	free(l->buf);
}

static int name_step(struct jpc_live *m, uint32_t job, const char *step)
{
	*m = (struct jpc_live){.job_id = job ? job : JPC_UNKNOWN};
	if (step && strlen(step) >= sizeof(m->step_name))
		return -EINVAL;
	if (step)
		memcpy(m->step_name, step, strlen(step));
	return 0;
}

/* Sends a question of that type and length. Returns the number in its answer, or -errno. */
static int ask_once(struct live *l, void *question, enum jpc_type type, size_t length,
		    unsigned timeout_ms, char *reason, size_t len)
{
	char none[1];
	int ret = open_live(l);

	if (!reason || !len) {
		reason = none;
		len = sizeof(none);
	}
	reason[0] = '\0';
	if (!ret) {
		client__head(&l->client, question, type, length);
		((struct jpc_head *)question)->flags |= (uint16_t)l->flags;
		ret = ask_daemon(l, question, timeout_ms, reason, len);
	}
	close_live(l);
	return ret;
}

int jobprof_live(uint32_t job, const char *step, unsigned timeout_ms,
		 void (*fn)(const struct jobprof_table *t, void *arg), void *arg, char *reason,
		 size_t len)
{
	struct live l = {.client.fd = -1, .fn = fn, .arg = arg};
	struct jpc_live m;
	int err = name_step(&m, job, step);

	if (reason && len)
		reason[0] = '\0';
	return err ? err : ask_once(&l, &m, JPC_LIVE, sizeof(m), timeout_ms, reason, len);
}

int steps__ask(uint32_t job, const struct steps_taker *to, unsigned timeout_ms, char *reason,
	       size_t len)
{
	struct live l = {.client.fd = -1,
			 .fn = to->table,
			 .about = to->step,
			 .arg = to->arg,
			 .flags = JPC_F_BRIEF};
	struct jpc_live m;

	(void)name_step(&m, job, NULL);
	return ask_once(&l, &m, JPC_LIVE, sizeof(m), timeout_ms, reason, len);
}

int bursts__ask(uint32_t job, const char *step, uint64_t after, unsigned timeout_ms,
		void (*fn)(const struct jobprof_table *t, void *arg), void *arg, char *reason,
		size_t len)
{
	struct live l = {.client.fd = -1, .fn = fn, .arg = arg};
	struct jpc_bursts m = {.after = after};
	int err = name_step(&m.of, job, step);

	return err ? err : ask_once(&l, &m, JPC_BURSTS, sizeof(m), timeout_ms, reason, len);
}

int totals__ask(uint32_t task, unsigned flags, unsigned timeout_ms,
		void (*fn)(const struct jobprof_table *t, void *arg), void *arg, int *journal,
		char *reason, size_t len)
{
	struct live l = {.client.fd = -1, .fn = fn, .arg = arg, .flags = flags, .file = journal};
	struct jpc_totals m = {.task = task};
	int ret;

	*journal = -1;
	ret = ask_once(&l, &m, JPC_TOTALS, sizeof(m), timeout_ms, reason, len);
	if (ret < 0 && *journal >= 0) {
		close(*journal);
		*journal = -1;
	}
	return ret;
}

int metrics__ask(struct metrics_answer *a, unsigned timeout_ms, char *reason, size_t len)
{
	struct live l = {.client.fd = -1, .file = &a->file};
	struct jpc_metrics m = {};
	int ret;

	*a = (struct metrics_answer){.file = -1};
	ret = ask_once(&l, &m, JPC_METRICS, sizeof(m), timeout_ms, reason, len);
	a->job_cpu_s = l.metrics.job_cpu;
	a->job_wait_s = l.metrics.job_wait;
	if (ret >= 0 && a->file < 0)
		ret = -EPROTO;
	if (ret < 0 && a->file >= 0) {
		close(a->file);
		a->file = -1;
	}
	return ret < 0 ? ret : 0;
}
