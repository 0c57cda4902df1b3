# SPDX-License-Identifier: GPL-2.0-or-later
"""What block requests, socket calls, opens and system calls cost more with a family on: end to
end, and inside its own programs."""

from devices import Devices
from helper import SCHED, Attached, Missing
from programs import bodies
from stats import rotated
from table import Row

TITLE = "ns added per operation by a family over the scheduler's programs, on and off in turn"

# What is one operation, workload, device, family
CALLS = (
    ("block request of 4 KiB, loop device", "read", "loop", "block"),
    ("block request of 4 KiB, disk", "read", "disk", "block"),
    ("block request of 4 KiB, disk, 16 at once", "reads", "disk", "block"),
    ("socket call, UDP of 64 bytes", "udp", None, "network"),
    ("socket call, TCP of 64 bytes", "tcp", None, "network"),
    ("open and close", "open", None, "files"),
    ("getpid", "getpid", None, "files"),
)


class Call:
    def __init__(self, what, workload, device, family, paths):
        self.what, self.workload, self.family = what, workload, family
        self.path = paths.get(device, "") if device else ""
        self.bare, self.added, self.inside = [], [], []

    def run(self, helper, ms):
        return helper.run("one", self.workload, ms, self.path)[0]

    def round(self, helper, own, ms):
        with Attached(helper, "base"):
            off = self.run(helper, ms)
        with Attached(helper, self.family):
            on = self.run(helper, ms)
        with Attached(helper, "empty", "base"):
            helper.tell("stats", "on")
            _, floor, _ = bodies(helper, "base", "none", "switch", ms)
            helper.tell("stats", "off")
            helper.tell("detach", "empty")
            off = (off + self.run(helper, ms)) / 2
        self.bare.append(off)
        self.added.append(on - off)
        with Attached(helper, "empty", self.family):
            helper.tell("stats", "on")
            got, _, ops = bodies(helper, self.family, "one", self.workload, ms, self.path, floor)
            helper.tell("stats", "off")
        self.inside.append(sum(ns * n / ops for p, (ns, n) in got.items() if p in own))

    def rows(self):
        yield Row("calls", "%s, without family %s" % (self.what, self.family), "ns", self.bare)
        yield Row("calls", "%s, added by it end to end" % self.what, "ns", self.added)
        yield Row("calls", "%s, inside its programs" % self.what, "ns", self.inside)


def load(helper):
    """({family: its own programs}, {family: why it does not load})"""
    own, why = {}, {}
    helper.open("base", SCHED)
    base = set(helper.programs("base"))
    for family in ("block", "network", "files"):
        try:
            helper.open(family, SCHED + "," + family)
            own[family] = set(helper.programs(family)) - base
        except Missing as e:
            why[family] = str(e)
    return own, why


def run(helper, opts):
    own, why = load(helper)
    with Devices() as d:
        calls = []
        for what, workload, device, family in CALLS:
            reason = why.get(family) or (d.why.get(device) if device else None)
            if reason:
                yield Row("calls", "%s, family %s" % (what, family), "ns", why=reason)
            else:
                calls.append(Call(what, workload, device, family, d.paths))
        for i in range(opts.rounds):
            for c in rotated(calls, i):
                c.round(helper, own[c.family], opts.ms)
        for c in calls:
            yield from c.rows()
    for key in ["base"] + list(own):
        helper.tell("close", key)
