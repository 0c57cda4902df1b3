/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of metrics. */
#include "base/metrics_text.h"

#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"

void metrics_text__head(struct outbuf *o, const char *name, const char *type, const char *help)
{
	outbuf__str(o, "# HELP jobprof_");
	outbuf__str(o, name);
	outbuf__char(o, ' ');
	outbuf__str(o, help);
	outbuf__str(o, "\n# TYPE jobprof_");
	outbuf__str(o, name);
	outbuf__char(o, ' ');
	outbuf__str(o, type);
	outbuf__char(o, '\n');
}

void metrics_text__label(struct outbuf *o, const char *name, const char *text)
{
	unsigned replaced;
	char *clean = utf8__shown(text, &replaced);

	outbuf__str(o, name);
	outbuf__str(o, "=\"");
	for (const char *p = clean ? clean : ""; *p; p++) {
		if (*p == '"' || *p == '\\')
			outbuf__char(o, '\\');
		outbuf__char(o, *p);
	}
	outbuf__char(o, '"');
	free(clean);
}

void metrics_text__value(struct outbuf *o, double v)
{
	outbuf__char(o, ' ');
	if (v == floor(v) && v >= 0 && v < 9e15)
		outbuf__u64(o, (uint64_t)v);
	else
		outbuf__f6(o, v);
	outbuf__char(o, '\n');
}

void metrics_text__series(struct outbuf *o, const char *name, const char *label, const char *text,
			  double v)
{
	if (isnan(v))
		return;
	outbuf__str(o, "jobprof_");
	outbuf__str(o, name);
	if (*label) {
		outbuf__char(o, '{');
		metrics_text__label(o, label, text);
		outbuf__char(o, '}');
	}
	metrics_text__value(o, v);
}

void metrics_text__one(struct outbuf *o, const char *name, const char *type, const char *help,
		       double v)
{
	if (isnan(v))
		return;
	metrics_text__head(o, name, type, help);
	metrics_text__series(o, name, "", "", v);
}
