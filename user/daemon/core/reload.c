// SPDX-License-Identifier: GPL-2.0-only
/* SIGHUP: the configuration is read again. */
#include "daemon/core/core.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "schema/family.h"
#include "base/log.h"
#include "daemon/config/check.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/sampling.h"

/* Families whose programs are loaded only if something asked for them at the start. */
#define OWN_PROGRAMS                                                                             \
	(FAM_LATENCY | FAM_BLOCK | FAM_NETWORK | FAM_PERF | FAM_FILES | FAM_WAIT | FAM_CULPRIT | \
	 FAM_SAMPLE | FAM_STACK | FAM_BURST | FAM_FOLD)

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

/* Names of the families, with commas between. */
static void list_families(unsigned families, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < n_family_infos && n < size; i++)
		if (families & family_infos[i].family)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "",
					      family_infos[i].name);
}

static void apply_config(struct daemon *d, const struct config *fresh, unsigned families)
{
	unsigned late = families & ~d->asked_families & OWN_PROGRAMS;
	struct config *cfg = d->opts.cfg;
	char names[256];

	cfg->freq = fresh->freq;
	cfg->publish_interval = fresh->publish_interval;
	cfg->journals = fresh->journals;
	if (!config__is_overridden(cfg, "LogLevel"))
		cfg->log_level = fresh->log_level;
	log__set_level(cfg->log_level);
	list_families(late, names, sizeof(names));
	if (late)
		log_warn("ProfileHDF5Default: programs of %s are not loaded, as nothing asked for "
			 "them at the start: their columns are unknown until jobprofd is restarted",
			 names);
	d->opts.families = d->env.families = families;
	daemon_set_intervals(d);
}

/* Why the settings of the last SIGHUP are not in force, for the status; NULL: they are. */
static void note_refusal(struct daemon *d, const char *why)
{
	free(d->refused);
	d->refused = why ? strdup(why) : NULL;
	d->refused_ns = clock__boot_ns();
}

void daemon_reload(struct daemon *d)
{
	const char *path = d->opts.config_path;
	struct config *fresh = path ? calloc(1, sizeof(*fresh)) : NULL;
	struct check_families f;

	if (!fresh || config__init(fresh))
		goto out;
	if (check__load(fresh, path, d->opts.config_needed, &f)) {
		note_refusal(d, fresh->error ? fresh->error : path);
		log_error("%s is not usable: the old settings stay in force", path);
	} else {
		note_refusal(d, NULL);
		apply_config(d, fresh, f.by_default);
		log_info("settings read again: frequency, families, publishing%s limits of "
			 "journals are in force",
			 config__is_overridden(d->opts.cfg, "LogLevel") ? " and"
									: ", log level and");
		log_restart_keys(d->opts.cfg, fresh);
	}
	config__free(fresh);
out:
	free(fresh);
}
