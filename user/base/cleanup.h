/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables whose resource is released when the variable leaves its scope. */
#ifndef JP_BASE_CLEANUP_H
#define JP_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup__free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup__close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup__fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup__closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Each variable must be initialised: NULL, or -1 for a file descriptor. */
#define _cleanup_free_	   __attribute__((cleanup(cleanup__free)))
#define _cleanup_close_	   __attribute__((cleanup(cleanup__close)))
#define _cleanup_fclose_   __attribute__((cleanup(cleanup__fclose)))
#define _cleanup_closedir_ __attribute__((cleanup(cleanup__closedir)))

#endif
