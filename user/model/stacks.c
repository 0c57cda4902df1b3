// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads stacks. The file is not trusted: frames may be missing, or their own ancestors. */
#include "model/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/str.h"
#include "hdf5/hdf5.h"
#include "model/model.h"

#define FRAMES_MAX  (1u << 22)
#define COUNTS_MAX  (1u << 25)
#define MODULES_MAX (1u << 18)
#define ATTRS_MAX   1024
#define AMOUNT_MAX  1e15

static int add_module(struct stacks *s, const char *name)
{
	uint64_t id = id__of_text(name);
	char *copy;

	if (!*name || id_table__find(&s->module_of, id))
		return 0;
	if (s->nmodules == MODULES_MAX)
		return -EMSGSIZE;
	if (room__grow(&s->modules, s->nmodules, 1, sizeof(*s->modules)))
		return -ENOMEM;
	copy = strdup(name);
	if (!copy || !id_table__add(&s->module_of, id, s->nmodules)) {
		free(copy);
		return -ENOMEM;
	}
	s->modules[s->nmodules++] = copy;
	return 0;
}

/* Names with "//" between. */
static int add_modules(struct stacks *s, char *list)
{
	int err = 0;

	while (!err && list) {
		char *next = strstr(list, "//");

		if (next) {
			*next = '\0';
			next += 2;
		}
		err = add_module(s, list);
		list = next;
	}
	return err;
}

static int read_names(struct stacks *s, hid_t table)
{
	int n = H5Aget_num_attrs(table), err = 0;

	for (int i = 0; !err && i < n && i < ATTRS_MAX; i++) {
		char name[64] = "", *list;

		if (H5Aget_name_by_idx(table, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, name,
				       sizeof(name), H5P_DEFAULT) < 0 ||
		    !str__starts(name, "Names "))
			continue;
		list = reader__text(table, name);
		err = list ? add_modules(s, list) : 0;
		free(list);
	}
	return err;
}

/* Where the columns of that name are; false: one is not there, or of another type. */
static bool find_columns(const struct cursor *c, const char *const *names,
			 const enum col_type *types, int *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		at[i] = cursor__column(c, names[i]);
		if (at[i] < 0 || c->cols[at[i]].type != types[i])
			return false;
	}
	return true;
}

static int add_frame(struct stacks *s, const struct stack_frame *n)
{
	if (!n->id || id_table__find(&s->frame_of, n->id))
		return 0;
	if (s->nframes == FRAMES_MAX)
		return -EMSGSIZE;
	if (room__grow(&s->frames, s->nframes, 1, sizeof(*s->frames)))
		return -ENOMEM;
	if (!id_table__add(&s->frame_of, n->id, s->nframes))
		return -ENOMEM;
	s->frames[s->nframes++] = *n;
	return 0;
}

static int read_tree(struct stacks *s, struct cursor *c)
{
	static const char *const names[] = {"Node", "Parent", "Module", "Offset"};
	static const enum col_type types[] = {COL_U64, COL_U64, COL_U64, COL_U64};
	const union cell *rows;
	unsigned n;
	int at[4], err = 0, more = 1;

	if (!find_columns(c, names, types, at, 4))
		return -EBADMSG;
	while (!err && (more = cursor__next(c, &rows, &n)) > 0)
		for (unsigned i = 0; !err && i < n; i++, rows += c->ncols) {
			const struct stack_frame frame = {rows[at[0]].u, rows[at[1]].u,
							  rows[at[2]].u, rows[at[3]].u};

			err = add_frame(s, &frame);
		}
	return err ? err : more < 0 ? more : read_names(s, cursor__dataset(c));
}

/* More than any job has counts as not known, like a value that is not a number. */
static bool is_amount(double v)
{
	return v >= 0 && v <= AMOUNT_MAX;
}

static int add_count(struct stacks *s, uint64_t id, const struct stack_count *count)
{
	uint32_t *frame = id ? id_table__find(&s->frame_of, id) : NULL;

	if (!frame || !is_amount(count->seconds) || !is_amount(count->samples)) {
		s->orphans++;
		return 0;
	}
	if (!s->frames[*frame].parent)
		s->no_room += count->samples;
	if (s->ncounts == COUNTS_MAX)
		return -EMSGSIZE;
	if (room__grow(&s->counts, s->ncounts, 1, sizeof(*s->counts)))
		return -ENOMEM;
	s->counts[s->ncounts] = *count;
	s->counts[s->ncounts++].frame = *frame;
	return 0;
}

/* start_ns: of the step, the unix time. */
static int read_counts(struct stacks *s, struct cursor *c, const char *table, uint64_t start_ns)
{
	static const char *const names[] = {"TimeNS", "Stack", "Samples", "Seconds"};
	static const enum col_type types[] = {COL_U64, COL_U64, COL_F64, COL_F64};
	const union cell *rows;
	uint32_t task = 0;
	unsigned n;
	int at[4], err = 0, more = 1;

	if (!find_columns(c, names, types, at, 4))
		return -EBADMSG;
	if (parse_u32(table, &task))
		task = 0;
	while (!err && (more = cursor__next(c, &rows, &n)) > 0)
		for (unsigned i = 0; !err && i < n; i++, rows += c->ncols) {
			uint64_t end_ns = rows[at[0]].u;
			const struct stack_count count = {
				.task = (int)task,
				.end_s = (double)(int64_t)(end_ns - start_ns) / 1e9,
				.samples = rows[at[2]].f,
				.seconds = rows[at[3]].f};

			err = add_count(s, rows[at[1]].u, &count);
		}
	return err ? err : more < 0 ? more : 0;
}

static void read_losses(struct stacks *s, const struct reader_node *n)
{
	int64_t v;

	if (reader_node__i64(n, "Lost Stacks", &v))
		s->lost += v;
	if (reader_node__i64(n, "Cut Maps", &v))
		s->cut_maps += v;
}

/* *has: there were tables; *any: of the tasks that are meant. */
static int read_node(struct stacks *s, const struct reader_node *n, const struct selection *sel,
		     struct cursor *c, bool *has, bool *any)
{
	const struct reader_series *tree = node__series(n, "CallTree");
	const struct reader_series *stacks = node__series(n, "Stacks");
	int64_t start_ns;
	int err;

	if (!tree || !stacks || tree->grouped || !stacks->grouped)
		return 0;
	if (!reader_node__i64(n, "Start TimeNS", &start_ns))
		return -EBADMSG;
	read_losses(s, n);
	err = cursor__open(c, n, tree, "CallTree");
	if (!err)
		err = read_tree(s, c);
	for (unsigned i = 0; !err && i < stacks->tables.n; i++) {
		*has = true;
		if (!select__table(sel, stacks->tables.v[i]))
			continue;
		*any = true;
		err = cursor__open(c, n, stacks, stacks->tables.v[i]);
		if (!err)
			err = read_counts(s, c, stacks->tables.v[i], (uint64_t)start_ns);
	}
	cursor__close(c);
	return err;
}

int stacks__read(struct stacks *out, const struct model_file *f, const struct selection *sel)
{
	struct node_ref *refs = NULL;
	struct cursor *c = NULL;
	unsigned n = 0;
	bool has = false, any = false;
	int err = select__nodes(f->reader, sel, &refs, &n);

	*out = (struct stacks){};
	if (!err)
		err = cursor__new(&c);
	for (unsigned i = 0; !err && i < n; i++) {
		struct reader_node *node = NULL;

		err = reader__node(f->reader, refs[i].step, refs[i].node, "Stacks", &node);
		if (!err)
			err = reader_node__series(node, "CallTree");
		if (!err)
			err = read_node(out, node, sel, c, &has, &any);
		reader_node__free(node);
	}
	cursor__free(c);
	free(refs);
	return err ? err : any ? 0 : has ? -ESRCH : -ENODATA;
}

int stacks__read_file(struct stacks *out, const char *path, const struct selection *sel)
{
	struct model_file f;
	int err = model_file__open(&f, path);

	*out = (struct stacks){0};
	if (!err)
		err = stacks__read(out, &f, sel);
	model_file__close(&f);
	return err;
}

void stacks__free(struct stacks *s)
{
	for (unsigned i = 0; i < s->nmodules; i++)
		free(s->modules[i]);
	free(s->modules);
	free(s->frames);
	free(s->counts);
	id_table__free(&s->frame_of);
	id_table__free(&s->module_of);
	*s = (struct stacks){};
}

const char *stacks__module(const struct stacks *s, const struct stack_frame *n)
{
	uint32_t *at = n->module ? id_table__find(&s->module_of, n->module) : NULL;

	return at ? s->modules[*at] : "?";
}
