#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The acceptance cases of Slurm's own test suite for profiles and sh5util, with our programs: its
conditions, on profiles of jobprof run, against the programs' own accounts."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from sh5lib import *

SLURM_COLUMNS = ("ElapsedTime", "EpochTime", "CPUFrequency", "CPUTime", "CPUUtilization",
                 "GPUMemMB", "GPUUtilization", "RSS", "VMSize", "Pages", "ReadMB", "WriteMB")


# Against real Slurm's texts


def slurm_test_155_1():
    """Job ids."""
    s = Site()
    os.rmdir(s.prof)
    for text, wanted in (("1_0", "Job array IDs not supported, use regular job ID instead"),
                         ("1+0", "Het job IDs not supported, use regular job ID instead"),
                         ("1+", "Failed to parse job ID \"1+\""),
                         ("1a", "Failed to parse job ID \"1a\""),
                         ("a1", "Failed to parse job ID \"a1\"")):
        is_done("test_155_1: --jobs %s" % text, s.ours("--jobs", text), 255, wanted)
    is_done("test_155_1: --jobs without one", s.ours("--jobs"), 255,
            "option '--jobs' requires an argument")
    d = s.ours("--jobs", "12345")
    is_true("test_155_1: --jobs 12345", d.code != 0 and "Merging node-step files into" in d.err, d)


def two_nodes(s, job):
    """Two node-steps at once under other node names: 64 and 96 MB held; the programs' accounts."""
    runs, accounts = [], []
    for node, mb in (("jpa", 64), ("jpb", 96)):
        account = os.path.join(s.dir, node)
        cmd = [tool("jpmem"), "-a", str(mb), "-g", "0.5", "-t", "2.5", "-o", account]
        script = "hostname %s && exec \"$@\"" % node
        runs.append(start(["unshare", "--uts", "sh", "-c", script, "sh", JOBPROF, "run", "-q", "-i",
                           "0.5", "-o", s.prof, "--state-dir", os.path.join(s.dir, "state" + node),
                           "--"] + cmd, env=plain_env(SLURM_JOB_ID=str(job)),
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE))
        accounts.append(account)
    for r in runs:
        if r.wait(60):
            raise Failed("jobprof run: %s" % r.stderr.read().decode())
    return dict(zip(("jpa", "jpb"), (read_account(a) for a in accounts)))


def slurm_test_149_3_and_155_2():
    s = Site()
    truth = two_nodes(s, 4242)
    files = ["4242_0_jpa.h5", "4242_0_jpb.h5"]
    is_equal("test_155_2: exactly two node-step files", s.files(), files)
    d = s.ours("--savefiles", "-j", "4242", "-o", "F.h5")
    is_true("test_155_2: merge keeps the files and says nothing of an empty one",
            d.code == 0 and s.files() == files and "empty" not in d.err and
            os.path.getsize(s.path("F.h5")) > 0, d)
    for path in [s.path("F.h5")] + [os.path.join(s.prof, f) for f in files]:
        is_true("test_155_2: h5dump -H %s" % os.path.basename(path),
                s.call("h5dump", "-H", path).code == 0, "fails")
    listed = s.ours("-L", "--series=Tasks", "-j", "4242", "-i", "F.h5").out.split()
    is_equal("test_155_2: -L lists Slurm's columns first", tuple(listed[:12]), SLURM_COLUMNS)
    s.ours("-E", "-s", "Tasks", "-l", "Node:TimeSeries", "-j", "4242", "-i", "F.h5", "-o", "ts.csv")
    s.ours("-E", "-s", "Tasks", "-l", "Node:Totals", "-j", "4242", "-i", "F.h5", "-o", "tot.csv")
    series, totals = rows_in(s.read("ts.csv")), rows_in(s.read("tot.csv"))
    by_node = {n: [r for r in series if r["Node"] == n] for n in truth}
    conditions_of_149_3(by_node, truth)
    is_equal("test_155_2: columns of the time series", list(series[0]),
             ["Step", "Node", "Series"] + listed)
    is_equal("test_155_2: columns of the totals", list(totals[0]),
             ["Step", "Node", "Series", "ElapsedTime"] +
             [p + c for c in listed if c != "ElapsedTime"
              for p in ("Min_", "Max_", "Sum_", "Avg_")])
    is_equal("test_155_2: steps, nodes, series",
             [(t["Step"], t["Node"], t["Series"]) for t in totals],
             [("0", "jpa", "0"), ("0", "jpb", "0")])
    is_equal("test_155_2: totals are those of the time series",
             wrong_totals(totals, by_node, listed), [])
    wrong = []
    for c in listed:
        d = s.ours("-I", "--data=" + c, "-s", "Tasks", "-j", "4242", "-i", "F.h5", "-o", "i.csv")
        rows = rows_in(s.read("i.csv"))
        if d.code or list(rows[0])[2:] != ["MinNode", "MinValue", "MaxNode", "MaxValue", "Sum",
                                           "Avg", "NumNodes", "jpa", "jpb"] or \
                not all(1 <= int(r["NumNodes"]) <= 2 for r in rows):
            wrong.append((c, d, rows[:1]))
    is_true("test_155_2: -I of each column", len(listed) > 12 and not wrong, wrong[:2])
    if STOCK:
        for name, *args in (("time series", "-E", "-s", "Tasks", "-l", "Node:TimeSeries"),
                            ("network's time series", "-E", "-s", "Network", "-l",
                             "Node:TimeSeries"),
                            ("network's totals", "-E", "-s", "Network"), ("items", "-L", "-s", "Tasks"),
                            ("RSS of a node", "-I", "-s", "Tasks", "-d", "RSS", "-N", "jpb")):
            in_both(s, "a real run: the stock tool has the same " + name, *args, "-j", "4242", "-i",
                    "F.h5", "-o", "stock.csv", out="stock.csv")
        s.stock("-j", "4242", "-o", "G.h5")
        is_equal("a real run: all of the stock tool's job file is in ours",
                 same_tree(s.path("G.h5"), s.path("F.h5")), [])
    else:
        skip("a real run: the stock tool has the same", "there is no sh5util of Slurm's")


def wrong_totals(totals, by_node, columns):
    wrong = []
    for t in totals:
        rows = by_node[t["Node"]]
        for c in columns[1:]:
            texts = [r[c] for r in rows]
            if any("nan" in x for x in texts):
                continue
            real = "." in texts[0]
            v = [float(x) if real else int(x) for x in texts]
            got = {k: t[k + "_" + c] for k in ("Min", "Max", "Sum", "Avg")}
            if real:
                good = approx(float(got["Min"]), min(v), 0, 2e-6) and \
                    approx(float(got["Max"]), max(v), 0, 2e-6) and \
                    approx(float(got["Sum"]), sum(v), 1e-12, 1e-6 * len(v)) and \
                    approx(float(got["Avg"]), sum(v) / len(v), 1e-12, 2e-6)
            else:
                good = (int(got["Min"]), int(got["Max"])) == (min(v), max(v)) and \
                    int(got["Sum"]) == sum(v) % 2**64 and \
                    approx(float(got["Avg"]), sum(v) % 2**64 / len(v), 1e-12, 1e-6)
            if not good:
                wrong.append((t["Node"], c, got))
        if t["ElapsedTime"] != rows[-1]["ElapsedTime"]:
            wrong.append((t["Node"], "ElapsedTime"))
    return wrong


def conditions_of_149_3(by_node, truth):
    freq = 0.5
    for node, rows in sorted(by_node.items()):
        a, name = truth[node], "test_149_3 on %s: " % node
        numbers = {c: [float(r[c]) for r in rows] for c in
                   ("RSS", "VMSize", "Pages", "ElapsedTime", "EpochTime", "TimeNS", "CPUTime",
                    "CPUUtilization")}
        rss = max(numbers["RSS"])
        held = a["smaps.Rss"]
        is_true(name + "highest RSS is what the program held, not above its own account",
                0.98 * held <= rss <= a["self.maxrss_kib"] + 1024, (rss, held, a["self.maxrss_kib"]))
        is_true(name + "highest VMSize", approx(max(numbers["VMSize"]), a["status.VmSize"], 0.02),
                (max(numbers["VMSize"]), a["status.VmSize"]))
        is_true(name + "major faults", max(numbers["Pages"]) >= a["self.majflt"] and
                max(numbers["Pages"]) <= a["self.majflt"] + 8,
                (max(numbers["Pages"]), a["self.majflt"]))
        for c in ("ElapsedTime", "EpochTime", "TimeNS"):
            is_true(name + c + " does not go back", numbers[c] == sorted(numbers[c]), numbers[c])
        is_true(name + "elapsed time", 3 <= max(numbers["ElapsedTime"]) <= 60,
                max(numbers["ElapsedTime"]))
        gaps = [(b - x) / 1e9 for x, b in zip([int(r["TimeNS"]) for r in rows],
                                              [int(r["TimeNS"]) for r in rows][1:])]
        off = [(u, 100 * t / g) for u, t, g in zip(numbers["CPUUtilization"][1:],
                                                   numbers["CPUTime"][1:], gaps) if g > 0.01]
        is_true(name + "CPUUtilization is CPUTime over the interval",
                len(off) > 3 and all(approx(u, w, 0.001, 0.01) for u, w in off), off)
        cpu = (a["self.utime_us"] + a["self.stime_us"]) / 1e6
        is_true(name + "CPU time", 0.5 * cpu < sum(numbers["CPUTime"]) <= cpu + freq,
                (sum(numbers["CPUTime"]), cpu))
    best = max(by_node, key=lambda n: max(float(r["RSS"]) for r in by_node[n]))
    is_equal("test_149_3: the node of the highest RSS", best, "jpb")


def slurm_test12_6():
    """A program that is busy for 42 % of each second, writes 20 MB and reads 10 MB."""
    s = Site()
    # In memory: a disk would add its own waits.
    data = os.path.join("/dev/shm" if os.access("/dev/shm", os.W_OK) else s.dir,
                        "jobprof-test.%d" % os.getpid())
    # What else runs must not stretch the busy part of a second beyond the row.
    first = ["chrt", "-f", "1"]
    if subprocess.run(first + ["true"], capture_output=True).returncode:
        first = ["nice", "-n", "-15"]
    p = start([JOBPROF, "run", "-q", "-i", "1", "-o", s.prof, "--state-dir",
               os.path.join(s.dir, "state"), "--"] + first + [tool("jpsecond"), "-o",
               os.path.join(s.dir, "account"), "8", "0.42", "20", "10",
               data], env=plain_env(SLURM_JOB_ID="126"),
              stdin=subprocess.DEVNULL)
    try:
        p.wait(60)
    finally:
        if os.path.exists(data):
            os.unlink(data)
    if p.returncode:
        raise Failed("jobprof run: status %d" % p.returncode)
    d = s.ours("-j", "126")
    is_true("test12.6: merge", d.code == 0 and "Output file generated is empty" not in d.err, d)
    d = s.ours("-j", "126", "-E", "-l", "Node:TimeSeries", "-s", "Tasks", "-o", "F")
    rows = rows_in(s.read("F"))
    is_true("test12.6: header", {"ElapsedTime", "CPUUtilization", "ReadMB"} <= set(rows[0]), rows[0])
    bad, before = [], None
    for r in rows:
        if before is not None:
            gap = int(r["ElapsedTime"]) - int(before["ElapsedTime"])
            if gap < 1 or not 38 <= float(r["CPUUtilization"]) <= 47 or \
                    not approx(float(r["ReadMB"]), 10 * gap, 0.025):
                bad.append([r[c] for c in ("ElapsedTime", "CPUUtilization", "ReadMB")])
        before = r
    is_true("test12.6: at most 4 rows of %d are off" % len(rows), len(rows) >= 8 and len(bad) <= 4,
            bad)
    is_near("test12.6: all that was read", sum(float(r["ReadMB"]) for r in rows), 80, 0.001)
    is_near("test12.6: all that was written", sum(float(r["WriteMB"]) for r in rows), 160, 0.001)


if __name__ == "__main__":
    run_tests((slurm_test_155_1,))
    need_bpf()
    run_tests((slurm_test_149_3_and_155_2, slurm_test12_6))
