// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprof mark: a named instant in the profile of this step. */
#include <unistd.h>
#include <stdio.h>

#include "base/log.h"
#include "client/column.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/verbs.h"

static const struct opt opts[] = {
	{'t', "time", "T", "seconds since 1970, as \"date +%s.%N\" says (default: now)",
	 OPT_CALL_AT(client_conn__parse_time, struct jpc_mark, time_ns)},
	{0},
};

const struct command cmd_mark = {
	.name = "jobprof mark",
	.usage = "NAME [--time T]",
	.about = "Inside a job: puts a mark into the profile of this step, in the table Marks.",
	.opts = opts,
};

static int send_mark(struct jpc_mark *m)
{
	struct client c;
	int status = client_conn__open(&c);

	if (status)
		return status;
	client__head(&c, m, JPC_MARK, sizeof(*m));
	status = client_conn__call(&c, m);
	client__close(&c);
	return status;
}

int verb_mark(int argc, char **argv)
{
	struct jpc_mark m = {.time_ns = client_conn__now_ns()};
	int status = options__read(&cmd_mark, argc, argv, &m);

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind + 1 != argc)
		return options__wrong(&cmd_mark, optind == argc
							 ? "a mark needs a name"
							 : "a mark has one name: put it in quotes");
	if (column__mark_name(m.name, argv[optind])) {
		log_error("\"%s\" is no name of a mark: 1 to %zu bytes without control characters",
			  argv[optind], sizeof(m.name) - 1);
		return 2;
	}
	return send_mark(&m);
}
