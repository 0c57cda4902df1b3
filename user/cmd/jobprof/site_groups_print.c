/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints a table of groups: names that are of more than one part, and the lines above and below. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "cmd/jobprof/site_groups.h"

/* The clusters of nodes become a column of their own, the second one, for which columns has room.
 * 0 or -ENOMEM. */
static int split_nodes(struct site_table *t, struct site_column *columns)
{
	const size_t n = t->ncolumns, row = (n + 1) * sizeof(*t->cells);
	struct db_value *cells = t->nrows ? calloc(t->nrows, row) : NULL;
	const struct site_column of_cluster = columns[n];
	bool is_any = false;

	if (!cells)
		return t->nrows ? -ENOMEM : 0;
	for (size_t i = 0; i < t->nrows; i++) {
		struct db_value *to = &cells[i * (n + 1)];
		const char *name;

		memcpy(&to[0], &t->cells[i * n], sizeof(*to));
		memcpy(&to[2], &t->cells[i * n + 1], (n - 1) * sizeof(*to));
		name = site_group__cluster(to);
		to[1] = db_value__text(*name ? strdup(name) : NULL);
		is_any |= to[1].type == DB_TEXT;
		if (to->type == DB_TEXT)
			((char *)to->text)[strcspn(to->text, "\t")] = '\0';
	}
	free(t->cells);
	t->cells = cells;
	t->ncolumns++;
	memmove(&columns[2], &columns[1], (n - 1) * sizeof(*columns));
	columns[1] = of_cluster;
	/* Text has it where there are several. */
	if (is_any && cells[(t->nrows - 1) * (n + 1) + 1].type == DB_NULL)
		columns[1].rank = 0;
	return 0;
}

/* Days of rows were numbers. 0 or -ENOMEM. */
static int name_days(struct site_table *t)
{
	for (unsigned i = 0; i + t->has_sum < t->nrows; i++) {
		struct db_value *key = &t->cells[(size_t)i * t->ncolumns];
		const time_t at = key->type == DB_TEXT ? (time_t)atoll(key->text) * 86400 : 0;
		struct tm tm = {0};
		char *text = at > 0 && gmtime_r(&at, &tm) ? malloc(16) : NULL;

		if (at <= 0)
			continue;
		if (!text)
			return -ENOMEM;
		strftime(text, 16, "%Y-%m-%d", &tm);
		free((char *)key->text);
		*key = db_value__text(text);
	}
	return 0;
}

/* Prints the command that shows more of the row of that name; cluster: of a node, NULL: as asked
 * for. */
static void print_command(const struct site_groups *g, const struct site_groups_options *o,
			  const char *key, const char *cluster)
{
	const struct site_group *by = o->by;
	struct site_args of = o->site;
	char *all = NULL;

	if (by->is_text && asprintf(&all, "=%s", key) < 0)
		return;
	if (cluster)
		of.filter.cluster = cluster;
	printf("  %s --%s ", by->next ? g->command->name : "jobprof jobs", by->word);
	site_args__print_word(stdout, all ? all : key);
	free(all);
	if (by->next)
		printf(" --by %s", by->next);
	else if (g->narrow)
		g->narrow(&of);
	site_args__print_options(&of, by->word);
	putchar('\n');
}

/* Prints how to see more of the first row that has a name. */
static void print_next(const struct site_groups *g, const struct site_groups_options *o,
		       const struct site_table *t)
{
	const struct db_value *key = t->cells;

	for (unsigned i = 0; i + 1 < t->nrows; i++, key += t->ncolumns) {
		const char *cluster = o->by->is_node ? key[1].text : NULL;

		if (key->type != DB_TEXT || !site_args__is_word(key->text) ||
		    (cluster && !site_args__is_word(cluster)))
			continue;
		printf("More of the %s%s:\n", i ? "first with a name" : "first",
		       g->but && !o->by->next ? g->but : "");
		print_command(g, o, key->text, cluster);
		return;
	}
}

#define LINE 80

/* Prints what the printed columns are, in lines of at most LINE columns. */
static void print_notes(const struct site_groups *g, const struct site_groups_options *o,
			const struct site_table *t)
{
	const unsigned width = site_table__width(stdout);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (unsigned i = 0; out && i < g->nnotes; i++) {
		const struct site_note *n = &g->notes[i];

		if (!n->key || site_table__shows(t, width, n->key))
			fprintf(out, "%s%s", ftell(out) > 0 ? "; " : "", n->text);
	}
	if (out && o->by->is_node && o->site.filter.node)
		fprintf(out, "%sall: these jobs on all of their nodes", ftell(out) > 0 ? "; " : "");
	if (out && ftell(out) > 0)
		putc('.', out);
	if (out && !fclose(out) && *text) {
		site_table__wrap(text, LINE, stdout);
		putchar('\n');
	}
	free(text);
}

static void print_foot(const struct site_groups *g, const struct site_groups_options *o,
		       const struct site_table *t, double all)
{
	char count[SITE_CELL];

	if (t->nrows < 2)
		return;
	putchar('\n');
	print_notes(g, o, t);
	site_cell__put(count, CELL_COUNT, all);
	if (all > t->nrows - 1)
		printf("%u of %s; --all prints all.%c", t->nrows - 1, count,
		       o->by->is_day ? '\n' : ' ');
	if (!o->by->is_day)
		print_next(g, o, t);
}

static json_t *about_json(const struct site_groups *g, const struct site_groups_options *o,
			  double all, double without_profile)
{
	json_t *about = json_pack("{s:s}", "by", o->by->word);

	json__set(about, "groups", json__whole(all));
	if (o->site.core_h > 0 || o->site.gpu_h > 0)
		json__set(about, "currency", json__text(o->site.currency));
	if (g->and_unknown)
		JSON_NUMBERS(about, {"without_profile", without_profile});
	return about;
}

int site_groups__print(const struct site_groups *g, const struct site_groups_options *o,
		       struct site_table *t, struct site_column *columns, double all,
		       double without_profile)
{
	const struct site_args *a = &o->site;
	const bool is_text = !a->json && !a->csv;
	int status = 0;

	if (is_text)
		g->head(&t->cells[(size_t)(t->nrows - 1) * t->ncolumns], a, without_profile);
	if ((o->by->is_node && split_nodes(t, columns)) || (o->by->is_day && name_days(t)))
		return 1;
	if (!is_text || t->nrows > 1)
		status = site_args__print(a, t, about_json(g, o, all, without_profile));
	if (!status && is_text)
		print_foot(g, o, t, all);
	return status;
}
