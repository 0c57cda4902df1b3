// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprof emit: a row of values of the user's own in the profile of this step. */
#include <errno.h>
#include <unistd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "client/column.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/verbs.h"

struct emission {
	struct {
		struct jpc_table head;
		struct jpc_column col[JPC_COLUMNS];
	} table;
	struct {
		struct jpc_rows head;
		int64_t time_ns;
		double value[JPC_COLUMNS];
	} row;
};

_Static_assert(sizeof(((struct emission *)0)->table) ==
		       sizeof(struct jpc_table) + JPC_COLUMNS * sizeof(struct jpc_column),
	       "a table is one message");

static const struct opt opts[] = {
	{'t', "time", "T", "seconds since 1970, as \"date +%s.%N\" says (default: now)",
	 OPT_CALL_AT(client_conn__parse_time, struct emission, row.time_ns)},
	{0},
};

const struct command cmd_emit = {
	.name = "jobprof emit",
	.usage = "SERIES COLUMN=VALUE ... [--time T]",
	.about = "Inside a job: adds a row to the table User/SERIES in the profile of this step.\n"
		 "All rows of a series have the same columns, of floating point numbers.\n\n"
		 "  COLUMN=VALUE        letters, digits and \"_\"; \"nan\" is an unknown value\n"
		 "  COLUMN[UNIT]=VALUE  with its unit\n"
		 "  COLUMN+=VALUE       what came since the row before",
	.opts = opts,
};

/* The locale is "C" in this program. */
static int parse_value(const char *text, double *v)
{
	char *end;

	errno = 0;
	*v = strtod(text, &end);
	if (end == text || *end || (text[0] == ' ' || text[0] == '\t'))
		return -EINVAL;
	/* Too small for anything but 0 is no error. */
	return errno == ERANGE && (*v > 1 || *v < -1) ? -ERANGE : 0;
}

static int add_column(struct emission *e, const char *word)
{
	unsigned n = e->table.head.ncols;
	const char *eq = strchr(word, '=');

	if (n == JPC_COLUMNS) {
		log_error("more than %d columns", JPC_COLUMNS);
		return 2;
	}
	if (!eq || column__parse(&e->table.col[n], word, (size_t)(eq - word)) ||
	    parse_value(eq + 1, &e->row.value[n])) {
		log_error("\"%s\" is not COLUMN=VALUE, COLUMN[UNIT]=VALUE or COLUMN+=VALUE with a "
			  "name of at most %zu letters, digits and \"_\" and a number",
			  word, sizeof(e->table.col[n].name) - 1);
		return 2;
	}
	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(e->table.col[i].name, e->table.col[n].name)) {
			log_error("column \"%s\" is given twice", e->table.col[n].name);
			return 2;
		}
	}
	e->table.head.ncols++;
	return 0;
}

static int fill_emission(struct emission *e, char **words, int n)
{
	int status = 0;

	if (!column__name_ok(words[0], sizeof(e->table.head.name) - 1)) {
		log_error("\"%s\" is no name of a series: at most %zu letters, digits and \"_\"",
			  words[0], sizeof(e->table.head.name) - 1);
		return 2;
	}
	memcpy(e->table.head.name, words[0], strlen(words[0]));
	for (int i = 1; i < n && !status; i++)
		status = add_column(e, words[i]);
	return status;
}

static int send_row(struct emission *e)
{
	unsigned n = e->table.head.ncols;
	struct client c;
	int status = client_conn__open(&c);

	if (status)
		return status;
	client__head(&c, &e->table, JPC_TABLE, sizeof(e->table.head) + n * sizeof(e->table.col[0]));
	status = client_conn__call(&c, &e->table);
	if (!status) {
		e->row.head.nrows = 1;
		client__head(&c, &e->row, JPC_ROWS,
			     sizeof(e->row.head) + (n + 1) * sizeof(e->row.value[0]));
		status = client_conn__call(&c, &e->row);
	}
	client__close(&c);
	return status;
}

int verb_emit(int argc, char **argv)
{
	struct emission e = {.row.time_ns = client_conn__now_ns()};
	int status = options__read(&cmd_emit, argc, argv, &e);

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind + 2 > argc)
		return options__wrong(&cmd_emit, optind == argc
							 ? "a row needs a series and its values"
							 : "a row needs values: COLUMN=VALUE");
	status = fill_emission(&e, argv + optind, argc - optind);
	return status ? status : send_row(&e);
}
