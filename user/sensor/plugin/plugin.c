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

/* Whether only root, or the caller, can have changed the object or the directory. False:
 * reason[len] says why not. */
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

/* Makes a source of a plug-in. False: it is refused, for reason[len]. */
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

/*
 * Loads an object by its descriptor, so that the file that was checked is the file that is loaded.
 * The loader knows the object by the descriptor's path from then on, so the descriptor stays open.
 */
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
