#!/usr/bin/python3
# runs: alone
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters of regions (jobprof cluster --regions), which event sets in turn measure in some bursts each, against what the
program's threads know of themselves."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

ROUNDS = 200


def cluster(path, *options):
    return subprocess.run([JOBPROF, "cluster", "--regions", *options, path], capture_output=True, text=True, timeout=60)


def counters():
    """Three kinds of bursts with 200, 14 and no new pages: the first two are regions of their own, all lie in another.
    They are long, as the way from the nap to the region and back must be a small part of them on a slow machine too."""
    run, path = run_jobprof([tool("jpburst"), "-r", "2", "-n", str(ROUNDS), "-p", "200", "-p", "14", "5", "6", "7"], 0.3, "all,burst",
                            ["-e", "page-faults,task-clock;faults:u,task-clock", "--perf-mode", "exact"])
    notes = numpy.array([[float(x) for x in line.split()[1:]] for line in run.out().splitlines()
                         if re.fullmatch(r"\d+ [\d.]+ [\d.]+ \d+", line)])
    p = cluster(path, "--json")
    found = {c["region"]: c for c in json.loads(p.stdout)["clusters"]}
    is_equal("counters: the regions, and what is in none", set(found), {"all", "burst 1", "burst 2", None})
    for kind, region in enumerate(("burst 1", "burst 2", "all")):
        own, got = notes[kind::3][1:], found[region]  # in the very first burst the thread begins
        is_true("counters: the bursts of " + region, abs(got["bursts"] - ROUNDS) <= ROUNDS / 25, got["bursts"])
        # what the switch at its end takes to read the counters is in it
        is_near("counters: their run time", got["run_s"], numpy.median(own[:, 0]), 0.02, 1e-4)
        for event in ("PageFaults", "FaultsUser"):
            c = got["counters"][event]
            is_true("counters: %s of %s is measured in some" % (event, region), 0.15 < c["counted"] < 0.85, c)
            if kind == 2:
                is_true("counters: hardly a fault without new pages", c["per_s"] < 1500, c)  # 14 pages are 2,300
                continue
            is_near("counters: %s of %s per second" % (event, region), c["per_s"], own[:, 2].sum() / own[:, 0].sum(), 0.05)
            is_near("counters: %s of %s in all" % (event, region), c["total"], own[:, 2].sum(), 0.05)
        # the clock of perf goes on while a host takes the CPU away, which run time does not
        is_near("counters: the clock of " + region, got["counters"]["TaskClock"]["per_s"], 1e9, 0.1)
    text = cluster(path).stdout
    is_true("counters: as text", re.search(r"^  A .*  all$", text, re.M) and re.search(r"^  B .*  burst 2$", text, re.M) and
            "By region:" in text and "PageFaults" in text, text)


def refused():
    run, path = run_jobprof([tool("jpburst"), "-n", "20", "3"], 0.3, "all,burst")
    for options, why in (([], "have named no region"), (["--csv"], "--regions and --code as text or --json only")):
        p = cluster(path, *options)
        is_true("refused: " + why, p.returncode and why in p.stderr, p)


if __name__ == "__main__":
    need_bpf()
    run_tests([counters, refused])
