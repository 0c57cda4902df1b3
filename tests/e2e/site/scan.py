#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof index scan: rows are what jobprof report says of each file, once per job, whatever else lies in the directories; what
is read again is what is new or has changed."""

import contextlib
import os
import pwd
import signal
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from sitelib import *
import layout
from jobs import Job

GOLDEN = os.path.join(ROOT, "tests/data/golden")
ME = "root" if os.geteuid() == 0 else __import__("getpass").getuser()
with open(os.path.join(ROOT, "schemas/index.def")) as _f:
    PATHS = {name: path for name, path in re.findall(r'^INDEX\((\w+), \w+, \w+, "([^"]+)"', _f.read(), re.M)}


def put(d, number, name=None, attributes=(), **more):
    """A job's file; a job of its own, as cores, length and use follow from its number."""
    made = Job(**{"nodes": 1 + number % 3, "tasks": (1 + number % 3) * 2, "cores": 2, "wall": 600 + 60 * (number % 7), "seed": number, "job": number,
                  "user": ME, "job_name": "run_%d" % number, "account": "p%d" % (number % 4), **more})
    made.cpu((0.97, 0.4, 0.05)[number % 3])
    if number % 4 == 1:
        made.gpus(1, utilization=20.0)
    os.makedirs(d, exist_ok=True)
    path = os.path.join(d, name or "job_%d.h5" % number)
    made.write(path)
    if attributes:
        set_attributes(path, attributes)
    return path


def set_attributes(path, attributes):
    with h5py.File(path, "a") as f:
        for step in f["Steps"].values():
            for node in step["Nodes"].values():
                for name, v in dict(attributes).items():
                    if name in node.attrs:
                        del node.attrs[name]
                    layout.put_attribute(node, name, v)


class Tree:
    def __init__(self):
        self.dir, self.index = tmpdir("prof"), os.path.join(tmpdir("index"), "index.db")
        self.user = os.path.join(self.dir, ME)
        os.mkdir(self.user)

    def scan(self, *args, **more):
        # A directory that changed within the last two seconds is looked into again next time.
        self.last = call("index", "scan", "--database", self.index, *args, self.dir, **more)
        return self.last.stdout.split(": ", 1)[-1].strip()

    def old(self, *dirs):
        """Their last change was long ago."""
        for d in dirs or [self.dir] + [e.path for e in os.scandir(self.dir) if e.is_dir()]:
            os.utime(d, (1700000000, 1700000000 + len(os.listdir(d))))

    def rows(self, columns="job_id"):
        return sql(self.index, "SELECT %s FROM job ORDER BY job_id, start, cluster" % columns)

    def failed(self):
        return must("index", "check", "--verbose", "--database", self.index)

    def check(self):
        return must("index", "check", "--database", self.index).splitlines()[-1]


def member(o, path):
    for word in path.split("."):
        if not isinstance(o, dict):
            return None
        if word == "@":
            word = next((k for k in o if k[0].isdigit()), None)
        o = o.get(word)
    return o


def as_reports():
    t = Tree()
    paths = {n: put(t.user, n) for n in range(101, 113)}
    is_equal("scan: all files", [t.scan(), t.last.returncode], ["12 jobs of 12 new files", 0])
    names = list(sitegen.COLUMNS)
    rows = {r[1]: dict(zip(names, r)) for r in t.rows(", ".join('"%s"' % n for n in names))}
    bad, findings = [], 0
    for n, path in paths.items():
        report = json.loads(must("report", "--json", path))
        want = {name: member(report, p) for name, p in PATHS.items()}
        cost = sum(f["cost"]["core_s"] or 0 for f in report["findings"])
        elapsed = report["facts"]["job_elapsed_s"]
        elapsed = round(report["facts"]["wall_s"] if elapsed is None else elapsed)
        held = elapsed * report["facts"]["cores"]
        want.update(job_id=n, user=ME, elapsed_s=elapsed, held_core_s=held, cost_core_s=cost, lost_core_s=min(cost, held),
                    findings=len(report["findings"]), worst_rule=report["findings"][0]["id"] if report["findings"] else "",
                    worst_text=report["findings"][0]["text"] if report["findings"] else None, file=path, sources=2)
        want = {k: int(v) if isinstance(v, bool) or (isinstance(v, float) and sitegen.COLUMNS[k][0] == "INT") else "" if v is None and k == "cluster" else v for k, v in want.items()}
        bad += ["job %d: %s" % (n, d) for d in differences(rows[n], want)]
        findings += len(report["findings"])
    is_equal("scan: each row is what jobprof report --json says of the file", bad[:5], [])
    is_equal("scan: there is something to find, and it is all there",
             [findings > 5, sql(t.index, "SELECT count(*) FROM finding")[0][0]], [True, findings])
    shares = [n for n in names if n.startswith("share_")]
    is_equal("scan: where the time went adds up to 1", [n for n, r in rows.items() if not approx(sum(r[s] or 0 for s in shares), 1, 1e-6)], [])
    is_equal("scan: sums are those of the rows", t.check(), "no difference")
    got = as_json("jobs", "--database", t.index, "--since", "all", "--sort", "job_id")
    last = must("jobs", "--database", t.index, "--since", "all").splitlines()[-1]
    p = subprocess.run(["bash", "-c", last.replace("jobprof", JOBPROF, 1)], capture_output=True, text=True, env=plain_env())
    is_true("jobs: its last line explains the first job", last.startswith("  jobprof report /") and p.returncode == 0 and "Where the time went" in p.stdout,
            (last, p.stdout[:500] + p.stderr))
    is_equal("jobs: of scanned files", [r["job_id"] for r in got["rows"]], sorted(paths, reverse=True))


def again():
    t = Tree()
    for n in (1, 2, 3):
        put(t.user, n)
    t.old()
    is_equal("scan again: nothing is new", [t.scan(), t.scan()], ["3 jobs of 3 new files", "0 jobs of 0 new files"])
    put(t.user, 4)
    is_equal("scan: a new file", t.scan(), "1 job of 1 new file")
    os.unlink(os.path.join(t.user, "job_2.h5"))
    put(t.user, 3, name="new")
    os.rename(os.path.join(t.user, "new"), os.path.join(t.user, "job_3.h5"))
    is_equal("scan: one that has changed, one that is gone", t.scan(), "1 job of 1 new file, 1 gone")
    is_equal("scan: the job of a file that is gone stays, and a changed one is marked",
             [t.rows("job_id, changed"), sql(t.index, "SELECT count(*) FROM file")[0][0], t.check()],
             [[(1, 0), (2, 0), (3, 1), (4, 0)], 3, "no difference"])
    is_equal("scan --again: all are read, and nothing is doubled", [t.scan("--again"), len(t.rows()), t.check()],
             ["3 jobs of 3 new files", 4, "no difference"])


def parts_and_merged():
    t = Tree()
    for part in ("7_0_p1.h5", "7_0_p2.h5", "7_1_p1.h5", "7_batch_p1.h5"):
        shutil.copy(os.path.join(GOLDEN, part), t.user)
    is_equal("scan: node-step files of a job are one row", [t.scan(), t.rows()], ["1 job of 4 new files", [(7,)]])
    before = t.rows("job_id, start, nodes, cpu_s, findings")
    p = call("merge", "-p", t.dir, "-j", "7", "-o", os.path.join(t.user, "job_7.h5"))
    for name in os.listdir(t.user):
        if name != "job_7.h5":
            os.unlink(os.path.join(t.user, name))
    is_equal("scan: merged, they are the same row", [p.returncode, t.scan(), t.rows("job_id, start, nodes, cpu_s, findings")],
             [0, "1 job of 1 new file, 4 gone", before])
    is_equal("scan: of the merged file", [r[0].rsplit("/", 1)[-1] for r in t.rows("file")], ["job_7.h5"])


def refused():
    if os.geteuid():
        raise Skipped("needs root")
    t = Tree()
    put(t.user, 1, attributes={"UID": 0})
    put(t.user, 2, attributes={"UID": 4242})
    put(os.path.join(t.dir, "u4243"), 3, attributes={"UID": 4243}, user="someone")
    os.chown(os.path.join(t.dir, "u4243/job_3.h5"), 4243, 4243)
    said = t.scan()
    is_equal("scan: a file that names another user than its owner is refused",
             [said, t.last.returncode, "job_2.h5" in t.last.stderr and "refused" in t.last.stderr],
             ["2 jobs of 3 new files, 1 refused", 1, True])
    is_equal("scan: the owner is the user, whatever the file says", t.rows('job_id, "user"'), [(1, "root"), (3, "4243")])
    is_equal("scan: what was refused is not read again", t.scan(), "0 jobs of 0 new files")


def forged():
    """What a profile may say of its job follows from its owner, its name, its age and its nodes."""
    t = Tree()
    put(t.user, 1)
    # a name that is another user's here, and one that is nobody's
    other = next(p.pw_name for p in __import__("pwd").getpwall() if p.pw_uid != os.geteuid())
    put(t.user, 2, attributes={"User": other})
    put(t.user, 3, attributes={"User": "nobody-of-here"})
    is_equal("scan: a name of another user of this machine is refused", [t.scan(), t.rows()], ["2 jobs of 3 new files, 1 refused", [(1,), (3,)]])
    node = os.path.join(GOLDEN, "7_0_p1.h5")
    with h5py.File(shutil.copy(node, os.path.join(t.user, "8_0_p1.h5")), "a") as f:
        for n in f["Steps/0/Nodes"].values() if "Steps" in f else [f[k] for k in f]:
            n.attrs["Job Id"] = numpy.int64(8)
    for n in range(200000, 200020):
        os.link(os.path.join(t.user, "8_0_p1.h5"), os.path.join(t.user, "job_%d.h5" % n))
        os.link(os.path.join(t.user, "job_1.h5"), os.path.join(t.user, "job_%d.h5" % (n + 1000)))
    os.link(os.path.join(t.user, "8_0_p1.h5"), os.path.join(t.user, "9_0_p1.h5"))
    is_equal("scan: other names of a profile are no jobs", [t.scan(), t.rows(), len(re.findall(": refused: its name says another job", t.failed()))],
             ["1 job of 42 new files, 41 refused", [(1,), (3,), (8,)], 41])
    is_true("scan: one line says that of all", t.last.stderr.count("\n") == 1 and "41 files are refused or cannot be read" in t.last.stderr and
            re.search(r" as \S+.h5: its name says another job", t.last.stderr), t.last.stderr)
    put(t.user, 10, attributes={"Allocated CPUs": numpy.int32(2**31 - 1)})
    for n, age in ((11, DAY), (12, 3 * DAY)):
        path, first = put(t.user, n, wall=3 * DAY, row=600), []
        shift(path, -3000 * DAY)
        with h5py.File(path) as f:
            f.visititems(lambda _, o: first.append(int(o.attrs["Job Start EpochTime"])) if "Job Start EpochTime" in o.attrs else None)
        os.utime(path, (first[0] + age,) * 2)
    said = t.scan()
    is_equal("scan: more CPUs than nodes have, and a run longer than its file is old, are refused",
             [said, t.rows()[3:], t.check()], ["1 job of 3 new files, 2 refused", [(12,)], "no difference"])
    is_equal("scan: each is counted once", t.scan(), "0 jobs of 0 new files")


def damaged():
    t = Tree()
    good = put(t.user, 1)
    size = os.path.getsize(good)
    with open(good, "rb") as f:
        data = f.read()
    for name, content in {"job_2.h5": b"", "job_3.h5": data[:size // 2], "job_4.h5": os.urandom(5000), "job_5.h5": data[:300] + bytes(size - 300),
                          "job_6.h5": b"x" * 100, "notes.txt": b"hello"}.items():
        with open(os.path.join(t.user, name), "wb") as f:
            f.write(content)
    os.mkdir(os.path.join(t.user, "job_7.h5"))
    os.mkfifo(os.path.join(t.user, "job_8.h5"))
    os.symlink(good, os.path.join(t.user, "job_9.h5"))
    os.symlink("/dev/zero", os.path.join(t.user, "job_10.h5"))
    with open(os.path.join(t.user, "plain.h5"), "w") as f:
        f.write("no profile")
    said = t.scan()
    is_equal("scan: damaged files are counted, the good one is read", [said.split(", ")[0].split(" of ")[0], t.rows(), t.last.returncode],
             ["1 job", [(1,)], 1])
    is_true("scan: a line says how many, with one of them", t.last.stderr.count("\n") == 1 and re.search(r": 6 files are refused or cannot be read, as \S+.h5: ", t.last.stderr),
            t.last.stderr)
    is_equal("index check --verbose: each damaged file is named once", [n for n in (2, 3, 4, 5, 6) if t.failed().count("job_%d.h5: not readable: " % n) != 1], [])
    is_equal("index check: without it none is", "job_2" in must("index", "check", "--database", t.index), False)
    is_equal("scan: the index is whole", [t.check(), sql(t.index, "SELECT count(*) FROM file WHERE state = 'unreadable'")[0][0] >= 5],
             ["no difference", True])


def bad(d, numbers):
    """Damaged job files."""
    os.makedirs(d, exist_ok=True)
    for n in numbers:
        with open(os.path.join(d, "job_%d.h5" % n), "w") as f:
            f.write("x")


def each_in_turn():
    """Who has many files does not hold up the others: 500 of a directory and of those for restarts in it, then the next directory."""
    before = "SELECT count(*) FROM file WHERE path LIKE '%%/%s/%%' AND rowid < (SELECT rowid FROM file WHERE path LIKE '%%/zoe/%%')"
    t = Tree()
    bad(os.path.join(t.dir, "ada"), range(1, 1101))
    for n in range(3):
        bad(os.path.join(t.dir, "bob/restart%d" % n), range(2000 + 300 * n, 2300 + 300 * n))
    put(os.path.join(t.dir, "zoe"), 1)
    is_equal("scan: all are read in the end", [t.scan(), t.rows()], ["1 job of 2001 new files, 2000 not readable", [(1,)]])
    is_equal("scan: 500 files of a directory, then the next one", [sql(t.index, before % d)[0][0] for d in ("ada", "bob")], [500, 500])
    is_equal("scan: a line for each directory", [re.search(r"/(\w+): (\d+) files are", line).groups() for line in t.last.stderr.splitlines()],
             [("ada", "1100"), ("bob", "900")])
    t.old(*(e[0] for e in os.walk(t.dir)))
    is_equal("scan: then all are known", [t.scan(), t.scan(), t.last.stderr], ["0 jobs of 0 new files"] * 2 + [""])
    is_equal("scan --again: all of them", [t.scan("--again"), t.check()], ["1 job of 2001 new files, 2000 not readable", "no difference"])


def rounds_of_the_service():
    """As a scan, but without pause; what is refused costs little, and nobody waits for it."""
    t = Tree()
    t.scan()
    first = put(os.path.join(t.dir, "ada"), 1)
    must("report", "--store", first)
    for n in range(2, 701):
        os.link(first, os.path.join(t.dir, "ada/job_%d.h5" % n))
    put(os.path.join(t.dir, "zoe"), 1000)
    with open(os.path.join(TMP, "watch.log"), "w+") as f:
        p = start([JOBPROF, "index", "watch", "--every", "3600", "--sacct", "none", "--database", t.index, t.dir], stderr=f, env=plain_env(HOME=TMP))
        wait_until(lambda: len(t.rows()) == 2 and sql(t.index, "SELECT count(*) FROM file")[0][0] == 701, 60, "all files")
        p.terminate()
        is_equal("watch: it ends when it is told to", p.wait(PATIENCE), 0)
        f.seek(0)
        said = f.read()
    is_equal("watch: a line for the directory in each round", re.findall(r"/ada: (\d+) files are refused", said), ["499", "200"])


def limits_of_reading():
    """A few seconds of the processor for a small file, and a time in which a job has to be read whatever its files are."""
    if not shutil.which("strace"):
        raise Skipped("needs strace")
    t, log = Tree(), os.path.join(tmpdir("calls"), "calls")
    size = os.path.getsize(put(t.user, 1))
    p = subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=setitimer", "-e", "signal=none", JOBPROF, "index", "scan", "--database", t.index, t.dir],
                       capture_output=True, text=True, env=plain_env(HOME=TMP))
    if "ptrace" in p.stderr:
        raise Skipped("needs a machine that allows ptrace")
    with open(log) as f:
        set_ = re.findall(r"setitimer\((\w+), {it_interval=.*?, it_value={tv_sec=(\d+),", f.read())
    most = {clock: max(int(s) for c, s in set_ if c == clock) for clock, _ in set_}
    is_true("scan: a job has been read", "1 job of 1 new file" in p.stdout, p.stdout + p.stderr)
    is_equal("scan: limits of a small file and of its job, s", most, {"ITIMER_PROF": 5 + size // 2**18, "ITIMER_VIRTUAL": 60, "ITIMER_REAL": 240})


def own_files():
    """A user's own index takes own files where no directory is named, and is silent about those of others."""
    if os.geteuid():
        raise Skipped("needs root")
    t, home = Tree(), tmpdir("home")
    os.chmod(TMP, 0o755)
    program = os.path.join(TMP, "jobprof.own")
    shutil.copy(JOBPROF, program)
    put(t.dir, 1)
    put(t.dir, 2)
    put(os.path.join(t.dir, "own"), 3)
    put(os.path.join(t.dir, "others"), 4)
    put(os.path.join(t.dir, "closed"), 5)
    for path in (program, t.dir, *glob.glob(t.dir + "/**", recursive=True), home):
        os.chmod(path, 0o755)
    for path in (t.dir + "/job_2.h5", t.dir + "/own", t.dir + "/own/job_3.h5", home):
        os.chown(path, 65534, 65534)
    os.chmod(t.dir + "/closed", 0o700)

    def jobs(*args):
        p = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "jobs", "--json", "--since", "all", *args], cwd=t.dir,
                           capture_output=True, text=True, env=plain_env(HOME=home, XDG_DATA_HOME=home))
        return sorted(r["job_id"] for r in json.loads(p.stdout)["rows"]), p.stderr
    for path in (t.dir + "/job_2.h5", t.dir + "/own/job_3.h5"):
        set_attributes(path, {"User": pwd.getpwuid(65534).pw_name})
    is_equal("own index: own files only, and no word of others", jobs(), ([2, 3], ""))
    found, said = jobs("-p", t.dir)
    is_equal("own index: of a directory that is named all, and what cannot be read is said", [found, "closed: Permission denied" in said], [[1, 2, 3, 4], True])


def hostile_content():
    """Whatever a file says of itself, the next one is read."""
    t = Tree()
    put(t.user, 1, attributes={"Job Start EpochTime": 1 << 62})
    put(t.user, 2, attributes={"Job Id": -5})
    put(t.user, 3, attributes={"Restart Count": -7, "Array Job Id": 1 << 60, "Allocated CPUs": numpy.int32(-3), "Time Limit": -1.0})
    put(t.user, 4, attributes={"User": "x'; DROP TABLE job; --", "Job Name": "\x1b[31m=1+1", "Account": "a" * 5000, "Partition": "\u202e"})
    put(t.user, 5)
    t.scan()
    rows = dict(t.rows("job_id, name"))
    is_equal("scan: files that say what cannot be do not keep it from others", [rows.get(5), t.check()], ["run_5", "no difference"])
    is_equal("scan: nothing in them reaches the terminal", visible(must("jobs", "--database", t.index, "--since", "all").replace("\n", "")).count("\x1b"), 0)
    is_equal("scan: numbers that none can be are not known",
             sql(t.index, "SELECT count(*) FROM job WHERE restart < 0 OR cpus < 0 OR limit_s < 0 OR start < 0 OR start > 1e11")[0][0], 0)


def ids_twice():
    t = Tree()
    put(t.user, 5)
    later = put(t.user, 5, name="5_again.h5")
    shift(later, -90 * DAY)
    is_equal("scan: an id that was given twice is two jobs", [t.scan(), len(t.rows()), t.check()], ["2 jobs of 2 new files", 2, "no difference"])
    a, b = put(os.path.join(t.dir, "other"), 6, attributes={"Cluster": "alpha"}), put(os.path.join(t.dir, "other"), 6, "6_beta.h5", {"Cluster": "beta"})
    t.scan()
    is_equal("scan: one id on two clusters at the same time is two jobs",
             [r for r in t.rows("job_id, cluster") if r[0] == 6], [(6, "alpha"), (6, "beta")])
    is_equal("jobs --cluster", [r["job_id"] for r in as_json("jobs", "--database", t.index, "--since", "all", "--cluster", "beta")["rows"]], [6])


def shift(path, seconds):
    """The job ran so much later."""
    with h5py.File(path, "a") as f:
        def move(name, o):
            for key in ("Start TimeNS", "Job Start EpochTime"):
                if key in o.attrs:
                    v = o.attrs[key]
                    o.attrs[key] = v + type(numpy.asarray(v).flat[0])(seconds * (10**9 if key.endswith("NS") else 1))
            if isinstance(o, h5py.Dataset) and o.dtype.names and "TimeNS" in o.dtype.names:
                rows = o[()]
                rows["TimeNS"] = rows["TimeNS"].astype(numpy.int64) + seconds * 10**9
                if "EpochTime" in rows.dtype.names:
                    rows["EpochTime"] = rows["EpochTime"].astype(numpy.int64) + seconds
                o[...] = rows
        f.visititems(move)


def requeued():
    t = Tree()
    put(os.path.join(t.user, "restart0"), 9, attributes={"Restart Count": 0})
    last = put(t.user, 9, attributes={"Restart Count": 1})
    shift(last, 7200)
    merged = put(t.user, 10, "job_10.restart0.h5", {"Restart Count": 0})
    shift(put(t.user, 10, attributes={"Restart Count": 1}), 7200)
    is_equal("scan: each run of a job that was requeued is a row", [t.scan(), t.rows("job_id, restart"), t.check()],
             ["4 jobs of 4 new files", [(9, 0), (9, 1), (10, 0), (10, 1)], "no difference"])
    # of the first run Slurm tells no count, and its profile may end late
    put(os.path.join(t.user, "restart0"), 12)
    shift(put(t.user, 12, attributes={"Restart Count": 1}), 60)
    is_equal("scan: runs whose times overlap", [t.scan(), t.rows("job_id, restart")[-2:]], ["2 jobs of 2 new files", [(12, None), (12, 1)]])
    t.old()
    t.old(os.path.join(t.user, "restart0"))
    t.scan()
    is_equal("scan again: nothing is new in runs before", t.scan(), "0 jobs of 0 new files")
    put(os.path.join(t.user, "restart0"), 11, attributes={"Restart Count": 0})
    is_equal("scan: a new file beside earlier runs, in a directory whose parent is as it was", t.scan(), "1 job of 1 new file")


def parts_of_jobs():
    """Tasks of an array, and a component of a heterogeneous job."""
    t = Tree()
    for task in (1, 2):
        put(t.user, 30 + task, attributes={"Array Job Id": 30, "Array Task Id": task})
    put(t.user, 41, attributes={"Het Job Id": 40, "Het Job Offset": 1})
    t.scan()
    is_equal("scan: tasks and components", t.rows("job_id, array_id, array_task, het_id"), [(31, 30, 1, None), (32, 30, 2, None), (41, None, None, 40)])
    is_equal("jobs -j: an array", sorted(r["job_id"] for r in as_json("jobs", "--database", t.index, "--since", "all", "-j", "30")["rows"]), [31, 32])


def gone_meanwhile():
    """Files that are merged, and so go away, between the look at the directory and the reading, are not refused; what comes in their place is read."""
    for delay in (0.02, 0.05, 0.1, 0.2):
        t = Tree()
        for n in range(1, 31):
            put(t.user, n)
        p = subprocess.Popen([JOBPROF, "index", "scan", "--database", t.index, t.dir], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(delay)
        away = sorted(os.listdir(t.user))[5:]
        for name in away:
            os.unlink(os.path.join(t.user, name))
        out = p.communicate(timeout=60)[0]
        is_equal("scan: files that go away after %g s are no failures" % delay, (p.returncode, "not readable" in out, "refused" in out), (0, False, False))
        for n in (20, 21):
            put(t.user, n)
        t.scan()
        is_equal("scan: and what comes in their place is read", [r[0] for r in t.rows("job_id") if r[0] in (20, 21)], [20, 21])


def directories():
    t = Tree()
    put(t.user, 1)
    put(os.path.join(t.dir, "bob"), 2)
    is_equal("scan: two directories", t.scan(), "2 jobs of 2 new files")
    shutil.rmtree(os.path.join(t.dir, "bob"))
    t.scan()
    is_equal("scan: a directory that vanished: its jobs stay", [t.last.returncode, t.rows(), t.check()], [0, [(1,), (2,)], "no difference"])
    put(os.path.join(t.dir, "carol"), 3)
    is_equal("scan: a directory that appears", [t.scan(), t.rows()], ["1 job of 1 new file", [(1,), (2,), (3,)]])
    os.mkdir(os.fsencode(t.dir) + b"/\xff")
    is_equal("scan: a directory that the index cannot name is counted", [t.scan(), t.last.returncode, "not in UTF-8" in t.last.stderr],
             ["0 jobs of 0 new files, 1 not readable", 1, True])
    p = call("index", "scan", "--database", t.index, t.dir + "/absent")
    is_equal("scan of no directory", [p.returncode, "absent" in p.stderr], [1, True])


def unreadable_directory():
    if os.geteuid():
        raise Skipped("needs root")
    t = Tree()
    os.chmod(TMP, 0o755)
    public = os.path.join(TMP, "jobprof")
    shutil.copy(JOBPROF, public)
    os.chmod(public, 0o755)
    for d in (t.dir, os.path.dirname(t.index)):
        os.chmod(d, 0o755)
    os.chown(os.path.dirname(t.index), 65534, 65534)
    put(t.user, 1)
    put(os.path.join(t.dir, "bob"), 2)
    for path in glob.glob(t.dir + "/*/*.h5"):
        os.chmod(path, 0o644)
    bob = os.path.join(t.dir, "bob")
    for d in (t.user, bob):
        os.chmod(d, 0o755)
    scan = lambda: subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", public, "index", "scan", "--database", t.index, t.dir],
                                  capture_output=True, text=True, env=plain_env(HOME="/nonexistent"))
    first = scan()
    is_true("scan as somebody else", "2 jobs of 2 new files" in first.stdout, first.stdout + first.stderr)
    t.old()
    os.chmod(bob, 0o700)
    p = scan()
    is_equal("scan: a directory that may not be read is named, and its files are not gone", [p.returncode, bob in p.stderr, "gone" in p.stdout],
             [1, True, False])
    os.chmod(bob, 0o755)
    p = scan()
    is_equal("scan: it can be read again", [p.returncode, "gone" in p.stdout], [0, False])


def two_writers():
    t = Tree()
    put(t.user, 1)
    t.scan()
    import fcntl
    with open(t.index + ".lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        t.scan()
        is_equal("scan: a second writer is refused", [t.last.returncode, "another process" in t.last.stderr], [1, True])
        is_equal("jobs: reads meanwhile", [r["job_id"] for r in as_json("jobs", "--database", t.index, "--since", "all")["rows"]], [1])
    db = sqlite3.connect(t.index)
    db.execute("UPDATE meta SET value = '999' WHERE key = 'version'")
    db.commit()
    db.close()
    p = call("jobs", "--database", t.index)
    is_equal("an index of a later version is refused", [p.returncode, "later jobprof" in p.stderr], [1, True])


@in_full
def many():
    t = Tree()
    truth = [row for _, row in sitegen.job_files(t.dir, 300)]
    is_equal("scan: 300 files", t.scan(), "300 jobs of 300 new files")
    rows = dict((r[0], r[1:]) for r in t.rows('job_id, "user", account, elapsed_s, nodes, held_core_s'))
    is_equal("scan: each of 300 is what was made",
             [w for w in truth if rows.get(w["job_id"]) != tuple(w[k] for k in ("user", "account", "elapsed_s", "nodes", "held_core_s"))][:3], [])
    got = as_json("usage", "--database", t.index, "--since", "all", "--by", "user")
    want = {}
    for w in truth:
        want.setdefault(w["user"], []).append(w["held_core_s"])
    is_equal("usage of 300 files", {r["user"]: (r["jobs"], r["held_core_s"]) for r in got["rows"]}, {u: (len(v), sum(v)) for u, v in want.items()})
    is_equal("scan: sums of 300 files", t.check(), "no difference")


def children(pid):
    with contextlib.suppress(OSError), open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return set(map(int, f.read().split()))
    return set()


def kill_readers(p, most):
    """Of a scan below strace: so many, and it is let go on."""
    killed = set()
    while p.poll() is None and len(killed) < most:
        for pid in set().union(*map(children, children(p.pid))) - killed:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        time.sleep(0.01)
    return len(killed)


def killed_readers():
    """As where memory is short: the file of a reader that was killed is read once more. Readers set their limits slowly here, so that each is met."""
    if not shutil.which("strace"):
        raise Skipped("needs strace")
    for most, said, jobs in ((1, "1 job of 1 new file", [(1,)]), (1000, "0 jobs of 1 new file, 1 not readable", [])):
        t = Tree()
        put(t.user, 1)
        p = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=setitimer", "-e", "signal=none", "-e", "inject=setitimer:delay_enter=500000",
                              JOBPROF, "index", "scan", "--database", t.index, t.dir], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=plain_env(HOME=TMP))
        n = kill_readers(p, most)
        out, err = p.communicate(timeout=60)
        if "ptrace" in err:
            raise Skipped("needs a machine that allows ptrace")
        is_equal("scan: %s killed" % ("one reader is" if most == 1 else "two are"), [n, out.strip().partition(": ")[2], t.rows(), "was killed" in err], [min(most, 2), said, jobs, most > 1])
        is_equal("scan: then the file is known", [t.scan(), t.rows()], ["0 jobs of 0 new files", jobs])


@in_full
def killed():
    """A stop at any instant loses nothing and doubles nothing."""
    t = Tree()
    for n in range(1, 31):
        put(t.user, n)
    began = time.monotonic()
    t.scan()
    took = time.monotonic() - began
    want = t.rows("job_id, start, lost_core_s, findings")
    t.index = os.path.join(tmpdir("index"), "index.db")
    for i in range(20):
        p = subprocess.Popen([JOBPROF, "index", "scan", "--database", t.index, t.dir], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took * (i + 1) / 20)
        p.send_signal(signal.SIGKILL)
        p.wait()
    t.scan()
    is_equal("scan: killed 20 times, it has each job once", [t.rows("job_id, start, lost_core_s, findings") == want, t.check()], [True, "no difference"])


if __name__ == "__main__":
    run_tests((as_reports, again, parts_and_merged, refused, forged, damaged, each_in_turn, rounds_of_the_service, limits_of_reading, own_files, hostile_content, ids_twice, requeued, parts_of_jobs, gone_meanwhile, directories, unreadable_directory,
               two_writers, many, killed_readers, killed))
