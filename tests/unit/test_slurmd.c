// SPDX-License-Identifier: GPL-2.0-or-later
/* Made-up /proc trees: whose slurmd it is, and which slurm.conf it reads. */

#include "tests/unit/unit.h"
#include "identity/proc.h"
#include "identity/slurmd.h"

static const char *in_pid(int pid, const char *file)
{
	char name[128];

	snprintf(name, sizeof(name), "%d/%s", pid, file);
	return in_dir(name);
}

static void put(int pid, const char *file, const char *data, size_t len)
{
	FILE *f;

	shell("cd %s && mkdir -p all/run/slurm other %d && ln -sfn ../all %d/root", unit_dir, pid,
	      pid);
	f = fopen(in_pid(pid, file), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static void leads(int pid, const char *link, const char *to)
{
	unlink(in_pid(pid, link));
	assert_int_equal(symlink(to, in_pid(pid, link)), 0);
}

/* args and env: strings with a NUL behind each, as a literal has the last one's. */
#define PROCESS(pid, comm, uid, exe, args, env) \
	process(pid, comm, uid, exe, args, sizeof(args), env, sizeof(env))

static void process(int pid, const char *comm, int uid, const char *exe, const char *args,
		    size_t len, const char *env, size_t env_len)
{
	char text[64];

	put(pid, "comm", comm, strlen(comm));
	snprintf(text, sizeof(text), "Name:\t%s\nUid:\t%d\t%d\t%d\t%d\n", comm, uid, uid, uid, uid);
	put(pid, "status", text, strlen(text));
	put(pid, "cmdline", args, len);
	put(pid, "environ", env, env_len);
	leads(pid, "exe", exe);
}

static int setup(void **state)
{
	proc__set_root(unit_dir);
	put(1, "comm", "test", 4);
	leads(1, "../self", "1");
	return 0;
}

static int teardown(void **state)
{
	proc__set_root("/proc");
	shell("rm -r %s/*", unit_dir);
	return 0;
}

static void is_found(const char *node, const char *squeue, const char *conf)
{
	struct slurmd s;

	assert_int_equal(slurmd__find(&s, node), 0);
	assert_string_equal(s.squeue, squeue);
	assert_string_equal(s.conf, conf);
}

TEST(nobody)
{
	struct slurmd s;

	assert_int_equal(slurmd__find(&s, "n1"), -ENOENT);
	PROCESS(10, "slurmd", 1000, "/usr/sbin/slurmd", "slurmd\0-f\0/tmp/his.conf", "");
	PROCESS(11, "slurmd", 0, "/usr/bin/python3", "slurmd\0-f\0/tmp/his.conf", "");
	PROCESS(12, "slurmdbd", 0, "/usr/sbin/slurmdbd", "slurmdbd", "");
	PROCESS(13, "slurmd", 0, "/usr/sbin/slurmdbd", "slurmd", "");
	PROCESS(14, "slurmd", 0, "/usr/sbin/slurmd", "", ""); /* ends */
	put(14, "cmdline", "", 0);
	PROCESS(15, "slurmd", 0, "/usr/sbin/slurmd", "slurmd\0-f\0etc/slurm.conf", "");
	PROCESS(16, "slurmd", 0, "/home/he/sbin/slurmd", "slurmd\0-N\0n1\0-f\0/home/he/conf", "");
	leads(16, "root", "../other"); /* in a container */
	assert_int_equal(slurmd__find(&s, "n1"), -ENOENT);
	assert_string_equal(s.squeue, "");
	assert_string_equal(s.conf, "");
}

TEST(configurations)
{
	PROCESS(10, "slurmd", 0, "/usr/sbin/slurmd-wlm", "slurmd\0-D\0-s", "A=b");
	is_found("n1", "/usr/bin/squeue", "");
	PROCESS(10, "slurmd", 0, "/opt/s/sbin/slurmd (deleted)", "slurmd\0-Df\0/a b/slurm.conf",
		"");
	is_found("n1", "/opt/s/bin/squeue", "/a b/slurm.conf");
	PROCESS(10, "slurmd", 0, "/opt/s/sbin/slurmd",
		"slurmd\0--systemd\0-f/x.conf\0--conf\0-f/no", "SLURM_CONF=/env.conf");
	is_found("n1", "/opt/s/bin/squeue", "/x.conf");
	PROCESS(10, "slurmd", 0, "/opt/s/sbin/slurmd", "slurmd\0--conf\0Feature=a",
		"A=b\0SLURM_CONF=/env.conf");
	is_found("n1", "/opt/s/bin/squeue", "/env.conf");
	PROCESS(10, "slurmd", 0, "/opt/s/sbin/slurmd", "slurmd", "SLURM_CONF=env.conf");
	is_found("n1", "/opt/s/bin/squeue", "");
	PROCESS(10, "slurmd", 0, "/opt/s/sbin/slurmd", "slurmd\0--conf-server\0a:1,b", "");
	is_found("n1", "/opt/s/bin/squeue", "");
	leads(10, "root/run/slurm/conf", "/spool/conf-cache");
	is_found("n1", "/opt/s/bin/squeue", "/spool/conf-cache/slurm.conf");
	PROCESS(10, "slurmd", 0, "/opt/s/sbin/slurmd", "slurmd\0--conf-server=a", "SLURM_CONF=/e");
	is_found("n1", "/opt/s/bin/squeue", "/spool/conf-cache/slurm.conf");
}

TEST(several)
{
	struct slurmd s;

	PROCESS(10, "slurmd", 0, "/a/sbin/slurmd", "slurmd\0-N\0n1\0-f\0/one", "");
	PROCESS(11, "slurmd", 0, "/b/sbin/slurmd", "slurmd\0-Nn2\0-f\0/two", "");
	is_found("n1", "/a/bin/squeue", "/one");
	is_found("n2", "/b/bin/squeue", "/two");
	assert_int_equal(slurmd__find(&s, "n3"), -ENOENT);
	PROCESS(12, "slurmd", 0, "/c/sbin/slurmd", "slurmd\0-f\0/three", "");
	PROCESS(13, "slurmd", 0, "/c/sbin/slurmd", "slurmd\0-f\0/three", ""); /* its child */
	is_found("n2", "/b/bin/squeue", "/two");
	is_found("n3", "/c/bin/squeue", "/three");
	PROCESS(14, "slurmd", 0, "/c/sbin/slurmd", "slurmd\0-f\0/four", "");
	is_found("n1", "/a/bin/squeue", "/one");
	assert_int_equal(slurmd__find(&s, "n3"), -ENOTUNIQ);
	assert_string_equal(s.squeue, "");
}

static struct unit_fixture fixture = {.setup = setup, .teardown = teardown};
