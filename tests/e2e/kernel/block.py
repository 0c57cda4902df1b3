#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Block requests of jobs: as many, and as many bytes, as fio and the disk's stat say (blocklib.py)."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from blocklib import *


def compare_fio(name, job, fio):
    """The job may have read pages of programs, and fio's output be written, beside its work."""
    for what, part in (("read", "read"), ("write", "write")):
        theirs = fio[part]["io_bytes"]
        ours = job.own(what + "_bytes")
        is_true("%s: the job's bytes of %ss are fio's" % (name, what),
                theirs - job.unseen(what + "_bytes") <= ours <= theirs + 4 * MB,
                "%d and at most %d unseen, fio %d" % (ours, job.unseen(what + "_bytes"), theirs))
        ops, least = job.own(what + "s"), fio[part]["total_ios"]
        is_true("%s: the job's %ss are fio's" % (name, what),
                least / 40 <= ops <= least * 1.1 + 300 + max(ours - theirs, 0) / 4096,
                "%d requests, fio made %d calls" % (ops, least))


def direct():
    path = laid_out()
    disk = disk_of(path)
    for name, extra, options in (
            ("read", (), "--rw=read --bs=64k"),
            ("write", (), "--rw=write --bs=64k --overwrite=1"),
            ("randrw libaio", (), "--rw=randrw --bsrange=4k-64k --ioengine=libaio --iodepth=8"),
            ("randrw io_uring", (), "--rw=randrw --bs=16k --ioengine=io_uring --iodepth=8"),
            ("io_uring's polling thread", (),
             "--rw=read --bs=16k --ioengine=io_uring --sqthread_poll=1 --iodepth=8"),
            ("io_uring's workers", (),
             "--rw=read --bs=16k --ioengine=io_uring --force_async=1 --iodepth=8"),
            ("without block_io_start", ("--block-issue",),
             "--rw=randrw --bs=16k --ioengine=libaio --iodepth=8")):
        if "ioengine" in options and not has_engine(options.split("ioengine=")[1].split()[0]):
            skip("direct " + name, "this fio or kernel lacks the engine")
            continue
        out = os.path.join(os.path.dirname(path), "fio.json")
        job = compared_job("direct " + name, fio_cmd(path, out, "--direct=1", "--size=%d" % SIZE,
                                                     options), disk, extra)
        compare_fio("direct " + name, job, fio_result(out))
        mode = attributes(job.path)["Mode block"]
        is_true("direct %s: the file says how" % name,
                mode.startswith("exact; without block_io_start" if extra else "exact"), mode)


def loop_device():
    path = laid_out()
    p = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", path],
                       capture_output=True, text=True)
    if p.returncode:
        raise Skipped("no loop device: " + p.stderr)
    loop = p.stdout.strip()
    try:
        before, _ = disk_stat(os.path.basename(loop))
        out = os.path.join(os.path.dirname(path), "fio.json")
        job = compared_job("loop device, not counted twice",
                           fio_cmd(loop, out, "--direct=1", "--rw=randrw", "--bs=16k",
                                   "--size=%d" % SIZE), disk_of(path))
        after, _ = disk_stat(os.path.basename(loop))
    finally:
        subprocess.run(["losetup", "--detach", loop], check=True)
    fio = fio_result(out)
    through = after["read_bytes"] - before["read_bytes"]
    is_true("loop device: fio read through it", through >= fio["read"]["io_bytes"] > 4 * MB,
            "%d of %d bytes" % (through, fio["read"]["io_bytes"]))
    below = job.counted("read_bytes") + job.unseen("read_bytes")
    is_true("loop device: the disk below it was read", below >= fio["read"]["io_bytes"],
            "%d bytes" % below)


def buffered():
    path = os.path.join(tmpdir(), "synced")
    disk = disk_of(os.path.dirname(path))
    out = path + ".json"
    # Each of its syncs finds 64 KiB, so that a sync(2) of another process takes no more from it.
    job = compared_job("buffered, synced by the job",
                       fio_cmd(path, out, "--rw=write", "--bs=64k", "--size=16m", "--fsync=1"),
                       disk)
    is_true("buffered, synced by the job: its own writes", job.own("write_bytes") >= 15 * MB,
            "%d of 16 MB" % job.own("write_bytes"))
    is_equal("buffered, synced by the job: rows are the maps'",
             round(total(job.rows, "BlkWriteMB") * MB) >= job.own("write_bytes"), True)
    path += "2"
    job = compared_job("buffered, written by the kernel's threads",
                       fio_cmd(path, out, "--rw=write", "--bs=64k", "--size=16m"), disk,
                       after=os.sync)
    written = job.counted("write_bytes") + job.unseen("write_bytes")
    is_true("buffered, written by the kernel's threads: nothing lost", written >= 16 * MB,
            "%d of 16 MB" % written)


def many_flushes():
    """A write that must be on the disk is completed twice, with a flush between."""
    path = laid_out(4 * MB)
    disk = disk_of(path)
    job = compared_job("writes with flushes", "dd if=/dev/zero of=%s bs=16k count=200 "
                       "oflag=direct,dsync conv=notrunc 2>/dev/null" % path, disk)
    written = job.own("write_bytes") + job.unseen("write_bytes")
    is_true("writes with flushes: the job's", written >= 200 * 16384, "%d bytes" % written)


def in_flight():
    """The process is gone while its reads are under way; the job's shell is still there."""
    path = laid_out(64 * MB)
    disk = disk_of(path)
    said = os.path.join(os.path.dirname(path), "said")
    if subprocess.run([tool("jpflight"), "-n", "1", path], capture_output=True).returncode:
        raise Skipped("no io_uring here")
    job = compared_job("reads in flight at exit",
                       "%s -n 64 %s >%s" % (tool("jpflight"), path, said), disk)
    is_true("reads in flight at exit: the job's", job.own("read_bytes") >= MB,
            "%d" % job.own("read_bytes"))


def contended():
    """Interrupts that come upon programs and upon threads that no program sees: 0.2 to 1.4 % of
    the ends were lost here."""
    path = laid_out()
    disk, out = disk_of(path), path + ".json"
    for engine in ("libaio", "io_uring"):
        name = "eight jobs, %s" % engine
        if not has_engine(engine):
            skip(name, "this fio or kernel lacks the engine")
            continue
        job = Job(fio_cmd(path, out, "--direct=1", "--rw=randrw", "--bs=4k", "--iodepth=32",
                          "--ioengine=" + engine, "--numjobs=8", "--group_reporting",
                          "--size=%d" % SIZE), disk)
        fio = fio_result(out)
        for what in ("reads", "writes"):
            least, most = job.stat(what)
            # the file has those too whose end is noticed when the step is over
            column = "Blk" + what.capitalize()
            counted = total(job.rows, column) + job.counted(what) - job.own(what)
            is_true("%s: all %s of the disk are counted" % (name, what),
                    least <= counted <= most + 300,
                    "%d, the disk %d to %d" % (counted, least, most))
            theirs = fio[what[:-1]]["io_bytes"]
            ours = total(job.rows, column[:-1] + "MB") * MB
            is_true("%s: the file's bytes of %s are fio's" % (name, what),
                    theirs * 0.999 <= ours <= theirs + 4 * MB, "%d, fio %d" % (ours, theirs))
        unseen_ = attributes(job.path).get("Unseen Requests", [0])
        is_true("%s: the rows say how many ended unseen" % name,
                total(job.rows, "BlkUntimed") <= int(numpy.ravel(unseen_)[0]),
                "%g in rows, %s in all" % (total(job.rows, "BlkUntimed"), unseen_))


def file_system(path):
    return subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True,
                          text=True).stdout.strip()


def written_at_close():
    """ext4 begins to write a file that replaces another when it is closed, and waits for nothing:
    the process is gone first."""
    name = "written at close"
    d = tmpdir()
    if file_system(d) != "ext2/ext3":
        raise Skipped("%s is not on ext4" % d)
    disk, path = disk_of(d), os.path.join(d, "replaced")
    cmd = ["dd", "if=/dev/zero", "of=" + path, "bs=1M", "count=16", "status=none"]
    for i in range(4):
        subprocess.run(cmd, check=True)
        os.sync()
        before, _ = disk_stat(disk)
        _, file = run_jobprof(cmd)
        after, _ = disk_stat(disk)
        step, attrs = table(file, "Step"), attributes(file)
        own, other = total(step, "BlkWriteMB"), float(numpy.ravel(attrs["Other BlkWriteMB"])[0])
        stat = (after["write_bytes"] - before["write_bytes"]) / MB
        is_true("%s %d: the step's, and with Other no more than the disk's" % (name, i),
                16 <= own and own + other <= stat + 0.001,
                "%g and %g other, the disk %g MB" % (own, other, stat))
        is_true("%s %d: none was late" % (name, i), "Late Requests" not in attrs, str(attrs))


if __name__ == "__main__":
    run_block_tests([direct, loop_device, buffered, many_flushes, in_flight, contended,
                      written_at_close])
