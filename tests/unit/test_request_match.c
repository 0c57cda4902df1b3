// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests that wait for their steps. */
#include "tests/unit/unit.h"
#include "daemon/follow/follow.h"
#include "daemon/step/step.h"

#define LONG_NS (150 * NSEC_PER_SEC)

/* Messages are read while a step ends: they are later than the instant at which its end began. */
TEST(a_request_that_has_just_come_waits_for_its_step)
{
	struct step_key key = {.step_id = 0, .het_comp = -1, .job_id = 7};
	struct request *requests = request__new(&key);
	struct step *steps = NULL;
	struct step_env env = {.steps = &steps, .requests = &requests};
	uint64_t came;

	assert_non_null(requests);
	came = requests->updated_ns;
	request_match__claim(&env, came - 1);
	assert_non_null(requests);
	request_match__claim(&env, came + 1);
	assert_non_null(requests);
	request_match__claim(&env, came + LONG_NS);
	assert_null(requests);
}
