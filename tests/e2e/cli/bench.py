#!/usr/bin/python3
# timeout: 500
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

rows = {}


def runs_to_its_end():
    p = subprocess.run([os.path.join(ROOT, "scripts", "bench"), "--quick", "--json"],
                       capture_output=True, text=True)
    is_equal("scripts/bench --quick: exit status", p.returncode, 0)
    if p.returncode:
        raise Failed(p.stderr[-1000:])
    data = json.loads(p.stdout)
    is_true("it says what it ran on", data["about"].get("kernel") and data["about"].get("cpus"),
            data["about"])
    for r in data["rows"]:
        rows[(r["section"], r["name"])] = r


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
        wrong = [r["name"] for r in of if not ("median" in r or r.get("why"))]
        is_true(section + " has its figures or a reason", of and not wrong, wrong)


def medians_lie_between_quartiles():
    wrong = [r["name"] for r in rows.values()
             if "median" in r and not r["q1"] <= r["median"] <= r["q3"]]
    is_equal("medians lie between their quartiles", wrong, [])


need_bpf()
run_tests([runs_to_its_end, table_is_whole, families_have_rows, slurm_is_measured,
           medians_lie_between_quartiles])
