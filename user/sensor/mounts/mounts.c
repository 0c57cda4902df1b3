// SPDX-License-Identifier: GPL-2.0-only
/* Mounts of Lustre and NFS in the mount namespace of the process, each with a table of its own. */
#include "sensor/mounts/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sensor/core/file.h"

struct sensor {
	struct counter_set c;
	struct nfs_mounts nfs;
	struct lustre_mounts lustre;
	int lustre_err; /* what of it cannot be read, with other mounts there */
};

static void mounts_close(struct sensor *s)
{
	nfs__close(&s->nfs);
	lustre__close(&s->lustre);
	counter_set__free(&s->c);
}

static int mounts_open(struct sensor *s, const struct sensor_ops *ops,
		       const struct sensor_roots *roots)
{
	int err;

	s->c = (struct counter_set){.series = "Mount", .part = PART_MOUNT};
	s->lustre.text.fd = -1; /* lustre__close() may come before lustre__open() */
	err = nfs__open(&s->nfs, &s->c, roots);
	if (!err)
		err = s->lustre_err = lustre__open(&s->lustre, &s->c, roots);
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
	nfs__read(&s->nfs, &s->c, values);
	lustre__read(&s->lustre, &s->c, values);
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
