/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives an input to the one who knows its kind. */
#include "tests/fuzz/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void input__must(bool holds)
{
	if (!holds)
		abort();
}

int input__file(const struct input *in)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	input__must(!fchmod(fd, 0600)); /* root reads no settings that others may write */
	input__must(!ftruncate(fd, 0) && pwrite(fd, in->text, in->len, 0) == (ssize_t)in->len);
	return fd;
}

const char *input__path(const struct input *in)
{
	static char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", input__file(in));
	return path;
}

bool input__fuzz(const uint8_t *data, size_t size)
{
	const struct input_kind *k = input_kinds;
	bool taken = false;
	/* of its very length: what reads behind its end is seen */
	char *text = size ? malloc(size) : NULL;

	if (!text)
		return false;
	log__set_level(LOGL_NONE);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	while (k->try && k->begins != (char)data[0])
		k++;
	if (k->try)
		taken = k->try(&(struct input){text, size - 1});
	free(text);
	return taken;
}

/* FUZZ_KINDS: inputs of other kinds are not kept. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *kinds = getenv("FUZZ_KINDS");

	if (kinds && (!size || !data[0] || !strchr(kinds, data[0])))
		return -1;
	input__fuzz(data, size);
	return 0;
}
