// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses lists of jobs and steps as users write them. */
#include "identity/jobspec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/str.h"
#include "identity/stepname.h"

#define JOB_MAX 0x7ffffffeu /* Slurm's ids have 31 bits at most */

#define DIGITS "0123456789"

/* What is wrong with a number, in the words of sh5util of Slurm 26.05. */
#define EMPTY	  "must not be an empty string"
#define NEGATIVE  "can not be a negative number"
#define NO_NUMBER "includes unexpected non-numeric characters"
#define TOO_LARGE "larger than acceptable range"

/* Takes a decimal number off the front. NULL, or what is wrong with it. */
static const char *take_number(const char **at, uint32_t max, uint32_t *v)
{
	size_t n = strspn(*at, DIGITS);
	char digits[16];

	if (!n)
		return **at == '-' ? NEGATIVE : !**at || **at == '.' ? EMPTY : NO_NUMBER;
	if (n >= sizeof(digits))
		return TOO_LARGE;
	memcpy(digits, *at, n);
	digits[n] = 0;
	*at += n;
	return parse_u32(digits, v) || *v > max ? TOO_LARGE : NULL;
}

static const char *wrong_step(const char *text)
{
	if (!*text || *text == '-')
		return *text ? NEGATIVE : EMPTY;
	return text[strspn(text, DIGITS)] ? NO_NUMBER : TOO_LARGE;
}

static const char *parse_sluid(const char **at, struct jobspec *s)
{
	char text[SLUID_LEN + 1];
	uint64_t id;
	size_t n = strcspn(*at, ".");

	s->kind = JOBSPEC_SLUID;
	if (n != SLUID_LEN)
		return "is invalid";
	memcpy(text, *at, n);
	text[n] = '\0';
	if (sluid__decode(text, &id))
		return "is invalid";
	sluid__encode(id, s->sluid);
	*at += n;
	return NULL;
}

static const char *parse_part(const char **at, struct jobspec *s)
{
	s->kind = *(*at)++ == '_' ? JOBSPEC_ARRAY : JOBSPEC_HET;
	return take_number(at, UINT32_MAX, &s->part);
}

/* NULL, or what is wrong with the word; *part names the part of it that is wrong. */
static const char *parse_word(struct jobspec *s, const char **part)
{
	const char *at = s->text, *reason;

	s->any_step = true;
	*part = *at == 's' ? "SLUID" : "JobID";
	reason = *at == 's' ? parse_sluid(&at, s) : take_number(&at, JOB_MAX, &s->job);
	if (!reason && s->kind == JOBSPEC_JOB && !s->job)
		reason = "can not be zero";
	if (!reason && (*at == '_' || *at == '+')) {
		*part = *at == '_' ? "Job Array ID" : "HetJob component";
		reason = parse_part(&at, s);
	}
	if (!reason && *at == '.') {
		*part = "StepID";
		s->any_step = false;
		return stepname__id(at + 1, &s->step) ? wrong_step(at + 1) : NULL;
	}
	return reason ? reason : *at ? NO_NUMBER : NULL;
}

int jobspec__parse(struct jobspec **out, unsigned *n, const char *text, char *err, size_t errlen)
{
	struct jobspec *list = NULL;
	const char *reason = NULL, *part = "JobID";
	size_t len;

	*n = 0;
	for (const char *at = text;; at += len + 1) {
		len = strcspn(at, ",");
		if (room__grow(&list, *n, 1, sizeof(*list))) {
			free(list);
			return -ENOMEM;
		}
		list[*n] = (struct jobspec){0};
		snprintf(list[*n].text, JOBSPEC_TEXT, "%.*s", (int)(len < 4096 ? len : 4096), at);
		reason = len >= JOBSPEC_TEXT ? TOO_LARGE : parse_word(&list[*n], &part);
		if (reason || !at[len])
			break;
		(*n)++;
	}
	if (reason) {
		snprintf(err, errlen, "\"%s\": %s %s", list[*n].text, part, reason);
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
	return a->kind == b->kind && a->job == b->job && a->part == b->part &&
	       !strcmp(a->sluid, b->sluid);
}
