// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The events behind @cpi, @memory and @flops, by processor. Codes are those of perf's own lists
 * (tools/perf/pmu-events of the kernel); the columns are named by what they count, for
 * analysis/counters/counter_metrics.c.
 */
#include "kern/pmu/perf_groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuinfo.h"
#include "base/str.h"

#define BOTH		      "cycles,instructions,"
#define E(event, umask, name) "%s/event=" event ",umask=" umask ",name=" name "/"
#define E0(event, name)	      "%s/event=" event ",name=" name "/"
#define STALLS		      BOTH "stalled-cycles-frontend,stalled-cycles-backend"

/* clang-format off */
/* walks: the event of loads that miss the TLBs, whose number changed with Sapphire Rapids. */
#define INTEL_MEMORY(walks) \
	BOTH E("0xd0", "0x81", "Loads") "," \
	E("0xd0", "0x82", "Stores") "," \
	E("0x51", "0x01", "L1Misses") "," \
	"cache-misses," \
	E(walks, "0x0e", "DtlbWalks") "," \
	"branch-misses"
/* Single and double precision of one width do as much, in single precision's operations. */
#define INTEL_FLOPS \
	BOTH E("0xc7", "0x02", "FlopsX1") "," \
	E("0xc7", "0x01", "FlopsX2") "," \
	E("0xc7", "0x0c", "FlopsX4") "," \
	E("0xc7", "0x30", "FlopsX8") "," \
	E("0xc7", "0xc0", "FlopsX16")
#define INTEL_UOPS \
	BOTH E("0x9c", "0x01", "SlotsFrontend") "," \
	E("0x0e", "0x01", "OpsDispatched") "," \
	E("0xc2", "0x02", "OpsRetired") "," \
	E("0x0d", "0x01", "RecoveryCycles")
#define INTEL_SLOTS \
	BOTH E("0xa4", "0x01", "Slots") "," \
	E("0xa4", "0x02", "SlotsBackend") "," \
	E("0x9c", "0x01", "SlotsFrontend") "," \
	E("0xc2", "0x02", "OpsRetired")
#define AMD_MEMORY \
	BOTH E("0x29", "0x01", "Loads") "," \
	E("0x29", "0x02", "Stores") "," \
	E("0x44", "0xff", "L1Misses") "," \
	E("0x43", "0x48", "DramFills") "," \
	E("0x45", "0xf0", "DtlbWalks") "," \
	"branch-misses"
#define AMD_SLOTS \
	BOTH E("0x1a0", "0x01", "SlotsFrontend") "," \
	E("0x1a0", "0x1e", "SlotsBackend") "," \
	E("0x1a0", "0x60", "SlotsSmt") "," \
	E("0xaa", "0x07", "OpsDispatched") "," \
	E0("0xc1", "OpsRetired")
#define ARM_MEMORY \
	BOTH E0("0x66", "Loads") "," \
	E0("0x67", "Stores") "," \
	E0("0x03", "L1Misses") "," \
	E0("0x37", "LlcMisses") "," \
	E0("0x34", "DtlbWalks") "," \
	E0("0x22", "BranchMisses")
#define ARM_SLOTS \
	BOTH E0("0x3e", "SlotsFrontend") "," \
	E0("0x3d", "SlotsBackend") "," \
	E0("0x3f", "SlotsStalled") "," \
	E0("0x3b", "OpsDispatched") "," \
	E0("0x3a", "OpsRetired")
/* clang-format on */

#define WORDS                               \
	{                                   \
		"@cpi", "@memory", "@flops" \
	}

enum arch {
	INTEL_PRE_ICL,
	INTEL_ICL,
	INTEL_SPR,
	AMD_ZEN4,
	AMD_ZEN5,
	AMD_STALLS,
	ARM_SBSA,
	ARM_STALLS
};

static const struct perf_arch archs[] = {
	[INTEL_PRE_ICL] = {"intel_pre_icl",
			   4,
			   WORDS,
			   {INTEL_UOPS, INTEL_MEMORY("0x08"), INTEL_FLOPS}},
	[INTEL_ICL] = {"intel_icl", 0, WORDS, {INTEL_SLOTS, INTEL_MEMORY("0x08"), INTEL_FLOPS}},
	[INTEL_SPR] = {"intel_icl", 0, WORDS, {INTEL_SLOTS, INTEL_MEMORY("0x12"), INTEL_FLOPS}},
	[AMD_ZEN4] = {"amd_zen4", 6, WORDS, {AMD_SLOTS, AMD_MEMORY, NULL}},
	[AMD_ZEN5] = {"amd_zen5", 8, WORDS, {AMD_SLOTS, AMD_MEMORY, NULL}},
	[AMD_STALLS] = {"amd_stalls", 0, WORDS, {STALLS, NULL, NULL}},
	[ARM_SBSA] = {"arm_sbsa", 0, WORDS, {ARM_SLOTS, ARM_MEMORY, NULL}},
	[ARM_STALLS] = {"arm_stalls", 0, WORDS, {STALLS, ARM_MEMORY, NULL}},
};

/* Which processor has which events; of Intel family 6 by model, of AMD by family and model, of Arm
 * by implementer and part. */
static const struct {
	const char *vendor;
	int family, from, to;
	enum arch arch;
} models[] = {
	{"GenuineIntel", 6, 0x4e, 0x4e, INTEL_PRE_ICL}, /* Skylake */
	{"GenuineIntel", 6, 0x5e, 0x5e, INTEL_PRE_ICL},
	{"GenuineIntel", 6, 0x55, 0x55, INTEL_PRE_ICL}, /* and Cascade Lake */
	{"GenuineIntel", 6, 0x8e, 0x8e, INTEL_PRE_ICL},
	{"GenuineIntel", 6, 0x9e, 0x9e, INTEL_PRE_ICL},
	{"GenuineIntel", 6, 0x6a, 0x6a, INTEL_ICL}, /* Ice Lake server */
	{"GenuineIntel", 6, 0x6c, 0x6c, INTEL_ICL},
	{"GenuineIntel", 6, 0x7d, 0x7e, INTEL_ICL},
	{"GenuineIntel", 6, 0x8f, 0x8f, INTEL_SPR}, /* Sapphire Rapids */
	{"GenuineIntel", 6, 0xcf, 0xcf, INTEL_SPR}, /* Emerald Rapids */
	{"AuthenticAMD", 0x17, 0x00, 0xff, AMD_STALLS},
	{"AuthenticAMD", 0x19, 0x00, 0x0f, AMD_STALLS}, /* Zen 3 */
	{"AuthenticAMD", 0x19, 0x10, 0x1f, AMD_ZEN4},
	{"AuthenticAMD", 0x19, 0x20, 0x5f, AMD_STALLS},
	{"AuthenticAMD", 0x19, 0x60, 0xaf, AMD_ZEN4},
	{"AuthenticAMD", 0x1a, 0x00, 0xff, AMD_ZEN5},
	{"0x41", 8, 0xd0c, 0xd0c, ARM_STALLS}, /* Neoverse N1 */
	{"0x41", 8, 0xd40, 0xd40, ARM_SBSA},   /* V1 */
	{"0x41", 8, 0xd49, 0xd49, ARM_STALLS}, /* N2: early ones count slots of stalls too often */
	{"0x41", 8, 0xd4f, 0xd4f, ARM_SBSA},   /* V2: Grace */
	{"0x46", 8, 0x001, 0x001, ARM_STALLS}, /* A64FX */
};

/* The directory of the CPU's PMU in sysfs. */
static bool find_pmu(const char *sysfs, char *name, size_t size)
{
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *e;
	char path[256];

	snprintf(path, sizeof(path), "%s/bus/event_source/devices", sysfs);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (!strcmp(e->d_name, "cpu") || str__starts(e->d_name, "armv8") ||
		    str__starts(e->d_name, "armv9"))
			return !str__copy(name, size, e->d_name);
	return false;
}

const struct perf_arch *perf_arch__find(const char *proc, const char *sysfs)
{
	struct cpuinfo c;
	char pmu[64];

	cpuinfo__read(&c, proc);
	if (!find_pmu(sysfs, pmu, sizeof(pmu)))
		return NULL;
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (!strcmp(models[i].vendor, c.vendor) && models[i].family == c.family &&
		    models[i].from <= c.model && c.model <= models[i].to)
			return &archs[models[i].arch];
	return NULL;
}

unsigned perf_arch__width(const struct perf_arch *a, const char *sysfs)
{
	char pmu[64], path[256], text[32];
	unsigned long slots;

	if (a->width || !find_pmu(sysfs, pmu, sizeof(pmu)))
		return a->width;
	snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/caps/slots", sysfs, pmu);
	if (read_file(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	slots = strtoul(text, NULL, 0);
	return slots < 64 ? (unsigned)slots : 0;
}

static int fail(char *err, size_t errlen, int code, const char *text, const char *word)
{
	snprintf(err, errlen, text, word);
	return code;
}

/* Writes what the word stands for, with the PMU's name. */
static void put_list(FILE *out, const char *list, const char *sysfs)
{
	char pmu[64] = "cpu";
	const char *at;

	find_pmu(sysfs, pmu, sizeof(pmu));
	for (; (at = strstr(list, "%s")); list = at + 2)
		fprintf(out, "%.*s%s", (int)(at - list), list, pmu);
	fputs(list, out);
}

/* 1; 0: no events of this processor are known for the word; -EINVAL: there is no such word. */
static int put_word(FILE *out, const char *sep, const char *word, const struct perf_arch *a,
		    const char *sysfs)
{
	static const char *const words[] = WORDS;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(words[i], word) != 0)
			continue;
		if (!a || !a->lists[i])
			return 0;
		fputs(sep, out);
		put_list(out, a->lists[i], sysfs);
		return 1;
	}
	return -EINVAL;
}

/* Adds a word to "@cpi, @memory". */
static void add_left_out(char *list, size_t size, const char *word)
{
	size_t len = strlen(list);

	snprintf(list + len, size - len, "%s%s", len ? ", " : "", word);
}

int perf_groups__expand(const char *list, const char *proc, const char *sysfs, char *out,
			size_t size, char *err, size_t errlen)
{
	_cleanup_free_ char *copy = strdup(list);
	_cleanup_fclose_ FILE *f = fmemopen(out, size, "w");
	const struct perf_arch *a = perf_arch__find(proc, sysfs);
	char *rest = copy, *set, left_out[64] = "", reason[128];
	int known = 0, kept = 0, wrong = 0, is_known;

	if (!copy || !f)
		return fail(err, errlen, -ENOMEM, "out of memory%s", "");
	out[0] = err[0] = '\0';
	while ((set = strsep(&rest, ";"))) {
		char *word = set + strspn(set, " \t");
		const char *sep = kept ? ";" : "";

		if (*word != '@') {
			fprintf(f, "%s%s", sep, set);
			kept++;
			continue;
		}
		word[strcspn(word, " \t")] = '\0';
		is_known = put_word(f, sep, word, a, sysfs);
		if (is_known < 0) {
			wrong = fail(reason, sizeof(reason), is_known,
				     "%.64s is none of @cpi, @memory and @flops", word);
			str__add_reason(err, errlen, reason);
			continue;
		}
		known += is_known;
		kept += is_known;
		if (!is_known)
			add_left_out(left_out, sizeof(left_out), word);
	}
	if (fflush(f) || ferror(f) || (size_t)ftell(f) >= size)
		return fail(err, errlen, -ENOSPC, "the list of events is too long%s", "");
	if (wrong)
		return wrong;
	if (*left_out)
		fail(err, errlen, 0,
		     "%s: no such events of this processor are known, or it has no counters: they "
		     "are not counted; name events of perf list instead",
		     left_out);
	return known;
}
