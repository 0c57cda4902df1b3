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
	if (!s)
		return;
	nfs__close(&s->nfs);
	lustre__close(&s->lustre);
	counter_set__free(&s->c);
	free(s);
}

static int mounts_open(struct sensor **out, const struct sensor_roots *roots)
{
	struct sensor *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->c = (struct counter_set){.series = "Mount", .part = PART_MOUNT};
	err = nfs__open(&s->nfs, &s->c, roots);
	if (!err)
		err = s->lustre_err = lustre__open(&s->lustre, &s->c, roots);
	if (err == -EACCES && s->c.ndevices)
		err = 0;
	if (!err && !s->c.ndevices)
		err = -ENOENT;
	if (err) {
		mounts_close(s);
		return err;
	}
	*out = s;
	return 0;
}

static int mounts_probe(const struct sensor_roots *roots, char *why, size_t len)
{
	static const char *const denied =
		"lustre: statistics below /sys/kernel/debug: not permitted: run as root";
	struct sensor *s = NULL;
	int err = mounts_open(&s, roots);

	if (err == -ENOENT)
		snprintf(why, len, "no mount of Lustre or NFS");
	else if (err == -EACCES)
		snprintf(why, len, "%s", denied);
	else if (err)
		snprintf(why, len, "%s/self/mountinfo and mountstats: %s", roots->proc,
			 strerror(-err));
	else
		snprintf(why, len, "%u of Lustre, %u of NFS%s%s%s", s->lustre.n, s->nfs.n,
			 s->c.left_out ? ", more are left out" : "", s->lustre_err ? "; " : "",
			 s->lustre_err ? denied : "");
	mounts_close(s);
	return err;
}

static unsigned mounts_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->c.channel;
	return s->c.nchannels;
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
	.probe = mounts_probe,
	.open = mounts_open,
	.channels = mounts_channels,
	.read = mounts_read,
	.close = mounts_close,
};
