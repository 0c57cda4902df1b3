/* SPDX-License-Identifier: GPL-2.0-only */
/* The built-in series, made from schemas/. */
#include "schema/series.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "sensor/node/cgvalues.h"
#include "schema/energy_columns.h"
#include "sample/totals.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define COL(name_, type_, unit_, kind_, family_, how_, arg_, scale_, doc_, blind_) \
	{                                                                          \
		.name = #name_,                                                    \
		.type = COL_##type_,                                               \
		.unit = unit_,                                                     \
		.kind = COL_##kind_,                                               \
		.family = FAM_##family_,                                           \
		.how = HOW_##how_,                                                 \
		.arg = arg_,                                                       \
		.scale = scale_,                                                   \
		.doc = doc_,                                                       \
		.blind = blind_,                                                   \
		.source = COL_BUILTIN,                                             \
	},

static const struct column tasks_cols[] = {
#include "schemas/tasks.def"
#include "schemas/tasks_end.def"
};

static const struct column step_cols[] = {
#include "schemas/tasks.def"
#include "schemas/step.def"
#include "schemas/tasks_end.def"
};

static const struct column latency_cols[] = {
#include "schemas/time.def"
#define BUCKET(k)                                               \
	COL(B##k, F64, "", DELTA, LATENCY, BUCKET, k, 1,        \
	    "Waits for a CPU of 2^" #k " ns up to twice that.", \
	    (k) == JP_LAT_BUCKETS - 1 ? "Holds all longer waits too." : "")
#include "schemas/buckets.def"
#undef BUCKET
#include "schemas/time_end.def"
};

static const struct column blk_latency_cols[] = {
#include "schemas/time.def"
#define BUCKET(k)                                                \
	COL(B##k, F64, "", DELTA, BLOCK, BUCKET, k, 1,           \
	    "Reads and writes of 2^" #k " ns up to twice that.", \
	    (k) == JP_LAT_BUCKETS - 1 ? "Holds all longer ones too." : "")
#include "schemas/buckets.def"
#undef BUCKET
#define BUCKET(k)                                                       \
	COL(W##k, F64, "", DELTA, BLOCK, BUCKET, JP_LAT_BUCKETS + k, 1, \
	    "Writes among them; the rest are reads.", "")
#include "schemas/buckets.def"
#undef BUCKET
#include "schemas/time_end.def"
};
static const struct column energy_cols[] = {
#include "schemas/time.def"
#include "schemas/energy.def"
#include "schemas/time_end.def"
};

static const struct column network_cols[] = {
#include "schemas/time.def"
#include "schemas/network.def"
#include "schemas/time_end.def"
};

static const struct column filesystem_cols[] = {
#include "schemas/time.def"
#include "schemas/filesystem.def"
#include "schemas/time_end.def"
};

static const struct column gpu_cols[] = {
#include "schemas/time.def"
#include "schemas/gpu.def"
#include "schemas/time_end.def"
};

static const struct column cpu_cols[] = {
#include "schemas/time.def"
#include "schemas/cpu.def"
#include "schemas/time_end.def"
};

static const struct column port_cols[] = {
#include "schemas/time.def"
#include "schemas/port.def"
#include "schemas/time_end.def"
};

static const struct column netdev_cols[] = {
#include "schemas/time.def"
#include "schemas/netdev.def"
#include "schemas/time_end.def"
};

static const struct column mount_cols[] = {
#include "schemas/time.def"
#include "schemas/mount.def"
#include "schemas/time_end.def"
};

static const struct column disk_cols[] = {
#include "schemas/time.def"
#include "schemas/disk.def"
#include "schemas/time_end.def"
};

_Static_assert(JP_LAT_BUCKETS == 40, "RunLatency has one column per bucket");

const struct series builtin_series[] = {
	{"Tasks", "One table per task: what the task and its descendants used.", tasks_cols,
	 ARRAY_SIZE(tasks_cols), true, false},
	{"Step",
	 "One table: the sum over all processes of the step, and what its cgroup says of itself.",
	 step_cols, ARRAY_SIZE(step_cols), false, false},
	{"RunLatency",
	 "One table per task: histogram of the time from runnable to running, per interval.",
	 latency_cols, ARRAY_SIZE(latency_cols), true, false},
	{"BlkLatency",
	 "One table per task: histogram of the service times of its block requests, per interval.",
	 blk_latency_cols, ARRAY_SIZE(blk_latency_cols), true, false},
	{"Energy", "One table: energy of the node and the step's part of it.", energy_cols,
	 ARRAY_SIZE(energy_cols), false, true},
	{"Network", "One table: traffic of the node, all ports together.", network_cols,
	 ARRAY_SIZE(network_cols), false, true},
	{"Filesystem", "One table: what the node read and wrote over network file systems.",
	 filesystem_cols, ARRAY_SIZE(filesystem_cols), false, true},
	{"GPU", "One table per GPU of the node, by the number that jobs know it by.", gpu_cols,
	 ARRAY_SIZE(gpu_cols), true, true},
	{"CPU", "One table: clocks, heat, pressure and memory of the node.", cpu_cols,
	 ARRAY_SIZE(cpu_cols), false, true},
	{"Port", "One table per port of the node's InfiniBand, Omni-Path, RoCE or Slingshot.",
	 port_cols, ARRAY_SIZE(port_cols), true, true},
	{"NetDev", "One table per network interface of the node that has a device.", netdev_cols,
	 ARRAY_SIZE(netdev_cols), true, true},
	{"Mount", "One table per mount of Lustre or NFS, named after where it is mounted.",
	 mount_cols, ARRAY_SIZE(mount_cols), true, true},
	{"Disk", "One table per disk of the node.", disk_cols, ARRAY_SIZE(disk_cols), true, true},
};
const unsigned n_builtin_series = ARRAY_SIZE(builtin_series);

const struct series *series__find(const char *name)
{
	for (unsigned i = 0; i < n_builtin_series; i++)
		if (!strcasecmp(builtin_series[i].name, name))
			return &builtin_series[i];
	return NULL;
}

struct column series__event(const char *name, unsigned i)
{
	return (struct column){
		.name = name,
		.type = COL_F64,
		.unit = "",
		.kind = COL_DELTA,
		.family = FAM_PERF,
		.how = HOW_PMU,
		.arg = (int)i,
		.scale = 1,
		.doc = "",
		.blind = "",
		.source = COL_STORED,
	};
}

unsigned series__select(const struct series *s, unsigned mask, const struct column **out,
			unsigned max)
{
	unsigned n = 0, values = 0;

	for (unsigned i = 0; i < s->ncols && n < max; i++) {
		if (!(s->cols[i].family & mask))
			continue;
		out[n++] = &s->cols[i];
		values += s->cols[i].kind != COL_TIME;
	}
	return values ? n : 0;
}
