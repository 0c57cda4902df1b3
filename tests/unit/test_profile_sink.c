// SPDX-License-Identifier: GPL-2.0-or-later
/* The AcctGatherProfile plugin: samples of Slurm's plugins become tables and rows of jobprofd. */
#include "tests/unit/unit.h"
#include <sys/socket.h>
#include <sys/un.h>

#include "slurm/profile_columns.h"
#include "slurm/profile_mask.h"
#include "slurm/profile_sink.h"

TEST(columns_have_units_and_kinds)
{
	static const struct {
		const char *series, *name, *unit;
		int kind;
	} cases[] = {
		{"Tasks", "CPUTime", "s", JPC_DELTA},	    {"Tasks", "Pages", "", JPC_CUMULATIVE},
		{"Tasks", "RSS", "KiB", JPC_GAUGE},	    {"Energy", "Power", "W", JPC_GAUGE},
		{"Energy", "NodePower", "W", JPC_GAUGE},    {"Network", "InMB", "MiB", JPC_DELTA},
		{"Filesystem", "ReadMB", "MiB", JPC_DELTA}, {"Other", "InMB", "", JPC_GAUGE},
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
	int listener, fd;
	_Alignas(8) char packet[JPC_MAX];
};

static void listen_at(struct server *s)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	strcpy(addr.sun_path, in_dir("s"));
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(s->listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(s->listener, 4), 0);
	s->fd = -1;
}

static void hang_up(struct server *s)
{
	close(s->fd);
	close(s->listener);
	unlink(in_dir("s"));
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

TEST(samples_become_tables_and_rows)
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
	s = sink__new(in_dir("s"), 50, note);
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

TEST(what_cannot_be_named_is_refused)
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

TEST(one_who_does_not_read_costs_samples_only)
{
	struct jpc_step step = {.job_id = 5, .asked = 1};
	uint64_t cells[2] = {0, 0};
	struct server srv;
	struct sink *s;
	int id, err = 0, n = 0;

	listen_at(&srv);
	s = sink__new(in_dir("s"), 50, note);
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

TEST(answers_say_what_is_measured_and_refused)
{
	struct jpc_step step = {.job_id = 5, .asked = 1};
	struct jpc_reply reply = {.head = {JPC_MAGIC, JPC_VERSION, JPC_REPLY, sizeof(reply), 0, 0}};
	uint64_t cells[2] = {0, 0};
	struct server srv;
	struct sink *s;
	int id;

	listen_at(&srv);
	s = sink__new(in_dir("s"), 50, note);
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
