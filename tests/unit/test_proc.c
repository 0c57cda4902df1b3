// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc: the real one for what it says of ourselves, a made one for what it could say. */
#include "tests/unit/unit.h"

#include "bpf/jobprof.h"
#include "identity/proc.h"

static void put(pid_t pid, const char *file, const char *data, size_t len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d", unit_dir, (int)pid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%d/%s", unit_dir, (int)pid, file);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static void fake(pid_t pid, const char *comm, pid_t ppid, unsigned uid)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "%d (%s) S %d 1 1 0 -1 4194560 0 0 0 0 1 2 0 0 20 0 1 0 777 0\n", (int)pid, comm,
		 (int)ppid);
	put(pid, "stat", text, strlen(text));
	snprintf(text, sizeof(text), "%s\n", comm);
	put(pid, "comm", text, strlen(text));
	snprintf(text, sizeof(text), "Name:\t%s\nUmask:\t0022\nUid:\t%u\t%u\t%u\t%u\n", comm, uid,
		 uid, uid, uid);
	put(pid, "status", text, strlen(text));
}

static int use_fake_root(void **state)
{
	proc__set_root(unit_dir);
	return 0;
}

static int drop_fake_root(void **state)
{
	proc__set_root("/proc");
	shell("rm -rf %s/*", unit_dir);
	return 0;
}

#define FAKE(test) TEST_WITH(test, use_fake_root, drop_fake_root)

/* A child that sleeps, with an environment of its own; killed by its pid. */
static pid_t start_sleeper(char *const env[])
{
	char comm[64] = "", last[8];
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		execle("/bin/sleep", "jp test", "30", NULL, env);
		_exit(127);
	}
	/* a program gets its name first, then arguments, then its environment */
	for (int i = 0; i < 500 && (strcmp(comm, "sleep") != 0 ||
				    proc__environ(pid, "EMPTY", last, sizeof(last)));
	     i++) {
		usleep(10000);
		assert_int_equal(proc__comm(pid, comm, sizeof(comm)), 0);
	}
	assert_string_equal(comm, "sleep");
	return pid;
}

/* The environment of a process that has ended is root's, so that others may not open it. */
static bool is_end(int err)
{
	return err == -ESRCH || (err == -EACCES && geteuid());
}

TEST(a_real_process)
{
	char *const env[] = {"XSLURM_PROCID=1", "SLURM_PROCIDS=2", "SLURM_PROCID=41",
			     "SLURM_PROCID=42", "EMPTY=",	   NULL};
	pid_t pid = start_sleeper(env), ppid = 0;
	int32_t procid = -1;
	char buf[64];
	uid_t uid = 0;

	assert_int_equal(proc__ppid(pid, &ppid), 0);
	assert_int_equal(ppid, getpid());
	assert_int_equal(proc__uid(pid, &uid), 0);
	assert_int_equal(uid, getuid());
	assert_int_equal(proc__title(pid, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "jp test 30");
	assert_int_equal(proc__title(pid, buf, 4), 0);
	assert_string_equal(buf, "jp");
	assert_int_equal(proc__procid(pid, &procid), 0);
	assert_int_equal(procid, 41);
	assert_int_equal(proc__environ(pid, "EMPTY", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
	assert_int_equal(proc__environ(pid, "SLURM", buf, sizeof(buf)), -ENODATA);
	assert_int_equal(proc__environ(pid, "SLURM_PROCID", buf, 2), -E2BIG);
	assert_int_equal(proc__environ(pid, "SLURM_PROCID", buf, 3), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){}, WEXITED | WNOWAIT), 0);
	assert_true(is_end(proc__procid(pid, &procid)));
	waitpid(pid, NULL, 0);
	assert_true(proc__ppid(pid, &ppid) < 0);
	assert_true(proc__procid(pid, &procid) < 0);
	assert_true(proc__title(pid, buf, sizeof(buf)) < 0);
}

#define PROGRAMS "400"

/* Begins itself again, n times. */
static void __attribute__((noreturn)) begin_again(const char *n)
{
	char less[16];

	snprintf(less, sizeof(less), "%d", atoi(n) - 1);
	if (atoi(n) > 0)
		execl("/proc/self/exe", "test_proc", less, NULL);
	_exit(0);
}

/* It is read whole, or not at all: a process that begins another program has none for a moment. */
TEST(environment_while_programs_change)
{
	pid_t pid = fork();
	unsigned whole = 0;
	int32_t procid;

	if (!pid) {
		setenv("SLURM_PROCID", "41", 1);
		begin_again(PROGRAMS);
	}
	/* the first one has the environment of this test */
	while (proc__procid(pid, &procid))
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	while (!waitpid(pid, NULL, WNOHANG)) {
		int err = proc__procid(pid, &procid);

		assert_true(!err || err == -EAGAIN || is_end(err));
		whole += !err;
	}
	assert_true(whole > 0);
}

FAKE(comm_may_look_like_fields)
{
	pid_t ppid = 0;

	fake(100, "a) R 1 2 3 (", 55, 0);
	assert_int_equal(proc__ppid(100, &ppid), 0);
	assert_int_equal(ppid, 55);
}

FAKE(broken_stat_is_an_error)
{
	static const char *const bad[] = {"",
					  "100",
					  "100 (x",
					  "100 (x)",
					  "100 (x) S",
					  "100 (x) S -5 1",
					  "100 (x) S 99999999999 1"};
	pid_t ppid;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(100, "stat", bad[i], strlen(bad[i]));
		assert_int_equal(proc__ppid(100, &ppid), -EINVAL);
	}
	assert_int_equal(proc__ppid(101, &ppid), -ENOENT);
}

FAKE(hostile_environments)
{
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1 ", "01", "x", "2147483648", "99999999999999999999", "1\n"};
	char env[8192], buf[64];
	int32_t procid = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int n = snprintf(env, sizeof(env), "A=b%cSLURM_PROCID=%s", 0, bad[i]);

		put(100, "environ", env, (size_t)n + 1);
		assert_int_equal(proc__procid(100, &procid), -EINVAL);
	}
	assert_int_equal(procid, 7);
	/* Not ended by NUL; found across the border of two reads. */
	memset(env, 'x', sizeof(env));
	memcpy(env + 4090, "\0SLURM_PROCID=12", 16);
	put(100, "environ", env, 4106);
	assert_int_equal(proc__procid(100, &procid), 0);
	assert_int_equal(procid, 12);
	/* Only as a variable of its own, not inside another's value. */
	put(100, "environ", "A=SLURM_PROCID=3", 17);
	assert_int_equal(proc__procid(100, &procid), -ENODATA);
	put(100, "environ", "SLURM_PROCID", 12);
	assert_int_equal(proc__procid(100, &procid), -ENODATA);
	put(100, "environ", "", 0);
	assert_int_equal(proc__environ(100, "A", buf, sizeof(buf)), -ESRCH);
}

static void collect(void *ctx, const char *text)
{
	strcat(ctx, text);
	strcat(ctx, ";");
}

FAKE(every_string_of_an_environment)
{
	char env[8192] = "A=1\0B=\0", out[8192] = "";
	size_t len = 7;

	/* Too long by one, and just not; the latter over the border of two reads. */
	memset(env + len, 'x', 512);
	len += 513;
	memset(env + len, 'y', 4096 - 100 - len);
	len = 4096 - 99;
	memset(env + len, 'z', 511);
	len += 512;
	memcpy(env + len, "C=3\0D", 5);
	put(100, "environ", env, len + 5);
	assert_int_equal(proc__environ_each(100, collect, out), 0);
	assert_int_equal(strlen(out), strlen("A=1;B=;") + 512 + strlen("C=3;"));
	assert_true(!strncmp(out, "A=1;B=;z", 8));
	assert_string_equal(out + strlen(out) - 6, "z;C=3;");
	assert_int_equal(proc__environ_each(101, collect, out), -ENOENT);
}

FAKE(environments_are_read_to_a_bound)
{
	size_t size = 5 << 20;
	char *big = calloc(1, size);
	int32_t procid;

	assert_non_null(big);
	memset(big, 'x', size - 32);
	strcpy(big + size - 31, "SLURM_PROCID=3");
	put(100, "environ", big, size);
	assert_int_equal(proc__procid(100, &procid), -EINVAL);
	free(big);
}

static void title_is(const char *title, uint32_t job, const char *step)
{
	char name[65] = "";
	uint32_t id = 0;

	if (proc__stepd_title(title, &id, name, sizeof(name)))
		fail_msg("\"%s\" was refused", title);
	assert_int_equal(id, job);
	assert_string_equal(name, step);
}

TEST(titles_of_slurmstepd)
{
	static const char longest[] = "slurmstepd: [67108863+127.4294967280+127 stepmgr]";

	title_is("slurmstepd: [3.batch] ", 3, "batch");
	title_is("slurmstepd: [3.1]    ", 3, "1");
	title_is("slurmstepd: [5.0]", 5, "0");
	title_is("slurmstepd: [7.extern]", 7, "extern");
	title_is("slurmstepd: [7.interactive]", 7, "interactive");
	title_is("slurmstepd: [7.extern stepmgr] ", 7, "extern");
	title_is("slurmstepd: [7+1.0]", 8, "0");
	title_is("slurmstepd: [7.0+1]", 7, "0+1");
	title_is(longest, 67108990, "4294967280+127");
	assert_true(sizeof(longest) <= JP_TITLE_LEN);
}

TEST(titles_nobody_should_believe)
{
	static const char *const bad[] = {
		"",
		"slurmstepd",
		"slurmstepd: ",
		"slurmstepd: [",
		"slurmstepd: []",
		"slurmstepd: [3]",
		"slurmstepd: [3.]",
		"slurmstepd: [.0]",
		"slurmstepd: [0.0]",
		"slurmstepd: [-3.0]",
		"slurmstepd: [3.0",
		"slurmstepd: [3.0]x",
		"slurmstepd: [3.0] x",
		"slurmstepd: [3.../x]",
		"slurmstepd: [3.foo]",
		"slurmstepd: [3.4294967292]",
		"slurmstepd: [4294967296.0]",
		"slurmstepd: [4294967295+1.0]",
		"slurmstepd: [3+.0]",
		"slurmstepd: [3+x.0]",
		"slurmstepd infinity",
		" slurmstepd: [3.0]",
		"slurmstepd: [3.extern stepmgr",
		"slurmstepd: [3.extern] stepmgr",
		"slurmstepd: [3.externstepmgr]",
		"slurmstepd: [3.extern  stepmgr]",
		"slurmstepd: [3.extern stepmgr stepmgr]",
		"slurmstepd: [3.extern stepmgr ]",
		"slurmstepd: [3.extern STEPMGR]",
		"slurmstepd: [3. stepmgr]",
		"slurmstepd: [ stepmgr]",
		"slurmstepd: [stepmgr]",
		"slurmstepd: [ 3.0]",
		"slurmstepd: [33333333333333333333333333333333333333333333333333333333333333333333"
		"333333333333333333333333333333333333.0]",
	};
	char name[65];
	uint32_t id;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (proc__stepd_title(bad[i], &id, name, sizeof(name)) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
	assert_int_equal(proc__stepd_title("slurmstepd: [3.batch]", &id, name, 3), -EINVAL);
}

FAKE(root_of_a_lineage)
{
	pid_t task = 0;

	fake(200, "slurmstepd", 1, 0);
	fake(201, "bash", 200, 1000);
	fake(202, "python", 201, 1000);
	fake(203, "sh", 202, 1000);
	assert_int_equal(proc__root_of(203, &task), 0);
	assert_int_equal(task, 201);
	assert_int_equal(proc__root_of(201, &task), 0);
	assert_int_equal(task, 201);
	task = 0;
	assert_int_equal(proc__root_of(200, &task), -ENOENT);
	assert_int_equal(task, 0);
}

FAKE(users_do_not_become_slurmstepd)
{
	pid_t task = 0;

	fake(200, "slurmstepd", 1, 0);
	fake(201, "slurmstepd", 200, 1000); /* his own prctl(PR_SET_NAME) */
	fake(202, "sh", 201, 1000);
	assert_int_equal(proc__root_of(202, &task), 0);
	assert_int_equal(task, 201);
}

FAKE(loops_and_gaps_end)
{
	pid_t task;

	fake(300, "a", 301, 0);
	fake(301, "b", 300, 0);
	assert_int_equal(proc__root_of(300, &task), -ELOOP);
	fake(302, "c", 302, 0);
	assert_int_equal(proc__root_of(302, &task), -ENOENT);
	fake(303, "d", 999, 0);
	assert_int_equal(proc__root_of(303, &task), -ENOENT);
	fake(304, "e", 0, 0);
	assert_int_equal(proc__root_of(304, &task), -ENOENT);
}

static int begin_with(char **args)
{
	begin_again(args[0]);
}

static struct unit_fixture fixture = {.with_args = begin_with};
