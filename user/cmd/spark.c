/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/spark.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>
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

bool spark__utf8(void)
{
	locale_t l = newlocale(LC_CTYPE_MASK, "", NULL);
	bool utf8;

	if (!l)
		return false;
	utf8 = !strcmp(nl_langinfo_l(CODESET, l), "UTF-8");
	freelocale(l);
	return utf8;
}
