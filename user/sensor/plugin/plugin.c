// SPDX-License-Identifier: GPL-2.0-only
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
#include "base/log.h"
#include "base/str.h"

#define OPENED_MAX (4 * PLUGINS_MAX) /* refused ones and those found again too */

static const struct sensor_ops *loaded[PLUGINS_MAX + 1];
static unsigned nloaded, nopened;
static const struct sensor_ops *const *builtins; /* as plugins__load() got them */

/* False: another user could have changed it. */
static bool check_owner(int fd, bool dir, char *why, size_t len)
{
	struct stat st;

	if (fstat(fd, &st))
		snprintf(why, len, "%s", strerror(errno));
	else if (dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
		snprintf(why, len, "it is no %s", dir ? "directory" : "regular file");
	else if (st.st_uid && st.st_uid != geteuid())
		snprintf(why, len, "it belongs to uid %u; chown root it", st.st_uid);
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, len, "others may write to it (mode %04o); chmod go-w it",
			 st.st_mode & 07777);
	else
		return true;
	return false;
}

/* Neither a name nor a series is there twice. */
static bool is_new_name(const struct jobprof_sensor *p, char *why, size_t len)
{
	for (const struct sensor_ops *const *o = builtins; *o; o++)
		if (!strcmp((*o)->name, p->name)) {
			snprintf(why, len, "jobprof has a source %s itself", p->name);
			return false;
		}
	for (unsigned i = 0; i < nloaded; i++) {
		const struct jobprof_sensor *other = plugins__of(loaded[i]);

		if (strcmp(other->name, p->name) != 0 && strcasecmp(other->series, p->series) != 0)
			continue;
		snprintf(why, len, "another plug-in is called %s or has the series %s", p->name,
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

/* Makes a source of it, unless it is refused: why[] says so. */
static bool take_plugin(const struct jobprof_sensor *p, char *why, size_t len)
{
	const struct sensor_ops *ops;

	if (plugin__check(p, why, len) || !is_new_name(p, why, len))
		return false;
	ops = plugin__source(p);
	if (!ops) {
		snprintf(why, len, "there are %d already", PLUGINS_MAX);
		return false;
	}
	loaded[nloaded++] = ops;
	return true;
}

/*
 * By its descriptor: what was looked at is what is loaded. The loader knows it by that name from
 * now on, so that the descriptor stays open.
 */
static bool load_object(int *fd, char *why, size_t len)
{
	const struct jobprof_sensor *p;
	char path[32];
	void *handle;

	if (nopened == OPENED_MAX) {
		snprintf(why, len, "%d objects have been opened already", OPENED_MAX);
		return false;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		snprintf(why, len, "%s", dlerror());
		return false;
	}
	*fd = -1;
	nopened++;
	p = dlsym(handle, "jobprof_sensor");
	if (p && is_loaded(p))
		return true;
	if (!p)
		snprintf(why, len, "it defines no jobprof_sensor: see jobprof-sensor(7)");
	else if (take_plugin(p, why, len))
		return true;
	dlclose(handle);
	return false;
}

static void load_file(int dir, const char *dirname, const char *file)
{
	_cleanup_close_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char why[512];

	if (fd < 0)
		snprintf(why, sizeof(why), "%s", strerror(errno));
	else if (check_owner(fd, false, why, sizeof(why)) && load_object(&fd, why, sizeof(why)))
		return;
	log_error("sensor plug-in %s/%s is not loaded: %s", dirname, file, why);
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
	char why[160];
	int n;

	*out = loaded;
	builtins = builtin;
	if (fd < 0)
		return -errno;
	if (!check_owner(fd, true, why, sizeof(why))) {
		log_error("sensor plug-ins of %s are not loaded: %s", dir, why);
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
