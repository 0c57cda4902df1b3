/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics in the text format that Prometheus reads; names come without the "jobprof_" of all. */
#ifndef JP_BASE_METRICS_TEXT_H
#define JP_BASE_METRICS_TEXT_H

#include "base/outbuf.h"

/* The lines before the series of a metric; type: "counter" or "gauge". */
void metrics_text__head(struct outbuf *o, const char *name, const char *type, const char *help);
/* NAME="TEXT" of a series, where the text may be anything. */
void metrics_text__label(struct outbuf *o, const char *name, const char *text);
/* The value, and the end of the line. */
void metrics_text__value(struct outbuf *o, double v);
/* A whole line, with one label, or with "" none; nothing where v is not known. */
void metrics_text__series(struct outbuf *o, const char *name, const char *label, const char *text,
			  double v);
/* The head, and the one series of a metric without labels; nothing where v is not known. */
void metrics_text__one(struct outbuf *o, const char *name, const char *type, const char *help,
		       double v);

#endif
