/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How an analysis ended. Every result of an analysis has this verdict; values that could not be
 * found are NaN.
 */
#ifndef JP_ANALYSIS_STATUS_H
#define JP_ANALYSIS_STATUS_H

enum analysis_status {
	ANALYSIS_OK,
	ANALYSIS_INSUFFICIENT, /* there is too little data */
	ANALYSIS_UNSUITABLE,   /* there is data, to which the method does not apply */
	ANALYSIS_UNAVAILABLE,  /* what the analysis needs was not collected */
	ANALYSIS_NO_MEMORY,    /* there is no memory for the computation */
};

/* "INSUFFICIENT". */
const char *analysis_status__name(enum analysis_status status);

struct analysis_verdict {
	enum analysis_status status;
	const char *reason; /* a constant of few words joined by "_"; "" when OK */
};

/* A threshold that an analysis judges by; the last of an array has no name. */
struct analysis_param {
	const char *name;
	double value;
};

#endif
