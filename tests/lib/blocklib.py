# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs that use a disk, compared with /sys/block/<disk>/stat and fio's own output.

Others use the disk too, so what all slots count together, slot 0 with them, is compared with the
disk; what the job's slots count with fio. The maps are read through the pins while the job waits
before and after its work. The ends that no BPF program can see are known from a trace
(unseenlib.py): these requests are counted when the kernel uses the request again, or at the end."""

import ctypes
import mmap
import os
import re
import shutil
import subprocess
import sys

from unseenlib import *

DUMP = os.path.join(BUILD, "jobprof-dump")
PIN = "/sys/fs/bpf/jobprof-test-%d-block" % os.getpid()
FIELDS = ("reads", "read_bytes", "read_time_ns", "writes", "write_bytes", "write_time_ns")
EXACT = ("reads", "read_bytes", "writes", "write_bytes")
SIZE = 32 * MB
TRIES = 3
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
    return {"reads": v[0], "read_bytes": v[2] * 512, "read_time_ns": v[3] * 10**6,
            "writes": v[4], "write_bytes": v[6] * 512, "write_time_ns": v[7] * 10**6}, v[8]


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


def has_engine(name):
    p = subprocess.run(["fio", "--enghelp=" + name], capture_output=True, text=True)
    return p.returncode == 0


def run_block_tests(tests):
    """All are skipped where there is no fio, or no disk below the temporary directory."""
    global unseen
    script = os.path.basename(sys.argv[0])
    need_bpf()
    if not shutil.which("fio"):
        skip(script, "fio is not installed")
        return
    try:
        unseen = UnseenBlock(disk_of(TMP))
    except Skipped as e:
        skip(script, e)
        return
    keep_in_memory("fio")
    run_tests(tests)
