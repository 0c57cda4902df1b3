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

/* ---- ranges */

/* "7" or "7-9". False: it is neither, or has too many. */
static bool take_range(const char **at, uint32_t *from, uint32_t *to)
{
	if (take_number(at, UINT32_MAX, from))
		return false;
	*to = *from;
	if (**at == '-') {
		(*at)++;
		if (take_number(at, UINT32_MAX, to))
			return false;
	}
	return *from <= *to && *to - *from < JOBSPEC_RANGE;
}

static void put_word(FILE *out, unsigned *n, const char *before, uint32_t number)
{
	fprintf(out, "%s%s%u", (*n)++ ? "," : "", before, number);
}

/* "7-9", or "7_[1-2,5]". False: it is none of these; what was written is part of a wrong list. */
static bool put_range(FILE *out, unsigned *n, const char *word)
{
	char before[JOBSPEC_TEXT] = "";
	const size_t digits = strspn(word, DIGITS);
	const char *at = word, *end = word + strlen(word);
	uint32_t from, to;

	if (digits && digits < 16 && word[digits] == '_' && word[digits + 1] == '[') {
		snprintf(before, sizeof(before), "%.*s_", (int)digits, word);
		at += digits + 2;
		end--; /* the bracket */
	} else if (word[digits] != '-') {
		return false;
	}
	do {
		if (!take_range(&at, &from, &to) || *n > JOBSPEC_RANGE)
			return false;
		for (uint32_t k = 0; k <= to - from; k++)
			put_word(out, n, before, from + k);
	} while (*before && *at == ',' && at++);
	return at == end && (!*before || *end == ']');
}

int jobspec__expand(char **out, const char *text)
{
	char *list = NULL, word[1024];
	unsigned n = 0;
	size_t size, len;
	FILE *f = open_memstream(&list, &size);

	*out = NULL;
	if (!f)
		return -ENOMEM;
	for (const char *at = text;; at += len + 1) {
		len = strcspn(at, ",[");
		if (at[len] == '[') /* commas inside of brackets are the word's */
			len += strcspn(at + len, "]");
		len += strcspn(at + len, ",");
		snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : 0), at);
		if (len >= sizeof(word) || !put_range(f, &n, word))
			fprintf(f, "%s%.*s", n++ ? "," : "", (int)(len < 4096 ? len : 4096), at);
		if (!at[len] || n > JOBSPEC_RANGE)
			break;
	}
	if (fclose(f)) {
		free(list);
		return -ENOMEM;
	}
	if (n > JOBSPEC_RANGE) {
		free(list);
		return -E2BIG;
	}
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
