// SPDX-License-Identifier: GPL-2.0-or-later
/* What the two vendors' libraries share: channels, functions found by name, lists of the processes
 * that use a GPU. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "sensor/core/file.h"
#include "sensor/gpu/gpu_internal.h"

struct sensor_channel gpu__channel(unsigned gpu, const struct gpu_kind *kind)
{
	struct sensor_channel c;
	char name[SENSOR_NAME];

	snprintf(name, sizeof(name), "gpu-%u %s", gpu, kind->name);
	c = sensor__channel(name);
	snprintf(c.unit, sizeof(c.unit), "%s", kind->unit);
	snprintf(c.series, sizeof(c.series), "GPU/%u", gpu);
	snprintf(c.column, sizeof(c.column), "%s", kind->column);
	c.part = PART_GPU;
	c.index = (int)gpu;
	c.quantity = kind->quantity;
	c.step = kind->scale;
	return c;
}

int gpu__find_functions(void *api, void *library, const struct gpu_function *f, size_t n)
{
	for (; n--; f++) {
		void *p = NULL;

		for (unsigned k = 0; k < 3 && f->name[k] && !p; k++)
			p = dlsym(library, f->name[k]);
		if (!p && f->needed)
			return -ELIBBAD;
		memcpy((char *)api + f->offset, &p, sizeof(p));
	}
	return 0;
}

int gpu__errno(const struct gpu_error *table, size_t n, int code)
{
	for (; n--; table++)
		if (table->code == code)
			return table->err;
	return -EIO;
}

int gpu_uses__add(struct gpu_uses *u, const struct gpu_use *use)
{
	if (u->n == GPU_USE_MAX)
		return -E2BIG;
	if (room__make(&u->use, &u->room, u->n + 1u, sizeof(*u->use)))
		return -ENOMEM;
	u->use[u->n++] = *use;
	return 0;
}
