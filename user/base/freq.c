// SPDX-License-Identifier: GPL-2.0-only
/* Parses sampling intervals, and says which one counts. */
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

static int find_name(const char *word, size_t len)
{
	for (int i = 0; i < FREQ_N; i++)
		if (strlen(freqs[i].name) == len && !strncasecmp(freqs[i].name, word, len))
			return i;
	return -1;
}

/* One item of the list: NAME=SECONDS, or SECONDS where it is the first. */
static int parse_item(const char *item, bool first, struct freq *f, char *err, size_t errlen)
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
	if (parse_double(value, &s) || (s != 0 && (s < FREQ_MIN || s > FREQ_MAX))) {
		snprintf(err, errlen, "\"%s\": seconds are 0 (off) or %g to %g", item, FREQ_MIN,
			 FREQ_MAX);
		return -EINVAL;
	}
	f->s[name] = s;
	return 0;
}

int freq__parse(const char *text, struct freq *f, char *err, size_t errlen)
{
	struct freq parsed = *f;
	bool first = true;

	for (;;) {
		size_t len = strcspn(text, ",");
		char item[64];
		int ret;

		if (len >= sizeof(item)) {
			snprintf(err, errlen, "an item is longer than %zu characters",
				 sizeof(item) - 1);
			return -EINVAL;
		}
		memcpy(item, text, len);
		item[len] = '\0';
		ret = parse_item(item, first, &parsed, err, errlen);
		if (ret)
			return ret;
		if (!text[len])
			break;
		text += len + 1;
		first = false;
	}
	*f = parsed;
	return 0;
}
