#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 3600
# runs: in full
# runs: alone
"""Programs that others have written, in a healthy use, a sick one of a kind that users make, and the mended one, under
`jobprof run`: what `jobprof report` says first, whether it leaves the healthy ones alone, and whether its costs are what
the mended one takes less.
    real.py [--list] [--only NAME,...] [--keep DIR | --judge DIR]
--keep keeps the files, and runs only cases that are not there in whole; --judge runs nothing. Tables of cases are in cases_*.py; what
the machine has no program for is skipped and counted (scripts/install-deps real), and so is what others disturbed."""

import argparse
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import cases_cpu
import cases_io
import cases_mpi
import cases_python
import cases_services
import cases_tools
from case import *
from lib import is_true, need_bpf, skip
from measured import Report, kept

CASES = [case for module in (cases_cpu, cases_mpi, cases_python, cases_io, cases_services, cases_tools) for case in module.CASES]
# What is asked of all cases together.
FIRST = 0.95
COSTS = 0.80
COST_ERROR = 0.15
AT_BEST = 1.1
OTHERS = "cpu.neighbour"
NOISE = 0.02  # of the core time: what two runs of the same work differ by


class Tally:
    """By rule: how many are right, of how many."""

    def __init__(self):
        self.of = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
        self.wrong = []

    def add(self, what, rule, right, case="", why=""):
        for key in {rule, "all"}:
            self.of[what][key][0] += bool(right)
            self.of[what][key][1] += 1
        if not right and why:
            self.wrong.append("%s: %s: %s" % (case.name, what, why))

    def share(self, what):
        right, n = self.of[what]["all"]
        return right / n if n else 1

    def print(self):
        print("\n%-20s %s" % ("rule", " ".join("%-14s" % w for w in WHAT)))
        for rule in sorted({r for w in WHAT for r in self.of[w]}, key=lambda r: (r == "all", r)):
            print("%-20s %s" % (rule, " ".join("%-14s" % ("%d of %d" % tuple(self.of[w][rule]) if self.of[w][rule][1] else "") for w in WHAT)))
        print("".join("\n" + w for w in self.wrong) + "\n")


# Of costs, how many are known in full is only counted.
WHAT = "right first", "is true", "left alone", "cost", "in full", "at best"


def loud(r):
    return [f for f in r.findings if f["severity"] != "note"]


def said(f):
    return "%s %s: %s %s" % (f["severity"].upper(), f["id"], f["text"], f["remedy"])


def is_at_least(f):
    return bool(f["cost"].get("is_at_least"))


def judge_sick(tally, case, sick, mended):
    rules, also = case.rules.split("|"), case.also.split()
    first = sick.findings[0] if sick.findings else {"id": "nothing", "severity": "", "text": "", "remedy": ""}
    right = first["id"] in rules and re.search(case.remedy, first["remedy"])
    tally.add("right first", rules[0], right, case, "wanted %s (%s), said %s" % (case.rules, case.remedy, said(first)))
    for f in loud(sick):
        tally.add("is true", f["id"], f["id"] in rules + also, case, "the sick one: " + said(f))
    found = next((f for f in sick.findings if f["id"] in rules), None)
    if not found or not mended or case.loss == "none":
        return
    if delayed(sick, dict(case.variants())["sick"]) > DISTURBED and case.loss == "wall":
        skip(case.name + ": cost", "its threads waited for other programs")
        return
    key = "cpu_s" if case.loss == "cpu" else "core_s"
    truth, held = sick.facts[key] - mended.facts[key], sick.core_s()
    cost = found["cost"]["core_s"] or 0
    noise = NOISE * held
    text = "%s says %.2f core-s, %.2f are true of %.1f" % (found["id"], cost, truth, held)
    low = 0 if is_at_least(found) else (1 - COST_ERROR) * truth - noise
    tally.add("cost", found["id"], low <= cost <= (1 + COST_ERROR) * truth + noise, case, text)
    tally.add("in full", found["id"], not is_at_least(found))
    if found["cost"]["saving"] is not None and not is_at_least(found):
        saved, best = 1 - mended.facts["wall_s"] / sick.facts["wall_s"], found["cost"]["saving"]
        tally.add("at best", found["id"], saved <= AT_BEST * best + NOISE, case,
                  "%s says %.0f %% of the time, %.0f %% were saved" % (found["id"], 100 * best, 100 * saved))


def judge_well(tally, case, kind, r):
    also = case.also.split() if kind == "mended" else []
    bad = [f for f in loud(r) if f["id"] not in also]
    tally.add("left alone", "all", not bad, case, "%s: %s" % (kind, "; ".join(said(f) for f in bad)))
    for f in loud(r):
        tally.add("is true", f["id"], f["id"] in also, case, "the %s one" % kind)


def line(case, kind, v, r):
    return "%-22s %-8s %6.2f s wall %6.2f s CPU%s  %s" % (
        case.name, kind, r.facts["wall_s"], r.facts["cpu_s"],
        " (others had %.0f %%)" % (100 * disturbed(r, v)) if disturbed(r, v) > DISTURBED else "",
        ", ".join("%s %s %.1f" % (f["severity"], f["id"], (f["cost"]["core_s"] or 0)) for f in r.findings) or "-")


def reports(case):
    """{variant: Report} of those that were not disturbed. Runs of a case are of one size, so all of them are new or none."""
    place, found = None, {}
    paths = {kind: kept(OPTIONS.judge or OPTIONS.keep, case.name + "-" + kind) for kind, _ in case.variants()}
    if not OPTIONS.judge and not all(path and os.path.exists(path) for path in paths.values()):
        place = place_for(case)
    for kind, v in case.variants():
        name, path = case.name + "-" + kind, paths[kind]
        if not place and not os.path.exists(path):
            continue
        r = place.run(v) if place else Report(path)
        print(line(case, kind, v, r), flush=True)
        if disturbed(r, v) > USELESS:
            skip(name, "other programs had %.0f %% of the cores" % (100 * disturbed(r, v)))
            continue
        if place:
            r.keep(path)
        # That others took a little of the cores is true, and no part of the test.
        if not v.beside and not v.quota:
            r.findings = [f for f in r.findings if f["id"] != OTHERS]
        found[kind] = r
    if place:
        place.remove()
    return found


def judge(tally, case):
    found = reports(case)
    if "sick" in found:
        judge_sick(tally, case, found["sick"], found.get("mended"))
    for kind in ("healthy", "mended"):
        if kind in found:
            judge_well(tally, case, kind, found[kind])


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="the cases and what they need")
    parser.add_argument("--only", metavar="NAME,...", help="these, or those whose name begins so")
    parser.add_argument("--keep", metavar="DIR", help="keep the files there")
    parser.add_argument("--judge", metavar="DIR", help="judge the files there")
    return parser.parse_args()


OPTIONS = options()


def chosen():
    """Those named, else those whose name begins so."""
    names = (OPTIONS.only or "").split(",")
    return [c for c in CASES if c.name in names] or [c for c in CASES if c.name.startswith(tuple(names))]


def main():
    if OPTIONS.list:
        for c in chosen():
            print("%-22s %-30s %s" % (c.name, c.rules or "healthy", c.needs + (" (not here: %s)" % lacks(c) if lacks(c) else "")))
        return
    need_bpf()
    if len(os.sched_getaffinity(0)) != 2:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    tally = Tally()
    for case in chosen():
        missing = lacks(case)
        try:
            if missing:
                raise Skipped("there is no " + missing)
            judge(tally, case)
        except Skipped as e:
            skip(case.name, e)
        except Failed as e:
            is_true(case.name, False, e)
    tally.print()
    for what, least in (("right first", FIRST), ("left alone", 1), ("cost", COSTS), ("at best", 1)):
        right, n = tally.of[what]["all"]
        is_true("%s: %d of %d" % (what, right, n), tally.share(what) >= least, "%.0f %%, not %.0f %%" % (100 * tally.share(what), 100 * least))


if __name__ == "__main__":
    main()
