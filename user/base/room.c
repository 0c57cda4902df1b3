/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays grow by doubling, so that n elements are moved less than twice each. */
#include "base/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *room__grown(void *array, unsigned n, size_t size)
{
	return n & (n - 1) ? array : realloc(array, (n ? 2 * (size_t)n : 1) * size);
}

int room__make(void *array, size_t *room, size_t n, size_t size)
{
	size_t more = n > 2 * *room ? n : 2 * *room, bytes;
	void *old, *p;

	if (n <= *room)
		return 0;
	if (__builtin_mul_overflow(more, size, &bytes))
		return -ENOMEM;
	memcpy(&old, array, sizeof(old));
	p = realloc(old, bytes);
	if (!p)
		return -ENOMEM;
	memcpy(array, &p, sizeof(p));
	*room = more;
	/* cppcheck-suppress memleak ; the array has it */
	return 0;
}
