// SPDX-License-Identifier: GPL-2.0-only
/* NFS: /proc/self/mountstats has a section for each mount, with counters of the file system. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sensor/mounts/mounts.h"

/* Numbers of the lines of a section. */
enum { EVENT_OPEN = 4, EVENT_RELEASE = 17, N_EVENTS };
enum {
	BYTES_READ,
	BYTES_WRITE,
	BYTES_DIRECT_READ,
	BYTES_DIRECT_WRITE,
	BYTES_SERVER_READ,
	BYTES_SERVER_WRITE,
	N_BYTES
};
enum { OP_DONE, OP_SENT, OP_RTT_MS = 6, N_OP };

/* Requests that are not all metadata, and the value that their counts are added to. */
static const struct {
	const char *name;
	int value; /* -1: to none */
	bool data;
} operations[] = {
	{"READ", MOUNT_READS, true},
	{"WRITE", MOUNT_WRITES, true},
	{"COMMIT", -1, true},
	{"OPEN", MOUNT_OPENS, false},
	{"OPEN_NOATTR", MOUNT_OPENS, false},
	{"CLOSE", MOUNT_CLOSES, false},
};

struct section {
	struct mount_values m;
	uint64_t age_s;
	bool has_age, has_ops, stateful; /* stateful: NFS 4 opens at the server */
	uint64_t opens, closes;		 /* as the client counts them */
	bool has_events;
};

static int head_of(char **out, const struct mount_line *line)
{
	return asprintf(out, "device %s mounted on %s with fstype %s ", line->source, line->point,
			line->type) < 0
		       ? -ENOMEM
		       : 0;
}

static int add_mount(struct nfs_mounts *n, struct counter_set *c, struct mount_line *line)
{
	char about[512], *head;
	struct nfs_mount *p;
	int err = head_of(&head, line);

	if (err)
		return err;
	p = realloc(n->mount, (n->n + 1) * sizeof(*p));
	if (!p) {
		free(head);
		return -ENOMEM;
	}
	n->mount = p;
	str__unescape(line->point);
	str__unescape(line->source);
	snprintf(about, sizeof(about), "%s %s at %s", line->type, line->source, line->point);
	err = mounts__add(c, line->point, about, (1u << N_MOUNT_VALUES) - 1, 1e-3);
	if (err) {
		free(head);
		return err == -ENOSPC ? 0 : err;
	}
	n->mount[n->n++] = (struct nfs_mount){.head = head, .device = c->ndevices - 1};
	return 0;
}

int nfs__open(struct nfs_mounts *n, struct counter_set *c, const struct sensor_roots *roots)
{
	static const char *const types[] = {"nfs", "nfs4", NULL};
	struct mount_lines lines;
	int err = mount_lines__read(&lines, roots->proc, types);

	n->text.fd = -1;
	for (unsigned i = 0; i < lines.n && !err; i++)
		err = add_mount(n, c, &lines.line[i]);
	mount_lines__free(&lines);
	if (!err && asprintf(&n->path, "%s/self/mountstats", roots->proc) < 0) {
		n->path = NULL;
		err = -ENOMEM;
	}
	n->text.path = n->path;
	return err;
}

void nfs__close(struct nfs_mounts *n)
{
	for (unsigned i = 0; i < n->n; i++)
		free(n->mount[i].head);
	free(n->mount);
	if (n->path)
		sensor_text__free(&n->text);
	free(n->path);
}

/* "        READ: 12 12 0 2304 ..." */
static void take_op(struct section *s, const char *name, size_t len, const char *numbers)
{
	uint64_t v[N_OP];
	bool data = false;

	if (text__numbers(numbers, v, N_OP) < N_OP)
		return;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (strlen(operations[i].name) != len || memcmp(operations[i].name, name, len) != 0)
			continue;
		data = operations[i].data;
		s->stateful |= operations[i].value == MOUNT_OPENS;
		if (operations[i].value >= 0)
			s->m.v[operations[i].value] += v[OP_DONE];
	}
	s->has_ops = true;
	s->m.v[MOUNT_REQUESTS] += v[OP_DONE];
	s->m.v[MOUNT_REQUEST_TIME] += v[OP_RTT_MS];
	s->m.v[MOUNT_META_REQUESTS] += data ? 0 : v[OP_DONE];
	s->m.v[MOUNT_RESENDS] += v[OP_SENT] > v[OP_DONE] ? v[OP_SENT] - v[OP_DONE] : 0;
}

static void take_events(struct section *s, const char *numbers)
{
	uint64_t v[N_EVENTS];

	if (text__numbers(numbers, v, N_EVENTS) < N_EVENTS)
		return;
	s->opens = v[EVENT_OPEN];
	s->closes = v[EVENT_RELEASE];
	s->has_events = true;
}

static void take_bytes(struct section *s, const char *numbers)
{
	uint64_t v[N_BYTES];

	if (text__numbers(numbers, v, N_BYTES) < N_BYTES)
		return;
	s->m.v[MOUNT_READ_BYTES] = v[BYTES_READ] + v[BYTES_DIRECT_READ];
	s->m.v[MOUNT_WRITE_BYTES] = v[BYTES_WRITE] + v[BYTES_DIRECT_WRITE];
	s->m.v[MOUNT_SERVER_READ_BYTES] = v[BYTES_SERVER_READ];
	s->m.v[MOUNT_SERVER_WRITE_BYTES] = v[BYTES_SERVER_WRITE];
	for (unsigned i = MOUNT_READS; i < N_MOUNT_VALUES; i++)
		if (i == MOUNT_READ_BYTES || i == MOUNT_WRITE_BYTES ||
		    i == MOUNT_SERVER_READ_BYTES || i == MOUNT_SERVER_WRITE_BYTES)
			s->m.err[i] = 0;
}

static void take_line(struct section *s, const char *line, size_t len)
{
	const char *name = line + strspn(line, " \t"), *colon = memchr(line, ':', len);
	size_t name_len;

	if (!colon || colon < name)
		return;
	name_len = (size_t)(colon - name);
	if (str__starts(name, "age:"))
		s->has_age = text__u64((const char *[]){colon + 1}, &s->age_s);
	else if (str__starts(name, "events:"))
		take_events(s, colon + 1);
	else if (str__starts(name, "bytes:"))
		take_bytes(s, colon + 1);
	else if (name_len && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == name_len)
		take_op(s, name, name_len, colon + 1);
}

/* The lines of a section, behind its head; *at goes behind them. */
static void take_section(struct section *s, const char **at)
{
	static const enum mount_value of_ops[] = {MOUNT_READS,	       MOUNT_WRITES,
						  MOUNT_REQUESTS,      MOUNT_REQUEST_TIME,
						  MOUNT_META_REQUESTS, MOUNT_RESENDS};
	const char *line;
	size_t len;

	for (unsigned i = 0; i < N_MOUNT_VALUES; i++)
		s->m.err[i] = -ENODATA;
	while (**at && !str__starts(*at, "device ") && (line = text__line(at, &len)))
		take_line(s, line, len);
	for (size_t i = 0; s->has_ops && i < sizeof(of_ops) / sizeof(of_ops[0]); i++)
		s->m.err[of_ops[i]] = 0;
	if (!s->stateful) {
		s->m.v[MOUNT_OPENS] = s->opens;
		s->m.v[MOUNT_CLOSES] = s->closes;
	}
	if (s->stateful || s->has_events)
		s->m.err[MOUNT_OPENS] = s->m.err[MOUNT_CLOSES] = 0;
}

/* A file system that was mounted again counts from 0. */
static void take_age(struct nfs_mount *p, struct counter_set *c, const struct section *s)
{
	const struct counter_device *d = &c->device[p->device];

	if (!s->has_age)
		return;
	for (unsigned i = d->first; s->age_s < p->age_s && i < d->first + d->n; i++)
		c->counter[i].away = true;
	p->age_s = s->age_s;
}

static struct nfs_mount *mount_of(struct nfs_mounts *n, const char *line)
{
	for (unsigned i = 0; i < n->n; i++)
		if (!n->mount[i].seen && str__starts(line, n->mount[i].head))
			return &n->mount[i];
	return NULL;
}

void nfs__read(struct nfs_mounts *n, struct counter_set *c, struct sensor_value *values)
{
	int err = n->n ? sensor_text__read(&n->text) : -ENOENT;
	const char *at = n->text.buf, *line;
	struct mount_values none;
	size_t len;

	for (unsigned i = 0; i < n->n; i++)
		n->mount[i].seen = false;
	while (!err && (line = text__line(&at, &len))) {
		struct nfs_mount *p = str__starts(line, "device ") ? mount_of(n, line) : NULL;
		struct section s = {0};

		if (!p)
			continue;
		take_section(&s, &at);
		take_age(p, c, &s);
		mounts__take(c, p->device, &s.m, values);
		p->seen = true;
	}
	for (unsigned i = 0; i < N_MOUNT_VALUES; i++)
		none.err[i] = err ? err : -ENODEV;
	memset(none.v, 0, sizeof(none.v));
	for (unsigned i = 0; i < n->n; i++)
		if (!n->mount[i].seen)
			mounts__take(c, n->mount[i].device, &none, values);
}
