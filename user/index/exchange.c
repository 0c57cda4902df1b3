/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes rows as lines of JSON or CSV, and reads lines of JSON. */
#include "index/exchange.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/log.h"
#include "index/pseudonym.h"

#define BATCH	  10000		 /* rows per transaction, which makes their sums once */
#define LINE_SIZE (16 * 1048576) /* longest line, in bytes */
#define SAID	  20		 /* refused rows whose reason is logged */
#define TEXT_SIZE 4096

/* ---- reading */

struct reading {
	struct index *ix;
	const char *name;
	unsigned long line;
	struct exchange_result *res;
	struct privacy_past past;
	bool said_unknown; /* unknown columns were logged */
};

/* Makes a row of an object. NULL, or what is wrong. */
static const char *take_object(struct reading *rd, struct row *r, const json_t *o, char *why,
			       size_t size)
{
	size_t taken;
	const char *wrong = row__of_json(r, o, &taken, why, size);

	if (!wrong && !(r->number[INDEX_sources] >= 1 && r->number[INDEX_sources] <= 3))
		wrong = "sources is not 1, 2 or 3";
	if (!wrong)
		wrong = row__find_bad_time(r, row__is_slurms(r));
	if (!wrong && taken != json_object_size(o) && !rd->said_unknown) {
		log_warn("%s:%lu: columns that this jobprof does not know are left out", rd->name,
			 rd->line);
		rd->said_unknown = true;
	}
	return wrong;
}

/* Stores a row, unless it is too old. 0; -EPERM: it claims a job of another user; -errno. */
static int put_row(struct reading *rd, const struct row *r, const char *cluster)
{
	const struct index_source from = {
		.source = (unsigned)r->number[INDEX_sources],
		.file = r->text[INDEX_file],
		.cluster = cluster,
		.user = r->text[INDEX_user],
		.mtime_s = r->number[INDEX_file_mtime],
		.changed = r->number[INDEX_changed] > 0,
	};
	int err;

	if (privacy_past__has(&rd->past, from.user, r->number[INDEX_start], &rd->res->left))
		return 0;
	err = index__put(rd->ix, r, &from);
	rd->res->rows += !err;
	return err;
}

/* Stores the row of a line. 0, also for a row that is refused, or -errno. */
static int take_line(struct reading *rd, const char *line, const char *cluster)
{
	json_error_t trouble;
	json_t *o = json_loads(line, 0, &trouble);
	char text[128];
	struct row r;
	const char *wrong;
	int err = 0;

	row__init(&r);
	wrong = o ? take_object(rd, &r, o, text, sizeof(text)) : trouble.text;
	if (!wrong)
		err = put_row(rd, &r, cluster);
	if (err == -EPERM) {
		wrong = INDEX_OTHERS;
		err = 0;
	}
	if (wrong && ++rd->res->refused <= SAID)
		log_error("%s:%lu: the row is refused: %s", rd->name, rd->line, wrong);
	row__free(&r);
	json_decref(o);
	return err;
}

/* Reads a line into buf. 1; 0: there is no more; -EFBIG: the line is too long, and is skipped;
 * -EIO. */
static int next_line(FILE *in, char *buf)
{
	size_t len;
	int c;

	if (!fgets(buf, LINE_SIZE, in))
		return ferror(in) ? -EIO : 0;
	len = strlen(buf);
	if (len < LINE_SIZE - 1 || buf[len - 1] == '\n')
		return 1;
	do
		c = getc(in);
	while (c != EOF && c != '\n');
	return -EFBIG;
}

/* Stores rows in one transaction. *more: there may be further ones. */
static int read_batch(struct reading *rd, FILE *in, char *buf, const char *cluster, bool *more)
{
	int err = index__begin(rd->ix), got = 1;

	if (err)
		return err;
	err = privacy_past__load(&rd->past, rd->ix);
	for (unsigned n = 0; !err && n < BATCH; n++) {
		got = next_line(in, buf);
		rd->line += got != 0;
		if (got == 0 || got == -EIO)
			break;
		if (got == -EFBIG && ++rd->res->refused <= SAID)
			log_error("%s:%lu: the line is too long", rd->name, rd->line);
		else if (got > 0 && buf[strspn(buf, " \t\r\n")])
			err = take_line(rd, buf, cluster);
	}
	*more = !err && got != 0 && got != -EIO;
	if (got == -EIO)
		log_error("%s: it cannot be read", rd->name);
	if (!err)
		err = privacy_past__rename(&rd->past, rd->ix);
	privacy_past__free(&rd->past);
	if (!err)
		return index__commit(rd->ix) ?: got == -EIO ? -EIO : 0;
	index__rollback(rd->ix);
	return err;
}

int exchange__read(struct index *ix, FILE *in, const char *name, const char *cluster,
		   struct exchange_result *res)
{
	struct reading rd = {.ix = ix, .name = name, .res = res};
	char *buf = malloc(LINE_SIZE);
	bool more = true;
	int err = 0;

	if (!buf) {
		log_error("%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	while (!err && more)
		err = read_batch(&rd, in, buf, cluster, &more);
	if (!err)
		err = index__settle(ix);
	if (res->refused > SAID)
		log_error("%s: %lu rows are refused", name, res->refused);
	free(buf);
	return err;
}

/* ---- writing */

struct writing {
	struct index *ix;
	FILE *out;
	const struct exchange_form *form;
	struct pseudonyms key;
	unsigned long cut; /* rows whose rows of nodes were left out */
};

/* What replaces a text where names are hidden. */
static const struct {
	enum index_column column;
	char kind; /* of its pseudonym; 0: nothing */
} hidden[] = {
	{INDEX_user, 'u'},    {INDEX_account, 'p'}, {INDEX_name, 'n'},
	{INDEX_program, 'x'}, {INDEX_signature, 0}, {INDEX_sluid, 0},
	{INDEX_file, 0},      {INDEX_node_list, 0}, {INDEX_worst_text, 0},
};

/* Copies a job's name without digits: jobs that are compared get one pseudonym. */
static void without_digits(const char *from, char *to, size_t size)
{
	size_t n = 0;

	for (; *from && n < size - 1; from++)
		if (*from < '0' || *from > '9')
			to[n++] = *from;
	to[n] = '\0';
}

/* The text to write: the cell's own, or a pseudonym in buf; NULL: it is left out. */
static const char *text_of(const struct writing *w, int column, const char *text,
			   char buf[static PSEUDONYM_SIZE])
{
	char name[TEXT_SIZE];

	if (!w->form->anonymize || !*text)
		return text;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
		if ((int)hidden[i].column != column)
			continue;
		if (!hidden[i].kind)
			return NULL;
		if (column == INDEX_name)
			without_digits(text, name, sizeof(name));
		pseudonyms__of(&w->key, hidden[i].kind, column == INDEX_name ? name : text, buf);
		return buf;
	}
	return text;
}

/* A cell's text; "" if it is to be hidden, or NULL. */
static char *cell_unless(bool is_hidden, const struct db_value *v)
{
	return (char *)(!is_hidden && v->type == DB_TEXT ? v->text : "");
}

static json_t *finding_json(const struct writing *w, const struct db_value *v)
{
	const bool hide = w->form->anonymize;
	const struct row_finding f = {
		.rule = cell_unless(false, &v[0]),
		.severity = v[1].i == 2 ? 2 : v[1].i == 1,
		.cost_core_s = db_value__number(&v[2]),
		.saving = db_value__number(&v[3]),
		.at_least = v[4].i,
		.text = cell_unless(hide, &v[5]),
		.remedy = cell_unless(hide, &v[6]),
		.where = cell_unless(hide, &v[7]),
		.from_s = db_value__number(&v[8]),
		.to_s = db_value__number(&v[9]),
		.kind = v[10].i == 2 ? 2 : v[10].i == 1,
		.code = cell_unless(hide, &v[11]),
		.needs = db_value__number(&v[12]),
		.used = db_value__number(&v[13]),
		.asked = db_value__number(&v[14]),
	};

	return row_finding__json(&f);
}

static int add_findings(const struct writing *w, json_t *o, int64_t id)
{
	const struct db_value job = db_value__int(id);
	json_t *list = json_array();
	struct db_rows r;
	int err = db__ask(
		&r, w->ix->db,
		"SELECT rule, severity, cost_core_s, saving, at_least, text, remedy, place, "
		"from_s, to_s, kind, code, needs, used, asked FROM finding WHERE job = ? ORDER BY "
		"n",
		&job, 1);

	while (!err && db_rows__next(&r))
		json_array_append_new(list, finding_json(w, r.v));
	json__set(o, "finding_list", list);
	return db_rows__end(&r, err);
}

static int add_nodes(const struct writing *w, json_t *o, int64_t id)
{
	const struct db_value job = db_value__int(id);
	json_t *list = json_array();
	struct db_rows r;
	int err = db__ask(&r, w->ix->db, "SELECT node FROM job_node WHERE job = ? ORDER BY node",
			  &job, 1);

	while (!err && db_rows__next(&r))
		json_array_append_new(list, json__text(cell_unless(false, &r.v[0])));
	if (json_array_size(list))
		json__set(o, "node_names", list);
	else
		json_decref(list);
	return db_rows__end(&r, err);
}

static int add_fs(const struct writing *w, json_t *o, int64_t id)
{
	const struct db_value job = db_value__int(id);
	json_t *list = json_array();
	struct db_rows r;
	int err = db__ask(&r, w->ix->db,
			  "SELECT fs, read_bytes, write_bytes, read_bw_max, write_bw_max FROM "
			  "job_fs WHERE job = ? ORDER BY fs",
			  &job, 1);

	while (!err && db_rows__next(&r)) {
		const struct row_fs f = {
			.name = cell_unless(false, &r.v[0]),
			.read_bytes = db_value__number(&r.v[1]),
			.write_bytes = db_value__number(&r.v[2]),
			.read_bw_max = db_value__number(&r.v[3]),
			.write_bw_max = db_value__number(&r.v[4]),
		};

		json_array_append_new(list, row_fs__json(&f));
	}
	if (json_array_size(list))
		json__set(o, "file_systems", list);
	else
		json_decref(list);
	return db_rows__end(&r, err);
}

/* ---- rows of nodes */

static const char node_rows_sql[] =
	"SELECT n.name, n.model, n.cores, n.cpus, n.memory_mb, r.t"
#define NODE_ROW(name, how, scale, of) ", r." #name
#include "schemas/noderow.def"
	" FROM job_node jn JOIN node n ON n.name = jn.node JOIN node_row r ON r.node = n.id AND "
	"r.job = jn.job AND r.t >= ? AND r.t <= ? WHERE jn.job = ? AND n.cluster = ? ORDER BY "
	"n.name, r.t";
enum { NODE_TIME = 5, NODE_VALUES };

/* A node without rows. */
static json_t *node_json(const struct db_value *v)
{
	json_t *o = json_object(), *kind = json_object();

	json__set(kind, "model", v[1].type == DB_TEXT ? json__text(v[1].text) : json_null());
	JSON_NUMBERS(kind, {"cores", db_value__number(&v[2])}, {"cpus", db_value__number(&v[3])},
		     {"memory_mb", db_value__number(&v[4])});
	json__set(o, "node", json__text(v[0].text));
	json__set(o, "kind", kind);
	json__set(o, "from", json_integer(v[NODE_TIME].i * NODE_ROW_S));
	return o;
}

/* Appends what is known of a row; null stands for what is not known between it and the last one. */
static void append_row(json_t *o, const struct db_value *v)
{
	const int64_t first = json_integer_value(json_object_get(o, "from")) / NODE_ROW_S;

	for (int of = 0; of < N_NODE_VALUES; of++) {
		json_t *a = json_object_get(o, node_value_names[of]);
		const struct db_value *value = &v[NODE_VALUES + of];

		if (value->type != DB_INT)
			continue;
		if (!a)
			json__set(o, node_value_names[of], a = json_array());
		for (int64_t n = (int64_t)json_array_size(a); n < v[NODE_TIME].i - first; n++)
			json_array_append_new(a, json_null());
		json_array_append_new(a, json_integer(value->i));
	}
}

/* The job's rows on its nodes, as node_rows__json() has them. v: the columns of its row, and its
 * id. */
static int add_node_rows(const struct writing *w, json_t *o, const struct db_value *v)
{
	const double start = db_value__number(&v[INDEX_start]),
		     end = fmax(db_value__number(&v[INDEX_end]), start);
	const struct db_value args[] = {db_value__int((int64_t)(start / NODE_ROW_S)),
					db_value__int((int64_t)(end / NODE_ROW_S)), v[N_INDEX],
					v[INDEX_cluster]};
	json_t *list = json_array(), *node = NULL;
	struct db_rows r;
	int err = db__ask(&r, w->ix->db, node_rows_sql, args, 4);

	while (!err && db_rows__next(&r)) {
		if (!node || strcmp(json__text_of(node, "node"), r.v[0].text) != 0) {
			node = node_json(r.v);
			json_array_append_new(list, node);
		}
		append_row(node, r.v);
	}
	if (json_array_size(list))
		json__set(o, "node_rows", list);
	else
		json_decref(list);
	return db_rows__end(&r, err);
}

/* Writes the line; without rows of nodes where it would be too long to be read. */
static int write_line(struct writing *w, json_t *o)
{
	char *text = NULL;
	size_t n = 0;
	FILE *line = open_memstream(&text, &n);
	int err = !line || json__dump(o, line, JSON_COMPACT) ? -ENOMEM : 0;

	if (line && fclose(line))
		err = -ENOMEM;
	if (!err && n >= LINE_SIZE - 1 && !json_object_del(o, "node_rows")) {
		w->cut++;
		free(text);
		return write_line(w, o);
	}
	if (!err) {
		fwrite(text, 1, n, w->out);
		putc('\n', w->out);
	}
	free(text);
	return err;
}

/* v: the columns of a row, and its id. */
static int write_json(struct writing *w, const struct db_value *v)
{
	json_t *o = json_object();
	char buf[PSEUDONYM_SIZE];
	int err = 0;

	for (int i = 0; i < N_INDEX; i++) {
		const char *text = v[i].type == DB_TEXT ? text_of(w, i, v[i].text, buf) : NULL;

		if (text)
			json__set(o, index_infos[i].name, json__text(text));
		else if (v[i].type == DB_INT)
			json__set(o, index_infos[i].name, json_integer(v[i].i));
		else if (v[i].type == DB_REAL)
			json__set(o, index_infos[i].name, json__number(v[i].real));
	}
	if (v[INDEX_findings].type != DB_NULL)
		err = add_findings(w, o, v[N_INDEX].i);
	if (!err && !w->form->anonymize)
		err = add_nodes(w, o, v[N_INDEX].i);
	if (!err && !w->form->anonymize)
		err = add_fs(w, o, v[N_INDEX].i);
	if (!err && !w->form->anonymize)
		err = add_node_rows(w, o, v);
	if (!err)
		err = write_line(w, o);
	json_decref(o);
	return err;
}

static void write_csv(const struct writing *w, const struct db_value *v)
{
	char buf[PSEUDONYM_SIZE];

	for (int i = 0; i < N_INDEX; i++) {
		const char *text = v[i].type == DB_TEXT ? text_of(w, i, v[i].text, buf) : NULL;

		if (i)
			putc(',', w->out);
		if (text)
			csv__print(w->out, text);
		else if (v[i].type == DB_INT)
			fprintf(w->out, "%lld", (long long)v[i].i);
		else if (v[i].type == DB_REAL)
			fprintf(w->out, "%.15g", v[i].real);
	}
	putc('\n', w->out);
}

static int ask_rows(struct index *ix, struct query *q, struct db_rows *r,
		    const struct job_filter *f, const struct viewer *v)
{
	int err;

	query__add(q, "SELECT ");
	for (int i = 0; i < N_INDEX; i++) {
		query__add(q, "j.\"");
		query__add(q, index_infos[i].name);
		query__add(q, "\", ");
	}
	query__add(q, "j.id FROM job j");
	err = query__where(q, f, v);
	query__add(q, " ORDER BY j.id");
	return err ? err : query__ask(q, ix->db, r);
}

int exchange__write(struct index *ix, FILE *out, const struct job_filter *f, const struct viewer *v,
		    const struct exchange_form *form)
{
	struct writing w = {.ix = ix, .out = out, .form = form};
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	if (!err && form->anonymize)
		err = pseudonyms__begin(&w.key);
	for (int i = 0; form->csv && i < N_INDEX; i++)
		fprintf(out, "%s%s", index_infos[i].name, i < N_INDEX - 1 ? "," : "\n");
	if (!err)
		err = ask_rows(ix, &q, &r, f, v);
	while (!err && db_rows__next(&r)) {
		if (form->csv)
			write_csv(&w, r.v);
		else
			err = write_json(&w, r.v);
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	if (w.cut)
		log_warn("%lu jobs are written without rows of nodes: their lines would be longer "
			 "than %d MiB, which import does not read",
			 w.cut, LINE_SIZE >> 20);
	if (fflush(out) || ferror(out)) {
		log_error("the rows cannot be written: %s", strerror(errno));
		err = -EIO;
	}
	return err;
}
