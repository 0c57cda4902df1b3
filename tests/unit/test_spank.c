// SPDX-License-Identifier: GPL-2.0-or-later
/* The SPANK plugin: names of steps, arguments, and its talk with jobprofd. */

#include "tests/unit/unit.h"
#include "slurm/spank_ids.h"
#include "slurm/spank_link.h"
#include "tests/unit/listener.h"

TEST(names_of_steps)
{
	static const struct {
		uint32_t id;
		const char *title, *name;
	} steps[] = {
		{0, "slurmstepd: [7.0]", "0"},
		{12, NULL, "12"},
		{12, "", "12"},
		{0xfffffffb, "slurmstepd: [7.batch]", "batch"},
		{0xfffffffc, "slurmstepd: [7.extern]", "extern"},
		{0xfffffffa, NULL, "interactive"},
		{0xfffffffd, NULL, "TBD"},
		{0, "slurmstepd: [7.0+0]", "0+0"},
		{3, "slurmstepd: [7.3+12]", "3+12"},
		{3, "slurmstepd: [7.3+12] ", "3+12"},
		/* of others, or made up */
		{3, "slurmstepd: [8.3+1]", "3"},
		{3, "slurmstepd: [7.33+1]", "3"},
		{3, "slurmstepd: [7.3+]", "3"},
		{3, "slurmstepd: [7.3+1", "3"},
		{3, "slurmstepd: [7.3+-1]", "3"},
		{3, "slurmstepd: [7.3+1/../x]", "3"},
		{3, "slurmstepd: [7.3+99999999999]", "3"},
		{3, "x slurmstepd: [7.3+1]", "3"},
	};
	char name[32];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		spank_ids__step_name(name, sizeof(name), 7, steps[i].id, steps[i].title);
		assert_string_equal(name, steps[i].name);
	}
}

static bool env(void *arg, const char *name, char *buf, size_t size)
{
	size_t len = strlen(name);

	for (const char **e = arg; *e; e++) {
		if (strncmp(*e, name, len) || (*e)[len] != '=')
			continue;
		if (strlen(*e + len + 1) >= size)
			return false;
		strcpy(buf, *e + len + 1);
		return true;
	}
	return false;
}

TEST(components)
{
	static const char *plain[] = {"SLURM_JOB_ID=8", NULL};
	static const char *het[] = {"SLURM_HET_SIZE=2", "SLURM_JOB_ID_HET_GROUP_0=7",
				    "SLURM_JOB_ID_HET_GROUP_1=8", NULL};
	static const char *pack[] = {"SLURM_PACK_SIZE=2", "SLURM_JOB_ID_PACK_GROUP_0=7",
				     "SLURM_JOB_ID_PACK_GROUP_1=8", NULL};
	static const char *others[] = {"SLURM_HET_SIZE=2", "SLURM_JOB_ID_HET_GROUP_0=1",
				       "SLURM_JOB_ID_HET_GROUP_1=2", NULL};
	static const char *huge[] = {"SLURM_HET_SIZE=4000000000", "SLURM_JOB_ID_HET_GROUP_0=8",
				     NULL};
	static const struct {
		const char **env;
		uint32_t job_id, offset;
		bool global;
	} cases[] = {
		{plain, JPC_UNKNOWN, JPC_UNKNOWN, true},
		{het, 7, 1, false},
		{pack, 7, 1, false},
		{others, JPC_UNKNOWN, JPC_UNKNOWN, true},
		{huge, JPC_UNKNOWN, JPC_UNKNOWN, true},
	};
	struct jpc_step s = {.job_id = 8, .step_name = "0"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		spank_ids__het(&s, env, cases[i].env);
		assert_int_equal(s.het_job_id, cases[i].job_id);
		assert_int_equal(s.het_offset, cases[i].offset);
		assert_int_equal(spank_ids__gtid_is_global(&s, JPC_UNKNOWN), cases[i].global);
	}
	s.job_id = 7;
	spank_ids__het(&s, env, het);
	assert_int_equal(s.het_offset, 0);
	assert_true(spank_ids__gtid_is_global(&s, JPC_UNKNOWN));
	/* 26.05, "srun -n1 A : -n2 B" in a plain job: no "+1" in the title */
	s.ntasks = 2;
	assert_false(spank_ids__gtid_is_global(&s, 3));
	assert_true(spank_ids__gtid_is_global(&s, 2));
	strcpy(s.step_name, "0+0");
	assert_true(spank_ids__gtid_is_global(&s, JPC_UNKNOWN));
	strcpy(s.step_name, "0+1");
	assert_false(spank_ids__gtid_is_global(&s, JPC_UNKNOWN));
}

TEST(components_have_nodes_of_their_own)
{
	static const char *var[] = {"SLURM_JOB_NODELIST_HET_GROUP_0=n1",
				    "SLURM_JOB_NODELIST_PACK_GROUP_1=n[2-3]", NULL};
	struct jpc_step plain = {.het_offset = JPC_UNKNOWN, .job_node_list = "n[1-3]"};
	struct jpc_step s = {.het_offset = 0, .node_list = "n[1-3]", .job_node_list = "n[1-3]"};
	static const char zeros[sizeof(s.job_node_list)];

	spank_ids__own_nodes(&plain, env, var);
	assert_string_equal(plain.job_node_list, "n[1-3]");
	spank_ids__own_nodes(&s, env, var);
	assert_string_equal(s.job_node_list, "n1");
	assert_memory_equal(s.job_node_list + 2, zeros, sizeof(zeros) - 2);
	assert_memory_equal(s.node_list, zeros, sizeof(s.node_list));
	s.het_offset = 1;
	spank_ids__own_nodes(&s, env, var);
	assert_string_equal(s.job_node_list, "n[2-3]");
	s.het_offset = 2;
	spank_ids__own_nodes(&s, env, var);
	assert_string_equal(s.job_node_list, "");
}

TEST(arguments)
{
	char *good[] = {"socket=/a b", "timeout=7"};
	char *bad[] = {"timeout=1001", "socket=x", "timeout=9", "x"};
	const char *word;
	struct spank_args a;

	assert_int_equal(spank_ids__args(&a, 0, NULL, &word), 0);
	assert_null(a.socket);
	assert_int_equal(a.timeout_ms, SPANK_TIMEOUT_MS);
	assert_int_equal(spank_ids__args(&a, 2, good, &word), 0);
	assert_string_equal(a.socket, "/a b");
	assert_int_equal(a.timeout_ms, 7);
	assert_int_equal(spank_ids__args(&a, 4, bad, &word), -EINVAL);
	assert_string_equal(word, "timeout=1001");
	assert_null(a.socket);
	assert_int_equal(a.timeout_ms, 9);
}

static char said[1024];
static int lines;
static bool was_serious;

static void take_line(const char *line, bool serious)
{
	snprintf(said, sizeof(said), "%s", line);
	was_serious = serious;
	lines++;
}

static int setup(void **state)
{
	lines = 0;
	return listener_begin(state);
}

static struct spank_link new_link(void)
{
	return (struct spank_link){.client.fd = -1,
				   .step = {.job_id = 7, .step_name = "0", .asked = 1},
				   .log = take_line};
}

TEST(nobody_is_there)
{
	struct spank_link k = new_link();

	spank_link__begin(&k, l.path, 1000);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(said, "step 7.0: no jobprofd at "));
	assert_true(was_serious);
	spank_link__task(&k, JPC_TASK, &(struct jpc_task){.gtid = 1});
	spank_link__end(&k);
	assert_int_equal(lines, 1);
	assert_int_equal(k.left_us, 1000000);
}

static unsigned type_of(int fd)
{
	union {
		struct jpc_head head;
		char room[sizeof(struct jpc_step)];
	} m;

	return listener__take(fd, &m, sizeof(m)) > 0 ? m.head.type : 0;
}

/* No answer within its time, here 0: all is said nevertheless, and no more is waited for. */
TEST(it_is_slow)
{
	struct spank_link k = new_link();
	int fd;

	listener__listen(&l);
	spank_link__begin(&k, l.path, 0);
	assert_non_null(strstr(said, "has not answered within 0 ms"));
	spank_link__task(&k, JPC_TASK, &(struct jpc_task){.gtid = 1});
	spank_link__end(&k);
	assert_int_equal(lines, 1);
	fd = listener__accept(&l);
	assert_int_equal(type_of(fd), JPC_STEP);
	assert_int_equal(type_of(fd), JPC_TASK);
	assert_int_equal(type_of(fd), JPC_STEP_END);
	assert_int_equal(listener__take(fd, said, sizeof(said)), 0);
	close(fd);
}

/* Where slurm.conf is is said with the step, which an older jobprofd passes over. */
TEST(it_hears_of_the_configuration)
{
	struct spank_link k = new_link();
	struct jpc_conf conf = {};
	int fd;

	listener__listen(&l);
	strcpy(k.conf, "/a/slurm.conf");
	spank_link__begin(&k, l.path, 0);
	fd = listener__accept(&l);
	assert_int_equal(type_of(fd), JPC_STEP);
	assert_int_equal(listener__take(fd, &conf, sizeof(conf)), sizeof(conf));
	assert_int_equal(conf.head.type, JPC_CONF);
	assert_int_equal(conf.head.flags, 0);
	assert_int_equal(conf.job_id, 7);
	assert_string_equal(conf.step_name, "0");
	assert_string_equal(conf.path, "/a/slurm.conf");
	spank_link__end(&k);
	assert_int_equal(type_of(fd), JPC_STEP_END);
	close(fd);
}

/* The step is said again before anything else, whenever the one who knew it has gone. */
TEST(it_is_restarted)
{
	struct spank_link k = new_link();
	int fd;

	listener__listen(&l);
	spank_link__begin(&k, l.path, 0);
	fd = listener__accept(&l);
	lines = 0;
	k.logged = false;
	for (int i = 0; i < 3; i++) {
		close(fd);
		spank_link__task(&k, JPC_TASK_END, &(struct jpc_task){.gtid = 1});
		fd = listener__accept(&l);
		assert_int_equal(type_of(fd), JPC_STEP);
		assert_int_equal(type_of(fd), JPC_TASK_END);
		assert_int_equal(type_of(fd), 0);
	}
	assert_int_equal(lines, 0);
	close(fd);
	listener__deaf(&l);
	for (int i = 0; i < 3; i++)
		spank_link__task(&k, JPC_TASK_END, &(struct jpc_task){.gtid = 1});
	assert_int_equal(lines, 1);
	listener__listen(&l);
	spank_link__end(&k);
	fd = listener__accept(&l);
	assert_int_equal(type_of(fd), JPC_STEP);
	assert_int_equal(type_of(fd), JPC_STEP_END);
	close(fd);
}

static struct jpc_reply answer(int error, unsigned number, const char *text)
{
	struct jpc_reply r = {.head = {JPC_MAGIC, JPC_VERSION, JPC_REPLY, sizeof(r), 0, 1},
			      .error = error,
			      .number = number};

	strcpy(r.text, text);
	return r;
}

TEST(it_answers)
{
	static const struct {
		int error;
		unsigned number;
		const char *text;
		unsigned asked;
		const char *line;
	} cases[] = {
		{0, 1, "", 1, NULL},
		{0, 0, "", 1, NULL},
		{0, 0, "series=\nnone", 1, "jobprof: step 7.0: it is not profiled: series=?none"},
		{0, 0, "nothing was asked for", 0, NULL},
		{-EPERM, 0, "\x1b", 1, "jobprof: step 7.0: jobprofd refuses it: ?"},
		{-EPERM, 0, "", 0,
		 "jobprof: step 7.0: jobprofd refuses it: Operation not permitted"},
	};

	listener__listen(&l);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jpc_reply r = answer(cases[i].error, cases[i].number, cases[i].text);
		struct spank_link k = new_link();

		k.step.asked = cases[i].asked;
		l.packets[0] = &r;
		l.lengths[0] = sizeof(r);
		lines = 0;
		assert_int_equal(pthread_create(&l.thread, NULL, listener__answer_one, &l), 0);
		spank_link__begin(&k, l.path, 10000);
		assert_true(k.answered);
		assert_int_equal(lines, cases[i].line != NULL);
		if (lines)
			assert_string_equal(said, cases[i].line);
		client__close(&k.client);
		pthread_join(l.thread, NULL);
		assert_int_equal(l.heard_length, sizeof(struct jpc_step));
	}
}

static struct unit_fixture fixture = {.setup = setup, .teardown = listener_end};
