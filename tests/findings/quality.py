#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# runs: in full
"""The quality of the findings of jobprof report, over job files with known pathologies, near misses, jobs
that only look sick, and healthy ones:
    quality.py [--only RULE] [--keep DIR] [--list] [--seed N]
What a pathology costs is computed from its description, not from the file (sick_*.py)."""

import argparse
import concurrent.futures
import json
import math
import multiprocessing
import os
import subprocess
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../lib"))
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import cases
import healthy
import sick_cpu
import sick_io
import sick_memory
import sick_tasks
from lib import JOBPROF, is_equal, is_true, skip, tmpdir

TABLES = sick_cpu.RULES + sick_tasks.RULES + sick_memory.RULES + sick_io.RULES
COST_ERROR = 0.10
TIME_ERROR_S = 60
TIMES = 8  # that a finding has at most
FIRST = 0.95
FALSE_OF_HEALTHY = 0.01
ROWS = 1, 30  # seconds of a row, of which the findings are to be the same
ROWS_MATTER = ("cpu.oversubscribed", "cpu.stacked", "io.wait")


class Result:
    """findings: of the report, in its order; wrong: what is not as it should be, {what: text}."""

    def __init__(self, case, path, truth):
        self.case, self.path, self.wrong, self.error = case, path, {}, None
        self.loss, self.where, self.times = truth
        self.findings = []

    def judge(self):
        case, found = self.case, {f["id"]: f for f in self.findings}
        if case.expect and case.expect not in found:
            self.wrong["missed"] = "not found, only %s" % (", ".join(found) or "nothing")
        elif case.expect:
            self.judge_found(found[case.expect])
        loud = {i for i, f in found.items() if f["severity"] != "note"}
        if case.kind in ("near", "alike"):
            own = (loud if case.may else set(found)) & {case.rule} - case.also - {case.expect}
            if own:
                self.wrong[case.kind] = "found: " + found[case.rule]["text"]
        false = loud - {case.expect, case.rule if case.kind != "healthy" else None} - case.also
        if false:
            self.wrong["false"] = "; ".join("%s: %s" % (i, found[i]["text"]) for i in sorted(false))

    def judge_found(self, finding):
        first = self.findings[0]["id"]
        if first != self.case.expect and first not in self.case.peers:
            self.wrong["not first"] = "after %s" % first
        cost = (finding.get("cost") or {}).get("core_s")
        if self.case.kind == "has" and not (self.loss is None and finding["cost"]["is_at_least"]):
            self.judge_cost(cost)
        if self.where not in finding["where"]:
            self.wrong["where"] = "%r, not %r" % (finding["where"], self.where)
        if self.times and not self.has_times(finding["times"]):
            self.wrong["when"] = "%s, not %s" % (finding["times"], self.times)

    def judge_cost(self, cost):
        if self.loss is not None:
            self.cost_error = math.inf if cost is None else cost / self.loss - 1
            if abs(self.cost_error) > COST_ERROR:
                self.wrong["cost"] = "%s core-seconds, not %.0f" % (cost, self.loss)
        elif cost is not None:
            self.wrong["cost"] = "%s core-seconds, but it costs none" % cost

    def has_times(self, found):
        """All of the true times, each of them once, but of many only eight."""
        true = [[t for t in self.times if max(abs(a - b) for a, b in zip(t, f)) <= TIME_ERROR_S] for f in found]
        return len(found) == min(TIMES, len(self.times)) and all(len(t) == 1 for t in true) and \
            sum(true, []) == sorted(set(sum(true, [])))

    cost_error = None


def cases_of(only):
    every = [c for rule in TABLES for c in rule.cases()] + list(healthy.cases())
    return [c for c in every if only is None or c.rule == only or c.expect == only]


def file_of(number):
    title = "".join(ch if ch.isalnum() else "_" for ch in EVERY[number].title)
    return os.path.join(FOLDER, "job_%d_%s.h5" % (number, title))


def report_on(made, path):
    """The loss, where and when (times) it was; the findings, and why there are none."""
    job, loss = made
    job.write(path)
    p = subprocess.run([JOBPROF, "report", "--json", path], capture_output=True, text=True)
    if not KEEP:
        os.unlink(path)
    try:
        found, error = json.loads(p.stdout)["findings"], None
    except (ValueError, KeyError):
        found, error = [], "status %d: %s" % (p.returncode, p.stderr.strip())
    return (loss, job.where, job.times), found, error


def examine(number):
    """In a process of the pool: a case by its number, for functions do not travel."""
    path = file_of(number)
    return (number, path) + report_on(EVERY[number].make(), path)


def findings_by_rows(number):
    """Names of the findings of the same job with short and with long rows."""
    rule, found = TABLES[number], []
    for row in ROWS:
        path = os.path.join(FOLDER, "job_%d_rows_of_%d.h5" % (number, row))
        found.append({f["id"] for f in report_on(rule.with_rows_of(row)(), path)[1]} - set(ROWS_MATTER))
    return rule.name, found


def two_at_a_time(function, numbers):
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(function, numbers, chunksize=2)


def results():
    for number, path, truth, found, error in two_at_a_time(examine, range(len(EVERY))):
        r = Result(EVERY[number], path, truth)
        r.findings, r.error = found, error
        if not error:
            r.judge()
        yield r


def judge_rows():
    """Short and long rows give the same findings, but for those of waits."""
    numbers = [i for i, rule in enumerate(TABLES) if OPTIONS.only in (None, rule.name)]
    for name, (short, long) in two_at_a_time(findings_by_rows, numbers):
        is_equal("%s: rows of %d s and of %d s" % ((name,) + ROWS), sorted(short), sorted(long))


def print_table(done):
    print("%-20s %5s %5s %5s %10s %5s %5s %5s" %
          ("rule", "cases", "found", "first", "cost error", "near", "alike", "false"))
    for rule in dict.fromkeys(r.case.rule for r in done):
        own = [r for r in done if r.case.rule == rule]
        sick = [r for r in own if r.case.kind == "has"]
        errors = [abs(r.cost_error) for r in sick if r.cost_error is not None]
        count = {what: sum(what in r.wrong for r in own) for what in ("missed", "not first", "near", "alike", "false")}
        found = len(sick) - sum("missed" in r.wrong for r in sick)
        print("%-20s %5d %5s %5s %10s %5d %5d %5d" %
              (rule, len(own), "%d/%d" % (found, len(sick)) if sick else "",
               "%d" % (found - sum("not first" in r.wrong for r in sick)) if sick else "",
               "%.1f %%" % (100 * max(errors)) if errors else "no cost" if sick else "", count["near"], count["alike"], count["false"]))


def print_misses(done):
    for r in done:
        for what, text in list(r.wrong.items()) + ([("error", r.error)] if r.error else []):
            print("%s: %s: %s%s" % (r.case.title, what, text, " (%s)" % r.path if KEEP else ""))


def judge_all(done):
    sick = [r for r in done if r.case.kind == "has"]
    well = [r for r in done if r.case.kind == "healthy"]
    alike = [r for r in done if r.case.kind in ("near", "alike")]
    count = lambda of, what: sum(what in r.wrong for r in of)
    broken = [r for r in done if r.error]
    is_true("every file has a report", not broken, "%d have none" % len(broken))
    if sick:
        is_true("every pathology is found", not count(sick, "missed"), "%d of %d are not" % (count(sick, "missed"), len(sick)))
        first = 1 - (count(sick, "not first") + count(sick, "missed")) / len(sick)
        is_true("the pathology comes first", first >= FIRST, "in %.1f %%" % (100 * first))
        is_true("costs are the true loss", not count(sick, "cost"), "%d are not" % count(sick, "cost"))
        misplaced = count(sick, "where") + count(sick, "when")
        is_true("place and time are those of the pathology", not misplaced, "%d are not" % misplaced)
        is_true("no false finding beside a pathology", not count(sick, "false"), "%d cases have" % count(sick, "false"))
    if alike:
        n = count(alike, "near") + count(alike, "alike") + count(alike, "false") + count(alike, "missed")
        is_true("near misses and look-alikes are none", not n, "%d of %d are taken for it" % (n, len(alike)))
    if well:
        n = count(well, "false")
        is_true("healthy jobs are left alone", n <= FALSE_OF_HEALTHY * len(well), "%d of %d are not" % (n, len(well)))


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="RULE", help='of this rule alone, or "healthy"')
    parser.add_argument("--keep", metavar="DIR", help="keep the job files there")
    parser.add_argument("--list", action="store_true", help="print the cases' names")
    parser.add_argument("--seed", type=int, default=0, help="of the selection of shapes and of noise (default 0)")
    return parser.parse_args()


def has_report():
    return not subprocess.run([JOBPROF, "report", "--help"], capture_output=True).returncode


OPTIONS = options()
KEEP = OPTIONS.keep
cases.seed = OPTIONS.seed
EVERY = cases_of(OPTIONS.only)
if OPTIONS.list:
    print("\n".join("%-8s %s" % (c.kind, c.title) for c in EVERY))
    sys.exit()
if not has_report():
    skip("quality", "jobprof has no verb report")
    sys.exit()
FOLDER = KEEP or tmpdir("findings")
os.makedirs(FOLDER, exist_ok=True)
DONE = list(results())
print_table(DONE)
print_misses(DONE)
judge_all(DONE)
judge_rows()
