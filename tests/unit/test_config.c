// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprof.conf: keys, Slurm's files, included files, and what is refused. */

#include "tests/unit/unit.h"
#include "base/config/config.h"
#include "kern/pmu/perf_event.h"

static char said[16384]; /* what the last load() wrote to stderr */

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(in_dir(name), 0644);
}

static int load_file(struct config *c, const char *name)
{
	int saved = dup(STDERR_FILENO), ret;
	FILE *f = tmpfile();
	size_t n;

	assert_int_equal(config__init(c), 0);
	dup2(fileno(f), STDERR_FILENO);
	ret = config__load(c, in_dir(name));
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = '\0';
	fclose(f);
	return ret;
}

static int load(struct config *c, const char *text)
{
	put("jobprof.conf", text);
	return load_file(c, "jobprof.conf");
}

/* Loading text fails and says so. */
static void refused(const char *text, const char *message)
{
	struct config c;

	assert_int_equal(load(&c, text), -EINVAL);
	if (!strstr(said, message))
		fail_msg("\"%s\" is not in: %s", message, said);
	config__free(&c);
}

TEST(defaults)
{
	struct config c;
	char host[256] = "";

	assert_int_equal(load(&c, ""), 0);
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	assert_null(c.hdf5_dir);
	assert_string_equal(c.hdf5_default, "none");
	assert_string_equal(c.state_dir, "/var/lib/jobprof");
	assert_string_equal(c.pin_dir, "/sys/fs/bpf/jobprof");
	assert_string_equal(c.node_name, host);
	assert_int_equal(c.max_slots, 0); /* by the number of CPUs */
	assert_true(c.live_files && c.publish_interval == 600);
	assert_true(c.freq.s[FREQ_TASK] == 30);
	assert_int_equal(c.log_level, LOGL_INFO);
	assert_int_equal(c.n_cgroup_patterns, 0);
	assert_string_equal(c.perf_events, PERF_EVENTS_DEFAULT);
	assert_int_equal(c.perf_mode, PERF_MODE_AUTO);
	assert_int_equal(c.node_tables, NODE_TABLES_EXCLUSIVE);
	assert_false(c.extern_all);
	assert_null(c.profile_group);
	assert_true(c.perf_budget == 1);
	assert_string_equal(config__where(&c, "PerfEvents"), "default");
	config__free(&c);
	config__free(NULL);
}

TEST(every_key)
{
	struct config c;

	assert_int_equal(
		load(&c, "ProfileHDF5Dir=/shared/prof\n"
			 "profilehdf5default = task,sched\n"
			 "JobAcctGatherFrequency=task=0.5,energy=5\n"
			 "ClusterName=tux\nNodeName=n_1\nStateDir=/s\nPinDir=/p\n"
			 "MaxSlots=16\nLiveFiles=no\nPublishInterval=0\nCgroupPattern=/a/b-*\n"
			 "CgroupPattern=/c/*\nCgroupRoot=/docker/x\nWriter=/w\nBTF=/b\n"
			 "PerfEvents=cycles:u,cpu/event=1,umask=2/\nPerfMode=Sampled\n"
			 "PerfBudget=0.5%\nOverheadBudget=0\nLogLevel=Debug\nNodeTables=Never\n"
			 "ExternSteps=ALL\nProfileGroup=support\n"
			 "ProfileRetention=90.5\nProfileQuota=20480\n"),
		0);
	assert_string_equal(said, "");
	assert_string_equal(c.hdf5_dir, "/shared/prof");
	assert_string_equal(c.hdf5_default, "task,sched");
	assert_true(c.freq.s[FREQ_TASK] == 0.5 && c.freq.s[FREQ_ENERGY] == 5);
	assert_string_equal(c.cluster, "tux");
	assert_string_equal(c.node_name, "n_1");
	assert_string_equal(c.state_dir, "/s");
	assert_string_equal(c.pin_dir, "/p");
	assert_int_equal(c.max_slots, 16);
	assert_true(c.retention_days == 90.5 && c.quota_mib == 20480);
	assert_true(!c.live_files && c.publish_interval == 0);
	assert_int_equal(c.n_cgroup_patterns, 2);
	assert_string_equal(c.cgroup_patterns[1], "/c/*");
	assert_string_equal(c.cgroup_root, "/docker/x");
	assert_string_equal(c.writer, "/w");
	assert_string_equal(c.btf, "/b");
	assert_string_equal(c.perf_events, "cycles:u,cpu/event=1,umask=2/");
	assert_int_equal(c.perf_mode, PERF_MODE_SAMPLED);
	assert_true(c.perf_budget == 0.5 && c.overhead_budget == 0);
	assert_non_null(strstr(config__where(&c, "PerfEvents"), "/jobprof.conf:16"));
	assert_int_equal(c.log_level, LOGL_DEBUG);
	assert_int_equal(c.node_tables, NODE_TABLES_NEVER);
	assert_true(c.extern_all);
	assert_string_equal(c.profile_group, "support");
	config__free(&c);
}

TEST(syntax_is_slurms)
{
	struct config c;

	assert_int_equal(load(&c, "# a comment\r\n\n   \t\n"
				  "  ProfileHDF5Dir=\"/with blank\" # more\r\n"
				  "StateDir=/a\\#b PinDir=/two/on/a/line\n"
				  "ProfileHDF5Default=task,\\\nsched\n"
				  "Cluster\\\nName=tux"),
			 0);
	assert_string_equal(c.hdf5_dir, "/with blank");
	assert_string_equal(c.state_dir, "/a#b");
	assert_string_equal(c.pin_dir, "/two/on/a/line");
	assert_string_equal(c.hdf5_default, "task,sched");
	assert_string_equal(c.cluster, "tux");
	config__free(&c);
}

TEST(a_backslash_continues_the_line)
{
	struct config c;

	assert_int_equal(load(&c, "StateDir=/s \\\n  \\\n PinDir=/p \\\n"), 0);
	assert_string_equal(c.state_dir, "/s");
	assert_string_equal(c.pin_dir, "/p");
	config__free(&c);
	refused("\n\nStateDir=/s \\\n\\\nFoo=1\n", "jobprof.conf:3: unknown key \"Foo\"");
}

TEST(unknown_keys_name_the_nearest)
{
	refused("\nMaxSlot=5\n",
		"jobprof.conf:2: unknown key \"MaxSlot\", did you mean \"MaxSlots\"?");
	refused("ProfileHDF5Dri=/x\n", "did you mean \"ProfileHDF5Dir\"?");
	refused("Zzzzzz=5\n", "jobprof.conf:1: unknown key \"Zzzzzz\"\n");
	refused("AcctGatherProfileType=x\n", "unknown key");
}

TEST(bad_values_say_what_is_valid)
{
	refused("MaxSlots=8\n", "MaxSlots: \"8\" is not a number from 16 to 4096");
	refused("MaxSlots=4097\n", "from 16 to 4096");
	refused("MaxSlots=-1\n", "from 16 to 4096");
	refused("PublishInterval=0.5\n", "0 (only at the end) or 1 to 86400");
	refused("ProfileHDF5Dir=shared\n", "not an absolute path");
	refused("StateDir=var\n", "not an absolute path");
	refused("NodeName=a/b\n", "is not a name");
	refused("NodeName=..\n", "is not a name");
	refused("PerfMode=fast\n", "one of auto, exact, sampled, off");
	refused("PerfBudget=0.001\n", "PerfBudget: \"0.001\" is not a percentage from 0.01 to 20");
	refused("PerfBudget=21\n", "from 0.01 to 20");
	refused("OverheadBudget=no\n", "OverheadBudget: \"no\" is not a percentage from 0 to 100");
	refused("PerfBudget=1%%\n", "from 0.01 to 20");
	refused("PerfBudget=%\n", "from 0.01 to 20");
	refused("MaxSlots=100%\n", "MaxSlots");
	refused("NodeTables=yes\n", "one of exclusive, always, never");
	refused("ExternSteps=none\n", "one of used, all");
	refused("ProfileGroup=a/b\n", "is not a name");
	refused("LogLevel=loud\n", "one of error, warn, info, debug");
	refused("JobAcctGatherFrequency=task=0.01\n", "0.1 to 86400");
	refused("JobAcctGatherFrequency=cpu=1\n", "task, energy");
	refused("CgroupPattern=a/*\n", "not an absolute path");
	refused("CgroupPattern=/1\nCgroupPattern=/2\nCgroupPattern=/3\nCgroupPattern=/4\n"
		"CgroupPattern=/5\nCgroupPattern=/6\nCgroupPattern=/7\nCgroupPattern=/8\n"
		"CgroupPattern=/9\n",
		":9: CgroupPattern: at most 8");
}

TEST(broken_lines_are_errors)
{
	refused("MaxStacks=1023\n", "MaxStacks: \"1023\" is not a number from 1024 to 1048576");
	refused("MaxCgroups=0\n", "MaxCgroups: \"0\" is not a number from 1024 to 1048576");
	refused("RingSize=128\n", "RingSize: \"128\" is not a number from 256 to 262144");
	refused("RingSize=1000\n", "RingSize: 1000 is not a power of two");
	refused("MaxSlots\n", "expected Key=Value");
	refused("=5\n", "expected Key=Value");
	refused("MaxSlots=\n", "there is no value");
	refused("ProfileHDF5Default=\"\"\n", "there is no value");
	refused("StateDir=\"/a\n", "quote does not end");
	refused("StateDir=\"/a\"b\n", "follows the closing quote");
	refused("StateDir=/a b\n", "expected Key=Value");
	refused("MaxSlots+=5\n", "expected Key=Value");
	refused("\x01\x02\n", "\\x01");
	refused("Include\n", "expected Key=Value");
}

TEST(all_errors_are_reported)
{
	refused("Foo=1\nMaxSlots=1\nBar=2\n", ":1: unknown key \"Foo\"");
	assert_non_null(strstr(said, ":2: MaxSlots"));
	assert_non_null(strstr(said, ":3: unknown key \"Bar\""));
}

TEST(binary_files_are_refused)
{
	struct config c;
	FILE *f = fopen(in_dir("jobprof.conf"), "w");

	fwrite("a\0b\n", 1, 4, f);
	fclose(f);
	assert_int_equal(load_file(&c, "jobprof.conf"), -EINVAL);
	assert_non_null(strstr(said, "not a text file"));
	config__free(&c);
}

TEST(a_key_given_twice_is_said)
{
	struct config c;

	assert_int_equal(load(&c, "MaxSlots=32\nmaxslots=64\n"), 0);
	assert_int_equal(c.max_slots, 64);
	assert_non_null(strstr(said, ":2: maxslots is given twice"));
	config__free(&c);
}

TEST(slurms_files_are_taken_for_what_they_say)
{
	struct config c;

	put("slurm.conf", "ClusterName=tux SlurmctldHost=head(10.0.0.1)\n"
			  "NodeName=n[1-4] CPUs=2 State=UNKNOWN\n"
			  "PartitionName=debug Nodes=ALL Default=YES\n"
			  "JobAcctGatherFrequency=task=2,energy=10\n"
			  "StateDir=/not/ours\nthis is not understood\n"
			  "include more.conf\n");
	put("more.conf", "AcctGatherProfileType=acct_gather_profile/hdf5\nMaxSlots=99999\n");
	put("acct_gather.conf", "ProfileHDF5Dir=/prof\nProfileHDF5Default=Task\n"
				"EnergyIPMIFrequency=10\n");
	assert_int_equal(load(&c, "Include slurm.conf\nInclude=acct_gather.conf\n"), 0);
	assert_string_equal(said, "");
	assert_string_equal(c.cluster, "tux");
	assert_string_equal(c.hdf5_dir, "/prof");
	assert_string_equal(c.hdf5_default, "Task");
	assert_true(c.freq.s[FREQ_TASK] == 2 && c.freq.s[FREQ_ENERGY] == 10);
	assert_string_not_equal(c.node_name, "n[1-4]");
	assert_string_equal(c.state_dir, "/var/lib/jobprof");
	config__free(&c);

	put("slurm.conf", "JobAcctGatherFrequency=often\n");
	assert_int_equal(load(&c, "Include slurm.conf\n"), -EINVAL);
	assert_non_null(strstr(said, "slurm.conf:1: JobAcctGatherFrequency"));
	config__free(&c);
}

TEST(slurms_files_are_read_as_slurm_reads_them)
{
	struct config c;

	put("slurm.conf", "ClusterName=EnCCS\nInclude node-%c.conf\nInclude parts-*.conf\n");
	put("node-enccs.conf", "JobAcctGatherFrequency=task=15,\n");
	assert_int_equal(load(&c, "Include slurm.conf\n"), 0);
	assert_string_equal(said, "");
	assert_string_equal(c.cluster, "enccs");
	assert_true(c.freq.s[FREQ_TASK] == 15);
	config__free(&c);

	put("slurm.conf", "JobAcctGatherFrequency=task=15,gpu=3\n");
	assert_int_equal(load(&c, "Include slurm.conf\n"), 0);
	assert_non_null(strstr(said, "slurm.conf:1: JobAcctGatherFrequency: \"gpu=3\""));
	assert_null(c.error);
	config__free(&c);
	refused("JobAcctGatherFrequency=task=15,gpu=3\n", "jobprof.conf:1: ");

	put("slurm.conf", "\xef\xbb\xbf"
			  "ClusterName=tux\n");
	refused("Include slurm.conf\n", "slurm.conf:1: a byte order mark");
	put("slurm.conf", "Include node-%c.conf\nClusterName=tux\n");
	refused("Include slurm.conf\n", "slurm.conf:1: Include node-%c.conf: no ClusterName");
}

TEST(the_first_error_is_kept)
{
	struct config c;

	assert_int_equal(load(&c, "\nFoo=1\nMaxSlots=1\n"), -EINVAL);
	config__complain(&c, config__where(&c, "MaxSlots"), "MaxSlots: a later one");
	assert_non_null(
		strstr(c.error, "/jobprof.conf has an error in line 2: unknown key \"Foo\""));
	config__free(&c);
	assert_int_equal(load(&c, "PerfEvents=x\n\nCgroupPattern=/a/*\nCgroupPattern=/b/*\n"), 0);
	assert_null(c.error);
	assert_non_null(strstr(c.pattern_where[0], ":3"));
	assert_non_null(strstr(c.pattern_where[1], ":4"));
	config__complain(&c, config__where(&c, "PerfEvents"), "PerfEvents: no such event");
	assert_non_null(strstr(c.error, "has an error in line 1: PerfEvents: no such event"));
	config__free(&c);
}

TEST(what_is_given_is_on_one_line)
{
	char line[512] = "";
	struct config c;
	FILE *f;

	assert_int_equal(load(&c, "MaxSlots=99\nCgroupPattern=/x/*\nCgroupPattern=/y/*\n"), 0);
	assert_int_equal(config__override(&c, "LogLevel", "debug"), 0);
	assert_true(config__is_overridden(&c, "LogLevel") && !config__is_given(&c, "PinDir"));
	f = tmpfile();
	config__print_given(&c, f);
	rewind(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line,
			    " MaxSlots=99 CgroupPattern=/x/* CgroupPattern=/y/* LogLevel=debug");
	fclose(f);
	config__free(&c);
}

TEST(our_includes_are_held_to_our_rules)
{
	struct config c;

	put("node-n7.conf", "MaxSlots=64\nOops=1\n");
	assert_int_equal(load(&c, "NodeName=n7\nInclude node-%n.conf\n"), -EINVAL);
	assert_int_equal(c.max_slots, 64);
	assert_non_null(strstr(said, "node-n7.conf:2: unknown key \"Oops\""));
	config__free(&c);
	refused("\nInclude missing.conf\n", "jobprof.conf:2: Include");
	assert_non_null(strstr(said, "No such file"));
}

static unsigned times_said(const char *text)
{
	unsigned n = 0;

	for (const char *at = said; (at = strstr(at, text)); at++)
		n++;
	return n;
}

TEST(a_file_that_includes_itself_is_one_error)
{
	struct config c;
	char name[24], text[64];

	refused("Include jobprof.conf\nOops=1\nInclude jobprof.conf\n",
		"jobprof.conf: cannot read it: it is included by itself");
	assert_non_null(strstr(said, "jobprof.conf:1: Include"));
	assert_non_null(strstr(said, "jobprof.conf:3: Include"));
	assert_int_equal(times_said("\n"), 3);

	put("a.conf", "Oops=1\nInclude b.conf\n");
	put("b.conf", "\nOops=2\nInclude a.conf\n");
	refused("Include a.conf\n", "b.conf:3: Include");
	assert_int_equal(times_said("it is included by itself"), 1);
	assert_int_equal(times_said("Oops"), 2);

	put("slurm.conf", "JobAcctGatherFrequency=often\nInclude slurm.conf\n");
	refused("Include slurm.conf\n", "slurm.conf:2: Include");
	assert_int_equal(times_said("\n"), 2);

	put("a.conf", "MaxSlots=64\n"); /* twice in a row is no circle */
	assert_int_equal(load(&c, "Include a.conf\nInclude a.conf\n"), 0);
	config__free(&c);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "deep%d.conf", i);
		snprintf(text, sizeof(text), "Include deep%d.conf\n", i + 1);
		put(name, text);
	}
	refused("Include deep0.conf\n", "deep6.conf:1: Include deep7.conf: more than 8 files");
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "deep%d.conf", i);
		unlink(in_dir(name));
	}
}

TEST(all_that_is_wrong_in_a_list_is_said)
{
	refused("JobAcctGatherFrequency=task=0.01,foo=3,energy=5,=1\n",
		":1: JobAcctGatherFrequency: \"task=0.01\": seconds");
	assert_non_null(strstr(said, "; \"foo=3\" is not"));
	assert_non_null(strstr(said, "; \"=1\" is not"));
	assert_null(strstr(said, "energy=5"));
	put("slurm.conf", "JobAcctGatherFrequency=task=0.01,foo=3\n");
	refused("Include slurm.conf\n", "slurm.conf:1: JobAcctGatherFrequency: \"task=0.01\"");
	assert_non_null(strstr(said, "; \"foo=3\" is not"));
}

TEST(unreadable_files_give_their_error)
{
	struct config c;

	assert_int_equal(load_file(&c, "absent.conf"), -ENOENT);
	assert_non_null(strstr(said, "absent.conf: cannot read the configuration: No such file"));
	config__free(&c);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(load_file(&c, "fifo"), -ENOTSUP);
	config__free(&c);
	unlink(in_dir("fifo"));
}

TEST(root_reads_no_file_that_others_write)
{
	struct config c;

	if (geteuid() != 0) {
		print_message("SKIP: only root refuses such files, and this is not root\n");
		skip();
	}
	put("w.conf", "MaxSlots=64\n");
	chmod(in_dir("w.conf"), 0646);
	assert_int_equal(load_file(&c, "w.conf"), -EPERM);
	assert_non_null(strstr(said, "others than its owner may write it"));
	config__free(&c);
	chmod(in_dir("w.conf"), 0664);
	assert_int_equal(load_file(&c, "w.conf"), 0);
	config__free(&c);
	assert_int_equal(chown(in_dir("w.conf"), 65534, 65534), 0);
	assert_int_equal(load_file(&c, "w.conf"), -EPERM);
	config__free(&c);
	chmod(in_dir("w.conf"), 0644);
	assert_int_equal(load_file(&c, "w.conf"), 0);
	config__free(&c);
}

TEST(what_is_printed_can_be_read_again)
{
	struct config c, again;
	FILE *f;

	assert_int_equal(load(&c, "ProfileHDF5Dir=\"/a b\"\nMaxSlots=99\nCgroupPattern=/x/*\n"
				  "JobAcctGatherFrequency=task=0,latency=0\n"),
			 0);
	f = fopen(in_dir("printed.conf"), "w");
	config__print(&c, f);
	fclose(f);
	chmod(in_dir("printed.conf"), 0644);
	assert_int_equal(load_file(&again, "printed.conf"), 0);
	assert_string_equal(again.hdf5_dir, "/a b");
	assert_int_equal(again.max_slots, 99);
	assert_string_equal(again.cgroup_patterns[0], "/x/*");
	assert_true(freq__at_end(&again.freq, FREQ_TASK) && freq__at_end(&again.freq, FREQ_STEP));
	assert_false(freq__at_end(&again.freq, FREQ_LATENCY));
	config__free(&c);
	config__free(&again);
}

/* Every key is in the example, commented out with its default or a sample, and valid there. */
TEST(the_example_is_valid_and_complete)
{
	FILE *in = fopen("conf/jobprof.conf.example", "r"), *out, *keys;
	char line[1024], name[64], *text;
	struct config c;
	size_t n;

	assert_non_null(in);
	text = calloc(1, 65536);
	n = fread(text, 1, 65535, in);
	assert_in_range(n, 1, 65534);
	rewind(in);
	out = fopen(in_dir("example.conf"), "w");
	while (fgets(line, sizeof(line), in))
		fputs(line[0] == '#' && line[1] != ' ' && strncmp(line, "#Include", 8) != 0
			      ? line + 1
			      : line,
		      out);
	fclose(out);
	fclose(in);
	chmod(in_dir("example.conf"), 0644);
	assert_int_equal(load_file(&c, "example.conf"), 0);
	assert_string_equal(said, "");
	config__free(&c);

	keys = tmpfile();
	config__print_keys(keys);
	rewind(keys);
	while (fgets(line, sizeof(line), keys)) {
		char want[80];

		if (line[0] == ' ' || sscanf(line, "%63s", name) != 1)
			continue;
		snprintf(want, sizeof(want), "\n#%s=", name);
		if (!strstr(text, want))
			fail_msg("%s is not in the example", name);
	}
	fclose(keys);
	free(text);
}

static int begin(void **state)
{
	log__init("test", LOGL_INFO);
	return 0;
}

static struct unit_fixture fixture = {.setup_all = begin};
