// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the events of PMUs, and reads the scales that sysfs has for them. */
#include "sensor/core/event.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

static int kernel_event(struct perf_event_attr *attr, int cpu, int group_fd)
{
	long fd = syscall(SYS_perf_event_open, attr, -1, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

sensor_event_open_fn *sensor_event_open = kernel_event;

bool sensor_event__may_open(const struct sensor_roots *roots)
{
	return sensor_event_open != kernel_event || !strcmp(roots->sys, "/sys");
}

int sensor_event__scale(const char *text, double *scale)
{
	size_t len = strcspn(text, "eE");
	uint32_t exponent = 0;
	char number[64];

	if (len >= sizeof(number) ||
	    (text[len] &&
	     (text[len + 1] != '-' || parse_u32(text + len + 2, &exponent) || exponent > 300)))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	if (parse_double(number, scale))
		return -EINVAL;
	*scale /= pow(10, exponent);
	return *scale > 0 ? 0 : -EINVAL;
}
