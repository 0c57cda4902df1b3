/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of values in jobprof.conf: how a text becomes a field of struct config, and is printed. */
#ifndef JP_BASE_CONFIG_TYPES_H
#define JP_BASE_CONFIG_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct config_type {
	/* 0; -EINVAL: the reason is in err; -ENOMEM. */
	int (*parse)(const char *text, void *field, char *err, size_t errlen);
	/* Prints "Key=value" lines; nothing when the field is unset. */
	void (*print)(const char *key, const void *field, FILE *f);
	/* Parses as Slurm does in its own files; NULL: Slurm parses as `parse` does. With 0, err
	 * has the part that was ignored, or is "". */
	int (*parse_slurms)(const char *text, void *field, char *err, size_t errlen);
	/* In place of the functions: the values of a field that is a bool, or an enum. */
	const char *const *words;
	bool is_bool;
};

/* Call the functions of a type, or do the same for its words. */
int config_type__parse(const struct config_type *t, bool slurms, const char *text, void *field,
		       char *err, size_t errlen);
void config_type__print(const struct config_type *t, const char *key, const void *field, FILE *f);

extern const struct config_type config_type_path, config_type_name, config_type_cluster,
	config_type_words, config_type_freq, config_type_slots, config_type_stacks,
	config_type_cgroups, config_type_ring, config_type_publish, config_type_megabytes,
	config_type_pattern, config_type_perf, config_type_budget, config_type_burst,
	config_type_bool, config_type_level, config_type_unwind, config_type_sample_event,
	config_type_node_tables, config_type_extern;

#endif
