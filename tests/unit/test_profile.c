// SPDX-License-Identifier: GPL-2.0-or-later
/* The AcctGatherProfile plugin: Slurm's records of steps, and the masks of what they ask for. */
#include "tests/unit/unit.h"
#include <sys/mman.h>

#include "slurm/profile_mask.h"
#include "slurm/profile_record.h"

/* Slurm's own headers give these, by offsetof(), on x86-64. */
static const struct shape {
	const char *release;
	size_t ids, node, message; /* in the record; ids: of the job's number */
	size_t msg_ids, msg_freq, msg_mask;
} shapes[] = {
	{"22.05", 112, 288, 680, 120, 432, 496}, {"23.11", 112, 304, 808, 104, 448, 512},
	{"24.11", 120, 312, 816, 112, 456, 520}, {"25.11", 120, 320, 832, 120, 464, 536},
	{"26.05", 120, 320, 832, 120, 464, 536},
};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* From the pointer to the node's name, in each of them. */
#define ENV   (-32)
#define UID   64
#define GID   104
#define FLAGS 128
#define MASK  144

#define BATCH 0xfffffffb

/* A record with nothing but what is read of it; what is not is no number and no address. */
struct record {
	_Alignas(16) char bytes[2048];
	_Alignas(16) char message[2048];
};

static void put32(char *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

static void put64(char *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

static void put_pointer(char *at, const void *p)
{
	memcpy(at, &p, sizeof(p));
}

static void fill(struct record *r, const struct shape *l, uint32_t mask, const char *freq,
		 char **env)
{
	char *node = r->bytes + l->node;

	memset(r, 0xee, sizeof(*r));
	put32(r->bytes + l->ids, 77);
	put32(r->bytes + l->ids + 8, 3);
	put_pointer(node, "n1");
	put_pointer(node + ENV, env);
	put64(node + UID, 1000);
	put32(node + GID, 100);
	put64(node + FLAGS, 0);
	put64(node + MASK, mask);
	put_pointer(r->bytes + l->message, r->message);
	put32(r->message + l->msg_ids, 77);
	put32(r->message + l->msg_ids + 8, 3);
	put_pointer(r->message + l->msg_freq, freq);
	put64(r->message + l->msg_mask, mask);
}

static void make_batch(struct record *r, const struct shape *l)
{
	put32(r->bytes + l->ids + 8, BATCH);
	r->bytes[l->node + FLAGS + 1] = 1;
	put_pointer(r->bytes + l->message, NULL);
}

static const struct profile_ids step3 = {77, 3, "n1"};
static const struct profile_ids batch = {77, BATCH, "n1"};

static int find(const struct record *r, const struct profile_ids *ids, struct profile_step *s)
{
	char err[256];

	return profile_step__find(r->bytes, ids, s, err, sizeof(err));
}

TEST(a_record_of_every_release_is_read)
{
	for (size_t i = 0; i < N_SHAPES; i++) {
		struct profile_step s;
		struct record r;

		fill(&r, &shapes[i], PROFILE_TASK, "task=5", NULL);
		assert_int_equal(find(&r, &step3, &s), 0);
		assert_int_equal(s.mask, PROFILE_TASK);
		assert_int_equal(s.uid, 1000);
		assert_int_equal(s.gid, 100);
		assert_string_equal(s.freq, "task=5");
		for (size_t k = strlen(s.freq); k < sizeof(s.freq); k++)
			assert_int_equal(s.freq[k], 0);
		fill(&r, &shapes[i], PROFILE_ALL, NULL, NULL);
		make_batch(&r, &shapes[i]);
		assert_int_equal(find(&r, &batch, &s), 0);
		assert_int_equal(s.mask, PROFILE_ALL);
		assert_string_equal(s.freq, "");
	}
}

/* As releases did until now: fields came in before and behind. */
TEST(a_record_of_the_next_release_is_read)
{
	for (size_t more = 8; more <= 64; more += 8) {
		struct shape l = shapes[N_SHAPES - 1];
		struct profile_step s;
		struct record r;

		l.ids += more / 2;
		l.node += more;
		l.message += 3 * more;
		l.msg_ids += more / 2;
		fill(&r, &l, PROFILE_ENERGY, "energy=5", NULL);
		assert_int_equal(find(&r, &step3, &s), 0);
		assert_int_equal(s.mask, PROFILE_ENERGY);
		assert_string_equal(s.freq, "energy=5");
	}
}

TEST(what_is_of_another_step_is_refused)
{
	static const struct profile_ids others[] = {{78, 3, "n1"}, {77, 4, "n1"}, {77, 3, "n2"}};
	struct profile_step s;
	struct record r;
	char err[256];

	fill(&r, &shapes[0], PROFILE_ALL, NULL, NULL);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(find(&r, &others[i], &s), -ESRCH);
	put32(r.message + shapes[0].msg_ids, 78);
	assert_int_equal(profile_step__find(r.bytes, &step3, &s, err, sizeof(err)), -ESRCH);
	assert_string_equal(err, "Slurm's record of the step does not have a launch message with "
				 "the same request where it is looked for");
}

TEST(a_number_that_cannot_be_the_request_is_refused)
{
	static const uint32_t odd[] = {0x20, 0x03, 0x80000000, 0xfffffffe, 0xeeeeeeee};
	const struct shape *l = &shapes[0];
	struct profile_step s;
	struct record r;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		fill(&r, l, odd[i], NULL, NULL);
		assert_int_equal(find(&r, &step3, &s), -ESRCH);
	}
	fill(&r, l, PROFILE_TASK, NULL, NULL);
	put64(r.message + l->msg_mask, PROFILE_ENERGY); /* what srun sent is another */
	assert_int_equal(find(&r, &step3, &s), -ESRCH);
	fill(&r, l, PROFILE_TASK, NULL, NULL);
	put32(r.bytes + l->node + MASK + 4, 1); /* two numbers, or half an address */
	assert_int_equal(find(&r, &step3, &s), -ESRCH);
	fill(&r, l, PROFILE_TASK, NULL, NULL);
	r.bytes[l->node + FLAGS + 1] = 1; /* a batch step, which this is not */
	assert_int_equal(find(&r, &step3, &s), -ESRCH);
	fill(&r, l, PROFILE_TASK, NULL, NULL);
	make_batch(&r, l);
	put64(r.bytes + l->node + FLAGS, 0x7f1234567800);
	assert_int_equal(find(&r, &batch, &s), -ESRCH);
}

TEST(addresses_that_are_none_do_no_harm)
{
	const struct shape *l = &shapes[0];
	long page = sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *env[] = {(char *)8, NULL}, err[256], buf[64], *edge = two + page - 7;
	struct profile_step s;
	struct record r;

	assert_ptr_not_equal(two, MAP_FAILED);
	munmap(two + page, page);
	assert_int_equal(profile_step__find((void *)16, &step3, &s, err, sizeof(err)), -ESRCH);
	fill(&r, l, PROFILE_TASK, (char *)8, env);
	assert_int_equal(find(&r, &step3, &s), 0);
	assert_string_equal(s.freq, "");
	assert_int_equal(profile_step__getenv(&s, "X", buf, sizeof(buf)), -EFAULT);
	memcpy(edge, "task=2", 7); /* its NUL is the page's last byte */
	fill(&r, l, PROFILE_TASK, edge, NULL);
	assert_int_equal(find(&r, &step3, &s), 0);
	assert_string_equal(s.freq, "task=2");
	memset(edge, '1', 7); /* goes on into the void */
	assert_int_equal(find(&r, &step3, &s), 0);
	assert_string_equal(s.freq, "");
	munmap(two, page);
}

/* The record ends where the heap does. */
TEST(a_record_at_the_end_of_memory_is_read)
{
	const struct shape *l = &shapes[0];
	long page = sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct profile_step s;
	struct record r;
	char err[256], *record = two + page - 704;

	assert_ptr_not_equal(two, MAP_FAILED);
	munmap(two + page, page);
	fill(&r, l, PROFILE_TASK, NULL, NULL);
	memcpy(record, r.bytes, 704);
	assert_int_equal(profile_step__find(record, &step3, &s, err, sizeof(err)), 0);
	assert_int_equal(s.mask, PROFILE_TASK);
	munmap(two, page);
}

TEST(a_variable_of_the_environment)
{
	char *env[] = {"SLURM_ACCTG_FREQ2=x", "A=", "SLURM_ACCTG_FREQ=task=1", NULL}, buf[16],
	     few[4];
	const struct shape *l = &shapes[2];
	struct profile_step s;
	struct record r;

	fill(&r, l, PROFILE_TASK, NULL, NULL);
	assert_int_equal(find(&r, &step3, &s), 0);
	assert_int_equal(profile_step__getenv(&s, "A", buf, sizeof(buf)), -ENODATA);
	put_pointer(r.bytes + l->node + ENV, env); /* a batch step's comes later */
	assert_int_equal(profile_step__getenv(&s, "SLURM_ACCTG_FREQ", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "task=1");
	assert_int_equal(profile_step__getenv(&s, "A", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
	assert_int_equal(profile_step__getenv(&s, "B", buf, sizeof(buf)), -ENODATA);
	assert_int_equal(profile_step__getenv(&s, "SLURM_ACCTG_FREQ", few, sizeof(few)), -E2BIG);
}

TEST(masks_are_printed_as_users_write_them)
{
	static const struct {
		uint32_t mask;
		const char *text;
	} cases[] = {
		{PROFILE_NOT_SET, ""},
		{PROFILE_NONE, "none"},
		{PROFILE_ALL, "all"},
		{PROFILE_TASK, "task"},
		{PROFILE_ENERGY | PROFILE_TASK, "energy,task"},
		{PROFILE_SERIES, "energy,task,lustre,network"},
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(profile_mask__print(cases[i].mask, buf, sizeof(buf)), 0);
		assert_string_equal(buf, cases[i].text);
	}
	assert_int_equal(profile_mask__print(0x20, buf, sizeof(buf)), -EINVAL);
	assert_int_equal(profile_mask__print(PROFILE_SERIES, buf, 10), -E2BIG);
}

TEST(lists_have_the_mask_of_slurms_words)
{
	static const struct {
		const char *list;
		uint32_t mask;
	} cases[] = {
		{"none", PROFILE_NONE},	    {"all", PROFILE_ALL},
		{"Task", PROFILE_TASK},	    {"energy, NETWORK", PROFILE_ENERGY | PROFILE_NETWORK},
		{"sched", PROFILE_NONE},    {"sched,task,block", PROFILE_TASK},
		{"lustre", PROFILE_LUSTRE}, {"all,sched", PROFILE_ALL},
	};
	uint32_t mask;
	char bad[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(profile_mask__parse(cases[i].list, &mask, bad, sizeof(bad)), 0);
		assert_int_equal(mask, cases[i].mask);
	}
	assert_int_equal(profile_mask__parse("task,cpus", &mask, bad, sizeof(bad)), -EINVAL);
	assert_string_equal(bad, "cpus");
}

TEST(slurm_samples_what_nobody_else_does)
{
	assert_int_equal(profile_mask__running(PROFILE_ALL, 0), PROFILE_SERIES);
	assert_int_equal(profile_mask__running(PROFILE_ALL, PROFILE_TASK),
			 PROFILE_SERIES & ~PROFILE_TASK);
	assert_int_equal(profile_mask__running(PROFILE_TASK, PROFILE_TASK), PROFILE_NONE);
	assert_int_equal(profile_mask__running(PROFILE_NONE, 0), PROFILE_NONE);
	assert_int_equal(profile_mask__running(PROFILE_NOT_SET, 0), PROFILE_NONE);
}
