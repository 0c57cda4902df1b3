// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds --profile and --acctg-freq in slurmstepd's record of a step, whose type is not known. */
#include "slurm/profile_record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/freq.h"
#include "identity/layout.h"
#include "slurm/profile_mask.h"

#define ENV_MAX 65536 /* variables that are read */

/* Offsets from the record's pointer to the node's name. Releases add fields before and after this
 * part of the record, not inside: it is the same in 22.05.8, 23.11.4, 24.11.5, 25.11.7 and 26.05.3,
 * on x86-64. */
enum {
	AT_ENV = -32,
	AT_UID = 64,
	AT_GID = 104,
	AT_FLAGS = 128, /* bools: aborted, batch, run_prolog */
	AT_MASK = 144,
	BLOCK_SIZE = 152,
};

/* Windows that are searched, in bytes from the start of the record or of the launch message; the
 * comments have the offsets in known releases. */
#define RECORD_MAX  1536
#define MESSAGE_MAX 640
struct window {
	size_t from, to;
};
static const struct window record_ids = {64, 192};    /* 112 to 120 */
static const struct window node_name = {192, 512};    /* 288 to 320 */
static const struct window message_ids = {64, 192};   /* 104 to 120 */
static const struct window message_freq = {424, 480}; /* 432 to 464 */
static const struct window message_mask = {480, 560}; /* 496 to 536 */

_Static_assert(sizeof(long) == 8 && sizeof(void *) == 8, "the places are those of LP64");

/* Copies memory by the kernel, so that a bad address is an error and does not end slurmstepd. */
static int peek(const void *base, size_t offset, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (char *)base + offset, .iov_len = size};
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n == size ? 0 : -EFAULT;
}

/* Copies a text that may end just before an unmapped page; buf has zeros after its end. */
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

/* Copies as far as memory is mapped, and puts zeros after that. */
static void peek_all(const void *base, char *to, size_t size)
{
	size_t at = 0;

	memset(to, 0, size);
	while (at < size) {
		size_t page = 4096 - (((uintptr_t)base + at) & 4095);
		size_t len = page < size - at ? page : size - at;

		if (peek(base, at, to + at, len))
			return;
		at += len;
	}
}

static uint32_t u32_at(const char *bytes, size_t at)
{
	uint32_t v;

	memcpy(&v, bytes + at, sizeof(v));
	return v;
}

static uint64_t u64_at(const char *bytes, size_t at)
{
	uint64_t v;

	memcpy(&v, bytes + at, sizeof(v));
	return v;
}

static const char *text_at(const char *bytes, size_t at)
{
	return (const char *)(uintptr_t)u64_at(bytes, at);
}

/* Looks for the job's id, the component of a heterogeneous step and the step's id, one after the
 * other. */
static bool has_ids(const char *bytes, struct window w, const struct profile_ids *ids)
{
	for (size_t at = w.from; at < w.to; at += 4)
		if (u32_at(bytes, at) == ids->job_id && u32_at(bytes, at + 8) == ids->step_id)
			return true;
	return false;
}

static bool has_mask(const char *message, uint32_t mask)
{
	for (size_t at = message_mask.from; at < message_mask.to; at += 8)
		if (u64_at(message, at) ==
		    mask) /* 4 bytes, and 4 of padding before the pointer that follows */
			return true;
	return false;
}

static void read_freq(const char *message, char *buf, size_t size)
{
	struct freq f;
	char err[8];

	for (size_t at = message_freq.from; at < message_freq.to; at += 8) {
		const char *text = text_at(message, at);

		freq__init(&f);
		if (text && !peek_text(text, buf, size) && buf[0] &&
		    !freq__parse(buf, &f, err, sizeof(err)))
			return;
	}
	memset(buf, 0, size);
}

/* Finds srun's message that launched the step: it has the same mask. A batch step has none. */
static bool find_message(const char *record, size_t from, const struct profile_ids *ids,
			 struct profile_step *s)
{
	char message[MESSAGE_MAX];
	bool found = false;

	for (size_t at = from; at < RECORD_MAX && !s->freq[0]; at += 8) {
		if (!text_at(record, at))
			continue;
		peek_all(text_at(record, at), message, sizeof(message));
		if (!has_ids(message, message_ids, ids) || !has_mask(message, s->mask))
			continue;
		found = true;
		read_freq(message, s->freq, sizeof(s->freq));
	}
	return found;
}

static bool is_node(const char *record, size_t at, const char *name)
{
	const char *text = text_at(record, at);
	char buf[256];

	return text && !peek_text(text, buf, sizeof(buf)) && !strcmp(buf, name);
}

/* Reads the fields around name, the pointer to the node's name. A number before a pointer is padded
 * with zeros. */
static bool read_block(const char *name, const struct profile_ids *ids, struct profile_step *s)
{
	for (size_t i = 0; i < 8; i++)
		if ((unsigned char)name[AT_FLAGS + i] > 1)
			return false;
	s->uid = u32_at(name, AT_UID);
	s->gid = u32_at(name, AT_GID);
	s->mask = u32_at(name, AT_MASK);
	return name[AT_FLAGS + 1] == (ids->step_id == STEP_BATCH) &&
	       u64_at(name, AT_UID) == s->uid && u64_at(name, AT_MASK) == s->mask &&
	       profile_mask__is_valid(s->mask);
}

/* Returns NULL if all was found, else the name of the part that the record lacks. */
static const char *find_request(const char *bytes, const struct profile_ids *ids,
				struct profile_step *s, size_t *name)
{
	const char *lacks = "the node's name";

	if (!has_ids(bytes, record_ids, ids))
		return "the step's numbers";
	for (size_t at = node_name.from; at < node_name.to; at += 8) {
		if (!is_node(bytes, at, ids->node))
			continue;
		lacks = "a request that is one of --profile";
		if (!read_block(bytes + at, ids, s))
			continue;
		lacks = "a launch message with the same request";
		*name = at;
		if (find_message(bytes, at + BLOCK_SIZE, ids, s) || ids->step_id == STEP_BATCH)
			return NULL;
	}
	return lacks;
}

int profile_step__find(const void *record, const struct profile_ids *ids, struct profile_step *s,
		       char *err, size_t errlen)
{
	char bytes[RECORD_MAX];
	const char *lacks;
	size_t name = 0;

	*s = (struct profile_step){0};
	peek_all(record, bytes, sizeof(bytes));
	lacks = find_request(bytes, ids, s, &name);
	if (!lacks) {
		s->env = (const char *)record + name + AT_ENV;
		return 0;
	}
	snprintf(err, errlen, "Slurm's record of the step does not have %s where it is looked for",
		 lacks);
	return -ESRCH;
}

int profile_step__getenv(const struct profile_step *s, const char *name, char *buf, size_t size)
{
	size_t len = strlen(name);
	char **env = NULL, start[64];
	int err = peek(s->env, 0, &env, sizeof(env));

	if (err || !env || len + 2 > sizeof(start))
		return err ? err : -ENODATA;
	for (size_t i = 0; i < ENV_MAX; i++) {
		const char *var = NULL;

		err = peek(env, i * sizeof(*env), &var, sizeof(var));
		if (err || !var)
			return err ? err : -ENODATA;
		err = peek_text(var, start, len + 2); /* cut here: most variables are longer */
		if (err && err != -E2BIG)
			return err;
		if (!strncmp(start, name, len) && start[len] == '=')
			return peek_text(var + len + 1, buf, size);
	}
	return -ENODATA;
}
