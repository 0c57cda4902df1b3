/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the objects of plug-ins, and loads those that only root can have put there. */
#include "sensor/plugin/plugin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "sensor/core/file.h"

/* ---- a plug-in as a source like any other: its answers are checked at each call */

#define MAX_ERRNO 4095

/* A counter: the plug-in's last count, and the total since the source was opened. */
struct plugin_count {
	double last, total;
	bool started, away;
};

struct sensor {
	const struct jobprof_sensor *plugin;
	struct jobprof_sensor_roots roots;
	void *state;
	bool open;
	unsigned n;
	struct sensor_channel *channel;	    /* [n] */
	struct plugin_count *count;	    /* [n] */
	struct jobprof_sensor_value *value; /* [n] */
};

/* Plug-ins, and the source made from each. */
static const struct jobprof_sensor *plugins[PLUGINS_MAX];
static struct sensor_ops sources[PLUGINS_MAX];
static unsigned nplugins;

/* Converts a plug-in's error. In this program -ETIMEDOUT of a read means that the source hangs, and
 * -EAGAIN that there is no reading yet: those of a plug-in become other errors. */
static int own_error(int err)
{
	if (err > 0 || err < -MAX_ERRNO)
		return -EIO;
	return err == -ETIMEDOUT ? -ETIME : err == -EAGAIN ? -ENODATA : err;
}

static void name_channel(struct sensor *s, unsigned i, const char *table)
{
	const struct jobprof_sensor_column *from = &s->plugin->columns[i % s->plugin->ncolumns];
	struct sensor_channel *c = &s->channel[i];
	char name[SENSOR_NAME];
	bool count = from->kind == JOBPROF_SENSOR_COUNT;

	snprintf(name, sizeof(name), "%s%s%s", table ? table : "", table ? " " : "", from->name);
	*c = sensor__channel(name);
	snprintf(c->unit, sizeof(c->unit), "%s", from->unit);
	snprintf(c->series, sizeof(c->series), "%s%s%s", s->plugin->series, table ? "/" : "",
		 table ? table : "");
	snprintf(c->column, sizeof(c->column), "%s", from->name);
	c->quantity = !count			 ? QUANTITY_LEVEL
		      : !strcmp(from->unit, "J") ? QUANTITY_ENERGY
						 : QUANTITY_COUNT;
}

static bool tables_ok(const char *const *names, int n)
{
	for (int i = 0; i < n; i++) {
		if (!plugin__is_table(names[i]))
			return false;
		for (int k = 0; k < i; k++)
			if (!strcmp(names[i], names[k]))
				return false;
	}
	return true;
}

static int add_channels(struct sensor *s)
{
	const char *const *names = NULL;
	unsigned ncolumns = s->plugin->ncolumns;
	int n = s->plugin->tables ? s->plugin->tables(s->state, &names) : 1;

	if (n < 0)
		return own_error(n);
	if (!n)
		return -ENOENT;
	if (n > JOBPROF_SENSOR_TABLES_MAX)
		return -E2BIG;
	if (s->plugin->tables && (!names || !tables_ok(names, n)))
		return -EINVAL;
	s->n = (unsigned)n * ncolumns;
	s->channel = calloc(s->n, sizeof(*s->channel));
	s->count = calloc(s->n, sizeof(*s->count));
	s->value = calloc(s->n, sizeof(*s->value));
	if (!s->channel || !s->count || !s->value)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n; i++)
		name_channel(s, i, names ? names[i / ncolumns] : NULL);
	return 0;
}

static void plugin_close(struct sensor *s)
{
	if (s->open)
		s->plugin->close(s->state);
	free(s->channel);
	free(s->count);
	free(s->value);
}

static int plugin_open(struct sensor *s, const struct sensor_ops *ops,
		       const struct sensor_roots *roots)
{
	int err;

	s->plugin = plugins__of(ops);
	s->roots = (struct jobprof_sensor_roots){roots->sys, roots->proc, roots->dev};
	err = own_error(s->plugin->open(&s->state, &s->roots));
	s->open = !err;
	return err ? err : add_channels(s);
}

static void plugin_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			    char *text, size_t len)
{
	snprintf(text, len, "%s", err ? strerror(-err) : s->plugin->doc);
}

static int plugin_probe(const struct sensor_ops *ops, const struct sensor_roots *roots, char *text,
			size_t len)
{
	const struct jobprof_sensor_roots r = {roots->sys, roots->proc, roots->dev};
	int err;

	text[0] = '\0';
	err = own_error(plugins__of(ops)->probe(&r, text, len));
	text[len - 1] = '\0';
	return err;
}

static unsigned plugin_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->channel;
	return s->n;
}

static enum sensor_quality quality_of(uint32_t q)
{
	static const enum sensor_quality table[] = {
		[JOBPROF_SENSOR_GOOD] = READING_GOOD,
		[JOBPROF_SENSOR_GAP] = READING_GAP,
		[JOBPROF_SENSOR_NONE] = READING_NONE,
		[JOBPROF_SENSOR_DENIED] = READING_DENIED,
		[JOBPROF_SENSOR_REPEATED] = READING_REPEATED,
	};

	return q < sizeof(table) / sizeof(table[0]) ? table[q] : READING_NONE;
}

static void add_count(struct plugin_count *c, struct sensor_value *v)
{
	bool gap = c->started && (c->away || v->quality == READING_GAP || v->value < c->last);

	if (c->started && !gap)
		c->total += v->value - c->last;
	c->last = v->value;
	c->started = true;
	c->away = false;
	v->value = c->total;
	if (gap)
		v->quality = READING_GAP;
	else if (v->quality == READING_GAP)
		v->quality = READING_GOOD;
}

static struct sensor_value take_value(struct sensor *s, unsigned i, uint64_t now)
{
	const struct jobprof_sensor_value *from = &s->value[i];
	enum sensor_quality q = quality_of(from->quality);
	bool count = s->channel[i].quantity != QUANTITY_LEVEL;
	struct sensor_value v = {.value = from->value, .quality = q};

	if (q == READING_NONE || q == READING_DENIED || !isfinite(v.value) ||
	    (count && v.value < 0)) {
		v = sensor__no_value(q == READING_DENIED ? q : READING_NONE);
		s->count[i].away = true;
	} else if (count) {
		add_count(&s->count[i], &v);
	}
	v.time_ns = from->time_ns && from->time_ns <= now ? from->time_ns : now;
	return v;
}

static int plugin_read(struct sensor *s, struct sensor_value *values)
{
	uint64_t now;
	int err;

	for (unsigned i = 0; i < s->n; i++)
		s->value[i] = (struct jobprof_sensor_value){.value = NAN};
	err = own_error(s->plugin->read(s->state, s->value));
	now = clock__boot_ns();
	for (unsigned i = 0; i < s->n; i++) {
		if (err)
			s->value[i] = (struct jobprof_sensor_value){
				.value = NAN,
				.quality = err == -EACCES ? JOBPROF_SENSOR_DENIED
							  : JOBPROF_SENSOR_NONE};
		values[i] = take_value(s, i, now);
	}
	return err ? err : sensor__any_value(values, s->n);
}

const struct sensor_ops *plugin__source(const struct jobprof_sensor *p)
{
	struct sensor_ops *o = &sources[nplugins];

	if (nplugins == PLUGINS_MAX)
		return NULL;
	plugins[nplugins++] = p;
	*o = (struct sensor_ops){
		.name = p->name,
		.doc = p->doc,
		.slow = p->flags & JOBPROF_SENSOR_SLOW,
		.size = sizeof(struct sensor),
		.open = plugin_open,
		.describe = plugin_describe,
		.probe = p->probe ? plugin_probe : NULL,
		.channels = plugin_channels,
		.read = plugin_read,
		.close = plugin_close,
	};
	return o;
}

const struct jobprof_sensor *plugins__of(const struct sensor_ops *ops)
{
	for (unsigned k = 0; k < nplugins; k++)
		if (ops == &sources[k])
			return plugins[k];
	return NULL;
}

/* ---- finding and loading plug-ins */

#define OPENED_MAX (4 * PLUGINS_MAX) /* objects, with those that are refused or found twice */

static const struct sensor_ops *loaded[PLUGINS_MAX + 1];
static unsigned nloaded, nopened;
static const struct sensor_ops *const *builtins; /* as plugins__load() got them */

/* Whether only root, or the caller, can have changed the object or the directory. False:
 * reason[len] has the cause. */
static bool check_owner(int fd, bool dir, char *reason, size_t len)
{
	struct stat st;

	if (fstat(fd, &st))
		snprintf(reason, len, "%s", strerror(errno));
	else if (dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
		snprintf(reason, len, "it is no %s", dir ? "directory" : "regular file");
	else if (st.st_uid && st.st_uid != geteuid())
		snprintf(reason, len, "it belongs to uid %u; chown root it", st.st_uid);
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		snprintf(reason, len, "others may write to it (mode %04o); chmod go-w it",
			 st.st_mode & 07777);
	else
		return true;
	return false;
}

/* Whether no other source has the plug-in's name or series. */
static bool is_new_name(const struct jobprof_sensor *p, char *reason, size_t len)
{
	for (const struct sensor_ops *const *o = builtins; *o; o++)
		if (!strcmp((*o)->name, p->name)) {
			snprintf(reason, len, "jobprof has a source %s itself", p->name);
			return false;
		}
	for (unsigned i = 0; i < nloaded; i++) {
		const struct jobprof_sensor *other = plugins__of(loaded[i]);

		if (strcmp(other->name, p->name) != 0 && strcasecmp(other->series, p->series) != 0)
			continue;
		snprintf(reason, len, "another plug-in is called %s or has the series %s", p->name,
			 p->series);
		return false;
	}
	return true;
}

static bool is_loaded(const struct jobprof_sensor *p)
{
	for (unsigned i = 0; i < nloaded; i++)
		if (plugins__of(loaded[i]) == p)
			return true;
	return false;
}

/* Makes a source of a plug-in. False: it is refused; reason[len] has the cause. */
static bool take_plugin(const struct jobprof_sensor *p, char *reason, size_t len)
{
	const struct sensor_ops *ops;

	if (plugin__check(p, reason, len) || !is_new_name(p, reason, len))
		return false;
	ops = plugin__source(p);
	if (!ops) {
		snprintf(reason, len, "there are %d already", PLUGINS_MAX);
		return false;
	}
	loaded[nloaded++] = ops;
	return true;
}

/* Loads an object by its descriptor, so that the file that was checked is the one that is loaded.
 * The loader then knows the object by the descriptor's path: the descriptor stays open. */
static bool load_object(int *fd, char *reason, size_t len)
{
	const struct jobprof_sensor *p;
	char path[32];
	void *handle;

	if (nopened == OPENED_MAX) {
		snprintf(reason, len, "%d objects have been opened already", OPENED_MAX);
		return false;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		snprintf(reason, len, "%s", dlerror());
		return false;
	}
	*fd = -1;
	nopened++;
	p = dlsym(handle, "jobprof_sensor");
	if (p && is_loaded(p))
		return true;
	if (!p)
		snprintf(reason, len, "it defines no jobprof_sensor: see jobprof-sensor(7)");
	else if (take_plugin(p, reason, len))
		return true;
	dlclose(handle);
	return false;
}

static void load_file(int dir, const char *dirname, const char *file)
{
	_cleanup_close_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char reason[512];

	if (fd < 0)
		snprintf(reason, sizeof(reason), "%s", strerror(errno));
	else if (check_owner(fd, false, reason, sizeof(reason)) &&
		 load_object(&fd, reason, sizeof(reason)))
		return;
	log_error("sensor plug-in %s/%s is not loaded: %s", dirname, file, reason);
}

static int is_plugin(const struct dirent *e)
{
	return str__glob1("sensor_*.so", e->d_name);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int plugins__load(const char *dir, const struct sensor_ops *const *builtin,
		  const struct sensor_ops *const **out)
{
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries = NULL;
	char reason[160];
	int n;

	*out = loaded;
	builtins = builtin;
	if (fd < 0)
		return -errno;
	if (!check_owner(fd, true, reason, sizeof(reason))) {
		log_error("sensor plug-ins of %s are not loaded: %s", dir, reason);
		return -EPERM;
	}
	n = scandirat(fd, ".", &entries, is_plugin, compare_names);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		load_file(fd, dir, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return (int)nloaded;
}
