// SPDX-License-Identifier: GPL-2.0-only
/* The two ways in which jobprof sensors writes what it has read. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/json.h"
#include "cmd/jobprof/sensors.h"

#define NAME_WIDTH_MAX 40

static bool counts_up(const struct sensor_channel *ch)
{
	return ch->quantity == QUANTITY_ENERGY || ch->quantity == QUANTITY_COUNT;
}

/* Per second, of what counts up; NAN where that is not known. */
static double rate_of(const struct source *s, unsigned i)
{
	const struct sensor_value *now = &s->now[i], *before = &s->before[i];

	if (!counts_up(&s->ch[i]) || now->quality != READING_GOOD ||
	    now->time_ns <= before->time_ns)
		return NAN;
	return (now->value - before->value) /
	       ((double)(now->time_ns - before->time_ns) / NSEC_PER_SEC);
}

/* J/s is W. */
static void rate_unit(char unit[static 16], const struct sensor_channel *ch)
{
	if (ch->quantity == QUANTITY_ENERGY)
		snprintf(unit, 16, "W");
	else
		snprintf(unit, 16, "%s/s", ch->unit);
}

static const char *state_name(const struct source *s)
{
	if (!s->err)
		return "read";
	if (s->absent)
		return "not there";
	if (s->err == -EACCES)
		return "not permitted";
	return s->err == -EAGAIN || s->err == -ETIMEDOUT ? "no answer yet" : "does not work";
}

/* Columns that text takes at the terminal. */
static int width_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80; /* of a character of UTF-8 the first byte */
	return n;
}

static void print_padded(FILE *out, const char *text, int width)
{
	print__escaped(out, text);
	fprintf(out, "%*s", width > width_of(text) ? width - width_of(text) : 0, "");
}

static void print_number(FILE *out, double v, const char *unit, int unit_width)
{
	char text[40];

	if (isnan(v))
		snprintf(text, sizeof(text), "-");
	else if (v == floor(v) && fabs(v) < 1e15)
		snprintf(text, sizeof(text), "%.0f", v);
	else
		snprintf(text, sizeof(text), "%.*f", fabs(v) < 100 ? 3 : 1, v);
	fprintf(out, " %14s ", text);
	print_padded(out, isnan(v) ? "" : unit, unit_width);
}

/* The columns of names, units and rates are so wide, for all sources that are printed. */
struct widths {
	int name, unit, rate;
};

static void widen(int *width, const char *text)
{
	int n = width_of(text);

	if (n > *width)
		*width = n < NAME_WIDTH_MAX ? n : NAME_WIDTH_MAX;
}

static void add_widths(struct widths *w, const struct source *s)
{
	char unit[16];

	for (unsigned i = 0; i < s->n; i++) {
		widen(&w->name, s->ch[i].name);
		widen(&w->unit, s->ch[i].unit);
		rate_unit(unit, &s->ch[i]);
		if (counts_up(&s->ch[i]))
			widen(&w->rate, unit);
	}
}

static void print_channel(FILE *out, const struct source *s, unsigned i, const struct widths *w)
{
	const struct sensor_channel *ch = &s->ch[i];
	char unit[16];

	rate_unit(unit, ch);
	fputs("  ", out);
	print_padded(out, ch->name, w->name);
	fprintf(out, " %-9s", sensor__part_name(ch->part));
	print_number(out, s->now[i].value, ch->unit, w->unit);
	print_number(out, rate_of(s, i), unit, w->rate);
	/* A counter of energy that does not move counts nothing. */
	fprintf(out, "  %s%s%s\n",
		ch->quantity == QUANTITY_ENERGY && rate_of(s, i) == 0
			? "stands still"
			: sensor__quality_name(s->now[i].quality),
		ch->quantity == QUANTITY_POWER && ch->about[0] ? "; " : "",
		ch->quantity == QUANTITY_POWER ? ch->about : "");
}

/* "rapl: powercap: 2 package", "ipmi: not permitted: run as root" */
static void print_source(FILE *out, const struct source *s, const struct widths *w)
{
	fprintf(out, "%s: ", s->ops->name);
	if (s->err)
		fprintf(out, "%s%s", state_name(s), s->detail[0] ? ": " : "");
	print__escaped(out, s->detail);
	fputs("\n", out);
	for (unsigned i = 0; i < s->n; i++)
		print_channel(out, s, i, w);
}

static int print_text(FILE *out, const struct source *s, unsigned n, bool all, bool compact)
{
	struct widths w = {0};
	unsigned shown = 0, there = 0;

	for (unsigned i = 0; i < n; i++)
		if (all || !s[i].absent)
			add_widths(&w, &s[i]);
	for (unsigned i = 0; i < n; i++) {
		there += !s[i].absent;
		if (s[i].absent && !all)
			continue;
		shown++;
		print_source(out, &s[i], &w);
	}
	if (!there)
		fprintf(out, "%s%s\n", "none of the sensors that jobprof knows is on this node",
			shown ? "" : "; --all says what was looked for");
	if (compact)
		fputs("\n", out);
	return 0;
}

static json_t *text_or_null(const char *text)
{
	return *text ? json__text(text) : json_null();
}

static json_t *json_channel(const struct source *s, unsigned i)
{
	static const char *const quantities[] = {[QUANTITY_ENERGY] = "energy",
						 [QUANTITY_POWER] = "power",
						 [QUANTITY_COUNT] = "count",
						 [QUANTITY_LEVEL] = "level"};
	const struct sensor_channel *ch = &s->ch[i];
	const struct sensor_value *v = &s->now[i];
	char unit[16];

	rate_unit(unit, ch);
	return json_pack("{s:o, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, "
			 "s:o, s:o, s:o, s:o}",
			 "name", json__text(ch->name), "part", sensor__part_name(ch->part), "index",
			 ch->index < 0 ? json_null() : json_integer(ch->index), "cpu",
			 ch->cpu < 0 ? json_null() : json_integer(ch->cpu), "quantity",
			 quantities[ch->quantity], "unit", json__text(ch->unit), "value",
			 json__number(v->value), "rate", json__number(rate_of(s, i)), "rate_unit",
			 counts_up(ch) ? json__text(unit) : json_null(), "quality",
			 sensor__quality_name(v->quality), "boot_ns",
			 v->time_ns ? json_integer((json_int_t)v->time_ns) : json_null(), "step",
			 json__number(ch->step), "error", json__number(ch->error), "period_s",
			 json__number(ch->period_ns ? (double)ch->period_ns / NSEC_PER_SEC : NAN),
			 "lag_s",
			 json__number(ch->lag_ns ? (double)ch->lag_ns / NSEC_PER_SEC : NAN),
			 "table", text_or_null(ch->series), "column", text_or_null(ch->column),
			 "about", text_or_null(ch->about));
}

static json_t *json_source(const struct source *s)
{
	json_t *channels = json_array();

	for (unsigned i = 0; i < s->n; i++)
		json_array_append_new(channels, json_channel(s, i));
	return json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "name", s->ops->name, "doc", s->ops->doc,
			 "state", state_name(s), "slow", s->ops->slow, s->err ? "why" : "way",
			 json__text(s->detail), "channels", channels);
}

static int print_json(FILE *out, const struct source *s, unsigned n, bool all, bool compact)
{
	json_t *sources = json_array(), *root;
	int err;

	for (unsigned i = 0; i < n; i++)
		if (all || !s[i].absent)
			json_array_append_new(sources, json_source(&s[i]));
	root = json_pack("{s:o}", "sources", sources);
	err = root ? json__dump(root, out, compact ? JSON_COMPACT : JSON_INDENT(2)) : -1;
	json_decref(root);
	fputs("\n", out);
	return err ? -ENOMEM : 0;
}

const struct sensors_format sensors_text = {print_text};
const struct sensors_format sensors_json = {print_json};
