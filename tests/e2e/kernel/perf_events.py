#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The events of the family perf: names that stand for what perf's stand for, the columns that come
of them, lists that are refused."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *

UNIT = os.path.join(BUILD, "tests", "unit", "test_perf_event")
MSR = "/sys/bus/event_source/devices/msr/events/tsc"


def perf_attr(event):
    """Type, config, and what is left out, that perf asks the kernel for, be there such an event or
    not."""
    p = subprocess.run(["perf", "stat", "-vv", "-e", event, "true"], capture_output=True, text=True,
                       env=dict(os.environ, LC_ALL="C"))
    attr = re.search(r"^perf_event_attr:\n((?:  .*\n)+)", p.stderr, re.M)
    if not attr:
        return None
    values = dict(re.findall(r"^  (\w+) +(\S+)", attr.group(1), re.M))
    # zero is not printed
    return (int(values.get("type", "0"), 0), int(values.get("config", "0"), 0),
            int("exclude_user" in values), int("exclude_kernel" in values))


def names_are_perfs():
    if not shutil.which("perf"):
        raise Skipped("there is no perf")
    more = ["cycles:u", "instructions:k", "r1a8", "rffff0001:u"]
    more += ["msr/tsc/", "msr/tsc/u", "msr/event=0x2/k"] if os.path.exists(MSR) else []
    lines = subprocess.run([UNIT, "--names"] + more, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    bad = []
    for line in lines:
        name, *ours = line.split()
        if perf_attr(name) != tuple(int(x, 0) for x in ours):
            bad.append("%s: ours %s, perf's %s" % (name, ours, perf_attr(name)))
    is_true("%d names stand for what perf's stand for" % len(lines),
            not bad and len(lines) > 50 + len(more), "; ".join(bad))


def perf_columns(path):
    names = list(task_table(path).dtype.names)
    return names[names.index("TcpRetrans") + 1:names.index("PerfRunning")]


def shown(path):
    """Columns of task 0 in the page's JSON, with their values."""
    p = subprocess.run([JOBPROF, "show", "--json", path], capture_output=True, text=True)
    if p.returncode:
        raise Failed("show: " + p.stderr)
    t = json.loads(p.stdout)["nodes"][0]["tasks"][0]
    return {**t["sum"], **t["max"], **t["last"]}


def events_are_columns():
    cases = (("cpu-clock,page-faults", ["CpuClock", "PageFaults"]),
             ("context-switches:u,software/config=5,name=Minor_5/", ["ContextSwitchesUser", "Minor_5"]),
             (None, ["Cycles", "Instructions", "CacheMisses"]))
    for events, wanted in cases:
        _, path = run_jobprof(["true"], extra=["-e", events] if events else [])
        is_equal("%s: columns" % (events or "default"), perf_columns(path), wanted)
        with h5py.File(path, "r") as f:
            node = next(iter(f.values()))
            is_equal("%s: columns of the step" % (events or "default"),
                     [c for c in wanted + ["PerfRunning"] if c not in node["Step"].dtype.names], [])
            of_totals = subprocess.run([os.path.join(BUILD, "jobprof"), "extract", "-i", path, "-s", "Tasks", "-l", "totals", "-o", "-"],
                                       check=True, capture_output=True, text=True).stdout.splitlines()[0].split(",")
            is_equal("%s: per-interval totals" % (events or "default"), [c for c in wanted if "Sum_" + c not in of_totals], [])
            types = {str(node["Tasks/0"].dtype[c]) for c in wanted}
        is_equal("%s: numbers" % (events or "default"), types, {"float64"})
        is_equal("%s: shown" % (events or "default"), [c for c in wanted if c not in shown(path)], [])


def off_is_unknown():
    _, path = run_jobprof(["true"], extra=["-e", "cpu-clock", "--perf-mode", "off"])
    mode = attributes(path)["Mode perf"]
    is_true("--perf-mode off: a column without values, and why",
            numpy.isnan(task_table(path)["CpuClock"]).all() and mode.startswith("off"), mode)


def bad_lists_are_refused():
    for name, args, words in (
            ("unknown name", ["-e", "cylces"], '"cycles"'),
            ("unknown PMU", ["-e", "nosuch/event=1/"], "nosuch"),
            ("another column's name", ["-e", "minor-faults"], "column MinorFaults already"),
            ("twice", ["-e", "cycles,cpu-cycles"], "same event"),
            ("nine", ["-e", ",".join("r%d" % i for i in range(1, 10))], "more than 8"),
            ("nothing", ["-e", ""], "missing"),
            ("mode", ["--perf-mode", "fast"], "auto, exact, sampled or off")):
        p = subprocess.run([JOBPROF, "run"] + args + ["true"], capture_output=True, text=True)
        is_true("jobprof run: %s is refused" % name, p.returncode == 2 and words in p.stderr and
                p.stderr.count("\n") == 1, "%d %s" % (p.returncode, p.stderr))
    d = tmpdir()
    path = os.path.join(d, "bad.conf")
    for name, line, words in (("event", "PerfEvents=cycles,cylces", 'PerfEvents: cylces: .*"cycles"'),
                              ("mode", "PerfMode=fast", "PerfMode: .*auto, exact, sampled, off"),
                              ("budget", "PerfBudget=0", "PerfBudget: .*0.01 to 20")):
        with open(path, "w") as f:
            f.write("ProfileHDF5Dir=%s\n\n%s\n" % (d, line))
        for option, status in (("--check-config", 1), ("-f", os.EX_CONFIG)):
            p = subprocess.run([JOBPROFD, "-c", path, option], capture_output=True, text=True)
            is_true("jobprofd %s: a bad %s is refused" % (option, name), p.returncode == status and
                    re.search(r"bad\.conf:3: " + words, p.stderr), "%d %s" % (p.returncode, p.stderr))


def words_of_an_unknown_processor_are_left_out():
    """The other events are counted, and one line says so; without counters every word is of that kind."""
    if any(n == "cpu" or n.startswith("armv") for n in os.listdir("/sys/bus/event_source/devices")):
        raise Skipped("this processor has counters")
    d = tmpdir()
    p = subprocess.run([JOBPROF, "run", "-o", d, "-e", "@cpi;page-faults;@flops", "--", "true"], text=True, capture_output=True)
    said = [l for l in p.stderr.splitlines() if "@" in l]
    is_true("@cpi, @flops: left out in one line", p.returncode == 0 and len(said) == 1 and
            "@cpi, @flops: no such events" in said[0], "%d %s" % (p.returncode, p.stderr))
    files = glob.glob(d + "/**/*.h5", recursive=True)
    is_true("@cpi, @flops: page-faults are counted", total(task_table(files[0]), "PageFaults") > 0, p.stderr)
    conf = os.path.join(d, "words.conf")
    for events, code, words in (("@cpi;cs", 0, "words.conf:2: PerfEvents: @cpi: no such events"), ("@cpu;cs", 1, "@cpu is none of @cpi"),
                                ("@cpi;cz", 1, "cz: no such event")):
        with open(conf, "w") as f:
            f.write("ProfileHDF5Dir=%s\nPerfEvents=%s\n" % (d, events))
        p = subprocess.run([JOBPROFD, "--check-config", "-c", conf], capture_output=True, text=True)
        is_true("--check-config: " + events, words in p.stderr and (code == 0 or p.returncode == code), "%d %s" % (p.returncode, p.stderr))
        is_true("--check-config: %s says nothing of what was tried" % events, "tried on" not in p.stderr, p.stderr)


def a_restart_with_other_events_keeps_the_file():
    """What a running step's rows are made of stays; the next step has the new columns."""
    d = RootedDaemon("ev", PerfEvents="cpu-clock,page-faults").start()
    h = Hold()
    p = d.step(8101, 0, h.cmd("park"))
    path = d.path(8101, 0)
    live = os.path.join(os.path.dirname(path), "." + os.path.basename(path))
    wait_until(lambda: os.path.exists(live), 10, "the live file; " + d.said()[-300:])
    d.end(signal.SIGUSR1)
    d.configure(PerfEvents="context-switches")
    restarted = time.time_ns()
    d.start()
    sizes = set()
    wait_until(lambda: sizes.add(os.path.getsize(d.journals()[0])) or len(sizes) > 4, 20, "rows; " + d.said()[-300:])
    h.wait()
    h.go()
    p.wait()
    d.file(8101, 0)
    rows = task_table(path)
    is_equal("other events after a restart: the file has the old columns", perf_columns(path),
             ["CpuClock", "PageFaults"])
    is_true("other events after a restart: rows go on", (rows["TimeNS"] > restarted).sum() >= 3,
            "%d of %d" % ((rows["TimeNS"] > restarted).sum(), len(rows)))
    is_true("other events after a restart: they are not taken for the old ones",
            numpy.isnan(rows["PageFaults"][rows["TimeNS"] > restarted + int(5e8)]).all(),
            rows["PageFaults"])
    d.step(8102, 0, ["true"]).wait()
    is_equal("other events after a restart: the next step has them",
             perf_columns(d.file(8102, 0)), ["ContextSwitches"])
    is_true("other events after a restart: no row is rejected", "rejected" not in d.said(),
            d.said()[-300:])
    d.end()


if __name__ == "__main__":
    run_one(names_are_perfs)
    need_bpf()
    run_tests([events_are_columns, off_is_unknown, bad_lists_are_refused,
               words_of_an_unknown_processor_are_left_out, a_restart_with_other_events_keeps_the_file])
