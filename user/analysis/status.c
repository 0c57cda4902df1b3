/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the ways in which an analysis can end. */
#include "analysis/status.h"

const char *analysis_status__name(enum analysis_status status)
{
	static const char *const names[] = {
		[ANALYSIS_OK] = "OK",
		[ANALYSIS_INSUFFICIENT] = "INSUFFICIENT",
		[ANALYSIS_UNSUITABLE] = "UNSUITABLE",
		[ANALYSIS_UNAVAILABLE] = "UNAVAILABLE",
		[ANALYSIS_NO_MEMORY] = "NO_MEMORY",
	};

	return names[status];
}
