/* SPDX-License-Identifier: GPL-2.0-only */
/* Mounts of network file systems: what the source shares with the two kinds of them. */
#ifndef JP_SENSOR_MOUNTS_MOUNTS_H
#define JP_SENSOR_MOUNTS_MOUNTS_H

#include "base/string_list.h"
#include "sensor/core/counter_set.h"
#include "sensor/core/text.h"

enum mount_value {
	MOUNT_READS,
	MOUNT_READ_BYTES,
	MOUNT_WRITES,
	MOUNT_WRITE_BYTES,
	MOUNT_OPENS,
	MOUNT_CLOSES,
	MOUNT_SERVER_READ_BYTES,
	MOUNT_SERVER_WRITE_BYTES,
	MOUNT_REQUESTS,
	MOUNT_REQUEST_TIME, /* in the kind's own unit */
	MOUNT_META_REQUESTS,
	MOUNT_RESENDS,
	N_MOUNT_VALUES,
};

/* The values of one reading; err[i], if not 0, says that v[i] is not known. */
struct mount_values {
	uint64_t v[N_MOUNT_VALUES];
	int err[N_MOUNT_VALUES];
};

/* A line of /proc/self/mountinfo, its words as they are there: blanks are "\040". */
struct mount_line {
	char *device; /* "0:42" */
	char *root, *point, *type, *source;
};

struct mount_lines {
	char *text; /* owns the words */
	struct mount_line *line;
	unsigned n;
};

/* Mounts of the types, NULL-terminated, each file system once: where its root is mounted first,
 * else where any of it is. 0 or -errno. */
int mount_lines__read(struct mount_lines *m, const char *proc, const char *const *types);
void mount_lines__free(struct mount_lines *m);

/* Adds a device to c with the channels of the values in mask (1 << MOUNT_READS ...); time_unit is
 * that of MOUNT_REQUEST_TIME in s. As counter_set__add_device(). */
int mounts__add(struct counter_set *c, const char *name, const char *about, unsigned mask,
		double time_unit);

/* One file system of NFS, as /proc/self/mountstats has it. */
struct nfs_mount {
	unsigned device;
	char *head; /* how its section begins; owned */
	uint64_t age_s;
	bool seen;
};

struct nfs_mounts {
	struct nfs_mount *mount;
	unsigned n;
	struct sensor_text text;
	char *path;
};

/* One instance of Lustre's client. */
struct lustre_mount {
	unsigned device;
	char *stats;		/* path of llite's; owned */
	struct string_list osc; /* paths of the targets' statistics */
	struct string_list mdc; /* of the metadata targets' */
};

struct lustre_mounts {
	struct lustre_mount *mount;
	unsigned n;
	struct sensor_text text;
};

/* Sets the values of a device's channels. */
void mounts__take(struct counter_set *c, unsigned device, const struct mount_values *m,
		  struct sensor_value *values);

#endif
