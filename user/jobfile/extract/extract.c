/* SPDX-License-Identifier: GPL-2.0-only */
/* Extraction: opens the file, and writes one series after the other. */
#include "jobfile/extract/extract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/read_note.h"
#include "jobfile/extract/extract_internal.h"

/* The first wanted step or node that is not there stands for all. */
static int choose_nodes(struct extraction *x)
{
	char missing[SELECT_MISSING];

	free(x->refs);
	x->refs = NULL;
	if (x->result.all_there && select__missing(x->r, &x->sel, missing)) {
		x->result.all_there = false;
		x->result.missing++;
		log_error("%s: %s", x->path, missing);
	}
	return select__nodes(x->r, &x->sel, &x->refs, &x->nrefs);
}

static int parse_series(struct extraction *x, const char *text)
{
	int64_t task;
	const char *table;
	int err = select__series(text, x->series, sizeof(x->series), &task, &table);

	if (err)
		return err == -ENOMEM ? err : -EINVAL;
	x->sel = x->opt->sel;
	x->sel.table = table;
	if (task >= 0) {
		x->one_task = (struct number_range){(uint64_t)task, (uint64_t)task};
		x->sel.tasks = &x->one_task;
		x->sel.ntasks = 1;
	}
	return 0;
}

static int begin_series(struct extraction *x, const char *series)
{
	int err = parse_series(x, series);

	x->wanted = series;
	if (err == -EINVAL)
		log_error("\"%s\" cannot be the name of a series", series);
	if (!err)
		err = choose_nodes(x);
	if (err)
		return err;
	free(x->lacks);
	free(x->found);
	x->lacks = calloc(x->nrefs + 1, 1);
	x->found = calloc(x->sel.ntasks + 1, 1);
	x->text.series = x->series;
	x->text.begun = false;
	x->shape = 0;
	string_list__free(&x->columns);
	x->has_columns = false;
	string_list__free(&x->header);
	extract__forget_units(x);
	totals__begin_series(x->totals);
	return x->lacks && x->found ? 0 : -ENOMEM;
}

/* One pass over all nodes; `done` of them have been counted before. */
static int read_nodes(struct extraction *x, unsigned done)
{
	int err = 0;

	for (unsigned i = 0; !err && !(x->text.out && x->text.out->err) && i < x->nrefs; i++) {
		err = extract__node(x, i);
		progress__at(&x->progress, done + i + 1);
	}
	return err;
}

static int collect_columns(struct extraction *x)
{
	int err;

	x->collecting = true;
	err = read_nodes(x, 0);
	x->collecting = false;
	return err;
}

static int write_rows(struct extraction *x, struct outbuf *out, const char *before)
{
	int err;

	if (x->has_columns && !x->columns.n)
		return 0;
	err = extract__lay_out(x, out, before);
	return err ? err : read_nodes(x, x->nrefs);
}

static int write_series(struct extraction *x, struct outbuf *out, const char *series,
			const char *before)
{
	const uint64_t tables = x->result.tables, rows = x->result.rows;
	int err = begin_series(x, series);

	if (err)
		return err;
	progress__begin(&x->progress, "extracting", isatty(out->fd) ? 0 : 2 * (uint64_t)x->nrefs);
	err = collect_columns(x);
	if (!err)
		err = extract__choose_columns(x);
	if (!err)
		err = write_rows(x, out, before);
	progress__clear(&x->progress);
	if (!err && x->filter.on && x->result.tables > tables && x->result.rows == rows)
		extract__name_no_rows(x);
	else if (!err)
		extract__name_missing(x, x->result.tables == tables);
	return err;
}

static int write_all_series(struct extraction *x, struct outbuf *out)
{
	const struct extract_options *o = x->opt;
	bool json = o->format == EXTRACT_JSON;
	int err = 0;

	for (unsigned i = 0; !err && !out->err && i < o->nseries; i++) {
		const char *before = x->result.tables ? "\n" : "";

		if (json)
			before = x->text.comma ? "" : "[\n";
		err = write_series(x, out, o->series[i], before);
	}
	if (json && x->text.comma)
		outbuf__str(out, "\n]\n");
	return err;
}

static int open_file(struct extraction *x)
{
	int err;

	read_note__file(x->path);
	err = reader__open(&x->r, x->path);
	if (!err)
		err = cursor__new(&x->cursor);
	if (!err)
		x->cursor->as_stored = x->opt->stock;
	if (!err)
		err = totals__new(&x->totals);
	if (err) {
		log_error("%s: %s", x->path, reader__strerror(err));
		return err;
	}
	x->filter.from = x->opt->from;
	x->filter.to = x->opt->to;
	x->filter.on = x->opt->from.set || x->opt->to.set;
	x->text.format = x->opt->format;
	x->text.keep_nan = x->opt->stock;
	x->text.job = *x->r->job ? x->r->job : NULL;
	x->text.level = x->opt->totals ? "totals" : "timeseries";
	x->result.opened = x->result.all_there = true;
	return 0;
}

static void free_all(struct extraction *x)
{
	totals__free(x->totals);
	cursor__free(x->cursor);
	reader__free(x->r);
	string_list__free(&x->columns);
	string_list__free(&x->header);
	text__free(&x->text);
	extract__forget_units(x);
	string_list__free(&x->marks);
	free(x->refs);
	free(x->cols);
	free(x->lacks);
	free(x->found);
}

int extract__run(const char *path, const struct extract_options *o, int fd,
		 struct extract_result *result)
{
	struct extraction x = {.opt = o, .path = path};
	struct outbuf out = {0};
	int err = open_file(&x), end;

	if (!err) {
		err = outbuf__init(&out, fd);
		if (!err)
			err = write_all_series(&x, &out);
		if (err == -ENOMEM)
			log_error("%s: out of memory", path);
		else if (err == -EBUSY)
			log_error("%s: changed while it was read", path);
	}
	end = outbuf__end(&out);
	*result = x.result;
	result->write_error = end;
	free_all(&x);
	return end ? end : err;
}
