#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory of tasks against /proc/<pid>/status and smaps_rollup: sizes, peaks, huge pages, exec and
vfork. A tool parks before and after each piece of work (accounts.py)."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

INTERVAL = 0.2
SETTLE = 2.5 * INTERVAL
# From then on memory is there at the tracepoint of a process's end; before, of what it had only its peak, and only one
# that is larger than those of the programs before it in the same process.
SEEN_AT_END = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 16)
HUGE_PAGE = next((int(l.split()[1]) * 1024 for l in open("/proc/meminfo")
                  if l.startswith("Hugepagesize:")), 2 * MB)


def compare_faults(name, p, rows):
    is_equal(name + ": minor faults", p.ours(rows, "MinorFaults"), p.kernel("minflt"))
    is_equal(name + ": major faults", p.ours(rows, "MajorFaults"), p.kernel("majflt"))


def shared_memory(pid):
    """Bytes of what is shared and is no file: exact, by the page tables."""
    on_tmpfs = subprocess.run(["stat", "-f", "-c", "%T", TMP], capture_output=True, text=True).stdout.strip() == "tmpfs"
    names = ("/dev/zero", TMP) if on_tmpfs else ("/dev/zero",)
    total, counts = 0, False
    for line in slurp("/proc/%d/smaps" % pid).splitlines():
        word, *rest = line.split()
        if not word.endswith(":"):
            counts = len(rest) > 4 and rest[4].startswith(names)
        elif counts and word in ("Rss:", "Anonymous:"):
            total += int(rest[0]) * 1024 * (1 if word == "Rss:" else -1)
    return total


def memory():
    path = os.path.join(tmpdir(), "mapped")
    h = Hold()
    run = Run(h.cmd("park", "anon=96", "park", "shmem=24", "file=%s:12" % path, "park", "free",
                    "park", "anon=150", "free", "park", "drop=" + path, "file=%s:12" % path,
                    "park"), INTERVAL)
    h.wait()
    names = ("anonymous", "shared and file", "freed", "a peak between two rows", "major faults")
    phases = [(name, Phase(h, SETTLE, lambda: shared_memory(h.pid))) for name in names]
    h.go()
    rows = task_table(run.end())
    for name, p in phases:
        compare_faults(name, p, rows)
        compare_memory(name, p, rows)
    p = phases[3][1]
    pick = (rows["TimeNS"] > p.start_ns) & (rows["TimeNS"] <= p.end_ns)
    is_near("a peak between two rows: PeakMB shows it", float(rows["PeakMB"][pick].max()) * MB,
            p.after["VmHWM"], 0.002, 65536)
    if not phases[4][1].kernel("majflt"):
        skip("major faults: there were some", "the mapped file could not be dropped from memory")
    is_equal("Pages counts the major faults since the start", last(rows, "Pages"),
             total(rows, "MajorFaults"))


def compare_memory(name, p, rows):
    """smaps walks the page tables, so it is exact; status lags by what each CPU, before 6.2 each thread, has not added."""
    a, shared = p.after, p.cg_after
    # Pages of a private mapping that were only read count as file in both.
    is_near(name + ": AnonMB is smaps_rollup's", p.now(rows, "AnonMB") * MB, a["smaps_Anonymous"],
            0, 4096)
    is_near(name + ": RSS is smaps_rollup's", p.now(rows, "RSS") * 1024, a["smaps_Rss"], 0, 8192)
    is_near(name + ": FileMB is that of smaps", p.now(rows, "FileMB") * MB, a["smaps_Rss"] - a["smaps_Anonymous"] - shared, 0, 8192)
    is_near(name + ": ShmemMB is that of smaps", p.now(rows, "ShmemMB") * MB, shared, 0, 8192)
    is_equal(name + ": SwapMB is status'", p.now(rows, "SwapMB") * MB, a["VmSwap"])
    is_equal(name + ": VMSize is status'", p.now(rows, "VMSize") * 1024, a["VmSize"])


def huge_pages():
    """Pages of hugetlbfs, taken from the machine for the time of the test."""
    pool = "/proc/sys/vm/nr_hugepages"
    try:
        was = int(open(pool).read())
    except OSError:
        raise Skipped("the kernel has no huge pages")
    h = Hold()
    try:
        with open(pool, "w") as f:
            f.write(str(was + 8))
        if int(open(pool).read()) < was + 8:
            raise Skipped("no memory for 8 huge pages")
        run = Run(h.cmd("park", "huge=%d" % (8 * HUGE_PAGE // MB), "park", "free", "park"), INTERVAL)
        h.wait()
        phases = [(name, Phase(h, SETTLE, lambda: shared_memory(h.pid))) for name in ("huge pages", "huge pages let go")]
        h.go()
        rows = task_table(run.end())
    finally:
        with open(pool, "w") as f:
            f.write(str(was))
    for name, p in phases:
        is_equal(name + ": HugetlbMB is status'", p.now(rows, "HugetlbMB") * MB,
                 p.after["HugetlbPages"])
        compare_memory(name, p, rows)
    is_equal("huge pages: there were some", phases[0][1].after["HugetlbPages"], 8 * HUGE_PAGE)


def memory_of_the_last_row():
    """Of an instant in which no process lives any more: what the last one had. Between its account
    and its end nothing is touched."""
    out = os.path.join(tmpdir(), "account")
    for _ in range(8):  # a row may come between the process's end and that of the run: the last one has nothing then
        run, path = run_jobprof([tool("jpmem"), "-a", "30", "-t", "0.4", "-o", out], 0.3)
        if table(path, "Tasks/0")["RSS"][-1] > 0:
            break
    a = read_account(out)
    for name in ("Tasks/0", "Step"):
        rows = table(path, name)
        is_near(name + ": RSS of the last row", float(rows["RSS"][-1]), a["status.VmRSS"], 0.01, 64)
        parts = sum(rows[c][-1] for c in ("AnonMB", "FileMB", "ShmemMB"))
        if SEEN_AT_END:
            is_near(name + ": its parts", parts * 1024, float(rows["RSS"][-1]), 0, 1)
            is_near(name + ": VMSize is that of the row before", float(rows["VMSize"][-1]), float(rows["VMSize"][-2]), 0.01)
        else:
            is_equal(name + ": its parts are unknown, VMSize is 0", (numpy.isnan(parts), rows["VMSize"][-1]), (True, 0))
        is_equal(name + ": Threads", rows["Threads"][-1], 1)
        text = subprocess.run([os.path.join(BUILD, "jobprof"), "extract", "-i", path, "-s", name, "-l", "totals", "-o", "-"],
                              check=True, capture_output=True, text=True).stdout.splitlines()
        totals = {k: float(v) for k, v in zip(text[0].split(","), text[1].split(",")) if k in ("Min_RSS", "Avg_RSS")}
        lived = rows["RSS"][rows["RSS"] > 0]
        is_true(name + ": Min_RSS and Avg_RSS are of rows in which a process lived",
                totals["Min_RSS"] == lived.min() > 0 and approx(totals["Avg_RSS"], lived.mean(), 1e-9),
                "%g, %g: %s" % (totals["Min_RSS"], totals["Avg_RSS"], rows["RSS"]))
    run, path = run_jobprof(["true"], 1)
    rows = task_table(path)
    peak = numpy.fmax.reduce(rows["PeakMB"]) * MB
    is_true("a process without a row of its life: RSS and PeakMB", 0.5 * MB < rows["RSS"].max() * 1024 <= peak < 8 * MB or
            not SEEN_AT_END and numpy.isnan(peak) and not rows["RSS"].any(), "%s, %s" % (rows["RSS"], rows["PeakMB"]))
    page = subprocess.run([JOBPROF, "show", path], capture_output=True, text=True).stdout
    lines = [l for l in page.splitlines() if l.split()[:1] == ["RSS"] or "peak" in l.split()]
    is_true("the page says the same", bool(lines) == (peak > 0) and not re.search(r"(max|peak) 0 MiB", page), (lines, page))


def peak_before_exec():
    """It goes with the program's memory, and comes between two rows."""
    out = os.path.join(tmpdir(), "peak")
    script = """
import mmap, os
m = mmap.mmap(-1, 120 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, len(m), 4096): m[i] = 1
line = [l for l in open("/proc/self/status") if l.startswith("VmHWM")][0]
open(%r, "w").write("VmHWM=%%d\\n" %% int(line.split()[1]))
os.execv("/bin/sleep", ["sleep", "1.6"])""" % out
    run, path = run_jobprof(["/usr/bin/python3", "-SEc", script], 1.5)
    peaks = task_table(path)["PeakMB"]
    peaks = peaks[~numpy.isnan(peaks)]  # the last row may be of no process
    is_near("PeakMB has what was there before exec", peaks.max() * 1024, read_account(out)["VmHWM"], 0.01, 512)
    is_true("the rows after it have not", peaks[-1] < 10, peaks)


def vfork_lends_memory():
    """The peak of a process that has shrunk is not that of the children it makes with vfork."""
    script = """
import mmap, os, time
m = mmap.mmap(-1, 120 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, len(m), 4096): m[i] = 1
m.close()
time.sleep(0.7)
for i in range(20):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
time.sleep(0.3)"""
    run, path = run_jobprof(["/usr/bin/python3", "-SEc", script], 0.2)
    rows = task_table(path)
    forked = rows["PeakMB"][rows["Forks"] > 1]
    is_true("vfork: children's rows are without the parent's old peak",
            len(forked) and forked.max() < 60 < numpy.nanmax(rows["PeakMB"]), rows["PeakMB"])


if __name__ == "__main__":
    need_bpf()
    run_tests([memory, huge_pages, memory_of_the_last_row, peak_before_exec, vfork_lends_memory])
