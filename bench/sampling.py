# SPDX-License-Identifier: GPL-2.0-only
"""What the family sample costs the program that it interrupts: a sample by itself, at a rate at
which it shows, and a program that computes, with and without, in turn."""

from helper import SCHED, Attached, Missing
from table import Row

TITLE = "the software clock of the family sample"
HZ = 97
LEAST_MS = 200  # of a run: some of its operations, of 20 ms or so each


def run(helper, opts):
    try:
        helper.open("sample", SCHED + ",sample")
        helper.open("without", SCHED)
    except Missing as e:
        yield Row("sampling", "a sample, with its interrupt", "ns", why=str(e))
        return
    ns = [float(helper.tell("calibrate", "sample")[1]) for _ in range(opts.rounds)]
    yield Row("sampling", "a sample, with its interrupt", "ns", ns)
    yield Row("sampling", "97 samples a second", "%", [HZ * v / 1e7 for v in ns], target=0.2, digits=3)
    added = []
    for _ in range(opts.rounds):
        values = []
        for key in ("without", "sample", "without"):
            with Attached(helper, key):
                values.append(helper.run("one", "compute", max(LEAST_MS, opts.ms))[0])
        bare = (values[0] + values[2]) / 2
        added.append(100 * (values[1] - bare) / bare)
    yield Row("sampling", "a program that computes, with it (spread by other load)", "%", added, digits=3)
    for key in ("sample", "without"):
        helper.tell("close", key)
