// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks what a plug-in declares. Its strings need not be terminated. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "schema/series.h"
#include "sensor/plugin/plugin.h"

#define LOWER	    "abcdefghijklmnopqrstuvwxyz"
#define UPPER	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	    "0123456789"
#define KNOWN_FLAGS JOBPROF_SENSOR_SLOW

static const char *const times[] = {"ElapsedTime", "EpochTime", "TimeNS"};

static bool is_in(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(list[i], name))
			return true;
	return false;
}

bool plugin__is_reserved(const char *series)
{
	/* names of the series of Slurm's gatherers begin with "Slurm_" */
	return series__is_reserved(series) || !strncasecmp(series, "Slurm_", 6);
}

/* Whether a name has 1 to `most` bytes, the first in `first`, all in `set`. */
static bool is_name(const char *s, size_t most, const char *first, const char *set)
{
	size_t len = s ? strnlen(s, most + 1) : 0;

	return len && len <= most && strchr(first, s[0]) && strspn(s, set) == len;
}

bool plugin__is_table(const char *name)
{
	return is_name(name, JOBPROF_SENSOR_TABLE_MAX, UPPER LOWER DIGITS,
		       UPPER LOWER DIGITS "_-.:");
}

static bool is_text(const char *s, size_t least, size_t most)
{
	size_t len = s ? strnlen(s, most + 1) : most + 1;

	if (len < least || len > most)
		return false;
	for (size_t i = 0; i < len; i++)
		if (s[i] < ' ' || s[i] > '~')
			return false;
	return true;
}

static int check_column(const struct jobprof_sensor *p, unsigned i, char *reason, size_t len)
{
	const struct jobprof_sensor_column *c = &p->columns[i];

	if (!is_name(c->name, JOBPROF_SENSOR_COLUMN_MAX, UPPER LOWER, UPPER LOWER DIGITS "_")) {
		snprintf(reason, len, "column %u has no name of 1 to %d letters, digits and \"_\"",
			 i, JOBPROF_SENSOR_COLUMN_MAX);
		return -EINVAL;
	}
	if (is_in(times, 3, c->name)) {
		snprintf(reason, len, "column %s: every table has that already", c->name);
		return -EINVAL;
	}
	for (unsigned k = 0; k < i; k++)
		if (!strcasecmp(p->columns[k].name, c->name)) {
			snprintf(reason, len, "column %s is there twice", c->name);
			return -EINVAL;
		}
	if (is_text(c->unit, 0, JOBPROF_SENSOR_UNIT_MAX) &&
	    is_text(c->doc, 1, JOBPROF_SENSOR_DOC_MAX) && c->kind <= JOBPROF_SENSOR_COUNT)
		return 0;
	snprintf(reason, len, "column %s: its unit, doc or kind is none", c->name);
	return -EINVAL;
}

static int check_names(const struct jobprof_sensor *p, char *reason, size_t len)
{
	if (!is_name(p->name, JOBPROF_SENSOR_NAME_MAX, LOWER, LOWER DIGITS "_-"))
		snprintf(reason, len, "its name is not 1 to %d of a-z, 0-9, \"_\" and \"-\"",
			 JOBPROF_SENSOR_NAME_MAX);
	else if (!is_text(p->doc, 1, JOBPROF_SENSOR_DOC_MAX))
		snprintf(reason, len, "its doc is no line of 1 to %d characters",
			 JOBPROF_SENSOR_DOC_MAX);
	else if (!is_name(p->series, JOBPROF_SENSOR_SERIES_MAX, UPPER LOWER,
			  UPPER LOWER DIGITS "_"))
		snprintf(reason, len, "its series has no name of 1 to %d letters, digits and \"_\"",
			 JOBPROF_SENSOR_SERIES_MAX);
	else if (plugin__is_reserved(p->series))
		snprintf(reason, len, "its series is called %s, which jobprof has itself",
			 p->series);
	else
		return 0;
	return -EINVAL;
}

int plugin__check(const struct jobprof_sensor *p, char *reason, size_t len)
{
	int err;

	if (p->abi != JOBPROF_SENSOR_ABI || p->size < sizeof(*p)) {
		snprintf(reason, len,
			 "it is made for ABI %u (%u bytes), this program has %d (%zu): compile it "
			 "with this version's jobprof-sensor.h",
			 p->abi, p->size, JOBPROF_SENSOR_ABI, sizeof(*p));
		return -EPROTONOSUPPORT;
	}
	err = check_names(p, reason, len);
	if (err)
		return err;
	if (p->flags & ~KNOWN_FLAGS) {
		snprintf(reason, len, "flags 0x%x are not known", p->flags);
		return -EINVAL;
	}
	if (!p->open || !p->read || !p->close || !p->columns || !p->ncolumns ||
	    p->ncolumns > JOBPROF_SENSOR_COLUMNS_MAX) {
		snprintf(reason, len, "it has no open, read or close, or not 1 to %d columns",
			 JOBPROF_SENSOR_COLUMNS_MAX);
		return -EINVAL;
	}
	for (unsigned i = 0; i < p->ncolumns && !err; i++)
		err = check_column(p, i, reason, len);
	return err;
}
