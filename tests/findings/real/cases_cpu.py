# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads, their number and where they may run; quotas and neighbours."""

from case import Case, V

LOOPS = "gcc -O2 -fopenmp -o loops $P/loops.c"
TRIANGLE = "gcc -O2 -fopenmp -o triangle $P/triangle.c"
TWO = "OMP_NUM_THREADS=2 "

CASES = (
    Case("openmp threads", "gcc", LOOPS,
         sick="OMP_NUM_THREADS=16 ./loops [[7000]] 20000", mended=TWO + "./loops [[7000]] 20000",
         rules="cpu.oversubscribed", remedy="OMP_NUM_THREADS=2"),
    Case("openmp one thread", "gcc", LOOPS,
         sick="OMP_NUM_THREADS=1 ./loops [[350]] 262144", mended=TWO + "./loops [[350]] 262144",
         rules="cpu.serial", remedy="OMP_NUM_THREADS"),
    Case("openmp bound", "gcc", LOOPS,
         sick=TWO + "OMP_PLACES={0} ./loops [[300]] 262144", mended=TWO + "./loops [[300]] 262144",
         rules="cpu.stacked", remedy="OMP_PLACES|taskset"),
    Case("openmp triangle", "gcc", TRIANGLE,
         sick=TWO + "OMP_SCHEDULE=static ./triangle [[7]] 30000", mended=TWO + "OMP_SCHEDULE=dynamic,100 ./triangle [[7]] 30000",
         rules="cpu.unused|cpu.serial|sync.fine", remedy="balance|distribut|dynamic|evenly|each other|other threads"),
    Case("openmp tiny loops", "gcc", LOOPS,
         sick=TWO + "OMP_WAIT_POLICY=passive ./loops [[150000]] 300", mended="OMP_NUM_THREADS=1 ./loops [[150000]] 300",
         rules="sync.fine", remedy="larger|OMP_WAIT_POLICY", also="cpu.serial cpu.system"),
    Case("quota around", "gcc", LOOPS,
         sick=V(TWO + "./loops [[280]] 262144", quota=1), mended=TWO + "./loops [[280]] 262144",
         rules="cpu.throttled", remedy="quota"),
    Case("quota inside", "gcc", LOOPS,
         sick=V("echo $$ >$CG; exec env OMP_NUM_THREADS=2 ./loops [[220]] 262144", quota=0.7, is_inside=True),
         mended=TWO + "./loops [[220]] 262144",
         rules="cpu.throttled", remedy="quota"),
    Case("quota compressor", "pigz", "head -c [[220]]M /dev/urandom >data",
         sick=V("pigz -p 2 -k -f data", quota=1.2), mended="pigz -p 2 -k -f data",
         rules="cpu.throttled", remedy="quota"),
    Case("neighbour", "gcc md5sum", LOOPS,
         sick=V(TWO + "./loops [[280]] 262144", beside="md5sum /dev/zero"), mended=TWO + "./loops [[280]] 262144",
         rules="cpu.neighbour", remedy="what else runs|other program|exclusive"),
    Case("neighbour of many", "gcc md5sum", LOOPS,
         sick=V("OMP_NUM_THREADS=100 ./loops [[20]] 4000000", beside="for i in $(seq 100); do md5sum /dev/zero & done; wait"), mended="OMP_NUM_THREADS=100 ./loops [[20]] 4000000",
         rules="cpu.neighbour", remedy="what else runs|other program|exclusive"),
    Case("neighbour of encoder", "ffmpeg md5sum", "",
         sick=V("ffmpeg -v error -f lavfi -i testsrc=size=960x540:rate=25:duration=[[9]] -y out.mkv", beside="md5sum /dev/zero & md5sum /dev/zero & wait"),
         mended="ffmpeg -v error -f lavfi -i testsrc=size=960x540:rate=25:duration=[[9]] -y out.mkv",
         rules="cpu.neighbour", remedy="what else runs|other program|exclusive"),
)
