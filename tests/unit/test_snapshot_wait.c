// SPDX-License-Identifier: GPL-2.0-or-later
/* The time budget of a thread at a snapshot, from what its record says it has done since it was
 * last off its CPU. Times are small numbers, worked out by hand. */

#include "tests/unit/unit.h"
#include "sample/snapshot_internal.h"

enum { FIRST = 2, SECOND = 3, SLOTS = 4 };

static struct totals now[SLOTS];
static struct snapshot at;

/* A snapshot at 1000. */
static int set_up(void **state)
{
	memset(now, 0, sizeof(now));
	at = (struct snapshot){.nslots = SLOTS, .now = now, .queue_ns = 1000};
	return 0;
}

/* A thread that left its CPU at 100 to sleep, and is asleep at 1000. */
static struct jp_task_rec asleep(void)
{
	return (struct jp_task_rec){.pid = 1,
				    .sched_slot = FIRST,
				    .wait_slot = FIRST,
				    .open = {.out = 100, .now = 1000, .cause = JP_CAUSE_SLEEP}};
}

static void expect(unsigned slot, uint64_t on, uint64_t stolen, uint64_t queued, uint64_t asleep)
{
	const uint64_t *v = now[slot].v;

	assert_int_equal(v[T_ON_CPU], on);
	assert_int_equal(v[T_STOLEN], stolen);
	assert_int_equal(v[T_CPU_WAIT], queued);
	assert_int_equal(v[T_BLOCKED + JP_CAUSE_SLEEP], asleep);
}

TEST(a_thread_that_sleeps_is_blocked_up_to_the_snapshot)
{
	struct jp_task_rec r = asleep();

	snapshot_add_wait(&at, &r);
	expect(FIRST, 0, 0, 0, 900);
}

TEST(its_account_of_earlier_times_is_added)
{
	struct jp_task_rec r = asleep();

	r.wait = (struct jp_wait){.on_cpu_ns = 50, .stolen_ns = 5, .cpu_wait_ns = 20};
	r.wait.blocked_ns[JP_CAUSE_SLEEP] = 7;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 50, 5, 20, 907);
}

TEST(a_thread_that_was_woken_waits_for_a_cpu_since)
{
	struct jp_task_rec r = asleep();

	r.open.queued = 700;
	r.open.delay = 30; /* of an earlier wait in this gap */
	snapshot_add_wait(&at, &r);
	expect(FIRST, 0, 0, 330, 570);
}

/* Asleep to 600, waiting to 640, on its CPU since; of those 360 it ran for 355. */
TEST(a_thread_that_runs_has_the_wait_and_the_run)
{
	struct jp_task_rec r = asleep();

	r.open.arrived = 640;
	r.open.delay = 40;
	r.open.running = 1;
	r.open.ran = 355;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 360, 5, 40, 500);
}

TEST(a_thread_that_ran_when_it_was_first_seen_ran_all_the_time)
{
	struct jp_task_rec r = asleep();

	r.open.arrived = 20; /* before 100 */
	r.open.running = 1;
	r.open.ran = 900;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 900, 0, 0, 0);
}

TEST(a_thread_that_was_preempted_waits_for_a_cpu)
{
	struct jp_task_rec r = asleep();

	r.open.cause = JP_CAUSE_NONE;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 0, 0, 900, 0);
}

/* The quota kept it for 250; whatever the kernel calls delay. */
TEST(a_throttled_thread_waits_for_a_cpu_when_the_quota_is_over)
{
	struct jp_task_rec r = asleep();

	r.open.cause = JP_CAUSE_THROTTLED;
	r.open.throttled = 250;
	r.open.delay = 900;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 0, 0, 650, 0);
	assert_int_equal(now[FIRST].v[T_BLOCKED + JP_CAUSE_THROTTLED], 250);
	set_up(NULL);
	r.open.throttled = UINT64_MAX; /* it still does */
	snapshot_add_wait(&at, &r);
	assert_int_equal(now[FIRST].v[T_BLOCKED + JP_CAUSE_THROTTLED], 900);
}

/* It moved at 300, while it slept. */
TEST(a_thread_that_moved_leaves_the_time_before_to_its_old_slot)
{
	struct jp_task_rec r = asleep();

	r.sched_slot = SECOND;
	r.open.move = 300;
	r.wait.on_cpu_ns = 50;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 50, 0, 0, 200);
	expect(SECOND, 0, 0, 0, 700);
}

/* It moved at 800, after 160 on its CPU, of which it ran 150; of the 200 after that it ran all. */
TEST(a_thread_that_moved_while_it_ran_shares_its_run_time)
{
	struct jp_task_rec r = asleep();

	r.sched_slot = SECOND;
	r.open.move = 800;
	r.open.arrived = 640;
	r.open.delay = 40;
	r.open.running = 1;
	r.open.ran = 350;
	r.open.moved = 150;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 160, 10, 40, 500);
	expect(SECOND, 200, 0, 0, 0);
}

TEST(a_thread_that_came_from_nowhere_counts_from_its_move)
{
	struct jp_task_rec r = asleep();

	r.wait_slot = JP_SLOT_NONE;
	r.open.move = 300;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 0, 0, 0, 700);
}

/* Records are made one after the other: what one says of the time after the snapshot is left out.
 */
TEST(time_after_the_snapshot_is_of_the_next_one)
{
	struct jp_task_rec r = asleep();

	r.open.now = 1200;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 0, 0, 0, 900);
	set_up(NULL);
	r.open.arrived = 640;
	r.open.delay = 40;
	r.open.running = 1;
	r.open.ran = 555; /* of 560 up to 1200 */
	snapshot_add_wait(&at, &r);
	expect(FIRST, 360, 5, 40, 500);
	set_up(NULL);
	r.open.out = 1100; /* all since is later */
	r.wait.on_cpu_ns = 50;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 50, 0, 0, 0);
}

TEST(an_account_that_is_being_written_counts_alone)
{
	struct jp_task_rec r = asleep();

	r.open.out = 0;
	r.wait.on_cpu_ns = 50;
	snapshot_add_wait(&at, &r);
	expect(FIRST, 50, 0, 0, 0);
}

TEST(sums_are_the_run_time_and_all_of_it)
{
	struct jp_task_rec r = asleep();

	r.wait = (struct jp_wait){.on_cpu_ns = 50, .stolen_ns = 5, .cpu_wait_ns = 20};
	snapshot_add_wait(&at, &r);
	snapshot_sum_wait(&now[FIRST]);
	assert_int_equal(now[FIRST].v[T_RUNNING], 45);
	assert_int_equal(now[FIRST].v[T_THREAD_TIME], 50 + 20 + 900);
}

static struct unit_fixture fixture = {.setup = set_up};
