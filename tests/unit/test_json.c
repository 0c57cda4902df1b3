// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers and texts of tables as JSON: as short as they can be, and the same as those of whole
 * values. */
#include "tests/unit/unit.h"
#include "base/json.h"

static char *put(double v)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	json__put_number(v, out);
	fclose(out);
	return text;
}

/* As jansson and json__dump() print it. */
static char *dumped(json_t *j)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	json__dump(j, out, JSON_ENCODE_ANY);
	fclose(out);
	json_decref(j);
	return text;
}

TEST(numbers_have_the_digits_that_they_need)
{
	static const struct {
		double v;
		const char *text;
	} of[] = {{0, "0.0"},
		  {-0.0, "0.0"},
		  {1, "1.0"},
		  {-2.5, "-2.5"},
		  {0.1, "0.1"},
		  {100, "100.0"},
		  {0.000125, "0.000125"},
		  {1e-6, "1e-06"},
		  {123456789.123456, "123456789.123456"},
		  {1e9, "1000000000.0"},
		  {999999999.999999, "999999999.999999"},
		  {1.0 / 3, "0.3333333333333333"},
		  {1e15, "1e+15"},
		  {1e300, "1e+300"},
		  {-0.100001, "-0.100001"},
		  {0.5600578703703704, "0.5600578703703704"},
		  {NAN, "null"},
		  {INFINITY, "null"},
		  {-INFINITY, "null"}};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		char *text = put(of[i].v);

		assert_string_equal(text, of[i].text);
		free(text);
	}
}

TEST(a_number_reads_back_equal_and_is_what_whole_values_have)
{
	unsigned short seed[3] = {1, 2, 3};

	for (int i = 0; i < 20000; i++) {
		const double v = (erand48(seed) - 0.5) * pow(10, (double)(i % 30) - 8);
		const double cases[] = {v, nearbyint(v), nearbyint(v * 100) / 100,
					nearbyint(v * 1e6) / 1e6};

		for (int k = 0; k < 4; k++) {
			char *text = put(cases[k]), *same = dumped(json__number(cases[k]));

			assert_true(strtod(text, NULL) == cases[k]);
			assert_string_equal(text, same);
			free(text);
			free(same);
		}
	}
}

/* The shortest of 15 to 17 digits that is read back equal, by the C library alone. */
TEST(a_number_has_no_more_digits_than_it_needs)
{
	unsigned short seed[3] = {4, 5, 6};

	for (int i = 0; i < 200000; i++) {
		const double v = erand48(seed) * pow(10, (double)(i % 20) - 4);
		char *text = put(v), shortest[40];
		int digits = 15;

		do
			snprintf(shortest, sizeof(shortest), "%.*g", digits, v);
		while (strtod(shortest, NULL) != v && ++digits <= 17);
		assert_true(strtod(text, NULL) == v);
		assert_true(strlen(text) <= strlen(shortest) || !strpbrk(shortest, ".e"));
		free(text);
	}
}

TEST(texts_are_ascii_and_what_whole_values_have)
{
	static const char *const texts[] = {"",
					    "plain text, with / and ~",
					    "\"quoted\" \\ back",
					    "Gr\xc3\xb6\xc3\x9f"
					    "e",
					    "tab\there",
					    "\xe2\x80\xaeturned",
					    "not UTF-8: \xff",
					    "<script>",
					    "\x7f"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *text = NULL, *same = dumped(json__text(texts[i]));
		size_t n;
		FILE *out = open_memstream(&text, &n);

		json__put_text(texts[i], out);
		fclose(out);
		assert_string_equal(text, same);
		free(text);
		free(same);
	}
}
