/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job as the index has it: the columns of schemas/index.def, its findings and its nodes. */
#ifndef JP_INDEX_ROW_H
#define JP_INDEX_ROW_H

#include <jansson.h>

#include "base/string_list.h"
#include "pool/message.h"

enum index_column {
#define INDEX(name, type, from, path, unit, doc) INDEX_##name,
#include "schemas/index.def"
	N_INDEX
};

enum index_type { INDEX_TEXT, INDEX_INT, INDEX_REAL };
enum index_from { FROM_SLURM, FROM_PROFILE, FROM_ANY, FROM_INDEX };

struct index_info {
	const char *name, *path, *unit, *doc;
	enum index_type type;
	enum index_from from;
};
extern const struct index_info index_infos[N_INDEX];

/* -1: there is no such column. */
int index_column__find(const char *name);

#define ROW_SOURCE_SLURM   1
#define ROW_SOURCE_PROFILE 2

struct row_finding {
	char *rule, *text, *remedy, *where;
	char *code;	    /* the end of the remedy that can be copied; "": none */
	int kind;	    /* of the remedy: 0 sentence, 1 line of a job script, 2 command */
	int severity;	    /* 0 note, 1 warn, 2 bad */
	double cost_core_s; /* NaN: not known */
	double saving;
	bool at_least;
	double from_s, to_s; /* since the job's start; NaN: all the time */
	/* Of the number that the code sets: what this job needs, used and had asked for; NaN. */
	double needs, used, asked;
};

/* What a job did with a file system. */
struct row_fs {
	char *name; /* as the profile has it: the mount point with '-' for '/' */
	double read_bytes, write_bytes;
	double read_bw_max, write_bw_max; /* B/s */
};

#define ROW_FINDINGS 64 /* that a row may have */
#define ROW_FS	     64
#define ROW_NODES    20000

struct row {
	double number[N_INDEX]; /* of INT and REAL; NaN: not known */
	char *text[N_INDEX];	/* NULL: not known */
	struct row_finding *findings;
	unsigned nfindings;
	struct string_list nodes;
	struct row_fs *fs; /* where the profile has them */
	unsigned nfs;
	/* What a profile claims, for the check whether it is possible (scan.c); NaN: it claims
	 * nothing. */
	double uid;
	double inside_id;  /* the job's number in its steps; readers use the number in the file's
			      name */
	double node_cores; /* all cores of its nodes, the job's or not */
};

/* Nothing is known. row__free() ends it. */
void row__init(struct row *r);
void row__free(struct row *r);
/* A copy of the text, which may be NULL; bytes that are not UTF-8 come escaped. 0 or -ENOMEM. */
int row__set_text(struct row *r, enum index_column c, const char *text);

/* The row of a profile, from its report (docs/report-json.md), which may hold anything: its user is
 * the one that the profile names. 0; -EBADMSG: it is no report; -ENOMEM. row__free() in all cases.
 */
int row__of_report(struct row *r, const json_t *report);

/* Adds a finding as a report has it; one more than a row may have is left out. 0 or -ENOMEM. */
int row__add_finding(struct row *r, const json_t *o);
/* Adds a file system as a report has it; one more than a row may have is left out. 0 or -ENOMEM. */
int row__add_fs(struct row *r, const json_t *o);
/* Sets the columns that follow from the findings: how many, their cost, the worst. 0 or -ENOMEM. */
int row__rate(struct row *r);

/* The row as an object of JSON: columns that are known by their names, `finding_list` (findings as
 * in docs/report-json.md), `node_names` and `file_systems`; numbers read back equal. */
json_t *row__json(const struct row *r);
json_t *row_finding__json(const struct row_finding *f);
json_t *row_fs__json(const struct row_fs *f);
/* Reads such an object, which may hold anything. NULL, or what is wrong, with `why` for its text.
 * *taken: how many members are known. row__free() in all cases. */
const char *row__of_json(struct row *r, const json_t *o, size_t *taken, char *why, size_t size);

/* Whether it has the job and its begin; a row without both is not stored. */
bool row__has_key(const struct row *r);

/* What follows from the other columns: held, lost, signature, day. For a row that both sources have
 * filled. 0 or -ENOMEM. */
int row__derive(struct row *r);

/* Puts a row into a message to another process, and takes it there. 0; -EBADMSG; -ENOMEM. */
int row__put(const struct row *r, struct message *m);
int row__take(struct row *r, struct message *m);

#endif
