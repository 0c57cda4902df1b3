/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the index what pages say beside their tables. */
#include "cmd/jobprof/site_about.h"

#include <math.h>
#include <time.h>

#include "analysis/pika/pika.h"
#include "base/json.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/site_viewer.h"

#define WORDS	 200 /* of a list */
#define DAYS	 7   /* whose findings are words */
#define MONTHS	 3   /* whose partitions and clusters are */
#define A_MONTH	 30.4375
#define OF_MONTH (1970 * 12)

/* Of a table of sums, which has few rows: SQL of what the viewer may see. */
static json_t *ask_words(struct index *ix, const struct viewer *v, const char *column,
			 const char *table, int64_t from)
{
	struct db_rows r = {0};
	struct query q;
	json_t *list = json_array();
	int err = query__init(&q);

	query__add(&q, "SELECT DISTINCT s.");
	query__add(&q, column);
	query__add(&q, " FROM ");
	query__add(&q, table);
	query__arg(&q, db_value__int(from));
	query__add_rights(&q, "s.\"user\"", "s.account", "s.cluster", v);
	query__add(&q, " ORDER BY 1");
	err = err ? err : query__ask(&q, ix->db, &r);
	while (!err && json_array_size(list) < WORDS && db_rows__next(&r))
		if (r.v[0].type == DB_TEXT && site_args__is_word(r.v[0].text))
			json_array_append_new(list, json__text(r.v[0].text));
	db_rows__end(&r, err);
	query__free(&q);
	return list;
}

static json_t *list_tags(void)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < JOB_TAGS; i++)
		json_array_append_new(list, json__text(job_tag__name((enum job_tag)i)));
	return list;
}

static void add_words(json_t *site, struct index *ix, const struct viewer *v)
{
	const double today = (double)time(NULL) / 86400;
	const int64_t month = (int64_t)(OF_MONTH + today / A_MONTH) - MONTHS;
	json_t *words = json_object();

	json__set(words, "partition",
		  ask_words(ix, v, "partition", "month s WHERE s.month >= ?", month));
	json__set(words, "cluster",
		  ask_words(ix, v, "cluster", "month s WHERE s.month >= ?", month));
	json__set(words, "finding",
		  ask_words(ix, v, "rule", "day_rule s WHERE s.day >= ?", (int64_t)today - DAYS));
	json__set(words, "tag", list_tags());
	json__set(site, "words", words);
}

static void add_prices(json_t *site, const struct site_args *a)
{
	json_t *o = json_object();

	json__set(o, "currency", json__text(a->currency));
	JSON_NUMBERS(o, {"core_h", a->core_h}, {"gpu_h", a->gpu_h}, {"kwh", a->kwh},
		     {"co2_g_kwh", a->co2_g_kwh});
	json__set(site, "prices", o);
}

void site_about__add(json_t *site)
{
	struct site_args a;
	struct viewer v;
	struct index ix;
	int err;

	site_args__init(&a, "all");
	if (a.core_h > 0 || a.gpu_h > 0 || a.kwh > 0)
		add_prices(site, &a);
	a.as_it_is = true;
	a.is_aside = true;
	if (site_args__open(&a, &ix, &v))
		return;
	json__set(site, "sees_all", json_boolean(v.sees_all));
	json__set(site, "sees", site_viewer__sees(&v, &ix));
	JSON_NUMBERS(site, {"fed_at", index__fed_at(&ix, &err)});
	add_words(site, &ix, &v);
	index__close(&ix);
}
