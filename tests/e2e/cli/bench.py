#!/usr/bin/python3
# timeout: 800
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
"""The short form of scripts/bench: it runs to its end and its table is whole. No figure is judged:
how long something takes is no test."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

PLACES = ("one slot", "two slots", "no step")
PEERS = ("runqlat", "cpudist", "bpftrace")
OWN = ("empty program", "jobprof sched", "jobprof sched, latency", "jobprof sched, wait", "jobprof sched, wait, culprit",
       "jobprof sched, sample", "jobprof sched, stack", "jobprof sched, burst", "jobprof all but perf")
NEEDED = [("switch", "bare switch, " + p) for p in PLACES]
NEEDED += [("switch", "%s, %s" % (name, p)) for name in OWN for p in PLACES]
NEEDED += [("programs", "jp_sched_switch, sched, a profiled task"),
           ("programs", "jp_sched_switch, sched, a task of no step")]
NEEDED += [("sampling", "a sample, with its interrupt"), ("sampling", "97 samples a second"),
           ("sampling", "looking at queues, 97 times a second: at most")]
NEEDED += [("daemon", "a sample of %s: CPU" % n) for n in ("1 task", "16 tasks", "128 tasks")]
NEEDED += [("daemon", "jobprofd, 16 tasks at 1 Hz: share of a core"),
           ("daemon", "jobprof-writer, 16 tasks at 1 Hz after an hour: CPU per publication"),
           ("daemon", "first instruction of a task to its first row, rows every 0.1 s")]

# May be "not here": another tool, or a family that this kernel cannot serve.
NAMED = [("switch", "%s, %s" % (peer, p)) for peer in PEERS for p in PLACES]
NAMED += [("switch", "%s less than %s, %s" % (ours, peer, p))
          for ours in ("jobprof sched", "jobprof all but perf") for peer in PEERS
          for p in ("one slot", "no step")]
NAMED += [("perf", "jobprof sched, perf exact, two slots"),
          ("perf", "perf stat --for-each-cgroup, two slots")]

# Why a machine without Slurm, or without v1's hierarchies, has no figures.
LACKS = r"there is no |spank_jobprof\.so is not built|no Slurm: |.* which are not mounted"

rows = {}


def bench(*args):
    p = subprocess.run([os.path.join(ROOT, "scripts", "bench"), "--quick", "--json", *args],
                       capture_output=True, text=True)
    is_equal("scripts/bench --quick %s: exit status" % " ".join(args), p.returncode, 0)
    if p.returncode:
        raise Failed(p.stderr[-1000:])
    data = json.loads(p.stdout)
    for r in data["rows"]:
        rows[(r["section"], ": ".join(w for w in (r["name"], r.get("column")) if w))] = r
    return data["about"]


def runs_to_its_end():
    about = bench()
    is_true("it says what it ran on", about.get("kernel") and about.get("cpus"), about)


def table_is_whole():
    wrong = ["%s: %s" % (key[1], rows.get(key, {}).get("why", "no such row"))
             for key in NEEDED if "median" not in rows.get(key, {})]
    is_equal("what jobprof itself costs is all measured", wrong, [])
    gone = [key[1] for key in NAMED if key not in rows]
    is_equal("other tools and families are measured or named as missing", gone, [])
    silent = [key[1] for key, r in rows.items()
              if not ("median" in r or r.get("why") or r.get("verdict"))]
    is_equal("no row is empty", silent, [])


def families_have_rows():
    wrong = []
    for family, op in (("block", "block request of 4 KiB, loop device"),
                       ("network", "socket call, UDP of 64 bytes"), ("files", "getpid")):
        for key in (op + ", inside its programs", "%s, family %s" % (op, family)):
            r = rows.get(("calls", key), {})
            if "median" in r or r.get("why"):
                break
        else:
            wrong.append(op)
    is_equal("each family's operation has a figure or a reason", wrong, [])


def slurm_is_measured():
    """Launches and sampling, or why not."""
    for section in ("launch", "collector"):
        of = [r for key, r in rows.items() if key[0] == section]
        wrong = [(r["name"], r.get("why")) for r in of if not ("median" in r or re.match(LACKS, r.get("why", "")))]
        is_true(section + " has its figures, or the machine lacks what they need", of and not wrong, wrong)


def others_are_beside():
    """What jobprof counts is what the kernel counts; what others count is no test."""
    bench("--only", "instead")
    whole = rows.get(("instead", "section"))
    if whole:
        is_true("a reason why nothing is beside", re.match(LACKS, whole.get("why", "")), whole)
        return
    for column in ("processes of 20 ms", "bursts of 100 ms"):
        share = rows[("instead", "jobprofd: CPU of %s, %%" % column)]["median"]
        is_true("jobprofd has the CPU time of %s" % column, 90 < share < 110, share)
    named = {key[1].partition(":")[0].partition(",")[0] for key in rows if key[0] == "instead"}
    is_equal("all are named", {"collectd", "PCP", "node exporter", "process exporter", "perf stat", "cpudist"} - named, set())


def medians_lie_between_quartiles():
    wrong = [r["name"] for r in rows.values()
             if "median" in r and not r["q1"] <= r["median"] <= r["q3"]]
    is_equal("medians lie between their quartiles", wrong, [])


DOES = """
import os, sys
for d in sys.argv[1:]:
    os.chdir(d)
    for i in range(5):
        fd = os.open("f%d" % i, os.O_RDWR | os.O_CREAT)
        os.write(fd, bytes(20480))
        os.fsync(fd)
        os.close(fd)
    os.rename("f0", d + "/g")
    if not os.fork():
        os.unlink(d + "/g")
        os._exit(0)
    os.wait()
"""


def calls_are_counted():
    """Of a program that is known, and of its child; what it does in another directory is not."""
    if not shutil.which("strace"):
        raise Skipped("there is no strace")
    sys.path.insert(0, os.path.join(ROOT, "bench"))
    import sizing
    here, other = tmpdir("here"), tmpdir("other")
    t = sizing.Trace(here, cmd=["/usr/bin/python3", "-I", "-S", "-c", DOES, here, other])
    t.end()
    is_equal("sizing: calls below a directory", dict(t.counts()), {"opens": 5, "fsync": 5, "renames": 1, "unlinks": 1, "KiB written": 100})


def sizes_are_measured():
    p = subprocess.run([os.path.join(ROOT, "scripts", "bench"), "--quick", "--json", "--only", "sizing"], capture_output=True, text=True)
    is_equal("sizing: exit status", p.returncode, 0)
    got = {(r["name"], r.get("column")): r.get("median") for r in json.loads(p.stdout or '{"rows": []}')["rows"]}
    of = lambda name, column: got.get((name, column)) or 0
    step, merge = "a step's file on a node: 16 tasks, 1 row", "a merge, for each file in it"
    is_true("sizing: a file is opened, synced, written as a whole", of(step, "opens") >= 1 and of(step, "fsync") >= 1 and
            of(step, "KiB written") >= 0.9 * of(step, "KiB left") > 1, got)
    is_equal("sizing: a merge removes each file that is in it", of(merge, "unlinks"), 1)
    is_true("sizing: ten times the nodes ask ten times as much", approx(of("10,000 nodes", "opens/s"), 10 * of("1,000 nodes", "opens/s"), 1e-6) and
            of("1,000 nodes", "opens/s") > 0, got)
    with open(os.path.join(ROOT, "docs/sizing.md")) as f:
        heads = {line for line in f if line.startswith("### ")}
    is_true("sizing: the page has each table", len(heads) >= 5, heads)


@in_full
def what_breaks_is_measured():
    p = subprocess.run([os.path.join(ROOT, "scripts", "bench"), "--quick", "--json", "--only", "scale"], capture_output=True, text=True)
    is_equal("scale: exit status", p.returncode, 0)
    rows = json.loads(p.stdout or '{"rows": []}')["rows"]
    nodes = [r.get("median") for r in rows if r.get("column") == "nodes"]
    is_true("scale: what breaks first is first", len(nodes) >= 10 and nodes == sorted(nodes) and nodes[0] > 0, nodes or p.stderr[-500:])
    asked = [r["median"] for r in rows if r.get("column") == "file system: calls/s"]
    is_true("scale: ten times the nodes ask ten times as much", len(asked) == 4 and approx(asked[3], 1000 * asked[0], 1e-6) and asked[0] > 0, asked)


need_bpf()
run_tests([runs_to_its_end, table_is_whole, families_have_rows, slurm_is_measured,
           others_are_beside, medians_lie_between_quartiles, calls_are_counted, sizes_are_measured, what_breaks_is_measured])
