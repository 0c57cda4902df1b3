#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The split of a node's energy on simulated nodes, where every joule's owner is known: it conserves
energy, its bounds hold, and it is closer to the truth than the rules of others."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

NODES = "6"
# Percent; two rules that are off by the same sensor's error do not differ by more.
SAME = 0.3
# What one step alone on a node is off by is the node's sensor: its class, 5 %, and what else ran.
ALONE = 5.6

cases = {}


def simulated():
    tool = os.path.join(TOOLS, "jpenergy")
    p = subprocess.run([tool, NODES], capture_output=True, text=True)
    is_equal("jpenergy: exit status", (p.returncode, p.stderr), (0, ""))
    for line in p.stdout.splitlines():
        d = json.loads(line)
        cases[d["case"]] = d
    is_true("there are cases", len(cases) >= 20, len(cases))


def energy_is_conserved():
    wrong = {name: d["leak"] for name, d in cases.items() if not d["leak"] <= 1e-9}
    is_equal("steps, system and unallocated are what was measured", wrong, {})


def bounds_hold():
    wrong = {name: d["held"] for name, d in cases.items() if d["held"] < 95}
    is_equal("in 95 % of the intervals of each case", wrong, {})
    held = sum(d["held"] * d["of"] for d in cases.values()) / sum(d["of"] for d in cases.values())
    is_true("in 95 % of all", held >= 95, held)


def one_alone_has_the_sensors_error():
    d = cases["alone, all cores"]
    is_true("bounds of a step that has the node", d["width"] <= ALONE, d["width"])


def closer_than_others():
    wrong = {name: (d["jobprof"], d[rule]) for name, d in cases.items()
             for rule in ("kepler", "ceems", "slurm") if d["jobprof"] > d[rule] + SAME}
    is_equal("no rule is closer in any case", wrong, {})


run_tests([simulated, energy_is_conserved, bounds_hold, one_alone_has_the_sensors_error,
           closer_than_others])
