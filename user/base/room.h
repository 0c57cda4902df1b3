/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Room in an array that grows. */
#ifndef JP_BASE_ROOM_H
#define JP_BASE_ROOM_H

#include <stddef.h>

/* Makes room for n elements of `size` bytes in an array which has room for *room of them: at least
 * twice as many as before, where these were too few. array: the address of the pointer to its
 * first element. 0; -ENOMEM, and the array is as it was. */
int room__make(void *array, size_t *room, size_t n, size_t size);
/* Makes room for `more` elements behind the n of an array that has grown by this function only: its
 * room is the next power of two from n on. array: as above. 0; -ENOMEM, and the array is as it was.
 */
int room__grow(void *array, size_t n, size_t more, size_t size);

#endif
