/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two files of Lua as bytes of the program. Their paths are relative to the directory of user/,
 * where make runs. And what stands in them. */
#include <ctype.h>
#include <string.h>

#include "findings/engine.h"

#define INCLUDE_TEXT(name, file)                  \
	__asm__(".pushsection .rodata\n"          \
		".global " name "\n" name ":\n"   \
		".incbin \"" file "\"\n.byte 0\n" \
		".popsection\n")

INCLUDE_TEXT("rules_text_prelude", "user/findings/prelude.lua");
INCLUDE_TEXT("rules_text_builtin", "user/findings/rules.lua");

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Whether the first n bytes of a word are a word of the text. */
static bool has_word(const char *text, const char *word, size_t n)
{
	const size_t size = strlen(text);

	for (const char *p = text; (p = memmem(p, size - (size_t)(p - text), word, n)); p++)
		if ((p == text || !is_of_word(p[-1])) && !is_of_word(p[n]))
			return true;
	return false;
}

bool rules_text__has_code(const struct rules_text *t, const char *code)
{
	for (const char *p = code + strspn(code, " "); *p; p += strspn(p, " ")) {
		const size_t n = strcspn(p, " =");

		if (!has_word(rules_text_builtin, p, n) && !(t->text && has_word(t->text, p, n)))
			return false;
		p += strcspn(p, " ");
	}
	return true;
}
