/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one reading of each source takes: jpsensors ROUNDS READINGS [ROOT [PLUGINS]]. A line per
 * source that is there: its name, 1 if it is slow, how many channels, then the mean of each round
 * in us.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sensor/plugin/plugin.h"
#include "sensor/sensors.h"

static void measure(const struct sensor_ops *ops, const struct sensor_roots *roots, int rounds,
		    int readings)
{
	const struct sensor_channel *channels;
	struct sensor_value *values;
	struct sensor *s = NULL;
	unsigned n;

	if (sensor__open(ops, &s, roots))
		return;
	n = ops->channels(s, &channels);
	values = calloc(n + 1, sizeof(*values));
	if (values && !ops->read(s, values)) {
		printf("%s %d %u", ops->name, ops->slow, n);
		for (int r = 0; r < rounds; r++) {
			uint64_t begin = clock__boot_ns();

			for (int i = 0; i < readings; i++)
				ops->read(s, values);
			printf(" %.3f", (double)(clock__boot_ns() - begin) / readings / 1000);
		}
		printf("\n");
	}
	free(values);
	sensor__close(ops, s);
}

int main(int argc, char **argv)
{
	struct sensor_roots roots = {"/sys", "/proc", "/dev", NULL};
	const struct sensor_ops *const *plugins = NULL;
	char sys[4096], proc[4096], dev[4096], lib[4096];
	int rounds = argc > 1 ? atoi(argv[1]) : 1, readings = argc > 2 ? atoi(argv[2]) : 100, n = 0;

	if (argc > 3 && *argv[3]) {
		snprintf(sys, sizeof(sys), "%s/sys", argv[3]);
		snprintf(proc, sizeof(proc), "%s/proc", argv[3]);
		snprintf(dev, sizeof(dev), "%s/dev", argv[3]);
		snprintf(lib, sizeof(lib), "%s/lib", argv[3]);
		roots = (struct sensor_roots){sys, proc, dev, lib};
	}
	if (argc > 4)
		n = plugins__load(argv[4], sensor_sources, &plugins);
	for (unsigned i = 0; i < n_sensor_sources; i++)
		measure(sensor_sources[i], &roots, rounds, readings > 0 ? readings : 1);
	for (int i = 0; i < n; i++)
		measure(plugins[i], &roots, rounds, readings > 0 ? readings : 1);
	return 0;
}
