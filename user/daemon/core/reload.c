// SPDX-License-Identifier: GPL-2.0-only
/* SIGHUP: the configuration is read again. */
#include "daemon/core/core.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "schema/family.h"
#include "base/log.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/sampling.h"

/* Families whose programs are loaded only if they were asked for at the start. */
#define OWN_PROGRAMS                                                                             \
	(FAM_LATENCY | FAM_BLOCK | FAM_NETWORK | FAM_PERF | FAM_FILES | FAM_WAIT | FAM_CULPRIT | \
	 FAM_SAMPLE | FAM_STACK | FAM_BURST | FAM_FOLD)

static int read_config(const char *path, struct config *fresh, unsigned *families)
{
	char bad[512];
	int err = config__init(fresh);

	if (!err)
		err = config__load(fresh, path);
	if (!err && fresh->hdf5_default &&
	    family__parse(fresh->hdf5_default, families, bad, sizeof(bad)))
		err = -EINVAL;
	if (!err && perf_columns__parse(NULL, fresh->perf_events, bad, sizeof(bad)) < 0)
		err = -EINVAL;
	return err;
}

/* Logs which changed settings need a restart: maps and directories depend on them. */
static void log_restart_keys(const struct config *old, const struct config *fresh)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	config__print_restart(old, fresh, f);
	fclose(f);
	if (len)
		log_warn("%s: the new value is in force after a restart: systemctl restart "
			 "jobprofd",
			 text);
}

static void apply_config(struct daemon *d, const struct config *fresh, unsigned families)
{
	struct config *cfg = (struct config *)d->opts.cfg;
	unsigned unloaded = families & ~kern__families(d->env.k) & OWN_PROGRAMS;

	cfg->freq = fresh->freq;
	cfg->publish_interval = fresh->publish_interval;
	cfg->journals = fresh->journals;
	cfg->log_level = fresh->log_level;
	log__set_level(cfg->log_level);
	if (unloaded && families & ~d->opts.families)
		log_warn("families that were not asked for at the start have no programs loaded: "
			 "their columns are unknown until jobprofd is restarted");
	d->opts.families = d->env.families = families;
	daemon_set_intervals(d);
}

void daemon_reload(struct daemon *d)
{
	struct config *fresh = d->opts.config_path ? calloc(1, sizeof(*fresh)) : NULL;
	unsigned families = 0;

	if (!fresh)
		return;
	if (read_config(d->opts.config_path, fresh, &families)) {
		log_error("%s is not usable: the old settings stay in force", d->opts.config_path);
	} else {
		apply_config(d, fresh, families);
		log_info("settings read again: frequency, families, publishing, limits of journals "
			 "and log level are in force");
		log_restart_keys(d->opts.cfg, fresh);
	}
	config__free(fresh);
	free(fresh);
}
