/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damaged journals and node-step files: an error, or fewer numbers, never a crash. */

#include "tests/unit/unit.h"
#include <hdf5.h>
#include <sys/resource.h>

#include "jobfile/publish.h"
#include "hdf5/reader.h"
#include "synth.h"

#define ROUNDS 250
#define READ_S 10 /* of CPU time for one file */

/* libhdf5 itself forgets memory when metadata is damaged; ours is still checked. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libhdf5";
}

/* And copies out of a buffer that damaged metadata says is larger than it is. */
const char *__asan_default_suppressions(void);
const char *__asan_default_suppressions(void)
{
	return "interceptor_via_lib:libhdf5";
}

static char journal[96], file[96], bad[96];
static int dir_fd;

static int make_dir(void **state)
{
	struct synth s = {
		.node = "n1",
		.tasks = 1,
		.rows = 20,
		.start_ns = SYNTH_START_NS,
		.end = true,
	};
	int fd, err;

	snprintf(journal, sizeof(journal), "%s/j", unit_dir);
	snprintf(file, sizeof(file), "%s/7_0_n1.h5", unit_dir);
	snprintf(bad, sizeof(bad), "%s/bad.h5", unit_dir);
	dir_fd = open(unit_dir, O_RDONLY | O_DIRECTORY);
	synth_make(journal, &s);
	fd = open(journal, O_RDONLY);
	err = nodestep__build(fd, dir_fd, "7_0_n1.h5", NULL, NULL);
	close(fd);
	return err;
}

static uint8_t *slurp(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *p;

	assert_int_equal(fstat(fd, &st), 0);
	*len = st.st_size;
	p = malloc(*len);
	assert_int_equal(read(fd, p, *len), *len);
	close(fd);
	return p;
}

/* A copy with one to four places changed, sometimes cut short, in a file of its own. */
static void spoil(const uint8_t *good, size_t len)
{
	static const uint8_t favourites[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
	uint8_t *p = malloc(len);
	int fd = open(bad, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	memcpy(p, good, len);
	for (int n = 1 + random() % 4; n > 0; n--) {
		size_t at = random() % len;

		p[at] = random() % 2 ? favourites[random() % 6] : random();
	}
	if (random() % 8 == 0)
		len = random() % len;
	assert_int_equal(write(fd, p, len), len);
	close(fd);
	free(p);
}

static void read_node(const struct reader *r, unsigned step, unsigned node)
{
	struct reader_node *n;

	if (reader__node(r, step, node, NULL, &n))
		return;
	for (unsigned s = 0; s < n->nseries; s++) {
		for (unsigned i = 0; i < n->series[s].tables.n; i++) {
			struct table *t;

			if (!reader__table(n, &n->series[s], n->series[s].tables.v[i], &t))
				table__free(t);
		}
	}
	reader_node__free(n);
}

static void read_all(const char *path)
{
	struct reader *r;

	if (reader__open(&r, path))
		return;
	for (unsigned s = 0; s < r->nsteps; s++)
		for (unsigned i = 0; i < r->steps[s].nodes.n; i++)
			read_node(r, s, i);
	reader__free(r);
}

TEST(spoilt_journals_build_or_fail)
{
	size_t len;
	uint8_t *p = slurp(journal, &len);
	unsigned built = 0;

	srandom(2);
	for (int i = 0; i < ROUNDS; i++) {
		int fd, err;

		spoil(p, len);
		fd = open(bad, O_RDONLY);
		err = nodestep__build(fd, dir_fd, "out.h5", NULL, NULL);
		close(fd);
		assert_true(!err || err == -EBADMSG || err == -ENODATA);
		built += !err;
	}
	print_message("%u of %d spoilt journals still gave a file\n", built, ROUNDS);
	assert_true(built > ROUNDS / 2);
	free(p);
}

static int read_in_child(const char *path)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL); /* cmocka's handler would go on with the tests */
		setrlimit(RLIMIT_CPU, &(struct rlimit){READ_S, READ_S});
		read_all(path);
		_exit(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Nor is a file, group, table or attribute left open on any way out. The library crashes of a few
 * files, or reads an object of no size for ever, which is why the programs, too, read them in
 * children with a limit. */
TEST(spoilt_files_read_or_fail)
{
	unsigned crashes = 0;
	size_t len;
	uint8_t *p = slurp(file, &len);

	srandom(3);
	for (int i = 0; i < ROUNDS; i++) {
		int status;

		spoil(p, len);
		status = read_in_child(bad);
		if (WIFSIGNALED(status))
			crashes++;
		else
			assert_int_equal(WEXITSTATUS(status), 0);
	}
	free(p);
	print_message("the library crashed of, or hung in, %u of %d spoilt files\n", crashes,
		      ROUNDS);
	assert_in_range(crashes, 0, ROUNDS / 100);
}

/* What lies where a file is to be published may crash who reads it: it is kept, not asked. */
TEST(a_file_that_crashes_its_reader_is_kept)
{
	char path[400];
	struct kept kept;
	int fd = open(journal, O_RDONLY), out;
	size_t len, kept_len;
	uint8_t *p = slurp("tests/data/hostile/38e14039.h5", &len), *was;

	out = open(bad, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(out, p, len), len);
	close(out);
	assert_int_equal(publish__final(fd, dir_fd, "bad.h5", NULL, &kept), 0);
	assert_string_equal(kept.path, "restart0/bad.h5");
	snprintf(path, sizeof(path), "%s/%s", unit_dir, kept.path);
	was = slurp(path, &kept_len);
	assert_int_equal(kept_len, len);
	assert_memory_equal(was, p, len);
	unlink(path);
	unlinkat(dir_fd, "restart0", AT_REMOVEDIR);
	close(fd);
	free(was);
	free(p);
}

static struct unit_fixture fixture = {.setup_all = make_dir};
