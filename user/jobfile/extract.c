/* SPDX-License-Identifier: GPL-2.0-only */
#include "jobfile/extract.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "identity/stepname.h"
#include "jobfile/extract_internal.h"
#include "pool/pool.h"

/* The first one that is not there stands for all. */
static int choose_nodes(struct extraction *x)
{
	char what[SELECT_MISSING];

	free(x->refs);
	x->refs = NULL;
	if (x->result.all_there && select__missing(x->r, &x->sel, what)) {
		x->result.all_there = false;
		x->result.missing++;
		log_error("%s: %s", x->path, what);
	}
	return select__nodes(x->r, &x->sel, &x->refs, &x->nrefs);
}

/* Whether what was written to fd can be taken back. */
static bool can_restart(int fd, off_t *at)
{
	struct stat st;

	*at = lseek(fd, 0, SEEK_CUR);
	return !fstat(fd, &st) && S_ISREG(st.st_mode) && *at == st.st_size;
}

/* All rows, with the plan as it is. */
static int write_all(struct extraction *x, struct outbuf *out, const char *blank)
{
	int err = extract__lay_out(x, out, blank);
	bool alone;

	if (!err)
		err = extract__call_helpers(x);
	alone = !extract__helped(x);
	progress__begin(&x->progress, "extracting", isatty(out->fd) ? 0 : x->nrefs);
	if (!err && !alone)
		err = extract__together(x);
	for (unsigned i = 0; alone && !err && !out->err && i < x->nrefs; i++) {
		err = extract__node(x, i);
		progress__at(&x->progress, i + 1);
	}
	progress__clear(&x->progress);
	return err;
}

/* As one line: which nodes do not have the series. */
static void name_lacking(struct extraction *x)
{
	char text[512] = "";
	size_t len = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < x->nrefs; i++) {
		const struct node_ref *ref = &x->refs[i];

		if (!x->lacks[i])
			continue;
		if (++n <= 8 && len < 300)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s/%.40s",
						n > 1 ? ", " : "", extract__step(x, ref->step),
						x->r->steps[ref->step].nodes[ref->node]);
		len = len < sizeof(text) ? len : sizeof(text) - 1;
	}
	x->result.lacking += n;
	if (n && n < x->nrefs)
		log_warn("%s: no series %s on %u of %u nodes: %s%s", x->path, x->wanted, n,
			 x->nrefs, text, n > 8 ? ", ..." : "");
}

/* Nobody has it: what was meant, by the first node. */
static void name_missing_series(struct extraction *x)
{
	const char *names[256], *near = NULL;
	struct reader_node *node;
	unsigned n = 0;

	if (!reader__node(x->r, x->refs[0].step, x->refs[0].node, NULL, &node)) {
		for (; n < node->nseries && n < 256; n++)
			names[n] = node->series[n].name;
		near = str__nearest(x->series, names, n);
		if (near)
			log_error("%s: there is no series \"%s\"; did you mean \"%s\"?", x->path,
				  x->series, near);
		reader_node__free(node);
	}
	if (!near)
		log_error("%s: there is no series \"%s\"", x->path, x->wanted);
}

static void name_problems(struct extraction *x, uint64_t tables_before)
{
	unsigned lacking = 0;

	for (unsigned i = 0; i < x->nrefs; i++)
		lacking += x->lacks[i];
	if (x->nrefs && lacking == x->nrefs) {
		x->result.missing++;
		name_missing_series(x);
		return;
	}
	name_lacking(x);
	for (unsigned i = 0; i < x->sel.ntasks; i++) {
		const struct number_range *r = &x->sel.tasks[i];

		if (x->found[i] || !x->nrefs)
			continue;
		x->result.missing++;
		if (r->from == r->to)
			log_error("%s: series %s has no task %llu", x->path, x->series,
				  (unsigned long long)r->from);
		else
			log_error("%s: series %s has no task from %llu to %llu", x->path, x->series,
				  (unsigned long long)r->from, (unsigned long long)r->to);
	}
	if (x->result.tables == tables_before && !x->result.damaged && !x->result.missing)
		log_error("%s: nothing of series %s is there", x->path, x->wanted);
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
		x->one = (struct number_range){(uint64_t)task, (uint64_t)task};
		x->sel.tasks = &x->one;
		x->sel.ntasks = 1;
	}
	return 0;
}

int extract__prepare(struct extraction *x, const char *series)
{
	int err = parse_series(x, series);

	x->wanted = series;
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
	plan_names__free(&x->plan);
	extract__forget_units(x);
	return x->lacks && x->found ? 0 : -ENOMEM;
}

/* Takes back what was written since. */
static int take_back(struct extraction *x, int fd, off_t at, const struct extraction *before)
{
	x->text.begun = false;
	x->text.comma = before->text.comma;
	x->result = before->result;
	return ftruncate(fd, at) || lseek(fd, at, SEEK_SET) < 0 ? -errno : 0;
}

static int one_series(struct extraction *x, struct outbuf *out, const char *series,
		      const char *blank)
{
	uint64_t tables = x->result.tables;
	struct extraction before;
	off_t at = 0;
	bool restart;
	int err;

	outbuf__flush(out);
	restart = can_restart(out->fd, &at);
	err = extract__prepare(x, series);
	if (err == -EINVAL)
		log_error("\"%s\" cannot be the name of a series", series);
	if (!err)
		err = extract__plan(x, restart && !(x->opt->units && !series__find(x->series)));
	before = *x;
	if (!err && (!x->plan.begun || x->plan.n))
		err = write_all(x, out, blank);
	if (err == -EAGAIN && restart) {
		out->len = 0;
		err = take_back(x, out->fd, at, &before);
		if (!err)
			err = extract__plan(x, false);
		if (!err)
			err = write_all(x, out, blank);
	}
	extract__release(x);
	if (!err)
		name_problems(x, tables);
	return err == -EAGAIN ? -EBUSY : err;
}

static void name_failure(const struct extraction *x, int err)
{
	if (err == -ENOMEM)
		log_error("%s: out of memory", x->path);
	else if (err == -EBUSY)
		log_error("%s: changed while it was read", x->path);
}

static int write_series(struct extraction *x, struct outbuf *out)
{
	const struct extract_options *o = x->opt;
	bool json = o->format == EXTRACT_JSON;
	int err = 0;

	for (unsigned i = 0; !err && !out->err && i < o->nseries; i++) {
		const char *blank = json ? "[\n" : "\n";

		if (x->result.tables)
			blank = json ? "" : "\n";
		else if (!json)
			blank = "";
		x->last = i + 1 == o->nseries;
		err = one_series(x, out, o->series[i], blank);
	}
	if (json && x->result.tables)
		outbuf__str(out, "\n]\n");
	return err;
}

int extract__begin(struct extraction *x)
{
	int err;

	err = reader__open_fd(&x->r, x->fd, x->path);
	if (!err)
		err = cursor__new(&x->cursor);
	if (!err)
		err = totals__new(&x->totals);
	x->filter.from = x->opt->from;
	x->filter.to = x->opt->to;
	x->filter.on = x->opt->from.set || x->opt->to.set;
	x->text.format = x->opt->format;
	x->text.keep_nan = x->opt->stock;
	x->text.job = !err && *x->r->job ? x->r->job : NULL;
	x->text.level = x->opt->totals ? "totals" : "timeseries";
	return err;
}

/* Who helps is there before the library begins: each begins it for itself, at the same time. */
static int begin(struct extraction *x)
{
	int err = 0;

	pool__note_file(x->path); /* which the helpers' notes begin with */
	x->fd = reader__file(x->path);
	if (x->fd < 0)
		err = x->fd;
	if (!err)
		err = extract__call_helpers(x);
	if (!err)
		err = extract__begin(x);
	if (err && err != -ECHILD && !x->r)
		log_error("%s: %s", x->path, reader__strerror(err));
	x->result.opened = x->result.all_there = !err;
	return err;
}

static void free_all(struct extraction *x)
{
	totals__free(x->totals);
	cursor__free(x->cursor);
	reader__free(x->r);
	plan_names__free(&x->plan);
	plan_names__free(&x->header);
	text__free(&x->text);
	extract__forget_units(x);
	extract__forget_marks(x);
	free(x->refs);
	free(x->cols);
	free(x->lacks);
	free(x->found);
	if (x->fd >= 0)
		close(x->fd);
}

int extract__run(const char *path, const struct extract_options *o, int fd,
		 struct extract_result *result)
{
	struct extraction x = {.opt = o, .path = path, .fd = -1};
	struct outbuf out = {0};
	int err = begin(&x), end;

	if (!err)
		err = outbuf__init(&out, fd);
	if (!err)
		err = write_series(&x, &out);
	end = outbuf__end(&out);
	extract__dismiss_helpers(&x, !err && !end);
	*result = x.result;
	result->write_error = end;
	if (!end && x.r)
		name_failure(&x, err);
	if (!o->leaves)
		free_all(&x);
	return end ? end : err;
}
