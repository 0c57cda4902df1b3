/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job in the index: the columns of schemas/index.def, its findings and its nodes. */
#ifndef JP_INDEX_ROW_H
#define JP_INDEX_ROW_H

#include <jansson.h>

#include "base/string_list.h"
#include "index/node_row.h"
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

/* The column of that name; -1: there is none. */
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
	double from_s, to_s; /* seconds since the job's start; NaN: all the time */
	/* The number that the code sets: what the job needs, used and had asked for. NaN:
	 * unknown. */
	double needs, used, asked;
};

/* The I/O of a job on a file system. */
struct row_fs {
	char *name; /* as in the profile: the mount point with '-' for '/' */
	double read_bytes, write_bytes;
	double read_bw_max, write_bw_max; /* B/s */
};

#define ROW_FINDINGS 64 /* most that a row may have */
#define ROW_FS	     64
#define ROW_NODES    20000

#define ROW_SPARK 30 /* minutes */

/* What is known of a job that runs, by its files so far; NaN: not known. Its findings are those
 * that hold now. */
struct row_now {
	double begin, last; /* of its rows, Unix time */
	/* Of the last 5 minutes: CPU time of what its cores could have worked; use of GPUs; bytes/s
	 * read and written. */
	double cpu_share, gpu_share, io_bytes_s;
	double memory_share;	 /* of its limit, on the fullest node, now */
	double spark[ROW_SPARK]; /* cpu_share of each of the last minutes */
	struct row_holds {
		double since;			  /* Unix time */
		double cores;			  /* that it costs: core-hours an hour */
		double full, full_low, full_high; /* Unix time at which memory will be full */
	} holds[ROW_FINDINGS];			  /* of each finding */
};

struct row {
	double number[N_INDEX]; /* of INT and REAL; NaN: unknown */
	char *text[N_INDEX];	/* NULL: unknown */
	struct row_finding *findings;
	unsigned nfindings;
	struct string_list nodes;
	struct row_fs *fs; /* if the profile has it */
	unsigned nfs;
	struct node_rows node_rows; /* likewise */
	struct row_now *now;	    /* NULL: its profile was not read as that of a job that runs */
	/* What a profile claims, which scan.c checks; NaN: nothing. */
	double uid;
	double inside_id;  /* the job's number in its steps; readers take that of the name */
	double node_cores; /* all cores of its nodes, allocated or not */
};

/* Makes a row of which nothing is known. row__free() ends it. */
void row__init(struct row *r);
void row__free(struct row *r);
/* Stores a copy of the text, which may be NULL; bytes that are not UTF-8 become U+FFFD. 0 or
 * -ENOMEM. */
int row__set_text(struct row *r, enum index_column c, const char *text);

/* Makes the row of a profile from its report (docs/report-json.md), which may contain anything: its
 * user is the one that the profile names. 0; -EBADMSG: it is not a report; -ENOMEM. row__free() in
 * all cases. */
int row__of_report(struct row *r, const json_t *report);

/* Adds a finding of a report; more than ROW_FINDINGS are left out. 0 or -ENOMEM. */
int row__add_finding(struct row *r, const json_t *o);
/* Adds a file system of a report; more than ROW_FS are left out. 0 or -ENOMEM. */
int row__add_fs(struct row *r, const json_t *o);
/* Sets the columns that follow from the findings: how many, what they cost, the worst. 0 or
 * -ENOMEM. */
int row__rate(struct row *r);

/* The row as a JSON object: known columns by name, `finding_list` (findings as in
 * docs/report-json.md), `node_names`, `file_systems` and `node_rows`. Numbers read back equal. */
json_t *row__json(const struct row *r);
json_t *row_finding__json(const struct row_finding *f);
json_t *row_fs__json(const struct row_fs *f);
/* Reads a row from such an object, which may contain anything. Returns NULL, or what is wrong, for
 * whose text `why` has room. *taken: how many members are known. row__free() in all cases. */
const char *row__of_json(struct row *r, const json_t *o, size_t *taken, char *why, size_t size);

/* Whether Slurm has reported the job; of a new row nobody has yet. */
bool row__is_slurms(const struct row *r);
/* Whether the job and its begin are known and possible: no row without both is stored. */
bool row__has_key(const struct row *r);

/* What is wrong with its begin or length, which no job can have; NULL: nothing. Slurm may have
 * jobs of years. */
const char *row__find_bad_time(const struct row *r, bool is_of_slurm);
/* Amounts that its CPUs, GPUs and nodes cannot have worked, used or moved are not known. */
void row__bound(struct row *r);
/* The most that it can have moved: bytes, and bytes/s; NaN: not known. */
double row__most_bytes(const struct row *r);
double row__most_bw(const struct row *r);

/* Bounds amounts, and sets what follows from other columns: allocated and lost time, signature,
 * day. For a row that has what both sources report. 0 or -ENOMEM. */
int row__derive(struct row *r);

/* Pass a row from the process that made it to another one. 0; -EBADMSG; -ENOMEM. */
int row__put(const struct row *r, struct message *m);
int row__take(struct row *r, struct message *m);

#endif
