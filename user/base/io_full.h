/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading and writing that goes on after a partial transfer and after a signal. */
#ifndef JP_BASE_IO_FULL_H
#define JP_BASE_IO_FULL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes read, fewer than n only where the file ends; -errno. errno is set too. */
ssize_t read_full(int fd, void *to, size_t n);
ssize_t pread_full(int fd, void *to, size_t n, uint64_t at);
/* 0 or -errno; -ENOSPC where nothing is taken. errno is set too. */
int write_full(int fd, const void *from, size_t n);
int pwrite_full(int fd, const void *from, size_t n, uint64_t at);

#endif
