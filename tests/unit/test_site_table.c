// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows by column (view/site/site_table): texts that many rows have stand once. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "base/id_table.h"
#include "view/site/site_table.h"

static const struct site_column columns[] = {{.key = "name", .head = "Name", .kind = CELL_TEXT}};

/* Adds a row for each text, and prints them. The caller frees it. */
static char *by_column(const char *const *texts, unsigned n)
{
	struct site_table t = {.columns = columns, .ncolumns = 1};
	char *said = NULL;
	size_t size;
	FILE *out = open_memstream(&said, &size);

	for (unsigned i = 0; i < n; i++) {
		const struct db_value v =
			texts[i] ? db_value__text(texts[i]) : (struct db_value){.type = DB_NULL};

		assert_int_equal(site_table__add(&t, &v), 0);
	}
	site_table__print_columns(&t, out);
	fclose(out);
	site_table__free(&t);
	return said;
}

#define CHECK(wanted, ...)                                                     \
	do {                                                                   \
		const char *texts[] = {__VA_ARGS__};                           \
		char *said = by_column(texts, sizeof(texts) / sizeof(*texts)); \
                                                                               \
		assert_string_equal(said, wanted);                             \
		free(said);                                                    \
	} while (0)

TEST(texts_that_many_rows_have_stand_once)
{
	CHECK("{\"n\":5,\"columns\":{\"name\":{\"of\":[\"b\",\"a\"],\"at\":[0,1,null,0,0]}}}", "b",
	      "a", NULL, "b", "b");
	CHECK("{\"n\":2,\"columns\":{\"name\":[\"a\",\"b\"]}}", "a", "b");
	CHECK("{\"n\":2,\"columns\":{\"name\":null}}", NULL, NULL);
}

/* Users choose names: these two have the same hash. */
TEST(texts_of_one_hash_stay_two)
{
	const char *a = "8yn0iYCKYHlIj4-BwPqk", *b = "GReLUrM4wMqfg9yzV3KQ";

	assert_true(id__of_text(a) == id__of_text(b));
	CHECK("{\"n\":4,\"columns\":{\"name\":[\"8yn0iYCKYHlIj4-BwPqk\",\"GReLUrM4wMqfg9yzV3KQ\","
	      "\"8yn0iYCKYHlIj4-BwPqk\",\"8yn0iYCKYHlIj4-BwPqk\"]}}",
	      a, b, a, a);
}
