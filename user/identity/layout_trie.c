// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the trie that the kernel walks from rows of globs. The kernel takes the first child that
 * matches and never goes back, so everything that a directory could become by any row must be below
 * that one child. Therefore a child that was made for one glob also gets the rows of every more
 * general glob of the same directory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "identity/layout.h"

#define CHAIN_COMPS (16 + LAYOUT_COMPS) /* prefix and row */
#define CHAINS	    64 /* rows with their alternatives written out: bits of a mask */
#define LITERAL_MAX (JP_NAME_LEN - 1)

struct chain {
	struct jp_component comp[CHAIN_COMPS]; /* without children */
	unsigned n;
};

struct compiler {
	struct jp_component *components;
	struct chain *chains;
	unsigned n;
};

static bool exact(const struct jp_component *n)
{
	return n->flags & JP_COMPONENT_EXACT;
}

static bool matches(const struct jp_component *n, const char *name, size_t len)
{
	if (exact(n))
		return len == n->prefix_len && !memcmp(name, n->prefix, len);
	return len >= (size_t)n->prefix_len + n->suffix_len &&
	       !memcmp(name, n->prefix, n->prefix_len) &&
	       !memcmp(name + len - n->suffix_len, n->suffix, n->suffix_len);
}

static bool same_glob(const struct jp_component *a, const struct jp_component *b)
{
	return exact(a) == exact(b) && a->prefix_len == b->prefix_len &&
	       a->suffix_len == b->suffix_len && !memcmp(a->prefix, b->prefix, JP_NAME_LEN) &&
	       !memcmp(a->suffix, b->suffix, JP_NAME_LEN);
}

/* Every name that b matches, a matches too. */
static bool covers(const struct jp_component *a, const struct jp_component *b)
{
	unsigned as = a->suffix_len, bs = b->suffix_len;

	if (exact(b))
		return matches(a, b->prefix, b->prefix_len);
	return !exact(a) && a->prefix_len <= b->prefix_len && as <= bs &&
	       !memcmp(a->prefix, b->prefix, a->prefix_len) &&
	       !memcmp(a->suffix, b->suffix + bs - as, as);
}

static int make_glob(struct jp_component *out, const char *glob, size_t len, uint8_t kind,
		     uint8_t flags)
{
	const char *star = memchr(glob, '*', len);
	size_t prefix = star ? (size_t)(star - glob) : len;
	size_t suffix = star ? len - prefix - 1 : 0;

	memset(out, 0, sizeof(*out));
	out->kind = kind;
	out->flags = flags;
	if (!star && len > LITERAL_MAX) {
		/* Too long to be compared as a whole: by both ends. */
		prefix = LITERAL_MAX;
		suffix = len - prefix > LITERAL_MAX ? LITERAL_MAX : len - prefix;
	} else if (!star) {
		out->flags |= JP_COMPONENT_EXACT;
	}
	if (prefix > LITERAL_MAX || suffix > LITERAL_MAX)
		return -EINVAL;
	memcpy(out->prefix, glob, prefix);
	memcpy(out->suffix, glob + len - suffix, suffix);
	out->prefix_len = (uint8_t)prefix;
	out->suffix_len = (uint8_t)suffix;
	return 0;
}

/* Adds one chain for every choice of alternatives of the row's components from i on. */
static int expand(struct compiler *c, const struct layout *row, unsigned i, struct chain *chain)
{
	const char *glob;

	if (i == row->n) {
		if (c->n == CHAINS)
			return -E2BIG;
		c->chains[c->n++] = *chain;
		return 0;
	}
	for (glob = row->comp[i].glob; glob;) {
		size_t len = strcspn(glob, "|");
		unsigned n = chain->n;
		int ret;

		ret = make_glob(&chain->comp[chain->n++], glob, len, row->comp[i].kind,
				row->comp[i].flags |
					(row->family == LAYOUT_SLURM ? 0 : JP_COMPONENT_ANYONE));
		if (!ret)
			ret = expand(c, row, i + 1, chain);
		chain->n = n;
		if (ret)
			return ret;
		glob = glob[len] ? glob + len + 1 : NULL;
	}
	return 0;
}

static int start_chain(struct chain *chain, const char *prefix)
{
	chain->n = 0;
	while (*prefix) {
		size_t len = strcspn(prefix, "/");

		if (len && chain->n == CHAIN_COMPS - LAYOUT_COMPS)
			return -E2BIG;
		/* A '*' in a real directory's name would match more than that name. */
		if (len && memchr(prefix, '*', len))
			return -EINVAL;
		if (len)
			make_glob(&chain->comp[chain->n++], prefix, len, JP_KIND_PATH,
				  JP_COMPONENT_ANYONE);
		prefix += len + (prefix[len] == '/');
	}
	return 0;
}

/* More literal text first, an exact name before any glob. */
static bool goes_before(const struct jp_component *a, const struct jp_component *b)
{
	if (exact(a) != exact(b))
		return exact(a);
	return a->prefix_len + a->suffix_len > b->prefix_len + b->suffix_len;
}

/* The different globs at this depth, best first. */
static int collect_globs(const struct compiler *c, uint64_t rows, unsigned depth,
			 const struct jp_component *globs[JP_COMPONENT_CHILDREN])
{
	int n = 0;

	for (unsigned i = 0; i < c->n; i++) {
		const struct jp_component *g = &c->chains[i].comp[depth];
		int at = 0;

		if (!(rows & 1ull << i) || c->chains[i].n <= depth)
			continue;
		while (at < n && !same_glob(globs[at], g))
			at++;
		if (at < n)
			continue;
		if (n == JP_COMPONENT_CHILDREN)
			return -E2BIG;
		for (at = n++; at > 0 && goes_before(g, globs[at - 1]); at--)
			globs[at] = globs[at - 1];
		globs[at] = g;
	}
	return n;
}

/* The rows that go on below a directory that was taken for glob. */
static int rows_below(const struct compiler *c, uint64_t rows, unsigned depth,
		      const struct jp_component *glob, struct jp_component *component,
		      uint64_t *below)
{
	uint64_t own = 0, general = 0;
	bool ends = false;

	*component = *glob;
	for (unsigned i = 0; i < c->n; i++) {
		const struct chain *chain = &c->chains[i];

		if (!(rows & 1ull << i) || chain->n <= depth)
			continue;
		if (!same_glob(&chain->comp[depth], glob)) {
			if (covers(&chain->comp[depth], glob))
				general |= 1ull << i;
			continue;
		}
		if (chain->comp[depth].kind != component->kind)
			return -EINVAL;
		own |= 1ull << i;
		component->flags |= chain->comp[depth].flags;
		ends |= chain->n == depth + 1;
	}
	/* Where a row ends, all that is below belongs to it. */
	*below = ends ? own : own | general;
	return 0;
}

static int intern(struct jp_component *components, const struct jp_component *component)
{
	for (int i = 1; i < JP_COMPONENTS; i++) {
		if (components[i].kind == JP_KIND_NONE)
			components[i] = *component;
		if (!memcmp(&components[i], component, sizeof(*component)))
			return i;
	}
	return -E2BIG;
}

/* Fills in component's children and stores it; returns its index. */
static int build_component(struct compiler *c, uint64_t rows, unsigned depth,
			   struct jp_component *component)
{
	const struct jp_component *globs[JP_COMPONENT_CHILDREN];
	int n = collect_globs(c, rows, depth, globs);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		struct jp_component child;
		uint64_t below;
		int ret = rows_below(c, rows, depth, globs[i], &child, &below);

		if (!ret)
			ret = build_component(c, below, depth + 1, &child);
		if (ret < 0)
			return ret;
		component->child[component->nchild++] = (uint8_t)ret;
	}
	return intern(c->components, component);
}

static int add_rows(struct compiler *c, const struct layout *const *rows, unsigned n,
		    const char *prefix, bool v2)
{
	for (unsigned i = 0; i < n; i++) {
		struct chain chain;
		int ret;

		if (!(rows[i]->on & (v2 ? LAYOUT_V2 : LAYOUT_V1)))
			continue;
		ret = start_chain(&chain, rows[i]->absolute ? "" : prefix);
		if (!ret)
			ret = expand(c, rows[i], 0, &chain);
		if (ret)
			return ret;
	}
	return c->n ? 0 : -ENOENT;
}

int layout__compile(const struct layout *const *rows, unsigned n, const char *prefix, bool v2,
		    struct jp_component components[JP_COMPONENTS], unsigned *root)
{
	struct compiler c = {.components = components,
			     .chains = calloc(CHAINS, sizeof(struct chain))};
	struct jp_component saved[JP_COMPONENTS], top;
	int ret = -ENOMEM;

	memcpy(saved, components, sizeof(saved));
	if (!c.chains)
		goto out;
	ret = add_rows(&c, rows, n, prefix, v2);
	if (ret)
		goto out;
	make_glob(&top, "", 0, JP_KIND_PATH, 0);
	ret = build_component(&c, c.n == CHAINS ? UINT64_MAX : (1ull << c.n) - 1, 0, &top);
	if (ret < 0) {
		memcpy(components, saved, sizeof(saved));
		goto out;
	}
	*root = (unsigned)ret;
	ret = 0;
out:
	free(c.chains);
	return ret;
}

unsigned layout__child(const struct jp_component *components, unsigned component, const char *name)
{
	size_t len = strlen(name);

	for (unsigned i = 0; i < components[component].nchild; i++)
		if (matches(&components[components[component].child[i]], name, len))
			return components[component].child[i];
	return 0;
}
