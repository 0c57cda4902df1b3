# SPDX-License-Identifier: GPL-2.0-only
"""Files and disks."""

from case import Case, V

FIO = "fio --name=job --filename=data --size=256M --direct=1 --minimal --ioengine=%s --output=/dev/null "
DATA = "dd if=/dev/zero of=data bs=1M count=256 conv=fsync"

CASES = (
    Case("fio libaio", "fio", DATA,
         sick=FIO % "libaio" + "--rw=randread --bs=4k --io_size=100M", mended=FIO % "libaio" + "--rw=read --bs=1M --io_size=100M",
         rules="io.wait", remedy="larger|fewer|ahead|sequential"),
    Case("rsync", "rsync", "mkdir from; for i in $(seq 60); do head -c 10M /dev/urandom >from/$i; done",
         healthy="rsync -a from/ to"),
)
