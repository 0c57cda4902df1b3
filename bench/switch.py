# SPDX-License-Identifier: GPL-2.0-or-later
"""What a context switch costs more with each program attached: two processes pass a byte to and
fro through pipes on one CPU. Bare runs before and after each variant, the variants in turn."""

import peers
from helper import ALL, SCHED, Attached, Missing
from stats import less, rotated
from table import Row

TITLE = "ns added per context switch (two tasks on one CPU), over bare runs before and after"
PLACES = (("one", "one slot"), ("two", "two slots"), ("none", "no step"))


def measure(helper, variants, places, rounds, ms, workload="switch"):
    """({place: bare ns}, {name: {place: ns added}}, {name: why}), per operation: lists with a value
    per round. A variant that fails in a round is left out from then on."""
    bare = {p: [] for p in places}
    added = {name: {p: [] for p in places} for name, _ in variants}
    lost = {}

    def run_all():
        return {p: helper.run(p, workload, ms) for p in places}

    for i in range(rounds):
        before = run_all()
        for name, variant in rotated(variants, i):
            if name in lost:
                continue
            try:
                variant.start()
                got = run_all()
                variant.stop(sum(ops for _, ops in got.values()))
            except Missing as e:
                lost[name] = str(e)
                continue
            after = run_all()
            for p in places:
                bare[p].append(before[p][0])
                added[name][p].append(got[p][0] - (before[p][0] + after[p][0]) / 2)
            before = after
    return bare, added, lost


def own_variants(helper):
    """Variants of jobprof that load, and why others do not."""
    variants, lost = [("empty program", Attached(helper, "empty"))], {}
    for name, families in (("jobprof sched", SCHED), ("jobprof sched, latency", SCHED + ",latency"),
                           ("jobprof sched, wait", SCHED + ",wait"),
                           ("jobprof sched, wait, culprit", SCHED + ",wait,culprit"),
                           ("jobprof sched, sample", SCHED + ",sample"),
                           ("jobprof sched, stack", SCHED + ",wait,stack"),
                           ("jobprof sched, burst", SCHED + ",burst")):
        key = name[len("jobprof "):].replace(", ", "_")
        try:
            helper.open(key, families)
            variants.append((name, Attached(helper, key)))
        except Missing as e:
            lost[name] = str(e)
    here = helper.open_all("all", ALL)
    variants.append(("jobprof all but perf", Attached(helper, "all")))
    return variants, lost, [w for w in ALL.split(",") if w not in here]


def rows_of(section, name, places, added, lost):
    for p, where in places:
        yield Row(section, "%s, %s" % (name, where), "ns", added.get(name, {}).get(p),
                  why=lost.get(name))


def compare(section, ours, theirs, place, where, added, lost):
    """The target: less than each peer."""
    for name in theirs:
        a, b = added[ours].get(place), added[name].get(place)
        label = "%s less than %s, %s" % (ours, name, where)
        if lost.get(ours) or lost.get(name) or not a or not b:
            yield Row(section, label, "", why=lost.get(name) or lost.get(ours) or "no value")
        else:
            n = min(len(a), len(b))
            yield Row(section, label, "", verdict=less(a[:n], b[:n]))


def run(helper, opts):
    variants, lost, absent = own_variants(helper)
    own = [name for name, _ in variants] + list(lost)
    others = peers.switch_peers()
    for peer in others:
        why = peer.missing()
        if why:
            lost[peer.name] = why
        else:
            variants.append((peer.name, peer))
    bare, added, failed = measure(helper, variants, [p for p, _ in PLACES], opts.rounds, opts.ms)
    lost.update(failed)
    for p, where in PLACES:
        yield Row("switch", "bare switch, " + where, "ns", bare[p])
    for name in own + [p.name for p in others]:
        yield from rows_of("switch", name, PLACES, added, lost)
    yield Row("switch", "jobprof all but perf, as ProbeTime has it", "ns",
              [float(helper.tell("calibrate", "all")[0]) for _ in range(opts.rounds)])
    if absent:
        yield Row("switch", "families left out of \"all but perf\"", "", verdict=", ".join(absent))
    for p in others:
        added.setdefault(p.name, {})
    for ours in ("jobprof sched", "jobprof all but perf"):
        for p, where in (PLACES[0], PLACES[2]):
            yield from compare("switch", ours, [o.name for o in others], p, where, added, lost)
    for key in ("sched", "sched_latency", "sched_wait", "sched_wait_culprit", "sched_burst", "all"):
        helper.tell("close", key)
