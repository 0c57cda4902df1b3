/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a page, and numbers with their units. */
#include "view/line.h"

#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "view/page.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const char *scale_unit(double v, double step, double enough, const char *const *units,
			      unsigned n, char buf[static NUMBER_SIZE])
{
	unsigned u = 0;

	for (; v >= enough && u + 1 < n; u++)
		v /= step;
	snprintf(buf, NUMBER_SIZE, "%.*g%s", v < 999.5 ? 3 : 4, v, units[u]);
	return buf;
}

static const char *size_text(double mb, char buf[static NUMBER_SIZE])
{
	static const char *const units[] = {" B", " KiB"};

	if (mb < 1)
		return scale_unit(mb * 1048576, 1024, 1000, units, N(units), buf);
	snprintf(buf, NUMBER_SIZE, "%.1f MiB", mb);
	return buf;
}

const char *number__text(double v, enum unit unit, char buf[static NUMBER_SIZE])
{
	static const char *const si[] = {"", " k", " M", " G", " T"};
	static const char *const times[] = {" ns", " us", " ms", " s"};

	if (isnan(v))
		return "?";
	switch (unit) {
	case U_SIZE:
		return size_text(v, buf);
	case U_TIME:
		return scale_unit(v * 1e9, 1000, 999.5, times, N(times), buf);
	case U_SI:
		return scale_unit(v, 1000, 999.5, si, N(si), buf);
	case U_ANY:
		snprintf(buf, NUMBER_SIZE, fabs(v) >= 1e4 && fabs(v) < 1e15 ? "%.0f" : "%.4g", v);
		return buf;
	default:
		snprintf(buf, NUMBER_SIZE, "%.*f", (int)(unit - U_COUNT), v);
		return buf;
	}
}

void line__end_part(struct line *l)
{
	int len = strlen(l->part);

	if (!len)
		return;
	if (!l->printed++) {
		fprintf(l->out, "  %-*s", PAGE_LABEL - 2, l->label);
		l->column = PAGE_LABEL;
	} else if (l->column + 3 + len > PAGE_WIDTH) {
		fprintf(l->out, ",\n%*s", PAGE_LABEL, "");
		l->column = PAGE_LABEL;
	} else {
		l->column += fprintf(l->out, ", ");
	}
	print__escaped(l->out, l->part);
	l->column += len;
	l->part[0] = 0;
}

void line__text(struct line *l, const char *text)
{
	size_t len = strlen(l->part);

	snprintf(l->part + len, sizeof(l->part) - len, "%.64s", text);
}

void line__add(struct line *l, const char *text, double v, enum unit unit)
{
	size_t len = strlen(l->part), end;
	char number[NUMBER_SIZE];

	snprintf(l->part + len, sizeof(l->part) - len, text, number__text(v, unit, number));
	end = strlen(l->part);
	if (unit == U_COUNT && v >= 0.5 && v < 1.5 && end && l->part[end - 1] == 's')
		l->part[end - 1] = 0;
}

void line__end(struct line *l)
{
	line__end_part(l);
	if (l->printed)
		putc('\n', l->out);
}
