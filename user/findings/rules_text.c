/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two files of Lua as bytes of the program. Their paths are relative to the directory of user/,
 * where make runs. */

#define INCLUDE_TEXT(name, file)                  \
	__asm__(".pushsection .rodata\n"          \
		".global " name "\n" name ":\n"   \
		".incbin \"" file "\"\n.byte 0\n" \
		".popsection\n")

INCLUDE_TEXT("rules_text_prelude", "user/findings/prelude.lua");
INCLUDE_TEXT("rules_text_builtin", "user/findings/rules.lua");
