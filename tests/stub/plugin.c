// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sensors of a site's own as they may be: fans, read from files of <sys>/fans/, and with other
 * settings ones that are refused, are slow, hang or lie.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/sensor/plugin/jobprof-sensor.h"

#ifndef ABI
#define ABI JOBPROF_SENSOR_ABI
#endif
#ifndef NAME
#define NAME "fans"
#endif
#ifndef SERIES
#define SERIES "Fans"
#endif
#ifndef FLAGS
#define FLAGS 0
#endif

static const struct jobprof_sensor_column columns[] = {
	{"Speed", "rpm", "How fast it turns.", JOBPROF_SENSOR_LEVEL},
	{"Energy", "J", "What it took.", JOBPROF_SENSOR_COUNT},
};

static const char *const names[] = {"front", "back"};
static char sys[256];

static int probe(const struct jobprof_sensor_roots *roots, char *why, size_t len)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/fans", roots->sys);
#ifdef LIES
	memset(why, 'y', len); /* endless */
	return 0;
#endif
	snprintf(why, len, access(path, F_OK) ? "no fans" : "2 fans\033[31m");
	return access(path, F_OK) ? -ENOENT : 0;
}

static int open_it(void **state, const struct jobprof_sensor_roots *roots)
{
	snprintf(sys, sizeof(sys), "%.200s", roots->sys);
	*state = sys;
	return 0;
}

static int tables(void *state, const char *const **out)
{
	*out = names;
	return 2;
}

static double number(const char *fan, const char *what)
{
	char path[300];
	double v = NAN;
	FILE *f;

	snprintf(path, sizeof(path), "%s/fans/%s/%s", sys, fan, what);
	f = fopen(path, "r");
	if (f && fscanf(f, "%lf", &v) != 1)
		v = NAN;
	if (f)
		fclose(f);
	return v;
}

static int read_it(void *state, struct jobprof_sensor_value *values)
{
#ifdef HANG
	for (;;)
		pause();
#endif
#ifdef TAKES
	sleep(TAKES);
#endif
#ifdef LIES
	values[0] = (struct jobprof_sensor_value){INFINITY, UINT64_MAX, 77};
	values[1] = (struct jobprof_sensor_value){-5, 1, 0};
	values[2] = (struct jobprof_sensor_value){1e300, UINT64_MAX, 0};
	values[3] = (struct jobprof_sensor_value){NAN, 0, JOBPROF_SENSOR_DENIED};
	return 0;
#endif
	for (unsigned i = 0; i < 2; i++) {
		values[2 * i].value = number(names[i], "speed");
		values[2 * i + 1].value = number(names[i], "joules");
	}
	return 0;
}

static void close_it(void *state)
{
}

JOBPROF_SENSOR = {
	.abi = ABI,
	.size = sizeof(struct jobprof_sensor),
	.flags = FLAGS,
	.ncolumns = 2,
	.name = NAME,
	.doc = "fans of a cabinet",
	.series = SERIES,
	.columns = columns,
	.probe = probe,
	.open = open_it,
	.tables = tables,
	.read = read_it,
	.close = close_it,
};
