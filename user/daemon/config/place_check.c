// SPDX-License-Identifier: GPL-2.0-only
/* Whether jobprofd can start with its own directories, StateDir and PinDir, and what becomes of the
 * sensors that are named. */
#include "daemon/config/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "kern/kern.h"
#include "sensor/core/sensor_set.h"
#include "sensor/plugin/plugin.h"
#include "sensor/sensors.h"

/* The directory is made, if need be, in one that is there. */
static int try_state_dir(const char *dir)
{
	char above[4200];
	struct stat st;
	char *slash;

	snprintf(above, sizeof(above), "%s", dir);
	if (stat(dir, &st) && errno == ENOENT) {
		slash = strrchr(above, '/');
		slash[slash == above] = '\0';
		if (stat(above, &st))
			return -errno;
	}
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static unsigned check_state_dir(const struct config *c)
{
	int err = try_state_dir(c->state_dir);

	if (err)
		log_error("%s: StateDir %s: %s: make the directory above it",
			  config__where(c, "StateDir"), c->state_dir, strerror(-err));
	return err != 0;
}

static unsigned check_pin_dir(const struct config *c)
{
	if (!kern__check_pin_dir(c->pin_dir))
		return 0;
	log_error("%s: %s", config__where(c, "PinDir"), kern__error());
	return 1;
}

static bool is_source(const char *name, const struct sensor_ops *const *plugins, int n)
{
	for (unsigned i = 0; i < n_sensor_sources; i++)
		if (!strcmp(sensor_sources[i]->name, name))
			return true;
	for (int i = 0; i < n; i++)
		if (!strcmp(plugins[i]->name, name))
			return true;
	return false;
}

static unsigned check_sensors(const struct config *c)
{
	const struct sensor_ops *const *plugins;
	int n = plugins__load(c->sensor_dir, sensor_sources, &plugins);
	const char *list = c->sensors;
	char word[64];

	while (list && sensor_set__word(&list, word, sizeof(word)))
		if (strcmp(word, "all") && strcmp(word, "none") && !is_source(word, plugins, n))
			log_warn("%s: Sensors: no source is called \"%s\": jobprof sensors -a "
				 "names them",
				 config__where(c, "Sensors"), word);
	return n == -EPERM; /* which is said */
}

unsigned place_check__run(const struct config *c)
{
	return check_state_dir(c) + check_pin_dir(c) + check_sensors(c);
}
