/* SPDX-License-Identifier: GPL-2.0-only */
/* What is made of images that are not whole: tests/e2e/files/nodeimage.py has what is made of those
 * that are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hdf5/h5record.h"
#include "hdf5/h5util.h"
#include "jobfile/merge_internal.h"
#include "jobfile/nodeimage.h"
#include "jobfile/nodeimage_internal.h"
#include "jobfile/nodescan.h"
#include "pool/message.h"

#define GOLDEN "tests/data/golden/7_0_p1.h5" /* a node of Slurm's with tables of two series */

static struct message image;
static struct nodeimage_maker *maker;

/* The image of the node in the golden file. */
static int take_image(void **state)
{
	struct nodescanner *s;
	struct nodescan *scan;
	struct nodescan_total *totals;
	const struct message *bytes;
	int fd = open(GOLDEN, O_RDONLY | O_CLOEXEC);
	hid_t file, node;
	unsigned n;

	h5__init();
	file = merge_dir__open_h5(fd);
	node = H5Gopen2(file, "p1", H5P_DEFAULT);
	if (node < 0 || nodescanner__new(&s) || nodeimage_maker__new(&maker) ||
	    nodescan__read(s, node, (uint64_t)lseek(fd, 0, SEEK_END), NODESCAN_OUTSIDE, &scan) ||
	    nodescan__totals(s, node, &totals, &n))
		return -1;
	bytes = nodescan__image(s);
	if (!bytes)
		return -1;
	message__put(&image, bytes->p, bytes->len);
	H5Gclose(node);
	nodescanner__free(s);
	H5Fclose(file);
	close(fd);
	return image.bad;
}

static int tear_down(void **state)
{
	nodeimage_maker__free(maker);
	free(image.p);
	return 0;
}

/* In a file that is in memory only. */
static int make(const void *bytes, size_t n, uint64_t *rows, unsigned *objects)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file, node;
	H5G_info_t info;
	int err;

	H5Pset_fapl_core(fapl, 1 << 20, false);
	H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
	file = H5Fcreate("no file", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
	H5Pclose(fapl);
	assert_true(file >= 0);
	node = H5Gcreate2(file, "n", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	err = nodeimage_maker__make(maker, node, bytes, n, rows);
	*objects = err || H5Gget_info(node, &info) < 0 ? 0 : info.nlinks;
	H5Gclose(node);
	H5Fclose(file);
	return err;
}

static const struct nodeimage_head *head_at(const uint8_t *p, size_t at)
{
	return (const struct nodeimage_head *)(p + at);
}

/* Where the part after that one begins, its name or names being in between. */
static size_t next_part(size_t at)
{
	const struct nodeimage_head *h = head_at(image.p, at);
	struct message w = {.p = image.p, .len = image.len, .at = at + sizeof(*h)};

	message__take_text(&w);
	if (h->part == IMAGE_TABLE)
		message__take_text(&w);
	if (h->part != IMAGE_GROUP) {
		message__take(&w, h->type_bytes);
		message__take(&w, h->bytes);
	}
	assert_false(w.bad);
	return w.at;
}

static void a_whole_one_is_a_node(void **state)
{
	uint64_t rows = 1, sum = 1;
	unsigned objects;

	assert_int_equal(make(image.p, image.len, &rows, &objects), 0);
	assert_int_equal(objects, 2);
	for (size_t at = 0; at < image.len; at = next_part(at)) {
		const struct nodeimage_head *h = head_at(image.p, at);

		if (h->part == IMAGE_TABLE)
			sum = h5record__add_rows(sum, image.p + next_part(at) - h->bytes, h->bytes);
	}
	assert_true(sum == rows && sum != 1);
}

/* But where a part ends. */
static void one_that_ends_early_is_none(void **state)
{
	uint8_t *part = malloc(image.len);
	size_t end = 0;
	unsigned objects;

	for (size_t n = 1; n < image.len; n++) {
		if (n > end)
			end = next_part(end);
		memcpy(part, image.p, n);
		part = realloc(part, n); /* so that a sanitizer sees what is taken beyond it */
		assert_int_equal(make(part, n, NULL, &objects), n == end ? 0 : -EBADMSG);
		part = realloc(part, image.len);
	}
	free(part);
}

/* Sizes, numbers and kinds that are not those of what follows. */
static void what_does_not_fit_is_none(void **state)
{
	static const uint64_t wrong[] = {0, 1, 7, 64, 1u << 20, UINT32_MAX, UINT64_MAX};
	uint8_t *copy = malloc(image.len);
	unsigned objects, refused = 0;

	for (size_t at = 0; at < image.len; at = next_part(at)) {
		for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
			for (unsigned field = 0; field < 5; field++) {
				struct nodeimage_head *h = (struct nodeimage_head *)(copy + at);

				memcpy(copy, image.p, image.len);
				if (field == 0)
					h->part = wrong[i];
				else if (field == 1)
					h->n = wrong[i];
				else if (field == 2)
					h->bytes = wrong[i];
				else if (field == 3)
					h->rank = wrong[i];
				else if (h->type_bytes && wrong[i] > h->type_bytes)
					h->type_bytes = wrong[i];
				refused += make(copy, image.len, NULL, &objects) != 0;
			}
		}
	}
	free(copy);
	assert_true(refused > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_one_is_a_node),
		cmocka_unit_test(one_that_ends_early_is_none),
		cmocka_unit_test(what_does_not_fit_is_none),
	};

	return cmocka_run_group_tests_name("nodeimage", tests, take_image, tear_down);
}
