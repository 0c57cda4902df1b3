// SPDX-License-Identifier: GPL-2.0-or-later
/* What a line of "scontrol -o show job" says of a job: as Slurm 22.05 and 26.05 print it, and with
 * words of users in it. */

#include "tests/unit/unit.h"
#include "daemon/child/job_infos.h"

static const char lines_2205[] =
	"JobId=6 JobName=other UserId=root(0) JobState=PENDING TimeLimit=00:01:00\n"
	"JobId=7 JobName=a b UserId=root(0) GroupId=root(0) Priority=1 JobState=RUNNING "
	"Reason=None "
	"Requeue=1 Restarts=0 ExitCode=0:0 RunTime=00:00:01 TimeLimit=1-02:03:04 TimeMin=N/A "
	"SubmitTime=1795574070 EligibleTime=1795574071 AccrueTime=1795574070 MinCPUsNode=1 "
	"MinMemoryCPU=20M MinTmpDiskNode=0 OverSubscribe=NO Contiguous=0 Command=(null) \n";

static const char line_2605[] =
	"JobId=7 JobName=wrap JobState=COMPLETED Reason=None TimeLimit=UNLIMITED "
	"SubmitTime=1795575308 "
	"EligibleTime=Unknown MinMemoryNode=1.50G OverSubscribe=NO Exclusive=NO "
	"SubmitLine=sbatch --wrap=true WorkDir=/tmp \n";

TEST(line_of_22_05)
{
	struct job_facts f;

	assert_true(job_facts__parse(lines_2205, 7, &f));
	assert_int_equal(f.time_limit, 26 * 3600 + 3 * 60 + 4);
	assert_int_equal(f.submitted, 1795574070);
	assert_int_equal(f.eligible, 1795574071);
	assert_true(f.cpu_memory == 20 && isnan(f.node_memory));
	assert_string_equal(f.sharing, "exclusive");
	assert_string_equal(f.state, "RUNNING");
	assert_false(job_facts__ended(&f));
}

TEST(line_of_26_05)
{
	struct job_facts f;

	assert_true(job_facts__parse(line_2605, 7, &f));
	assert_int_equal(f.time_limit, -1);
	assert_int_equal(f.eligible, -1);
	assert_true(f.node_memory == 1536 && isnan(f.cpu_memory));
	assert_string_equal(f.sharing, "shared");
	assert_true(job_facts__ended(&f));
}

static struct job_facts facts(const char *words)
{
	struct job_facts f;
	char line[512];

	snprintf(line, sizeof(line), "JobId=7 %s\n", words);
	assert_true(job_facts__parse(line, 7, &f));
	return f;
}

TEST(values_that_are_none)
{
	assert_int_equal(facts("TimeLimit=Partition_Limit").time_limit, -1);
	assert_int_equal(facts("TimeLimit=1-2").time_limit, -1);
	assert_int_equal(facts("TimeLimit=00:05:00x").time_limit, -1);
	assert_int_equal(facts("TimeLimit=365-00:00:00").time_limit, -1); /* none was set */
	assert_int_equal(facts("TimeLimit=364-23:59:00").time_limit, 31535940);
	assert_int_equal(facts("TimeLimit=00:05:00").time_limit, 300);
	assert_true(isnan(facts("MinMemoryNode=0").node_memory));
	assert_true(isnan(facts("MinMemoryNode=3X").node_memory));
	assert_true(isnan(facts("MinMemoryNode=nan").node_memory));
	assert_true(facts("MinMemoryNode=2G").node_memory == 2048);
	assert_true(facts("MinMemoryCPU=512K").cpu_memory == 0.5);
	assert_int_equal(facts("SubmitTime=2026-11-25T02:55:40").submitted, -1);
	assert_string_equal(facts("OverSubscribe=YES").sharing, "shared");
	assert_string_equal(facts("OverSubscribe=ELSE").sharing, "");
	assert_string_equal(facts("JobState=rm -rf").state, "");
	assert_string_equal(facts("").state, "");
}

TEST(words_of_users)
{
	/* a key that is there twice is not taken */
	assert_int_equal(facts("JobName=x TimeLimit=00:01:00 TimeLimit=00:02:00").time_limit, -1);
	/* within a word it is no key */
	assert_int_equal(facts("JobName=xTimeLimit=00:01:00 TimeLimit=00:02:00").time_limit, 120);
	assert_string_equal(facts("JobName=x Exclusive=NODE Exclusive=NO").sharing, "");
}

TEST(no_line_or_several)
{
	struct job_facts f;

	assert_false(job_facts__parse("", 7, &f));
	assert_int_equal(f.time_limit, -1);
	assert_false(job_facts__parse("NO_SLURM\n", 7, &f));
	assert_false(job_facts__parse(lines_2205, 8, &f));
	assert_false(job_facts__parse("JobId=77 JobState=FAILED\n", 7, &f));
	assert_false(job_facts__parse("JobId=7 JobName=a\nJobId=7 JobState=FAILED\n", 7, &f));
}
