// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the kernel's functions, from /proc/kallsyms. */
#include "identity/kallsyms.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"

struct symbol {
	uint64_t addr;
	uint32_t name; /* in names */
};

static struct {
	struct symbol *v;
	size_t n;
	char *names;
	size_t len;
	pthread_t reader;
	enum { NOT_READ, READING, READ } state;
} all;

static bool add_symbol(uint64_t addr, const char *name)
{
	size_t len = strlen(name) + 1;

	if (room__grow(&all.v, all.n, 1, sizeof(*all.v)) || room__grow(&all.names, all.len, len, 1))
		return false;
	memcpy(all.names + all.len, name, len);
	all.v[all.n++] = (struct symbol){addr, (uint32_t)all.len};
	all.len += len;
	return true;
}

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void *read_all(void *unused)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[512], type;
	uint64_t addr;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %c %511s", &addr, &type, name) == 3 && addr &&
		    strchr("tTwW", type) && !add_symbol(addr, name))
			break;
	if (f)
		fclose(f);
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_addr);
	return NULL;
}

void kallsyms__prepare(void)
{
	sigset_t every, before;

	if (all.state != NOT_READ)
		return;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	if (!pthread_create(&all.reader, NULL, read_all, NULL))
		all.state = READING;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

const char *kallsyms__name(uint64_t addr)
{
	size_t from = 0, to;

	if (all.state == NOT_READ)
		read_all(NULL);
	else if (all.state == READING)
		pthread_join(all.reader, NULL);
	all.state = READ;
	to = all.n;
	while (from < to) {
		size_t mid = (from + to) / 2;

		if (all.v[mid].addr <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from ? all.names + all.v[from - 1].name : NULL;
}
