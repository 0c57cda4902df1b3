/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mounts of Lustre and NFS in the mount namespace of the process, each with a table of its own. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/room.h"
#include "base/str.h"
#include "base/string_list.h"
#include "sensor/core/counter_set.h"
#include "sensor/core/file.h"
#include "sensor/core/text.h"

enum mount_value {
	MOUNT_READS,
	MOUNT_READ_BYTES,
	MOUNT_WRITES,
	MOUNT_WRITE_BYTES,
	MOUNT_OPENS,
	MOUNT_CLOSES,
	MOUNT_SERVER_READ_BYTES,
	MOUNT_SERVER_WRITE_BYTES,
	MOUNT_REQUESTS,
	MOUNT_REQUEST_TIME, /* in the kind's own unit */
	MOUNT_META_REQUESTS,
	MOUNT_RESENDS,
	N_MOUNT_VALUES,
};

/* The values of one reading; err[i], if not 0, says that v[i] is not known. */
struct mount_values {
	uint64_t v[N_MOUNT_VALUES];
	int err[N_MOUNT_VALUES];
};

/* A line of /proc/self/mountinfo. Its words are unchanged: a blank is "\040". */
struct mount_line {
	char *device; /* "0:42" */
	char *root, *point, *type, *source;
};

struct mount_lines {
	char *text; /* owns the words */
	struct mount_line *line;
	unsigned n;
};

/* One file system of NFS, as /proc/self/mountstats has it. */
struct nfs_mount {
	unsigned device;
	char *head; /* how its section begins; owned */
	uint64_t age_s;
	bool seen;
};

struct nfs_mounts {
	struct nfs_mount *mount;
	unsigned n;
	struct sensor_text text;
	char *path;
};

/* One instance of Lustre's client. */
struct lustre_mount {
	unsigned device;
	char *stats;		/* path of llite's; owned */
	struct string_list osc; /* paths of the statistics of data targets */
	struct string_list mdc; /* paths of those of metadata targets */
};

struct lustre_mounts {
	struct lustre_mount *mount;
	unsigned n;
	struct sensor_text text;
};

/* ---- mounts of some types of file systems, read from mountinfo */

/* A line is ID PARENT DEVICE ROOT POINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS; cut in place. */
static bool parse_line(char *line, struct mount_line *m)
{
	char *behind = strstr(line, " - "), *save, *word[5];

	if (!behind)
		return false;
	*behind = '\0';
	for (unsigned i = 0; i < 5; i++) {
		word[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!word[i])
			return false;
	}
	m->device = word[2];
	m->root = word[3];
	m->point = word[4];
	m->type = strtok_r(behind + 3, " ", &save);
	m->source = m->type ? strtok_r(NULL, " ", &save) : NULL;
	return m->source != NULL;
}

static bool is_wanted(const struct mount_line *m, const char *const *types)
{
	for (; *types; types++)
		if (!strcmp(*types, m->type))
			return true;
	return false;
}

static int add_mount(struct mount_lines *m, const struct mount_line *line)
{
	for (unsigned i = 0; i < m->n; i++) {
		if (strcmp(m->line[i].device, line->device) != 0)
			continue;
		/* One file system mounted twice, or in part elsewhere, has one set of counters. */
		if (strcmp(m->line[i].root, "/") != 0 && !strcmp(line->root, "/"))
			m->line[i] = *line;
		return 0;
	}
	if (room__grow(&m->line, m->n, 1, sizeof(*m->line)))
		return -ENOMEM;
	m->line[m->n++] = *line;
	return 0;
}

/* Reads the mounts of these types (NULL ends the list), each file system once: the mount of its
 * root that comes first, else that of any part. 0 or -errno. */
static int mount_lines_read(struct mount_lines *m, const char *proc, const char *const *types)
{
	struct sensor_text text = {.fd = -1};
	char *path, *line, *save = NULL;
	int err;

	*m = (struct mount_lines){0};
	if (asprintf(&path, "%s/self/mountinfo", proc) < 0)
		return -ENOMEM;
	text.path = path;
	err = sensor_text__read(&text);
	m->text = text.buf;
	text.buf = NULL;
	if (!err)
		for (line = strtok_r(m->text, "\n", &save); line && !err;
		     line = strtok_r(NULL, "\n", &save)) {
			struct mount_line one;

			if (parse_line(line, &one) && is_wanted(&one, types))
				err = add_mount(m, &one);
		}
	sensor_text__free(&text);
	free(path);
	return err == -ENOENT ? 0 : err;
}

static void mount_lines_free(struct mount_lines *m)
{
	free(m->line);
	free(m->text);
	*m = (struct mount_lines){0};
}

/* ---- the columns of a mount's table: their channels, and their values at a reading */

static const struct {
	const char *column;
	const char *unit;
} columns[N_MOUNT_VALUES] = {
	[MOUNT_READS] = {"Reads", ""},
	[MOUNT_READ_BYTES] = {"ReadMB", "B"},
	[MOUNT_WRITES] = {"Writes", ""},
	[MOUNT_WRITE_BYTES] = {"WriteMB", "B"},
	[MOUNT_OPENS] = {"Opens", ""},
	[MOUNT_CLOSES] = {"Closes", ""},
	[MOUNT_SERVER_READ_BYTES] = {"ServerReadMB", "B"},
	[MOUNT_SERVER_WRITE_BYTES] = {"ServerWriteMB", "B"},
	[MOUNT_REQUESTS] = {"Requests", ""},
	[MOUNT_REQUEST_TIME] = {"RequestTime", "s"},
	[MOUNT_META_REQUESTS] = {"MetaRequests", ""},
	[MOUNT_RESENDS] = {"Resends", ""},
};

/* Adds a device to c with a channel for each value in mask (1 << MOUNT_READS ...). time_unit: the
 * unit of MOUNT_REQUEST_TIME, in s. Returns as counter_set__add_device(). */
static int mounts_add(struct counter_set *c, const char *name, const char *about, unsigned mask,
		      double time_unit)
{
	int err = counter_set__add_device(c, name, about);

	for (unsigned i = 0; i < N_MOUNT_VALUES && !err; i++) {
		struct counter t = {.unit = i == MOUNT_REQUEST_TIME ? time_unit : 1, .field = i};

		if (!(mask & 1u << i))
			continue;
		err = counter_set__add_channel(c, columns[i].column, columns[i].unit, &t.channel);
		if (!err)
			err = counter_set__add_counter(c, &t);
	}
	return err;
}

/* Sets the values of a device's channels. */
static void mounts_take(struct counter_set *c, unsigned device, const struct mount_values *m,
			struct sensor_value *values)
{
	const struct counter_device *d = &c->device[device];

	for (unsigned i = d->first; i < d->first + d->n; i++) {
		struct counter *t = &c->counter[i];

		t->raw = m->v[t->field];
		t->err = m->err[t->field];
	}
	counter_set__take(c, device, clock__boot_ns(), values);
}

/* ---- Lustre's client has statistics in procfs, newer versions in debugfs. Each mount is an
 * instance: llite/FSNAME-INSTANCE counts requests of programs, osc/FSNAME-OST*-osc-INSTANCE and
 * mdc/FSNAME-MDT*-mdc-INSTANCE requests to each server. Lines are "NAME COUNT samples [UNIT] MIN
 * MAX SUM [...]"; a count of 0 has no line */

/* targets of a mount; to read more takes too long each second */
#define TARGETS_MAX 128

/* The directories llite, osc and mdc are in one of two places: below proc, or below sys. */
struct places {
	char dir[2][PATH_MAX];
	bool denied;
};

struct stats_line {
	const char *name;
	int count, sum; /* indices of values; -1: none */
};

static const struct stats_line llite_lines[] = {
	{"read_bytes", MOUNT_READS, MOUNT_READ_BYTES},
	{"write_bytes", MOUNT_WRITES, MOUNT_WRITE_BYTES},
	{"open", MOUNT_OPENS, -1},
	{"close", MOUNT_CLOSES, -1},
};

static const struct stats_line osc_lines[] = {
	{"read_bytes", -1, MOUNT_SERVER_READ_BYTES},
	{"write_bytes", -1, MOUNT_SERVER_WRITE_BYTES},
	{"req_waittime", MOUNT_REQUESTS, MOUNT_REQUEST_TIME},
};

static const struct stats_line mdc_lines[] = {
	{"req_waittime", MOUNT_META_REQUESTS, MOUNT_REQUEST_TIME},
};

#define OF_LLITE                                                           \
	(1u << MOUNT_READS | 1u << MOUNT_READ_BYTES | 1u << MOUNT_WRITES | \
	 1u << MOUNT_WRITE_BYTES | 1u << MOUNT_OPENS | 1u << MOUNT_CLOSES)
#define OF_MDC (1u << MOUNT_META_REQUESTS)
#define OF_ALL                                                                                   \
	(1u << MOUNT_SERVER_READ_BYTES | 1u << MOUNT_SERVER_WRITE_BYTES | 1u << MOUNT_REQUESTS | \
	 1u << MOUNT_REQUEST_TIME)

static int no_dots(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int add_path(struct string_list *list, const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s/stats", dir, name) < 0)
		return -ENOMEM;
	if (!access(path, F_OK))
		return string_list__take(list, path);
	free(path);
	return 0;
}

/* All names of an instance end alike: "-ffff8f5b4d8a3000". */
static const char *instance_of(const char *name)
{
	const char *dash = strrchr(name, '-');

	return dash ? dash : "";
}

/* Lists the statistics of an instance's targets; kind is osc or mdc. */
static int find_targets(const struct places *at, const char *kind, const char *instance,
			struct string_list *list)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !err && !list->n; i++) {
		_cleanup_closedir_ DIR *d = NULL;
		_cleanup_free_ char *dir = NULL;
		struct dirent *e;

		if (asprintf(&dir, "%s/%s", at->dir[i], kind) < 0) {
			dir = NULL;
			return -ENOMEM;
		}
		d = opendir(dir);
		while (d && !err && (e = readdir(d)))
			if (no_dots(e) && !strcmp(instance_of(e->d_name), instance))
				err = add_path(list, dir, e->d_name);
	}
	return err;
}

static bool is_of(const struct mount_line *line, const char *fsname, size_t len)
{
	const char *fs = strstr(line->source, ":/");

	return fs && !strncmp(fs + 2, fsname, len) && (!fs[2 + len] || fs[2 + len] == '/');
}

/* Names an instance's table by its mount point, or by its file system where the mount is not
 * visible. If a file system has several instances, it is unknown which of them is mounted where:
 * their tables are named by instance. */
static void name_instance(const struct mount_lines *lines, const char *instance, bool alone,
			  char *name, size_t size, char *about, size_t about_size)
{
	size_t len = (size_t)(instance_of(instance) - instance);

	if (!*instance_of(instance))
		len = strlen(instance);
	snprintf(name, size, "%.*s", alone ? (int)len : (int)strlen(instance), instance);
	snprintf(about, about_size, "lustre %s", instance);
	for (unsigned i = 0; i < lines->n && alone; i++) {
		if (!is_of(&lines->line[i], instance, len))
			continue;
		snprintf(name, size, "%s", lines->line[i].point);
		str__unescape(name);
		snprintf(about, about_size, "lustre %s at %s", lines->line[i].source, name);
		str__unescape(about);
		return;
	}
}

static void free_mount(struct lustre_mount *m)
{
	free(m->stats);
	string_list__free(&m->osc);
	string_list__free(&m->mdc);
}

static int add_instance(struct lustre_mounts *l, struct counter_set *c, const struct places *at,
			const char *stats, const char *name, const char *about,
			const char *instance)
{
	struct lustre_mount m = {.stats = strdup(stats)};
	unsigned mask = OF_LLITE;
	int err = m.stats ? find_targets(at, "osc", instance, &m.osc) : -ENOMEM;

	if (!err)
		err = find_targets(at, "mdc", instance, &m.mdc);
	mask |= m.mdc.n ? OF_MDC : 0;
	mask |= m.mdc.n && m.osc.n && m.osc.n + m.mdc.n <= TARGETS_MAX ? OF_ALL : 0;
	if (err || room__grow(&l->mount, l->n, 1, sizeof(*l->mount)))
		goto fail;
	err = mounts_add(c, name, about, mask, 1e-6);
	if (err)
		goto fail;
	m.device = c->ndevices - 1;
	l->mount[l->n++] = m;
	return 0;
fail:
	free_mount(&m);
	return err == -ENOSPC ? 0 : err ? err : -ENOMEM;
}

static bool has_instance(const struct lustre_mounts *l, const char *instance)
{
	for (unsigned i = 0; i < l->n; i++) {
		const char *found = strstr(l->mount[i].stats, instance);

		if (found && !strcmp(found + strlen(instance), "/stats") && found[-1] == '/')
			return true;
	}
	return false;
}

static bool same_fs(const char *a, const char *b)
{
	size_t len = (size_t)(instance_of(a) - a);

	return len == (size_t)(instance_of(b) - b) && !strncmp(a, b, len);
}

/* Adds the instances in one of the places. */
static int find_instances(struct lustre_mounts *l, struct counter_set *c, struct places *at,
			  const char *place, const struct mount_lines *lines)
{
	struct dirent **e = NULL;
	_cleanup_free_ char *dir = NULL;
	int n, err = 0;

	if (asprintf(&dir, "%s/llite", place) < 0) {
		dir = NULL;
		return -ENOMEM;
	}
	n = scandir(dir, &e, no_dots, compare_names);
	at->denied |= n < 0 && errno == EACCES;
	for (int i = 0; i < n && !err; i++) {
		char stats[PATH_MAX], name[PATH_MAX], about[PATH_MAX * 2];
		const char *instance = e[i]->d_name;
		bool alone = true;

		if (snprintf(stats, sizeof(stats), "%s/%s/stats", dir, instance) >=
			    (int)sizeof(stats) ||
		    access(stats, F_OK) || has_instance(l, instance))
			continue;
		for (int k = 0; k < n; k++)
			alone &= k == i || !same_fs(e[k]->d_name, instance);
		name_instance(lines, instance, alone, name, sizeof(name), about, sizeof(about));
		err = add_instance(l, c, at, stats, name, about, instance_of(instance));
	}
	for (int i = 0; i < n; i++)
		free(e[i]);
	free(e);
	return err;
}

/* Adds all Lustre mounts to c. 0, also if there are none; -EACCES: there are some, and their
 * statistics may not be read; -errno. */
static int lustre_open(struct lustre_mounts *l, struct counter_set *c,
		       const struct sensor_roots *roots)
{
	static const char *const types[] = {"lustre", NULL};
	struct mount_lines lines;
	struct places at = {.denied = false};
	int err;

	if (snprintf(at.dir[0], PATH_MAX, "%s/fs/lustre", roots->proc) >= PATH_MAX ||
	    snprintf(at.dir[1], PATH_MAX, "%s/kernel/debug/lustre", roots->sys) >= PATH_MAX)
		return -ENAMETOOLONG;
	err = mount_lines_read(&lines, roots->proc, types);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = find_instances(l, c, &at, at.dir[i], &lines);
	/* there is Lustre by the mounts; debugfs is closed to others everywhere */
	if (!err && !l->n && lines.n && at.denied)
		err = -EACCES;
	mount_lines_free(&lines);
	return err;
}

static void lustre_close(struct lustre_mounts *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free_mount(&l->mount[i]);
	free(l->mount);
	sensor_text__free(&l->text);
}

/* After the name comes COUNT samples [UNIT] MIN MAX SUM. Without SUM, *sum is 0. */
static bool parse_counts(const char *at, uint64_t *count, uint64_t *sum)
{
	uint64_t v[3];

	if (!text__u64(&at, count))
		return false;
	*sum = 0;
	at = strchrnul(at, ']');
	if (*at && text__numbers(at + 1, v, 3) == 3)
		*sum = v[2];
	return true;
}

/* Adds the counts of those lines of a file that the table wants to the values. */
static int add_lines(struct sensor_text *text, const char *path, const struct stats_line *wanted,
		     unsigned n, struct mount_values *m)
{
	const char *at, *line;
	bool stats = false;
	size_t len;
	int err;

	text->path = path;
	err = sensor_text__read(text);
	sensor_text__close(text);
	at = text->buf;
	while (!err && (line = text__line(&at, &len))) {
		size_t word = strcspn(line, " \t\n");
		uint64_t count, sum;

		stats |= word == strlen("snapshot_time") && str__starts(line, "snapshot_time");
		for (unsigned i = 0; i < n; i++) {
			if (strlen(wanted[i].name) != word || strncmp(wanted[i].name, line, word))
				continue;
			if (!parse_counts(line + word, &count, &sum))
				return -EBADMSG;
			if (wanted[i].count >= 0)
				m->v[wanted[i].count] += count;
			if (wanted[i].sum >= 0)
				m->v[wanted[i].sum] += sum;
		}
	}
	return err ? err : stats ? 0 : -EBADMSG;
}

static void set_err(struct mount_values *m, unsigned mask, int err)
{
	for (unsigned i = 0; err && i < N_MOUNT_VALUES; i++)
		if (mask & 1u << i)
			m->err[i] = err;
}

#define ADD_LINES(text, path, table, m) \
	add_lines(text, path, table, sizeof(table) / sizeof((table)[0]), m)

static void lustre_read(struct lustre_mounts *l, struct counter_set *c, struct sensor_value *values)
{
	for (unsigned i = 0; i < l->n; i++) {
		const struct lustre_mount *p = &l->mount[i];
		struct mount_values m = {0};
		bool all = p->osc.n + p->mdc.n <= TARGETS_MAX;

		set_err(&m, OF_LLITE, ADD_LINES(&l->text, p->stats, llite_lines, &m));
		for (unsigned k = 0; k < p->mdc.n; k++)
			set_err(&m, OF_MDC | OF_ALL,
				ADD_LINES(&l->text, p->mdc.v[k], mdc_lines, &m));
		for (unsigned k = 0; all && k < p->osc.n; k++)
			set_err(&m, OF_ALL, ADD_LINES(&l->text, p->osc.v[k], osc_lines, &m));
		m.v[MOUNT_REQUESTS] += m.v[MOUNT_META_REQUESTS];
		mounts_take(c, p->device, &m, values);
	}
}

/* ---- NFS: /proc/self/mountstats has a section for each mount, with counters of the file system */

/* Positions of the numbers in lines of a section. */
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

/* Requests that count as another value than metadata. */
static const struct {
	const char *name;
	int value; /* -1: not counted */
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
	bool has_age, has_ops,
		stateful;	/* stateful: opens are requests to the server, as in NFS 4 */
	uint64_t opens, closes; /* by the client */
	bool has_events;
};

static int head_of(char **out, const struct mount_line *line)
{
	return asprintf(out, "device %s mounted on %s with fstype %s ", line->source, line->point,
			line->type) < 0
		       ? -ENOMEM
		       : 0;
}

static int add_nfs_mount(struct nfs_mounts *n, struct counter_set *c, struct mount_line *line)
{
	char about[512], *head;
	int err = head_of(&head, line);

	if (err)
		return err;
	if (room__grow(&n->mount, n->n, 1, sizeof(*n->mount))) {
		free(head);
		return -ENOMEM;
	}
	str__unescape(line->point);
	str__unescape(line->source);
	snprintf(about, sizeof(about), "%s %s at %s", line->type, line->source, line->point);
	err = mounts_add(c, line->point, about, (1u << N_MOUNT_VALUES) - 1, 1e-3);
	if (err) {
		free(head);
		return err == -ENOSPC ? 0 : err;
	}
	n->mount[n->n++] = (struct nfs_mount){.head = head, .device = c->ndevices - 1};
	return 0;
}

/* Adds all NFS mounts to c. 0, also if there are none; -errno. */
static int nfs_open(struct nfs_mounts *n, struct counter_set *c, const struct sensor_roots *roots)
{
	static const char *const types[] = {"nfs", "nfs4", NULL};
	struct mount_lines lines;
	int err = mount_lines_read(&lines, roots->proc, types);

	n->text.fd = -1;
	for (unsigned i = 0; i < lines.n && !err; i++)
		err = add_nfs_mount(n, c, &lines.line[i]);
	mount_lines_free(&lines);
	if (!err && asprintf(&n->path, "%s/self/mountstats", roots->proc) < 0) {
		n->path = NULL;
		err = -ENOMEM;
	}
	n->text.path = n->path;
	return err;
}

static void nfs_close(struct nfs_mounts *n)
{
	for (unsigned i = 0; i < n->n; i++)
		free(n->mount[i].head);
	free(n->mount);
	if (n->path)
		sensor_text__free(&n->text);
	free(n->path);
}

/* Takes a line such as " READ: 12 12 0 2304 ...". */
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

/* Takes the lines of a section after its head, and moves *at to the end of the section. */
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

/* The counters of a file system begin at 0 when it is mounted again. */
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

static void nfs_read(struct nfs_mounts *n, struct counter_set *c, struct sensor_value *values)
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
		mounts_take(c, p->device, &s.m, values);
		p->seen = true;
	}
	for (unsigned i = 0; i < N_MOUNT_VALUES; i++)
		none.err[i] = err ? err : -ENODEV;
	memset(none.v, 0, sizeof(none.v));
	for (unsigned i = 0; i < n->n; i++)
		if (!n->mount[i].seen)
			mounts_take(c, n->mount[i].device, &none, values);
}

struct sensor {
	struct counter_set c;
	struct nfs_mounts nfs;
	struct lustre_mounts lustre;
	int lustre_err; /* why Lustre's cannot be read, while others can */
};

static void mounts_close(struct sensor *s)
{
	nfs_close(&s->nfs);
	lustre_close(&s->lustre);
	counter_set__free(&s->c);
}

static int mounts_open(struct sensor *s, const struct sensor_ops *ops,
		       const struct sensor_roots *roots)
{
	int err;

	s->c = (struct counter_set){.series = "Mount", .part = PART_MOUNT};
	s->lustre.text.fd = -1; /* lustre_close() may come before lustre_open() */
	err = nfs_open(&s->nfs, &s->c, roots);
	if (!err)
		err = s->lustre_err = lustre_open(&s->lustre, &s->c, roots);
	if (err == -EACCES && s->c.ndevices)
		err = 0;
	return err ? err : s->c.ndevices ? 0 : -ENOENT;
}

static void mounts_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			    char *text, size_t len)
{
	static const char *const denied =
		"lustre: statistics below /sys/kernel/debug: not permitted: run as root";

	if (err == -ENOENT)
		snprintf(text, len, "no mount of Lustre or NFS");
	else if (err == -EACCES)
		snprintf(text, len, "%s", denied);
	else if (err)
		snprintf(text, len, "%s/self/mountinfo and mountstats: %s", roots->proc,
			 strerror(-err));
	else
		snprintf(text, len, "%u of Lustre, %u of NFS%s%s%s", s->lustre.n, s->nfs.n,
			 s->c.left_out ? ", more are left out" : "", s->lustre_err ? "; " : "",
			 s->lustre_err ? denied : "");
}

static int mounts_read(struct sensor *s, struct sensor_value *values)
{
	nfs_read(&s->nfs, &s->c, values);
	lustre_read(&s->lustre, &s->c, values);
	return sensor__any_value(values, s->c.nchannels);
}

const struct sensor_ops sensor_mounts = {
	.name = "mounts",
	.doc = "what Lustre and NFS were asked, by mount",
	.grows = true,
	.slow = true, /* the kernel sums over all CPUs for each of some hundred numbers */
	.size = sizeof(struct sensor),
	.open = mounts_open,
	.describe = mounts_describe,
	.channels = counter_set__channels,
	.read = mounts_read,
	.close = mounts_close,
};
