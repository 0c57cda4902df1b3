/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command as text: a shell takes it as it was, and no secret is in it. */

#include "tests/unit/unit.h"
#include "base/command_line.h"

static void expect(const char *wanted, char *const *argv)
{
	char *text = command_line__of(argv);

	assert_string_equal(text, wanted);
	free(text);
}

#define EXPECT(wanted, ...) expect(wanted, (char *[]){__VA_ARGS__, NULL})

TEST(words_are_quoted_as_a_shell_needs_it)
{
	EXPECT("python3 np1.py -n 5", "python3", "np1.py", "-n", "5");
	EXPECT("sh -c 'i=0; echo \"$i\"'", "sh", "-c", "i=0; echo \"$i\"");
	EXPECT("a '' 'it'\\''s'", "a", "", "it's");
	EXPECT("tokenize --tokens 5", "tokenize", "--tokens", "5");
}

TEST(secrets_are_masked)
{
	EXPECT("curl --token ***", "curl", "--token", "abc");
	EXPECT("db --password=***", "db", "--password=a b");
	EXPECT("env DB_PASSWORD=*** ./x", "env", "DB_PASSWORD=a'b c", "./x");
	EXPECT("sh -c export API_KEY=***; ./x --secret *** -v", "sh", "-c",
	       "export API_KEY='a b'; ./x --secret abc -v");
	EXPECT("git clone https://me:***@host/x", "git", "clone", "https://me:abc@host/x");
	EXPECT("ssh me@host:22 x://y", "ssh", "me@host:22", "x://y");
}

TEST(a_long_command_is_cut)
{
	char *word = calloc(1, 10000), *text;

	memset(word, 'x', 9999);
	text = command_line__of((char *[]){"a", word, NULL});
	assert_int_equal(strlen(text), COMMAND_LINE_MAX);
	assert_string_equal(text + COMMAND_LINE_MAX - 3, "...");
	free(text);
	free(word);
}

TEST(a_title_has_names_instead_of_paths_where_these_have_no_room)
{
	static const char command[] = "/usr/bin/python3 /home/me/a.py / /tmp/ 'x /a/b' ./c/d";
	char buf[COMMAND_LINE_MAX + 1];

	assert_string_equal(command_line__short(command, 100, buf), command);
	assert_string_equal(command_line__short(command, 20, buf),
			    "python3 a.py / /tmp/ 'x b' ./c/d");
	assert_string_equal(command_line__short("", 0, buf), "");
	assert_string_equal(command_line__short("sh -c 'a\n\tb'", 20, buf), "sh -c 'a  b'");
}
