/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A journal that is torn or forged is read up to the damage, and its next owner goes on there. */

#include <zlib.h>

#include "base/clock.h"

#include "tests/unit/journal_file.h"

#define OLD_ROOM (64 * 1024) /* of zeros, which older versions kept behind the last frame */

/* Puts bytes into the file, as something that is not the journal's owner. */
static void write_at(uint64_t pos, const void *p, size_t len)
{
	int fd = open(path, O_WRONLY);

	assert_int_equal(pwrite(fd, p, len, pos), len);
	close(fd);
}

TEST(torn_at_every_byte_of_the_last_frame)
{
	struct journal *j = small(3);
	uint64_t before = file_size(), after, torn, cut;
	union cell c[2] = {{.u = 3}, {.f = 3.5}};

	journal__row(j, 7, c, 2);
	journal__state(j, "state", 5);
	assert_int_equal(journal__commit(j), 0);
	after = file_size();
	journal__free(j);
	rows_are(4);
	for (uint64_t size = after - 1; size >= before; size--) {
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(count_rows(&torn), 3);
		assert_int_equal(torn, size - before);
	}

	/* Each way of being torn is mended, and the journal goes on. */
	for (uint64_t size = before; size < after; size++) {
		assert_int_equal(truncate(path, before), 0);
		assert_int_equal(journal__reopen(&j, path, &cut), 0);
		journal__row(j, 7, c, 2);
		journal__state(j, "state", 5);
		assert_int_equal(journal__commit(j), 0);
		journal__free(j);
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(journal__reopen(&j, path, &cut), 0);
		assert_int_equal(cut, size - before);
		assert_int_equal(file_size(), before);
		journal__row(j, 7, c, 2);
		assert_int_equal(journal__commit(j), 0);
		journal__free(j);
		rows_are(4);
	}
}

TEST(a_header_that_never_got_out_is_made_again)
{
	for (unsigned size = 0; size < 16; size++) {
		struct journal *j = small(1);
		uint64_t cut;

		journal__free(j);
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(count_rows(NULL), -1);
		assert_int_equal(journal__reopen(&j, path, &cut), 0);
		assert_int_equal(cut, size);
		journal__free(j);
		assert_int_equal(count_rows(NULL), 0);
		unlink(path);
	}
}

TEST(rows_of_a_torn_end_are_counted)
{
	struct journal *j = small(1);
	struct journal_record rec;
	struct journal_reader *r;
	union cell c[2] = {{0}};
	int fd;

	for (int i = 0; i < 10; i++)
		journal__row(j, 7, c, 2);
	assert_int_equal(journal__commit(j), 0);
	assert_int_equal(truncate(path, file_size() - 1), 0);
	journal__free(j);
	r = open_reader(&fd);
	while (journal_reader__next(r, &rec) > 0)
		;
	assert_int_equal(journal_reader__torn_rows(r), 10);
	journal_reader__free(r);
	close(fd);
}

static uint64_t torn_rows(void)
{
	struct journal_record rec;
	struct journal_reader *r;
	uint64_t n;
	int fd;

	r = open_reader(&fd);
	while (journal_reader__next(r, &rec) > 0)
		;
	n = journal_reader__torn_rows(r);
	journal_reader__free(r);
	close(fd);
	return n;
}

/* A damaged header, a damaged length and damaged cells: what follows is found again. */
TEST(rows_of_all_frames_behind_a_bad_one_are_counted)
{
	union cell c[2] = {{.u = 1}, {.f = 1.5}};
	static const struct {
		unsigned at, own; /* byte of the frame; its rows that can still be told */
	} bad[] = {{0, 0}, {1, 8}, {3, 0}, {5, 8}, {200, 8}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct journal *j = small(3);
		uint64_t from = file_size(), n;
		uint8_t byte;
		int fd;

		for (int k = 0; k < 64; k++) {
			/* cells without zeros: the frame is stored as it is */
			c[0].u = 0x0101010101010101ull * (k + 1);
			journal__row(j, 7, c, 2);
			if (k % 8 == 7)
				assert_int_equal(journal__commit(j), 0);
		}
		journal__free(j);
		fd = open(path, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, from + bad[i].at), 1);
		byte ^= 0x55;
		assert_int_equal(pwrite(fd, &byte, 1, from + bad[i].at), 1);
		close(fd);
		n = torn_rows();
		assert_in_range(n, 56 + (bad[i].own ? 1 : 0), 56 + bad[i].own);
		/* zeros in place of a part, as a cut and a later write leave them */
		fd = open(path, O_RDWR);
		assert_int_equal(pwrite(fd, (char[64]){0}, 64, from), 64);
		close(fd);
		assert_int_equal(torn_rows(), 56);
		unlink(path);
	}
}

/* Every 8 bytes claim to be a frame as long as the rest: the search ends, and soon. */
TEST(lengths_that_lie_cost_no_time)
{
	uint64_t words[4096], began = clock__boot_ns();
	struct journal *j = small(1);
	int fd;

	journal__free(j);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = 0x0000000000100000ull;
	fd = open(path, O_WRONLY | O_APPEND);
	for (int i = 0; i < 256; i++)
		assert_int_equal(write(fd, words, sizeof(words)), sizeof(words));
	close(fd);
	assert_int_equal(torn_rows(), 0);
	assert_true(clock__boot_ns() - began < 5 * NSEC_PER_SEC);
}

static uint8_t *slurp(size_t *len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *p;

	fstat(fd, &st);
	*len = st.st_size;
	p = malloc(*len);
	assert_int_equal(read(fd, p, *len), *len);
	close(fd);
	return p;
}

static void spill(const uint8_t *p, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, p, len), len);
	close(fd);
}

TEST(a_flipped_byte_ends_the_journal_before_its_frame)
{
	struct journal *j = small(4);
	uint8_t *p;
	size_t len;

	journal__free(j);
	p = slurp(&len);
	for (size_t at = 0; at < len; at++) {
		int n;

		p[at] ^= 0x41;
		spill(p, len);
		n = count_rows(NULL);
		assert_true(n < 4);
		assert_int_equal(n < 0, at < 16);
		p[at] ^= 0x41;
	}
	free(p);
}

/* With a good crc it is the parser that has to hold. */
TEST(lies_with_a_good_checksum_are_survived)
{
	struct synth s = {.node = "n1", .tasks = 2, .rows = 1, .start_ns = 1, .end = true};
	uint8_t *p;
	size_t len;

	synth_make(path, &s);
	p = slurp(&len);
	srandom(1);
	for (int i = 0; i < 2000; i++) {
		uint32_t flen = *(uint32_t *)(p + 16) & 0x7fffffff, *crc = (uint32_t *)(p + 20);
		bool packed = *(uint32_t *)(p + 16) >> 31;
		uint32_t was = *crc;
		size_t at = 24 + random() % flen, n = 1 + random() % 4;
		uint8_t old[4];
		int fd;
		struct journal_reader *r;
		struct journal_record rec;

		if (at + n > 24 + flen)
			n = 1;
		memcpy(old, p + at, n);
		for (size_t k = 0; k < n; k++)
			p[at + k] = random() % 3 ? random() : 0xff;
		*crc = crc32(0, p + 24, flen) ^ (packed ? ~0u : 0);
		spill(p, len);
		r = open_reader(&fd);
		while (journal_reader__next(r, &rec) > 0)
			if (rec.name)
				assert_true(strlen(rec.name) <= JOURNAL_NAME_MAX);
		journal_reader__free(r);
		close(fd);
		memcpy(p + at, old, n);
		*crc = was;
	}
	free(p);
}

TEST(a_hostile_length_costs_no_memory)
{
	struct journal *j = small(1);
	uint32_t lie[2] = {JOURNAL_FRAME_MAX, 0};
	uint64_t torn;

	write_at(file_size(), lie, 8);
	journal__free(j);
	assert_int_equal(count_rows(&torn), 1);
	assert_int_equal(torn, 8);
}

/* Says of itself that it is 32 MiB of records, in maps of zeros or of nothing. */
TEST(a_hostile_packed_frame_costs_no_memory)
{
	uint64_t words[4] = {JOURNAL_FRAME_MAX, 0, ~0ull, 0};
	uint32_t head[2];
	uint64_t torn;

	for (unsigned n = 1; n <= 4; n++) {
		struct journal *j = small(1);
		uint64_t at = file_size();

		head[0] = n * 8 | 0x80000000u;
		head[1] = ~crc32(0, (const Bytef *)words, n * 8);
		write_at(at, head, 8);
		write_at(at + 8, words, n * 8);
		journal__free(j);
		assert_int_equal(count_rows(&torn), 1);
		assert_int_equal(torn, 8 + n * 8);
		unlink(path);
	}
}

TEST(other_files_are_no_journals)
{
	spill((const uint8_t *)"JPJOURN1\2\0\0\0\4\3\2\1", 16);
	assert_int_equal(count_rows(NULL), -1);
	spill((const uint8_t *)"JPJOURN1\1\0\0\0\1\2\3\4", 16);
	assert_int_equal(count_rows(NULL), -1);
	spill((const uint8_t *)"hello", 5);
	assert_int_equal(count_rows(NULL), -1);
}

TEST(zeros_that_an_older_version_left_are_no_loss)
{
	uint64_t cut, size;
	struct journal *j;

	write_and_be_killed(20);
	size = file_size();
	assert_int_equal(truncate(path, size + OLD_ROOM), 0);
	rows_are(20);
	assert_int_equal(journal__reopen(&j, path, &cut), 0);
	assert_int_equal(cut, 0);
	assert_int_equal(file_size(), size);
	put_row(j, 20);
	journal__free(j);
	rows_are(21);
}

/* Older versions stored a frame's header last, in the zeros that they kept. */
TEST(a_frame_without_its_header_is_cut_off)
{
	uint64_t torn, cut, size;
	struct journal *j;

	write_and_be_killed(20);
	size = file_size();
	assert_int_equal(truncate(path, size + OLD_ROOM), 0);
	write_at(size + 8, "half a row", 10);
	assert_int_equal(count_rows(&torn), 20);
	assert_int_equal(torn, OLD_ROOM);
	assert_int_equal(journal__reopen(&j, path, &cut), 0);
	assert_int_equal(cut, torn);
	assert_int_equal(file_size(), size);
	put_row(j, 20);
	journal__free(j);
	rows_are(21);
}

static struct unit_fixture fixture = {.setup = no_file};
