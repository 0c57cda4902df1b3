# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines made of files, for sensors to read."""

import struct


from lib import *

IDLE_W = (30.0, 15.0)  # of the packages
DRAM_W = (4.0, 3.0)
POWERCAP = "sys/class/powercap/intel-rapl:"
# part, package: file, J at which it wraps
FILES = {("pkg", 0): ("1/energy_uj", 262143.328850), ("pkg", 1): ("0/energy_uj", 262143.328850),
         ("dram", 0): ("1:0/energy_uj", 65712.999613),
         ("dram", 1): ("0:0/energy_uj", 65712.999613)}


def put(root, path, text):
    """In one write, and never empty: the reader has the file open."""
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    fd = os.open(full, os.O_WRONLY | os.O_CREAT, 0o644)
    os.ftruncate(fd, os.write(fd, b"%s\n" % str(text).encode()))
    os.close(fd)


def put_register(root, path, reg, value):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    fd = os.open(full, os.O_WRONLY | os.O_CREAT, 0o600)
    os.pwrite(fd, value.to_bytes(8, "little"), reg * 8)
    os.close(fd)


def machine(name):
    """The tree of tests/data/sensors/NAME.tree; its README says how they are written."""
    root = tmpdir(name)
    os.chmod(root, 0o755)
    os.chmod(TMP, 0o755)
    with open(os.path.join(ROOT, "tests/data/sensors", name + ".tree")) as f:
        lines = [l.rstrip("\n") for l in f if l.strip() and l[0] != "#"]
    for line in lines:
        path, text = line.split(" ", 1)
        if "@" in path:
            path, reg = path.split("@")
            put_register(root, path, int(reg, 16), int(text, 16))
        else:
            put(root, path, text.replace("\\n", "\n"))
    return root


class Meter:
    """Writes the counters of the tree intel-2s; all processes that are watched run on package 0."""

    def __init__(self, root):
        self.root = root
        self.watts = {}  # pid: W per second of its CPU time
        self.ran, self.of = {}, {}  # pid: s so far, J of what it did
        # package 1 is about to wrap
        self.at = {k: wrap - 40 if k[1] else 1000.0 for k, (_, wrap) in FILES.items()}
        self.log = []  # (time_ns, J of packages, J of DRAM)
        self.over = False
        self.then = time.time_ns()
        self.turn()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def end(self):
        self.over = True
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.end()

    def watch(self, pid, watts):
        self.watts[pid] = watts

    def done(self, pid):
        try:
            with open("/proc/%d/schedstat" % pid) as f:
                return int(f.read().split()[0]) / 1e9
        except OSError:
            return self.ran.get(pid, 0)

    def turn(self):
        now = time.time_ns()
        dt, self.then = (now - self.then) / 1e9, now
        for p in (0, 1):
            self.at["pkg", p] += IDLE_W[p] * dt
            self.at["dram", p] += DRAM_W[p] * dt
        for pid, watts in list(self.watts.items()):
            ran = self.done(pid)
            joules = watts * (ran - self.ran.get(pid, ran))
            self.at["pkg", 0] += joules
            self.of[pid] = self.of.get(pid, 0) + joules
            self.ran[pid] = ran
        for key, (path, wrap) in FILES.items():
            put(self.root, POWERCAP + path, int(self.at[key] % wrap * 1e6))
        self.log.append((now, self.at["pkg", 0] + self.at["pkg", 1],
                         self.at["dram", 0] + self.at["dram", 1]))

    def work(self):
        while not self.over:
            self.turn()
            time.sleep(0.005)

    def largest_step(self):
        """J that all counters went by between two writes: a reader may see either."""
        return max(b[1] + b[2] - a[1] - a[2] for a, b in zip(self.log, self.log[1:]))

    def joules(self, what, begin_ns, end_ns):
        t, pkg, dram = zip(*list(self.log))
        v = pkg if what == "pkg" else dram
        return float(numpy.interp(end_ns, t, v) - numpy.interp(begin_ns, t, v))


def roots(root):
    """Settings of a jobprofd on that machine."""
    return {"Sensors": "all", "SysRoot": root + "/sys", "ProcRoot": root + "/proc",
            "DevRoot": root + "/dev"}


class Gpus:
    """What the stand-in for NVIDIA's library says: GPU 0 draws 200 W, GPU 1 100 W."""

    WATTS = (200, 100)

    def __init__(self):
        self.path = os.path.join(tmpdir("gpus"), "gpus")
        self.begin = time.time()
        self.processes = []
        self.over = False
        self.write()
        self.thread = threading.Thread(target=self.work)
        self.wrap = ["env", "LD_LIBRARY_PATH=" + os.path.join(BUILD, "tests/stub"), "JOBPROF_STUB_GPUS=" + self.path]

    def write(self):
        t = time.time() - self.begin
        lines = ["energy %d %d" % (i, w * t * 1000) for i, w in enumerate(self.WATTS)]
        lines += ["process %d %d %d %d" % p for p in self.processes]
        with open(self.path + ".new", "w") as f:
            f.write("\n".join(lines) + "\n")
        os.rename(self.path + ".new", self.path)

    def work(self):
        while not self.over:
            self.write()
            time.sleep(0.005)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *args):
        self.over = True
        self.thread.join()


WATTS = 150


class Msr:
    """Counters in files, which grow like those of a package that draws WATTS; bound over /dev/cpu
    for the daemons of the test's clusters only."""

    def __init__(self):
        self.dir = tmpdir("msr")
        self.start = time.monotonic()
        for cpu in os.listdir("/dev/cpu") if os.path.isdir("/dev/cpu") else []:
            if cpu.isdigit():
                os.mkdir(os.path.join(self.dir, cpu))
        self._write()
        threading.Thread(target=self._run, daemon=True).start()

    def _write(self):
        joules = int(WATTS * (time.monotonic() - self.start) * 65536)
        for cpu in os.listdir(self.dir):
            fd = os.open("%s/%s/msr" % (self.dir, cpu), os.O_WRONLY | os.O_CREAT, 0o600)
            for register, v in ((0x606, 16 << 8), (0x611, joules), (0x619, 0)):
                os.pwrite(fd, struct.pack("=Q", v), register)
            os.close(fd)

    def _run(self):
        while os.path.isdir(self.dir):
            try:
                self._write()
            except OSError:
                return
            time.sleep(0.05)

    def testbed(self, testbed):
        """The script testbed with these counters."""
        path = os.path.join(tmpdir("testbed"), "testbed")
        with open(path, "w") as f:
            f.write("#!/bin/sh\nexec unshare -m --propagation private sh -c '\n"
                    "mount --bind %s /dev/cpu && exec \"$@\"' sh %s \"$@\"\n" % (
                        self.dir, testbed))
        os.chmod(path, 0o755)
        return path
