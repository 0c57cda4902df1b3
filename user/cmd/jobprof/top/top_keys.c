/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of jobprof top and its keys, which are those of top and htop. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cmd/jobprof/top/top_look.h"
#include "cmd/jobprof/top/top_screen.h"

#define ESCAPE TOP_KEY_ESCAPE

enum prompt { PROMPT_NONE, PROMPT_SEARCH, PROMPT_FILTER, PROMPT_USER, PROMPT_DELAY };

static const char *const prompts[] = {
	[PROMPT_SEARCH] = "Search: ",
	[PROMPT_FILTER] = "Filter (empty: all): ",
	[PROMPT_USER] = "User (empty: all): ",
	[PROMPT_DELAY] = "Seconds between looks: ",
};

struct screen {
	struct top *top;
	unsigned lines, columns;
	unsigned first, at; /* indices in shown[]: the top line, and the selected row */
	unsigned page;	    /* rows that fit */
	char key[sizeof(((struct top_row *)0)->key)]; /* of the selected row; "": none yet */
	enum prompt prompt;
	char input[64], search[64];
	const char *note; /* in the last line until the next key; NULL: none */
	bool help, ended;
};

static const struct top_row *row_at(const struct screen *s, unsigned i)
{
	return &s->top->rows.v[s->top->view.shown[i]];
}

/* ---- drawing */

static const enum top_style style_of[] = {
	[TOP_PLAIN] = STYLE_PLAIN,
	[TOP_UNKNOWN] = STYLE_DIM,
	[TOP_HIGH] = STYLE_HIGH,
	[TOP_FULL] = STYLE_FULL,
};

static void draw_row(const struct screen *s, unsigned line, unsigned i)
{
	struct top_span spans[24];
	char text[TOP_LINE];
	unsigned n = top_text__row(text, spans, &s->top->layout, &s->top->view, row_at(s, i));

	top_screen__put(line, 0, text, STYLE_PLAIN);
	if (i == s->at) {
		top_screen__mark(line, 0, s->columns, STYLE_REVERSE);
		return;
	}
	for (unsigned k = 0; k < n; k++)
		top_screen__mark(line, spans[k].from, spans[k].to, style_of[spans[k].mark]);
}

static void draw_last(const struct screen *s)
{
	const struct top_view *v = &s->top->view;
	char text[TOP_LINE];

	if (s->prompt)
		snprintf(text, sizeof(text), "%s%s_", prompts[s->prompt], s->input);
	else if (s->top->trouble[0])
		snprintf(text, sizeof(text), "%s", s->top->trouble);
	else if (s->help || s->note)
		snprintf(text, sizeof(text), "%s", s->help ? "Any key goes back." : s->note);
	else
		snprintf(text, sizeof(text),
			 "F1 help  F3 search  F4 filter  F5 %s  space fold  q quit",
			 v->flat ? "tree" : "list");
	top_screen__put(s->lines - 1, 0, text,
			s->top->trouble[0] && !s->prompt ? STYLE_FULL : STYLE_PLAIN);
}

/* The selected row stays selected where it is still shown, and stays on the screen. */
static void find_selected(struct screen *s)
{
	const struct top_view *v = &s->top->view;

	for (unsigned i = 0; s->key[0] && i < v->nshown; i++)
		if (!strcmp(row_at(s, i)->key, s->key))
			s->at = i;
	if (s->at >= v->nshown)
		s->at = v->nshown ? v->nshown - 1 : 0;
	if (s->first > s->at)
		s->first = s->at;
	if (s->at >= s->first + s->page)
		s->first = s->at - s->page + 1;
	if (s->first + s->page > v->nshown)
		s->first = v->nshown > s->page ? v->nshown - s->page : 0;
}

static void draw_help(const struct screen *s)
{
	/* for 60 columns and 15 lines */
	static const char *const text[] = {
		"jobprof top: what runs on this node, as jobprofd counts it",
		"q F10     quit            P M T N  by CPU, memory, time, id",
		"h ? F1    this help       W D X E  by wait, disk, net, watt",
		"arrows    move; Home End  < > F6   by the column beside",
		"space +   fold, unfold    R        the other way round",
		"* -       all of them     F4 \\     filter: rows with a text",
		"F5 t      tree or list    F3 / n   search; the next one",
		"d s       seconds         u        jobs of one user",
		"",
		"CPU%    100 is one CPU         WATT  the step's share",
		"WAIT%   ready, but no CPU; 100 is one thread",
		"IO%     blocked on a disk      MEM%  of the limit",
		"DISK/s  of this node's disks   NET/s without loopback",
		"?       not known. Rates are of the step's last row.",
	};

	for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		top_screen__put(i, 0, text[i], i ? STYLE_PLAIN : STYLE_BOLD);
}

static void draw_table(struct screen *s)
{
	char lines[TOP_HEAD_MAX][TOP_LINE], text[TOP_LINE];
	struct top_head head = top__head(s->top);
	unsigned n, from, to, line;

	n = s->lines > TOP_HEAD_MAX + 4 ? top_text__head(lines, &head, s->columns) : 0;
	for (line = 0; line < n; line++)
		top_screen__put(line, 0, lines[line], line ? STYLE_PLAIN : STYLE_BOLD);
	s->page = s->lines > n + 2 ? s->lines - n - 2 : 1;
	find_selected(s);
	top_text__columns(text, &s->top->layout, &s->top->view, &from, &to);
	top_screen__put(line, 0, text, STYLE_PLAIN);
	top_screen__mark(line, 0, s->columns, STYLE_REVERSE);
	top_screen__mark(line, from, to, STYLE_BOLD);
	for (unsigned i = 0; i < s->page && s->first + i < s->top->view.nshown; i++)
		draw_row(s, line + 1 + i, s->first + i);
	if (!s->top->view.nshown && s->lines > line + 2)
		top_screen__put(line + 1, 0,
				s->top->rows.n	   ? "no row matches"
				: s->top->of_files ? "no step of the job runs any more"
						   : "no step that you may see runs here",
				STYLE_PLAIN);
}

static void draw(struct screen *s)
{
	top_screen__size(&s->lines, &s->columns);
	top_screen__clear();
	top__arrange(s->top, s->columns);
	if (s->help)
		draw_help(s);
	else
		draw_table(s);
	draw_last(s);
	top_screen__show();
}

/* ---- keys */

static void select_row(struct screen *s, long at)
{
	unsigned n = s->top->view.nshown;

	if (!n)
		return;
	s->at = at < 0 ? 0 : at >= (long)n ? n - 1 : (unsigned)at;
	memcpy(s->key, row_at(s, s->at)->key, sizeof(s->key));
}

static void search_next(struct screen *s, unsigned from)
{
	unsigned n = s->top->view.nshown;

	for (unsigned i = 0; s->search[0] && i < n; i++)
		if (top_row__has(row_at(s, (from + i) % n), s->search)) {
			select_row(s, (from + i) % n);
			return;
		}
	s->note = "not found";
}

static void begin_prompt(struct screen *s, enum prompt prompt, const char *text)
{
	s->prompt = prompt;
	snprintf(s->input, sizeof(s->input), "%s", text);
}

static void end_prompt(struct screen *s)
{
	struct top_view *v = &s->top->view;
	double delay;

	switch (s->prompt) {
	case PROMPT_SEARCH:
		memcpy(s->search, s->input, sizeof(s->search));
		search_next(s, s->at);
		break;
	case PROMPT_FILTER:
		memcpy(v->filter, s->input, sizeof(v->filter));
		break;
	case PROMPT_USER:
		memcpy(v->user, s->input, sizeof(v->user));
		break;
	case PROMPT_DELAY:
		if (!parse_double(s->input, &delay) && delay >= 0.1 && delay <= 86400)
			s->top->delay = delay;
		else
			s->note = "not a number of seconds from 0.1 to 86400";
		break;
	case PROMPT_NONE:
		break;
	}
	s->prompt = PROMPT_NONE;
}

/* Removes the last character, which may be of several bytes. */
static void shorten(char *text)
{
	size_t n = strlen(text);

	while (n && (text[--n] & 0xc0) == 0x80)
		;
	text[n] = '\0';
}

static void prompt_key(struct screen *s, int key)
{
	size_t n = strlen(s->input);

	if (key == '\n')
		end_prompt(s);
	else if (key == ESCAPE || key == TOP_KEY_FUNCTION + 10)
		s->prompt = PROMPT_NONE;
	else if (key == TOP_KEY_BACK)
		shorten(s->input);
	else if (key >= ' ' && key < 256 && n + 1 < sizeof(s->input)) {
		s->input[n] = (char)key;
		s->input[n + 1] = '\0';
	}
}

static void fold_row(struct screen *s)
{
	const struct top_row *r;

	if (!s->top->view.nshown || s->top->view.flat)
		return;
	r = row_at(s, s->at);
	if (r->kind == TOP_TASK)
		r = &s->top->rows.v[r->parent];
	memcpy(s->key, r->key, sizeof(s->key));
	top_view__fold(&s->top->view, r);
}

/* Folds or unfolds all jobs. */
static void fold_all(struct screen *s, bool fold)
{
	const struct top_rows *rows = &s->top->rows;

	for (unsigned i = 0; i < rows->n; i++)
		if (fold ? rows->v[i].kind == TOP_JOB &&
				    !top_view__is_folded(&s->top->view, &rows->v[i])
			 : top_view__is_folded(&s->top->view, &rows->v[i]))
			top_view__fold(&s->top->view, &rows->v[i]);
}

static bool sort_key(struct screen *s, int key)
{
	static const struct {
		char key;
		unsigned value;
	} keys[] = {{'P', TOP_CPU},	  {'M', TOP_MEMORY},   {'T', TOP_TIME},	 {'W', TOP_WAIT},
		    {'D', TOP_DISK_RATE}, {'X', TOP_NET_RATE}, {'E', TOP_POWER}, {'N', TOP_ID}};
	struct top_view *v = &s->top->view;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].key == key) {
			v->sort = keys[i].value;
			v->ascending = false;
			return true;
		}
	if (key == '<' || key == '>' || key == TOP_KEY_FUNCTION + 6)
		v->sort = top_layout__next_sort(&s->top->layout, v->sort, key == '<' ? -1 : 1);
	else if (key == 'R' || key == 'I')
		v->ascending = !v->ascending;
	else
		return false;
	return true;
}

static bool move_key(struct screen *s, int key)
{
	const long at = s->at, page = s->page > 1 ? s->page - 1 : 1;

	switch (key) {
	case TOP_KEY_LINE_UP:
	case 'k':
		select_row(s, at - 1);
		return true;
	case TOP_KEY_LINE_DOWN:
	case 'j':
		select_row(s, at + 1);
		return true;
	case TOP_KEY_PAGE_UP:
		select_row(s, at - page);
		return true;
	case TOP_KEY_PAGE_DOWN:
		select_row(s, at + page);
		return true;
	case TOP_KEY_FIRST:
		select_row(s, 0);
		return true;
	case TOP_KEY_LAST:
		select_row(s, (long)s->top->view.nshown - 1);
		return true;
	default:
		return false;
	}
}

static void other_key(struct screen *s, int key)
{
	char delay[32];

	switch (key) {
	case 'q':
	case 'Q':
	case 3: /* Ctrl-C, where the terminal makes no signal of it */
	case TOP_KEY_GONE:
	case TOP_KEY_FUNCTION + 10:
		s->ended = true;
		break;
	case 'h':
	case '?':
	case TOP_KEY_FUNCTION + 1:
		s->help = true;
		break;
	case '/':
	case TOP_KEY_FUNCTION + 3:
		begin_prompt(s, PROMPT_SEARCH, "");
		break;
	case 'n':
		search_next(s, s->at + 1);
		break;
	case '\\':
	case TOP_KEY_FUNCTION + 4:
		begin_prompt(s, PROMPT_FILTER, s->top->view.filter);
		break;
	case 't':
	case TOP_KEY_FUNCTION + 5:
		s->top->view.flat = !s->top->view.flat;
		break;
	case ' ':
	case '+':
	case '\n':
		fold_row(s);
		break;
	case '*':
	case '-':
		fold_all(s, key == '*');
		break;
	case 'd':
	case 's':
		snprintf(delay, sizeof(delay), "%g", s->top->delay);
		begin_prompt(s, PROMPT_DELAY, delay);
		break;
	case 'u':
		if (!s->top->of_files) /* these are of one user */
			begin_prompt(s, PROMPT_USER, s->top->view.user);
		break;
	default:
		break;
	}
}

static void take_key(struct screen *s, int key)
{
	if (key == TOP_KEY_NOTHING || key == TOP_KEY_SIZE)
		return;
	s->note = NULL;
	if (key == TOP_KEY_GONE || key == 3)
		s->ended = true;
	else if (s->prompt)
		prompt_key(s, key);
	else if (s->help)
		s->help = false;
	else if (!sort_key(s, key) && !move_key(s, key))
		other_key(s, key);
}

/* Messages of the log would be in the way of the screen. Returns the standard error of before. */
static int silence(void)
{
	int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stderr);
	if (before >= 0 && null >= 0)
		dup2(null, STDERR_FILENO);
	if (null >= 0)
		close(null);
	return before;
}

static void speak_again(int before)
{
	if (before < 0)
		return;
	dup2(before, STDERR_FILENO);
	close(before);
}

int top_keys__run(struct top *t, unsigned rounds)
{
	struct screen s = {.top = t, .page = 1};
	uint64_t looked_ns = clock__mono_ns(), due_ns, now_ns;
	int status = top_screen__open(), before;

	if (status)
		return status;
	before = silence();
	while (!s.ended) {
		draw(&s);
		due_ns = looked_ns + (uint64_t)(t->delay * NSEC_PER_SEC);
		now_ns = clock__mono_ns();
		take_key(&s,
			 top_screen__key(now_ns < due_ns
						 ? (unsigned)((due_ns - now_ns) / NSEC_PER_MSEC) + 1
						 : 0));
		if (clock__mono_ns() < looked_ns + (uint64_t)(t->delay * NSEC_PER_SEC))
			continue;
		if (rounds && !--rounds)
			break;
		top__look(t);
		looked_ns = clock__mono_ns();
	}
	top_screen__close();
	speak_again(before);
	return 0;
}
