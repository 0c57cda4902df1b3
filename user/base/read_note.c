/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The note of what this process is reading, and its clock of processor time for one file. */
#include "base/read_note.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "base/log.h"

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

/* FNV-1a, on from h. */
static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static bool add_doubt(struct read_doubts *d, uint64_t table, uint64_t rows)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->of[i].table == table)
			return false;
	if (d->n == READ_DOUBTS) {
		d->more = 1;
		return false;
	}
	d->of[d->n++] = (struct read_doubt){table, rows};
	return true;
}

static void add_file(struct read_doubts *d, const char *file)
{
	if (!*d->file)
		snprintf(d->file, sizeof(d->file), "%s", file);
	else if (strncmp(d->file, file, sizeof(d->file) - 1))
		d->other_files = true;
}

bool read_note__doubt(uint64_t rows)
{
	uint64_t table =
		hash_text(hash_text(UINT64_C(0xcbf29ce484222325), note->file), note->object);
	bool is_new = add_doubt(&note->doubts, table, rows);

	if (is_new)
		add_file(&note->doubts, note->file);
	return is_new;
}

static void add_column(struct read_doubts *d, const char *name, size_t len)
{
	size_t at = strlen(d->columns);

	if (!len)
		return;
	for (const char *p = d->columns; (p = memmem(p, strlen(p), name, len)); p++)
		if ((p == d->columns || p[-1] == ' ') && (!p[len] || p[len] == ','))
			return;
	if (at + len + 3 < sizeof(d->columns))
		snprintf(d->columns + at, sizeof(d->columns) - at, "%s%.*s", at ? ", " : "",
			 (int)len, name);
}

void read_note__doubt_column(const char *name)
{
	add_column(&note->doubts, name, strlen(name));
}

/* The child may have written anything there. */
void read_note__join(const struct read_note *of_child)
{
	struct read_doubts from = of_child->doubts, *to = &note->doubts;
	unsigned before = to->n;

	from.file[sizeof(from.file) - 1] = from.columns[sizeof(from.columns) - 1] = 0;
	for (unsigned i = 0; i < from.n && i < READ_DOUBTS; i++)
		add_doubt(to, from.of[i].table, from.of[i].rows);
	to->more |= from.more;
	if (to->n == before && !from.more)
		return;
	add_file(to, from.file);
	to->other_files |= from.other_files;
	for (const char *name = from.columns; *name;) {
		size_t len = strcspn(name, ",");

		add_column(to, name, len);
		name += len + strspn(name + len, ", ");
	}
}

void read_note__say_doubts(void)
{
	const struct read_doubts *d = &note->doubts;
	uint64_t rows = 0;

	for (unsigned i = 0; i < d->n; i++)
		rows += d->of[i].rows;
	if (!rows)
		return;
	log_warn("%s%s: %s%" PRIu64 " row%s of Slurm's own tables with values that cannot be (%s): "
		 "they are not known",
		 d->file, d->other_files ? " and others" : "", d->more ? "more than " : "", rows,
		 rows == 1 ? "" : "s", d->columns);
}
