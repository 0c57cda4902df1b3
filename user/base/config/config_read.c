// SPDX-License-Identifier: GPL-2.0-only
/* Reads jobprof.conf and what it includes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/config/conf_file.h"
#include "base/config/config.h"
#include "base/str.h"

static bool is_in_file(const char *where, const char *file)
{
	size_t len = strlen(file);

	return where && !strncmp(where, file, len) && where[len] == ':';
}

static void note_slurm_conf(struct config *c, const struct conf_pair *p)
{
	const char *slash = strrchr(p->file, '/');

	if (c->slurm_conf || strcmp(slash ? slash + 1 : p->file, "slurm.conf"))
		return;
	c->slurm_conf = strdup(p->file);
	if (!c->slurm_conf)
		conf_file__complain(p, "out of memory");
}

static void set_key(void *ctx, const struct conf_pair *p)
{
	const char *near = NULL;
	struct config *c = ctx;
	unsigned index = 0;
	char err[960];
	int ret;

	note_slurm_conf(c, p);
	ret = config__set(c, p->key, p->value, p->slurm, &index, &near, err, sizeof(err));
	if (ret == -ENOENT && p->slurm)
		return;
	if (ret == -ENOENT && near)
		conf_file__complain(p, "unknown key \"%s\", did you mean \"%s\"?", p->key, near);
	else if (ret == -ENOENT)
		conf_file__complain(p, "unknown key \"%s\"", p->key);
	else if (ret)
		conf_file__complain(p, "%s: %s", p->key, err);
	else if (is_in_file(c->where[index], p->file) && !config__repeats(index))
		log_warn("%s:%u: %s is given twice: this one counts", p->file, p->line, p->key);
	if (!ret && err[0])
		log_warn("%s:%u: %s: %s: this is passed over", p->file, p->line, p->key, err);
	if (ret == -ENOENT || (ret && config__repeats(index)))
		return;
	if (config__set_where(c, index, p->file, p->line))
		conf_file__complain(p, "%s: out of memory", p->key);
}

int config__load(struct config *c, const char *path)
{
	struct conf_file f = {.node_name = (const char *const *)&c->node_name,
			      .cluster = (const char *const *)&c->cluster,
			      .take = set_key,
			      .ctx = c};
	int err = conf_file__read(&f, path);

	if (err) {
		log_error("%s: cannot read the configuration: %s", path, conf_file__reason(err));
		snprintf(f.first, sizeof(f.first), "%s cannot be read: %s", path,
			 conf_file__reason(err));
	}
	/* one who may not read it does not know whether it has an error */
	if ((err || f.errors) && err != -EACCES && !c->error)
		c->error = strdup(f.first);
	return !err && f.errors ? -EINVAL : err;
}

void config__complain(struct config *c, const char *where, const char *fmt, ...)
{
	const char *colon = where ? strrchr(where, ':') : NULL;
	char text[1024], with_line[1400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("%s%s%s", where ? where : "", where ? ": " : "", text);
	if (c->error)
		return;
	if (colon)
		snprintf(with_line, sizeof(with_line), "%.*s has an error in line %s: %s",
			 (int)(colon - where), where, colon + 1, text);
	c->error = strdup(colon ? with_line : text);
}
