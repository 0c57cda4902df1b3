# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters as perf stat and the kernel itself have them, for tests of the perf family."""

import ctypes
import mmap
import platform

from daemonlib import *

_SYS = {"x86_64": (298, 321), "aarch64": (241, 280)}
_libc = ctypes.CDLL(None, use_errno=True)

# struct jp_pmu, jp_pmu_cpu and jp_slot of bpf/jobprof.h
PMU_SIZE, PMU_EVENTS = 448, 16
SLOT_SIZE = 272
CPU_SIZE, CPU_READS, CPU_EVENTS = 896, 32, 48


def works(event):
    """perf stat can count it on this machine."""
    p = subprocess.run(["perf", "stat", "-x,", "-e", event, "-a", "true"], capture_output=True,
                       text=True)
    return p.returncode == 0 and "<not" not in p.stderr


HARDWARE = works("cycles")
# Two quantities that a spinner uses at a steady rate, and their columns: at one that the CPU's own
# speed does not change, and where there are any, those of the hardware.
if works("msr/tsc/"):
    CLOCKS = (("cpu-clock", "CpuClock"), ("msr/tsc/", "MsrTsc"))
else:
    CLOCKS = (("cpu-clock", "CpuClock"), ("task-clock", "TaskClock"))
if HARDWARE and works("instructions"):
    PAIR = (("cycles", "Cycles"), ("instructions", "Instructions"))
elif HARDWARE:  # emulated ones may have no other
    PAIR = (("cycles", "Cycles"), ("cycles:u", "CyclesUser"))
else:
    PAIR = CLOCKS
EVENTS = ",".join(e for e, _ in PAIR)


def need_hardware():
    if not HARDWARE:
        raise Skipped("this machine has no hardware counters")


class PerfStat:
    """perf stat under way beside us; counts once it has ended."""

    def __init__(self, events, *args):
        self.path = os.path.join(tmpdir("perf"), "out")
        self.n = len(events.split(","))
        self.proc = start(["perf", "stat", "-x,", "-o", self.path, "-e", events] + list(args),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
        wait_until(self._open, 10, "perf stat to open its events")
        time.sleep(0.05)

    def _open(self):
        n = 0
        try:
            for fd in os.listdir("/proc/%d/fd" % self.proc.pid):
                n += "perf_event" in os.readlink("/proc/%d/fd/%s" % (self.proc.pid, fd))
        except OSError:
            pass
        return n >= self.n

    def end(self):
        """Counts in the order of the events."""
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGINT)
        self.proc.wait(10)
        with open(self.path) as f:
            rows = [l.strip().split(",") for l in f if "," in l]
        if any("<not" in r[0] for r in rows):
            raise Skipped("perf stat itself got no turn: %s" % rows)
        self.running = [float(r[4]) for r in rows]
        # of clocks perf says milliseconds
        return [float(r[0]) * (1e6 if r[1] == "msec" else 1) for r in rows]


def perf_pid(events, pid):
    return PerfStat(events, "-p", str(pid))


HW_CYCLES, SW_CPU_CLOCK = (0, 0), (1, 0)  # type and config of struct perf_event_attr


class CpuEvent:
    """An event of a CPU, counted by the test itself."""

    def __init__(self, kind, cpu):
        attr = struct.pack("<IIQ", kind[0], 112, kind[1]) + bytes(96)
        self.fd = _libc.syscall(_SYS[platform.machine()][0], attr, -1, cpu, -1, 8)
        if self.fd < 0:
            raise Failed("perf_event_open: %s" % os.strerror(ctypes.get_errno()))

    def read(self):
        return struct.unpack("<Q", os.read(self.fd, 8))[0]

    def close(self):
        os.close(self.fd)


class Map:
    """A pinned mmapable array, as the kernel writes it."""

    def __init__(self, path, size):
        self.value = size
        name = ctypes.create_string_buffer(path.encode())
        attr = struct.pack("<QII", ctypes.addressof(name), 0, 0) + bytes(112)
        fd = _libc.syscall(_SYS[platform.machine()][1], 7, attr, len(attr))
        if fd < 0:
            raise Failed("%s: %s" % (path, os.strerror(ctypes.get_errno())))
        with open("/proc/self/fdinfo/%d" % fd) as f:
            self.n = int(next(l for l in f if l.startswith("max_entries")).split()[1])
        page = mmap.PAGESIZE
        self.mem = mmap.mmap(fd, (self.n * size + page - 1) // page * page, mmap.MAP_SHARED,
                             mmap.PROT_READ)
        os.close(fd)

    def u64(self, i, offset):
        return struct.unpack_from("<Q", self.mem, i * self.value + offset)[0]


class Counters:
    """All slots of the pinned maps of a jobprofd, event by event."""

    def __init__(self, pin):
        self.pmu = Map(pin + "/maps/jp_pmu", PMU_SIZE)
        self.cpus = Map(pin + "/maps/jp_pmu_cpu", CPU_SIZE)
        self.info = Map(pin + "/maps/jp_slots", SLOT_SIZE)
        self.nslots = self.info.n

    def slots(self, cpu, event):
        return [self.pmu.u64(cpu * self.nslots + s, PMU_EVENTS + 16 * event)
                for s in range(self.nslots)]

    def reused(self):
        """How often slots were given back, each with its counts: strangers' steps end too."""
        return sum(self.info.u64(s, 0) >> 32 for s in range(self.nslots))

    def of_cpu(self, cpu, event):
        """Sum over slots, and what the CPU's counter said at its last reading."""
        while True:
            reads = self.cpus.u64(cpu, CPU_READS)
            total, last = sum(self.slots(cpu, event)), self.cpus.u64(cpu, CPU_EVENTS + 16 * event)
            if self.cpus.u64(cpu, CPU_READS) == reads:
                return total, last

    def beside(self, cpu, event, read):
        """Sum over slots, the counter, and what read() says: all at a reading of the counter."""
        while True:
            reads, before, now = self.cpus.u64(cpu, CPU_READS), 0, time.monotonic_ns()
            while self.cpus.u64(cpu, CPU_READS) == reads:
                before, now = now, time.monotonic_ns()
            reads, value = self.cpus.u64(cpu, CPU_READS), read()
            total, last = self.of_cpu(cpu, event)
            if self.cpus.u64(cpu, CPU_READS) == reads and time.monotonic_ns() - before < 10**6:
                return total, last, value
