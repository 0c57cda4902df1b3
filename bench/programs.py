# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run of each program takes by the kernel's BPF statistics, less what an empty program
takes that is attached beside it in the same run: the statistics' own clock reads are in both."""

from devices import Devices
from helper import ALL, SCHED, Attached
from stats import quartiles
from table import Row

TITLE = "ns per run of the programs over an empty program beside them, by the kernel's statistics"

# Workload, path, and the place it runs in: the programs that it makes run are found out.
WORKLOADS = (("switch", None), ("fork", None), ("exec", None), ("cgroup", "of a task"),
             ("udp", None), ("tcp", None), ("reads", "disk"), ("open", None))

LEAST_RUNS = 8
ENOUGH_RUNS = 100

# The cost is that of every block request or socket call.
PROBES = ("jp_block_start", "jp_block_issue", "jp_block_insert", "jp_block_complete",
          "jp_sock_send", "jp_sock_recv")
PROBE_NS = 150


def bodies(helper, key, place, workload, ms, path="", floor=None):
    """{program: (ns over the empty one, runs)} of one run with both attached, ns of the empty one,
    operations. floor: what to take for the empty one where it does not run often enough to say."""
    before = helper.programs(key)
    _, ops = helper.run(place, workload, ms, path)
    after = helper.programs(key)
    out = {}
    for name, (runs, ns) in after.items():
        n = runs - before[name][0]
        if n >= LEAST_RUNS:
            out[name] = ((ns - before[name][1]) / n, n)
    own, n = out.pop("empty", (0, 0))
    if floor is None or n >= ENOUGH_RUNS:
        floor = own
    return {name: (ns - floor, n) for name, (ns, n) in out.items()}, floor, ops


# Sets of programs that are loaded, whose tasks are switched, and bounds.
SETS = (("base", "sched"), ("pair", "sched, wait, culprit"), ("most", "all but perf"))
SWITCHED = (("one", "a profiled task", 50), ("two", "a profiled task, two slots", 50), ("none", "a task of no step", 10))
# What the families wait and culprit may add to sched: they are on by default.
PAIR = (("one", "a profiled task", 60), ("two", "a profiled task, two slots", 60), ("none", "a task of no step", 5))


def measure_switch(helper, opts):
    """({(set, place): [ns over the empty one]}, [ns of the empty one])"""
    values = {(key, place): [] for key, _ in SETS for place, _, _ in SWITCHED}
    floors = []
    for _ in range(opts.rounds):
        for key, _ in SETS:
            with Attached(helper, "empty", key):
                for place, _, _ in SWITCHED:
                    got, floor, _ = bodies(helper, key, place, "switch", opts.ms)
                    name = next((n for n in got if n.startswith("jp_sched_switch")), None)
                    if name:
                        values[key, place].append(got[name][0])
                        floors.append(floor)
    return values, floors


def measure_others(helper, key, opts, paths, floor):
    """({program: {workload: [ns over the empty one]}}, {program: {workload: runs}})"""
    ns, runs = {}, {}
    for _ in range(opts.rounds):
        with Attached(helper, "empty", key):
            for workload, device in WORKLOADS:
                if device and device not in paths:
                    continue
                label = workload + (" " + device if device else "")
                got, _, _ = bodies(helper, key, "one", workload, opts.ms,
                                   paths.get(device, ""), floor)
                for name, (body, n) in got.items():
                    ns.setdefault(name, {}).setdefault(label, []).append(body)
                    of = runs.setdefault(name, {})
                    of[label] = of.get(label, 0) + n
    return ns, runs


def other_rows(ns, runs):
    """Each program under the workload in which it ran most."""
    for name in sorted(ns):
        best = max(runs[name], key=runs[name].get)
        if name.startswith("jp_sched_switch") or len(ns[name][best]) < 2:
            continue  # a run or two are somebody else's
        yield Row("programs", "%s (%s)" % (name, best), "ns", ns[name][best],
                  target=PROBE_NS if name in PROBES else None)


def rows(helper, here, opts, paths):
    values, floors = measure_switch(helper, opts)
    yield Row("programs", "empty program, the clock reads of the statistics", "ns", floors)
    for key, what in SETS:
        for place, who, target in SWITCHED:
            yield Row("programs", "jp_sched_switch, %s, %s" % (what, who), "ns",
                      values[key, place], target=target)
    for place, who, target in PAIR:
        added = [a - b for a, b in zip(values["pair", place], values["base", place])]
        yield Row("programs", "jp_sched_switch, added by wait and culprit, " + who, "ns", added, target=target)
    paths = dict(paths, **{"of a task": helper.tell("dir", "one")[0]})
    floor = quartiles(floors)[1]
    yield from other_rows(*measure_others(helper, "most", opts, paths, floor))
    for word in ("block", "network", "files"):
        if word not in here:
            yield Row("programs", "programs of family " + word, "ns",
                      why="the family does not load")


def run(helper, opts):
    helper.open("base", SCHED)
    helper.open_all("pair", SCHED + ",wait,culprit")
    here = helper.open_all("most", ALL + ",files")
    helper.tell("stats", "on")
    try:
        with Devices() as d:
            yield from rows(helper, here, opts, d.paths)
    finally:
        helper.tell("stats", "off")
        for key, _ in SETS:
            helper.tell("close", key)
