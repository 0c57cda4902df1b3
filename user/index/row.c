/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job's row: its values, what follows from them, and how processes pass it on. */
#include "index/row.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/room.h"
#include "base/utf8.h"

#define TEXT_MAX 4096 /* bytes of one text */
#define KEY_MAX	 512  /* and of one that is in an index: PostgreSQL's have at most 2,700 bytes */

const struct index_info index_infos[N_INDEX] = {
#define INDEX(name, type, from, path, unit, doc) \
	[INDEX_##name] = {#name, path, unit, doc, INDEX_##type, FROM_##from},
#include "schemas/index.def"
};

int index_column__find(const char *name)
{
	for (int i = 0; i < N_INDEX; i++)
		if (!strcmp(index_infos[i].name, name))
			return i;
	return -1;
}

void row__init(struct row *r)
{
	*r = (struct row){.uid = NAN, .inside_id = NAN, .node_cores = NAN};
	for (int i = 0; i < N_INDEX; i++)
		r->number[i] = NAN;
}

void row__free(struct row *r)
{
	for (int i = 0; i < N_INDEX; i++)
		free(r->text[i]);
	for (unsigned i = 0; i < r->nfindings; i++) {
		struct row_finding *f = &r->findings[i];

		free(f->rule);
		free(f->text);
		free(f->remedy);
		free(f->where);
		free(f->code);
	}
	free(r->findings);
	for (unsigned i = 0; i < r->nfs; i++)
		free(r->fs[i].name);
	free(r->fs);
	free(r->now);
	string_list__free(&r->nodes);
	node_rows__free(&r->node_rows);
	row__init(r);
}

/* Copies a text that anybody may have written; NULL: no memory. */
static char *clean_to(const char *text, size_t most)
{
	unsigned replaced;

	return utf8__clean(text, most, &replaced);
}

static char *clean(const char *text)
{
	return clean_to(text, TEXT_MAX);
}

static bool is_long(enum index_column c)
{
	return c == INDEX_file || c == INDEX_node_list || c == INDEX_worst_text;
}

int row__set_text(struct row *r, enum index_column c, const char *text)
{
	free(r->text[c]);
	r->text[c] = text ? clean_to(text, is_long(c) ? TEXT_MAX : KEY_MAX) : NULL;
	return text && !r->text[c] ? -ENOMEM : 0;
}

/* ---- from a report */

/* Finds a member of members, "a.b.c"; "@" is the first key that begins with a digit, as lengths of
 * intervals do. NULL: there is none. */
static const json_t *member(const json_t *o, const char *path)
{
	while (o && *path) {
		size_t len = strcspn(path, ".");
		const json_t *found = NULL;
		const char *key;
		json_t *v;

		if (!json_is_object(o))
			return NULL;
		json_object_foreach ((json_t *)o, key, v) {
			bool is_it = *path == '@' ? *key >= '0' && *key <= '9'
						  : strlen(key) == len && !strncmp(key, path, len);

			if (is_it && !found)
				found = v;
		}
		o = found;
		path += len + (path[len] == '.');
	}
	return o;
}

static double number_at(const json_t *o, const char *path)
{
	const json_t *v = member(o, path);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static const char *text_at(const json_t *o, const char *path)
{
	return json_string_value(member(o, path));
}

static int take_paths(struct row *r, const json_t *report)
{
	int err = 0;

	for (int i = 0; !err && i < N_INDEX; i++) {
		const struct index_info *info = &index_infos[i];

		if (!*info->path)
			continue;
		if (info->type == INDEX_TEXT)
			err = row__set_text(r, i, text_at(report, info->path));
		else
			r->number[i] = number_at(report, info->path);
		if (info->type == INDEX_INT)
			r->number[i] = trunc(r->number[i]);
	}
	return err;
}

static const struct {
	const char *name;
	enum index_column to;
} share_names[] = {
	{"own code", INDEX_share_cpu},	     {"CPU", INDEX_share_cpu},
	{"kernel", INDEX_share_kernel},	     {"other programs", INDEX_share_others},
	{"CPU quota", INDEX_share_quota},    {"wait for CPU", INDEX_share_wait},
	{"wait for disk", INDEX_share_disk}, {"asleep", INDEX_share_asleep},
	{"idle", INDEX_share_idle},	     {"not used", INDEX_share_idle},
};

static void take_shares(struct row *r, const json_t *report)
{
	const json_t *shares = member(report, "time_budget.shares"), *one;
	size_t i;

	json_array_foreach ((json_t *)shares, i, one) {
		const char *name = text_at(one, "name");

		for (size_t k = 0; name && k < sizeof(share_names) / sizeof(*share_names); k++)
			if (!strcmp(share_names[k].name, name))
				r->number[share_names[k].to] = number_at(one, "share");
	}
}

static int severity_of(const char *name)
{
	return name && !strcmp(name, "bad") ? 2 : name && !strcmp(name, "warn");
}

static int kind_of(const char *name)
{
	return name && !strcmp(name, "command") ? 2 : name && !strcmp(name, "line");
}

static char *copy_of(const json_t *o, const char *key, size_t most)
{
	const char *text = text_at(o, key);

	return clean_to(text ? text : "", most);
}

int row__add_finding(struct row *r, const json_t *o)
{
	const json_t *when = member(o, "when");
	struct row_finding *f;

	if (r->nfindings == ROW_FINDINGS)
		return 0;
	if (room__grow(&r->findings, r->nfindings, 1, sizeof(*r->findings)))
		return -ENOMEM;
	f = &r->findings[r->nfindings++];
	*f = (struct row_finding){
		.rule = copy_of(o, "id", KEY_MAX),
		.text = copy_of(o, "text", TEXT_MAX),
		.remedy = copy_of(o, "remedy", TEXT_MAX),
		.where = copy_of(o, "where", TEXT_MAX),
		.code = copy_of(o, "remedy_code", KEY_MAX),
		.kind = kind_of(text_at(o, "remedy_kind")),
		.needs = number_at(o, "sets.needs"),
		.used = number_at(o, "sets.used"),
		.asked = number_at(o, "sets.asked"),
		.severity = severity_of(text_at(o, "severity")),
		.cost_core_s = number_at(o, "cost.core_s"),
		.saving = number_at(o, "cost.saving"),
		.at_least = json_is_true(member(o, "cost.is_at_least")),
		.from_s = json_array_size(when) == 2 ? json_number_value(json_array_get(when, 0))
						     : NAN,
		.to_s = json_array_size(when) == 2 ? json_number_value(json_array_get(when, 1))
						   : NAN,
	};
	return f->rule && f->text && f->remedy && f->where && f->code ? 0 : -ENOMEM;
}

int row__rate(struct row *r)
{
	const struct row_finding *worst = r->findings;
	int err;

	r->number[INDEX_findings] = r->nfindings;
	r->number[INDEX_cost_core_s] = 0;
	for (unsigned i = 0; i < r->nfindings; i++)
		if (r->findings[i].cost_core_s > 0)
			r->number[INDEX_cost_core_s] += r->findings[i].cost_core_s;
	r->number[INDEX_worst_severity] = r->nfindings ? worst->severity : NAN;
	err = row__set_text(r, INDEX_worst_rule, r->nfindings ? worst->rule : "");
	return err ? err : row__set_text(r, INDEX_worst_text, r->nfindings ? worst->text : NULL);
}

static int take_findings(struct row *r, const json_t *report)
{
	const json_t *all = member(report, "findings"), *rules = member(report, "not_given"), *one;
	size_t i;
	int err = 0;

	json_array_foreach ((json_t *)all, i, one) {
		if (!err)
			err = row__add_finding(r, one);
	}
	r->number[INDEX_judged] = (double)json_array_size(all);
	json_array_foreach ((json_t *)rules, i, one) {
		r->number[INDEX_judged] += json_is_true(member(one, "judged"));
	}
	return err ? err : row__rate(r);
}

int row__add_fs(struct row *r, const json_t *o)
{
	struct row_fs *f;

	if (r->nfs == ROW_FS)
		return 0;
	if (room__grow(&r->fs, r->nfs, 1, sizeof(*r->fs)))
		return -ENOMEM;
	f = &r->fs[r->nfs++];
	*f = (struct row_fs){
		.name = copy_of(o, "name", KEY_MAX),
		.read_bytes = number_at(o, "read_bytes"),
		.write_bytes = number_at(o, "write_bytes"),
		.read_bw_max = number_at(o, "read_bw_max"),
		.write_bw_max = number_at(o, "write_bw_max"),
	};
	return f->name ? 0 : -ENOMEM;
}

static int take_fs(struct row *r, const json_t *report)
{
	const json_t *all = member(report, "io.mount.each"), *one;
	size_t i;
	int err = 0;

	json_array_foreach ((json_t *)all, i, one) {
		if (!err)
			err = row__add_fs(r, one);
	}
	return err;
}

static int take_nodes(struct row *r, const json_t *report)
{
	const json_t *names = member(report, "units.nodes.name"), *one;
	size_t i;
	int err = 0;

	json_array_foreach ((json_t *)names, i, one) {
		if (!err && i < ROW_NODES && json_is_string(one))
			err = string_list__take(&r->nodes,
						clean_to(json_string_value(one), KEY_MAX));
	}
	return err;
}

/* The sum of an array, NaN if it is empty or one is unknown; the highest of those that are
 * known. */
static void sum_up(const json_t *a, double *sum, double *highest)
{
	const json_t *one;
	size_t i;

	*sum = json_array_size(a) ? 0 : NAN;
	*highest = NAN;
	json_array_foreach ((json_t *)a, i, one) {
		double v = json_is_number(one) ? json_number_value(one) : NAN;

		*sum += v;
		*highest = fmax(*highest, v);
	}
}

static void take_memory(struct row *r, const json_t *report)
{
	const json_t *tasks = member(report, "units.tasks.peak_mb");
	double sum, highest;

	sum_up(member(report, "units.nodes.peak_mb"), &r->number[INDEX_peak_sum_mb], &highest);
	sum_up(tasks, &sum, &highest);
	if (sum > 0)
		r->number[INDEX_task_spread] = highest * (double)json_array_size(tasks) / sum;
}

/* Reads a text of digits; NaN: it is none. */
static double number_in_text(const char *text)
{
	char *end;
	double v;

	if (!text || *text < '0' || *text > '9')
		return NAN;
	v = strtod(text, &end);
	return *end ? NAN : v;
}

static void take_job(struct row *r, const json_t *report)
{
	static const struct {
		const char *path;
		enum index_column to;
	} numbers[] = {
		{"job.restart", INDEX_restart},	      {"job.array_id", INDEX_array_id},
		{"job.array_task", INDEX_array_task}, {"job.het_id", INDEX_het_id},
		{"job.submit", INDEX_submit},
	};
	const char *status = text_at(report, "pika.status");
	double start = number_at(report, "job.job_start"), first = number_at(report, "job.start");
	double wall = number_at(report, "facts.wall_s");
	double elapsed = number_at(report, "facts.job_elapsed_s");
	/* PIKA's idle time is that of a task or node, whatever number of cores it has. */
	double cores = r->number[INDEX_cores] / number_at(report, "pika.units");

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		r->number[numbers[i].to] = number_at(report, numbers[i].path);
	r->number[INDEX_job_id] = number_in_text(text_at(report, "job.id"));
	r->uid = number_at(report, "job.uid");
	r->node_cores =
		number_at(report, "facts.cores_per_node") * number_at(report, "facts.nodes");
	r->number[INDEX_start] = floor(isnan(start) ? first : start);
	r->number[INDEX_elapsed_s] = round(isnan(elapsed) ? wall : elapsed);
	r->number[INDEX_end] = r->number[INDEX_start] + r->number[INDEX_elapsed_s];
	r->number[INDEX_idle_cpu_s] = number_at(report, "pika.issues.cpu_idle.idle_s") * cores;
	r->number[INDEX_idle_of_cpu_s] = number_at(report, "pika.issues.cpu_idle.total_s") * cores;
	r->number[INDEX_is_eligible] = json_is_true(member(report, "pika.issues.eligible"));
	r->number[INDEX_has_footprint] = status && !strcmp(status, "OK");
}

int row__of_report(struct row *r, const json_t *report)
{
	int err;

	row__init(r);
	if (!json_is_object(report) || !json_is_object(member(report, "facts")))
		return -EBADMSG;
	err = take_paths(r, report);
	take_shares(r, report);
	take_job(r, report);
	take_memory(r, report);
	if (!err)
		err = take_findings(r, report);
	if (!err)
		err = take_nodes(r, report);
	if (!err)
		err = take_fs(r, report);
	if (!err)
		err = row__set_text(r, INDEX_sluid, text_at(report, "job.sluid"));
	if (!err)
		err = row__set_text(r, INDEX_user, text_at(report, "job.user"));
	if (!err)
		err = row__set_text(r, INDEX_analysed_by, JOBPROF_VERSION);
	return err;
}

/* ---- what follows from other columns */

#define START_MAX 1e11 /* the year 5138, which calendars know */

bool row__has_key(const struct row *r)
{
	return r->number[INDEX_job_id] >= 1 && r->number[INDEX_job_id] <= UINT32_MAX &&
	       r->number[INDEX_start] >= 1 && r->number[INDEX_start] <= START_MAX;
}

/* Sets day and month of the begin, in the time zone of this process. */
static void derive_day(struct row *r)
{
	double start = r->number[INDEX_start];
	time_t t = (time_t)start;
	struct tm tm;

	if (isnan(start) || !localtime_r(&t, &tm))
		return;
	r->number[INDEX_day] = floor((start + (double)tm.tm_gmtoff) / 86400);
	r->number[INDEX_month] = (tm.tm_year + 1900) * 12 + tm.tm_mon;
}

#define BINS 20

static double bin_of(double part, double whole)
{
	double x = part / whole;

	if (!(whole > 0) || !(x >= 0))
		return NAN;
	return fmin(floor(x * BINS), BINS - 1);
}

static void derive_bins(struct row *r)
{
	const double *v = r->number;

	r->number[INDEX_bin_cpu] = bin_of(v[INDEX_cpu_s], v[INDEX_held_core_s]);
	r->number[INDEX_bin_mem] = bin_of(v[INDEX_peak_mb], v[INDEX_mem_asked_mb]);
	r->number[INDEX_bin_limit] = bin_of(v[INDEX_elapsed_s], v[INDEX_limit_s]);
	r->number[INDEX_bin_gpu] = bin_of(v[INDEX_gpu_use], 1);
}

static uint64_t fnv1a(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3;
	return h;
}

/* Sets the signature, equal for jobs that do the same: of one user, name without digits, program,
 * number of nodes and of tasks. */
static int derive_signature(struct row *r)
{
	char text[2048], name[512], hex[17];
	const char *from = r->text[INDEX_name] ? r->text[INDEX_name] : "";
	size_t n = 0;

	for (; *from && n < sizeof(name) - 1; from++)
		if (*from < '0' || *from > '9')
			name[n++] = *from;
	name[n] = '\0';
	snprintf(text, sizeof(text), "%.400s|%s|%.900s|%.0f|%.0f",
		 r->text[INDEX_user] ? r->text[INDEX_user] : "", name,
		 r->text[INDEX_program] ? r->text[INDEX_program] : "", r->number[INDEX_nodes],
		 r->number[INDEX_tasks]);
	snprintf(hex, sizeof(hex), "%016" PRIx64, fnv1a(text));
	return row__set_text(r, INDEX_signature, hex);
}

/* CPUs per core, by the profile; 1: unknown. */
static double threads_of(const struct row *r)
{
	double cores = r->number[INDEX_cores];

	return cores > 0 && r->number[INDEX_cpus] >= cores ? r->number[INDEX_cpus] / cores : 1;
}

#define DISAGREE 0.1 /* share of Slurm's CPU time */
#define FEW_S	 60  /* with less CPU time by Slurm both are not compared */

/* NaN if one of them is unknown: else what anybody says of the part would have no bound. */
static double at_most(double part, double whole)
{
	return isnan(part) || (part > 0 && isnan(whole)) ? NAN : fmin(part, whole);
}

static void derive_lost(struct row *r)
{
	const bool judged = !isnan(r->number[INDEX_findings]);

	r->number[INDEX_lost_core_s] =
		judged ? at_most(r->number[INDEX_cost_core_s], r->number[INDEX_held_core_s]) : NAN;
	r->number[INDEX_lost_gpu_s] =
		judged ? at_most(r->number[INDEX_idle_gpu_s], r->number[INDEX_held_gpu_s]) : NAN;
}

int row__derive(struct row *r)
{
	double elapsed = r->number[INDEX_elapsed_s], cpus = r->number[INDEX_cpus];
	double slurms = r->number[INDEX_slurm_cpu_s], ours;

	row__bound(r);
	ours = r->number[INDEX_cpu_s];
	r->number[INDEX_held_cpu_s] = elapsed * cpus;
	r->number[INDEX_held_core_s] = elapsed * cpus / threads_of(r);
	r->number[INDEX_held_gpu_s] = elapsed * r->number[INDEX_gpus];
	derive_day(r);
	derive_bins(r);
	r->number[INDEX_disagrees] =
		slurms > FEW_S && fabs(ours - slurms) > DISAGREE * slurms ? 1 : 0;
	derive_lost(r);
	return derive_signature(r);
}

/* ---- between processes */

static void put_text(struct message *m, const char *text)
{
	int known = text != NULL;

	message__put(m, &known, sizeof(known));
	message__put_text(m, text ? text : "");
}

int row__put(const struct row *r, struct message *m)
{
	const bool is_running = r->now != NULL;

	message__put(m, r->number, sizeof(r->number));
	message__put(m, &r->uid, sizeof(r->uid));
	message__put(m, &r->inside_id, sizeof(r->inside_id));
	message__put(m, &r->node_cores, sizeof(r->node_cores));
	for (int i = 0; i < N_INDEX; i++)
		put_text(m, r->text[i]);
	message__put(m, &r->nfindings, sizeof(r->nfindings));
	for (unsigned i = 0; i < r->nfindings; i++) {
		const struct row_finding *f = &r->findings[i];

		message__put(m, f, sizeof(*f));
		message__put_text(m, f->rule);
		message__put_text(m, f->text);
		message__put_text(m, f->remedy);
		message__put_text(m, f->where);
		message__put_text(m, f->code);
	}
	message__put(m, &r->nodes.n, sizeof(r->nodes.n));
	for (unsigned i = 0; i < r->nodes.n; i++)
		message__put_text(m, r->nodes.v[i]);
	message__put(m, &r->nfs, sizeof(r->nfs));
	for (unsigned i = 0; i < r->nfs; i++) {
		message__put(m, &r->fs[i], sizeof(r->fs[i]));
		message__put_text(m, r->fs[i].name);
	}
	message__put(m, &is_running, sizeof(is_running));
	if (is_running)
		message__put(m, r->now, sizeof(*r->now));
	return node_rows__put(&r->node_rows, m);
}

static int take_text(struct message *m, struct row *r, enum index_column c)
{
	const int *known = message__take(m, sizeof(*known));
	const char *text = message__take_text(m);

	return known ? row__set_text(r, c, *known ? text : NULL) : -EBADMSG;
}

static unsigned count(struct message *m, unsigned most)
{
	const unsigned *n = message__take(m, sizeof(*n));

	return n && *n <= most ? *n : 0;
}

static int take_put_finding(struct row *r, struct message *m)
{
	const struct row_finding *from = message__take(m, sizeof(*from));
	struct row_finding *f;

	if (!from)
		return -EBADMSG;
	if (room__grow(&r->findings, r->nfindings, 1, sizeof(*r->findings)))
		return -ENOMEM;
	f = &r->findings[r->nfindings++];
	*f = *from;
	f->severity = from->severity < 0 || from->severity > 2 ? 0 : from->severity;
	f->kind = from->kind < 0 || from->kind > 2 ? 0 : from->kind;
	f->rule = clean_to(message__take_text(m), KEY_MAX);
	f->text = clean(message__take_text(m));
	f->remedy = clean(message__take_text(m));
	f->where = clean(message__take_text(m));
	f->code = clean_to(message__take_text(m), KEY_MAX);
	return f->rule && f->text && f->remedy && f->where && f->code ? 0 : -ENOMEM;
}

static int take_put_fs(struct row *r, struct message *m)
{
	const struct row_fs *from = message__take(m, sizeof(*from));
	struct row_fs *f;

	if (!from)
		return -EBADMSG;
	if (room__grow(&r->fs, r->nfs, 1, sizeof(*r->fs)))
		return -ENOMEM;
	f = &r->fs[r->nfs++];
	*f = *from;
	f->name = clean_to(message__take_text(m), KEY_MAX);
	return f->name ? 0 : -ENOMEM;
}

static int take_now(struct row *r, struct message *m)
{
	const unsigned char *is_there = message__take(m, sizeof(*is_there));
	const struct row_now *now = is_there && *is_there ? message__take(m, sizeof(*now)) : NULL;

	if (!now)
		return is_there && !*is_there ? 0 : -EBADMSG;
	r->now = malloc(sizeof(*r->now));
	if (!r->now)
		return -ENOMEM;
	*r->now = *now;
	return 0;
}

int row__take(struct row *r, struct message *m)
{
	const double *numbers = message__take(m, sizeof(r->number)), *uid, *id, *cores;
	int err = 0;
	unsigned n;

	row__init(r);
	uid = message__take(m, sizeof(*uid));
	id = message__take(m, sizeof(*id));
	cores = message__take(m, sizeof(*cores));
	if (!numbers || !uid || !id || !cores)
		return -EBADMSG;
	memcpy(r->number, numbers, sizeof(r->number));
	r->uid = *uid;
	r->inside_id = *id;
	r->node_cores = *cores;
	for (int i = 0; !err && i < N_INDEX; i++)
		err = take_text(m, r, i);
	n = err ? 0 : count(m, ROW_FINDINGS);
	for (unsigned i = 0; !err && i < n; i++)
		err = take_put_finding(r, m);
	n = err ? 0 : count(m, ROW_NODES);
	for (unsigned i = 0; !err && i < n; i++)
		err = string_list__take(&r->nodes, clean_to(message__take_text(m), KEY_MAX));
	n = err ? 0 : count(m, ROW_FS);
	for (unsigned i = 0; !err && i < n; i++)
		err = take_put_fs(r, m);
	if (!err)
		err = take_now(r, m);
	if (!err)
		err = node_rows__take(&r->node_rows, m);
	return err ? err : m->bad ? -EBADMSG : 0;
}
