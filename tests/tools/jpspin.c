/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spins without system calls for a time, in one or more threads. */
#include "tests/tools/tool.h"

#include <pthread.h>

static const char help[] = "[-o FILE] SECONDS [THREADS]\n"
			   "Spins without system calls, then prints the kernel's account of it.\n"
			   "  -o FILE  account to FILE instead of stdout";

static void *spinner(void *arg)
{
	(void)arg;
	spin_until_alarm();
	return NULL;
}

static void spin_threads(double seconds, unsigned long n)
{
	pthread_t *t = calloc(n, sizeof(*t));
	unsigned long i;

	if (!t)
		die("out of memory");
	spin__arm(seconds);
	for (i = 1; i < n; i++)
		if (pthread_create(&t[i], NULL, spinner, NULL))
			die("cannot start thread %lu", i);
	spin_until_alarm();
	for (i = 1; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
}

int main(int argc, char **argv)
{
	const char *out = option_out(argc, argv, help);
	unsigned long n;

	if (argc - optind < 1 || argc - optind > 2)
		usage(help, false);
	n = argc - optind == 2 ? to_ulong(argv[optind + 1]) : 1;
	if (!n)
		usage(help, false);
	spin_threads(to_number(argv[optind]), n);
	account__write(out);
	return 0;
}
