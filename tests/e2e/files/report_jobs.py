#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof report on several jobs: a line per job and PIKA's sums, as numpy computes them from the tables."""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from cases import job
from lib import *

GOLDEN = os.path.join(ROOT, "tests/data/golden")
PENDING = {101: 300, 102: 5000, 103: None, 104: 40}


def report(*args):
    return subprocess.run([JOBPROF, "report"] + list(args), capture_output=True, text=True,
                          env={**os.environ, "JOBPROF_PEAKS": "/absent"})


def as_json(*args):
    p = report("--json", *args)
    if p.returncode:
        raise Failed("report --json %s: status %d, %s" % (" ".join(args), p.returncode, p.stderr))
    return json.loads(p.stdout)


def made():
    """Four jobs of two users; one is too short for issues, one has GPUs that idle at times."""
    d, jobs = tmpdir("jobs"), {}
    for number, (shape, user, account, name, wall) in enumerate((
            ("some", "alice", "physics", "solver", 7200), ("pair", "alice", "chem", "mesh", 3600),
            ("node", "bob", "physics", "solver", 5400), ("pair", "bob", "physics", "short", 1200)), 101):
        j = job(shape, number, user=user, account=account, job_name=name, job=number, wall=wall)
        on = (numpy.arange(j.n) % 6) < 4
        cpu = numpy.where(on, 0.96, 0.1) * j.threads * numpy.ones((j.tasks, 1))
        cpu[number % j.tasks:] = 0 if number == 102 else cpu[number % j.tasks:]
        j.put(CPUTime=cpu, ReadMB=numpy.where(on, 0.0, 300.0), ReadCalls=1.0, Opens=5.0 * number, Closes=5.0 * number,
              AnonMB=numpy.linspace(0.2, 0.2 + (number == 103) * 0.2, j.n) * j.limit_mb / j.per_node.max())
        if number == 102:
            j.gpus(2)
            j.put_device("GPU", 1, Utilization=numpy.where(numpy.arange(j.n) % 3, 90.0, 0.0))
        j.without = set()
        path = os.path.join(d, "job_%d.h5" % number)
        j.write(path)
        if PENDING[number] is not None:
            with h5py.File(path, "a") as f:
                for node in f["Steps/0/Nodes"].values():
                    start = int(node.attrs["Start TimeNS"]) // 10**9
                    node.attrs.create("Submit EpochTime", [start - PENDING[number]], dtype="<i8")
        jobs[number] = j
    return d, jobs


def truth(d, number, j):
    """ICT and the rest of PIKA's table for one job."""
    with h5py.File(os.path.join(d, "job_%d.h5" % number)) as f:
        nodes = f["Steps/0/Nodes"]
        load = numpy.array([t["CPUTime"] for n in nodes.values() for t in n["Tasks"].values()]) / 30 / j.threads
        opens = sum(n["Step"]["Opens"] + n["Step"]["Closes"] for n in nodes.values()) / 30
        own = sum(n["Step"][c] for n in nodes.values() for c in ("MemAnonMB", "MemShmemMB", "MemKernelMB"))
        read = numpy.mean([n["Step"]["ReadMB"] for n in nodes.values()], axis=0)
        gpu = numpy.array([t["Utilization"] for n in nodes.values() if "GPU" in n for t in n["GPU"].values()]) / 100
    cores = j.cores * j.nodes
    idle = load < 0.01
    y, x = own / own.max(), numpy.linspace(0, 1, j.n)
    m, n = numpy.polyfit(x, y, 1)
    leak = 0.01 <= m <= 1 and numpy.abs(m * x + n - y).max() < min(m, 0.1)
    c = numpy.round(load.mean(axis=0), 1)
    b = numpy.where(read < read.mean(), 0, read)
    A, B = (numpy.abs(numpy.fft.rfft(v))[1:] for v in (c, b))
    S = A / A.max() + B / B.max()
    periods = (int(S.argmax()) + 1) / (j.n * 30) * j.wall
    found = S.max() >= 1.8 and numpy.median(S) <= 0.1 and numpy.corrcoef(c, b)[0, 1] <= -0.4 and periods >= 10
    means = load.mean(axis=0)
    found &= means.mean() >= 0.1 and means.max() - means.min() >= 0.7
    t = {"ict": idle.sum() * 30 * cores / j.tasks, "total": load.size * 30 * cores / j.tasks,
         "ucr": (idle.sum(axis=1) > j.n - 2).mean(), "cli": load.std(axis=0, ddof=1).mean(),
         "iob": periods if found else 0, "ioc": opens.max() if opens.max() >= 40 else 0, "ml": m if leak else 0,
         "igt": None, "gpu_total": 0, "ugr": None, "gli": None}
    if len(gpu):
        t.update(igt=(gpu == 0).sum() * 30, gpu_total=gpu.size * 30, ugr=((gpu == 0).sum(axis=1) > j.n - 2).mean(),
                 gli=gpu.std(axis=0, ddof=1).mean())
    return t


def same(name, got, want):
    if want is None:
        is_equal(name, got, None)
    else:
        is_near(name, got, want, 1e-9, 1e-12)


def highest(values):
    return max((v for v in values if v is not None), default=None)


def total(values):
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def sums():
    d, jobs = made()
    r = as_json(d)
    rows = {int(row["id"]): row for row in r["jobs"]}
    is_equal("jobs: a row each", sorted(rows), sorted(jobs))
    of = {n: truth(d, n, jobs[n]) for n in (101, 102, 103)}
    for n, t in of.items():
        for key in ("ict", "ucr", "cli", "iob", "ioc", "ml", "igt", "ugr", "gli"):
            same("job %d: %s" % (n, key), rows[n]["issues"][key], t[key])
        same("job %d: icr" % n, rows[n]["issues"]["icr"], t["ict"] / t["total"])
    is_equal("job 104: too short", [rows[104]["eligible"], rows[104]["failed"], rows[104]["issues"]],
             [False, ["duration"], {}])
    is_equal("there is something to find", [of[101]["iob"] > 0, of[102]["ucr"] > 0, of[103]["ml"] > 0, of[102]["igt"] > 0],
             [True] * 4)
    by_user = {"alice": (101, 102), "bob": (103,), None: (101, 102, 103)}
    sizes = {"alice": (101, 102), "bob": (103, 104), None: (101, 102, 103, 104)}
    is_equal("groups: by user, most idle time first, then all",
             [g.get("user") for g in r["groups"]],
             sorted(["alice", "bob"], key=lambda u: -sum(of[n]["ict"] for n in by_user[u])) + [None])
    for g in r["groups"]:
        who, at = g.get("user"), "%s: " % g.get("user", "all")
        ts, js = [of[n] for n in by_user[who]], [jobs[n] for n in sizes[who]]
        is_equal(at + "runs", [g["runs"], g["jobs"], g["footprints"]], [len(ts), len(js), len(js)])
        same(at + "ict", g["ict"], sum(t["ict"] for t in ts))
        same(at + "icr", g["icr"], sum(t["ict"] for t in ts) / sum(t["total"] for t in ts))
        gpu = sum(t["gpu_total"] for t in ts)
        same(at + "igt", g["igt"], total(t["igt"] for t in ts))
        same(at + "igr", g["igr"], total(t["igt"] for t in ts) / gpu if gpu else 0)
        for key in ("ucr", "cli", "iob", "ioc", "ml", "ugr", "gli"):
            same(at + "max_" + key, g["max_" + key], highest(t[key] for t in ts))
        same(at + "core time", g["core_s"], sum(j.nodes * j.cores * j.wall for j in js))
        same(at + "ran", g["runtime_s"], sum(j.wall for j in js))
        is_equal(at + "nodes, cores", [g["max_nodes"], g["max_cores"]],
                 [max(j.nodes for j in js), max(j.nodes * j.cores for j in js)])
        same(at + "longest wait", g["max_pending_s"], highest(PENDING[n] for n in sizes[who]))


def as_each_alone():
    d, jobs = made()
    for row in as_json(d)["jobs"]:
        alone = as_json(os.path.join(d, "job_%s.h5" % row["id"]))
        at = "job %s: " % row["id"]
        is_equal(at + "where it is", row["file"], os.path.join(d, "job_%s.h5" % row["id"]))
        is_equal(at + "footprint and tags", [row["footprint"], row["tags"]],
                 [alone["pika"]["footprint"], alone["pika"]["tags"]["given"]])
        first = alone["findings"][0] if alone["findings"] else None
        is_equal(at + "findings", [row["findings"], row["finding"]],
                 [len(alone["findings"]), first and {"id": first["id"], "severity": first["severity"], **first["cost"]}])
        is_equal(at + "who", [row[k] for k in ("user", "name", "account", "partition", "program", "state")],
                 [alone["job"][k] for k in ("user", "name", "account", "partition", "program", "state")])
    lost = [(row["finding"] or {}).get("core_s") for row in as_json(d)["jobs"]]
    is_equal("jobs: the dearest first", lost, sorted(lost, key=lambda v: -1 if v is None else v, reverse=True))


def groups():
    d, jobs = made()
    g = as_json("--by", "account,name", d)
    is_equal("--by account,name", [g["by"], sorted((x["account"], x["name"], x["jobs"]) for x in g["groups"][:-1])],
             [["account", "name"], [("chem", "mesh", 1), ("physics", "short", 1), ("physics", "solver", 2)]])
    for wrong in ("", "user,", "color"):
        p = report("--by", wrong, d)
        is_equal("--by %r is refused" % wrong, [p.returncode, p.stdout, len(p.stderr.splitlines())], [2, "", 1])
    forced = as_json("--force", d)
    is_equal("--force: issues of all", [r["issues"] != {} for r in forced["jobs"]], [True] * 4)
    is_equal("--force: so many runs", forced["groups"][-1]["runs"], 4)


def page():
    d, jobs = made()
    p, short = report("--all", d), report(d)
    lines = p.stdout.splitlines()
    is_equal("page", [p.returncode, p.stderr, [l for l in lines if len(l) > 80 or l != l.rstrip()]], [0, "", []])
    is_true("page: PIKA's issues with --all only", "ICR" in p.stdout and "ICR" not in short.stdout, short.stdout)
    of = {n: truth(d, n, jobs[n]) for n in (101, 102)}
    ict = round(sum(t["ict"] for t in of.values()))
    text = "%d:%02d:%02d" % (ict // 3600, ict % 3600 // 60, ict % 60)
    is_true("page: idle time of alice", any(l.split()[:3] == ["alice", "2", text] for l in lines), p.stdout)
    core = sum(jobs[n].nodes * jobs[n].cores * jobs[n].wall for n in jobs) / 3600
    is_true("page: core time of all", any(l.split()[:1] == ["all"] and "%.3g core-h" % core in l for l in lines),
            p.stdout)


def names_and_verdicts():
    """Names and commands are whole where a line has room, and a job in which nothing was found is none that was not judged."""
    d = tmpdir("named")
    os.chmod(d, 0o777)
    for name, command in (("one", ["sleep", "1.2"]), ("none", ["/usr/bin/python3", "-c", "pass # np1.py with a long name"])):
        subprocess.run([JOBPROF, "run", "-q", "-o", "%s/%s.h5" % (d, name), "--"] + command, check=True)
    p = report(d + "/one.h5", d + "/none.h5")
    rows = {r["file"][len(d) + 1:]: r for r in as_json(d + "/one.h5", d + "/none.h5")["jobs"]}
    is_equal("commands", [rows[n]["command"] for n in ("one.h5", "none.h5")],
             ["sleep 1.2", "/usr/bin/python3 -c 'pass # np1.py with a long name'"])
    is_true("their lines", re.search(r"^  \d+ +\S+ +sleep 1\.2 .* none$", p.stdout, re.M) and
            re.search(r"^  \d+ +\S+ +/usr/bin/python3 -c .* too little known$", p.stdout, re.M) or
            rows["one.h5"]["findings"] or rows["none.h5"]["findings"], p.stdout)
    is_equal("whose they are", {r["user"] for r in rows.values()}, {"root"})


def which_files():
    """A directory has files of one job or of several, in it and below."""
    d = tmpdir("which")
    os.chmod(d, 0o755)
    for name in ("7_0_p1.h5", "7_0_p2.h5", "7_1_p1.h5", "7_batch_p1.h5"):
        shutil.copyfile(os.path.join(GOLDEN, name), os.path.join(d, name))
    files = sorted(os.path.join(d, n) for n in os.listdir(d))
    one, alone = report("--json", d), report("--json", *files)
    is_equal("node-step files of one job: its report", [one.returncode, one.stdout], [0, alone.stdout])
    is_true("and not a table", "pika" in json.loads(one.stdout), one.stdout[:80])
    shutil.copyfile(os.path.join(GOLDEN, "job_7.h5"), os.path.join(d, "job_7.h5"))
    is_equal("beside their job file: that", report("--json", d).stdout, report("--json", os.path.join(d, "job_7.h5")).stdout)
    os.mkdir(os.path.join(d, "alice"))
    shutil.copyfile(os.path.join(GOLDEN, "7_1_p1.h5"), os.path.join(d, "alice", "8_1_p1.h5"))
    rows = as_json(d)["jobs"]
    is_equal("with another job below: a table; of a job file and node-step files the job file",
             sorted(r["file"] for r in rows), [os.path.join(d, "alice", "8_1_p1.h5"), os.path.join(d, "job_7.h5")])
    is_equal("ids, of Slurm's files by their names", sorted(r["id"] for r in rows), ["7", "8"])
    is_equal("by names of files", sorted(r["id"] for r in as_json(*[r["file"] for r in rows])["jobs"]), ["7", "8"])
    is_equal("-j: that job", as_json("-j", "7", d)["job"]["id"], "7")
    odd = os.path.join(tmpdir("odd"), "a.h5")
    shutil.copyfile(made()[0] + "/job_104.h5", odd)
    with h5py.File(odd, "a") as f:
        f.attrs["Job Id"] = 104
    other = tmpdir("other")
    shutil.copyfile(odd, os.path.join(other, "job_104.h5"))
    is_equal("several directories", sorted(r["id"] for r in as_json(other, d)["jobs"]), ["104", "7", "8"])
    empty = report(d, tmpdir("empty"))
    is_true("one that has no profile", empty.returncode == 1 and empty.stderr.endswith("no profile in this directory\n")
            and empty.stderr.count("\n") == 1, empty.stderr)
    names = [r["id"] for r in as_json(odd, os.path.join(d, "job_7.h5"))["jobs"]]
    is_equal("a file of any name", sorted(names), ["104", "7"])


def bad_files():
    d, _ = made()
    with open(os.path.join(d, "job_200.h5"), "w") as f:
        f.write("no HDF5")
    p = report("--json", d)
    is_equal("a damaged file: status 1, one line that names it", [p.returncode, len(p.stderr.splitlines()),
             "job_200.h5" in p.stderr], [1, 1, True])
    is_equal("and the others", sorted(r["id"] for r in json.loads(p.stdout)["jobs"]), ["101", "102", "103", "104"])
    p = report("--store", d)
    is_true("--store of several is refused", p.returncode == 2 and p.stderr.count("\n") == 1, p.stderr)
    p = report("--html", "x.html", "--json", d)
    is_true("one form at a time", p.returncode == 2 and p.stderr.startswith("jobprof report: one of --json"), p.stderr)
    with h5py.File(os.path.join(d, "job_101.h5"), "a") as f:
        for node in f["Steps/0/Nodes"].values():
            node.attrs["Job Name"] = "\x1b[31m" + "x" * 300
            node.attrs["User"] = "\x1b]0;\x07"
    out = report(d).stdout
    is_equal("a hostile name does not reach the terminal", ["\x1b" in out, max(map(len, out.splitlines())) <= 80],
             [False, True])


if __name__ == "__main__":
    run_tests((sums, as_each_alone, groups, page, names_and_verdicts, which_files, bad_files))
