#!/usr/bin/python3
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 1200
"""jobprof report --html: the page in Debian's Chromium shows the numbers of --json and of the file, whatever is
missing or strange, and is written whole or not at all. Modules: tests/web/*.test.js; what is looked at in
the browser: tests/web/browser.js, looks.js and joined.js."""

import base64
import os
import resource
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
import sick_io
from besideslib import put_bursts, put_fold, put_stacks
from jobs import Job
from layout import START
from lib import *

TEMPLATE = os.path.join(os.path.dirname(JOBPROF), "web/report.html")
WEB = os.path.join(ROOT, "tests/web")
# Sections that are not there without a family's columns.
ABSENT = {"ENERGY": ["energy"], "LATENCY": ["run-latency"], "BLOCK": ["blk-latency"]}
FAMILIES = "SCHED MEMORY FILES SELF CGROUP LATENCY BLOCK NETWORK PERF ENERGY GPU INTERCONNECT NODE".split()
MARKUP = "<img src=x onerror=hacked=1></script><script>hacked=1</script><!--"
STRANGE = MARKUP + " \u202eevil\u2066 \u05d0\u05d1 ]]> &amp; \u2028 \"'"
LARGE_MAX = 2 << 20
MEMORY_MAX_KB = 600 << 10


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            raise Skipped("there is no %s: scripts/install-deps test" % p)
    if not os.path.exists(TEMPLATE):
        raise Skipped("make made no template: node or npm was not there")


def report(*args):
    return subprocess.run([JOBPROF, "report", *args], capture_output=True, text=True, timeout=300)


def page(folder, name, path, *options):
    for form, out in (("--html", name + ".html"), ("--json", name + ".json")):
        out = os.path.join(folder, out)
        p = report(*options, *([form, out] if form == "--html" else [form]), path)
        if p.returncode:
            raise Failed("report %s of %s: %s" % (form, name, p.stderr.strip()))
        if form == "--json":
            with open(out, "w") as f:
                f.write(p.stdout)


def sick():
    """Unequal ranks, one that writes alone, and half an hour without work at the end."""
    j = Job(nodes=4, tasks=16, cores=4, wall=7200, row=30)
    j.put(CPUTime=numpy.where(numpy.arange(16) < 4, 0.97, 0.5)[:, None] * (j.t < 5400))
    j.put(ReadMB=0.0, WriteMB=numpy.where(numpy.arange(16) == 0, 40.0, 0.0)[:, None] * ((j.t // 600) % 2 == 1) * (j.t < 5400))
    j.put(ReadCalls=0.0, WriteCalls=1.0 * (j.t < 5400))
    j.put(NetTxMB=3.0, NetRxMB=2.0)
    j.put(RunDelay=0.02 * (j.t < 5400))
    j.culprits(OtherJobs=0.6, System=0.3, OwnStep=0.1)
    j.samples(Own=0.55, MPI=numpy.linspace(0.1, 0.4, 16)[:, None], BLAS=0.05, Kernel=numpy.linspace(0.3, 0.0, 16)[:, None], ForMPI=0.0)
    j.budget(Futex=0.7, Socket=0.28, Pipe=0.01, Sleep=0.005, Other=0.005)
    return j


def short():
    """17.4 s with rows of a second: the last one is not whole. Task 0 works in every other second; nothing is read or written."""
    j = Job(nodes=1, tasks=2, cores=2, wall=17.4, row=1)
    j.put(CPUTime=numpy.where(numpy.arange(2)[:, None] == 0, numpy.where(j.t % 2 < 1, 0.9, 0.05), 0.5), ReadMB=0.0, WriteMB=0.0, ReadCalls=0.0, WriteCalls=0.0)
    return j


def rows_of(path, series, column):
    """[table][row] of the tables of a series, as h5py reads them, and the length of the rows."""
    with h5py.File(path) as f:
        found = []
        f.visititems(lambda n, o: found.append(o[column]) if isinstance(o, h5py.Dataset) and "/%s/" % series in n else None)
    return numpy.array(found)


def numbers_of(path, report):
    """Where on the page which number is, from the tables themselves: [value, what it may differ by]."""
    cpu, rss = rows_of(path, "Tasks", "CPUTime"), rows_of(path, "Tasks", "RSS")
    moved = rows_of(path, "Tasks", "ReadMB") + rows_of(path, "Tasks", "WriteMB")
    facts, shares = report["facts"], {s["name"]: s["share"] for s in report["time_budget"]["shares"] if s["share"] is not None}
    out = {
        "[data-value='cpu highest']": [cpu.max() / 30, 0.006],
        "[data-value='cpu lowest']": [cpu.min() / 30, 0.006],
        "[data-value='memory highest']": [rss.max() / 1024, 0],
        "[data-value='memory median']": [numpy.median(numpy.median(rss, axis=0)) / 1024, 0],
        "[data-value='io highest']": [moved.max() / 30, 0],
        "[data-spread=cpu_s] td:nth-child(3)": [numpy.median(cpu.sum(axis=1)), 0.6],
        "[data-energy=all] b": [facts["energy_j"], 0],
        "[data-given=cpu] .share": [rows_of(path, "Tasks", "CPUTime").sum() / facts["core_s"], 0.005],
        "[data-given=memory] .share": [facts["own_peak_mb"] / facts["limit_mb"], 0.005],
        "[data-given=time] .share": [facts["job_elapsed_s"] / facts["limit_s"], 0.005],
    }
    for name, share in shares.items():
        out["#went [data-share='%s']" % name] = [100 * share, 0.051]
    lived = rows_of(path, "TimeBudget", "ThreadTime").sum()
    for name, column in (("locks", "BlockedFutex"), ("socket", "BlockedSocket"), ("wait for CPU", "CPUWait")):
        out["#threads [data-share='%s']" % name] = [100 * rows_of(path, "TimeBudget", column).sum() / lived, 0.051]
    ran, waits = cpu.sum(), {c: rows_of(path, "Culprits", c).sum() for c in ("OwnStep", "OtherJobs", "System")}
    for name, column in (("own step", "OwnStep"), ("other jobs", "OtherJobs"), ("not profiled", "System")):
        out["#culprits [data-share='%s']" % name] = [100 * waits[column] / (ran + sum(waits.values())), 0.051]
    samples, mpi = rows_of(path, "Samples", "Samples").sum(axis=1), rows_of(path, "Samples", "MPI").sum(axis=1)
    for name, column in (("own program", "Own"), ("MPI", "MPI"), ("BLAS", "BLAS"), ("kernel", "Kernel")):
        out["#modules [data-share='%s']" % name] = [100 * rows_of(path, "Samples", column).sum() / samples.sum(), 0.051]
    useful = cpu.sum(axis=1) * (1 - mpi / samples)
    out["#pop [data-pop=load_balance]"] = [useful.mean() / useful.max(), 0.0051]
    small = sum(rows_of(path, "TimeBudget", "Blocked" + c).sum() for c in ("Pipe", "Sleep", "Other", "Disk"))
    out["#threads [data-share='other']"] = [100 * small / lived, 0.051]
    return out


def absurd(path, without=()):
    """A job whose numbers no machine has, but for these columns."""
    sick().write(path)
    rng = numpy.random.default_rng(1)
    strange = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1e308, -1e308, -1.0, 0.0, 1e-308, 3.0])

    def spoil(_, item):
        if not isinstance(item, h5py.Dataset) or not item.dtype.names:
            return
        rows = item[()]
        for name in rows.dtype.names:
            if rows.dtype[name].kind == "f" and name not in ("ElapsedTime", "EpochTime") + without:
                at = rng.random(len(rows)) < 0.3
                rows[name][at] = rng.choice(strange, at.sum())
        item[()] = rows

    with h5py.File(path, "r+") as f:
        f.visititems(spoil)


def with_besides(folder, cases):
    """Bursts of two kinds, a folded loop, and stacks: what they are called is hostile."""
    path = os.path.join(folder, "besides.h5")
    sick().write(path)
    run, gap = put_bursts(path, START, [(300, 0.003, 0.002), (200, 0.03, 0.002)])
    put_fold(path, STRANGE, 0.024, [0.25, 0.6, 1.0])
    put_stacks(path, START, {"main;%s;inner" % MARKUP.replace("//", "/"): 3.0, "main;work": 1.0, "[blocked: locks];main;lock": 2.0})
    page(folder, "besides", path)
    cases.append({"name": "besides", "sections": ["stacks", "clusters", "fold"], "numbers": {
        "[data-bursts=A]": [200, 0], "[data-bursts=B]": [300, 0], "#fold tbody tr:nth-child(2) td:nth-child(3)": [0.35 * 0.024, 0]}})


def cases_of(folder):
    cases = []

    def add(name, job, **more):
        path = os.path.join(folder, name + ".h5")
        job.write(path)
        page(folder, name, path)
        cases.append({"name": name, **more})
        return path

    path = add("sick", sick(), sections=["findings", "went", "threads", "culprits", "pop", "modules", "time", "spread", "heat", "more", "io", "energy", "missing", "method", "run-latency"],
               without=["stacks", "clusters", "fold"])
    with open(os.path.join(folder, "sick.json")) as f:
        cases[0]["numbers"] = numbers_of(path, json.load(f))
    stops = Job(nodes=4, tasks=16, cores=4, wall=7200)
    sick_io.one_rank(stops, 0.15)
    add("stops", stops)
    healthy = Job(nodes=1, tasks=1, cores=4, wall=1800)
    add("healthy", healthy, sections=["findings", "went", "time", "heat"], without=["spread", "gpus", "threads", "culprits", "pop", "modules"])
    path = add("short", short(), sections=["heat", "run-latency"])
    gpu = Job(nodes=2, tasks=4, cores=4)
    gpu.gpus(2, numpy.where(gpu.t < 600, 90.0, 0.0))
    add("gpu", gpu, sections=["gpus"])
    for family in FAMILIES:
        less = sick()
        less.without = {"FILES", "WAIT", family}
        add("no " + family, less, without=ABSENT.get(family, []))
    nothing = sick()
    nothing.without = set(FAMILIES) - {"SCHED"} | {"WAIT"}
    add("only SCHED", nothing, without=["energy", "blk-latency"])
    hostile = sick()
    hostile.attrs.update(user=STRANGE, job_name=STRANGE + "x" * 10000, partition=MARKUP, account="\x1b[31m\x07")
    hostile.program = MARKUP.replace("/", "")
    add("hostile", hostile)
    with_besides(folder, cases)
    absurd(os.path.join(folder, "absurd.h5"))
    page(folder, "absurd", os.path.join(folder, "absurd.h5"))
    cases.append({"name": "absurd"})
    page(folder, "of Slurm's own plugin", os.path.join(ROOT, "tests/data/golden/job_7.h5"))
    cases.append({"name": "of Slurm's own plugin", "without": ["energy", "run-latency", "blk-latency"]})
    return cases


def data_in(text):
    return re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1)


def drawn(path):
    return json.loads(data_in(report("--html", "-", path).stdout))["page"]


def floats(line, key):
    return numpy.frombuffer(base64.b64decode(line[key]), "<f4")


def line_of(page, key, of):
    return next(line for line in page["lines"]["of"] if line["key"] == key and line["of"] == of)


def stall_of_one_node():
    """Rules judge longer bins where nodes are many; the lines have a point for each row."""
    need()
    path = os.path.join(tmpdir("stall"), "job.h5")
    subprocess.run([os.path.join(ROOT, "tests/findings/large.py"), "--nodes", "60", "--hours", "24", "--period", "30", path], check=True)
    with h5py.File(path, "r+") as f:
        tasks = [node["Tasks"][name] for node in f["Steps/0/Nodes"].values() for name in node["Tasks"]]
        rows = tasks[50][()]
        rows["CPUTime"][1000:1006] = 0
        tasks[50][...] = rows
        cpu = numpy.array([table["CPUTime"] for table in tasks]) / 30
        memory = numpy.array([table["RSS"] for table in tasks]) / 1024
    wide = [line for line in report(path).stdout.splitlines() if len(line) > 80]
    is_equal("the page in a terminal has 80 columns", wide, [])
    page = drawn(path)
    is_equal("the bins of rules are two rows long", len(json.loads(report("--json", path).stdout)["bins"]["start_s"]), 1440)
    is_equal("60 nodes for a day: a point for each row", [page["lines"]["n"], page["lines"]["dt_s"]], [2880, 30])
    for key, values in (("cpu", cpu), ("memory", memory)):
        for name, of in (("lowest", numpy.min), ("median", numpy.median), ("highest", numpy.max)):
            got, wanted = floats(line_of(page, key, "task"), name), of(values, axis=0)
            is_true("%s, %s: as in the rows" % (key, name), numpy.allclose(got, wanted, rtol=1e-5), abs(got - wanted).max())
    still = numpy.flatnonzero(floats(line_of(page, "cpu", "task"), "lowest") == 0)
    is_equal("three minutes without CPU time of one of 60 tasks are seen", list(still), list(range(1000, 1006)))


def steps_of_a_node():
    """Two steps side by side: a line of nodes has the sum of both, in short bins too."""
    need()
    path = os.path.join(tmpdir("steps"), "job.h5")
    job, other = (Job(nodes=2, tasks=2, cores=2, wall=1200, row=1, seed=i) for i in (1, 2))
    other.step_name = "1"
    job.extra = [("1", other, 0)]
    job.write(path)
    page, rates = drawn(path), 0
    with h5py.File(path) as f:
        for step in f["Steps"].values():
            rates = rates + numpy.array([node["Energy"]["StepEnergy"] for node in step["Nodes"].values()])
    n, dt = page["lines"]["n"], page["lines"]["dt_s"]
    watts = rates.reshape(2, n, -1).sum(axis=2) / dt
    is_true("points are shorter than bins of the rules", dt < 5, dt)
    for name, of in (("lowest", numpy.min), ("median", numpy.median), ("highest", numpy.max)):
        got, wanted = floats(line_of(page, "power", "node"), name), of(watts, axis=0)
        is_true("power of two steps, %s: as in the rows" % name, numpy.allclose(got, wanted, rtol=1e-5), abs(got - wanted).max())


def peaks():
    """Points that are longer than rows keep the lowest and the highest row: a peak of one second in nine hours."""
    need()
    path = os.path.join(tmpdir("peaks"), "job.h5")
    job, other = (Job(nodes=2, tasks=4, cores=2, wall=9 * 3600, row=1, seed=i) for i in (1, 2))
    memory = numpy.full((4, job.n), 100.0)
    memory[2, 20000] = 3000.0
    job.put(AnonMB=memory)
    other.cpu(0.3)  # the lines are of the step with the most CPU time
    other.step_name = "1"
    job.extra = [("1", other, 0)]
    job.write(path)
    page = drawn(path)
    n, dt = page["lines"]["n"], page["lines"]["dt_s"]
    is_equal("points of half a minute, and rows of a second in them", [page["lines"]["of_rows"], dt, n], [True, 30, 1080])
    with h5py.File(path) as f:
        tasks = [node["Tasks"][name] for node in f["Steps/0/Nodes"].values() for name in node["Tasks"]]
        power = numpy.array([[node["Energy"]["StepEnergy"] for node in step["Nodes"].values()] for step in f["Steps"].values()])
        values = {"cpu": numpy.array([t["CPUTime"] for t in tasks]), "memory": numpy.array([t["RSS"] for t in tasks]) / 1024,
                  "io": numpy.array([t["ReadMB"] + t["WriteMB"] for t in tasks])}
    for key, rows in values.items():
        line, rows = line_of(page, key, "task"), rows.reshape(4, n, 30)
        for name, wanted in (("lowest", rows.min(axis=(0, 2))), ("median", numpy.median(rows.mean(axis=2), axis=0)), ("highest", rows.max(axis=(0, 2)))):
            is_true("%s, %s: of all rows of all tasks" % (key, name), numpy.allclose(floats(line, name), wanted, rtol=1e-5), abs(floats(line, name) - wanted).max())
    is_true("the peak of one second is the highest", floats(line_of(page, "memory", "task"), "highest")[20000 // 30] > 2500, floats(line_of(page, "memory", "task"), "highest")[20000 // 30])
    rows, line = power.sum(axis=0).reshape(2, n, 30), line_of(page, "power", "node")
    within = (floats(line, "highest") <= rows.max(axis=(0, 2)) * (1 + 1e-5)) & (floats(line, "lowest") >= rows.min(axis=(0, 2)) * (1 - 1e-5))
    is_true("two steps of a node: no wider than the sum of both was", within.all(), numpy.flatnonzero(~within)[:9])
    wider = (floats(line, "highest") >= rows.mean(axis=2).max(axis=0) * (1 - 1e-5)) & (floats(line, "lowest") <= rows.mean(axis=2).min(axis=0) * (1 + 1e-5))
    is_true("and no narrower than its means", wider.all(), numpy.flatnonzero(~wider)[:9])


def steps_of_other_rows():
    """A step whose rows are shorter than those of the longest step has extremes, too; and a device has those of the step that knows it."""
    need()
    path = os.path.join(tmpdir("rows"), "job.h5")
    job, other = (Job(tasks=1, cores=1, wall=4 * 3600, row=row, seed=1) for row in (2, 0.5))
    use = numpy.full((1, other.n), 50.0)
    use[0, 4000] = 100.0
    job.gpus(1, None)
    other.gpus(1, use)
    other.step_name = "1"
    job.extra = [("1", other, 0)]
    job.write(path)
    page = drawn(path)
    with h5py.File(path) as f:
        watts = sum(step["Nodes/n1/Energy"]["StepEnergy"][0] / row for step, row in zip(f["Steps"].values(), (2, 0.5)))
    is_equal("points are longer than rows", page["lines"]["of_rows"], True)
    for name in ("lowest", "median", "highest"):
        is_true("power of two steps, %s: of both together" % name, numpy.allclose(floats(line_of(page, "power", "node"), name), watts), watts)
    of_gpu = line_of(page, "gpu", "GPU")
    is_equal("the GPU's peak of half a second is the highest", [floats(of_gpu, "highest").max(), floats(of_gpu, "median").max() < 0.6], [1, True])


def peaks_of_short_rows():
    """Steps may have rows of other lengths: a peak is kept of each."""
    need()
    path = os.path.join(tmpdir("short_rows"), "job.h5")
    job, other = Job(tasks=2, cores=2, wall=3000, row=1), Job(tasks=1, cores=2, wall=30000, row=30)
    memory = numpy.full((2, job.n), 100.0)
    memory[1, 1000] = 1500.0
    job.put(AnonMB=memory)
    other.cpu(0.01)
    job.extra = [("1", other, 0)]
    job.write(path)
    page = drawn(path)
    is_equal("points as long as rows of the longest step", [page["lines"]["of_rows"], page["lines"]["dt_s"]], [True, 30])
    highest = floats(line_of(page, "memory", "task"), "highest")
    is_true("a row of a second of the step with most CPU time", highest[1000 // 30] > 1400 and (highest[:33] < 200).all(), highest[:40])


def bar_of_the_job():
    """The waits of threads come first in the bar of the job, as in the rows of its tasks; other programs have what is left."""
    need()
    path = os.path.join(tmpdir("bar"), "job.h5")
    for name, tasks, threads, cpu, wait, disk, busy in (
            ("a disk, while others have the cores", 8, 1, 0.3, 0.1, 0.5, 1), ("others have the cores", 8, 1, 0.4, 0.55, 0, 1),
            ("half of the cores are for nobody, and others have them", 4, 1, 0.9, 0.02, 0.05, 1),
            ("half are idle", 4, 1, 0.9, 0.02, 0.05, 0), ("of tasks with threads, three of four sleep", 2, 4, 1, 0.02, 0.1, 0)):
        j = Job(nodes=2, tasks=2 * tasks, cores=8, node_cores=8, wall=1200, row=5)
        j.put(CPUTime=cpu, RunDelay=wait, OffCPUDisk=disk, system=0, Threads=threads)
        j.budget(Futex=1.0)
        j.put_node("CPU", IdleTime=0 if busy else 8 - tasks * cpu)
        j.write(path)
        shares = json.loads(report("--json", path).stdout)["time_budget"]["shares"]
        job, rows = {s["name"]: s["share"] for s in shares}, numpy.array(drawn(path)["rows"]["shares"], float)
        means = {"own code": cpu, "wait for CPU": wait, "wait for disk": disk, "asleep": threads - cpu - wait - disk, "other programs": busy * (8 / tasks - threads),
                 "idle": (1 - busy) * (8 / tasks - threads)}
        means = {state: of_task * tasks / 8 for state, of_task in means.items()}
        is_true("bar, %s: as described" % name, all(abs(job[k] - v) < 0.02 for k, v in means.items()), [job, means])
        mean = {s["name"]: rows[i].mean() for i, s in enumerate(shares)}
        is_true("bar, %s: the mean of the rows" % name, all(abs(job[k] - mean[k]) < 0.005 for k in means if k not in ("other programs", "idle")), [job, mean])
        is_near("bar, %s: the shares add up" % name, sum(job.values()), 1, 1e-9)
        is_true("bar, %s: none is below 0" % name, min(job.values()) >= 0, job)
    j.put_node("CPU", IdleTime=numpy.nan, StolenTime=0.0)
    j.write(path)
    shares = json.loads(report("--json", path).stdout)["time_budget"]["shares"]
    is_equal("bar: without the idle time of the nodes that of other programs is not known, and not 0",
             [s["name"] for s in shares if s["share"] is None], ["other programs"])


def add_large(folder, cases):
    path = os.path.join(folder, "large.h5")
    subprocess.run([os.path.join(ROOT, "tests/findings/large.py"), "--nodes", "1000", "--hours", "24", "--period", "30", path], check=True)
    page(folder, "large", path)
    os.unlink(path)
    cases.append({"name": "large"})
    size = os.path.getsize(os.path.join(folder, "large.html"))
    is_true("the page of 1,000 nodes for a day is below 2 MB", size < LARGE_MAX, "%d bytes" % size)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    is_true("it takes less than 600 MB of memory", used < MEMORY_MAX_KB, "%d kB" % used)


def browse(script, folder, cases):
    with open(os.path.join(folder, "cases.json"), "w") as f:
        json.dump(cases, f)
    p = subprocess.run(["node", os.path.join(WEB, script), folder], capture_output=True, text=True, timeout=1000)
    print(p.stdout, end="", flush=True)
    is_true("the browser's tests came to their end", p.returncode == 0, p.stderr[-400:])


def need_browser():
    need("node", "chromium")
    if not os.path.isdir(os.path.join(WEB, "node_modules/playwright-core")):
        raise Skipped("playwright-core is not installed: scripts/install-deps test")


def joined_by_either():
    """A template that is joined by esbuild, and one that is joined without it, draw the same."""
    need_browser()
    need("esbuild")
    folder = tmpdir("joined")
    path, cases = os.path.join(folder, "sick.h5"), []
    sick().write(path)
    page(folder, "sick", path)
    with open(os.path.join(folder, "sick.json")) as f:
        numbers = numbers_of(path, json.load(f))
    with open(os.path.join(folder, "sick.html")) as f:
        data = data_in(f.read())
    for name, more in (("esbuild", ["esbuild"]), ("plain modules", [])):
        template = os.path.join(folder, name + ".html")
        subprocess.run(["node", os.path.join(ROOT, "web/build.js"), template, *more], check=True)
        with open(template) as f:
            text = f.read().replace("<!--data-->", data)
        with open(template, "w") as f:
            f.write(text)
        cases.append({"name": name, "numbers": numbers})
    browse("joined.js", folder, cases)


def in_a_browser():
    need_browser()
    need("pdftotext")
    folder = tmpdir("page")
    cases = cases_of(folder)
    add_large(folder, cases)
    browse("browser.js", folder, cases)
    for name in ("sick", "hostile"):
        printed(folder, name)


def printed(folder, name):
    text = subprocess.run(["pdftotext", "-layout", "-nopgbrk", os.path.join(folder, name + ".pdf"), "-"], capture_output=True, text=True).stdout
    with open(os.path.join(folder, name + ".json")) as f:
        findings = json.load(f)["findings"]
    # Columns beside a paragraph come between its lines: the words are there in their order.
    words = iter(re.findall(r"\w+", text))
    is_true("%s has findings" % name, findings, "none")
    lost = [w for f in findings for w in re.findall(r"\w+", f["text"]) if w not in words]
    is_equal("printed, %s: all findings are there" % name, lost, [])


def whole_or_not():
    need()
    folder = tmpdir("whole")
    path = os.path.join(folder, "job.h5")
    Job(nodes=1, tasks=2, cores=2, wall=600).write(path)
    out = os.path.join(folder, "out.html")
    with open(out, "w") as f:
        f.write("before")
    bad = os.path.join(folder, "bad.h5")
    with open(path, "rb") as f, open(bad, "wb") as g:
        g.write(f.read(3000))
    p = report("--html", out, path)
    is_true("an older page is not replaced unasked", p.returncode == 1 and "already" in p.stderr and open(out).read() == "before", p.stderr)
    p = report("--html", out, "--overwrite", bad)
    is_true("of a damaged file no page is written", p.returncode == 1 and open(out).read() == "before", p.stderr)
    is_equal("nothing else is left", sorted(os.listdir(folder)), ["bad.h5", "job.h5", "out.html"])
    p = report("--html", path, path)
    is_true("an input is not written over", p.returncode == 1 and "what is read" in p.stderr and h5py.is_hdf5(path), p.stderr)
    p = report("--html", os.path.join(folder, "no/out.html"), path)
    is_true("a directory that is not there is one line", p.returncode == 1 and len(p.stderr.splitlines()) == 1, p.stderr)
    p = report("--html", "/dev/full", path)
    is_true("a full disk is one line", p.returncode == 1 and len(p.stderr.splitlines()) == 1, p.stderr)
    p = report("--html", out, "--overwrite", path)
    is_true("an older page is replaced", p.returncode == 0 and not p.stdout and not p.stderr and open(out).read().endswith("</html>\n"), p.stderr)
    q = report("--html", "-", path)
    is_true("- is standard output", q.stdout == open(out).read(), q.stderr)
    inside = data_in(q.stdout)
    is_true("nothing in the data is markup", not set(inside) & set("<>&") and inside.isascii(), inside[:200])
    drawn, told = json.loads(inside), json.loads(report("--json", path).stdout)
    is_equal("the page's data are those of --json", {k: v for k, v in drawn.items() if k != "page"},
             {k: v for k, v in told.items() if k not in ("units", "bins")})


def without_a_template():
    """As of a build on a machine without node."""
    folder = tmpdir("bare")
    shutil.copy(JOBPROF, folder)
    path, out = os.path.join(folder, "job.h5"), os.path.join(folder, "out.html")
    Job(nodes=1, tasks=2, cores=2, wall=600).write(path)
    p = subprocess.run([os.path.join(folder, "jobprof"), "report", "--html", out, path], capture_output=True, text=True)
    is_true("without the template one line says what to install",
            p.returncode == 1 and len(p.stderr.splitlines()) == 1 and "install node" in p.stderr and not os.path.exists(out), p.stderr)
    said = subprocess.run(["make", "-C", ROOT, "--no-print-directory", "-n", "all", "NPM="], capture_output=True, text=True).stdout
    is_true("make says what is missing for the page", "web: no page for --html: there is no npm: scripts/install-deps page" in said, said[-300:])
    p = subprocess.run([os.path.join(folder, "jobprof"), "report", path], capture_output=True, text=True)
    is_true("the page in a terminal is there", p.returncode == 0 and "Where the time went" in p.stdout, p.stderr)


if __name__ == "__main__":
    run_tests([whole_or_not, without_a_template, stall_of_one_node, steps_of_a_node, peaks, steps_of_other_rows, peaks_of_short_rows, bar_of_the_job, joined_by_either, in_a_browser])
