/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works a part of every period until SIGTERM, then writes the kernel's account of itself. */
#include "tests/tools/tool.h"

static const char help[] = "[-o FILE] BUSY PERIOD\n"
			   "Spins BUSY seconds of every PERIOD until SIGTERM.\n"
			   "  -o FILE  the kernel's account, at the end";

static volatile sig_atomic_t ended;

static void on_term(int sig)
{
	(void)sig;
	ended = 1;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_term};
	const char *out = option_out(argc, argv, help);
	double busy, period;

	if (argc - optind != 2)
		usage(help, false);
	busy = to_number(argv[optind]);
	period = to_number(argv[optind + 1]);
	sigaction(SIGTERM, &sa, NULL);
	while (!ended) {
		uint64_t end = now_ns() + (uint64_t)(busy * 1e9);

		while (now_ns() < end)
			;
		if (!ended)
			sleep_s(period - busy);
	}
	account__write(out);
	return 0;
}
