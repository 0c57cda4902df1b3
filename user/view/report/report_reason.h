/* SPDX-License-Identifier: GPL-2.0-only */
/* Words for why an analysis has no result. */
#ifndef JP_VIEW_REPORT_REASON_H
#define JP_VIEW_REPORT_REASON_H

#include "analysis/status.h"

/* "it is shorter than a bin of 30 s ..."; a reason without words as it is. */
const char *report_reason__words(const struct analysis_verdict *v);

#endif
