/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics of the index: how it is fed, what runs with findings, which nodes are slow. */
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/metrics_text.h"
#include "cmd/jobprof/exporter/exporter.h"
#include "index/slower.h"

#define LIMIT_S	   5			/* a question may take */
#define SPEEDS_NS  (600 * NSEC_PER_SEC) /* between two looks at the nodes' speeds */
#define SPEEDS_OF  (14 * 86400)		/* s, of the runs by which they are judged */
#define SLOW_NODES 256

static double ask(struct index *ix, const char *sql)
{
	int err;

	return db__number(ix->db, &err, sql, NULL, 0);
}

/* Sums of months hold nearly all rows, and are few. */
static void print_feeds(struct index *ix, struct outbuf *o)
{
	int err;

	metrics_text__one(o, "index_rows_total", "counter", "Jobs in the index.",
			  ask(ix, "SELECT CAST(COALESCE(sum(jobs), 0) AS BIGINT) FROM month"));
	metrics_text__one(o, "index_lag_seconds", "gauge", "Since a feed of the index ended last.",
			  (double)time(NULL) - index__fed_at(ix, &err));
	metrics_text__one(
		o, "index_queue", "gauge", "Sums that are to be made, and comments to be written.",
		ask(ix, "SELECT count(*) FROM dirty") +
			ask(ix, "SELECT count(*) FROM admin_comment WHERE state = 'waits'"));
}

static void print_findings(struct index *ix, struct outbuf *o)
{
	static const char *const severities[] = {"note", "warn", "bad"};
	struct db_rows r = {0};
	int err = db__ask(&r, ix->db,
			  "SELECT rule, severity, count(*) FROM running WHERE rule <> '' "
			  "GROUP BY rule, severity ORDER BY rule, severity LIMIT 256",
			  NULL, 0);

	metrics_text__head(o, "job_findings", "gauge",
			   "Running jobs whose worst finding is of this rule.");
	while (!err && db_rows__next(&r)) {
		const int64_t severity = r.v[1].type == DB_INT ? r.v[1].i : 0;

		if (r.v[0].type != DB_TEXT || severity < 0 || severity > 2)
			continue;
		outbuf__str(o, "jobprof_job_findings{");
		metrics_text__label(o, "rule", r.v[0].text);
		outbuf__char(o, ',');
		metrics_text__label(o, "severity", severities[severity]);
		outbuf__char(o, '}');
		metrics_text__value(o, (double)r.v[2].i);
	}
	(void)db_rows__end(&r, err); /* what there is of it is shown */
}

/* ---- slow nodes: a question about all jobs of two weeks */

struct speeds {
	struct outbuf text;
	unsigned n;
	uint64_t at_ns;
};

static int take_speed(void *arg, const struct slower_speed *s)
{
	struct speeds *to = arg;
	struct outbuf *o = &to->text;

	if (!s->is_slow || to->n == SLOW_NODES)
		return 0;
	to->n++;
	outbuf__str(o, "jobprof_index_node_speed_ratio{");
	metrics_text__label(o, "node", s->node);
	outbuf__char(o, ',');
	metrics_text__label(o, "cluster", s->cluster);
	outbuf__char(o, '}');
	metrics_text__value(o, s->speed / s->usual);
	return 0;
}

static void print_speeds(struct index *ix, struct outbuf *o)
{
	static struct speeds known = {.text.fd = -1};
	const struct viewer all = {.sees_all = true};
	const uint64_t now = clock__boot_ns();
	struct job_filter f;

	if (!known.at_ns || now > known.at_ns + SPEEDS_NS) {
		outbuf__end(&known.text);
		known = (struct speeds){.at_ns = now};
		job_filter__init(&f);
		f.since = (double)time(NULL) - SPEEDS_OF;
		if (!outbuf__init(&known.text, -1))
			slower__speeds(ix, &f, &all, take_speed, &known);
	}
	metrics_text__head(o, "index_node_speed_ratio", "gauge",
			   "Speed of a slow node, as a part of that of nodes of its kind.");
	outbuf__mem(o, known.text.buf, known.text.len);
}

int exporter_index__print(const char *where, struct outbuf *o)
{
	struct index ix;
	int err = index__open(&ix, where, DB_READ);

	if (err)
		return err;
	db__limit(ix.db, LIMIT_S);
	print_feeds(&ix, o);
	print_findings(&ix, o);
	print_speeds(&ix, o);
	index__close(&ix);
	return 0;
}
