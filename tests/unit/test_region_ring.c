// SPDX-License-Identifier: GPL-2.0-or-later
/* The ring of regions, as jobprofd reads it: instances, what is lost, and whatever else a program
 * may write there. */
#include "tests/unit/unit.h"
#include <pthread.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "daemon/step/regions.h"

static struct region_ring *ring;
static struct jpc_ring *shared; /* as the program sees it */
static struct region_instance got[2 * JPC_RING_RECORDS];
static unsigned ngot;

static int setup(void **state)
{
	(void)state;
	ngot = 0;
	assert_int_equal(region_ring__make(&ring), 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	assert_true(shared != MAP_FAILED);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	munmap(shared, sizeof(*shared));
	region_ring__free(ring);
	return 0;
}

static void keep(void *ctx, const struct region_instance *i)
{
	(void)ctx;
	assert_in_range(ngot, 0, sizeof(got) / sizeof(got[0]) - 1);
	got[ngot++] = *i;
}

static uint64_t pass(void)
{
	return region_ring__read(ring,
				 &(struct region_pass){1000, 2 * JPC_RING_RECORDS, keep, NULL});
}

static void put(uint64_t time, uint32_t region, uint32_t thread)
{
	uint64_t seq = ++shared->head;

	shared->record[(seq - 1) % JPC_RING_RECORDS] = (struct jpc_record){
		.seq = seq, .time_ns = time, .region = region, .thread = thread};
}

static void is_instance(unsigned i, uint32_t thread, uint32_t region, uint64_t begin, uint64_t end)
{
	assert_int_equal(got[i].thread, thread);
	assert_int_equal(got[i].region, region);
	assert_int_equal(got[i].begin_ns, begin);
	assert_int_equal(got[i].end_ns, end);
}

/* At most so many at once; what is left at the end is lost, and so is a region that is open. */
TEST(a_pass_has_an_end)
{
	const struct region_pass five = {1000, 5, keep, NULL};

	for (unsigned i = 0; i < 20; i++)
		put(2000 + i, 1 | (i % 2 ? JPC_REGION_END : 0), 7);
	assert_int_equal(region_ring__read(ring, &five), 5);
	assert_int_equal(region_ring__read(ring, &five), 5);
	assert_int_equal(ngot, 5);
	assert_int_equal(region_ring__read(ring, &five), 5);
	region_ring__end(ring);
	assert_int_equal(ngot, 7);
	assert_int_equal(ring->pairs.lost, 6);
	assert_int_equal(region_ring__settled(ring), 20);
	region_ring__end(ring);
	assert_int_equal(ring->pairs.lost, 6);
}

TEST(threads_and_nested_regions)
{
	put(2000, 1, 7);
	put(2100, 2, 7);
	put(2200, 1, 8);
	put(2300, 2 | JPC_REGION_END, 7);
	pass();
	put(2400, 1 | JPC_REGION_END, 7);
	put(2500, 1 | JPC_REGION_END, 8);
	pass();
	assert_int_equal(ngot, 3);
	is_instance(0, 7, 2, 2100, 2300);
	is_instance(1, 7, 1, 2000, 2400);
	is_instance(2, 8, 1, 2200, 2500);
	assert_int_equal(*ring->read, 6);
	assert_int_equal(ring->pairs.lost, 0);
	assert_int_equal(pass(), 0);
}

TEST(what_was_overwritten_is_counted)
{
	unsigned n = 3 * JPC_RING_RECORDS / 2;

	put(2000, 1, 7); /* its end is overwritten */
	pass();
	for (unsigned i = 0; i < n; i++)
		put(3000 + i, 1 | (i & 1 ? JPC_REGION_END : 0), 7);
	pass();
	assert_int_equal(ngot, JPC_RING_RECORDS / 2);
	assert_int_equal(ring->pairs.lost, n - JPC_RING_RECORDS + 1);
	is_instance(0, 7, 1, 3000 + n - JPC_RING_RECORDS, 3001 + n - JPC_RING_RECORDS);
}

TEST(more_records_than_can_be_are_none)
{
	put(2000, 1, 7);
	pass();
	shared->head = UINT64_MAX - 5;
	assert_int_equal(pass(), 0);
	assert_int_equal(ring->pairs.lost, 0);
	shared->head = 1;
	put(3000, 1 | JPC_REGION_END, 7);
	assert_int_equal(pass(), 1);
	assert_int_equal(ngot, 1);
	is_instance(0, 7, 1, 2000, 3000);
}

TEST(a_record_that_is_not_whole_is_waited_for_once)
{
	put(2000, 1, 7);
	put(2100, 1 | JPC_REGION_END, 7);
	shared->record[0].seq = 0;
	pass();
	assert_int_equal(ngot, 0);
	shared->record[0].seq = 1;
	pass();
	assert_int_equal(ngot, 1);
	put(2200, 1, 7);
	put(2300, 1 | JPC_REGION_END, 7);
	put(2400, 1, 7);
	put(2500, 1 | JPC_REGION_END, 7);
	shared->record[2].seq = 0;
	pass();
	pass();
	assert_int_equal(ngot, 2);
	is_instance(1, 7, 1, 2400, 2500);
	assert_int_equal(ring->pairs.lost, 2); /* the begin, and so the end */
}

TEST(ends_that_fit_nothing)
{
	put(2000, 1 | JPC_REGION_END, 7);
	put(2100, 1, 7);
	put(2200, 2, 7); /* never ends */
	put(2300, 1 | JPC_REGION_END, 7);
	put(2400, 2 | JPC_REGION_END, 7);
	put(2600, 3, 7);
	put(2500, 3 | JPC_REGION_END, 7); /* before it began */
	pass();
	assert_int_equal(ngot, 1);
	is_instance(0, 7, 1, 2100, 2300);
	assert_int_equal(ring->pairs.lost, 4);
}

TEST(instants_outside_of_the_step)
{
	put(999, 1, 7);
	put(2000, 1 | JPC_REGION_END, 7);
	put(2100, 1, 7);
	put(clock__mono_ns() + 1000000000, 1 | JPC_REGION_END, 7);
	put(2200, JPC_REGIONS, 7);
	pass();
	assert_int_equal(ngot, 0);
	assert_int_equal(ring->pairs.lost, 5);
}

static void put_now(uint32_t region)
{
	uint64_t seq = shared->head + 1;

	shared->record[(seq - 1) % JPC_RING_RECORDS] = (struct jpc_record){
		.seq = seq, .time_ns = clock__mono_ns(), .region = region, .thread = 7};
	__atomic_store_n(&shared->head, seq, __ATOMIC_RELEASE);
}

#define MANY (20 * JPC_RING_RECORDS)

static void *put_many(void *arg)
{
	put_now(1);
	for (unsigned i = 0; i < MANY - 2; i++) {
		while (shared->head - __atomic_load_n(ring->read, __ATOMIC_RELAXED) >=
		       JPC_RING_RECORDS / 2)
			;
		put_now(2 | (i % 2 ? JPC_REGION_END : 0));
	}
	put_now(1 | JPC_REGION_END);
	return arg;
}

static void count(void *ctx, const struct region_instance *i)
{
	(void)ctx;
	got[0] = *i;
	ngot++;
}

/* What is written while a pass goes on is not of the time to come. */
TEST(a_process_writes_while_its_ring_is_read)
{
	const struct region_pass all = {1000, MANY, count, NULL};
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, put_many, NULL), 0);
	while (ring->next < MANY)
		region_ring__read(ring, &all);
	pthread_join(t, NULL);
	assert_int_equal(ring->pairs.lost, 0);
	assert_int_equal(ngot, MANY / 2);
	assert_int_equal(got[0].region, 1); /* the last */
}

TEST(what_the_process_lost_itself)
{
	shared->lost = 5;
	pass();
	pass();
	assert_int_equal(ring->pairs.lost, 5);
	shared->lost = UINT64_MAX;
	pass();
	shared->lost = 2;
	pass();
	assert_int_equal(ring->pairs.lost, 5);
}

TEST(earlier_rings_as_the_process_knows_them)
{
	assert_false(region_ring__meet(ring));
	*shared = (struct jpc_ring){.id = 9, .before = 100, .lost = 30};
	assert_true(region_ring__meet(ring));
	assert_false(region_ring__meet(ring));
	pass();
	assert_int_equal(ring->pairs.lost, 30);
	assert_int_equal(region_ring__settled(ring), 100);
	shared->before += 2; /* a thread was late */
	put(2000, 1, 7);
	pass();
	assert_int_equal(ring->pairs.lost, 32);
	assert_int_equal(region_ring__settled(ring), 102); /* the region is open */
	put(2100, 1 | JPC_REGION_END, 7);
	pass();
	assert_int_equal(region_ring__settled(ring), 104);
}

TEST(earlier_rings_as_the_journal_knows_them)
{
	*shared = (struct jpc_ring){.id = 9, .before = 100, .lost = 30};
	assert_true(region_ring__meet(ring));
	ring->known = 60;
	pass();
	assert_int_equal(ring->pairs.lost, 40);
	assert_int_equal(region_ring__settled(ring), 100);
	ring->known = 200; /* more than there were */
	pass();
	assert_int_equal(ring->pairs.lost, 40);
}

TEST(regions_that_never_end)
{
	for (unsigned i = 0; i < REGION_OPEN_MAX + 10; i++)
		put(2000 + i, 1, i);
	pass();
	assert_int_equal(ring->pairs.nopen, REGION_OPEN_MAX);
	assert_int_equal(ring->pairs.lost, 10);
	put(9000, 1 | JPC_REGION_END, 10);
	pass();
	is_instance(0, 10, 1, 2010, 9000);
}

TEST(any_content)
{
	unsigned seed = 1;

	for (int k = 0; k < 300; k++) {
		for (unsigned i = 0; i < 200; i++) {
			unsigned at = (unsigned)rand_r(&seed) % (sizeof(*shared) / 4);

			((uint32_t *)shared)[at] = (uint32_t)rand_r(&seed);
		}
		shared->head = k % 3 ? ring->next + (unsigned)rand_r(&seed) % 1000
				     : (uint64_t)rand_r(&seed) << (k % 40);
		for (uint64_t i = 0; k % 2 && i < JPC_RING_RECORDS; i++)
			shared->record[i].seq =
				ring->next / JPC_RING_RECORDS * JPC_RING_RECORDS + i + 1;
		ngot = 0;
		assert_in_range(pass(), 0, 2 * JPC_RING_RECORDS + 256);
		for (unsigned i = 0; i < ngot; i++) {
			assert_in_range(got[i].begin_ns, 1000, got[i].end_ns);
			assert_in_range(got[i].end_ns, 1000, clock__mono_ns());
			assert_in_range(got[i].region, 0, JPC_REGIONS - 1);
		}
		assert_in_range(ring->pairs.nopen, 0, REGION_OPEN_MAX);
	}
}

TEST(names)
{
	char name[64];

	strcpy(shared->name[3], "solve");
	strcpy(shared->name[4], "a\nb");
	memset(shared->name[5], 'x', sizeof(shared->name[5]));
	assert_true(region_ring__name(ring, 3, name));
	assert_string_equal(name, "solve");
	assert_false(region_ring__name(ring, 2, name));
	assert_false(region_ring__name(ring, 4, name));
	assert_false(region_ring__name(ring, 5, name));
	assert_false(region_ring__name(ring, JPC_REGIONS, name));
}

TEST(the_file_keeps_its_size)
{
	assert_int_not_equal(ftruncate(ring->fd, 0), 0);
	assert_int_not_equal(ftruncate(ring->fd, 2 * sizeof(*shared)), 0);
}

static struct unit_fixture fixture = {.setup = setup, .teardown = teardown};
