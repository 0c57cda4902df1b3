// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "slurm/profile_columns.h"
#include "slurm/profile_mask.h"
#include "slurm/profile_record.h"
#include "slurm/profile_sink.h"

/* Of Slurm's own headers, by offsetof(), on x86-64. */
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

static void a_record_of_every_release_is_read(void **state)
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
static void a_record_of_the_next_release_is_read(void **state)
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

static void what_is_of_another_step_is_refused(void **state)
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

static void a_number_that_cannot_be_the_request_is_refused(void **state)
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

static void addresses_that_are_none_do_no_harm(void **state)
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
static void a_record_at_the_end_of_memory_is_read(void **state)
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

static void a_variable_of_the_environment(void **state)
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

static void masks_are_printed_as_users_write_them(void **state)
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

static void lists_have_the_mask_of_slurms_words(void **state)
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

static void slurm_samples_what_nobody_else_does(void **state)
{
	assert_int_equal(profile_mask__running(PROFILE_ALL, 0), PROFILE_SERIES);
	assert_int_equal(profile_mask__running(PROFILE_ALL, PROFILE_TASK),
			 PROFILE_SERIES & ~PROFILE_TASK);
	assert_int_equal(profile_mask__running(PROFILE_TASK, PROFILE_TASK), PROFILE_NONE);
	assert_int_equal(profile_mask__running(PROFILE_NONE, 0), PROFILE_NONE);
	assert_int_equal(profile_mask__running(PROFILE_NOT_SET, 0), PROFILE_NONE);
}

static void columns_have_units_and_kinds(void **state)
{
	static const struct {
		const char *series, *name, *unit;
		int kind;
	} cases[] = {
		{"Tasks", "CPUTime", "s", JPC_DELTA},	   {"Tasks", "Pages", "", JPC_CUMULATIVE},
		{"Tasks", "RSS", "KiB", JPC_GAUGE},	   {"Energy", "Power", "W", JPC_GAUGE},
		{"Energy", "NodePower", "W", JPC_GAUGE},   {"Network", "InMB", "MB", JPC_DELTA},
		{"Filesystem", "ReadMB", "MB", JPC_DELTA}, {"Other", "InMB", "", JPC_GAUGE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jpc_column c = {.unit = "left over"};

		snprintf(c.name, sizeof(c.name), "%s", cases[i].name);
		profile_column__describe(cases[i].series, &c);
		assert_string_equal(c.unit, cases[i].unit);
		assert_int_equal(c.kind, cases[i].kind);
	}
}

static char last_line[512];
static int n_lines;

static void note(const char *line)
{
	snprintf(last_line, sizeof(last_line), "%s", line);
	n_lines++;
}

struct server {
	char dir[32], path[64];
	int listener, fd;
	_Alignas(8) char packet[JPC_MAX];
};

static void listen_at(struct server *s)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(s->dir, sizeof(s->dir), "/tmp/jobprof-test.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/s", s->dir);
	strcpy(addr.sun_path, s->path);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(s->listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(s->listener, 4), 0);
	s->fd = -1;
}

static void hang_up(struct server *s)
{
	close(s->fd);
	close(s->listener);
	unlink(s->path);
	rmdir(s->dir);
}

static struct jpc_head *next(struct server *s)
{
	struct jpc_head *h = (struct jpc_head *)s->packet;
	ssize_t n;

	if (s->fd < 0)
		s->fd = accept(s->listener, NULL, NULL);
	n = recv(s->fd, s->packet, sizeof(s->packet), 0);
	assert_true(n >= (ssize_t)sizeof(*h));
	assert_int_equal(h->length, n);
	return h;
}

static const struct sink_field two[] = {{"A", SINK_U64}, {"B", SINK_F64}, {NULL, SINK_END}};

static void samples_become_tables_and_rows(void **state)
{
	struct server srv;
	struct jpc_step step = {.job_id = 5, .asked = 1};
	struct {
		uint64_t a;
		double b;
	} cells = {7, 0.5};
	struct sink *s;
	struct jpc_table *t;
	struct jpc_rows *r;
	int id;

	listen_at(&srv);
	s = sink__new(srv.path, 50, note);
	n_lines = 0;
	sink__step(s, &step, false);
	assert_int_equal(next(&srv)->type, JPC_STEP);
	assert_int_equal(sink__group(s, "Tasks"), 0);
	assert_int_equal(sink__group(s, "Disks"), 1);
	assert_int_equal(sink__group(s, "Tasks"), 0);
	id = sink__table(s, 1, "sda", two);
	assert_int_equal(sink__table(s, -1, "Energy", two), id + 1);
	assert_int_equal(sink__row(s, id, &cells, 1000000000), 0);
	assert_int_equal(sink__row(s, id, &cells, 1000000001), 0);
	t = (struct jpc_table *)next(&srv);
	assert_int_equal(t->head.type, JPC_TABLE);
	assert_string_equal(t->group, "Disks");
	assert_string_equal(t->name, "sda");
	assert_int_equal(t->ncols, 2);
	assert_int_equal(t->col[1].cell, JPC_F64);
	for (int i = 0; i < 2; i++) {
		r = (struct jpc_rows *)next(&srv);
		assert_int_equal(r->head.type, JPC_ROWS);
		assert_int_equal(r->table, t->table);
		assert_int_equal(r->cell[0], (1000000000 + i) * 1000000000ull);
		assert_memory_equal(&r->cell[1], &cells, sizeof(cells));
	}
	sink__end(s);
	assert_int_equal(n_lines, 0);
	sink__free(s);
	hang_up(&srv);
}

static void what_cannot_be_named_is_refused(void **state)
{
	static const struct sink_field odd[] = {{"A", 3}, {NULL, SINK_END}};
	static const struct sink_field nameless[] = {{"", SINK_U64}, {NULL, SINK_END}};
	struct sink_field many[JPC_COLUMNS + 2] = {{NULL, SINK_END}};
	struct sink *s = sink__new("/nowhere", 50, note);
	char name[80], path[160];

	memset(name, 'n', sizeof(name));
	name[79] = '\0';
	for (int i = 0; i <= JPC_COLUMNS; i++)
		many[i] = (struct sink_field){"C", SINK_U64};
	assert_int_equal(sink__group(s, ""), -EINVAL);
	assert_int_equal(sink__group(s, name), -EINVAL);
	assert_int_equal(sink__table(s, 0, "T", two), -EINVAL); /* no such group */
	assert_int_equal(sink__table(s, -1, name, two), -EINVAL);
	assert_int_equal(sink__table(s, -1, "", two), -EINVAL);
	assert_int_equal(sink__table(s, -1, "T", odd), -EINVAL);
	assert_int_equal(sink__table(s, -1, "T", nameless), -EINVAL);
	assert_int_equal(sink__table(s, -1, "T", many), -EINVAL);
	assert_int_equal(sink__table(s, -1, "T", &two[2]), -EINVAL);
	assert_int_equal(sink__row(s, 0, name, 0), -EINVAL);
	snprintf(path, sizeof(path), "/%0150d", 0);
	assert_null(sink__new(path, 50, note));
	sink__free(s);
}

static void one_who_does_not_read_costs_samples_only(void **state)
{
	struct jpc_step step = {.job_id = 5, .asked = 1};
	uint64_t cells[2] = {0, 0};
	struct server srv;
	struct sink *s;
	int id, err = 0, n = 0;

	listen_at(&srv);
	s = sink__new(srv.path, 50, note);
	n_lines = 0;
	sink__step(s, &step, false);
	id = sink__table(s, -1, "T", two);
	while (!err && n++ < 100000)
		err = sink__row(s, id, cells, 0);
	assert_int_equal(err, -EAGAIN);
	assert_int_equal(sink__row(s, id, cells, 0), -EAGAIN);
	assert_int_equal(n_lines, 1);
	sink__end(s);
	assert_int_equal(n_lines, 2);
	assert_non_null(strstr(last_line, "2 of "));
	sink__free(s);
	hang_up(&srv);
}

static void answers_say_what_is_measured_and_refused(void **state)
{
	struct jpc_step step = {.job_id = 5, .asked = 1};
	struct jpc_reply reply = {.head = {JPC_MAGIC, JPC_VERSION, JPC_REPLY, sizeof(reply), 0, 0}};
	uint64_t cells[2] = {0, 0};
	struct server srv;
	struct sink *s;
	int id;

	listen_at(&srv);
	s = sink__new(srv.path, 50, note);
	n_lines = 0;
	sink__step(s, &step, false);
	assert_int_equal(sink__measures(s), 0);
	reply.head.seq = next(&srv)->seq;
	reply.measures = PROFILE_TASK;
	assert_int_equal(send(srv.fd, &reply, sizeof(reply), 0), sizeof(reply));
	id = sink__table(s, -1, "T", two);
	for (int i = 0; i < 4; i++) { /* it is declared three times, then no more */
		int err = sink__row(s, id, cells, 0);

		assert_int_equal(sink__measures(s), PROFILE_TASK);
		assert_int_equal(err, i < 3 ? 0 : -EACCES);
		if (err)
			break;
		reply.head.seq = next(&srv)->seq;
		assert_int_equal(next(&srv)->type, JPC_ROWS);
		reply.error = -EPERM;
		snprintf(reply.text, sizeof(reply.text), "not\nyours");
		assert_int_equal(send(srv.fd, &reply, sizeof(reply), 0), sizeof(reply));
	}
	assert_int_equal(n_lines, 2);
	sink__free(s);
	hang_up(&srv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_of_every_release_is_read),
		cmocka_unit_test(a_record_of_the_next_release_is_read),
		cmocka_unit_test(what_is_of_another_step_is_refused),
		cmocka_unit_test(a_number_that_cannot_be_the_request_is_refused),
		cmocka_unit_test(addresses_that_are_none_do_no_harm),
		cmocka_unit_test(a_record_at_the_end_of_memory_is_read),
		cmocka_unit_test(a_variable_of_the_environment),
		cmocka_unit_test(masks_are_printed_as_users_write_them),
		cmocka_unit_test(lists_have_the_mask_of_slurms_words),
		cmocka_unit_test(slurm_samples_what_nobody_else_does),
		cmocka_unit_test(columns_have_units_and_kinds),
		cmocka_unit_test(samples_become_tables_and_rows),
		cmocka_unit_test(what_cannot_be_named_is_refused),
		cmocka_unit_test(one_who_does_not_read_costs_samples_only),
		cmocka_unit_test(answers_say_what_is_measured_and_refused),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
