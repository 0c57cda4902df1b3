/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Grows arrays by doubling, so that each element is moved less than twice on average. */
#include "base/room.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* The least power of two that is not below n. */
static size_t room_of(size_t n)
{
	return n < 2 ? n : (size_t)1 << (64 - __builtin_clzl(n - 1));
}

int room__grow(void *array, size_t n, size_t more, size_t size)
{
	size_t room;

	if (n > SIZE_MAX / 4 || more > SIZE_MAX / 4)
		return -ENOMEM;
	room = room_of(n);
	return room__make(array, &room, n + more <= room ? 0 : room_of(n + more), size);
}
