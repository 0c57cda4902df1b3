/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does the same every second: writes and reads through stdio, computes, sleeps. */
#include "tool.h"

static const char help[] = "[-o FILE] SECONDS CPU WRITE_MB READ_MB PATH\n"
			   "Each second writes and reads so much of PATH through stdio, uses CPU\n"
			   "seconds of CPU time in all, and sleeps.\n"
			   "  -o FILE  the kernel's account, at the end";

static char block[1 << 16];

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void write_mb(const char *path, size_t mb)
{
	FILE *f = fopen(path, "w");

	if (!f)
		die("%s: %s", path, strerror(errno));
	for (size_t left = mb * MB; left; left -= sizeof(block))
		if (fwrite(block, 1, sizeof(block), f) != sizeof(block))
			die("%s: cannot be written", path);
	fclose(f);
}

static void read_mb(const char *path, size_t mb)
{
	FILE *f = fopen(path, "r");

	if (!f)
		die("%s: %s", path, strerror(errno));
	/* stdio would read ahead; what was asked for is what is to be seen. */
	setvbuf(f, NULL, _IONBF, 0);
	for (size_t left = mb * MB; left; left -= sizeof(block))
		if (fread(block, 1, sizeof(block), f) != sizeof(block))
			die("%s: cannot be read", path);
	fclose(f);
}

/* Rows end with seconds of the wall clock, some milliseconds late: what is done every second lies
 * between two such ends if it begins a quarter of a second after one. */
static void wait_for_quarter(void)
{
	struct timespec t;
	double part;

	clock_gettime(CLOCK_REALTIME, &t);
	part = (double)t.tv_nsec / 1e9;
	sleep_s(part > 0.25 ? 1.25 - part : 0.25 - part);
}

int main(int argc, char **argv)
{
	const char *out = option_out(argc, argv, help), *path;
	double cpu;
	unsigned seconds;
	uint64_t start;

	if (argc - optind != 5)
		usage(help, false);
	seconds = (unsigned)to_number(argv[optind]);
	cpu = to_number(argv[optind + 1]);
	path = argv[optind + 4];
	wait_for_quarter();
	start = now_ns();
	for (unsigned s = 1; s <= seconds; s++) {
		uint64_t end = start + s * UINT64_C(1000000000), now;
		double enough = cpu_s() + cpu;

		write_mb(path, (size_t)to_number(argv[optind + 2]));
		read_mb(path, (size_t)to_number(argv[optind + 3]));
		while (cpu_s() < enough)
			;
		now = now_ns();
		if (now < end)
			sleep_s((double)(end - now) / 1e9);
	}
	account__write(out);
	return 0;
}
