/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints tables of the index as text, CSV and JSON. */
#include "view/site/site_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/format_number.h"
#include "base/id_table.h"
#include "base/json.h"
#include "base/room.h"
#include "base/str.h"
#include "base/utf8.h"

#define GAP 2

int site_table__add(struct site_table *t, const struct db_value *v)
{
	const size_t at = (size_t)t->nrows * t->ncolumns;
	int err = 0;

	if (room__grow(&t->cells, at, t->ncolumns, sizeof(*t->cells)))
		return -ENOMEM;
	for (unsigned i = 0; i < t->ncolumns; i++) {
		struct db_value *to = &t->cells[at + i];

		*to = v[i];
		if (v[i].type == DB_TEXT && !(to->text = strdup(v[i].text))) {
			to->type = DB_NULL;
			err = -ENOMEM;
		}
	}
	t->nrows++;
	return err;
}

void site_table__free(struct site_table *t)
{
	for (size_t i = 0; i < (size_t)t->nrows * t->ncolumns; i++)
		if (t->cells[i].type == DB_TEXT)
			free((char *)t->cells[i].text);
	free(t->cells);
	t->cells = NULL;
	t->nrows = 0;
}

static const struct db_value *cell(const struct site_table *t, unsigned row, unsigned column)
{
	return &t->cells[(size_t)row * t->ncolumns + column];
}

/* ---- values as text */

/* A whole number with commas between thousands. */
static void put_count(char *to, double v)
{
	char digits[SITE_CELL];
	int n = snprintf(digits, sizeof(digits), "%.0f", fabs(v));

	if (v < 0)
		*to++ = '-';
	for (int i = 0; i < n; i++) {
		*to++ = digits[i];
		if (i < n - 1 && (n - i - 1) % 3 == 0)
			*to++ = ',';
	}
	*to = '\0';
}

/* Three digits, or all before the decimal point. */
static void put_number(char *to, double v)
{
	double size = fabs(v);

	if (size >= 99.95)
		put_count(to, round(v));
	else if (size > 0 && size < 0.0005)
		strcpy(to, v > 0 ? "<0.001" : ">-0.001");
	else
		snprintf(to, SITE_CELL, "%.*f",
			 size >= 9.995	  ? 1
			 : size >= 0.0995 ? 2
			 : size > 0	  ? 3
					  : 0,
			 v);
}

static void put_duration(char *to, double s)
{
	long minutes = lround(s / 60), hours = minutes / 60, days = hours / 24;

	if (s < 60)
		snprintf(to, SITE_CELL, "%.0f s", s);
	else if (days)
		snprintf(to, SITE_CELL, "%ld-%02ld:%02ld", days, hours % 24, minutes % 60);
	else
		snprintf(to, SITE_CELL, "%ld:%02ld", hours, minutes % 60);
}

static int year_of(time_t t)
{
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_year : 0;
}

/* For another year, the year matters more than the hour. */
static void put_time(char *to, double s)
{
	time_t t = (time_t)s;
	const char *form = year_of(t) == year_of(time(NULL)) ? "%m-%d %H:%M" : "%Y-%m-%d";
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(to, SITE_CELL, form, &tm))
		snprintf(to, SITE_CELL, "?");
}

static void put_bytes(char *to, double v)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	unsigned i = 0;

	while (fabs(v) >= 999.5 && i < 6) {
		v /= 1024;
		i++;
	}
	put_number(to, v);
	snprintf(to + strlen(to), SITE_CELL - strlen(to), " %s", units[i]);
}

static void put_share(char *to, double v)
{
	if (v > 0 && v < 0.005)
		snprintf(to, SITE_CELL, "<1");
	else
		snprintf(to, SITE_CELL, "%.0f", v * 100);
}

static void put_points(char *to, double v)
{
	double points = 100 * v;

	if (fabs(points) < 0.05)
		strcpy(to, "0");
	else
		snprintf(to, SITE_CELL, fabs(points) < 9.95 ? "%+.1f" : "%+.0f", points);
}

void site_cell__put(char to[static SITE_CELL], enum site_cell_kind kind, double v)
{
	if (isnan(v))
		strcpy(to, "-");
	else if (kind == CELL_COUNT)
		put_count(to, v);
	else if (kind == CELL_ID || kind == CELL_JOB)
		snprintf(to, SITE_CELL, "%.0f", v);
	else if (kind == CELL_HOURS)
		put_number(to, v / 3600);
	else if (kind == CELL_SHARE)
		put_share(to, v);
	else if (kind == CELL_POINTS)
		put_points(to, v);
	else if (kind == CELL_DURATION)
		put_duration(to, v);
	else if (kind == CELL_TIME)
		put_time(to, v);
	else if (kind == CELL_BYTES)
		put_bytes(to, v);
	else
		put_number(to, v);
}

/* Prints at most `most` characters; invisible ones become "?". */
static void put_text(const char *s, unsigned most, FILE *out)
{
	for (unsigned w; *s && (w = utf8__width(s)) <= most; most -= w, s = utf8__next(s)) {
		size_t bytes = utf8__visible(s);

		if (bytes)
			fwrite(s, 1, bytes, out);
		else
			putc('?', out);
	}
}

/* Prints a text, with ".." if it is cut; of a path the end is printed. */
static void put_cut(const char *s, unsigned width, FILE *out)
{
	unsigned n = utf8__length(s);

	if (n <= width || width < 4) {
		put_text(s, width, out);
		return;
	}
	if (*s != '/') {
		put_text(s, width - 2, out);
		fputs("..", out);
		return;
	}
	for (; n > width - 2; s = utf8__next(s))
		n -= utf8__width(s);
	fputs("..", out);
	put_text(s, width - 2, out);
}

/* The number by which Slurm's users call a task of an array; false: the job is none. */
static bool put_task(const struct site_table *t, unsigned row, unsigned column,
		     char to[static SITE_CELL])
{
	const double array = db_value__number(cell(t, row, column + 1)),
		     task = db_value__number(cell(t, row, column + 2));

	if (isnan(array) || isnan(task))
		return false;
	snprintf(to, SITE_CELL, "%.0f_%.0f", array, task);
	return true;
}

/* The text of a cell: in buf, or the cell's own. */
static const char *text_of(const struct site_table *t, unsigned row, unsigned column,
			   char buf[static SITE_CELL])
{
	const struct db_value *v = cell(t, row, column);

	if (t->unknown && !column && (v->type != DB_TEXT || !*v->text))
		return t->unknown;
	if (v->type == DB_TEXT)
		return v->text;
	if (t->columns[column].kind == CELL_TEXT)
		return "";
	if (t->columns[column].kind == CELL_JOB && put_task(t, row, column, buf))
		return buf;
	site_cell__put(buf, t->columns[column].kind, db_value__number(v));
	return buf;
}

static bool is_left(const struct site_column *c)
{
	return c->kind == CELL_TEXT;
}

static unsigned width_of(const struct site_table *t, unsigned column)
{
	const struct site_column *c = &t->columns[column];
	unsigned widest = utf8__length(c->head);
	char buf[SITE_CELL];

	for (unsigned i = 0; i < t->nrows; i++) {
		unsigned n = utf8__length(text_of(t, i, column, buf));

		widest = n > widest ? n : widest;
	}
	return c->width && widest > c->width ? c->width : widest;
}

/* The column's rank; a column that rows are sorted by is never left out. */
static unsigned rank_of(const struct site_table *t, unsigned column)
{
	const struct site_column *c = &t->columns[column];

	return t->sorted_by && !strcmp(t->sorted_by, c->key) ? 0 : c->rank;
}

/* Whether nothing of the column is known, and it may be left out. */
static bool is_unknown(const struct site_table *t, unsigned column)
{
	for (unsigned i = 0; i < t->nrows; i++)
		if (cell(t, i, column)->type != DB_NULL)
			return false;
	return rank_of(t, column) && t->nrows;
}

/* ---- as text */

#define NARROW 12

/* The column that is the widest of those with texts that may be cut; ncolumns: there is none. */
static unsigned widest_text(const struct site_table *t, const unsigned *widths)
{
	unsigned found = t->ncolumns, most = NARROW;

	for (unsigned i = 0; i < t->ncolumns; i++)
		if (is_left(&t->columns[i]) && widths[i] > most &&
		    widths[i] > utf8__length(t->columns[i].head)) {
			most = widths[i];
			found = i;
		}
	return found;
}

/* Leaves out columns, those of the highest rank first, until the others fit; where those that stay
 * do not fit, it cuts their texts. */
static void choose(const struct site_table *t, unsigned width, unsigned *widths)
{
	for (unsigned i = 0; i < t->ncolumns; i++) {
		bool is_out = t->columns[i].kind == CELL_HIDDEN ||
			      t->columns[i].kind == CELL_SERIES || rank_of(t, i) == SITE_HIDDEN;

		widths[i] = is_out || is_unknown(t, i) ? 0 : width_of(t, i);
	}
	for (;;) {
		unsigned sum = 0, last = 0;

		for (unsigned i = 0; i < t->ncolumns; i++) {
			if (!widths[i])
				continue;
			sum += widths[i] + GAP;
			if (rank_of(t, i) > rank_of(t, last) || !widths[last])
				last = i;
		}
		if (sum <= width + GAP)
			return;
		if (!rank_of(t, last) || !widths[last])
			last = widest_text(t, widths);
		if (last == t->ncolumns)
			return;
		widths[last] = rank_of(t, last) ? 0 : widths[last] - 1;
	}
}

static void print_cell(const char *text, unsigned width, bool left, bool is_last, FILE *out)
{
	unsigned n = utf8__length(text) < width ? utf8__length(text) : width;

	if (!left)
		fprintf(out, "%*s", (int)(width - n), "");
	put_cut(text, width, out);
	if (left && !is_last)
		fprintf(out, "%*s", (int)(width - n), "");
	if (!is_last)
		fprintf(out, "%*s", GAP, "");
}

/* row -1 is the heads. */
static void print_row(const struct site_table *t, int row, const unsigned *widths, FILE *out)
{
	unsigned last = 0;
	char buf[SITE_CELL];

	for (unsigned i = 0; i < t->ncolumns; i++)
		last = widths[i] ? i : last;
	for (unsigned i = 0; i < t->ncolumns; i++)
		if (widths[i])
			print_cell(row < 0 ? t->columns[i].head : text_of(t, (unsigned)row, i, buf),
				   widths[i], is_left(&t->columns[i]), i == last, out);
	putc('\n', out);
}

void site_table__print(const struct site_table *t, unsigned width, FILE *out)
{
	unsigned *widths = calloc(t->ncolumns, sizeof(*widths));

	if (!widths)
		return;
	choose(t, width, widths);
	print_row(t, -1, widths, out);
	for (unsigned i = 0; i < t->nrows; i++)
		print_row(t, (int)i, widths, out);
	free(widths);
}

bool site_table__shows(const struct site_table *t, unsigned width, const char *key)
{
	unsigned *widths = calloc(t->ncolumns, sizeof(*widths));
	bool is_shown = false;

	if (!widths)
		return false;
	choose(t, width, widths);
	for (unsigned i = 0; i < t->ncolumns; i++)
		is_shown |= widths[i] && !strcmp(t->columns[i].key, key);
	free(widths);
	return is_shown;
}

void site_table__wrap(const char *text, unsigned width, FILE *out)
{
	unsigned at = 0;

	while (*text) {
		const char *word = text;
		unsigned n = 0;

		for (; *text && *text != ' '; text = utf8__next(text))
			n++;
		if (at)
			putc(at + 1 + n > width ? '\n' : ' ', out);
		at = at && at + 1 + n <= width ? at + 1 + n : n;
		fwrite(word, 1, (size_t)(text - word), out);
		text += strspn(text, " ");
	}
	putc('\n', out);
}

unsigned site_table__width(FILE *out)
{
	const char *said = getenv("COLUMNS");
	struct winsize size;
	uint32_t n;

	if (said && !parse_u32(said, &n) && n >= 40 && n <= 1000)
		return n;
	if (isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col >= 40)
		return size.ws_col;
	return 80;
}

/* ---- as CSV and JSON */

static void csv_cell(const struct db_value *v, FILE *out)
{
	if (v->type == DB_TEXT)
		csv__print(out, v->text);
	else if (v->type == DB_INT)
		fprintf(out, "%lld", (long long)v->i);
	else if (v->type == DB_REAL)
		fprintf(out, "%.15g", v->real);
}

void site_table__csv(const struct site_table *t, FILE *out)
{
	for (unsigned i = 0; i < t->ncolumns; i++)
		fprintf(out, "%s%s", i ? "," : "", t->columns[i].key);
	putc('\n', out);
	for (unsigned row = 0; row + t->has_sum < t->nrows; row++) {
		for (unsigned i = 0; i < t->ncolumns; i++) {
			if (i)
				putc(',', out);
			csv_cell(cell(t, row, i), out);
		}
		putc('\n', out);
	}
}

static bool is_whole(enum site_cell_kind kind)
{
	return kind == CELL_COUNT || kind == CELL_ID || kind == CELL_JOB || kind == CELL_TIME;
}

const char *site_series__text(char to[static SITE_SERIES], const double *v, unsigned n)
{
	size_t at = 0;

	*to = '\0';
	for (unsigned i = 0; i < n && at + 32 < SITE_SERIES; i++)
		at += (size_t)(isnan(v[i]) ? sprintf(to + at, "%s-", i ? " " : "")
					   : sprintf(to + at, "%s%.10g", i ? " " : "", v[i]));
	return to;
}

static json_t *json_series(const char *text)
{
	json_t *a = json_array();

	for (const char *p = text; a && *p; p += strspn(p, " ")) {
		json_array_append_new(a, *p == '-' && (!p[1] || p[1] == ' ')
						 ? json_null()
						 : json__number(strtod(p, NULL)));
		p += strcspn(p, " ");
	}
	return a;
}

static json_t *json_cell(enum site_cell_kind kind, const struct db_value *v)
{
	if (kind == CELL_SERIES)
		return v->type == DB_TEXT ? json_series(v->text) : json_null();
	if (v->type == DB_TEXT)
		return json__text(v->text);
	if (v->type == DB_INT)
		return json_integer(v->i);
	return is_whole(kind) ? json__whole(db_value__number(v))
			      : json__number(db_value__number(v));
}

json_t *site_table__json_row(const struct site_table *t, unsigned row)
{
	json_t *o = json_object();

	for (unsigned i = 0; o && i < t->ncolumns; i++)
		json__set(o, t->columns[i].key, json_cell(t->columns[i].kind, cell(t, row, i)));
	return o;
}

static void print_integer(int64_t i, FILE *out)
{
	char digits[FORMAT_NUMBER_MAX], *end = digits;

	if (i < 0)
		*end++ = '-';
	end = format_number__u64(end, i < 0 ? -(uint64_t)i : (uint64_t)i);
	fwrite_unlocked(digits, 1, (size_t)(end - digits), out);
}

static void print_json_cell(enum site_cell_kind kind, const struct db_value *v, FILE *out)
{
	json_t *j;

	if (kind == CELL_SERIES) {
		j = json_cell(kind, v);
		json__dump(j, out, JSON_ENCODE_ANY);
		json_decref(j);
	} else if (v->type == DB_TEXT) {
		json__put_text(v->text, out);
	} else if (v->type == DB_INT) {
		print_integer(v->i, out);
	} else if (v->type == DB_NULL) {
		fputs_unlocked("null", out);
	} else if (!is_whole(kind)) {
		json__put_number(db_value__number(v), out);
	} else {
		j = json__whole(db_value__number(v));
		json__dump(j, out, JSON_ENCODE_ANY);
		json_decref(j);
	}
}

void site_table__print_json(const struct site_table *t, FILE *out)
{
	putc('[', out);
	for (unsigned row = 0; row + t->has_sum < t->nrows; row++) {
		fputs(row ? ",{" : "{", out);
		for (unsigned i = 0; i < t->ncolumns; i++) {
			fputs(i ? ",\"" : "\"", out);
			fputs(t->columns[i].key, out);
			fputs("\":", out);
			print_json_cell(t->columns[i].kind, cell(t, row, i), out);
		}
		putc('}', out);
	}
	putc(']', out);
}

#define FEW_TEXTS 512 /* of a column, which are printed once each */

struct few_texts {
	const char *text[FEW_TEXTS];
	struct id_table of; /* by the hash of a text */
};

/* Number of a text, which is added where it is new. False: these are many. */
static bool number_of(struct few_texts *f, const char *text, uint32_t *number)
{
	const uint64_t id = id__of_text(text);
	const uint32_t *there = id_table__find(&f->of, id);

	*number = there ? *there : (uint32_t)f->of.n;
	if (there) /* users choose names, also such that have the same hash */
		return !strcmp(f->text[*there], text);
	if (f->of.n == FEW_TEXTS || !id_table__add(&f->of, id, *number))
		return false;
	f->text[*number] = text;
	return true;
}

/* The numbers of a column's texts, UINT32_MAX where none is known. False: they are no texts, or
 * many. */
static bool number_column(const struct site_table *t, unsigned column, unsigned nrows,
			  struct few_texts *f, uint32_t *numbers)
{
	if (t->columns[column].kind == CELL_SERIES)
		return false;
	for (unsigned row = 0; row < nrows; row++) {
		const struct db_value *v = cell(t, row, column);

		numbers[row] = UINT32_MAX;
		if (v->type != DB_NULL &&
		    (v->type != DB_TEXT || !number_of(f, v->text, &numbers[row])))
			return false;
	}
	return 2 * f->of.n <= nrows;
}

/* Prints each text once, and which of them each row has. False: nothing is printed. */
static bool print_few(const struct site_table *t, unsigned column, unsigned nrows, FILE *out)
{
	uint32_t *numbers = calloc(nrows, sizeof(*numbers));
	struct few_texts f = {};
	const bool are_few = numbers && number_column(t, column, nrows, &f, numbers);

	for (uint32_t i = 0; are_few && i < f.of.n; i++) {
		fputs(i ? "," : "{\"of\":[", out);
		json__put_text(f.text[i], out);
	}
	for (unsigned row = 0; are_few && row < nrows; row++) {
		fputs_unlocked(row ? "," : "],\"at\":[", out);
		if (numbers[row] == UINT32_MAX)
			fputs_unlocked("null", out);
		else
			print_integer(numbers[row], out);
	}
	if (are_few)
		fputs("]}", out);
	id_table__free(&f.of);
	free(numbers);
	return are_few;
}

static void print_column(const struct site_table *t, unsigned column, unsigned nrows, FILE *out)
{
	unsigned known = 0;

	while (known < nrows && cell(t, known, column)->type == DB_NULL)
		known++;
	fprintf(out, "%s\"%s\":%s", column ? "," : "", t->columns[column].key,
		known < nrows ? "" : "null");
	if (known == nrows || print_few(t, column, nrows, out))
		return;
	for (unsigned row = 0; row < nrows; row++) {
		putc_unlocked(row ? ',' : '[', out);
		print_json_cell(t->columns[column].kind, cell(t, row, column), out);
	}
	putc_unlocked(']', out);
}

void site_table__print_columns(const struct site_table *t, FILE *out)
{
	const unsigned nrows = t->nrows - (t->has_sum && t->nrows);

	fprintf(out, "{\"n\":%u,\"columns\":{", nrows);
	for (unsigned i = 0; i < t->ncolumns; i++)
		print_column(t, i, nrows, out);
	fputs("}}", out);
}

json_t *site_table__json(const struct site_table *t)
{
	json_t *a = json_array();

	for (unsigned i = 0; a && i + t->has_sum < t->nrows; i++)
		json_array_append_new(a, site_table__json_row(t, i));
	return a;
}
