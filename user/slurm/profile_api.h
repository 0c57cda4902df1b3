/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between Slurm and an AcctGatherProfile plugin, declared here because Slurm installs
 * no header for it. The calls are the same in releases 22.05 to 26.05. Functions of libslurm are
 * weak: a function that a release does not have is NULL.
 */
#ifndef JP_SLURM_PROFILE_API_H
#define JP_SLURM_PROFILE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <slurm/slurm.h>
#include <slurm/slurm_version.h>

#include "slurm/profile_sink.h"

#define API_OLDEST SLURM_VERSION_NUM(22, 5, 0)
#define API_NEWEST SLURM_VERSION_NUM(26, 5, 255)

/* An option of acct_gather.conf. Slurm's structure for it has 40 to 56 bytes, depending on the
 * release, and a list of them ends with an empty one: this one, with zeros in its room, is a list
 * of one option in all releases. */
#define OPTION_STRING 1
struct api_option {
	const char *key;
	int type;
	int pad;
	char room[240];
};

/* A line of "scontrol show config", of Slurm's allocator. */
struct api_key_pair {
	char *name;
	char *value;
};

#define WEAK __attribute__((weak))
extern void slurm_info(const char *format, ...) WEAK __attribute__((format(printf, 1, 2)));
extern void slurm_debug(const char *format, ...) WEAK __attribute__((format(printf, 1, 2)));
extern void slurm_error(const char *format, ...) WEAK __attribute__((format(printf, 1, 2)));
extern void slurm_transfer_s_p_options(void *all, const struct api_option *list, int *n) WEAK;
extern int slurm_s_p_get_string(char **value, const char *key, const void *table) WEAK;
extern void *slurm_xcalloc(size_t n, size_t size, bool clear, bool may_fail, const char *file,
			   int line, const char *function) WEAK;
extern char *slurm_xstrdup(const char *s) WEAK;
extern void slurm_xfree(void **p) WEAK;
#pragma weak slurm_list_append /* of slurm.h */

/* The symbols that Slurm looks up. fini() has no result since 25.11, which does no harm. */
extern const char plugin_name[];
extern const char plugin_type[];
extern uint32_t plugin_version;
int init(void);
int fini(void);
void acct_gather_profile_p_child_forked(void);
void acct_gather_profile_p_conf_options(void *all, int *n);
void acct_gather_profile_p_conf_set(const void *table);
void acct_gather_profile_p_conf_values(void **list);
void acct_gather_profile_p_get(enum acct_gather_profile_info what, void *data);
int acct_gather_profile_p_node_step_start(const void *step_record);
int acct_gather_profile_p_node_step_end(void);
int acct_gather_profile_p_task_start(uint32_t task);
int acct_gather_profile_p_task_end(pid_t pid);
int64_t acct_gather_profile_p_create_group(const char *name);
int acct_gather_profile_p_create_dataset(const char *name, int64_t parent,
					 const struct sink_field *fields);
int acct_gather_profile_p_add_sample_data(int dataset, const void *data, time_t when);
bool acct_gather_profile_p_is_active(uint32_t type);

#endif
