# SPDX-License-Identifier: GPL-2.0-or-later
"""memmap.py random|stream FILE PAGES: reads so many pages of a file that is not in memory through a mapping or as a stream"""
import mmap
import os
import sys

how, path, pages = sys.argv[1], sys.argv[2], int(sys.argv[3])
fd = os.open(path, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
size = os.fstat(fd).st_size
total = 0
if how == "random":
    m = mmap.mmap(fd, size, prot=mmap.PROT_READ)
    m.madvise(mmap.MADV_RANDOM)
    for i in range(pages):
        total += m[i * 7919 % (size // 4096) * 4096]
else:
    for _ in range(pages * 4096 >> 20):
        total += os.read(fd, 1 << 20)[0]
print(total)
