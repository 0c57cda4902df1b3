// SPDX-License-Identifier: GPL-2.0-only
/* The columns of a mount's table: their channels, and their values at a reading. */
#include "base/clock.h"
#include "sensor/mounts/mounts.h"

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

int mounts__add(struct counter_set *c, const char *name, const char *about, unsigned mask,
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

void mounts__take(struct counter_set *c, unsigned device, const struct mount_values *m,
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
