// SPDX-License-Identifier: GPL-2.0-only
/* Names of the kernel's functions, from /proc/kallsyms. */
#include "identity/kallsyms.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
	uint64_t addr;
	uint32_t name; /* in names */
};

static struct {
	struct symbol *v;
	size_t n, max;
	char *names;
	size_t len, cap;
	bool read;
} all;

static bool add(uint64_t addr, const char *name)
{
	size_t len = strlen(name) + 1;

	if (all.n == all.max) {
		size_t max = all.max ? 2 * all.max : 1 << 16;
		struct symbol *v = realloc(all.v, max * sizeof(*v));

		if (!v)
			return false;
		all.v = v;
		all.max = max;
	}
	if (all.len + len > all.cap) {
		size_t cap = all.cap ? 2 * all.cap : 1 << 21;
		char *names = realloc(all.names, cap);

		if (!names)
			return false;
		all.names = names;
		all.cap = cap;
	}
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

static void read_all(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[512], type;
	uint64_t addr;

	all.read = true;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %c %511s", &addr, &type, name) == 3 && addr &&
		    strchr("tTwW", type) && !add(addr, name))
			break;
	if (f)
		fclose(f);
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_addr);
}

const char *kallsyms__name(uint64_t addr)
{
	size_t from = 0, to;

	if (!all.read)
		read_all();
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
