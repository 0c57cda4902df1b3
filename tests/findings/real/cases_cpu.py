# SPDX-License-Identifier: GPL-2.0-only
"""Threads, their number and where they may run; quotas and neighbours."""

from case import Case, V

LOOPS = "gcc -O2 -fopenmp -o loops $P/loops.c"
TRIANGLE = "gcc -O2 -fopenmp -o triangle $P/triangle.c"

CASES = (
    Case("openmp threads", "gcc", LOOPS,
         sick="OMP_NUM_THREADS=16 ./loops 8000 20000", mended="OMP_NUM_THREADS=2 ./loops 8000 20000",
         rules="cpu.oversubscribed", remedy="OMP_NUM_THREADS=2"),
    Case("openmp one thread", "gcc", LOOPS,
         sick="OMP_NUM_THREADS=1 ./loops 300 262144", mended="OMP_NUM_THREADS=2 ./loops 300 262144",
         rules="cpu.serial", remedy="OMP_NUM_THREADS"),
    Case("openmp bound", "gcc", LOOPS,
         sick="OMP_NUM_THREADS=2 OMP_PLACES={0} ./loops 250 262144", mended="OMP_NUM_THREADS=2 ./loops 250 262144",
         rules="cpu.stacked", remedy="OMP_PLACES|taskset"),
    Case("openmp triangle", "gcc", TRIANGLE,
         sick="OMP_NUM_THREADS=2 OMP_SCHEDULE=static ./triangle 6 30000",
         mended="OMP_NUM_THREADS=2 OMP_SCHEDULE=dynamic,100 ./triangle 6 30000",
         rules="cpu.unused|cpu.serial|sync.wait|sync.fine|cpu.imbalance", remedy="balance|distribut|dynamic|other threads|each other"),
    Case("quota around", "gcc", LOOPS,
         sick=V("OMP_NUM_THREADS=2 ./loops 200 262144", quota=1), mended="OMP_NUM_THREADS=2 ./loops 200 262144",
         rules="cpu.throttled", remedy="quota"),
    Case("neighbour", "gcc md5sum", LOOPS,
         sick=V("OMP_NUM_THREADS=2 ./loops 150 262144", beside="md5sum /dev/zero"), mended="OMP_NUM_THREADS=2 ./loops 150 262144",
         rules="cpu.neighbour", remedy="what else runs|other program|exclusive"),
)
