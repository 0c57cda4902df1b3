/* SPDX-License-Identifier: GPL-2.0-only */
/* The note of what this process is reading, and its clock of processor time for one file. */
#include "base/read_note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#define BYTES_PER_SECOND (256u << 10)
#define SECONDS_MAX	 1000000u

static struct read_note of_first_process;
static struct read_note *note = &of_first_process;

/* SIGPROF ends a process that has no handler for it. 0 stops the clock. */
static void start_clock(unsigned seconds)
{
	struct itimerval t = {.it_value = {seconds, 0}};

	setitimer(ITIMER_PROF, &t, NULL);
}

void read_note__keep_in(struct read_note *n)
{
	note = n;
	start_clock(n->seconds + n->seconds_more);
}

uint64_t read_note__file_bytes(const struct stat *st)
{
	const uint64_t stored = (uint64_t)st->st_blocks * 512, size = (uint64_t)st->st_size;

	if (!S_ISREG(st->st_mode))
		return 0;
	return stored < size ? stored : size;
}

void read_note__file_of(const char *path, uint64_t bytes)
{
	const uint64_t more = bytes / BYTES_PER_SECOND;

	snprintf(note->file, sizeof(note->file), "%s", path);
	note->object[0] = 0;
	note->seconds_more = (unsigned)(more < SECONDS_MAX ? more : SECONDS_MAX);
	if (note->seconds)
		start_clock(note->seconds + note->seconds_more);
}

void read_note__file(const char *path)
{
	struct stat st;

	read_note__file_of(path, stat(path, &st) ? 0 : read_note__file_bytes(&st));
}

void read_note__object(const char *fmt, ...)
{
	static const char end[] = ": ";
	size_t room = sizeof(note->object) - sizeof(end);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(note->object, room, fmt, ap);
	va_end(ap);
	n = n < 0 ? 0 : (size_t)n < room ? n : (int)room - 1;
	memcpy(note->object + n, end, sizeof(end));
}

const char *read_note__get_object(void)
{
	return note->object;
}
