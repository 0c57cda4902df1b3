// SPDX-License-Identifier: GPL-2.0-or-later
/* Which tables are meant. */

#include "tests/unit/unit.h"
#include "hdf5/reader.h"
#include "jobfile/select.h"

static char *nodes0[] = {"n1", "n2", "n10"}, *nodes1[] = {"n2"}, *nodes2[] = {"n1"};
static struct reader_step steps[] = {{"0", {nodes0, 3}},
				     {"2", {nodes1, 1}},
				     {"10", {nodes1, 1}},
				     {"batch", {nodes2, 1}},
				     {"-4", {nodes2, 1}}};
static const struct reader r = {.steps = steps, .nsteps = 5, .nnodes = 7};

static const char *chosen(const struct selection *sel)
{
	static char out[256];
	struct node_ref *refs;
	unsigned n;
	size_t at = 0;

	assert_int_equal(select__nodes(&r, sel, &refs, &n), 0);
	out[0] = '\0';
	for (unsigned i = 0; i < n; i++)
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%s/%s", i ? " " : "",
				       r.steps[refs[i].step].name,
				       r.steps[refs[i].step].nodes.v[refs[i].node]);
	free(refs);
	return out;
}

TEST(nodes_in_order)
{
	const char *const few[] = {"batch", "0"}, *const extern_step[] = {"extern"},
			  *const numbers[] = {"4294967291", "4294967292", "10"};
	struct string_list hosts;
	struct selection sel = {0};

	assert_string_equal(chosen(&sel), "0/n1 0/n2 0/n10 2/n2 10/n2 batch/n1 -4/n1");
	sel.by_name = true;
	assert_string_equal(chosen(&sel), "-4/n1 0/n1 0/n10 0/n2 10/n2 2/n2 batch/n1");
	sel.steps = few;
	sel.nsteps = 2;
	assert_string_equal(chosen(&sel), "0/n1 0/n10 0/n2 batch/n1");
	sel.by_name = false;
	assert_int_equal(hostlist__parse(&hosts, "n[1,10]", NULL, 0), 0);
	sel.nodes = &hosts;
	assert_string_equal(chosen(&sel), "0/n1 0/n10 batch/n1");
	string_list__free(&hosts);
	sel = (struct selection){.steps = extern_step, .nsteps = 1};
	assert_string_equal(chosen(&sel), "-4/n1");
	sel = (struct selection){.steps = numbers, .nsteps = 3};
	assert_string_equal(chosen(&sel), "10/n2 batch/n1 -4/n1");
}

TEST(what_is_not_there_is_named)
{
	const char *const there[] = {"extern", "2"}, *const absent[] = {"2", "7"};
	struct selection sel = {.steps = there, .nsteps = 2};
	struct string_list hosts;
	char what[SELECT_MISSING];

	assert_false(select__missing(&r, &sel, what));
	sel.steps = absent;
	assert_true(select__missing(&r, &sel, what));
	assert_string_equal(what, "there is no step 7");
	assert_int_equal(hostlist__parse(&hosts, "n[1-2]", NULL, 0), 0);
	sel = (struct selection){.nodes = &hosts};
	assert_false(select__missing(&r, &sel, what));
	sel.steps = there + 1;
	sel.nsteps = 1; /* n1 is not in step 2 */
	assert_true(select__missing(&r, &sel, what));
	assert_string_equal(what, "there is no node n1; did you mean \"n2\"?");
	string_list__free(&hosts);
}

TEST(tables_by_task)
{
	struct number_range *ranges;
	char *tables[] = {"0", "1", "2", "10", "x"};
	struct reader_series s = {.name = "Tasks", .grouped = true, .tables = {tables, 5}};
	struct selection sel = {0};

	assert_true(select__table(&sel, "x"));
	assert_int_equal(select__tasks("0-1,10", &ranges, &sel.ntasks), 0);
	sel.tasks = ranges;
	assert_true(select__table(&sel, "0"));
	assert_true(select__table(&sel, "1"));
	assert_true(select__table(&sel, "10"));
	assert_false(select__table(&sel, "2"));
	assert_false(select__table(&sel, "x"));
	free(ranges);
	select__order(&sel, &s);
	assert_string_equal(s.tables.v[3], "10");
	sel.by_name = true;
	select__order(&sel, &s);
	assert_string_equal(s.tables.v[2], "10");
	assert_string_equal(s.tables.v[3], "2");
}

TEST(lists_of_tasks)
{
	static const char *const bad[] = {"",	",",   "1,", "-",     "1-",
					  "-1", "3-1", "a",  "1-2-3", "1 "};
	struct number_range *ranges;
	char *many = malloc(20000);
	unsigned n;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(select__tasks(bad[i], &ranges, &n), -EINVAL);
	memset(many, 0, 20000);
	for (int i = 0; i < 4096; i++)
		memcpy(many + 2L * i, "7,", 2);
	many[8191] = '\0';
	assert_int_equal(select__tasks(many, &ranges, &n), 0);
	assert_int_equal(n, 4096);
	free(ranges);
	memcpy(many + 8191, ",7", 2);
	assert_int_equal(select__tasks(many, &ranges, &n), -E2BIG);
	free(many);
}

TEST(series_as_users_name_them)
{
	static const struct {
		const char *text, *name;
		int64_t task;
		const char *table;
	} good[] = {
		{"Tasks", "Tasks", -1, NULL},
		{"Task", "Tasks", -1, NULL},
		{"tasks", "Tasks", -1, NULL},
		{"Task_3", "Tasks", 3, NULL},
		{"task_12", "Tasks", 12, NULL},
		{"Tasks/3", "Tasks", 3, NULL},
		{"energy", "Energy", -1, NULL},
		{"NETWORK", "Network", -1, NULL},
		{"filesystem", "Filesystem", -1, NULL},
		{"step", "Step", -1, NULL},
		{"runlatency/7", "RunLatency", 7, NULL},
		{"My_Own", "My_Own", -1, NULL},
		{"Task_x", "Task_x", -1, NULL},
		{"User", "User", -1, NULL},
		{"User/solver", "User", -1, "solver"},
		{"netdev/eth0", "NetDev", -1, "eth0"},
	};
	static const char *const bad[] = {"",	     "/3",	  "Tasks/",
					  "Tasks/x", "Tasks/3/4", "..",
					  ".",	     "a/..",	  "Tasks/99999999999999999999"};
	char name[16], longest[65];
	const char *table;
	int64_t task;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(select__series(good[i].text, name, sizeof(name), &task, &table),
				 0);
		assert_string_equal(name, good[i].name);
		assert_true(task == good[i].task);
		assert_string_equal(table ? table : "", good[i].table ? good[i].table : "");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(select__series(bad[i], name, sizeof(name), &task, &table),
				 -EINVAL);
	memset(longest, 'x', 64);
	longest[64] = '\0';
	assert_int_equal(select__series(longest, name, sizeof(name), &task, &table), -E2BIG);
}
