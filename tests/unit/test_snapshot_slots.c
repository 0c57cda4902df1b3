// SPDX-License-Identifier: GPL-2.0-or-later
/* Slots change between a snapshot and what is made of it: all of that sees one state. */
#include "tests/unit/unit.h"
#include "daemon/step/step.h"
#include "kern/internal.h"
#include "sample/snapshot_internal.h"

enum { STEP = JP_SLOT_FIRST, TASK, LATE, OTHER_STEP, SLOTS };

static struct jp_slot slots[SLOTS];
static struct jp_sched sched[SLOTS];
static struct jp_acct accounts[SLOTS];
static struct jp_control control;
static bool released[SLOTS];
static uint32_t used[SLOTS];
static struct kern kernel;
static struct snapshot *snap;
static struct step step;

/* As the kernel side gives a slot. */
static void give(uint32_t slot, uint32_t kind, uint32_t of, int gtid)
{
	slots[slot] = (struct jp_slot){.state = JP_SLOT_ACTIVE,
				       .gen = slots[slot].gen + 1,
				       .kind = kind,
				       .step = of,
				       .gtid = gtid};
	control.stats.slots_changed++;
}

static void take_back(uint32_t slot)
{
	slots[slot] = (struct jp_slot){.gen = slots[slot].gen + 1};
	control.stats.slots_changed++;
}

/* A step with one task, of number 0. */
static int set_up(void **state)
{
	kernel = (struct kern){.control = &control,
			       .slots = slots,
			       .sched = sched,
			       .acct = accounts,
			       .released = released,
			       .used = used,
			       .nslots = SLOTS,
			       .ncpus = 1};
	memset(slots, 0, sizeof(slots));
	memset(sched, 0, sizeof(sched));
	control.stats.slots_changed++;
	step = (struct step){.slot = STEP};
	give(STEP, JP_KIND_STEP, STEP, JP_GTID_NONE);
	give(TASK, JP_KIND_TASK, STEP, 0);
	snap = snapshot__new(&kernel);
	return snap ? 0 : -1;
}

static int tear_down(void **state)
{
	snapshot__free(snap);
	free(step.slots);
	free(step.slot_owners);
	return 0;
}

static void expect_slots(struct slots from, uint32_t task, int gtid)
{
	step__collect_slots(&step, from);
	assert_int_equal(step.nslots, 2);
	assert_int_equal(step.slots[0], STEP);
	assert_int_equal(step.slots[1], task);
	assert_int_equal(step.slot_owners[1].gtid, gtid);
}

TEST(before_the_first_snapshot_no_slot_is_in_use)
{
	step__collect_slots(&step, snapshot__slots(snap));
	assert_int_equal(step.nslots, 0);
	assert_int_equal(snapshot__slot(snap, TASK)->state, JP_SLOT_FREE);
	assert_null(snapshot__slot(snap, SLOTS));
}

TEST(a_slot_that_becomes_another_steps_stays_the_steps_in_the_snapshot)
{
	sched[TASK].cpu_ns = 7;
	snapshot_read_slots(snap);
	take_back(TASK);
	sched[TASK].cpu_ns = 0;
	give(OTHER_STEP, JP_KIND_STEP, OTHER_STEP, JP_GTID_NONE);
	give(TASK, JP_KIND_TASK, OTHER_STEP, 5);
	give(LATE, JP_KIND_TASK, STEP, 1);
	expect_slots(snapshot__slots(snap), TASK, 0);
	assert_int_equal(snapshot__totals(snap, step.slots[1])->v[T_CPU], 7);
	assert_int_equal(snapshot__slot(snap, LATE)->state, JP_SLOT_FREE);
	expect_slots(kern__slots(&kernel), LATE, 1);

	snapshot_read_slots(snap);
	expect_slots(snapshot__slots(snap), LATE, 1);
	assert_int_equal(snapshot__slot(snap, TASK)->step, OTHER_STEP);
	assert_int_equal(snapshot__totals(snap, TASK)->v[T_CPU], 0);
}

TEST(what_a_slot_says_of_its_task_is_of_the_time_of_its_totals)
{
	slots[TASK].oom_kills = 1;
	snapshot_read_slots(snap);
	slots[TASK].oom_kills = 2;
	slots[TASK].gtid = 3;
	slots[TASK].flags |= JP_SLOT_F_EXITED;
	assert_int_equal(snapshot__totals(snap, TASK)->v[T_OOM_KILLS], 1);
	assert_int_equal(snapshot__slot(snap, TASK)->oom_kills, 1);
	assert_int_equal(snapshot__slot(snap, TASK)->flags, 0);
	expect_slots(snapshot__slots(snap), TASK, 0);
	snapshot_read_slots(snap); /* no slot was taken or given back since */
	assert_int_equal(snapshot__slot(snap, TASK)->oom_kills, 2);
	expect_slots(snapshot__slots(snap), TASK, 3);
}

static struct unit_fixture fixture = {.setup = set_up, .teardown = tear_down};
