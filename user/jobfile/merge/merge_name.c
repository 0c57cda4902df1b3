/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a node-step file's name: job, step and node. */
#include "jobfile/merge/merge_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define DIGITS "0123456789"

/* A number as Slurm writes it: no leading zero. */
static bool take_number(const char **at, char *to, size_t size)
{
	size_t n = strspn(*at, DIGITS);

	if (!n || n >= size || (n > 1 && **at == '0'))
		return false;
	memcpy(to, *at, n);
	to[n] = 0;
	*at += n;
	return true;
}

static bool take_step(const char **at, struct merge_name *m)
{
	uint32_t step;

	if (str__starts(*at, "batch_")) {
		memcpy(m->step, "batch", 6);
		*at += 5;
		return true;
	}
	return take_number(at, m->step, sizeof(m->step)) && !parse_u32(m->step, &step);
}

/* sh5util ends the node's name at the first ".h5". */
static bool take_node(const char *at, struct merge_name *m)
{
	const char *end = strstr(at, ".h5");
	size_t n = end ? (size_t)(end - at) : 0;

	if (!n || end[3] || n >= sizeof(m->node))
		return false;
	memcpy(m->node, at, n);
	m->node[n] = 0;
	return str__safe_name(m->node);
}

enum merge_name_kind merge_name__parse(const char *name, struct merge_name *m)
{
	bool dot = *name == '.';
	const char *at = name + dot;
	char job[16];

	*m = (struct merge_name){0};
	if (!take_number(&at, job, sizeof(job)) || parse_u32(job, &m->job) || *at != '_')
		return NAME_OTHER;
	at++;
	if (take_step(&at, m) && *at == '_' && take_node(at + 1, m))
		return dot ? NAME_RUNNING : NAME_FILE;
	return dot ? NAME_OTHER : NAME_FOREIGN;
}
