// SPDX-License-Identifier: GPL-2.0-only
/* jobprof mark: a named instant in the profile of this step. */
#include <getopt.h>
#include <stdio.h>

#include "base/log.h"
#include "client/column.h"
#include "cmd/talk.h"
#include "cmd/verbs.h"

static int usage(FILE *out)
{
	fprintf(out,
		"usage: jobprof mark NAME [--time T]\n\n"
		"Inside a job: puts a mark into the profile of this step, in the table Marks.\n\n"
		"  -t, --time T  seconds since 1970, as \"date +%%s.%%N\" says (default: now)\n");
	return out == stdout ? 0 : 2;
}

static int send_mark(struct jpc_mark *m)
{
	struct client c;
	int status = talk__open(&c);

	if (status)
		return status;
	client__head(&c, m, JPC_MARK, sizeof(*m));
	status = talk__say(&c, m);
	client__close(&c);
	return status;
}

int verb_mark(int argc, char **argv)
{
	static const struct option options[] = {
		{"time", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct jpc_mark m = {.time_ns = talk__now()};
	int o, status;

	while ((o = getopt_long(argc, argv, "t:h", options, NULL)) != -1) {
		if (o != 't')
			return usage(o == 'h' ? stdout : stderr);
		status = talk__time(optarg, &m.time_ns);
		if (status)
			return status;
	}
	if (optind + 1 != argc)
		return usage(stderr);
	if (column__mark_name(m.name, argv[optind])) {
		log_error("\"%s\" is no name of a mark: 1 to %zu bytes without control characters",
			  argv[optind], sizeof(m.name) - 1);
		return 2;
	}
	return send_mark(&m);
}
