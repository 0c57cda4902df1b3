#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Block requests whose end is late, never comes, or is seen by no program."""

import struct
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from blocklib import *
from maplib import Maps


class Table:
    """The table of requests of a run, written to from outside."""

    OVER = 0xffff

    def __init__(self, pin):
        self.maps = Maps(pin)
        said = subprocess.run([DUMP, "--pin", pin, "--json"], capture_output=True, text=True)
        self.slot = json.loads(said.stdout)[0]["slot"]
        gen = struct.unpack_from("<I", self.maps.get("jp_slots", self.slot), 4)[0]
        self.use = self.slot | (gen & 0xffff) << 16
        self.sets = json.loads(subprocess.run(
            ["bpftool", "-j", "map", "show", "pinned", pin + "/maps/jp_owners"],
            capture_output=True, text=True).stdout)["max_entries"]

    def put(self, i, way, request, use):
        raw = bytearray(self.maps.get("jp_owners", i))
        struct.pack_into("<QQ", raw, 16 * way, request, use)
        self.maps.put("jp_owners", i, bytes(raw))

    def used(self):
        """Set, way and address of a request that is over."""
        dump = json.loads(subprocess.run(
            ["bpftool", "-j", "map", "dump", "pinned", self.maps.pin + "/maps/jp_owners"],
            capture_output=True, text=True).stdout)
        for e in dump:
            raw = bytes(int(b, 16) for b in e["value"])
            for way in range(4):
                request, use = struct.unpack_from("<QQ", raw, 16 * way)
                if request and use == self.OVER:
                    return struct.unpack("<I", bytes(int(b, 16) for b in e["key"]))[0], way, request
        return None


def parked(change):
    """A run whose table change(Table) was called on; its file, and how long its end took."""
    hold = Hold()
    run = Run(hold.cmd("park"), 0.5, None, ["--pin", PIN])
    hold.wait()
    reread = laid_out(MB)
    subprocess.run(["dd", "if=" + reread, "of=/dev/null", "bs=64k", "iflag=direct", "status=none"])
    change(Table(PIN))
    before = time.monotonic()
    hold.go()
    return run.end(), time.monotonic() - before


def never_over():
    """A request that does not come back: its step waits for it, and not for ever."""
    if not shutil.which("bpftool"):
        raise Skipped("no bpftool")
    path, took = parked(lambda t: t.put(t.sets - 1, 3, 8, t.use | 1 << 33))
    said = attributes(path)
    is_equal("a request that does not come back: the file says that it is late",
             int(numpy.ravel(said.get("Late Requests", 0))[0]), 1)
    is_true("a request that does not come back: its step waited", took >= 1.9, "%.2f s" % took)
    is_equal("a request that does not come back: is in no row",
             total(table(path, "Step"), "BlkUntimed"), 0)


def late_ends():
    """Requests that end when their slot's last row has been taken."""
    if not shutil.which("bpftool"):
        raise Skipped("no bpftool")
    path = laid_out()

    def close():
        maps = Maps(PIN)
        for s in range(2, maps.nslots):
            raw = maps.get("jp_slots", s)
            if struct.unpack_from("<I", raw)[0]:
                maps.put("jp_slots", s, struct.pack("<I", 3) + raw[4:])

    counters = {}

    def look():
        said = subprocess.run([DUMP, "--pin", PIN, "--json", "--self", "-t", "0.1"],
                              capture_output=True, text=True)
        counters.update(json.loads(said.stdout)["counters"])
    job = Job("dd if=%s of=/dev/null bs=64k iflag=direct status=none" % path, disk_of(path),
              before=close, after=look)
    job.is_disks("requests that end after the last row")
    reads = SIZE // 65536 - job.unseen("reads")
    is_true("requests that end after the last row: count in Other", job.own("reads") == 0 and
            job.counted("reads") >= reads, "%d own, %d in all, dd made %d"
            % (job.own("reads"), job.counted("reads"), reads))
    is_true("requests that end after the last row: are counted as late",
            reads <= counters["blk_late"] <= job.counted("reads") + job.counted("writes"),
            str(counters))


def unseen_end():
    """A request that the kernel has taken back counts, though no program saw its end."""
    if not shutil.which("bpftool"):
        raise Skipped("no bpftool")

    def forget(t):
        i, way, request = t.used()
        t.put(i, way, request, t.use | 1 << 32 | 24 << 33)
    path, _ = parked(forget)
    step = table(path, "Step")
    said = attributes(path)
    is_equal("an end that was not seen: the rows say so", total(step, "BlkUntimed"), 1)
    is_equal("an end that was not seen: the write counts", total(step, "BlkWrites"), 1)
    is_equal("an end that was not seen: its bytes too", total(step, "BlkWriteMB") * MB, 24 * 512)
    is_equal("an end that was not seen: it has no time", total(step, "BlkWriteTime"), 0)
    is_true("an end that was not seen: the file says so",
            int(numpy.ravel(said.get("Unseen Requests", 0))[0]) >= 1 and
            "Late Requests" not in said, str(said))


if __name__ == "__main__":
    run_block_tests([never_over, late_ends, unseen_end])
