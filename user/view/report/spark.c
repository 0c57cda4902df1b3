/* SPDX-License-Identifier: GPL-2.0-only */
/* A row of values as a row of characters, and the terminal's width and character set. */
#include "view/report/spark.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* The first variable that is set, as in locale(7). */
static const char *locale_name(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *v = NULL;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !(v && *v); i++)
		v = getenv(names[i]);
	return v ? v : "";
}

/* language_territory.codeset@modifier. Only the name counts: it tells the terminal of a user of
 * another machine, though such a locale may not be installed here. */
bool spark__utf8(void)
{
	const char *codeset = strchr(locale_name(), '.');
	size_t n = codeset ? strcspn(++codeset, "@") : 0;

	return (n == 5 && !strncasecmp(codeset, "UTF-8", n)) ||
	       (n == 4 && !strncasecmp(codeset, "utf8", n));
}
