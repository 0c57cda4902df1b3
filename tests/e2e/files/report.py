#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof report: its numbers are those of the tables, as h5py and numpy read them; bad files are named."""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from lib import *
import cases
import sick_io
import sick_memory
from jobs import Job
from layout import START

GOLDEN = os.path.join(ROOT, "tests/data/golden")


def report(*args):
    p = subprocess.run([JOBPROF, "report"] + list(args), capture_output=True, text=True)
    return p.returncode, p.stdout, p.stderr


def as_json(*args):
    status, out, err = report("--json", *args)
    if status:
        raise Failed("report --json %s: status %d, %s" % (" ".join(args), status, err))
    return json.loads(out)


def profiled():
    """A real run of a command that computes, sleeps and writes."""
    d = tmpdir("report")
    os.chmod(d, 0o777)
    subprocess.run([JOBPROF, "run", "-q", "--interval", "0.2", "-o", d, "--", "sh", "-c",
                    "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.7; "
                    "dd if=/dev/zero of=%s/w bs=4k count=2000 2>/dev/null; sleep 0.5" % d], check=True)
    return [os.path.join(d, f) for f in os.listdir(d) if f.endswith(".h5")][0]


def in_bins(ends, start, values, width, n):
    """An amount per row, spread evenly over the row's interval, as bins."""
    begins = numpy.concatenate([[start], ends[:-1]])
    edges = numpy.minimum(numpy.arange(n + 1) * width, ends[-1])
    total = numpy.concatenate([[0], numpy.cumsum(values)])
    at = numpy.concatenate([[begins[0]], ends])
    return numpy.diff(numpy.interp(edges, at, total))


def bins_are_rows():
    path = profiled()
    r = as_json(path)
    with h5py.File(path) as f:
        node = f[list(f)[0]]
        step = node["Step"][:]
        start = int(node.attrs["Start TimeNS"])
        task = node["Tasks/0"][:]
        cores = int(node.attrs["Allocated CPUs"])
        cpu = node["CPU"][:]
        budget = node["TimeBudget/0"][:]
    ends = (step["TimeNS"].astype(numpy.int64) - start) / 1e9
    n, width = len(r["bins"]["start_s"]), r["coverage"]["bin_s"]
    for fact, column in (("cpu_s", "CPUTime"), ("wait_s", "RunDelay"), ("write_mb", "WriteMB"),
                         ("minor_faults", "MinorFaults"), ("vol_switches", "VolSwitches")):
        is_near("report: %s is the sum of %s" % (fact, column), r["facts"].get(fact, r["facts"].get(fact)),
                step[column].sum(), 1e-9)
        wrong = numpy.abs(numpy.array(r["bins"][fact]) - in_bins(ends, 0, step[column], width, n)).max()
        is_near("report: bins of %s are its rows" % fact, wrong, 0, 0, 1e-5 * max(1, step[column].sum()))
    rows = numpy.diff(numpy.concatenate([[0], ends]))
    beside_idle = numpy.where(step["Queued"] > 0, step["QueuedBesideIdle"] / numpy.maximum(1, step["Queued"]), 1)
    wanted = numpy.minimum(step["RunDelay"] * beside_idle, numpy.maximum(0, cores * rows - step["CPUTime"]))
    idle = in_bins((cpu["TimeNS"].astype(numpy.int64) - start) / 1e9, 0, numpy.nan_to_num(cpu["IdleTime"]),
                   width, n)
    wanted = numpy.minimum(in_bins(ends, 0, wanted, width, n), idle).sum()
    is_near("report: avoidable waiting", r["facts"]["avoidable_s"], wanted, 1e-4, 1e-7)
    is_near("report: a task's CPU time", r["units"]["tasks"]["cpu_s"][0], task["CPUTime"].sum(), 1e-9)
    is_near("report: memory without page cache", r["facts"]["own_peak_mb"],
            numpy.nanmax(step["AnonMB"] + step["ShmemMB"]), 1e-9)
    for fact, column in (("thread_s", "ThreadTime"), ("blocked_sleep_s", "BlockedSleep"), ("blocked_child_s", "BlockedChild")):
        is_near("report: %s is the sum of %s" % (fact, column), r["facts"][fact], budget[column].sum(), 1e-9)
    all_causes = {c[7:].lower(): budget[c].sum() for c in budget.dtype.names if c.startswith("Blocked")}
    most = max(all_causes, key=all_causes.get)
    page = report(path)[1].splitlines()
    is_equal("report: the cause that blocked threads most, first", [l for l in page if l.startswith("  blocked in     %s %.0f %%" % (
        most, 100 * all_causes[most] / sum(all_causes.values())))] != [], True)
    is_equal("report: 80 columns, no blanks at the end", [line for line in page if len(line) > 80 or
                                                         line != line.rstrip()], [])
    is_near("report: shares of the time add up", sum(s["share"] for s in r["time_budget"]["shares"]), 1, 1e-9)
    is_near("report: cores x wall", r["time_budget"]["core_s"], cores * ends[-1], 1e-6)


def slurms_files():
    whole = as_json(GOLDEN + "/job_7.h5")
    parts = as_json(*[GOLDEN + "/7_%s.h5" % p for p in ("0_p1", "0_p2", "1_p1", "batch_p1")])
    whole["job"]["id"] = parts["job"]["id"] = ""
    is_equal("report: a job file says what its node-step files say", whole["facts"], parts["facts"])
    with h5py.File(GOLDEN + "/job_7.h5") as f:
        mb = sum(t["ReadMB"].sum() for s in f["Steps"].values() for n in s["Nodes"].values()
                 for t in n["Tasks"].values())
        main = [s["name"] for s in whole["job"]["steps"] if s["main"]][0]
        peak = max(t["RSS"].max() for n in f["Steps"][main]["Nodes"].values()
                   for t in n["Tasks"].values()) / 1024
    is_near("report: Slurm's ReadMB", whole["facts"]["read_mb"], mb, 1e-9)
    is_near("report: Slurm's RSS, of the main step", max(whole["units"]["tasks"]["peak_mb"]), peak, 1e-9)
    is_true("report: what Slurm's files do not have is missing, with a reason",
            "RunDelay" in (whole["missing"]["wait_s"] or "") and "wait_s" not in whole["facts"],
            str(whole["missing"].get("wait_s")))
    is_equal("report: no finding from what is missing: CPU time is known, idle cores are not, as CPUs may be threads of cores",
             ([f["id"] for f in whole["findings"]], "idle_s" in whole["facts"], "how many threads a core has" in whole["missing"]["idle_s"]),
             ([], False, True))
    page = report(GOLDEN + "/job_7.h5")[1]
    is_true("report: Slurm's CPUs are called so", re.search(r"^2 nodes \(p1, p2\), \d CPUs, ", page, re.M) and
            re.search(r"^  not used .* CPUs, or threads of cores$", page, re.M) and not re.search(r"\d cores", page), page)
    one = as_json(GOLDEN + "/real/job_1.h5")["facts"]
    is_near("report: one CPU is one core", one["idle_s"], one["core_s"] - one["cpu_s"], 1e-9, 1e-9)
    step = as_json("-j", "7.1", GOLDEN)
    is_equal("report: -j 7.1 is that step", [s["name"] for s in step["job"]["steps"]], ["1"])


def held_at(x, ends, values):
    """Of a task's rows at a time: a row holds from after the end of the one before to its own. The first one of
    Slurm's plugin has no length, before the task has done anything."""
    begins = numpy.concatenate([ends[:1], ends[:-1]])
    there = ((begins < x) & (x <= ends)) | ((begins == x) & (x == ends))
    there[0] = False
    return values[there].max(initial=0)


def memory_of_rows():
    """The highest memory is that of units at the same time, whatever the length of bins."""
    for number in (1, 2, 3):
        path, tables = GOLDEN + "/real/job_%d.h5" % number, {}
        with h5py.File(path) as f:
            for s in f["Steps"].values():
                for name, node in s["Nodes"].items():
                    tables.setdefault(name, []).extend((t["EpochTime"].astype(float), t["RSS"] / 1024)
                                                       for t in node["Tasks"].values())
        times = numpy.unique(numpy.concatenate([t for v in tables.values() for t, _ in v]))
        times = numpy.sort(numpy.concatenate([times, times - 0.5]))
        sums = [numpy.array([sum(held_at(x, *t) for t in v) for x in times]) for v in tables.values()]
        facts = as_json(path)["facts"]
        is_near("report: job %d: the fullest node's memory" % number, facts["own_peak_mb"], max(s.max() for s in sums), 1e-9)
        is_near("report: job %d: all nodes' memory" % number, facts["own_sum_peak_mb"], sum(sums).max(), 1e-9)


def killed_for_memory():
    """Rows miss what was taken last: a job that was killed at its limit held that. A small process that was killed did not."""
    path = os.path.join(tmpdir("killed"), "job_4711.h5")
    for share, wanted in ((0.77, 1), (0.2, 0.2)):
        j = cases.job("node", 5)
        sick_memory.oom(j, 1)
        sick_memory.own(j, share)
        j.write(path)
        facts = as_json(path)["facts"]
        is_near("report: killed, seen with %g of the limit" % share, facts["own_peak_mb"] / facts["limit_mb"], wanted, 1e-2)
        is_near("report: killed, seen with %g of the limit: the page's" % share, facts["peak_mb"] / facts["limit_mb"], wanted, 1e-3, 0.1 * (wanted < 1))


def killed_in_a_step():
    """srun --mem gives a step less than its job has: that limit was in the way."""
    path = os.path.join(tmpdir("killed"), "job_4711.h5")
    j, step = cases.job("node", 5), cases.job("node", 5)
    sick_memory.own(j, 0.05)
    less = 0.7 * j.limit_mb
    step.put_step(MemLimitMB=less)
    sick_memory.oom(step, 1)
    sick_memory.own(step, 0.5)
    j.extra.append(("1", step, 0))
    j.write(path)
    facts = as_json(path)["facts"]
    is_near("report: killed in a step: it held the step's limit", facts["own_peak_mb"], less, 1e-3)
    is_near("report: killed in a step: the job's limit", facts["limit_mb"], j.limit_mb, 1e-3)
    page = " ".join(report(path)[1].split())
    is_true("report: killed in a step: what it says", "at its step's limit of" in page and "srun --mem" in page, page)


def how_it_ended():
    d = tmpdir("ends")
    os.chmod(d, 0o777)
    for n, (script, word) in enumerate((("exit 3", "exit status 3"), ("kill -9 $$", "signal 9 (Killed)"),
                                        ("true", "exited"))):
        p = subprocess.run([JOBPROF, "run", "-o", "%s/%d" % (d, n), "--", "sh", "-c", script],
                           capture_output=True, text=True)
        is_true("report: %s: %s" % (script, word), p.stderr.lstrip().splitlines()[0].endswith("  " + word), p.stderr)
    j = cases.job("some", 5)
    j.state = None
    for reason, status, wanted in (("exited", 0, (1, 0)), ("exited", 3, (0, 0)), ("signal 9", 137, (0, 0)), ("time limit", None, (0, 0)),
                                   ("cgroup removed", None, (None, 0)), ("ended while jobprofd was away", None, (None, 0)),
                                   ("jobprofd was stopped", None, (None, None)), (None, None, (None, None))):
        j.attrs.update(end_reason=reason, exit_status=status)
        j.write(d + "/end.h5")
        facts = as_json(d + "/end.h5")["facts"]
        is_equal("report: %s, exit status %s: whether it completed, and whether it runs" % (reason, status),
                 (facts.get("is_completed"), facts.get("is_running")), wanted)


def times_of_findings():
    """Rank 0 writes alone four times; the page and the JSON say when."""
    path = os.path.join(tmpdir("times"), "x.h5")
    j = cases.job("some", 5)
    sick_io.one_rank(j, 0.15)
    j.write(path)
    found = {f["id"]: f for f in as_json(path)["findings"]}["io.one_rank"]
    is_equal("times: four, within a bin", [[round(t / 30) for t in time] for time in found["times"]],
             [[round(t / 30) for t in time] for time in j.times])
    is_equal("times: from the first to the last one", found["when"], [found["times"][0][0], found["times"][-1][1]])
    out = report(path)[1]
    said = re.search(r"costs [^\n]* less time, at ([0-9:]+), ([0-9:]+) and 2 more\s+times?$", out, re.M)
    is_equal("times: the page says two and how many more", said and said.groups(), ("25:30", "55:30"))
    is_equal("times: 80 columns", [x for x in out.splitlines() if len(x) > 80], [])


def bad_input():
    d = tmpdir("bad")
    with open(d + "/empty.h5", "w"):
        pass
    whole = open(GOLDEN + "/job_7.h5", "rb").read()
    with open(d + "/half.h5", "wb") as f:
        f.write(whole[:len(whole) // 2])
    for name in ("empty.h5", "half.h5", "absent.h5"):
        status, out, err = report(d + "/" + name)
        is_equal("report: %s: status 1, one line and no page" % name,
                 [status, out, len(err.splitlines())], [1, "", 1])
    status, _, err = report("--facts", GOLDEN + "/7_0_p1.h5", GOLDEN + "/2_0_p1.h5")
    is_true("report: facts of two jobs are refused", status == 2 and "several jobs" in err, err)
    status, _, err = report("--why", "no.such", GOLDEN + "/job_7.h5")
    is_true("report: --why of a rule that is not there", status == 1 and "no such rule" in err, err)


def the_page():
    status, out, err = report(GOLDEN + "/job_7.h5")
    is_equal("report: the page", [status, err], [0, ""])
    is_equal("report: 80 columns", [line for line in out.splitlines() if len(line) > 80], [])
    status, facts, _ = report("--facts", GOLDEN + "/job_7.h5")
    is_true("report: --facts has units", status == 0 and "job.read_mb" in facts and " MiB" in facts, facts[:200])


def several_nodes(**attrs):
    """The page with --all of a described job of four nodes, its JSON, and its path."""
    path = os.path.join(tmpdir("described"), "x.h5")
    j = cases.job("some", 5)
    j.attrs.update(attrs)
    j.energy(0.3, 0.3)
    j.write(path)
    status, out, err = report("--all", path)
    is_equal("several nodes: a page", [status, err], [0, ""])
    return out, as_json(path), path


def none_missing():
    """Said only where no row is missing, nor what was counted for one: whatever tells otherwise forbids it, on the page and in JSON."""
    path = several_nodes()[2]
    restart = "jobprofd was restarted%s"
    for attr, value, rows, counts in (
            (None, None, 0, 0), ("Lost", 0, 0, 0), ("Restarted", restart % "; no count is lost", 0, 0), ("Lost", 3, 3, 0),
            ("Restarted", restart % " with other programs; counts between are lost", 0, 1), ("Lost Bytes", 7, 0, 1), ("Torn Rows", 2, 0, 1),
            ("Left Cgroup After", 0.5, 0, 0)):
        with h5py.File(path, "r+") as f:
            attrs = f["Steps/0/Nodes/n2"].attrs
            was = attrs.get(attr) if attr else None
            if attr:
                attrs[attr] = value
        page, c = report(path)[1], as_json(path)["coverage"]
        left = re.search("^left its cgroup after [0-9.]+ m?s: what left is not counted from then on$", page, re.M)
        name = "none missing: %s %s" % (attr, value)
        is_equal(name, ["none missing" in page, ", 3 rows missing" in page, ", counts lost" in page, bool(left)],
                 [not rows and not counts and not left, rows == 3, counts == 1, attr == "Left Cgroup After"])
        is_equal(name + ", in JSON", [c["lost_rows"], c["lost_counts"], c["missed_cpu_s"]], [rows, counts, 0])
        with h5py.File(path, "r+") as f:
            attrs = f["Steps/0/Nodes/n2"].attrs
            if was is not None:
                attrs[attr] = was
            elif attr:
                del attrs[attr]
    for attr, value, known, said in (("Baseline", "was running when first seen", None, "ran before it was counted"),
                                     ("Missed CPU Time", 0.25, 0.25, "used 0.25 s of CPU time before it was counted")):
        with h5py.File(path, "r+") as f:
            f["Steps/0/Nodes/n2"].attrs[attr] = value
        page, c = report(path)[1], as_json(path)["coverage"]
        is_equal("none missing: " + attr, ["none missing" in page, ", %s\n" % said in page, c["missed_cpu_s"]], [False, True, known])
    with h5py.File(path, "r+") as f:
        for attr in ("Baseline", "Missed CPU Time"):
            del f["Steps/0/Nodes/n2"].attrs[attr]
        del f["Steps/0/Nodes/n2"].attrs["Lost"]
    is_equal("none missing: no end, in JSON", as_json(path)["coverage"]["lost_rows"], None)
    is_true("none missing: no end", ", its end is not in the file\n" in report(path)[1] and "none missing" not in report(path)[1], report(path)[1])


def narrow_pages():
    """No name is so long, and no number so large, that a line has more than 80 columns."""
    out, _, path = several_nodes()
    is_true("narrow: the limit of one of several nodes", re.search(
        r"^peak memory ([0-9.]+ GiB) on the fullest node; ask for --mem=[0-9]+G\n(?s:.*)^  memory  .* \1 of [0-9.]+ GiB$", out, re.M), out)
    for n, byte in ((16, "n"), (104, "n"), (5000, "n"), (5000, "\x1b")):
        for where in (("Job Name",), ("Job Name", "User", "Partition", "Final State", "End Reason")):
            with h5py.File(path, "r+") as f:
                for node in f["Steps/0/Nodes"].values():
                    for a in where:
                        node.attrs[a] = byte * n
                for c in f["Steps/0/Nodes/n1/Commands"] if "Commands" in f["Steps/0/Nodes/n1"] else ():
                    f["Steps/0/Nodes/n1/Commands"].move(c, byte * min(n, 200))
            out = report("--all", path)[1]
            is_equal("narrow: %d of %r as %s" % (n, byte, ", ".join(where)), [x for x in out.splitlines() if len(x) > 80], [])
            is_equal("narrow: a name of that length is cut", '..."' in out.split("\n")[0], n > 40)


def rates():
    """What the page says of each second, and of energy, is what the rows add up to."""
    out, r, path = several_nodes()
    with h5py.File(path) as f:
        steps = [n["Step"][()] for n in f["Steps/0/Nodes"].values()]
    total = lambda c: sum(numpy.nansum(s[c]) for s in steps)
    wall = r["facts"]["wall_s"]
    switches, forced = total("VolSwitches") + total("InvolSwitches"), total("InvolSwitches")
    said = re.search(r"^Switches +([0-9,]+)/s, ([0-9]+) % of them forced$", out, re.M)
    is_true("rates: switches", said and abs(float(said.group(1).replace(",", "")) - switches / wall) <= 0.5 and
            abs(float(said.group(2)) - 100 * forced / switches) <= 0.5, [said and said.group(0), switches / wall])
    said = re.search(r"^  read .*, ([0-9.]+) calls/s, ", out, re.M)
    rate = total("ReadCalls") / wall
    is_true("rates: below 1 there are two digits", 0.1 < rate < 1 and said and
            abs(float(said.group(1)) - rate) <= 0.005, [said and said.group(0), rate])
    units = re.findall(r"[0-9] (J|kJ|kWh|MWh)", re.search(r"^Energy .*$", out, re.M).group(0))
    is_equal("rates: the energy has one unit", [len(units), len(set(units))], [4, 1])
    said = re.search(r"^Energy +([0-9.]+) kWh \(([0-9.]+) kWh to ([0-9.]+) kWh", out, re.M)
    with h5py.File(path) as f:
        energy = [sum(n["Energy"][c].sum() for n in f["Steps/0/Nodes"].values()) / 3.6e6
                  for c in ("StepEnergy", "StepEnergyLow", "StepEnergyHigh")]
    is_equal("rates: and is that of the rows", [float(x) for x in said.groups()], [round(e, 2) for e in energy])


def ends_of_the_axis():
    """Of a run of minutes the axis of time has seconds since the start, of hours the times of day as date prints them, of days the days."""
    path = os.path.join(tmpdir("axis"), "x.h5")
    for wall, form in ((300, None), (6 * 3600, "+%H:%M"), (3 * 86400, "+%b %-d %H:%M")):
        Job(nodes=1, tasks=2, cores=2, wall=wall, row=wall / 300).write(path)
        said = re.search(r"^Over time +(.*)$", report("--all", path)[1], re.M).group(1)
        wanted = ["0 s", "2:30", "5:00"] if not form else [subprocess.run(
            ["date", "-d", "@%d" % (START + s), form], env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True).stdout.strip() for s in (0, wall / 2, wall)]
        is_equal("axis: a run of %d s" % wall, re.split(" {2,}", said), wanted)


HEADS = {"tasks": "(Ranks|Tasks) ", "programs": "Programs by", "over time": "Over time", "input and output": "Input and output$",
         "bursts and folds": "(Bursts|Folded) "}


def one_screen():
    """40 lines: what has no room is named, and is on the page of --all; a finding beyond the third has a line."""
    path = several_nodes()[2]
    for name, file in (("Slurm's", GOLDEN + "/real/job_1.h5"), ("four nodes", path)):
        page, everything = report(file)[1], report("--all", file)[1]
        left = re.search(r"^Not on this page: (.*) \(--all\)$", page, re.M)
        left = left.group(1).split(", ") if left else []
        is_true("screen: %s: 40 lines" % name, len(page.splitlines()) <= 40, page)
        has = lambda text, part: bool(re.search("^" + HEADS[part], text, re.M))
        is_equal("screen: %s: a part is there, or is named, or is nowhere" % name,
                 {p: (has(page, p), p in left) for p in HEADS}, {p: (has(everything, p) and p not in left,
                                                                    has(everything, p) and p in left) for p in HEADS})
    is_true("screen: four nodes: some parts have no room", left and len(left) < 4, left)
    j = cases.job("some", 5)
    cpu = numpy.where(numpy.arange(j.tasks) % 2, 0.3, 0.6)[:, None]
    j.put(CPUTime=cpu, RunDelay=0.02 * cpu, OffCPUDisk=0.35, BlkReads=4900 * cpu, BlkReadMB=20 * cpu, system=0.3, Forks=60.0,
          AnonMB=0.97 * j.limit_mb / j.per_node.max())
    j.write(path)
    page, findings = report(path)[1], as_json(path)["findings"]
    verdict = page[page.index("What held it back"):page.index("Where the time went")].split("\n")
    at = [verdict.index(l) for l in verdict if re.match("[1-9] (BAD|WARN|note) ", l)] + [len(verdict) - 2]
    is_true("screen: the fourth finding, and those after it, have a line", len(findings) >= 4 and
            [b - a > 1 for a, b in zip(at, at[1:])] == [True] * 3 + [False] * (min(5, len(findings)) - 3), verdict)


def reasons_are_words():
    out = report("--all", GOLDEN + "/job_7.h5")[1] + report("--all", several_nodes()[2])[1]
    said = re.findall(r"not judged: .*", out)
    is_true("reasons: in words", len(said) >= 3 and not [s for s in said if "_" in s], said)


def memory_between_rows():
    """Memory that was given back before the row ended is in no row, and is the peak all the same: first and once on the page,
    a fifth less than what to ask for."""
    d = tmpdir("between")
    subprocess.run([JOBPROF, "run", "-q", "-o", d, "--", "/usr/bin/python3", "-c",
                    "a = b'x' * (300 << 20); del a; print(open('/proc/self/status').read())"],
                   check=True, stdout=open(d + "/status", "w"))
    peak = int(re.search(r"VmHWM:\s*([0-9]+) kB", open(d + "/status").read()).group(1)) / 1024
    page = report(d)[1]
    said = re.findall(r"^peak memory ([0-9]+) MiB; ask for --mem=([0-9]+)M$", page, re.M)
    is_near("report: peak memory, where no row has it", int(said[0][0]), peak, 0, 1)
    is_true("report: what to ask for", 1.2 * peak <= int(said[0][1]) < 1.2 * peak + 17, [said, peak])
    is_near("report: peak memory in JSON", as_json(d)["facts"]["peak_mb"], peak, 0, 0.5)
    is_equal("report: one number of memory", re.findall(r"[0-9.]+ (?:[KMGT]iB|[KMGT]B)\b", page.split("Over time")[0]), [said[0][0] + " MiB"])


def odd_numbers():
    """Numbers that no job has, as a damaged file may: there is a page, or a line that says why not."""
    path = os.path.join(tmpdir("odd"), "job_7.h5")
    for column in ("CPUTime", "RSS", "ReadMB", "WriteMB"):
        for value in (1e300, 1e60, -1e60, numpy.inf, 2.0 ** 63):
            shutil.copy(GOLDEN + "/job_7.h5", path)
            with h5py.File(path, "r+") as f:
                for t in (t for s in f["Steps"].values() for n in s["Nodes"].values()
                          for t in n["Tasks"].values()):
                    rows = t[()]
                    if rows.dtype[column].kind == "u":
                        rows[column] = 2 ** 63
                    else:
                        rows[column] = value
                    t[...] = rows
            status, out, err = report("--all", path)
            unknown = [l for l in err.splitlines() if "values that cannot be (%s)" % column in l]
            is_equal("report: %s of %g is not believed" % (column, value), len(unknown), 1)
            err = "".join(l for l in err.splitlines(True) if "values that cannot be" not in l)
            is_true("report: %s of %g" % (column, value), status == (1 if err else 0) and
                    bool(out) != bool(err) and max(map(len, (out + err).splitlines())) < 400, err + out)
            as_json(path)


def without_tasks():
    """A step without tasks whose cores are not known: no line has a number for them."""
    path = os.path.join(tmpdir("none"), "x.h5")
    j = cases.job("node", 5)
    j.write(path)
    with h5py.File(path, "r+") as f:
        node = f["Steps/0/Nodes/n1"]
        most = node["Step"]["CPUTime"].max() / j.row
        del node["Tasks"]
        for a in ("Allocated Cores", "Allocated CPUs", "CPUs per Task", "Number of Tasks"):
            node.attrs.pop(a)
    for option in ((), ("--all",)):
        status, out, err = report(*option, path)
        is_equal("no tasks: a page", [status, err, re.findall("nan|inf", out)], [0, "", []])
        row = re.search(r"^  CPU .*  max (\S+) cores$", out, re.M)
        is_near("no tasks: the most cores that were used", float(row.group(1)), most, 0.05)


def hostile_names():
    """A user may write anything into a file: on the page names are printable ASCII, in JSON they are valid."""
    path = profiled()
    name = "\x1b[31mX\x07\x9b\u202e\x85\n<b>"
    with h5py.File(path, "r+") as f:
        node = f[list(f)[0]]
        for a in ("Job Name", "User", "Partition", "Account", "Cluster", "End Reason", "Final State"):
            node.attrs[a] = name
        for a in ("Executable", "MPI Libraries"):
            node["Tasks/0"].attrs[a] = name
        for k in list(node["Commands"]):
            node["Commands"].move(k, k + name)
        f.move(node.name, "n" + name)
    for args in ((), ("--all",), ("--facts",), ("--why", "cpu.unused")):
        status, out, err = report(*args, path)
        is_equal("report: names are text, %s" % " ".join(args or ("the page",)),
                 [status, sorted({c for c in out + err if not (" " <= c <= "~" or c == "\n")} & set(name))],
                 [0, []])
    r = as_json(path)
    is_true("report: JSON has them as they are", r["job"]["name"] == name and
            all(c["name"].endswith(name) for c in r["commands"]), r["job"])


def no_rules():
    """What --rules names is a file of the reader's or root's, or a line says why it is not used."""
    d = tmpdir("rules")
    os.mkfifo(d + "/fifo")
    for name, mode in (("writable", 0o666), ("foreign", 0o644)):
        with open(d + "/" + name, "w"):
            pass
        os.chmod(d + "/" + name, mode)
    os.chown(d + "/foreign", 65534, 65534)
    for name, why in (("fifo", "not a regular file"), (".", "not a regular file"),
                      ("absent", "No such file"), ("writable", "chmod go-w"), ("foreign", "another user")):
        status, out, err = report("--rules", d + "/" + name, GOLDEN + "/job_7.h5")
        is_true("report: --rules of %s: one line says why" % name,
                status == 1 and not out and len(err.splitlines()) == 1 and why in err, err)


if __name__ == "__main__":
    run_tests((bins_are_rows, slurms_files, memory_of_rows, killed_for_memory, killed_in_a_step, how_it_ended, times_of_findings, bad_input, the_page, none_missing, narrow_pages, rates, ends_of_the_axis, one_screen,
               reasons_are_words, memory_between_rows, odd_numbers, without_tasks,
               hostile_names, no_rules))
