/* SPDX-License-Identifier: GPL-2.0-only */
#include "job/jobspec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "job/stepname.h"

#define JOB_MAX 0x7ffffffeu /* Slurm's ids have 31 bits at most */

/* Takes a decimal number off the front. */
static int take_number(const char **at, uint32_t *v)
{
	size_t n = strspn(*at, "0123456789");
	char digits[16];

	if (!n || n >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, *at, n);
	digits[n] = 0;
	*at += n;
	return parse_u32(digits, v) ? -EINVAL : 0;
}

static const char *parse_step(const char *text, struct jobspec *s)
{
	s->any_step = false;
	return stepname__id(text, &s->step) ? "the step is a number, batch, extern or interactive"
					    : NULL;
}

/* NULL, or what is wrong with the word. */
static const char *parse_word(struct jobspec *s)
{
	const char *at = s->text;

	s->any_step = true;
	if (take_number(&at, &s->job) || !s->job || s->job > JOB_MAX)
		return "a job is a number from 1 on";
	if (*at == '_' || *at == '+') {
		s->kind = *at++ == '_' ? JOBSPEC_ARRAY : JOBSPEC_HET;
		if (take_number(&at, &s->part))
			return s->kind == JOBSPEC_ARRAY
				       ? "after \"_\" comes the number of an array's task"
				       : "after \"+\" comes the offset of a component";
	}
	if (*at == '.')
		return parse_step(at + 1, s);
	return *at ? "a job is JOB, ARRAY_TASK or HETJOB+OFFSET, and may have .STEP" : NULL;
}

int jobspec__parse(struct jobspec **out, unsigned *n, const char *text, char *err, size_t errlen)
{
	struct jobspec *list = NULL, *more;
	const char *why = NULL;
	size_t len;

	*n = 0;
	for (const char *at = text;; at += len + 1) {
		len = strcspn(at, ",");
		more = realloc(list, (*n + 1) * sizeof(*list));
		if (!more) {
			free(list);
			return -ENOMEM;
		}
		list = more;
		list[*n] = (struct jobspec){0};
		snprintf(list[*n].text, JOBSPEC_TEXT, "%.*s", (int)(len < 4096 ? len : 4096), at);
		why = len >= JOBSPEC_TEXT ? "too long" : parse_word(&list[*n]);
		if (why || !at[len])
			break;
		(*n)++;
	}
	if (why) {
		snprintf(err, errlen, "\"%s\" is no job: %s", list[*n].text, why);
		free(list);
		return -EINVAL;
	}
	(*n)++;
	*out = list;
	return 0;
}

bool jobspec__has_step(const struct jobspec *s, const char *step)
{
	uint32_t id;

	return s->any_step || (!stepname__id(step, &id) && id == s->step);
}

bool jobspec__same_job(const struct jobspec *a, const struct jobspec *b)
{
	return a->kind == b->kind && a->job == b->job && a->part == b->part;
}
