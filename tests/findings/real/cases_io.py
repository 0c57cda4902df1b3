# SPDX-License-Identifier: GPL-2.0-or-later
"""Files, disks and limits of memory."""

from case import Case, V

PY = "/usr/bin/python3 $P/"
DATA = "dd if=/dev/zero of=data bs=1M count=400 conv=fsync"
LARGE = DATA.replace("400", "[[400]]")  # so large that no page is read twice
FIO = "fio --name=job --filename=data --size=400M --direct=1 --minimal --output=/dev/null --ioengine="
COLD = FIO.replace("--direct=1", "--direct=0 --invalidate=1").replace("400", "[[400]]")
RANDOM, STREAM = " --rw=randread --bs=4k --io_size=%s", " --rw=read --bs=1M --io_size=%s"
LARGER = "larger|fewer|ahead|sequential|queue|asynchronous|depth"


def fio(engine, io_size, command=FIO, more="", data=DATA):
    return Case("fio " + engine, "fio", data, sick=command + engine + more + RANDOM % io_size, mended=command + engine + more + STREAM % io_size,
                rules="io.wait", remedy=LARGER, cpus="0")


CASES = (
    fio("sync", "[[120]]M"), fio("psync", "[[120]]M"), fio("libaio", "[[120]]M"), fio("io_uring", "[[120]]M"),
    fio("mmap", "[[80]]M", COLD, " --fadvise_hint=random", LARGE),
    Case("memmap", "py:numpy", LARGE,
         sick=PY + "memmap.py random data [[40000]]", mended=PY + "memmap.py stream data [[40000]]", rules="io.wait", remedy=LARGER + "|madvise|read\\(\\)", cpus="0"),
    Case("dd synchronous", "dd", "", sick="dd if=/dev/zero of=out bs=4k count=[[6000]] oflag=sync", mended="dd if=/dev/zero of=out bs=1M count=[[24]] conv=fsync",
         rules="io.wait|io.small", remedy="larger|fewer|fsync|O_SYNC|sync", cpus="0"),
    Case("dd tiny", "dd", "head -c [[30]]M /dev/urandom >in",
         sick="dd if=in of=out bs=8", mended="dd if=in of=out bs=64k", rules="io.small", remedy="[Bb]uffer|larger", loss="cpu", cpus="0"),
    Case("tiny reads", "cat", "head -c 4M /dev/urandom >in.dat",
         sick=PY + "reads.py 16 [[16]]", mended=PY + "reads.py 65536 [[16]]", rules="io.small", remedy="[Bb]uffer|larger", loss="cpu", cpus="0"),
    Case("unbuffered lines", "cat", "", sick=PY + "lines.py 0 [[1500000]]", mended=PY + "lines.py 65536 [[1500000]]",
         rules="io.small", remedy="[Bb]uffer|larger", loss="cpu", cpus="0"),
    Case("file per record", "cat", "", sick=PY + "records.py files 5000 [[6]]", mended=PY + "records.py one 5000 [[6]]",
         rules="io.metadata|io.small", remedy="one file|fewer files|open", loss="cpu", cpus="0"),
    Case("tar of small files", "tar", PY + "records.py files 20000 0", healthy="tar cf out.tar $(yes d | head -n [[3]])", cpus="0"),
    Case("copy", "cp", "mkdir from; for i in $(seq 40); do head -c 20M /dev/zero | tr '\\0' x >from/$i; done", healthy="cp -r from to", cpus="0"),
    Case("rsync", "rsync", "mkdir from; for i in $(seq [[60]]); do head -c 10M /dev/urandom >from/$i; done", healthy="rsync -a -I from/ to"),
    Case("memory thrash", "py:numpy", DATA,
         sick=V(PY + "again.py data [[12]]", memory=150), mended=PY + "again.py data [[12]]",
         rules="mem.thrash|mem.near_limit|io.wait", remedy="memory", also="io.wait", cpus="0"),
    Case("memory killed", "py:numpy", "", sick=V(PY + "grow.py 400 [[60000]]", memory=200, status=137), mended=PY + "grow.py 400 [[60000]]", rules="mem.oom", remedy="memory",
         loss="none", cpus="0"),
    Case("sort in memory", "sort", "head -c [[60]]M /dev/urandom | base64 >lines", healthy="sort --parallel=2 -S [[300]]M -o sorted lines"),
)
