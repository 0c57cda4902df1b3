/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journal -> HDF5 -> reader. "test_nodestep --make DIR" leaves journals in DIR for
 * tests/lib/storelib.py, whose tests read the files with h5py and Slurm's tools.
 */
#include "tests/unit/unit.h"
#include <hdf5.h>

#include "hdf5/nodestep.h"
#include "hdf5/reader.h"
#include "hdf5/summary.h"
#include "tests/unit/stored.h"

/* The one node of a file. */
struct node {
	struct reader *r;
	struct reader_node *n;
};

static void node_free(struct node *r)
{
	reader_node__free(r->n);
	reader__free(r->r);
	free(r);
}

static struct node *read_back(const char *name)
{
	struct node *r = malloc(sizeof(*r));
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", unit_dir, name);
	assert_int_equal(reader__open(&r->r, path), 0);
	assert_int_equal(reader__node(r->r, 0, 0, NULL, &r->n), 0);
	return r;
}

/* The cells of a column, NULL when there is no such column. */
static const double *cells_of(const struct table *t, const char *name)
{
	for (unsigned i = 0; i < t->ncols; i++)
		if (!strcmp(t->names[i], name))
			return t->cells + i * t->nrows;
	return NULL;
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void check_table(const struct node *r, const char *series, const char *name, unsigned id,
			unsigned rows)
{
	const struct reader_series *rs = node__series(r->n, series);
	const struct series *s = series__find(series);
	struct table *t;

	assert_int_equal(reader__table(r->n, rs, name, &t), 0);
	assert_int_equal(t->nrows, rows);
	assert_int_equal(t->ncols, s->ncols);
	for (unsigned c = 0; c < s->ncols; c++) {
		const double *v = cells_of(t, s->cols[c].name);

		assert_string_equal(t->names[c], s->cols[c].name);
		for (unsigned i = 0; i < rows; i++) {
			union cell want = synth_cell(&s->cols[c], id, i, c);
			double w = s->cols[c].type == COL_F64 ? want.f : (double)want.u;

			if (!strncmp(s->cols[c].name, "GPU", 3))
				w = NAN; /* listed as unknown */
			assert_true(same(v[i], w));
		}
	}
	table__free(t);
}

TEST(every_cell_comes_back)
{
	struct nodestep_stats st;
	struct node *r;

	synth_make(journal, &plain);
	assert_int_equal(build(NAME, &st), 0);
	assert_int_equal(st.series, n_builtin_series);
	assert_int_equal(st.tables, synth_tables(&plain));
	assert_int_equal(st.rows, synth_tables(&plain) * plain.rows);
	assert_int_equal(st.rejected, 0);
	assert_true(st.complete);
	r = read_back(NAME);
	assert_int_equal(r->r->nnodes, 1);
	assert_string_equal(r->n->name, "n1");
	assert_string_equal(r->r->job, "7");
	assert_string_equal(r->n->step, "0");
	for (unsigned i = 0; i < n_builtin_series; i++) {
		const struct series *s = &builtin_series[i];
		unsigned id = synth_first_id(s->name, &plain);

		for (unsigned t = 0; t < synth_tables_of(s, &plain); t++)
			check_table(r, s->name, s->grouped ? (t ? "1" : "0") : s->name, id + t,
				    plain.rows);
	}
	node_free(r);
}

TEST(attributes_come_back)
{
	const struct reader_node *n;
	struct node *r;
	double v;

	synth_make(journal, &plain);
	assert_int_equal(build(NAME, NULL), 0);
	r = read_back(NAME);
	n = r->n;
	assert_string_equal(node__str(n, "Node Name"), "n1");
	assert_string_equal(node__str(n, "End Reason"), "exit");
	assert_true(node__attr(n, "Start TimeNS")->i == SYNTH_START_NS);
	assert_true(node__number(n, "Memory Limit", &v) && v == 500);
	assert_true(node__number(n, "Number of Tasks", &v) && v == 2);
	assert_null(node__attr(n, "Job Name")); /* empty */
	assert_null(node__attr(n, "user"));	/* meta, not for the file */
	assert_null(node__attr(n, "Torn Rows"));
	node_free(r);
}

static double total(const struct table *t, const char *prefix, const char *name, unsigned row)
{
	char full[64];
	const double *v;

	snprintf(full, sizeof(full), "%s_%s", prefix, name);
	v = cells_of(t, full);
	assert_non_null(v);
	return v[row];
}

/* The rows are those of the second task. */
static void check_totals(const struct table *t, const struct series *s)
{
	unsigned id = synth_first_id(s->name, &plain) + 1;

	assert_int_equal(t->nrows, 2);
	assert_true(cells_of(t, "Task")[1] == 1);
	for (unsigned c = 0; c < s->ncols; c++) {
		double min = INFINITY, max = -INFINITY, sum = 0, last = NAN;
		unsigned n = 0;

		if (s->cols[c].kind == COL_TIME || !strncmp(s->cols[c].name, "GPU", 3))
			continue;
		for (unsigned i = 0; i < plain.rows; i++) {
			union cell cell = synth_cell(&s->cols[c], id, i, c);
			double v = s->cols[c].type == COL_F64 ? cell.f : (double)cell.u;

			if (isnan(v))
				continue;
			min = v < min ? v : min;
			max = v > max ? v : max;
			sum += v;
			last = v;
			n++;
		}
		assert_true(total(t, "Min", s->cols[c].name, 1) == min);
		assert_true(total(t, "Max", s->cols[c].name, 1) == max);
		assert_true(total(t, "Avg", s->cols[c].name, 1) == sum / n);
		if (s->cols[c].kind == COL_DELTA)
			assert_true(total(t, "Sum", s->cols[c].name, 1) == sum);
		if (s->cols[c].kind == COL_CUMULATIVE)
			assert_true(total(t, "Last", s->cols[c].name, 1) == last);
	}
}

TEST(totals_are_what_the_rows_say)
{
	static const char *const series[] = {"RunLatency", "BlkLatency", "Tasks"};
	const struct reader_series *rs;
	struct table *t = NULL;
	struct node *r;

	synth_make(journal, &plain);
	assert_int_equal(build(NAME, NULL), 0);
	r = read_back(NAME);
	rs = node__series(r->n, "Totals");
	assert_non_null(rs);
	assert_int_equal(rs->tables.n, n_builtin_series - 2 /* not Stacks and CallTree */);
	for (unsigned i = 0; i < 3; i++) {
		table__free(t);
		assert_int_equal(reader__table(r->n, rs, series[i], &t), 0);
		check_totals(t, series__find(series[i]));
	}
	/* Unknown all along, F64 or named in Unknown Columns. */
	assert_true(isnan(total(t, "Max", "GPUUtilization", 0)));
	assert_true(isnan(total(t, "Max", "GPUMemMB", 0)));
	table__free(t);
	node_free(r);
}

/* Only Tasks, every family: the promise of the format. */
static void tasks_row_bytes(unsigned rows, double limit)
{
	const struct series *s = series__find("Tasks");
	const struct column *cols[SYNTH_COLS];
	unsigned n = series__select(s, SYNTH_FAMILIES, cols, SYNTH_COLS);
	struct journal *j;

	unlink(journal);
	assert_int_equal(journal__create(&j, journal), 0);
	journal__attr_str(j, "Node Name", "n1");
	journal__series(j, 0, "Tasks", true, cols, n);
	journal__table(j, 0, 0, "0");
	for (unsigned i = 0; i < rows; i++) {
		union cell cells[SYNTH_COLS];

		for (unsigned c = 0; c < n; c++)
			cells[c] = synth_cell(cols[c], 0, i, c);
		journal__row(j, 0, cells, n);
		assert_int_equal(journal__commit(j), 0);
	}
	journal__free(j);
	assert_int_equal(build(NAME, NULL), 0);
	print_message("%u rows of %u columns: %.1f bytes each, whole file\n", rows, n,
		      (double)size_of(NAME) / rows);
	assert_true((double)size_of(NAME) / rows <= limit);
}

TEST(a_row_of_tasks_costs_at_most_150_bytes)
{
	tasks_row_bytes(400, 150); /* the descriptions of columns included */
	tasks_row_bytes(4000, 110);
}

/* Slurm's tool wants some series of every node. */
TEST(tables_without_rows_are_not_made)
{
	static const char *const made[] = {"Tasks", "Energy", "Filesystem", "Network"};
	struct synth empty = plain;
	struct nodestep_stats st;
	struct node *r;
	struct table *t;

	empty.rows = 0;
	empty.end = false;
	synth_make(journal, &empty);
	assert_int_equal(build(NAME, &st), 0);
	assert_false(st.complete);
	r = read_back(NAME);
	assert_int_equal(r->n->nseries, sizeof(made) / sizeof(made[0]));
	assert_int_equal(node__series(r->n, "Tasks")->tables.n, 0);
	for (unsigned i = 1; i < r->n->nseries; i++) {
		assert_int_equal(reader__table(r->n, node__series(r->n, made[i]), made[i], &t), 0);
		assert_int_equal(t->nrows, 0);
		table__free(t);
	}
	node_free(r);
}

TEST(row_counts_around_the_chunk_size)
{
	static const unsigned rows[] = {1, 2, 127, 128, 129, 255, 256, 257};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct synth s = plain;
		struct node *r;

		s.tasks = 1;
		s.rows = rows[i];
		synth_make(journal, &s);
		assert_int_equal(build(NAME, NULL), 0);
		r = read_back(NAME);
		check_table(r, "Tasks", "0", 0, rows[i]);
		node_free(r);
	}
}

#define MANY                                                                                       \
	270 /* their totals have more chunks than the index of a file of short tables has room for \
	     */

TEST(many_tables_come_in_numeric_order)
{
	struct synth s = plain;
	const struct reader_series *rs;
	struct node *r;
	struct table *t;
	char name[8];

	s.tasks = MANY;
	s.rows = 1;
	synth_make(journal, &s);
	assert_int_equal(build(NAME, NULL), 0);
	r = read_back(NAME);
	rs = node__series(r->n, "Tasks");
	assert_int_equal(rs->tables.n, MANY);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_string_equal(rs->tables.v[i], name);
	}
	assert_int_equal(reader__table(r->n, node__series(r->n, "Totals"), "Tasks", &t), 0);
	for (unsigned i = 0; i < MANY; i++)
		assert_true(cells_of(t, "Task")[i] == i);
	table__free(t);
	node_free(r);
}

/* What tables say of their columns is there once: else each of these would take 1 KiB and more. */
TEST(many_tables_share_their_descriptions)
{
	struct synth s = plain;
	off_t few;

	s.rows = 3;
	s.tasks = 30;
	synth_make(journal, &s);
	assert_int_equal(build(NAME, NULL), 0);
	few = size_of(NAME);
	s.tasks = 130;
	synth_make(journal, &s);
	assert_int_equal(build(NAME, NULL), 0);
	print_message("a table more: %.0f bytes\n",
		      (double)(size_of(NAME) - few) / 100 / (synth_tables(&s) / 130));
	assert_true(size_of(NAME) - few < 100 * (synth_tables(&s) / 130) * 2500);
}

/* The library's copy, with which the stock sh5util merges, takes objects with any number of texts.
 */
TEST(many_texts_can_be_copied)
{
	struct journal *j = NULL;
	char name[32], path[128];
	hid_t from, into, node;

	unlink(journal);
	synth_fail(journal__create(&j, journal), journal);
	synth_declare(j, &plain);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "Text %u", i);
		synth_fail(journal__attr_str(j, name, name), name);
		if (i < 32)
			synth_fail(journal__table_attr_str(j, 0, name, name), name);
	}
	synth_fail(journal__commit(j), "commit");
	journal__free(j);
	assert_int_equal(build(NAME, NULL), 0);
	snprintf(path, sizeof(path), "%s/%s", unit_dir, NAME);
	from = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	strcat(path, ".copy");
	into = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
	assert_true(H5Ocopy(from, "n1", into, "n1", H5P_DEFAULT, H5P_DEFAULT) >= 0);
	node = H5Gopen2(into, "n1", H5P_DEFAULT);
	assert_true(H5Aexists(node, "Text 199") > 0);
	assert_true(H5Aexists_by_name(node, "Tasks/0", "Text 31", H5P_DEFAULT) > 0);
	H5Gclose(node);
	H5Fclose(into);
	H5Fclose(from);
}

/* A restarted owner declares everything anew, with ids of its own. */
TEST(ids_may_be_given_again)
{
	struct synth s = plain;
	struct nodestep_stats st;
	struct journal *j;
	struct node *r;
	uint64_t cut;

	s.rows = 5;
	s.end = false;
	synth_make(journal, &s);
	assert_int_equal(journal__reopen(&j, journal, &cut), 0);
	synth_declare(j, &s);
	for (unsigned row = 5; row < 9; row++)
		synth_interval(j, &s, row);
	journal__free(j);
	assert_int_equal(build(NAME, &st), 0);
	assert_int_equal(st.tables, synth_tables(&plain));
	assert_int_equal(st.rejected, 0);
	r = read_back(NAME);
	check_table(r, "Tasks", "1", 1, 9);
	node_free(r);
}

TEST(what_was_not_declared_is_rejected_and_counted)
{
	const struct column *cols[SYNTH_COLS];
	unsigned n = series__select(series__find("Tasks"), FAM_BASE, cols, SYNTH_COLS);
	union cell cells[SYNTH_COLS] = {{0}};
	struct nodestep_stats st;
	struct journal *j;

	unlink(journal);
	assert_int_equal(journal__create(&j, journal), 0);
	journal__attr_str(j, "Node Name", "n1");
	journal__row(j, 5, cells, 3);			/* no such table */
	journal__table(j, 1, 9, "0");			/* no such series */
	journal__series(j, 1, "a/b", true, cols, n);	/* not a name */
	journal__series(j, 2, "Totals", true, cols, n); /* ours */
	journal__series(j, 3, "Tasks", true, cols, n);
	journal__series(j, 3, "Other", true, cols, n);	/* id taken */
	journal__series(j, 4, "Tasks", false, cols, n); /* another shape */
	journal__table(j, 1, 3, "..");			/* not a name */
	journal__table(j, 1, 3, "0");
	journal__table(j, 1, 3, "1");	  /* id taken */
	journal__row(j, 1, cells, n - 1); /* wrong width */
	journal__row(j, 1, cells, n);
	journal__table_attr_i32(j, 2, "n", 1);		       /* no such table */
	journal__table_attr_str(j, 1, "Column Units", "ours"); /* the file's own */
	journal__table_attr_str(j, 1, "Executable", "/bin/a");
	assert_int_equal(journal__commit(j), 0);
	journal__free(j);
	assert_int_equal(build(NAME, &st), 0);
	assert_int_equal(st.rejected, 11);
	assert_int_equal(st.rows, 1);
	assert_int_equal(st.tables, 1);
}

TEST(rows_of_a_torn_end_are_told)
{
	struct nodestep_stats st;
	struct synth s = plain;
	struct node *r;
	double v;

	s.rows = 10;
	s.end = false;
	synth_make(journal, &s);
	assert_int_equal(truncate(journal, size_of("j") - 3), 0);
	assert_int_equal(build(NAME, &st), 0);
	assert_int_equal(st.rows, 9 * synth_tables(&plain));
	assert_int_equal(st.torn_rows, synth_tables(&plain));
	r = read_back(NAME);
	check_table(r, "Tasks", "1", 1, 9);
	assert_true(node__number(r->n, "Torn Rows", &v) && v == synth_tables(&plain));
	node_free(r);
}

TEST(without_a_node_there_is_no_file)
{
	static const struct {
		const char *node;
		int err;
	} cases[] = {{NULL, -ENODATA}, {"", -EINVAL}, {"a/b", -EINVAL}, {"..", -EINVAL}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct journal *j;

		unlink(journal);
		unlinkat(dir_fd, NAME, 0);
		assert_int_equal(journal__create(&j, journal), 0);
		if (cases[i].node)
			journal__attr_str(j, "Node Name", cases[i].node);
		journal__commit(j);
		journal__free(j);
		assert_int_equal(build(NAME, NULL), cases[i].err);
		assert_int_equal(size_of(NAME), -1);
	}
}

static int64_t time_of_row(unsigned row)
{
	static const struct column time = {.name = "TimeNS", .type = COL_U64};

	return (int64_t)synth_cell(&time, 0, row, 0).u;
}

/* Rows after the first instant and up to the last one, and the start is the first one. */
TEST(a_window_has_its_rows_alone)
{
	const struct nodestep_window window = {time_of_row(9), time_of_row(29)};
	const struct reader_series *tasks;
	struct nodestep_stats st;
	struct table *t;
	struct node *r;
	int64_t start;
	int fd;

	synth_make(journal, &plain);
	fd = open(journal, O_RDONLY);
	assert_int_equal(nodestep__build(fd, dir_fd, NAME, &window, &st), 0);
	close(fd);
	r = read_back(NAME);
	tasks = node__series(r->n, "Tasks");
	for (unsigned i = 0; i < plain.tasks; i++) {
		const double *times;

		assert_int_equal(reader__table(r->n, tasks, tasks->tables.v[i], &t), 0);
		times = cells_of(t, "TimeNS");
		assert_int_equal(t->nrows, 20);
		for (unsigned row = 0; row < t->nrows; row++)
			assert_true(same(times[row], (double)time_of_row(row + 10)));
		table__free(t);
	}
	assert_true(reader_node__i64(r->n, "Start TimeNS", &start));
	assert_int_equal(start, time_of_row(9));
	assert_int_equal(st.rejected, 0);
	node_free(r);
}

TEST(other_files_are_no_profiles)
{
	struct reader *r;

	assert_int_equal(reader__open(&r, "/nonexistent"), -ENOENT);
	assert_int_equal(reader__open(&r, "/tmp"), -EISDIR);
	assert_int_equal(reader__open(&r, "/dev/null"), -EBADMSG);
	assert_int_equal(reader__open(&r, "/etc/passwd"), -EBADMSG);
	reader__free(NULL);
	table__free(NULL);
}

/* --make DIR */
static int make_for_tools(char **args)
{
	static const struct {
		const char *name;
		struct synth s;
	} files[] = {
		{"n1", {"n1", 2, 300, SYNTH_START_NS, 0, true}},
		{"n2", {"n2", 2, 140, SYNTH_START_NS, 0, true}},
		{"long", {"n1", 1, 20000, SYNTH_START_NS, -1, true}},
		{"again", {"n1", 1, 5, SYNTH_START_NS + 1, 1, true}},
		{"live", {"n1", 2, 20, SYNTH_START_NS, -1, false}},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s.journal", args[1], files[i].name);
		synth_make(path, &files[i].s);
	}
	return 0;
}

static struct unit_fixture fixture = {.setup_all = make_dir, .with_args = make_for_tools};
