/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes durations as PIKA's tables show them. */
#include "analysis/pika/pika.h"

#include <stdio.h>
#include <string.h>

#define DAY  86400ULL
#define YEAR (365 * DAY)

/* Drops parts of a second. False: the duration is not known, or too large for the number of
 * seconds, and the text is "-". */
static bool whole_seconds(double seconds, unsigned long long *s, char *text)
{
	bool fits = seconds >= 0 && seconds < 9e15;

	*s = fits ? (unsigned long long)seconds : 0;
	if (!fits)
		strcpy(text, "-");
	return fits;
}

void duration_text__long(double seconds, char text[DURATION_TEXT_SIZE])
{
	unsigned long long s;

	if (whole_seconds(seconds, &s, text))
		snprintf(text, DURATION_TEXT_SIZE, "%04lluy %03llud %02llu:%02lluh", s / YEAR,
			 s % YEAR / DAY, s % DAY / 3600, s % 3600 / 60);
}

void duration_text__short(double seconds, char text[DURATION_TEXT_SIZE])
{
	unsigned long long s;

	if (whole_seconds(seconds, &s, text))
		snprintf(text, DURATION_TEXT_SIZE, "%02llud %02llu:%02llu:%02lluh", s / DAY,
			 s % DAY / 3600, s % 3600 / 60, s % 60);
}
