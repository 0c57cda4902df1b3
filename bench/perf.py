# SPDX-License-Identifier: GPL-2.0-or-later
"""The same with counters: jobprof's perf family against perf stat by cgroup. A machine without
hardware counters counts software events instead: what reads them is the same, the reading is not."""

import peers
import switch
from helper import SCHED, Attached, Missing
from table import Row

TITLE = "ns added per context switch with counters"


def own_variants(helper, events):
    variants, lost = [], {}
    for mode in ("exact", "sampled"):
        name = "jobprof sched, perf " + mode
        key = "perf_" + mode
        try:
            if mode == "sampled" and events == peers.SOFTWARE:
                raise Missing("this machine has no hardware counters")
            helper.open(key, SCHED + ",perf", mode, [events])
            variants.append((name, Attached(helper, key)))
        except Missing as e:
            lost[name] = str(e)
    return variants, lost


def run(helper, opts):
    events = peers.HARDWARE if peers.counts_hardware() else peers.SOFTWARE
    variants, lost = own_variants(helper, events)
    names = [n for n, _ in variants] + list(lost)
    task0 = helper.tell("dir", "two")[0]
    stat = peers.PerfStat(helper.tell("pids", "two"), [task0, task0[:-1] + "1"],
                          events)
    try:
        why = stat.missing()
        if why:
            raise Missing(why)
        stat.prepare()
        variants.append((stat.name, stat))
    except Missing as e:
        lost[stat.name] = str(e)
    places = switch.PLACES[:2]
    try:
        bare, added, failed = switch.measure(helper, variants, [p for p, _ in places],
                                             max(3, opts.rounds // 2), opts.ms)
        lost.update(failed)
        if variants:
            yield Row("perf", "bare switch, two slots, for %s" % events, "ns", bare["two"])
        for name in names + [stat.name]:
            yield from switch.rows_of("perf", name, places, added, lost)
        added.setdefault(stat.name, {})
        for name in names:
            added.setdefault(name, {})
            yield from switch.compare("perf", name, [stat.name], "two", "two slots", added,
                                      lost)
    finally:
        stat.clean()
        for name, variant in variants:
            if name != stat.name:
                helper.tell("close", *variant.names)
