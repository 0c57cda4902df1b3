// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of steps that have a name, and the spellings of all steps. */
#include "identity/stepname.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "identity/layout.h"

static const struct {
	uint32_t id;
	const char *human, *group;
	const char *spellings[3]; /* other than those two */
} special[] = {
	{STEP_BATCH, "batch", "batch", {"4294967291", "-5"}},
	{STEP_EXTERN, "extern", "-4", {"4294967292"}},
	{STEP_INTERACTIVE, "interactive", "-6", {"4294967290"}},
	{STEP_PENDING, "TBD", "-3", {"4294967293"}},
};

#define N_SPECIAL ((int)(sizeof(special) / sizeof(special[0])))

static int find_special(const char *name)
{
	for (int i = 0; i < N_SPECIAL; i++) {
		if (!strcmp(name, special[i].human) || !strcmp(name, special[i].group))
			return i;
		for (unsigned k = 0; k < 3 && special[i].spellings[k]; k++)
			if (!strcmp(name, special[i].spellings[k]))
				return i;
	}
	return -1;
}

int stepname__id(const char *name, uint32_t *id)
{
	int i = find_special(name);

	if (i < 0)
		return layout__number(name, STEP_MAX_NORMAL, id);
	*id = special[i].id;
	return 0;
}

const char *stepname__human(const char *name)
{
	int i = find_special(name);

	return i < 0 ? name : special[i].human;
}

const char *stepname__group(const char *name)
{
	int i = find_special(name);

	return i < 0 ? name : special[i].group;
}

int stepname__cmp(const char *a, const char *b)
{
	uint32_t x, y;
	bool na = !stepname__id(a, &x), nb = !stepname__id(b, &y);

	if (na != nb)
		return na ? -1 : 1;
	if (!na)
		return strcmp(a, b);
	return x < y ? -1 : x > y;
}
