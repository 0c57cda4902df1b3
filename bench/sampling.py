# SPDX-License-Identifier: GPL-2.0-only
"""What the families sample and stack cost the program that they interrupt: a sample by itself, at a rate
at which it shows; and a program that computes and two that switch, with and without, in turn, and with other
tools that sample."""

import peers
import switch
from helper import SCHED, Attached, Missing
from stats import quartiles
from table import Row

TITLE = "the software clock of the families sample and stack"
HZ = 97
BASE, WITH = "jobprof sched, wait", "jobprof sched, wait, sample, stack"
LEAST_MS = 200  # of a run: some of its operations, of 20 ms or so each


def variants(helper):
    """Those that are here, and why others are not. The first one has what the families stand on."""
    here, lost = [], {}
    for key, name, families in (("base", BASE, SCHED + ",wait"), ("with", WITH, SCHED + ",wait,sample,stack")):
        helper.open(key, families)
        here.append((name, Attached(helper, key)))
    for peer in peers.sampling_peers():
        why = peer.missing()
        if why:
            lost[peer.name] = why
        else:
            here.append((peer.name, peer))
    return here, lost


def beside(helper, opts, what, workload, most):
    """What each variant adds to a program, in percent of its time without any."""
    here, lost = variants(helper)
    ms = max(LEAST_MS, opts.ms)
    bare, added, failed = switch.measure(helper, here, ["one"], opts.rounds, ms, workload)
    lost.update(failed)
    ns = quartiles(bare["one"])[1]
    percent = {name: [100 * v / ns for v in added.get(name, {}).get("one", [])] for name in list(added) + list(lost)}
    yield Row("sampling", "%s: sample and stack add" % what, "%",
              [a - b for a, b in zip(percent[WITH], percent[BASE])], target=most, digits=2)
    for name, values in percent.items():
        yield Row("sampling", "%s: %s" % (what, name), "%", values, why=lost.get(name), digits=2)
    for key in ("base", "with"):
        helper.tell("close", key)


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
    # No target: what other load does to it is more than the 0.12 % of the row above.
    yield from beside(helper, opts, "a program that computes", "compute", None)
    yield from beside(helper, opts, "two processes that switch all the time", "switch", 1)
