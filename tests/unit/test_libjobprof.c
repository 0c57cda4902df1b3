// SPDX-License-Identifier: GPL-2.0-or-later
/* libjobprof(3): a program's own series and marks, and the last rows of a step. */

#include "tests/unit/unit.h"
#include "client/libjobprof.h"
#include "tests/unit/listener.h"

static const char *const columns[] = {"Residual", "Cells[1e6]", "Iterations+"};

static union {
	struct jpc_head head;
	struct jpc_mark mark;
	struct {
		struct jpc_table head;
		struct jpc_column col[JPC_COLUMNS];
	} table;
	struct {
		struct jpc_rows head;
		int64_t time_ns;
		double value[JPC_COLUMNS];
	} row;
} got;

static unsigned next(int fd)
{
	memset(&got, 0, sizeof(got));
	return listener__take(fd, &got, sizeof(got)) > 0 ? got.head.type : 0;
}

/* The library has a state per process: each test is one of its own. */
static void in_a_process(void (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define PROCESS_TEST(name)                       \
	static void name##_in_process(void);     \
	TEST(name)                               \
	{                                        \
		in_a_process(name##_in_process); \
	}                                        \
	static void name##_in_process(void)

/* As assert_true(), in a process that is not cmocka's. */
#define MUST(cond)                                                                 \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1);                                                  \
		}                                                                  \
	} while (0)

static int setup(void **state)
{
	listener_begin(state);
	return setenv("JOBPROF_SOCKET", l.path, 1);
}

PROCESS_TEST(one_connection_and_every_table_once)
{
	int fd, solver, other;

	listener__listen(&l);
	solver = jobprof_series("solver", 3, columns);
	other = jobprof_series("other", 1, columns);
	MUST(solver == 0 && other == 1 && jobprof_series("solver", 3, columns) == solver);
	MUST(!jobprof_mark_at("phase 2", 1234567890123456789));
	MUST(!jobprof_add(solver, 1e-3, 2.5f, 12));
	MUST(!jobprof_add(solver, NAN, 1u, -1));
	MUST(!jobprof_add(other, 7));
	MUST(!jobprof_mark("end"));
	fd = listener__accept(&l);
	MUST(next(fd) == JPC_MARK && got.head.flags == JPC_F_REPLY);
	MUST(!strcmp(got.mark.name, "phase 2") && got.mark.time_ns == 1234567890123456789);
	MUST(next(fd) == JPC_TABLE && got.table.head.ncols == 3 && !got.table.head.table);
	MUST(!strcmp(got.table.head.name, "solver") && !*got.table.head.group);
	MUST(!strcmp(got.table.col[1].name, "Cells") && !strcmp(got.table.col[1].unit, "1e6"));
	MUST(got.table.col[1].cell == JPC_F64 && got.table.col[1].kind == JPC_GAUGE);
	MUST(got.table.col[2].kind == JPC_DELTA);
	MUST(next(fd) == JPC_ROWS && got.row.head.nrows == 1 && !got.row.head.table);
	MUST(got.row.value[0] == 1e-3 && got.row.value[1] == 2.5 && got.row.value[2] == 12);
	MUST(got.row.time_ns > 1234567890123456789 && !got.head.flags);
	MUST(next(fd) == JPC_ROWS && isnan(got.row.value[0]) && got.row.value[2] == -1);
	MUST(next(fd) == JPC_TABLE && got.table.head.table == 1);
	MUST(next(fd) == JPC_ROWS && got.row.head.table == 1);
	MUST(next(fd) == JPC_MARK && !got.head.flags && !next(fd) && !jobprof_dropped());
}

PROCESS_TEST(wrong_calls)
{
	static const char *const twice[] = {"a", "b", "a[s]"}, *const bad[] = {"a", "b c"};
	const double row[] = {1, 2, 3};
	char name[80] = "";
	int s = jobprof_series("solver", 3, columns);

	memset(name, 'x', 64);
	MUST(jobprof_series("solver", 2, columns) == -EEXIST);
	MUST(jobprof_series("", 3, columns) == -EINVAL);
	MUST(jobprof_series("a/b", 3, columns) == -EINVAL);
	MUST(jobprof_series(name, 3, columns) == -EINVAL);
	MUST(jobprof_series(NULL, 3, columns) == -EINVAL);
	MUST(jobprof_series("x", 3, NULL) == -EINVAL);
	MUST(jobprof_series("x", 0, columns) == -EINVAL);
	MUST(jobprof_series("x", 129, columns) == -EINVAL);
	MUST(jobprof_series("x", 3, twice) == -EINVAL);
	MUST(jobprof_series("x", 2, bad) == -EINVAL);
	MUST(jobprof_add_row(s, row, 2) == -EINVAL);
	MUST(jobprof_add_row(s + 1, row, 3) == -EINVAL);
	MUST(jobprof_add_row(-EINVAL, row, 3) == -EINVAL);
	MUST(jobprof_add_row_at(s, 0, row, 3) == -EINVAL);
	MUST(jobprof_mark("") == -EINVAL && jobprof_mark(NULL) == -EINVAL);
	MUST(jobprof_mark(name) == -EINVAL);
	for (int i = 1; i < JOBPROF_SERIES_MAX; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		MUST(jobprof_series(name, 1, columns) == i);
	}
	MUST(jobprof_series("more", 1, columns) == -ENOSPC);
	MUST(!jobprof_dropped());
}

PROCESS_TEST(without_a_daemon)
{
	errno = 77;
	MUST(jobprof_mark("x") == -ENOTCONN);
	/* It is not looked for again at once. */
	listener__listen(&l);
	MUST(jobprof_mark("x") == -ENOTCONN);
	MUST(jobprof_add(jobprof_series("s", 1, columns), 1) == -ENOTCONN);
	MUST(errno == 77 && jobprof_dropped() == 3);
}

PROCESS_TEST(where_nothing_is_profiled)
{
	int fd;

	listener__listen(&l);
	MUST(!jobprof_mark("x"));
	fd = listener__accept(&l);
	MUST(next(fd) == JPC_MARK);
	listener__reply(fd, got.head.seq, -ESRCH, 0);
	MUST(jobprof_mark("x") == -ESRCH && jobprof_mark("x") == -ESRCH);
	MUST(jobprof_dropped() == 2);
	MUST(recv(fd, &got, sizeof(got), 0) == 0); /* it has hung up */
}

PROCESS_TEST(a_refused_series_is_the_only_loss)
{
	int fd, bad = jobprof_series("bad", 1, columns), good = jobprof_series("good", 1, columns);

	listener__listen(&l);
	MUST(!jobprof_mark("x") && !jobprof_add(bad, 1));
	fd = listener__accept(&l);
	MUST(next(fd) == JPC_MARK);
	listener__reply(fd, got.head.seq, 0, 0);
	MUST(next(fd) == JPC_TABLE);
	listener__reply(fd, got.head.seq, -EINVAL, 0);
	MUST(jobprof_add(bad, 1) == -EINVAL && !jobprof_add(good, 1));
	MUST(jobprof_dropped() == 1);
	MUST(next(fd) == JPC_ROWS && next(fd) == JPC_TABLE);
	MUST(!strcmp(got.table.head.name, "good"));
}

PROCESS_TEST(after_a_restart_tables_are_declared_again)
{
	int fd, s = jobprof_series("s", 1, columns);

	listener__listen(&l);
	for (int i = 0; i < 3; i++) {
		MUST(!jobprof_add(s, i));
		fd = listener__accept(&l);
		MUST(next(fd) == JPC_TABLE && next(fd) == JPC_ROWS && got.row.value[0] == i);
		close(fd);
	}
	listener__deaf(&l);
	MUST(jobprof_add(s, 1) == -ENOTCONN && jobprof_dropped() == 1);
}

PROCESS_TEST(one_that_does_not_read)
{
	int err = 0, sent = 0;

	listener__listen(&l);
	while (!err && sent < 100000) {
		err = jobprof_mark("x");
		sent += !err;
	}
	MUST(err == -EAGAIN && sent > 10 && jobprof_dropped() == 1);
}

PROCESS_TEST(a_child_talks_for_itself)
{
	int fd, status, s = jobprof_series("s", 1, columns);
	pid_t pid;

	listener__listen(&l);
	MUST(!jobprof_add(s, 1));
	pid = fork();
	if (!pid)
		_exit(jobprof_dropped() || jobprof_add(s, 2) || jobprof_mark("child"));
	MUST(waitpid(pid, &status, 0) == pid && !status);
	MUST(!jobprof_add(s, 3));
	fd = listener__accept(&l);
	MUST(next(fd) == JPC_TABLE && next(fd) == JPC_ROWS && got.row.value[0] == 1);
	MUST(next(fd) == JPC_ROWS && got.row.value[0] == 3 && !next(fd));
	/* and hears for itself */
	listener__reply(fd, 1, -ESRCH, 0);
	MUST(jobprof_add(s, 4) == -ESRCH);
	fd = listener__accept(&l);
	MUST(next(fd) == JPC_TABLE && next(fd) == JPC_ROWS && got.row.value[0] == 2);
	MUST(next(fd) == JPC_MARK);
}

#define THREADS 4
#define MARKS	200

static void *mark_often(void *arg)
{
	char name[16];

	for (int i = 0; i < MARKS; i++) {
		snprintf(name, sizeof(name), "%d.%d", *(int *)arg, i);
		while (jobprof_mark(name))
			; /* the reader is behind */
	}
	return NULL;
}

PROCESS_TEST(threads)
{
	int numbers[THREADS], fd, seen[THREADS] = {0}, thread, mark;
	pthread_t t[THREADS];

	listener__listen(&l);
	MUST(!jobprof_mark("0"));
	fd = listener__accept(&l);
	MUST(next(fd) == JPC_MARK);
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		MUST(!pthread_create(&t[i], NULL, mark_often, &numbers[i]));
	}
	for (int i = 0; i < THREADS * MARKS; i++) {
		MUST(recv(fd, &got, sizeof(got), 0) == sizeof(got.mark));
		MUST(sscanf(got.mark.name, "%d.%d", &thread, &mark) == 2);
		MUST(seen[thread]++ == mark); /* in order, none twice */
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static char tables[1024];

static void note_table(const struct jobprof_table *t, void *arg)
{
	size_t at = strlen(tables);

	assert_ptr_equal(arg, &l);
	at += snprintf(tables + at, sizeof(tables) - at, "%s|%s|", t->step, t->series);
	for (unsigned i = 0; i < t->nrows * t->ncols; i++) {
		const struct jobprof_live_column *c = &t->columns[i % t->ncols];

		if (c->is_double)
			at += snprintf(tables + at, sizeof(tables) - at, "%s=%g%s ", c->name,
				       t->cells[i].d, c->unit);
		else
			at += snprintf(tables + at, sizeof(tables) - at, "%s=%lu%s ", c->name,
				       (unsigned long)t->cells[i].u, c->unit);
	}
}

static struct {
	struct jpc_table head;
	struct jpc_column col[2];
} table;
static struct {
	struct jpc_rows head;
	uint64_t u0;
	double d0;
	uint64_t u1;
	double d1;
} rows;
static struct jpc_reply reply;

/* Answers that are right; the tests spoil them. */
static void prepare(void)
{
	table.head = (struct jpc_table){
		.head = {JPC_MAGIC, JPC_VERSION, JPC_TABLE, sizeof(table), 0, 0},
		.table = 4,
		.ncols = 2,
		.group = "0/Tasks",
		.name = "3",
	};
	table.col[0] = (struct jpc_column){.name = "RSS", .unit = "KiB", .cell = JPC_U64};
	table.col[1] = (struct jpc_column){.name = "CPUTime", .unit = "s", .cell = JPC_F64};
	rows.head = (struct jpc_rows){
		.head = {JPC_MAGIC, JPC_VERSION, JPC_ROWS, sizeof(rows), 0, 0},
		.table = 4,
		.nrows = 2,
	};
	rows.u0 = 7;
	rows.d0 = 0.5;
	rows.u1 = 8;
	rows.d1 = NAN;
	reply = (struct jpc_reply){.head = {JPC_MAGIC, JPC_VERSION, JPC_REPLY, sizeof(reply), 0, 1},
				   .number = 1};
	l.packets[0] = &table;
	l.lengths[0] = sizeof(table);
	l.packets[1] = &rows;
	l.lengths[1] = sizeof(rows);
	l.packets[2] = &reply;
	l.lengths[2] = sizeof(reply);
	tables[0] = '\0';
}

static int ask(uint32_t job, const char *step, char *why, size_t whylen)
{
	int ret;

	assert_int_equal(pthread_create(&l.thread, NULL, listener__answer_one, &l), 0);
	ret = jobprof_live(job, step, 10000, note_table, &l, why, whylen);
	pthread_join(l.thread, NULL);
	return ret;
}

TEST(live)
{
	const struct jpc_live *m = (struct jpc_live *)l.heard;

	assert_int_equal(jobprof_live(0, NULL, 10000, note_table, &l, NULL, 0), -ENOTCONN);
	listener__listen(&l);
	prepare();
	assert_int_equal(ask(42, "batch", NULL, 0), 1);
	assert_string_equal(tables, "0|Tasks/3|RSS=7KiB CPUTime=0.5s RSS=8KiB CPUTime=nans ");
	assert_int_equal(l.heard_length, sizeof(*m));
	assert_int_equal(m->job_id, 42);
	assert_string_equal(m->step_name, "batch");
	prepare();
	strcpy(table.head.group, "batch");
	strcpy(table.head.name, "Step");
	assert_int_equal(ask(0, NULL, NULL, 0), 1);
	assert_int_equal(m->job_id, JPC_UNKNOWN);
	assert_memory_equal(tables, "batch|Step|RSS", 14);
	assert_int_equal(jobprof_live(0, "a step with a name that is much too long", 0, note_table,
				      &l, NULL, 0),
			 -EINVAL);
}

TEST(live_refused)
{
	char why[64];

	listener__listen(&l);
	prepare();
	l.packets[0] = &reply;
	l.lengths[0] = sizeof(reply);
	l.packets[1] = NULL;
	reply.error = -EACCES;
	strcpy(reply.text, "not yours");
	assert_int_equal(ask(1, "", why, sizeof(why)), -EACCES);
	assert_string_equal(why, "not yours");
}

TEST(live_answers_that_are_wrong)
{
	listener__listen(&l);
	for (int wrong = 0; wrong < 9; wrong++) {
		prepare();
		if (wrong == 0)
			table.head.ncols = 3;
		else if (wrong == 1)
			table.head.ncols = 0xffffffff;
		else if (wrong == 2)
			rows.head.nrows = 3;
		else if (wrong == 3)
			rows.head.nrows = 0x80000001;
		else if (wrong == 4)
			rows.head.table = 5;
		else if (wrong == 5)
			memset(table.col[1].name, 'x', sizeof(table.col[1].name));
		else if (wrong == 6)
			memset(table.head.name, 'x', sizeof(table.head.name));
		else if (wrong == 7)
			l.packets[0] = &rows, l.lengths[0] = sizeof(rows);
		else
			reply.head.type = JPC_MARK;
		assert_int_equal(ask(1, "", NULL, 0), -EPROTO);
		if (wrong < 8)
			assert_string_equal(tables, "");
	}
	prepare();
	l.packets[2] = NULL;
	l.packets[1] = NULL;
	assert_int_equal(pthread_create(&l.thread, NULL, listener__answer_one, &l), 0);
	assert_int_equal(jobprof_live(1, "", 0, note_table, &l, NULL, 0), -ETIMEDOUT);
	pthread_join(l.thread, NULL);
}

static struct unit_fixture fixture = {.setup = setup, .teardown = listener_end};
