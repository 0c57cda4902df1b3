/* SPDX-License-Identifier: GPL-2.0-only */
/* Axes of a plot: which part of the values is shown, in which unit, with which ticks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/escape.h"
#include "view/plot/plot.h"

#define NARROW 0.2   /* where values differ by less, the axis does not begin at 0 */
#define EMPTY  0.25  /* of the values' range */
#define MARGIN 0.03  /* the same */
#define MOST   1e290 /* differences and units of greater values may overflow */

#define LABEL_TAIL 20 /* of a label that is cut: the job and its step */

/* ---- units */

static const struct {
	const char *unit;
	double factor;
	const char *base; /* what factor units of it are */
} bases[] = {
	{"KiB", 1024, "B"}, {"MiB", 1048576, "B"}, {"MB", 1048576, "B"}, /* of files of earlier
									    releases */
	{"kHz", 1e3, "Hz"}, {"MHz", 1e6, "Hz"},	   {"ns", 1e-9, "s"},	 {"us", 1e-6, "s"},
};

static const struct {
	double factor;
	const char *prefix;
	int power;
} prefixes[] = {
	{1e-9, "n", -9}, {1e-6, "u", -6}, {1e-3, "m", -3}, {1, "", 0},	    {1e3, "k", 3},
	{1e6, "M", 6},	 {1e9, "G", 9},	  {1e12, "T", 12}, {1e15, "P", 15},
};

#define N(a) (sizeof(a) / sizeof(*(a)))

static void scale_bytes(struct plot_axis *a, double max)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	unsigned i = 0;

	for (; i + 1 < N(units) && max * a->factor >= 1000; i++)
		a->factor /= 1024;
	snprintf(a->unit, sizeof(a->unit), "%s", units[i]);
}

/* Percent and degrees have no prefixes, and neither does what has one already. */
static bool takes_prefix(const char *unit)
{
	return !strcmp(unit, "Hz") || !strcmp(unit, "s") || !strcmp(unit, "J") ||
	       !strcmp(unit, "W") || !*unit;
}

static void scale_si(struct plot_axis *a, const char *unit, double max)
{
	size_t i = 3;

	max *= a->factor;
	if (takes_prefix(unit) && max > 0 && (max >= 1e4 || max < 0.1 || !strcmp(unit, "Hz")))
		for (i = 0; i + 1 < N(prefixes) && max >= prefixes[i + 1].factor; i++)
			;
	a->factor /= prefixes[i].factor;
	if (*unit || !prefixes[i].power)
		snprintf(a->unit, sizeof(a->unit), "%s%s", prefixes[i].prefix, unit);
	else
		snprintf(a->unit, sizeof(a->unit), "10^%d", prefixes[i].power);
}

static void put_unit(struct plot_axis *a, const struct curve *c, double max)
{
	const char *unit = c->unit;
	size_t len;

	a->factor = 1;
	for (size_t i = 0; i < N(bases); i++)
		if (!strcmp(unit, bases[i].unit)) {
			a->factor = bases[i].factor;
			unit = bases[i].base;
			break;
		}
	if (!strcmp(unit, "B"))
		scale_bytes(a, max);
	else
		scale_si(a, unit, max);
	len = strlen(a->unit);
	if (c->is_rate)
		snprintf(a->unit + len, sizeof(a->unit) - len, "%s", len ? "/s" : "1/s");
}

/* ---- ticks */

/* The least of 1, 2, 5, 10 ... that makes at most so many of span. */
static double nice_step(double span, unsigned ticks)
{
	double least = span / (ticks ? ticks : 1), power = pow(10, floor(log10(least)));

	for (int i = 0; i < 3; i++) {
		static const double nice[] = {1, 2, 5};

		if (nice[i] * power >= least * (1 - 1e-9))
			return nice[i] * power;
	}
	return 10 * power;
}

static void add_range(const struct curve *c, double *low, double *high)
{
	for (unsigned i = 0; i < c->n; i++) {
		*low = fmin(*low, fmin(c->low[i], c->middle[i]));
		*high = fmax(*high, fmax(c->high[i], c->middle[i]));
	}
}

struct plot_axis plot_axis__of_values(const struct plot *p, unsigned ticks)
{
	struct plot_axis a = {.factor = 1};
	double low = NAN, high = NAN, step;

	for (unsigned i = 0; i < p->n; i++)
		add_range(p->curves[i].curve, &low, &high);
	if (isnan(low))
		low = high = 0;
	low = fmax(fmin(low, MOST), -MOST);
	high = fmax(fmin(high, MOST), -MOST);
	if (low > 0 && (high - low > NARROW * high || high == low))
		low = 0;
	if (high < 0 && (high - low > -NARROW * low || high == low))
		high = 0;
	if (high == low)
		high = low + 1;
	put_unit(&a, p->curves[0].curve, fmax(fabs(low), fabs(high)));
	a.step = step = nice_step((high - low) * a.factor, ticks);
	a.low = floor(low * a.factor / step + 1e-9) * step / a.factor;
	a.high = ceil(high * a.factor / step - 1e-9) * step / a.factor;
	/* Up to a tick, unless a large part of the axis were empty. */
	if (low - a.low > EMPTY * (high - low))
		a.low = low - MARGIN * (high - low);
	if (a.high - high > EMPTY * (high - low))
		a.high = high + MARGIN * (high - low);
	if (!(a.high > a.low)) { /* they differ by less than the ticks' rounding */
		a.low = low;
		a.high = high;
	}
	return a;
}

struct plot_axis plot_axis__of_time(const struct plot *p, unsigned ticks)
{
	static const struct {
		double up_to, s;
		const char *name;
		double steps[8];
	} units[] = {
		{180, 1, "s", {0}},
		{3 * 3600, 60, "min", {1, 2, 5, 10, 15, 20, 30, 60}},
		{3 * 86400, 3600, "h", {1, 2, 3, 4, 6, 12, 24}},
		{INFINITY, 86400, "days", {0}},
	};
	struct plot_axis a = {.low = 0};
	unsigned i = 0;

	for (unsigned k = 0; k < p->n; k++) {
		const struct curve *c = p->curves[k].curve;

		a.high = fmax(a.high, c->n ? c->end_s[c->n - 1] : 0);
	}
	while (a.high > units[i].up_to)
		i++;
	a.factor = 1 / units[i].s;
	snprintf(a.unit, sizeof(a.unit), "%s", units[i].name);
	a.step = nice_step(a.high * a.factor, ticks);
	for (int k = 7; k >= 0; k--)
		if (units[i].steps[k] * ticks >= a.high * a.factor)
			a.step = units[i].steps[k];
	return a;
}

bool plot_axis__tick(const struct plot_axis *a, unsigned k, double *at, char label[static 32])
{
	double first = ceil(a->low * a->factor / a->step - 1e-9), v = (first + k) * a->step;
	int places = (int)ceil(-log10(a->step) - 1e-9);

	*at = v / a->factor;
	if (!(*at <= a->high + 1e-9 * fabs(a->high - a->low)))
		return false;
	if (fabs(v) < 1e-9 * a->step)
		v = 0;
	if (fabs(v) < 1e6)
		snprintf(label, 32, "%.*f", places < 0 ? 0 : places > 9 ? 9 : places, v);
	else
		snprintf(label, 32, "%.6g", v);
	return true;
}

/* ---- words */

/* Printable ASCII, all else as \xNN; of what is cut the begin and the last `tail` characters are
 * there, and ".." between. */
static void put_name(char *text, size_t size, const char *name, size_t tail)
{
	char *all = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&all, &len);

	*text = 0;
	if (f) {
		print__escaped(f, name);
		fclose(f);
	}
	if (all && len < size)
		memcpy(text, all, len + 1);
	else if (all)
		snprintf(text, size, "%.*s..%s", (int)(size - 3 - tail), all, all + len - tail);
	free(all);
}

void plot__title(const struct plot *p, const struct plot_axis *values, char *text, size_t size)
{
	char column[PLOT_LABEL], series[PLOT_LABEL], unit[PLOT_LABEL];

	put_name(column, sizeof(column), p->curves[0].curve->column, 0);
	put_name(series, sizeof(series), p->series, 0);
	put_name(unit, sizeof(unit), values->unit, 0);
	snprintf(text, size, "%s of %s%s%s", column, series, *unit ? ", " : "", unit);
}

void plot__legend(const struct plot *p, unsigned i, char *text, size_t size)
{
	const struct curve *c = p->curves[i].curve;
	char label[PLOT_LABEL];

	put_name(label, sizeof(label), p->curves[i].label, LABEL_TAIL);
	if (!c->has_range)
		snprintf(text, size, "%s", label);
	else if (c->tables > 1)
		snprintf(text, size, "%s: %u %s: median, lowest to highest", label, c->tables,
			 !strcasecmp(p->series, "Tasks") ? "tasks" : "tables");
	else
		snprintf(text, size, "%s: mean, lowest to highest", label);
}
