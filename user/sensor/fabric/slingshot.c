// SPDX-License-Identifier: GPL-2.0-or-later
/* Adapters of HPE Slingshot (Cassini): telemetry in sysfs, one file per counter, "VALUE@TIME".
 * Counters of events have 56 bits. Virtual functions have a directory but share the adapter's
 * counters: only functions with a link of their own are ports. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "sensor/core/counter_set.h"
#include "sensor/core/file.h"

#define RANGE (1ull << 56)

/* "#" is the traffic class. */
static const struct counter_file files[] = {
	{"RxMB", "B", "hni_sts_rx_ok_octets", 1, RANGE, 0},
	{"TxMB", "B", "hni_sts_tx_ok_octets", 1, RANGE, 0},
	{"RxPackets", "", "hni_pkts_recv_by_tc_#", 1, RANGE, 0},
	{"TxPackets", "", "hni_pkts_sent_by_tc_#", 1, RANGE, 0},
	{"Pauses", "", "hni_pause_recv_#", 1, RANGE, 0},
	{"SymbolErrors", "", "hni_pcs_uncorrected_cw", 1, RANGE, 0},
	{"Recoveries", "", "hni_llr_tx_replay_event", 1, RANGE, 0},
	{"AckTimeouts", "", "pct_spt_timeouts+pct_sct_timeouts", 1, RANGE, 0},
};

struct sensor {
	struct counter_set c;
};

/* Adds an adapter. Virtual functions are left out: their PCI device has "physfn". */
static int add_device(void *arg, const char *class, const char *name)
{
	struct sensor *s = arg;
	char dir[PATH_MAX], physfn[PATH_MAX];
	unsigned before = s->c.nchannels;
	int err;

	if (snprintf(dir, sizeof(dir), "%s/%s/device/telemetry", class, name) >= (int)sizeof(dir) ||
	    snprintf(physfn, sizeof(physfn), "%s/%s/device/physfn", class, name) >=
		    (int)sizeof(physfn))
		return 0;
	if (access(dir, F_OK) || !access(physfn, F_OK))
		return 0;
	err = counter_set__add_device(&s->c, name, "Slingshot");
	if (err)
		return err == -ENOSPC ? 0 : err;
	err = counter_set__add_files(&s->c, dir, files, sizeof(files) / sizeof(files[0]));
	if (!err && s->c.nchannels == before)
		s->c.ndevices--;
	return err;
}

static void slingshot_close(struct sensor *s)
{
	counter_set__free(&s->c);
}

static int slingshot_open(struct sensor *s, const struct sensor_ops *ops,
			  const struct sensor_roots *roots)
{
	char dir[PATH_MAX];
	int err;

	s->c = (struct counter_set){.series = "Port", .part = PART_PORT};
	if (snprintf(dir, sizeof(dir), "%s/class/cxi", roots->sys) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	err = sensor__each_entry(dir, add_device, s);
	return err ? err : s->c.ndevices ? 0 : -ENOENT;
}

static void slingshot_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			       char *text, size_t len)
{
	if (err == -ENOENT)
		snprintf(text, len, "no telemetry in %s/class/cxi", roots->sys);
	else if (err)
		snprintf(text, len, "%s/class/cxi: %s", roots->sys, strerror(-err));
	else
		snprintf(text, len, "%u in %s/class/cxi", s->c.ndevices, roots->sys);
}

static int slingshot_read(struct sensor *s, struct sensor_value *values)
{
	for (unsigned i = 0; i < s->c.ndevices; i++) {
		uint64_t now = clock__boot_ns();

		counter_set__read_files(&s->c, i);
		counter_set__take(&s->c, i, now, values);
	}
	return sensor__any_value(values, s->c.nchannels);
}

const struct sensor_ops sensor_slingshot = {
	.name = "slingshot",
	.doc = "adapters of HPE Slingshot",
	.slow = true, /* each has 40 files and more, which are read over PCI */
	.size = sizeof(struct sensor),
	.open = slingshot_open,
	.describe = slingshot_describe,
	.channels = counter_set__channels,
	.read = slingshot_read,
	.close = slingshot_close,
};
