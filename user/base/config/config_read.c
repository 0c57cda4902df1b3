// SPDX-License-Identifier: GPL-2.0-only
/* Reads jobprof.conf and what it includes. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/config/conf_file.h"
#include "base/config/config.h"
#include "base/str.h"

struct reader {
	struct config *c;
	unsigned errors;
};

static void __attribute__((format(printf, 3, 4)))
complain(struct reader *r, const struct conf_pair *p, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("%s:%u: %s", p->file, p->line, text);
	r->errors++;
}

static bool is_in_file(const char *where, const char *file)
{
	size_t len = strlen(file);

	return where && !strncmp(where, file, len) && where[len] == ':';
}

static void note_slurm_conf(struct reader *r, const struct conf_pair *p)
{
	const char *slash = strrchr(p->file, '/');

	if (r->c->slurm_conf || strcmp(slash ? slash + 1 : p->file, "slurm.conf"))
		return;
	r->c->slurm_conf = strdup(p->file);
	if (!r->c->slurm_conf)
		complain(r, p, "out of memory");
}

static void set_key(void *ctx, const struct conf_pair *p)
{
	const char *near = NULL;
	struct reader *r = ctx;
	unsigned index = 0;
	char err[512];
	int ret;

	note_slurm_conf(r, p);
	ret = config__set(r->c, p->key, p->value, p->slurm, &index, &near, err, sizeof(err));
	if (ret == -ENOENT && p->slurm)
		return;
	if (ret == -ENOENT && near)
		complain(r, p, "unknown key \"%s\", did you mean \"%s\"?", p->key, near);
	else if (ret == -ENOENT)
		complain(r, p, "unknown key \"%s\"", p->key);
	else if (ret)
		complain(r, p, "%s: %s", p->key, err);
	else if (is_in_file(r->c->where[index], p->file) && !config__repeats(index))
		log_warn("%s:%u: %s is given twice: this one counts", p->file, p->line, p->key);
	if (!ret && config__set_where(r->c, index, p->file, p->line))
		complain(r, p, "%s: out of memory", p->key);
}

int config__load(struct config *c, const char *path)
{
	struct reader r = {.c = c};
	struct conf_file f = {
		.node_name = (const char *const *)&c->node_name, .take = set_key, .ctx = &r};
	int err = conf_file__read(&f, path);

	if (err) {
		log_error("%s: cannot read the configuration: %s", path, conf_file__reason(err));
		return err;
	}
	return r.errors || f.errors ? -EINVAL : 0;
}
