# SPDX-License-Identifier: GPL-2.0-only
"""What the families sample and stack cost the program that they interrupt: a sample by itself, at a rate
at which it shows, and a program that computes, with and without, in turn."""

from helper import SCHED, Attached, Missing
from table import Row

TITLE = "the software clock of the families sample and stack"
HZ = 97
LEAST_MS = 200  # of a run: some of its operations, of 20 ms or so each


def computing(helper, opts, family, base):
    """Percent of a computing program's time that a family adds, a value per round."""
    helper.open("with", base + "," + family)
    helper.open("bare", base)
    added = []
    for _ in range(opts.rounds):
        values = []
        for key in ("bare", "with", "bare"):
            with Attached(helper, key):
                values.append(helper.run("one", "compute", max(LEAST_MS, opts.ms))[0])
        bare = (values[0] + values[2]) / 2
        added.append(100 * (values[1] - bare) / bare)
    for key in ("with", "bare"):
        helper.tell("close", key)
    return added


def run(helper, opts):
    try:
        helper.open("sample", SCHED + ",sample")
    except Missing as e:
        yield Row("sampling", "a sample, with its interrupt", "ns", why=str(e))
        return
    ns = [float(helper.tell("calibrate", "sample")[1]) for _ in range(opts.rounds)]
    yield Row("sampling", "a sample, with its interrupt", "ns", ns)
    yield Row("sampling", "97 samples a second", "%", [HZ * v / 1e7 for v in ns], target=0.2, digits=3)
    helper.tell("close", "sample")
    for family, base in (("sample", SCHED), ("stack", SCHED + ",wait")):
        label = "a program that computes, with %s (spread by other load)" % family
        try:
            yield Row("sampling", label, "%", computing(helper, opts, family, base), digits=3)
        except Missing as e:
            yield Row("sampling", label, "%", why=str(e))
