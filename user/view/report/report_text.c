/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes parts of pages: numbers with units, paragraphs, rows of characters, and words for reasons.
 */
#include "view/report/report_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/escape.h"

/* ---- A row of values as a row of characters, and the terminal's width and character set */

#define LEVELS 8

void spark__print(FILE *out, const double *v, unsigned n, double max, bool utf8)
{
	static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char ascii[LEVELS + 1] = "_.-=+*#@";

	for (unsigned i = 0; i < n; i++) {
		double level = max > 0 ? v[i] / max * LEVELS : 0;
		unsigned at;

		if (isnan(v[i])) {
			putc(' ', out);
			continue;
		}
		at = level >= LEVELS ? LEVELS - 1 : level > 0 ? level : 0;
		if (utf8)
			fputs(blocks[at], out);
		else
			putc(ascii[at], out);
	}
}

unsigned spark__width(FILE *out)
{
	struct winsize w;
	int fd = fileno(out);

	if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &w) || !w.ws_col)
		return 80;
	return w.ws_col < 40 ? 40 : w.ws_col > 200 ? 200 : w.ws_col;
}

/* ---- the reasons of an analysis are unchanged in JSON; a page has words for those that it can
 * print */

static const struct {
	const char *reason, *words;
} reasons[] = {
	{"no_bins", "it is shorter than one of its bins"},
	{"no_servers", "the files have no rows of any"},
	{"too_few_bursts", "it has too few bursts"},
	{"not_exclusive", "other jobs may have used these nodes"},
};

const char *report_reason__words(const struct analysis_verdict *v)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(v->reason, reasons[i].reason))
			return reasons[i].words;
	return v->reason;
}

#define NOTHING_S 5e-6 /* s; less would be printed as 0.00 ms */

const char *report_text__time(double s, report_number buf)
{
	double whole = floor(s + 0.5), days = floor(whole / 86400);
	int h = (int)fmod(whole / 3600, 24), m = (int)fmod(whole / 60, 60),
	    sec = (int)fmod(whole, 60);

	if (isnan(s) || s < 0 || s > 1e11)
		snprintf(buf, REPORT_NUMBER, "?");
	else if (s < NOTHING_S)
		snprintf(buf, REPORT_NUMBER, "0 s");
	else if (s < 0.0995)
		snprintf(buf, REPORT_NUMBER, "%.*f ms", s < 0.00995 ? 2 : 0, 1000 * s);
	else if (s < 9.995)
		snprintf(buf, REPORT_NUMBER, "%.2f s", s);
	else if (s < 99.95)
		snprintf(buf, REPORT_NUMBER, "%.1f s", s);
	else if (whole < 3600)
		snprintf(buf, REPORT_NUMBER, "%d:%02d", m, sec);
	else if (!days)
		snprintf(buf, REPORT_NUMBER, "%d:%02d:%02d", h, m, sec);
	else
		snprintf(buf, REPORT_NUMBER, "%.0f-%02d:%02d:%02d", days, h, m, sec);
	return buf;
}

const char *report_text__change(double s, report_number buf)
{
	report_number time;

	snprintf(buf, REPORT_NUMBER, "%s%.40s",
		 s >= NOTHING_S	   ? "+"
		 : s <= -NOTHING_S ? "-"
				   : "",
		 report_text__time(fabs(s), time));
	return buf;
}

#define DIGITS_MAX 1e15 /* larger numbers, which only damaged files have, are rounded */

/* Writes a number with about three digits. Returns its length. */
static int put_digits(double v, report_number buf)
{
	int places = fabs(v) < 9.995 ? 2 : fabs(v) < 99.95 ? 1 : 0;

	if (fabs(v) > DIGITS_MAX)
		return snprintf(buf, REPORT_NUMBER, "%.3g", v);
	if (v == floor(v) && fabs(v) < 1000)
		places = 0;
	if (fabs(v) >= 999.5)
		return (int)strlen(report_text__count(v, buf));
	return snprintf(buf, REPORT_NUMBER, "%.*f", places, v);
}

struct scale {
	double from, by;
	const char *unit;
};

/* Writes a number by the last scale whose least value is not above `like`. */
static const char *put_scaled(double v, double like, const struct scale *scales, size_t n,
			      report_number buf)
{
	size_t i = 0;
	int len;

	if (!isfinite(v) || isinf(v)) {
		snprintf(buf, REPORT_NUMBER, "?");
		return buf;
	}
	while (i + 1 < n && fabs(like) >= scales[i + 1].from)
		i++;
	len = put_digits(v / scales[i].by, buf);
	snprintf(buf + len, REPORT_NUMBER - (size_t)len, " %s", scales[i].unit);
	return buf;
}

#define SCALED(v, like, scales, buf) \
	put_scaled(v, like, scales, sizeof(scales) / sizeof(*(scales)), buf)

const char *report_text__cores(double core_s, report_number buf)
{
	static const struct scale scales[] = {{0, 1, "core-s"}, {3600, 3600, "core-h"}};

	return SCALED(core_s, core_s, scales, buf);
}

static const struct scale sizes[] = {
	{0, 1.0 / 1048576, "B"}, {1000 / 1048576.0, 1 / 1024.0, "KiB"}, {1000 / 1024.0, 1, "MiB"},
	{1000, 1024, "GiB"},	 {1000 * 1024, 1048576, "TiB"},
};

const char *report_text__mb(double mb, report_number buf)
{
	return SCALED(mb, mb, sizes, buf);
}

const char *report_text__mem_option(double mb, report_number buf)
{
	if (mb > 1024)
		snprintf(buf, REPORT_NUMBER, "%.0fG", ceil(mb / 1024));
	else
		snprintf(buf, REPORT_NUMBER, "%.0fM", fmax(64, ceil(mb / 16) * 16));
	return buf;
}

const char *report_text__rate(double mb_per_s, report_number buf)
{
	size_t len;

	SCALED(mb_per_s, mb_per_s, sizes, buf);
	len = strlen(buf);
	if (*buf != '?')
		snprintf(buf + len, REPORT_NUMBER - len, "/s");
	return buf;
}

const char *report_text__energy(double j, double like, report_number buf)
{
	static const struct scale scales[] = {
		{0, 1, "J"}, {1000, 1000, "kJ"}, {360000, 3.6e6, "kWh"}, {3.6e9, 3.6e9, "MWh"}};

	return SCALED(j, like, scales, buf);
}

const char *report_text__count(double v, report_number buf)
{
	char digits[REPORT_NUMBER];
	int n, at = 0;

	if (!isfinite(v) || fabs(v) > DIGITS_MAX) {
		snprintf(buf, REPORT_NUMBER, !isfinite(v) ? "?" : "%.3g", v);
		return buf;
	}
	n = snprintf(digits, sizeof(digits), "%.0f", v);
	for (int i = 0; i < n && at < REPORT_NUMBER - 2; i++) {
		if (i && (n - i) % 3 == 0 && digits[i - 1] != '-')
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
	return buf;
}

#define OFTEN 9.95 /* per second; from here on whole numbers are enough */
#define RARE  0.01

const char *report_text__often(double n, double s, const char *what, report_number buf)
{
	double rate = n / s;
	bool rare = rate < RARE;
	report_number text;

	if (!rare && rate < OFTEN)
		snprintf(text, sizeof(text), "%.2g", rate);
	else
		report_text__count(rare ? n : rate, text);
	snprintf(buf, REPORT_NUMBER, "%.20s%s%.12s%s%s", text, *what ? " " : "", what,
		 *what && strcmp(text, "1") ? "s" : "", rare ? " in all" : "/s");
	return buf;
}

const char *report_text__share(double v, report_number buf)
{
	if (!isfinite(v))
		snprintf(buf, REPORT_NUMBER, "?");
	else if (fabs(v) > DIGITS_MAX)
		snprintf(buf, REPORT_NUMBER, "%.3g %%", 100 * v);
	else
		snprintf(buf, REPORT_NUMBER, "%.*f %%", v < 0.0995 && v > 0 ? 1 : 0, 100 * v);
	return buf;
}

#define CUT "..."

const char *report_text__cut(const char *s, unsigned columns, report_line buf)
{
	size_t room = columns < REPORT_WIDTH ? columns : REPORT_WIDTH, len = 0, kept = 0;
	char c[5];

	for (buf[0] = 0; *s; s++) {
		size_t n = (size_t)snprintf(c, sizeof(c), *s < 0x20 || *s > 0x7e ? "\\x%02x" : "%c",
					    (unsigned char)*s);

		if (len + n > room) {
			snprintf(buf + kept, REPORT_WIDTH + 1 - kept, CUT);
			break;
		}
		memcpy(buf + len, c, n + 1);
		len += n;
		if (len + strlen(CUT) <= room)
			kept = len;
	}
	return buf;
}

const char *report_text__s(double n)
{
	return n == 1 ? "" : "s";
}

void report_text__paragraph(FILE *out, const char *text, int at, int indent)
{
	int begin = at;

	while (*text) {
		size_t len = strcspn(text, " \n");
		char word[512];

		if (!len) {
			text++;
			continue;
		}
		if (text[len] == ' ' && text[len + 1] == '%') /* "%" stays with its number */
			len += 1 + strcspn(text + len + 1, " \n");
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		if (at > begin && at + 1 + (int)len > REPORT_WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			at = begin = indent;
		} else if (at > begin) {
			putc(' ', out);
			at++;
		}
		print__escaped(out, word);
		at += (int)len;
		text += len;
	}
	putc('\n', out);
}

void report_text__bar(FILE *out, double share, int width, char full, char empty)
{
	int n = isnan(share) ? 0 : (int)lrint(fmin(fmax(share, 0), 1) * width);

	for (int i = 0; i < width; i++)
		putc(i < n ? full : empty, out);
}
