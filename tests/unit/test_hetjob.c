// SPDX-License-Identifier: GPL-2.0-or-later
/* Components of heterogeneous jobs, from the environment that Slurm 22.05 gives to tasks. */

#include "tests/unit/unit.h"
#include "identity/hetjob.h"

static struct hetjob taken(uint32_t job_id, const char *const *env)
{
	struct hetjob h = {.job_id = job_id};

	while (*env)
		hetjob__take(&h, *env++);
	return h;
}

TEST(every_component_finds_itself)
{
	static const char *const batch[] = {"SLURM_JOB_ID=40",
					    "SLURM_JOB_ID_HET_GROUP_1=41",
					    "SLURM_JOB_ID_HET_GROUP_0=40",
					    "SLURM_JOB_ID_PACK_GROUP_0=40",
					    "SLURM_JOB_ID_PACK_GROUP_1=41",
					    NULL};
	static const char *const srun[] = {"SLURM_JOB_ID_PACK_GROUP_0=7",
					   "SLURM_JOB_ID_PACK_GROUP_1=8", NULL};
	const char *const *const envs[] = {batch, srun};
	static const uint32_t leaders[] = {40, 7};

	for (uint32_t i = 0; i < 4; i++) {
		struct hetjob h = taken(leaders[i / 2] + i % 2, envs[i / 2]);

		assert_true(h.has_leader && h.has_offset);
		assert_int_equal(h.leader, leaders[i / 2]);
		assert_int_equal(h.offset, i % 2);
	}
	assert_false(taken(9, srun).has_offset);
}

TEST(nothing_is_made_of_other_strings)
{
	static const char *const bad[] = {"",
					  "SLURM_JOB_ID=5",
					  "SLURM_JOB_ID_HET_GROUP_",
					  "SLURM_JOB_ID_HET_GROUP_=5",
					  "SLURM_JOB_ID_HET_GROUP_0",
					  "SLURM_JOB_ID_HET_GROUP_0=",
					  "SLURM_JOB_ID_HET_GROUP_0=5x",
					  "SLURM_JOB_ID_HET_GROUP_0=0",
					  "SLURM_JOB_ID_HET_GROUP_-1=5",
					  "SLURM_JOB_ID_HET_GROUP_128=5",
					  "SLURM_JOB_ID_HET_GROUP_00000000000000=5",
					  "XSLURM_JOB_ID_HET_GROUP_0=5",
					  "SLURM_JOB_ID_HET_GROUP_0=4294967301",
					  NULL};
	struct hetjob h = taken(5, bad);

	assert_false(h.has_leader);
	assert_false(h.has_offset);
}
