#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The built-in rules: each is given for a job that has it, not for one just below its threshold, and not for
healthy jobs that look alike."""

import functools
import random
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from factslib import BINS, CORES, DT, NODES, NRULES, TASKS, WALL, changed, healthy, judge
from lib import *
from rulecases import CASES, CORE_S, CPU, PER_BIN, H, at, both, facts_of, gpus, one_core, one_writer, stacked, tail, unequal, used, useful, waited, waiting

LINE = 76


@functools.cache
def verdicts():
    return [(rule, name, given, judge(facts_of(what))) for rule, cases in CASES.items() for name, given, what in cases]


def each_rule():
    for rule, name, given, verdict in verdicts():
        title = "%s: %s" % (rule, name)
        if verdict["errors"]:
            not_ok(title, verdict["errors"])
        elif (rule in verdict["found"]) != given:
            not_ok(title, "%s, and found is %s" % (verdict["others"].get(rule), list(verdict["found"])))
        else:
            ok(title)


def every_rule_has_cases():
    verdict = judge(H)
    names = set(verdict["others"]) | set(verdict["found"])
    is_equal("rules with cases", sorted(CASES), sorted(names))
    is_equal("rules", verdict["nrules"], NRULES)
    for rule, cases in CASES.items():
        if not any(c[1] for c in cases) or not any(not c[1] for c in cases):
            not_ok(rule, "it needs a case that has it, and one that has not")


def idle_or_asleep():
    """Idle cores of threads that sleep need no more threads."""
    for part, slept in ((0.49, False), (0.51, True)):
        for slurm in (0, 1):
            f = judge(changed(H, both(used(0.5, is_slurm=slurm), {"job.asleep_s": part * 0.499 * CORE_S})))["found"]["cpu.unused"]
            is_equal("asleep for %g of the idle time, %d" % (part, slurm),
                     ("51 % of which its threads slept" in f["text"], "threads wait for" in f["remedy"]), (slept, slept))


def texts():
    """At most three lines; no NaN, no half words; singular and plural; a remedy or none."""
    bad = []
    for rule, name, _, verdict in verdicts():
        for f in verdict["findings"]:
            text = f["text"] + " " + f["remedy"]
            if max(len(f["text"]), len(f["remedy"])) > 3 * LINE - 20:
                bad.append("%s is long: %d, %d" % (f["id"], len(f["text"]), len(f["remedy"])))
            if re.search(r"\b(nan|nil|inf|unknown)\b(?<!cause is unknown)|inefficien|(?<![.,\d])1 \w+s\b(?<!1 less)(?<!1 was)|  ", text):
                bad.append("%s (%s): %s" % (f["id"], name, text))
            if not f["text"].endswith(".") or not f["text"][0].isupper() and not f["text"][0].isdigit() \
                    and not re.match(r"n\d|\d", f["text"]):
                bad.append("%s (%s): %s" % (f["id"], name, f["text"]))
            if not f["source"]:
                bad.append("%s has no source" % f["id"])
    is_equal("texts", sorted(set(bad)), [])


def costs():
    """Of a built-in loss, and in order."""
    for rule, name, wanted in (
            ("cpu.unused", "half of the cores", 0.5 * CORE_S),
            ("cpu.serial", "one of 8", 7 * WALL),
            ("cpu.nodes_unused", "one of four works", 3 * CORES * WALL),
            ("cpu.stacked", "ranks share cores", 0.6 * CORE_S),
            ("cpu.tail", "a third", 40 * PER_BIN * 0.98),
            ("job.stopped", "it hangs", 60 * PER_BIN),
            ("mpi.imbalance", "a node does most", 0.3 * CORE_S),
            ("node.slow", "one does less", 0.13 * CPU / NODES),
            ("cpu.neighbour", "many threads behind others", 0.9 * CORE_S),
            ("io.one_rank", "rank 0 writes", 30 * PER_BIN * 0.9),
            ("io.wait", "a quarter", 0.25 * CORE_S)):
        what = next(c[2] for c in CASES[rule] if c[0] == name)
        verdict = judge(facts_of(what))
        got = verdict["found"][rule]["cost"]
        is_true("cost of " + rule, abs(got - wanted) <= 0.1 * wanted, "%s, not %s" % (got, wanted))
        is_equal("%s comes first" % rule, verdict["findings"][0]["id"], rule)


def remedies():
    """The remedy fits what the job does."""
    for rule, name, wanted in (
            ("cpu.serial", "one of 8", "(OMP_NUM_THREADS, srun --ntasks)"),
            ("cpu.serial", "gzip", "(pigz)"),
            ("cpu.oversubscribed", "twice the threads", "of all processes together (#SBATCH --cpus-per-task=1): export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1"),
            ("cpu.oversubscribed", "of a build", "make -j1"),
            ("cpu.oversubscribed", "more ranks than cores", "mpirun -n"),
            ("cpu.system", "44 %", "Keep memory"),
            ("cpu.system", "a mapped file", "mapped once and in order"),
            ("io.small", "500 bytes", "setvbuf"),
            ("io.wait", "a commit for each row", "fewer commits, fsync()"),
            ("sync.fine", "one request at a time", "pipelining"),
            ("sync.fine", "cores are busy with handing on", "larger pieces of work"),
            ("proc.forks", "a program that is loaded again and again", "for each start")):
        got = judge(case(rule, name))["found"][rule]["remedy"]
        is_true("remedy of %s: %s" % (rule, name), wanted in got, got)


LINE_OF = r"#SBATCH( --[a-z-]+(=[\w:,-]+)?)+|export( [A-Z_]+=\w+)+|srun( --[a-z-]+=\w+)+"
PROGRAMS = ("jobprof", "sbatch")


def kinds():
    """Each built-in rule says whether its remedies are lines of job scripts, commands or sentences, and they are."""
    with open(os.path.join(ROOT, "user/findings/rules.lua")) as f:
        said = dict(re.findall(r'^rules\["([a-z_.]+)"\] = \{\n\tkind = "(line|command|sentence)",\n', f.read(), re.M))
    is_equal("rules that say their kind", sorted(said), sorted(CASES))
    wrong, seen = [], set()
    for rule, name, _, verdict in verdicts():
        for f in verdict["findings"]:
            seen.add((f["id"], f["kind"]))
            fits = f["kind"] in (said[f["id"]], "sentence") and f["remedy"].endswith(f["code"]) and (f["code"] != "") == (f["kind"] != "sentence") and (
                f["kind"] == "sentence" or f["kind"] == "line" and re.fullmatch(LINE_OF, f["code"]) or
                f["kind"] == "command" and f["code"].split()[0] in PROGRAMS)
            if not fits or f["needs"] is not None and f["used"] is not None and not 0 < f["used"] <= f["needs"]:
                wrong.append((rule, name, f["id"], f["kind"], f["remedy"], f["needs"], f["used"]))
    is_equal("remedies that are not of their kind", wrong, [])
    lines = {r for r, k in said.items() if k != "sentence"}
    is_equal("rules whose line or command no case has", sorted(lines - {r for r, k in seen if k != "sentence"}), [])


def only_inside_slurm():
    """Outside of a job nothing is said that only Slurm understands."""
    said = set()
    for cases in CASES.values():
        for _, _, what in cases:
            facts = changed(facts_of(what), {"job.is_slurm": 0, "job.request_mb": None, "job.limit_s": None, "job.array_tasks": None, "job.runs_per_day": None})
            for f in judge(facts)["findings"]:
                if re.search(r"srun|sbatch|SBATCH|scancel|salloc|--mem=", f["text"] + f["remedy"]):
                    said.add((f["id"], f["remedy"]))
    is_equal("remedies outside of Slurm", sorted(said), [])


def unequal_work():
    """Threads that wait for each other seldom and for long have unequal work; those that do so often meet at a lock."""
    for sleeps, said in ((10 * WALL, True), (200 * WALL, False)):
        f = judge(changed(one_core(), both({"job.cpu_share": 0.5, "job.cpu_s": 4 * WALL, "bin.cpu_s": 4 * DT, "job.demand": 4, "job.vol_switches": sleeps},
                                           {"job.tasks": 1, "job.idle_asleep_s": 3.9 * WALL, "job.idle_s": 0.1 * WALL, "task.cpu_s": 4 * WALL,
                                            "task.thread_run_s": 4 * WALL, "task.thread_wait_s": 0, "task.thread_s": 6.5 * WALL,
                                            "task.blocked_futex_s": 2.5 * WALL})))["found"]["cpu.unused"]
        is_equal("%d sleeps a second" % (sleeps / WALL), "evenly" in f["remedy"], said)


def little_to_gain():
    """Too many threads that hardly lose time are worth a note."""
    for name, wanted in (("twice the threads", "note"), ("with idle cores", "bad")):
        is_equal("cpu.oversubscribed: " + name, judge(case("cpu.oversubscribed", name))["found"]["cpu.oversubscribed"]["severity"],
                 wanted)


def file_for_each_call():
    """Whose calls take the kernel's time is worth a warning; opening a file for each of them takes longer than they do."""
    for seconds, wanted in ((2e-6, "warn"), (8e-6, "note")):
        calls = 0.12 * CPU / seconds
        mb = calls * 0.5 / 1024
        facts = changed(case("io.small", "500 bytes"), {"job.write_calls": calls, "bin.calls": calls / BINS, "job.write_mb": mb,
                                                        "job.disk_write_mb": mb})
        is_equal("io.small: %g s of the kernel for each call" % seconds, judge(facts)["found"]["io.small"]["severity"], wanted)


def sleeps_for_messages():
    """Sleeps at locks can be fewer; of what a server has to answer the clients decide, in sockets without IP, too."""
    for polls, wanted in ((0, "warn"), (CPU, "note")):
        facts = changed(case("cpu.system", "requests to a disk"), {"job.blk_ops": 0, "job.net_ops": 0, "job.blocked_poll_s": polls})
        is_equal("cpu.system: %g s in poll(2)" % polls, judge(facts)["found"]["cpu.system"]["severity"], wanted)


def unequal_cpus():
    """More CPU time of a rank is more work, or a slower CPU: without counts of instructions only a large difference is work."""
    for low, instructions, wanted in ((0.6, None, "note"), (0.6, 1e15, "bad"), (0.4, None, "bad")):
        facts = changed(H, both(useful(lambda i: 0.9 if i < 16 else low), {"job.instructions": instructions}))
        got = judge(facts)["found"]["mpi.imbalance"]
        is_equal("ranks of %g and 0.9, instructions %s" % (low, instructions), (got["severity"], "not equally fast" in got["text"]),
                 (wanted, wanted == "note"))


def mapped_files():
    """What the kernel does for each page fault is saved, too: how much is not known."""
    for faults, wanted in ((0, False), (0.2, True)):
        facts = changed(case("io.wait", "a quarter"), {"job.blocked_fault_s": faults * TASKS * WALL, "job.blocked_disk_s": 0.05 * TASKS * WALL,
                                                       "job.system_s": 0.01 * CPU, "job.has_mpi": 0})
        is_equal("io.wait: %g of the time in page faults" % faults, judge(facts)["found"]["io.wait"]["at_least"], wanted)


def others_beside_a_lock():
    """Cores that others had are lost to threads that could run, not to those that a lock holds."""
    for blocked_s, wanted in ((0, 0.9), (20 * CORE_S, 0.9 * 0.6)):
        facts = waited(both(waiting(0.9, 8, 0.1), {"job.others_s": 0.9 * CORE_S, "job.blocked_futex_s": blocked_s}), system=0.6)
        got = judge(changed(H, facts))["found"]["cpu.neighbour"]["cost"]
        is_true("cost of others, %d s at a lock" % blocked_s, abs(got - wanted * CORE_S) <= 0.02 * CORE_S, got / CORE_S)


def first_of_all():
    """The first process is none that was started: not more are said to be short than were started."""
    facts = case("proc.forks", "a loop of a shell")
    found = judge(changed(facts, {"job.short_processes": 50 * WALL * NODES + 1, "job.short_cpu_s": 1}))["found"]["proc.forks"]["text"]
    started, short = re.match(r"(\S+) processes were started; (\S+) of them", found).groups()
    is_equal("no more of them than were started", short, started)


def ranks_or_their_helpers():
    """Where a rank works or waits for a CPU all the time, a helper thread that sleeps does not say that it waits."""
    helpers = {"task.thread_s": 3 * WALL, "task.blocked_poll_s": 2 * WALL, "task.blocked_child_s": 0}
    for wait_s, said in ((0, True), (WALL, False)):
        found = judge(changed(H, both(unequal(), helpers, {"task.wait_s": wait_s})))["found"]
        is_equal("what ranks with less waited for, of %d s in a queue" % wait_s, "Ranks with less waited for events" in
                 found["mpi.imbalance"]["text"], said)


TWO = {*range(30, 45), *range(60, 90)}  # bins that are sick, and the seconds of these
TWO_S = [[900, 1350], [1800, 2700]]


def case(rule, name):
    return facts_of(next(c[2] for c in CASES[rule] if c[0] == name))


def times():
    """A finding of which the loss is in some bins names these; one of all the time names none."""
    in_two = lambda sick, well: at(TWO, sick, well)
    waits = {"bin.wait_s": in_two(0.4 * PER_BIN, 0.001 * PER_BIN)}
    for rule, name, bins, wanted in (
            ("cpu.oversubscribed", "twice the threads", waits, TWO_S),
            ("cpu.oversubscribed", "twice the threads", {}, []),
            ("cpu.neighbour", "another job", waits, TWO_S),
            ("cpu.neighbour", "seen to use the cores", waits, TWO_S),
            ("cpu.neighbour", "other jobs had the CPU", waits, TWO_S),
            ("cpu.stacked", "ranks share cores", {"bin.avoidable_s": at(range(0, 72), PER_BIN, 0)}, [[0, 2160]]),
            ("cpu.throttled", "an eighth stopped", {"bin.throttled_s": in_two(0.3 * PER_BIN, 0)}, TWO_S),
            ("cpu.tail", "a third", {}, [[2400, 3600]]),
            ("job.stopped", "it hangs", {}, [[1800, 3600]]),
            ("mpi.imbalance", "a node does most", {"bin.task_max_s": DT, "bin.task_mean_s": in_two(0.2 * DT, 0.95 * DT)}, TWO_S),
            ("mpi.imbalance", "a node does most", {"bin.task_max_s": in_two(0.1, DT), "bin.task_mean_s": in_two(0.01, 0.7 * DT)},
             [[0, 900], [1350, 1800], [2700, 3600]]),
            ("mpi.imbalance", "ranks that spin", {"bin.communication_efficiency": 0.9, "bin.with_cpu": 1, "bin.parallel_efficiency": in_two(0.3, 0.85)}, TWO_S),
            ("mem.oom", "two killed", {"bin.oom_kills": at({7, 50}, 1, 0)}, [[210, 240], [1500, 1530]]),
            ("mem.thrash", "pages come back", {}, [[600, 3600]]),
            ("mem.swap", "grows", {}, [[30, 1830]]),
            ("io.wait", "a quarter", {"bin.disk_wait_s": in_two(0.9 * PER_BIN, 1), "bin.cpu_s": in_two(0.1 * PER_BIN, PER_BIN)}, TWO_S),
            ("io.wait", "a quarter", {"bin.disk_wait_s": at({3}, 0.9 * PER_BIN, 0.3 * PER_BIN), "bin.cpu_s": at({3}, 1, PER_BIN)}, []),
            ("io.one_rank", "rank 0 writes", one_writer(active=TWO), TWO_S),
            ("io.one_rank", "rank 0 writes", {}, []),
            ("io.periodic", "20 stops", one_writer(active=TWO), TWO_S),
            ("io.metadata", "2300 a second", {}, [[300, 2700]]),
            ("proc.forks", "a loop of a shell", {"bin.forks": in_two(100 * DT * NODES, 1)}, TWO_S)):
        found = judge(changed(case(rule, name), bins))["found"]
        is_equal("times of %s: %s" % (rule, name), found.get(rule, {}).get("times"), wanted)
    idle = {"bin.gpu": at(range(80), 0, 0.6)}
    for name, util, wanted in (("all", 0.2, [[0, 2400]]), ("two of eight", at({2, 3}, 0, 0.9), [])):
        is_equal("times of gpu.idle: " + name, judge(changed(gpus(util), idle))["found"]["gpu.idle"]["times"], wanted)
    full = changed(healthy(nodes=1), {"node.own_peak_mb": 31500, "node.limit_mb": 32768, "bin.own_mb": in_two(31000, 20000)})
    is_equal("times of mem.near_limit", judge(full)["found"]["mem.near_limit"]["times"], TWO_S)


def order():
    """By cost, not by severity; what costs no core-seconds comes last, but what ends the job comes first."""
    facts = changed(H, both(used(0.7), {
        "job.disk_wait_s": 0.2 * CORE_S, "job.probe_s": 0.01 * CPU, "job.oom_kills": 1, "job.is_completed": 0,
        "node.oom_kills": at({0}, 1, 0), "job.migrations": 26 * CPU}))
    found = judge(facts)["findings"]
    costs_found = [f["cost"] for f in found if f["cost"] is not None]
    is_equal("costs descend", costs_found, sorted(costs_found, reverse=True))
    is_equal("the end of the job comes first", found[0]["id"], "mem.oom")
    is_equal("others without come last", [f["cost"] is None for f in found[1:]],
             sorted(f["cost"] is None for f in found[1:]))
    is_equal("which are without", [f["id"] for f in found if f["cost"] is None], ["mem.oom", "cpu.migrates"])


def healthy_jobs():
    """Nothing above a note, and no note without a reason in the job."""
    jobs = {"4 nodes": H, "1 core": healthy(nodes=1, cores=1, per_node=1), "a shell": changed(
        healthy(nodes=1, per_node=1), {"job.is_interactive": 1, "job.cpu_share": 0.01, "job.cpu_s": 400, "bin.cpu_s": 4,
                                       "job.demand": 0.1, "job.probe_s": 1, "job.migrations": 2000}),
        "GPUs": healthy(gpus=8), "10 bins": healthy(bins=10), "1 bin": healthy(bins=1),
        "1024 tasks": healthy(nodes=64), "whole nodes": changed(H, {"job.is_exclusive": 1}),
        "no Slurm": changed(H, {"job.is_slurm": 0, "job.limit_s": None, "job.request_mb": None}),
        "running": changed(H, {"job.is_running": 1, "job.is_completed": 0}),
        "hyper-threads": changed(H, {"job.cpus": 2 * NODES * CORES, "job.cpu_share": 1.8, "job.cpu_s": 1.8 * CORE_S,
                                     "job.demand": 1.8 * NODES * CORES})}
    for name, facts in jobs.items():
        verdict = judge(facts)
        is_equal("healthy: " + name, [(f["id"], f["severity"], f["text"]) for f in verdict["findings"]], [])
        is_equal("no errors: " + name, verdict["errors"], [])


def missing_data():
    """Each fact in turn is not known: a healthy job stays without findings, and a sick one gets none that it
    has not, and never an error."""
    sick = changed(H, both(unequal(), {"job.system_s": 0.4 * CPU, "job.oom_kills": 1, "job.is_completed": 0}))
    wrong = []
    for name, facts in (("healthy", H), ("sick", sick), ("GPUs", gpus(0.9))):
        usual = set(judge(facts)["found"])
        for scope in ("job", "node", "task", "gpu", "bin"):
            for fact in facts[scope]:
                v = judge(changed(facts, {"%s.%s" % (scope, fact): None}))
                # What explained the idle cores may be gone.
                more = set(v["found"]) - usual - ({"cpu.unused"} if name == "sick" else set())
                if more or v["errors"]:
                    wrong.append((name, scope, fact, sorted(more), v["errors"]))
    is_equal("without one fact", wrong, [])
    for scopes in (["node"], ["task"], ["gpu"], ["bin"], ["node", "task", "gpu", "bin"], ["job"]):
        facts = dict(H, **{s: {} for s in scopes})
        verdict = judge(facts)
        is_equal("without " + " ".join(scopes), (list(verdict["found"]), verdict["errors"]), ([], []))
    half = changed(H, {"bin." + k: at(range(0, BINS, 2), None, 0) for k in H["bin"] if k not in ("start_s", "span_s")})
    is_equal("every other bin", (list(judge(half)["found"]), judge(half)["errors"]), ([], []))
    low = judge(changed(H, both(unequal(), {"job.coverage": 0.85})))
    is_equal("coverage of 0.85", (list(low["found"]), low["others"]["mpi.imbalance"]),
             ([], {"judged": False, "reason": "there are rows for 85 % of the time, not for 90 %"}))


def zeros():
    """A job that did nothing at all, and one of nothing but zeros: no error."""
    for bins in (1, 12, BINS):
        f = healthy(bins=bins)
        zero = {s: {k: 0 if not isinstance(v, list) else [0] * len(v) for k, v in f[s].items()}
                for s in ("job", "node", "task", "bin")}
        verdict = judge(dict(f, **zero))
        is_equal("zeros, %d bins" % bins, verdict["errors"], [])


def odd_values():
    """Facts that are not known, nothing, tiny or huge, at random: never an error, and texts without holes."""
    random.seed(4711)
    bases, wrong = [H, gpus(0.5), facts_of(unequal()), facts_of(stacked(0.5)), facts_of(tail(60))], []
    for _ in range(150):
        facts = random.choice(bases)
        names = [(s, k) for s in ("job", "node", "task", "gpu", "bin") for k in facts[s]]
        changes = {"%s.%s" % n: random.choice((None, 0, 1, 1e-9, 0.5, 1e4, 1e12)) for n in random.sample(names, 25)}
        verdict = judge(changed(facts, changes))
        texts_found = " ".join(f["text"] + f["remedy"] for f in verdict["findings"])
        if verdict["errors"] or re.search(r"\bnan\b|\binf\b|unknown(?! c|[:,])(?<!cause is unknown)", texts_found):
            wrong.append((changes, verdict["errors"], texts_found))
    is_equal("odd values", wrong[:3], [])


def why():
    verdict = judge(changed(H, {"job.wait_share": None, "missing": {"job.wait_share": "no family sched"}}))
    is_equal("what is needed", verdict["others"]["cpu.stacked"],
             {"judged": False, "reason": "needs job.wait_share: no family sched"})
    none = {"job.wait_share": None, "job.avoidable_s": None, "job.cpu_share": None, "job.coverage": 0.85, "missing": {
        "job.wait_share": "no family sched", "job.avoidable_s": "no family sched", "job.cpu_share": "no cores"}}
    is_equal("all that is needed", judge(changed(H, none))["others"]["cpu.stacked"], {
        "judged": False, "reason": "there are rows for 85 % of the time, not for 90 %; needs job.avoidable_s and "
        "job.wait_share: no family sched; needs job.cpu_share: no cores"})
    is_equal("what was measured", verdict["others"]["cpu.unused"],
             {"judged": True, "reason": "0.96 of the core time was used, not below 0.80"})
    used = changed(H, {"job.cpu_share": 0.3, "job.others_s": 0.6 * H["job"]["core_s"]})
    is_equal("idle is not what others used", judge(used)["others"].get("cpu.unused", {}).get("judged"), True)
    for is_slurm in (0, 1):
        texts = [f["remedy"] for f in judge(changed(H, dict(stacked(0.6), **{"job.is_slurm": is_slurm})))["findings"]]
        is_equal("options of Slurm, of a job of Slurm alone: %d" % is_slurm,
                 any("#SBATCH" in t or "srun" in t for t in texts), is_slurm == 1)
    is_equal("who explains it", judge(one_core())["others"]["cpu.unused"],
             {"judged": True, "reason": "cpu.serial explains it"})
    short = changed(healthy(bins=2), {"job.cpu_share": 0.5, "job.cpu_s": NODES * CORES * DT, "scale": 0.1})
    is_true("a scaled run", "cpu.unused" in judge(short)["found"], judge(short)["others"].get("cpu.unused"))


def speed():
    """All rules over a week of 1,024 nodes: a bound that a loaded machine keeps, too."""
    facts = healthy(bins=20160, nodes=1024, cores=64, per_node=64)
    facts["job"].update(task_balance=0.5, balance_saving=0.3, cpu_share=0.7)
    facts["task"]["cpu_s"] = [1e5 * (1 + (i * 7919 % 1000) / 1000) for i in range(65536)]
    verdicts = [judge(facts) for _ in range(3)]
    is_equal("items", [len(facts["task"]["cpu_s"]), len(facts["bin"]["start_s"])], [65536, 20160])
    seconds = min(v["seconds"] for v in verdicts)
    is_true("found in it", "mpi.imbalance" in verdicts[0]["found"], verdicts[0]["others"])
    is_true("less than 0.5 s (%.0f ms)" % (1e3 * seconds), seconds < 0.5, seconds)


if __name__ == "__main__":
    run_tests([each_rule, every_rule_has_cases, idle_or_asleep, texts, costs, remedies, kinds, only_inside_slurm, unequal_work, little_to_gain,
               file_for_each_call, sleeps_for_messages, unequal_cpus, mapped_files, others_beside_a_lock, first_of_all, ranks_or_their_helpers,
               times, order, healthy_jobs, missing_data, zeros, odd_values, why, speed])
