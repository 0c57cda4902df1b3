// SPDX-License-Identifier: GPL-2.0-or-later
/* What is kept of the environment of a step's first program: its user has written it. */

#include "tests/unit/unit.h"
#include <sys/socket.h>

#include "daemon/lookup/lookup.h"

/* As the kernel keeps it. */
static const struct lookup_env *read_env(const char *text, size_t len)
{
	static struct lookup_env env;
	char *exact = malloc(len ? len : 1); /* for the sanitizer */

	memcpy(exact, text, len);
	memset(&env, 0, sizeof(env));
	lookup_env__parse(exact, len, 12, &env);
	free(exact);
	return &env;
}

#define READ(text) read_env(text, sizeof(text) - 1)

static const char *value(const struct lookup_env *e, const char *attr)
{
	for (int i = 0; i < ENV_ATTRS; i++)
		if (!strcmp(env_attrs[i].attr, attr))
			return e->values[i];
	fail_msg("there is no attribute %s", attr);
	return NULL;
}

TEST(strings_of_slurms)
{
	const struct lookup_env *e =
		READ("SLURM_JOB_NAME=a b\0SLURM_NODEID=1\0SLURM_JOB_NODELIST=n[07-09,3]\0");

	assert_string_equal(value(e, "Job Name"), "a b");
	assert_string_equal(value(e, "Node Index"), "1");
	assert_string_equal(value(e, "Account"), "");
	assert_string_equal(e->job_host, "n07");
	assert_false(e->het);
}

TEST(nodes_of_all_components_are_not_its_own)
{
	const struct lookup_env *e =
		READ("SLURM_JOB_NAME=a\0SLURM_JOB_NODELIST=n[07-09,3]\0SLURM_STEP_NUM_NODES=4\0"
		     "SLURM_JOB_ID_HET_GROUP_0=11\0SLURM_JOB_ID_HET_GROUP_1=12\0");

	assert_string_equal(value(e, "Job Name"), "a");
	assert_string_equal(value(e, "Nodes in Step"), "");
	assert_string_equal(e->job_host, "");
	assert_true(e->het);
	assert_int_equal(e->het_leader, 11);
	assert_int_equal(e->het_offset, 1);
}

TEST(the_first_of_a_name_counts)
{
	const struct lookup_env *e =
		READ("SLURM_JOB_NAME=a\0SLURM_JOB_NAME=b\0SLURM_JOB_NAME2=c\0XSLURM_NODEID=1\0");

	assert_string_equal(value(e, "Job Name"), "a");
	assert_string_equal(value(e, "Node Index"), "");
}

TEST(without_an_end_it_is_no_string)
{
	const struct lookup_env *e = READ("SLURM_NODEID=1\0SLURM_JOB_NAME=a");

	assert_string_equal(value(e, "Node Index"), "1");
	assert_string_equal(value(e, "Job Name"), "");
	e = READ("");
	assert_string_equal(e->job_host, "");
	assert_false(e->het);
}

TEST(too_long_is_left_out)
{
	char text[LOOKUP_TEXT + 64] = "SLURM_JOB_NAME=";

	memset(text + strlen(text), 'x', sizeof(text) - strlen(text) - 1);
	assert_true(strlen(value(read_env(text, sizeof(text)), "Job Name")) < LOOKUP_TEXT);
}

/* The error of a helper that is asked about this process as one of that user's. */
static int ask_of(uid_t uid)
{
	const struct lookup q = {.kind = LOOKUP_ENV, .pid = getpid(), .uid = uid};
	static struct lookup_answer a;
	int ends[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ends[0]);
		lookup__serve(ends[1]);
	}
	close(ends[1]);
	assert_int_equal(send(ends[0], &q, sizeof(q), 0), sizeof(q));
	assert_true(recv(ends[0], &a, sizeof(a), 0) > 0);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return a.err;
}

TEST(a_number_that_another_users_process_has_now)
{
	assert_int_equal(ask_of(getuid()), 0);
	assert_int_equal(ask_of((uid_t)-1), 0); /* the user is not known */
	assert_int_equal(ask_of(getuid() + 1), -ESRCH);
}
