// SPDX-License-Identifier: GPL-2.0-only
/* What the parts of the page share: their units, and numbers as JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/job/facts_fill.h"
#include "base/json.h"
#include "view/report/report_series.h"

const char *const series_unit_names[SERIES_UNITS] = {
	[SERIES_TASKS] = "task",
	[SERIES_NODES] = "node",
	[SERIES_GPUS] = "GPU",
};

struct job_units report_series__units(const struct model_job *j, enum series_unit kind)
{
	const struct job_unit *tasks;
	unsigned n;

	if (kind == SERIES_NODES)
		return job_units__nodes(j);
	if (kind == SERIES_GPUS)
		return job_units__gpus(j);
	tasks = facts__main_tasks(j, &n);
	if (n < 2 && j->nnodes > 1)
		n = 0;
	return (struct job_units){tasks, sizeof(*tasks), n};
}

/* RFC 4648, section 4. The caller frees it; NULL: no memory. */
static char *encode_base64(const unsigned char *in, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((n + 2) / 3 * 4 + 1), *to = text;

	for (size_t i = 0; text && i < n; i += 3) {
		size_t left = n - i;
		uint32_t three = (uint32_t)in[i] << 16;

		three |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
		three |= left > 2 ? in[i + 2] : 0;
		*to++ = digits[three >> 18];
		*to++ = digits[three >> 12 & 63];
		*to++ = left > 1 ? digits[three >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[three & 63] : '=';
	}
	if (text)
		*to = 0;
	return text;
}

json_t *report_series__bytes(const unsigned char *v, size_t n)
{
	char *text = encode_base64(v, n);
	json_t *o = text ? json_string(text) : NULL;

	free(text);
	return o;
}

json_t *report_series__floats(const float *v, size_t n)
{
	return report_series__bytes((const unsigned char *)v, n * sizeof(*v));
}

json_t *report_series__rounded(double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", v);
	return json__number(strtod(text, NULL));
}
