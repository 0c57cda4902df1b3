/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A site's own sources: objects sensor_*.so that define what jobprof-sensor.h declares. */
#ifndef JP_SENSOR_PLUGIN_PLUGIN_H
#define JP_SENSOR_PLUGIN_PLUGIN_H

#include "sensor/plugin/jobprof-sensor.h"
#include "sensor/core/sensor.h"

#define PLUGINS_MAX 16

/*
 * Loads all sensor_*.so of the directory, in the order of their names. Those that are refused are
 * logged, each with a line that says why: the file or the directory belongs to another user than
 * root (or than the caller, where that is not root), or others may write to it; the file is no
 * plug-in, or of another ABI; its names are not valid or are taken (builtin: sources of jobprof
 * itself, NULL ends them). Loaded code is trusted as this program is.
 *
 * Returns how many there are now, over all calls, and sets *out to their sources, which live until
 * the program ends. They are used like built-in ones, slow ones on threads of their own. Channels
 * have the columns' names, units and kinds, and are PART_OTHER. -ENOENT: there is no such
 * directory; -EPERM: others may write to it (logged); other -errno. Only one thread may call this.
 */
int plugins__load(const char *dir, const struct sensor_ops *const *builtin,
		  const struct sensor_ops *const **out);

/* The declaration in the object of such a source: its series, and its columns with a sentence on
 * each. NULL: it is no source of a plug-in. */
const struct jobprof_sensor *plugins__of(const struct sensor_ops *ops);

/* The directory of plug-ins, unless the configuration has another one. */
#define PLUGINS_DIR JOBPROF_SENSORDIR

/* For plugin.c and tests: 0, or -EINVAL (of another ABI: -EPROTONOSUPPORT) with the reason in
 * reason[len]. */
int plugin__check(const struct jobprof_sensor *p, char *reason, size_t len);
/* Whether a name is taken by a series of the files, or by another part of them. */
bool plugin__is_reserved(const char *series);

/* Whether a name may be that of a table below a series. */
bool plugin__is_table(const char *name);

/* For plugin.c and tests: a source that reads p, which has been checked. NULL: there are
 * PLUGINS_MAX. */
const struct sensor_ops *plugin__source(const struct jobprof_sensor *p);

#endif
