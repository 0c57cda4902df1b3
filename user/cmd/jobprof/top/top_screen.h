/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A full screen of a terminal, by ncurses, which is loaded when it is opened. */
#ifndef JP_CMD_JOBPROF_TOP_SCREEN_H
#define JP_CMD_JOBPROF_TOP_SCREEN_H

#include <stdbool.h>

/* Keys that are no characters. */
enum top_key {
	TOP_KEY_NOTHING = 0x10000, /* the time is over */
	TOP_KEY_SIZE,		   /* the terminal has another size */
	TOP_KEY_GONE,		   /* the terminal has gone */
	TOP_KEY_LINE_UP,
	TOP_KEY_LINE_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_FIRST,
	TOP_KEY_LAST,
	TOP_KEY_BACK,	  /* deletes a character */
	TOP_KEY_FUNCTION, /* and the function's number: F1 is TOP_KEY_FUNCTION + 1 */
};

#define TOP_KEY_ESCAPE 27

enum top_style { STYLE_PLAIN, STYLE_BOLD, STYLE_REVERSE, STYLE_DIM, STYLE_HIGH, STYLE_FULL };

/* 0, or the exit status, logged: there is no terminal, or no library. Colours are used unless
 * NO_COLOR is set. */
int top_screen__open(void);
void top_screen__close(void);
void top_screen__size(unsigned *lines, unsigned *columns);
void top_screen__clear(void);
/* Writes text at a line and column of the screen, as far as that reaches. */
void top_screen__put(unsigned line, unsigned column, const char *text, enum top_style style);
/* Changes the style of what is there. */
void top_screen__mark(unsigned line, unsigned from, unsigned to, enum top_style style);
void top_screen__show(void);
/* Waits for a key: a byte of a character, or enum top_key. */
int top_screen__key(unsigned timeout_ms);

#endif
