// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts of users on their way to a terminal, to a spreadsheet, and into files. */

#include "tests/unit/unit.h"
#include "base/csv.h"
#include "base/escape.h"
#include "base/utf8.h"

static const char *cell(const char *text)
{
	static char got[256];
	struct outbuf o;

	assert_int_equal(outbuf__init(&o, -1), 0);
	csv__put(&o, text);
	assert_true(o.len < sizeof(got));
	memcpy(got, o.buf, o.len);
	got[o.len] = 0;
	outbuf__end(&o);
	return got;
}

TEST(a_spreadsheet_computes_no_text)
{
	assert_string_equal(cell("@SUM(1)"), "\"'@SUM(1)\"");
	assert_string_equal(cell("=1+2"), "\"'=1+2\"");
	assert_string_equal(cell("-1+2"), "\"'-1+2\"");
	assert_string_equal(cell("+cmd|' /C calc'!A0"), "\"'+cmd|' /C calc'!A0\"");
	assert_string_equal(cell("=\"a\""), "\"'=\"\"a\"\"\"");
	assert_string_equal(cell("-"), "\"'-\"");
	assert_string_equal(cell("-inf"), "\"'-inf\"");
}

TEST(numbers_and_other_texts_stay)
{
	static const char *const same[] = {"",	  "-4", "+1.5e-3",
					   "-.5", "n1", "a=b",
					   "1-2", "'a", "phase \xc3\xa4 \xe2\x82\xac"};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_string_equal(cell(same[i]), same[i]);
	assert_string_equal(cell("a,\"b"), "\"a,\"\"b\"");
	assert_string_equal(cell("n\n1"), "\"n\n1\"");
}

TEST(what_nobody_sees_is_escaped)
{
	assert_string_equal(cell("a\x1b[2Jb\x7f"), "a\\x1b[2Jb\\x7f");
	assert_string_equal(cell("\t=1"), "\\x09=1");
	assert_string_equal(cell("a\rb"), "\"a\\x0db\"");
	assert_string_equal(cell("a\xe2\x80\xae"
				 "b"),
			    "a\\xe2\\x80\\xaeb"); /* U+202E */
	assert_string_equal(cell("a\xc2\x9b"
				 "b"),
			    "a\\xc2\\x9bb"); /* U+009B */
	assert_string_equal(cell("a\xff"), "a\\xff");
}

TEST(rows_of_json_are_lines_with_the_keys_as_head)
{
	json_t *rows =
		json_pack("[{s:s, s:i, s:f, s:n, s:b, s:[s, s]}, {s:s, s:i, s:f, s:n, s:b, "
			  "s:[{s:s, s:i}]}]",
			  "name", "=1,2", "n", 7, "v", 0.1, "none", "is", 1, "of", "a", "b", "name",
			  "c", "n", -8, "v", 1e-9, "none", "is", 0, "of", "x", "d", "y", 3);
	static char got[256];
	FILE *f = fmemopen(got, sizeof(got), "w");

	csv__print_rows(f, rows);
	csv__print_rows(f, NULL);
	fclose(f);
	json_decref(rows);
	assert_string_equal(got,
			    "name,n,v,none,is,of\n\"'=1,2\",7,0.1,,1,a; b\nc,-8,1e-09,,0,d 3\n");
}

static void expect_shown(const char *text, const char *wanted, unsigned n)
{
	unsigned replaced;
	char *got = utf8__shown(text, &replaced);

	assert_string_equal(got, wanted);
	assert_int_equal(replaced, n);
	free(got);
}

#define GONE "\xef\xbf\xbd"

TEST(characters_of_no_width_or_another_direction_are_replaced)
{
	static const char *const hidden[] = {
		"\xc2\xad", /* U+00AD, a hyphen that is not shown */
		"\xd8\x9c", /* U+061C, U+202A, U+202E, U+2066 to U+2069: directions */
		"\xe2\x80\xaa",	    "\xe2\x80\xae", "\xe2\x81\xa6",
		"\xe2\x81\xa9",	    "\xe2\x80\x8b", /* U+200B, U+200F, U+FEFF: no width */
		"\xe2\x80\x8f",	    "\xef\xbb\xbf", "\xe2\x80\xa8", /* U+2028: a line ends */
		"\xc2\x85",					    /* U+0085 */
		"\xf3\xa0\x81\x81", /* U+E0041: a letter that nobody sees */
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		expect_shown(hidden[i], GONE, 1);
	expect_shown("\xe2\x80\x90 \xe2\x80\xa6 \xd7\x90 \xf0\x9f\x98\x80",
		     "\xe2\x80\x90 \xe2\x80\xa6 \xd7\x90 \xf0\x9f\x98\x80", 0);
	expect_shown("a\xe2\x80", "a" GONE GONE, 2);
}

/* What is stored keeps them: they belong to the writing of some languages. */
TEST(stored_texts_keep_joiners)
{
	unsigned replaced;
	char *got = utf8__clean("\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae\x01", 100, &replaced);

	assert_string_equal(got, "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae" GONE);
	assert_int_equal(replaced, 1);
	free(got);
}

static const char *xml(const char *text, size_t max)
{
	static char got[256];
	FILE *f = fmemopen(got, sizeof(got), "w");

	print__xml(f, text, max);
	fclose(f);
	return got;
}

TEST(pictures_have_no_hidden_characters)
{
	assert_string_equal(xml("<a\x1b\xe2\x80\xae\xc3\xa4\xff>", 100), "&lt;a????\xc3\xa4?&gt;");
	assert_string_equal(xml("ab\xc3\xa4", 3), "ab?");
	assert_string_equal(xml("ab\xc3\xa4", 4), "ab\xc3\xa4");
}
