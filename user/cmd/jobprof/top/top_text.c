/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of jobprof top. */
#include "cmd/jobprof/top/top_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

#define CELL 24
#define GAP  1 /* before each column but the first */

/* ---- numbers */

static const char *percent(double v, char buf[static CELL])
{
	if (isnan(v))
		return "?";
	snprintf(buf, CELL, v < 1000 ? "%.1f" : "%.0f", v);
	return buf;
}

static const char *count(double v, char buf[static CELL])
{
	if (isnan(v))
		return "?";
	snprintf(buf, CELL, "%.0f", v);
	return buf;
}

/* Bytes in five characters: 0, 812, 1.5K, 12.1G. */
static const char *bytes(double v, char buf[static CELL])
{
	static const char units[] = "\0KMGTPE";
	unsigned i = 0;

	if (isnan(v))
		return "?";
	for (; v >= 999.5 && i < sizeof(units) - 2; i++)
		v /= 1024;
	snprintf(buf, CELL, i && v < 99.95 ? "%.1f%.1s" : "%.0f%.1s", v, &units[i]);
	return buf;
}

static const char *watts(double v, char buf[static CELL])
{
	if (isnan(v))
		return "?";
	snprintf(buf, CELL, v < 99.95 ? "%.1f" : "%.0f", v);
	return buf;
}

/* 0:07, 59:59, 12:00h, 123h, 12d */
static const char *seconds(double v, char buf[static CELL])
{
	unsigned long s;

	if (isnan(v) || v < 0 || v > 1e15)
		return "?";
	s = (unsigned long)v;
	if (s < 3600)
		snprintf(buf, CELL, "%lu:%02lu", s / 60, s % 60);
	else if (s < 100 * 3600)
		snprintf(buf, CELL, "%lu:%02luh", s / 3600, s / 60 % 60);
	else if (s < 1000ul * 3600)
		snprintf(buf, CELL, "%luh", s / 3600);
	else
		snprintf(buf, CELL, "%lud", s / 86400);
	return buf;
}

/* ---- columns, in the order of the screen */

enum { IN_NODE = 1, OF_NODES = 2, EVERYWHERE = 3 };

static const struct {
	const char *head;
	unsigned value;	      /* enum top_value */
	unsigned width, rank; /* columns of lower rank get room first */
	unsigned where;
	const char *(*text)(double v, char buf[static CELL]);
} columns[] = {
	{"CPU%", TOP_CPU, 6, 0, EVERYWHERE, percent},
	{"WAIT%", TOP_WAIT, 5, 2, EVERYWHERE, percent},
	{"IO%", TOP_DISK, 5, 7, EVERYWHERE, percent},
	{"MEM", TOP_MEMORY, 5, 1, EVERYWHERE, bytes},
	{"MEM%", TOP_MEMORY_PART, 5, 10, EVERYWHERE, percent},
	{"DISK/s", TOP_DISK_RATE, 6, 4, EVERYWHERE, bytes},
	{"NET/s", TOP_NET_RATE, 6, 5, EVERYWHERE, bytes},
	{"WATT", TOP_POWER, 5, 6, EVERYWHERE, watts},
	{"AGE", TOP_AGE, 6, 3, OF_NODES, seconds},
	{"GPU%", TOP_GPU, 5, 8, EVERYWHERE, percent},
	{"GMEM", TOP_GPU_MEM, 5, 12, EVERYWHERE, bytes},
	{"THR", TOP_THREADS, 5, 11, EVERYWHERE, count},
	{"READ/s", TOP_READ, 6, 13, EVERYWHERE, bytes},
	{"WRIT/s", TOP_WRITTEN, 6, 14, EVERYWHERE, bytes},
	{"NETI/s", TOP_NET_IN, 6, 15, EVERYWHERE, bytes},
	{"NETO/s", TOP_NET_OUT, 6, 16, EVERYWHERE, bytes},
	{"DKRD/s", TOP_BLK_READ, 6, 17, EVERYWHERE, bytes},
	{"DKWR/s", TOP_BLK_WRITTEN, 6, 18, EVERYWHERE, bytes},
	{"ELAPSED", TOP_ELAPSED, 7, 19, EVERYWHERE, seconds},
	{"TIME", TOP_TIME, 7, 9, IN_NODE, seconds},
};

#define COLUMNS	   (sizeof(columns) / sizeof(columns[0]))
#define USER_WIDTH 8
#define RANKS	   20
/* Columns from these ranks on leave room for so much of a name. */
#define RANK_NAME      7
#define NAME_LEAST     8
#define NAME_HEAD      4 /* "NAME" */
#define RANK_LONG_NAME 10
#define NAME_LONG      20

static unsigned depth(const struct top_row *r, const struct top_view *v)
{
	return v->flat ? 0 : (unsigned)r->kind * 2;
}

static unsigned id_length(const struct top_row *r, const struct top_view *v)
{
	return v->flat ? utf8__length(r->key) : depth(r, v) + 2 + utf8__length(r->id);
}

static unsigned id_width(const struct top_rows *rows, const struct top_view *v)
{
	unsigned most = 14;

	for (unsigned i = 0; i < rows->n; i++)
		if (id_length(&rows->v[i], v) > most)
			most = id_length(&rows->v[i], v);
	return most < 28 ? most : 28;
}

/* What a node without GPUs does not have is no column. */
static bool is_empty(unsigned column, const struct top_rows *rows)
{
	if (columns[column].value != TOP_GPU && columns[column].value != TOP_GPU_MEM)
		return false;
	for (unsigned i = 0; i < rows->n; i++)
		if (!isnan(top_row__value(&rows->v[i], columns[column].value)))
			return false;
	return true;
}

/* How many characters of the name have room before a column of that rank. */
static unsigned least_name(unsigned rank)
{
	if (rank < RANK_NAME)
		return 0;
	return GAP + (rank < RANK_LONG_NAME ? NAME_LEAST : NAME_LONG);
}

void top_layout__fit(struct top_layout *l, unsigned width, const struct top_rows *rows,
		     const struct top_view *v, bool of_nodes)
{
	bool fits[COLUMNS] = {};
	unsigned left;

	*l = (struct top_layout){.width = width, .of_nodes = of_nodes};
	l->id_width = id_width(rows, v);
	if (l->id_width > width)
		l->id_width = width;
	left = width - l->id_width;
	if (!of_nodes && left > 2 * (USER_WIDTH + GAP)) {
		l->user_width = USER_WIDTH;
		left -= USER_WIDTH + GAP;
	}
	for (unsigned rank = 0; rank < RANKS; rank++)
		for (unsigned i = 0; i < COLUMNS; i++) {
			unsigned need = columns[i].width + GAP;

			if (columns[i].rank != rank || left < need + least_name(rank) ||
			    !(columns[i].where & (of_nodes ? OF_NODES : IN_NODE)) ||
			    is_empty(i, rows))
				continue;
			fits[i] = true;
			left -= need;
		}
	for (unsigned i = 0; i < COLUMNS; i++)
		if (fits[i])
			l->columns[l->n++] = i;
	l->name_width = left >= GAP + NAME_HEAD ? left - GAP : 0;
}

unsigned top_layout__next_sort(const struct top_layout *l, unsigned sort, int by)
{
	int at = -1; /* the name */

	for (unsigned i = 0; i < l->n; i++)
		if (columns[l->columns[i]].value == sort)
			at = (int)i;
	at += by;
	if (at < -1)
		at = (int)l->n - 1;
	if (at < 0 || at >= (int)l->n)
		return TOP_ID;
	return columns[l->columns[at]].value;
}

/* ---- lines */

struct text {
	char *to;
	size_t len;
	unsigned at; /* the column of the terminal */
};

static void put(struct text *t, const char *bytes, size_t n, unsigned width)
{
	if (t->len + n >= TOP_LINE)
		return;
	memcpy(t->to + t->len, bytes, n);
	t->len += n;
	t->to[t->len] = '\0';
	t->at += width;
}

static void pad(struct text *t, unsigned to)
{
	while (t->at < to && t->len + 1 < TOP_LINE)
		put(t, " ", 1, 1);
}

/* A name of a user's, escaped, in at most so many columns; "~" ends one that was cut. */
static void put_name(struct text *t, const char *name, unsigned width)
{
	char *shown = NULL;
	size_t size;
	FILE *f = open_memstream(&shown, &size);
	const char *at;
	unsigned n;

	if (!f)
		return;
	print__escaped(f, name);
	fclose(f);
	n = shown ? utf8__length(shown) : 0;
	at = shown;
	while (at && *at && width) {
		const char *next = utf8__next(at);
		const unsigned w = utf8__width(at);

		if (n > width && w >= width) {
			put(t, "~", 1, 1);
			break;
		}
		put(t, at, (size_t)(next - at), w);
		width -= w;
		n -= w;
		at = next;
	}
	free(shown);
}

static void put_right(struct text *t, const char *cell, unsigned width)
{
	size_t n = strlen(cell);

	pad(t, t->at + GAP);
	pad(t, t->at + (n < width ? width - (unsigned)n : 0));
	put(t, cell, n, (unsigned)n);
}

/* Cuts a line to the width, and takes off blanks at its end. */
static void end_line(struct text *t, unsigned width)
{
	char *at = t->to;

	for (unsigned w; *at && (w = utf8__width(at)) <= width; width -= w)
		at = (char *)utf8__next(at);
	while (at > t->to && at[-1] == ' ')
		at--;
	*at = '\0';
}

void top_text__columns(char *line, const struct top_layout *l, const struct top_view *v,
		       unsigned *from, unsigned *to)
{
	struct text t = {.to = line};
	const char *id = l->of_nodes ? "NODE" : v->flat ? "STEP/TASK" : "JOB/STEP/TASK";

	line[0] = '\0';
	*from = 0;
	*to = l->id_width;
	put_name(&t, id, l->id_width);
	pad(&t, l->id_width);
	if (l->user_width) {
		pad(&t, t.at + GAP);
		put_name(&t, "USER", l->user_width);
		pad(&t, l->id_width + GAP + l->user_width);
	}
	for (unsigned i = 0; i < l->n; i++) {
		unsigned begin = t.at + GAP;

		put_right(&t, columns[l->columns[i]].head, columns[l->columns[i]].width);
		if (columns[l->columns[i]].value == v->sort) {
			*from = begin;
			*to = t.at;
		}
	}
	if (l->name_width) {
		pad(&t, t.at + GAP);
		put_name(&t, l->of_nodes ? "STEPS" : "NAME", l->name_width);
	}
	end_line(&t, l->width);
}

static enum top_mark mark_of(unsigned value, double v)
{
	if (isnan(v))
		return TOP_UNKNOWN;
	if ((value == TOP_WAIT || value == TOP_DISK) && v >= 10)
		return TOP_HIGH;
	if (value == TOP_MEMORY_PART && v >= 90)
		return TOP_FULL;
	return TOP_PLAIN;
}

static void put_id(struct text *t, const struct top_layout *l, const struct top_view *v,
		   const struct top_row *r)
{
	unsigned in = depth(r, v);

	if (v->flat || l->of_nodes) {
		put_name(t, l->of_nodes ? r->id : r->key, l->id_width);
	} else {
		pad(t, in);
		if (r->kind == TOP_TASK)
			put(t, "  ", 2, 2);
		else
			put(t, top_view__is_folded(v, r) ? "+ " : "- ", 2, 2);
		if (l->id_width > in + 2)
			put_name(t, r->id, l->id_width - in - 2);
	}
	pad(t, l->id_width);
}

unsigned top_text__row(char *line, struct top_span spans[24], const struct top_layout *l,
		       const struct top_view *v, const struct top_row *r)
{
	struct text t = {.to = line};
	unsigned nspans = 0;
	char buf[CELL];

	line[0] = '\0';
	put_id(&t, l, v, r);
	if (l->user_width) {
		pad(&t, t.at + GAP);
		if (r->kind == TOP_JOB || v->flat)
			put_name(&t, r->user[0] ? r->user : "?", l->user_width);
		pad(&t, l->id_width + GAP + l->user_width);
	}
	for (unsigned i = 0; i < l->n; i++) {
		unsigned c = l->columns[i], begin = t.at + GAP;
		double value = top_row__value(r, columns[c].value);
		enum top_mark mark = mark_of(columns[c].value, value);

		put_right(&t, columns[c].text(value, buf), columns[c].width);
		if (mark != TOP_PLAIN)
			spans[nspans++] = (struct top_span){begin, t.at, mark};
	}
	if (l->name_width) {
		pad(&t, t.at + GAP);
		put_name(&t, r->name, l->name_width);
	}
	end_line(&t, l->width);
	return nspans;
}

/* ---- the head */

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *fmt, ...)
{
	char piece[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(piece, sizeof(piece), fmt, args);
	va_end(args);
	put(t, piece, strlen(piece), utf8__length(piece));
}

/* top says 17:48 of hours and minutes. */
static const char *up_time(double s, char buf[static CELL])
{
	if (!(s >= 0 && s < 3600))
		return seconds(s, buf);
	snprintf(buf, CELL, "%.0f min", floor(s / 60));
	return buf;
}

static void head_first(struct text *t, const struct top_head *h)
{
	const struct top_node *n = h->node;
	char clock[16], buf[3][CELL];
	struct tm tm;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&h->now, &tm));
	add(t, "jobprof top - %s  ", clock);
	if (h->about) {
		put_name(t, h->about, 80);
		return;
	}
	put_name(t, n->name, 40);
	add(t, "  up %s  load %.2f %.2f %.2f  every %g s", up_time(n->up_s, buf[0]), n->load[0],
	    n->load[1], n->load[2], h->delay);
}

static void head_cpu(struct text *t, const struct top_head *h)
{
	const struct top_node *n = h->node;
	char buf[4][CELL];

	add(t, "CPU %s %% of %u  some wait for a CPU %s %%  disk %s %%  %s W",
	    percent(n->busy, buf[0]), n->cpus, percent(n->waiting_cpu, buf[1]),
	    percent(n->waiting_disk, buf[2]), watts(h->rows->node_power, buf[3]));
}

static void head_memory(struct text *t, const struct top_node *n)
{
	char buf[6][CELL];

	add(t, "Mem %s of %s  ", bytes(n->memory_used, buf[0]), bytes(n->memory, buf[1]));
	add(t, "Disk %s/s read %s/s write  ", bytes(n->read, buf[2]), bytes(n->written, buf[3]));
	add(t, "Net %s/s in %s/s out", bytes(n->in, buf[4]), bytes(n->out, buf[5]));
}

static void head_counts(struct text *t, const struct top_head *h)
{
	unsigned n[3] = {};

	for (unsigned i = 0; i < h->rows->n; i++)
		n[h->rows->v[i].kind]++;
	if (h->about)
		add(t, "%u node%s", n[TOP_JOB], n[TOP_JOB] == 1 ? "" : "s");
	else
		add(t, "%u job%s, %u step%s, %u task%s", n[TOP_JOB], n[TOP_JOB] == 1 ? "" : "s",
		    n[TOP_STEP], n[TOP_STEP] == 1 ? "" : "s", n[TOP_TASK],
		    n[TOP_TASK] == 1 ? "" : "s");
	if (h->view->user[0]) {
		add(t, "  user ");
		put_name(t, h->view->user, 32);
	}
	if (h->view->filter[0]) {
		add(t, "  filter ");
		put_name(t, h->view->filter, 32);
	}
}

unsigned top_text__head(char lines[TOP_HEAD_MAX][TOP_LINE], const struct top_head *h,
			unsigned width)
{
	struct text t[TOP_HEAD_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < TOP_HEAD_MAX; i++) {
		t[i] = (struct text){.to = lines[i]};
		lines[i][0] = '\0';
	}
	head_first(&t[n++], h);
	if (!h->about) {
		head_cpu(&t[n++], h);
		head_memory(&t[n++], h->node);
	}
	head_counts(&t[n++], h);
	for (unsigned i = 0; i < n; i++)
		end_line(&t[i], width);
	return n;
}
