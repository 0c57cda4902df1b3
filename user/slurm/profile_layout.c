// SPDX-License-Identifier: GPL-2.0-only
#include "slurm/profile_layout.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/family.h"
#include "base/freq.h"
#include "base/str.h"

#define RELEASE(major, minor) ((major) << 16 | (minor) << 8)
#define ENV_MAX		      65536 /* variables that are looked at */

/*
 * All behind a condition and a mutex, whose sizes differ by machine; here they are x86's. In 23.11
 * the addresses and names of the nodes came before the rest, in 24.11 the step's id began with a
 * SLUID, in 25.11 the task counts of a heterogeneous step came in. A row is added when it was run
 * with that release, not before: 22.05.8, 23.11.4, 24.11.5 and 25.11.2 were, on x86-64.
 */
#define AT(offset) ((offset) + sizeof(pthread_cond_t) - 48 + sizeof(pthread_mutex_t) - 40)
#define ROW(major, minor, job, step, env, uid, profile, msg, freq)                                \
	{                                                                                         \
		RELEASE(major, minor), AT(job), AT(step), AT(env), AT(uid), AT(profile), AT(msg), \
			freq                                                                      \
	}

static const struct profile_layout layouts[] = {
	ROW(22, 5, 112, 120, 256, 352, 432, 680, 432),
	ROW(23, 11, 112, 120, 272, 368, 448, 808, 448),
	ROW(24, 11, 120, 128, 280, 376, 456, 816, 456),
	ROW(25, 11, 120, 128, 288, 384, 464, 832, 464),
};

_Static_assert(sizeof(long) == 8 && sizeof(void *) == 8, "the table is for LP64");

const struct profile_layout *profile_layout__find(uint32_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].release == (version & 0xffff00))
			return &layouts[i];
	return NULL;
}

/* The kernel copies: an address that is none is an error, not the end of slurmstepd. */
static int peek(const void *base, size_t offset, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (char *)base + offset, .iov_len = size};
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n == size ? 0 : -EFAULT;
}

/* A text that may end just before a page that is not there; what is behind its end stays there. */
static int peek_text(const char *text, char *buf, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t page = 4096 - ((uintptr_t)(text + at) & 4095);
		size_t len = page < size - at ? page : size - at;
		int err = peek(text, at, buf + at, len);
		char *end = err ? NULL : memchr(buf + at, 0, len);

		if (err)
			return err;
		if (end) {
			memset(end, 0, buf + size - end);
			return 0;
		}
		at += len;
	}
	return -E2BIG;
}

static bool mask_is_valid(uint32_t mask)
{
	return mask == PROFILE_ALL || mask == PROFILE_NONE || !(mask & ~PROFILE_SERIES);
}

/* Not being able to tell is as if it had not been given. */
static void read_freq(const struct profile_layout *l, const void *record, char *buf, size_t size)
{
	const void *msg = NULL;
	const char *text = NULL;
	struct freq f;
	char err[8];

	freq__init(&f);
	if (peek(record, l->msg, &msg, sizeof(msg)) || !msg ||
	    peek(msg, l->acctg_freq, &text, sizeof(text)) || !text || peek_text(text, buf, size) ||
	    freq__parse(buf, &f, err, sizeof(err)))
		buf[0] = '\0';
}

int profile_step__read(const struct profile_layout *l, const void *record, uint32_t job_id,
		       uint32_t step_id, struct profile_step *s, char *err, size_t errlen)
{
	uint32_t job = 0, step = 0;
	int ret;

	if ((ret = peek(record, l->job_id, &job, sizeof(job))) ||
	    (ret = peek(record, l->step_id, &step, sizeof(step))) ||
	    (ret = peek(record, l->uid, &s->uid, sizeof(s->uid))) ||
	    (ret = peek(record, l->profile, &s->mask, sizeof(s->mask)))) {
		snprintf(err, errlen, "Slurm's record of the step cannot be read: %s",
			 strerror(-ret));
		return ret;
	}
	if (job != job_id || step != step_id) {
		snprintf(err, errlen,
			 "Slurm's record says job %u step %u, the process title job %u "
			 "step %u",
			 job, step, job_id, step_id);
		return -ESRCH;
	}
	if (!mask_is_valid(s->mask)) {
		snprintf(err, errlen, "0x%08x is no mask of --profile", s->mask);
		return -EINVAL;
	}
	read_freq(l, record, s->freq, sizeof(s->freq));
	return 0;
}

int profile_step__getenv(const struct profile_layout *l, const void *record, const char *name,
			 char *buf, size_t size)
{
	size_t len = strlen(name);
	char **env = NULL, start[64];
	int err = peek(record, l->env, &env, sizeof(env));

	if (err || !env || len + 2 > sizeof(start))
		return err ? err : -ENODATA;
	for (size_t i = 0; i < ENV_MAX; i++) {
		const char *var = NULL;

		err = peek(env, i * sizeof(*env), &var, sizeof(var));
		if (err || !var)
			return err ? err : -ENODATA;
		err = peek_text(var, start, len + 2); /* cut: most are longer */
		if (err && err != -E2BIG)
			return err;
		if (!strncmp(start, name, len) && start[len] == '=')
			return peek_text(var + len + 1, buf, size);
	}
	return -ENODATA;
}

static const struct {
	const char *word;
	uint32_t mask;
} words[] = {
	{"energy", PROFILE_ENERGY},	{"task", PROFILE_TASK},	 {"lustre", PROFILE_LUSTRE},
	{"network", PROFILE_NETWORK},	{"none", PROFILE_NONE},	 {"all", PROFILE_ALL},
	{"filesystem", PROFILE_LUSTRE}, {"tasks", PROFILE_TASK},
};

#define N_BITS	4 /* the first ones have a bit each */
#define N_WORDS (sizeof(words) / sizeof(words[0]))

int profile_mask__print(uint32_t mask, char *buf, size_t size)
{
	size_t at = 0;

	if (!mask_is_valid(mask) || !size)
		return -EINVAL;
	buf[0] = '\0';
	if (mask == PROFILE_ALL || mask == PROFILE_NONE)
		return str__copy(buf, size, mask == PROFILE_ALL ? "all" : "none");
	for (size_t i = 0; i < N_BITS && at < size; i++)
		if (mask & words[i].mask)
			at += snprintf(buf + at, size - at, "%s%s", at ? "," : "", words[i].word);
	return at < size ? 0 : -E2BIG;
}

int profile_mask__parse(const char *list, uint32_t *mask, char *bad, size_t badlen)
{
	unsigned families;
	uint32_t sum = 0;
	int err = family__parse(list, &families, bad, badlen);

	if (err)
		return err;
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t len;

		p += strspn(p, " \t");
		len = strcspn(p, ", \t");
		for (size_t i = 0; i < N_WORDS; i++)
			if (strlen(words[i].word) == len && !strncasecmp(words[i].word, p, len))
				sum |= words[i].mask;
	}
	*mask = sum == PROFILE_ALL     ? sum
		: sum & PROFILE_SERIES ? sum & PROFILE_SERIES
				       : PROFILE_NONE;
	return 0;
}

uint32_t profile_mask__running(uint32_t asked, uint32_t measures)
{
	uint32_t left = asked == PROFILE_NONE ? 0 : asked & PROFILE_SERIES & ~measures;

	return left ? left : PROFILE_NONE;
}
