// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses sampling intervals, and finds the one that applies. */
#include "base/freq.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

static const struct {
	const char *name;
	double initial; /* as in struct freq */
} freqs[FREQ_N] = {
	[FREQ_TASK] = {"task", 30},
	[FREQ_ENERGY] = {"energy", -1},
	[FREQ_FILESYSTEM] = {"filesystem", -1},
	[FREQ_NETWORK] = {"network", -1},
	[FREQ_STEP] = {"step", -1},
	[FREQ_LATENCY] = {"latency", -1},
};

void freq__init(struct freq *f)
{
	for (unsigned i = 0; i < FREQ_N; i++)
		f->s[i] = freqs[i].initial;
}

const char *freq__name(enum freq_name name)
{
	return freqs[name].name;
}

double freq__interval(const struct freq *f, enum freq_name name)
{
	if (f->s[name] >= 0)
		return f->s[name];
	return freqs[name].initial < 0 ? f->s[FREQ_TASK] : 0;
}

bool freq__at_end(const struct freq *f, enum freq_name name)
{
	return freq__interval(f, name) == 0 && (name == FREQ_TASK || f->s[name] < 0);
}

static int find_name(const char *word, size_t len)
{
	for (int i = 0; i < FREQ_N; i++)
		if (strlen(freqs[i].name) == len && !strncasecmp(freqs[i].name, word, len))
			return i;
	return -1;
}

/* The number at the beginning of a value, as Slurm takes it. */
static int parse_digits(const char *value, double *s)
{
	char digits[16] = "";
	size_t len = strspn(value, "0123456789");

	if (len && len < sizeof(digits))
		memcpy(digits, value, len);
	return parse_double(digits, s);
}

/* One item of the list: NAME=SECONDS, or SECONDS where it is the first. */
static int parse_item(const char *item, bool first, bool slurms, struct freq *f, char *err,
		      size_t errlen)
{
	const char *eq = strchr(item, '='), *value = eq ? eq + 1 : item;
	int name = FREQ_TASK;
	double s;

	if (eq)
		name = find_name(item, (size_t)(eq - item));
	if (name < 0 || (!eq && !first)) {
		snprintf(err, errlen,
			 "\"%s\" is not NAME=SECONDS with a name of task, energy, filesystem, "
			 "network, step or latency",
			 item);
		return -EINVAL;
	}
	if ((parse_double(value, &s) && (!slurms || parse_digits(value, &s))) ||
	    (s != 0 && (s < FREQ_MIN || s > FREQ_MAX))) {
		snprintf(err, errlen, "\"%s\": seconds are 0 (off) or %g to %g", item, FREQ_MIN,
			 FREQ_MAX);
		return -EINVAL;
	}
	f->s[name] = s;
	return 0;
}

/* All that is wrong is in err. slurms: it is passed over. */
static int parse_list(const char *text, bool slurms, struct freq *f, char *err, size_t errlen)
{
	char item[64], reason[256];
	unsigned taken = 0, items = 0;
	struct freq parsed = *f;

	err[0] = '\0';
	for (; *text; text += *text == ',') {
		size_t len = strcspn(text, ",");

		snprintf(item, sizeof(item), "%.*s", (int)len, text);
		text += len;
		if (!len)
			continue;
		items++;
		if (len >= sizeof(item))
			snprintf(reason, sizeof(reason), "an item is longer than %zu characters",
				 sizeof(item) - 1);
		else if (!parse_item(item, items == 1, slurms, &parsed, reason, sizeof(reason)))
			reason[0] = '\0';
		taken += !reason[0];
		str__add_reason(err, errlen, reason);
	}
	if (!items)
		str__add_reason(err, errlen, "there is no number");
	if (!taken || (taken < items && !slurms))
		return -EINVAL;
	*f = parsed;
	return 0;
}

int freq__parse(const char *text, struct freq *f, char *err, size_t errlen)
{
	return parse_list(text, false, f, err, errlen);
}

int freq__parse_slurms(const char *text, struct freq *f, char *err, size_t errlen)
{
	return parse_list(text, true, f, err, errlen);
}
