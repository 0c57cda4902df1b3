#!/usr/bin/python3
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-only
"""Block requests against /sys/block/<disk>/stat and fio's own output.

Others use the disk too, so what all slots count together, slot 0 with them, is compared with the
disk; what the job's slots count with fio. The maps are read through the pins while the job waits
before and after its work. The ends that no BPF program can see are known from a trace
(unseenlib.py): these requests are counted when the kernel uses the request again, or at the end."""

import ctypes
import math
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
from unseenlib import *
from maplib import Maps

DUMP = os.path.join(BUILD, "jobprof-dump")
PIN = "/sys/fs/bpf/jobprof-test-%d-block" % os.getpid()
FIELDS = ("reads", "read_bytes", "read_ns", "writes", "write_bytes", "write_ns")
EXACT = ("reads", "read_bytes", "writes", "write_bytes")
SIZE = 32 * MB
TRIES = 3
LATENCY_TRIES = 5

unseen = None


def disk_of(path):
    """Name of the disk a file is on."""
    dev = os.stat(path).st_dev
    link = "/sys/dev/block/%d:%d" % (os.major(dev), os.minor(dev))
    if not os.path.exists(link):
        raise Skipped("%s is on no disk" % path)
    path = os.path.realpath(link)
    if os.path.exists(path + "/partition"):
        path = os.path.dirname(path)
    if not os.path.isdir(path + "/mq"):
        raise Skipped("%s makes no requests of its own" % os.path.basename(path))
    return os.path.basename(path)


def disk_stat(disk):
    """ms as ns; also what is in flight, which is no count."""
    with open("/sys/block/%s/stat" % disk) as f:
        v = [int(x) for x in f.read().split()]
    return {"reads": v[0], "read_bytes": v[2] * 512, "read_ns": v[3] * 10**6,
            "writes": v[4], "write_bytes": v[6] * 512, "write_ns": v[7] * 10**6}, v[8]


def slots_now():
    """Counts of the maps: of all slots, and of all but slot 0."""
    p = subprocess.run([DUMP, "--pin", PIN, "--json", "--raw"], capture_output=True, text=True)
    if p.returncode:
        raise Failed("jobprof-dump: " + p.stderr)
    every, own = dict.fromkeys(FIELDS, 0), dict.fromkeys(FIELDS, 0)
    for s in json.loads(p.stdout):
        for cpu in s["cpus"].values():
            for f in FIELDS:
                n = cpu.get("blk", {}).get(f, 0)
                every[f] += n
                own[f] += n if s["slot"] else 0
    untimed = sum(cpu.get("blk", {}).get("untimed", 0) for s in json.loads(p.stdout)
                  for cpu in s["cpus"].values())
    return every, own, untimed


class Instant:
    """The maps, between two looks at the disk that say the same where it comes to rest."""

    def __init__(self, disk):
        for _ in range(60):
            self.low, busy = disk_stat(disk)
            self.every, self.own, self.untimed = slots_now()
            self.unseen = unseen.update()
            self.high, still = disk_stat(disk)
            if self.low == self.high and not busy and not still:
                break
            time.sleep(0.05)


class Job:
    """A shell command under jobprof run, and what was counted while it worked."""

    def __init__(self, command, disk, extra=(), after=None, before=None):
        d = tmpdir("job")
        go, done = os.path.join(d, "go"), os.path.join(d, "done")
        os.mkfifo(go)
        script = "read x <%s; %s; echo >%s; read x <%s" % (go, command, done, go)
        self.run = Run(["/bin/sh", "-c", script], 0.5, None, ["--pin", PIN] + list(extra))
        self.first, self.last = self.work(go, done, disk, before, after)
        self.path = self.run.end()
        self.rows = task_table(self.path)

    def work(self, go, done, disk, before, after):
        def attached():
            p = subprocess.run([DUMP, "--pin", PIN, "--json"], capture_output=True, text=True)
            return not p.returncode and any("0" in s["tasks"] for s in json.loads(p.stdout))
        wait_until(attached, 20, "jobprof run to begin")
        if before:
            before()
        first = Instant(disk)
        unseen.escaped = not unseen.known
        self.wake(go)
        wait_until(lambda: os.path.exists(done), 40, "the job's work to be over")
        if after:
            after()
        last = Instant(disk)
        self.escaped = unseen.escaped
        self.wake(go)
        return first, last

    @staticmethod
    def wake(fifo):
        with open(fifo, "w") as f:
            f.write("\n")

    def counted(self, field):
        return self.last.every[field] - self.first.every[field]

    def own(self, field):
        return self.last.own[field] - self.first.own[field]

    def stat(self, field):
        """Least and most the disk can have done between the two readings of the maps."""
        return (self.last.low[field] - self.first.high[field],
                self.last.high[field] - self.first.low[field])

    def wrong(self):
        """Where the maps are not the disk's stat. What ended unseen is counted by now, or not."""
        wrong = []
        for f in EXACT:
            least, most = self.stat(f)
            if not least - self.unseen(f) <= self.counted(f) <= most + self.late(f):
                wrong.append("%s: %d and at most %d unseen, the disk %d to %d"
                             % (f, self.counted(f), self.unseen(f), least, most))
        return wrong

    def late(self, field):
        """What ended unseen before this job's work and is counted in it, when its request is used
        again: no more than what was counted without a time."""
        n = self.last.untimed - self.first.untimed
        return n if field in ("reads", "writes") else n << 20

    def unseen(self, field):
        """What may be missing in the maps and is nobody's fault."""
        return self.last.unseen[field] - self.first.unseen[field]

    def is_disks(self, name):
        wrong = self.wrong()
        is_true(name + ": all slots together are the disk's stat", not wrong, "; ".join(wrong))

    def is_uncertain(self):
        """Some are missing, none is too many, and the trace may not know all no program saw."""
        return bool(self.escaped and self.wrong() and
                    all(self.counted(f) <= self.stat(f)[1] for f in EXACT))


def compared_job(name, *args, **kw):
    """A job that counted what the disk did; another where it is uncertain that one did not."""
    for _ in range(TRIES):
        job = Job(*args, **kw)
        if not job.is_uncertain():
            break
    job.is_disks(name)
    return job


def fio_cmd(path, out, *options):
    return " ".join(["fio", "--name=j", "--filename=" + path, "--output=" + out,
                     "--output-format=json", "--fallocate=none"] + list(options))


def fio_result(out):
    with open(out) as f:
        return json.load(f)["jobs"][0]


def keep_in_memory(program):
    """Pages of a program and its libraries, as long as this runs: where memory is full of other
    files, some are dropped between two jobs, and the second reads them beside its work."""
    map_locked = 0x2000
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
    path = shutil.which(program)
    ldd = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    for p in [path] + re.findall(r"(/\S+) \(0x", ldd):
        fd = os.open(p, os.O_RDONLY)
        libc.mmap(None, os.fstat(fd).st_size, mmap.PROT_READ, mmap.MAP_SHARED | map_locked, fd, 0)
        os.close(fd)


def laid_out(size=SIZE):
    """A file whose blocks are on the disk and not in memory."""
    path = os.path.join(tmpdir(), "data")
    subprocess.run(fio_cmd(path, "/dev/null", "--rw=write", "--bs=1m", "--direct=1",
                           "--size=%d" % size, "--end_fsync=1").split(), check=True)
    return path


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


def has_engine(name):
    p = subprocess.run(["fio", "--enghelp=" + name], capture_output=True, text=True)
    return p.returncode == 0


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
    job = compared_job("buffered, synced by the job",
                       fio_cmd(path, out, "--rw=write", "--bs=64k", "--size=16m", "--end_fsync=1"),
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


def percentile_bucket(counts, part):
    wanted, seen = part * counts.sum(), 0
    for k, n in enumerate(counts):
        seen += n
        if seen >= wanted:
            return k
    return -1


def histogram(rows, letter):
    return numpy.array([rows["%s%d" % (letter, k)].sum() for k in range(40)])


def soon():
    """Runs a command before all others, where that is allowed, and on one CPU: fio's latency ends
    when it runs again."""
    first = ["chrt", "-f", "1"]
    try:
        allowed = not subprocess.run(first + ["true"], capture_output=True).returncode
    except FileNotFoundError:
        allowed = False
    return "taskset -c %d %s " % (max(os.sched_getaffinity(0)),
                                  " ".join(first) if allowed else "nice -n -20")


class Reads:
    """One read at a time, large enough that little of fio's latency is not the disk's."""

    def __init__(self, path, out):
        self.job = Job(soon() + fio_cmd(path, out, "--direct=1", "--rw=randread", "--bs=256k",
                                        "--size=%d" % SIZE, "--loops=8"), disk_of(path))
        self.fio = fio_result(out)["read"]
        self.rows = table(self.job.path, "BlkLatency/0")
        self.every, self.writes = histogram(self.rows, "B"), histogram(self.rows, "W")
        self.buckets = [(p, percentile_bucket(self.every - self.writes, p / 100),
                         int(math.log2(self.fio["clat_ns"]["percentile"]["%d.000000" % p])))
                        for p in (50, 90, 95, 99)]
        # of all its processes
        self.delay_ns = total(self.job.rows, "RunDelay") * 1e9

    def far(self):
        """How many buckets too far apart the percentiles are."""
        return sum(max(abs(ours - theirs) - 1, 0) for _, ours, theirs in self.buckets)

    def was_late(self):
        """fio waited for the CPU for so long that its percentiles say nothing: the reads above one
        took, if the disk's part is as we say, at least this much longer."""
        for part, ours, theirs in self.buckets:
            above = (1 - part / 100) * self.fio["total_ios"]
            if theirs > ours + 1 and self.delay_ns < above * (2**theirs - 2**(ours + 1)) / 2:
                return False
        return all(theirs >= ours - 1 for _, ours, theirs in self.buckets)


def percentiles(path, out):
    """The best of a few tries, each whole: of what happens to fio after the disk has done its part
    not all is known."""
    best = None
    for _ in range(LATENCY_TRIES):
        r = Reads(path, out)
        best = r if not best or r.far() < best.far() else best
        if not best.far():
            break
    name = "BlkLatency: p%d is fio's within one bucket"
    for part, ours, theirs in best.buckets:
        if best.far() and best.was_late():
            skip(name % part, "fio waited %.3f s for its CPU" % (best.delay_ns / 1e9))
        else:
            is_near(name % part, ours, theirs, 0, 1)
    return best


def disk_times(job, most_ns):
    """Ours and the disk's. Each request that no program saw has taken up to most_ns."""
    for what in ("read", "write"):
        least, most = job.stat(what + "_ns")
        # The kernel's own ends when the request's memory is given back, some us later; in ms.
        late = 10e-6 * job.counted(what + "s")
        missing = job.unseen(what + "s") * most_ns / 1e9
        is_near("the %s time of all slots is the disk's" % what, job.counted(what + "_ns") / 1e9 +
                missing / 2, (least + most) / 2e9, 0.03,
                0.002 + late + missing / 2 + (most - least) / 2e9)


def slowest_s(histogram_, n):
    """What its n slowest requests took at most."""
    s = 0
    for k in range(39, -1, -1):
        some = min(n, histogram_[k])
        s, n = s + some * 2 ** (k + 1) / 1e9, n - some
    return s


def latency():
    path = laid_out()
    reads = percentiles(path, os.path.join(os.path.dirname(path), "fio.json"))
    job, fio, every, writes = reads.job, reads.fio, reads.every, reads.writes
    names = ["%s%d" % (c, k) for c in "BW" for k in range(40)]
    is_true("BlkLatency has B0..B39 and W0..W39", set(names) <= set(reads.rows.dtype.names),
            str(reads.rows.dtype.names))
    untimed = total(job.rows, "BlkUntimed")
    is_equal("BlkLatency: B is every request whose time is known", every.sum(),
             total(job.rows, "BlkReads") + total(job.rows, "BlkWrites") - untimed)
    is_near("BlkLatency: W is the writes", writes.sum() + untimed / 2,
            total(job.rows, "BlkWrites"), 0, untimed / 2)
    spent = fio["clat_ns"]["mean"] * fio["total_ios"] / 1e9
    ours, late = job.own("read_ns") / 1e9, reads.delay_ns / 1e9
    # programs and libraries that were not in memory
    others = max(0, int(total(job.rows, "BlkReads")) - fio["total_ios"])
    is_true("BlkReadTime is below fio's completion latency, and not far",
            0.4 * (spent - late) < ours < 1.1 * spent + 0.02 + slowest_s(every, others),
            "%.4f s, fio %.4f s and %.4f s late, %d not fio's" % (ours, spent, late, others))
    disk_times(job, 2 ** (int(numpy.flatnonzero(every).max()) + 1))
    is_true("ProbeTime counts the requests", total(job.rows, "ProbeTime") > 0, "it is 0")


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
    need_bpf()
    if not shutil.which("fio"):
        skip("block.py", "fio is not installed")
        sys.exit(0)
    try:
        unseen = UnseenBlock(disk_of(TMP))
    except Skipped as e:
        skip("block.py", e)
        sys.exit(0)
    keep_in_memory("fio")
    run_tests((direct, loop_device, buffered, many_flushes, latency, in_flight, contended,
               written_at_close, never_over, late_ends, unseen_end))
