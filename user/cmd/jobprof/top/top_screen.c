/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of jobprof top. The library is loaded here, as no other verb needs it. */
#include "cmd/jobprof/top/top_screen.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#if __has_include(<ncurses.h>)
#include <dlfcn.h>
#include <ncurses.h>
#define HAS_NCURSES
#endif

#ifdef HAS_NCURSES

#define LIBRARIES "libncursesw.so.6", "libncurses.so.6"

#define FUNCTIONS(X)          \
	X(newterm)            \
	X(endwin)             \
	X(cbreak)             \
	X(noecho)             \
	X(nonl)               \
	X(keypad)             \
	X(curs_set)           \
	X(set_escdelay)       \
	X(start_color)        \
	X(has_colors)         \
	X(use_default_colors) \
	X(init_pair)          \
	X(werase)             \
	X(wmove)              \
	X(waddnstr)           \
	X(wattr_set)          \
	X(wchgat)             \
	X(wrefresh)           \
	X(wtimeout)           \
	X(wgetch)             \
	X(getmaxx)            \
	X(getmaxy)

/* Macros of the same names would be used instead. */
#undef getmaxx
#undef getmaxy
#undef wattr_set

static struct {
#define POINTER(function) typeof(function) *function;
	FUNCTIONS(POINTER)
} nc;

static WINDOW *window;
static bool colours;

static const struct {
	attr_t attributes; /* without colours */
	short colour;	   /* 0: that of the terminal */
} styles[] = {
	[STYLE_PLAIN] = {A_NORMAL, 0},	       [STYLE_BOLD] = {A_BOLD, 0},
	[STYLE_REVERSE] = {A_REVERSE, 0},      [STYLE_DIM] = {A_DIM, 0},
	[STYLE_HIGH] = {A_BOLD, COLOR_YELLOW}, [STYLE_FULL] = {A_BOLD, COLOR_RED},
};

/* Loads the library. 0 or the exit status, logged. */
static int load(void)
{
	static const char *const names[] = {LIBRARIES};
	const char *missing = NULL;
	void *lib = NULL;
	WINDOW **screen;

	for (size_t i = 0; !lib && i < sizeof(names) / sizeof(names[0]); i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		log_error("%s; Debian's package is libncursesw6; -b needs none", dlerror());
		return 1;
	}
#define FIND(function)                                  \
	*(void **)&nc.function = dlsym(lib, #function); \
	missing = nc.function ? missing : #function;
	FUNCTIONS(FIND)
	screen = dlsym(lib, "stdscr");
	if (missing || !screen) {
		log_error("ncurses has no %s; -b needs no ncurses", missing ? missing : "stdscr");
		return 1;
	}
	if (!nc.newterm(NULL, stdout, stdin)) {
		log_error("TERM=\"%s\" is no terminal that ncurses knows: set TERM, or use -b",
			  getenv("TERM") ? getenv("TERM") : "");
		return 1;
	}
	window = *screen;
	return 0;
}

static void set_colours(void)
{
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !nc.has_colors() || nc.start_color() == ERR)
		return;
	colours = true;
	nc.use_default_colors();
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (styles[i].colour)
			nc.init_pair((short)i, styles[i].colour, -1);
}

int top_screen__open(void)
{
	int status;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		log_error("this is no terminal: -b prints without one");
		return 2;
	}
	setlocale(LC_CTYPE, "");
	status = load();
	if (status)
		return status;
	set_colours();
	nc.cbreak();
	nc.noecho();
	nc.nonl();
	nc.keypad(window, true);
	nc.curs_set(0);
	nc.set_escdelay(50);
	return 0;
}

void top_screen__close(void)
{
	if (window)
		nc.endwin();
	window = NULL;
}

void top_screen__size(unsigned *lines, unsigned *columns)
{
	int y = nc.getmaxy(window), x = nc.getmaxx(window);

	*lines = y > 0 ? (unsigned)y : 1;
	*columns = x > 0 ? (unsigned)x : 1;
}

void top_screen__clear(void)
{
	nc.wattr_set(window, A_NORMAL, 0, NULL);
	nc.werase(window);
}

static short pair_of(enum top_style style)
{
	return colours && styles[style].colour ? (short)style : 0;
}

static attr_t attributes_of(enum top_style style)
{
	return colours && styles[style].colour ? A_NORMAL : styles[style].attributes;
}

void top_screen__put(unsigned line, unsigned column, const char *text, enum top_style style)
{
	unsigned lines, columns;

	top_screen__size(&lines, &columns);
	if (line >= lines || column >= columns)
		return;
	nc.wattr_set(window, attributes_of(style), pair_of(style), NULL);
	nc.wmove(window, (int)line, (int)column);
	nc.waddnstr(window, text, -1);
	nc.wattr_set(window, A_NORMAL, 0, NULL);
}

void top_screen__mark(unsigned line, unsigned from, unsigned to, enum top_style style)
{
	unsigned lines, columns;

	top_screen__size(&lines, &columns);
	if (line >= lines || from >= columns || from >= to)
		return;
	nc.wmove(window, (int)line, (int)from);
	nc.wchgat(window, (int)(to - from), attributes_of(style), pair_of(style), NULL);
}

void top_screen__show(void)
{
	nc.wrefresh(window);
}

int top_screen__key(unsigned timeout_ms)
{
	static const struct {
		int theirs, ours;
	} keys[] = {
		{KEY_RESIZE, TOP_KEY_SIZE},
		{KEY_UP, TOP_KEY_LINE_UP},
		{KEY_DOWN, TOP_KEY_LINE_DOWN},
		{KEY_PPAGE, TOP_KEY_PAGE_UP},
		{KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{KEY_HOME, TOP_KEY_FIRST},
		{KEY_END, TOP_KEY_LAST},
		{KEY_BACKSPACE, TOP_KEY_BACK},
		{127, TOP_KEY_BACK},
		{8, TOP_KEY_BACK},
		{KEY_ENTER, '\n'},
		{'\r', '\n'},
	};
	int key;

	nc.wtimeout(window, timeout_ms > 86400000 ? 86400000 : (int)timeout_ms);
	errno = 0;
	key = nc.wgetch(window);
	if (key == ERR)
		return errno && errno != EINTR && errno != EAGAIN ? TOP_KEY_GONE : TOP_KEY_NOTHING;
	if (key >= KEY_F0 && key <= KEY_F0 + 12)
		return TOP_KEY_FUNCTION + key - KEY_F0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].theirs == key)
			return keys[i].ours;
	return key < 256 ? key : TOP_KEY_NOTHING;
}

#else

int top_screen__open(void)
{
	log_error("this jobprof was built without ncurses: -b prints without it");
	return 1;
}

void top_screen__close(void)
{
}

void top_screen__size(unsigned *lines, unsigned *columns)
{
	*lines = *columns = 1;
}

void top_screen__clear(void)
{
}

void top_screen__put(unsigned line, unsigned column, const char *text, enum top_style style)
{
	(void)line, (void)column, (void)text, (void)style;
}

void top_screen__mark(unsigned line, unsigned from, unsigned to, enum top_style style)
{
	(void)line, (void)from, (void)to, (void)style;
}

void top_screen__show(void)
{
}

int top_screen__key(unsigned timeout_ms)
{
	(void)timeout_ms;
	return TOP_KEY_GONE;
}
#endif
