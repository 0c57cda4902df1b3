#!/usr/bin/python3
# timeout: 600
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
        rows[(r["section"], r["name"])] = r
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
        share = rows[("instead", "jobprofd: CPU of " + column)]["median"]
        is_true("jobprofd has the CPU time of %s" % column, 90 < share < 110, share)
    named = {key[1].partition(":")[0].partition(",")[0] for key in rows if key[0] == "instead"}
    is_equal("all are named", {"collectd", "PCP", "node exporter", "process exporter", "perf stat", "cpudist"} - named, set())


def medians_lie_between_quartiles():
    wrong = [r["name"] for r in rows.values()
             if "median" in r and not r["q1"] <= r["median"] <= r["q3"]]
    is_equal("medians lie between their quartiles", wrong, [])


need_bpf()
run_tests([runs_to_its_end, table_is_whole, families_have_rows, slurm_is_measured,
           others_are_beside,
           medians_lie_between_quartiles])
