/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of a page, with a label and parts; and how numbers are written. */
#ifndef JP_VIEW_LINE_H
#define JP_VIEW_LINE_H

#include <stdio.h>

/* Units of schemas/show.def; U_ANY: as many decimal places as the number needs. */
enum unit { U_COUNT, U_P1, U_P2, U_P3, U_SIZE, U_TIME, U_SI, U_ANY };

#define NUMBER_SIZE 32

/* A number with its unit. Returns buf, or "?" for NaN. */
const char *number__text(double v, enum unit unit, char buf[static NUMBER_SIZE]);

/* A line of parts with commas between, which is broken before the page's edge. It begins zeroed but
 * for out and label; a line without parts is not printed. */
struct line {
	FILE *out;
	const char *label;
	unsigned printed;
	int column;
	char part[160];
};

/* Adds text to the current part, at most 64 bytes of it. */
void line__text(struct line *l, const char *text);
/* Adds a number to the current part; text is a format with one %s for it. */
void line__add(struct line *l, const char *text, double v, enum unit unit);
/* Ends the current part; the next addition begins another one. */
void line__end_part(struct line *l);
void line__end(struct line *l);

#endif
