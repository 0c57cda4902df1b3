#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprofd's socket: who may say what, and what of it is in the files."""

import codecs
import contextlib
import csv
import grp
import io
import pwd
import sys


sys.path.insert(0, sys.path[0] + "/../../lib")
from controllib import *
import socketlib as c

NOBODY = pwd.getpwnam("nobody").pw_uid
OWN_ID = "4294967280"  # ids.h: no user's


def daemon(**settings):
    return Daemon(INTERVAL, **settings)


def copying(daemon):
    """The status of a child that writes to a pipe, and has its ids."""
    with open("/proc/%d/task/%d/children" % (daemon, daemon)) as f:
        for pid in f.read().split():
            with contextlib.suppress(OSError):
                status = open("/proc/%s/status" % pid).read()
                if os.readlink("/proc/%s/fd/1" % pid).startswith("pipe:") and "CapPrm:\t0000000000000000" in status:
                    return status
    return None


def columns(path, table):
    with h5py.File(path, "r") as f:
        return f[NODE][table].dtype.names


def tables(path):
    with h5py.File(path, "r") as f:
        return sorted(set(f[NODE]) - {"Totals", "Columns"})


def asked_for(d):
    """Nobody asked for anything by configuration: only who asks gets a file, of what was asked."""
    quiet = Step(d, new_job()).run(["sleep", "0.3"])
    quiet.end()
    job = new_job()
    s = Step(d, job)
    r = s.stepd.call(c.step(job_id=job, step_id=0, uid=0, gid=0, families="task,block",
                            freq="task=0.3", restart=2, nnodes=3, node_index=1, ntasks=6,
                            cpus_per_task=2, job_name="a ä".encode() + b"\xe4", account="acc", partition="part",
                            cluster="clu", node_list="n[1-3]", cpus="0-1,4", memory_mb=100))
    is_equal("asked for: the answer", [r["error"], r["number"], r["measures"]], [0, 1, 4])
    s.run(["sleep", "1.3"], n=2)
    is_equal("asked for: the step's status", s.end(), 0)
    path = d.file(job, 0)
    is_equal("asked for: tables", tables(path),
             ["BlkLatency", "Commands", "Step", "Tasks"])
    names = columns(path, "Tasks/0")
    is_equal("asked for: families", ["BlkReads" in names, "RunDelay" in names,
                                     "NetRxMB" in names, "Cycles" in names],
             [True, True, False, False])
    rows = task_table(path, 1)
    times = rows["TimeNS"][:-1] // 1000
    off = min(int(t) % 300000 for t in times), max(int(t) % 300000 for t in times)
    is_true("asked for: rows every 0.3 s", len(times) >= 3 and
            sorted(min(t % 300000, 300000 - t % 300000) for t in map(int, times))[len(times) // 2] < 50000, str(off))
    a = attrs_of(path)
    is_equal("asked for: what was told", [a[k] for k in (
        "Restart Count", "Nodes in Step", "Node Index", "CPUs per Task", "Job Name", "Account",
        "Partition", "Cluster", "Step Node List", "Allocated Cores", "Memory Limit")],
        [2, 3, 1, 2, "a ä\ufffd", "acc", "part", "clu", "n[1-3]", 3, 100.0])
    is_true("not asked for: no file", not os.path.exists(d.path(quiet.job, 0)), "a file")
    job = new_job()
    s = Step(d, job)
    r = s.stepd.call(c.step(job_id=job, step_id=0, families="task,bogus"))
    is_equal("a word that nothing is called: the answer", [r["error"], "bogus" in r["text"]],
             [-22, True])
    s.run(["true"]).end()


def precedence():
    """--jobprof, then --profile, then the configuration."""
    d = daemon().start()
    none, both, profile = new_job(), new_job(), new_job()
    a, b, p = Step(d, none), Step(d, both), Step(d, profile)
    a.stepd.call(c.step(job_id=none, step_id=0, families="none"))
    b.stepd.call(c.step(job_id=both, step_id=0, families="all", source=c.PROFILE))
    b.stepd.call(c.step(job_id=both, step_id=0, families="task"))
    b.stepd.call(c.step(job_id=both, step_id=0, families="none", source=c.PROFILE))
    p.stepd.call(c.step(job_id=profile, step_id=0, families="energy", source=c.PROFILE))
    t = [("Power", "W", c.U64, c.GAUGE)]
    is_equal("a gatherer's table", p.stepd.call(c.table(0, "Energy", t))["error"], 0)
    is_equal("a gatherer's table under a name of ours",
             p.stepd.call(c.table(1, "0", t, group="Tasks"))["error"], 0)
    for i in range(3):
        is_equal("a gatherer's row %d" % i,
                 p.stepd.call(c.rows(0, [100 + i], (10**9) * int(time.time())))["error"], 0)
    p.stepd.call(c.rows(1, [7]))
    for s in (a, b, p):
        s.run(["sleep", "0.4"])
    for s in (a, b, p):
        s.end()
    path = d.file(both, 0)
    is_equal("--jobprof outranks --profile", "BlkReads" in columns(path, "Tasks/0"), False)
    path = d.file(profile, 0)
    is_equal("only a gatherer's series", tables(path), ["Energy", "Slurm_Tasks"])
    with h5py.File(path, "r") as f:
        is_equal("a gatherer's values", list(f[NODE]["Energy"]["Power"]), [100, 101, 102])
        is_equal("a gatherer's columns", f[NODE]["Energy"].dtype.names,
                 ("ElapsedTime", "EpochTime", "Power", "TimeNS"))
    is_true("--jobprof=none: no file", not os.path.exists(d.path(none, 0)), "a file")
    is_equal("jobprofd ends", d.end(), 0)
    is_true("the socket is gone with it", not os.path.exists(d.settings["Socket"]), "it is there")


# Overlong, a surrogate, beyond Unicode, cut short, and characters of every length that are none of
# these; 62 bytes that become 63 and more.
TEXTS = (b"a\xe4b", b"\xc0\xaf \xe0\x80\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82",
         b"\xff" * 62, "\u00e4 \u20ac \U0001f600".encode(), b"x\x1b[31m")
codecs.register_error("each", lambda e: ("\ufffd" * (e.end - e.start), e.end))


def meant(raw):
    """As Python's decoder takes it, with one U+FFFD a byte, and for a control character."""
    return "".join(ch if ch.isprintable() else "\ufffd" for ch in raw.decode(errors="each"))


def own_programs(d):
    """Marks and series from inside a job; strangers get nothing."""
    job, other = new_job(), new_job()
    s, o = Step(d, job), Step(d, other)
    for st, uid in ((s, NOBODY), (o, 1)):
        st.stepd.call(c.step(job_id=st.job, step_id=0, uid=uid, gid=uid, families="task"))
    h = Holds("0")
    s.run(h.cmd("park"), uid=NOBODY)
    o.run(["sleep", "60"], uid=1)
    h.wait()
    task_cg = s.base + "/user/task_0"
    mine, theirs = Peer(d, task_cg, NOBODY), Peer(d, o.base + "/user/task_0", NOBODY)
    outside = Peer(d, "/sys/fs/cgroup/unified" if os.path.isdir("/sys/fs/cgroup/unified")
                   else "/sys/fs/cgroup", NOBODY)
    cols = [("Residual", "1/m\u00b2", c.F64, c.GAUGE), ("Cells", "1", c.U64, c.DELTA)]
    is_equal("a series of one's own", mine.call(c.table(0, "solver", cols))["error"], 0)
    wrote = [(0.5 / (i + 1), i * i) for i in range(50)]
    for r, n in wrote[:-1]:
        mine.send(c.rows(0, [r, n], flags=0))
    is_equal("rows of one's own", mine.call(c.rows(0, list(wrote[-1])))["error"], 0)
    is_equal("marks", [mine.call(c.mark(m))["error"] for m in (
        "begin", "phase 2", "begin", *TEXTS)], [0] * 11)
    is_equal("a mark of tomorrow", mine.call(c.mark("x", (int(time.time()) + 86400) * 10**9))
             ["error"], -34)
    again = mine.call(c.table(1, "solver", cols[:1]))
    is_equal("other columns under the same name", again["error"], -17)
    is_true("and which are there", "solver has the columns Residual[1/m\u00b2], Cells[1]+ in" in again["text"], again)
    is_equal("a name with a slash", mine.call(c.table(1, "a/b", cols))["error"], -22)
    for name in ("@SUM(1)", "=1", "a b", "-1", "\u202e"):
        is_equal("a series called %a" % name, mine.call(c.table(1, name, cols))["error"], -22)
        is_equal("a column called %a" % name, mine.call(c.table(1, "t", [(name, "", c.U64, c.GAUGE)]))["error"], -22)
    is_equal("a column of time", mine.call(c.table(1, "t", [("TimeNS", "", 0, 0)]))["error"], -22)
    is_equal("what only root may say", [mine.call(m)["error"] for m in (
        c.step(job_id=job, step_id=0), c.conf(job, 0, "/tmp/slurm.conf"))], [-1, -1])
    is_equal("another user's step", theirs.call(c.mark("x"))["error"], -13)
    is_equal("from outside of a step", outside.call(c.mark("x"))["error"], -3)
    time.sleep(3 * INTERVAL)
    seen = read_live(mine, c.live())
    is_true("live rows of the own step", "%d.0/Tasks" % job in seen, str(sorted(seen)))
    gpu = seen["%d.0/Tasks" % job]["0"]["GPUMemMB"]
    if glob.glob("/dev/nvidia[0-9]*") or os.path.exists("/dev/kfd"):
        skip("live rows: what is unknown is NaN", "this machine has GPUs")
    else:
        is_true("live rows: what is unknown is NaN", gpu != gpu, gpu)
    is_equal("live rows of a series of one's own", seen.get("%d.0/User" % job, {}).get(
        "solver", {}).get("Cells"), wrote[-1][1])
    no = theirs.call(c.live(other))
    is_equal("live rows of another user's job", (no["error"], no["text"]),
             (-3, "no step of job %d that runs on this node is profiled" % other))
    no = outside.call(c.live())
    is_true("live rows from outside of a step", no["error"] == -3 and
            no["text"].startswith("this process is in no step that is profiled: ask"), no)
    is_equal("bursts: of another user's job, from outside, of a step without them, a shorter question, a name without end",
             [p.call(m)["error"] for p, m in (
                 (theirs, c.bursts(other)), (outside, c.bursts()), (mine, c.bursts(after=7)), (mine, c.message(c.BURSTS, bytes(40))),
                 (mine, c.message(c.BURSTS, b"\xff" * 48)))], [-3, -3, -61, -74, -22])
    used = read_live(mine, c.totals(0))
    is_equal("totals: of the own step and one task",
             sorted((g, sorted(t)) for g, t in used.items()),
             [("%d.0" % job, ["Step"]), ("%d.0/Tasks" % job, ["0"])])
    is_equal("totals: of a task that is not there", sorted(read_live(mine, c.totals(7))),
             ["%d.0" % job])
    is_equal("totals: of another user's step, from outside, a longer question",
             [p.call(m)["error"] for p, m in ((theirs, c.totals()), (theirs, c.totals(flags=6)), (outside, c.totals()), (
                 outside, c.totals(flags=6)), (mine, c.message(c.TOTALS, bytes(16))))], [-13, -13, -3, -3, -74])
    for p in (mine, theirs, outside):
        p.end()
    h.go()
    s.end()
    path = d.file(job, 0, user="nobody")
    what_the_file_has(path, wrote)
    what_readers_say(path, wrote, ["begin", "phase 2", "begin"] + [meant(t) for t in TEXTS])
    os.kill(o.tasks.proc.pid, signal.SIGTERM)
    o.end()


def what_the_file_has(path, wrote):
    """The series and the marks that the program gave, as it meant them."""
    with h5py.File(path, "r") as f:
        n = f[NODE]
        is_equal("series of one's own in the file", [(float(r), int(k)) for r, k in zip(
            n["User/solver"]["Residual"], n["User/solver"]["Cells"])], wrote)
        is_equal("marks in the file", list(n["Marks"]["Mark"]),
                 [1, 2, 1, *range(3, 3 + len(TEXTS))])
        a = attrs_of(path)
        is_equal("what the marks stand for, in UTF-8", [a["Mark %d" % i] for i in
                                                        range(1, 3 + len(TEXTS))],
                 ["begin", "phase 2"] + [meant(t) for t in TEXTS])
        is_equal("what was replaced is counted", a["Replaced Bytes"],
                 sum(meant(t).count("\ufffd") for t in TEXTS))
        is_equal("and the file says that these are UTF-8", [
            n.attrs.get_id("Mark %d" % i).get_type().get_cset() for i in (1, 3)],
            [h5py.h5t.CSET_ASCII, h5py.h5t.CSET_UTF8])
    shown = subprocess.run([os.path.join(BUILD, "jobprof"), "show", path], capture_output=True,
                           text=True, env=plain_env(LC_ALL="C.UTF-8")).stdout
    is_true("marks on the page", re.search(
        r"\n  marks +[\d.]+ s begin, [\d.]+ s phase 2, [\d.]+ s begin,\s+[\d.]+ s a\ufffdb\W",
        shown), shown)


def what_readers_say(path, wrote, marks):
    """Units and kinds that the program gave, in the file and by the verbs; names of marks."""
    def out(*args):
        return subprocess.run([os.path.join(BUILD, "jobprof"), *args], capture_output=True,
                              text=True, check=True).stdout
    with h5py.File(path, "r") as f:
        of = f[NODE]["Columns"][:]
        of = of[[t in (b"User", b"User/solver") for t in of["Table"]]]
        is_equal("the file has its units and kinds", [[t.decode() for t in of[k]] for k in ("Unit", "Kind")],
            [["s", "s", "1/m\u00b2", "1", "ns"], ["time", "time", "gauge", "delta", "time"]])
    cells = sum(n for _, n in wrote)
    listed = {s["name"]: {k["name"]: k for k in s["columns"]}
              for s in json.loads(out("list", "-i", path, "--json"))["series"]}
    is_equal("list knows them", [[listed["User/solver"][k][what] for what in ("unit", "kind")]
                                 for k in ("Residual", "Cells")],
             [["1/m\u00b2", "gauge"], ["1", "per interval"]])
    is_true("the page has the sum of what is added up", re.search(
        r"User/solver: 50 rows\n  columns   Residual mean \S+ max 0\.5 \S+, Cells %d 1\n" % cells,
        out("show", "--all", path)), out("show", "--all", path))
    lines = list(csv.reader(io.StringIO(out("extract", "-i", path, "-s", "User/solver", "--units", "-l",
                                            "timeseries", "--columns", "Residual,Cells", "-o", "-"))))
    is_equal("extract -s User/solver", (lines[0], lines[1], [(float(r), int(n)) for *_, r, n in lines[2:]]),
             (["Step", "Node", "Series", "Residual", "Cells"], ["", "", "", "1/m\u00b2", "1"],
              [(round(r, 6), n) for r, n in wrote]))
    total, = csv.DictReader(io.StringIO(out("extract", "-i", path, "-s", "User/solver", "-o", "-")))
    is_equal("totals by kind", (float(total["Sum_Cells"]), "Sum_Residual" in total), (cells, False))
    rows = list(csv.DictReader(io.StringIO(out("extract", "-i", path, "-s", "Marks", "-o", "-"))))
    is_equal("extract -s Marks: names", [r["Mark"] for r in rows], marks)


def read_live(peer, raw):
    """{group: {table: {column: cell}}}"""
    got, names = {}, {}
    peer.send(raw)
    while True:
        kind, f = peer.receive()
        if kind == c.REPLY:
            if f["error"]:
                raise Failed("live: %s" % f["text"])
            return got
        if kind == c.TABLE:
            names[f["table"]] = f
            continue
        t = names[f["table"]]
        cells = [struct.unpack_from("<d" if k == c.F64 else "<Q", f["raw"], 8 * i)[0]
                 for i, k in enumerate(t["cells"])]
        got.setdefault(t["group"], {})[t["name"]] = dict(zip(t["columns"], cells))


def administrators():
    """Members of the configured group see every job."""
    d = daemon(ProfileHDF5Default="None", AdminGroup=grp.getgrgid(1).gr_name).start()
    job = new_job()
    s = Step(d, job)
    s.stepd.call(c.step(job_id=job, step_id=0, uid=NOBODY, gid=NOBODY, families="task"))
    h = Holds("0")
    s.run(h.cmd("park"), uid=NOBODY)
    h.wait()
    top = os.path.dirname(os.path.dirname(tree.v2))
    admin, other = Peer(d, top, 1), Peer(d, top, 2)
    time.sleep(3 * INTERVAL)
    seen = read_live(admin, c.live(job))
    is_true("a member of AdminGroup sees a job's rows", "%d.0/Tasks" % job in seen, sorted(seen))
    is_equal("another user does not", other.call(c.live(job))["error"], -3)
    is_equal("a member may not speak for the job", admin.call(c.mark("x"))["error"], -3)
    for p in (admin, other):
        p.end()
    h.go()
    s.end()
    is_equal("with administrators: jobprofd ends", d.end(), 0)
    p = subprocess.run(["runuser", "-u", "nobody", "--", os.path.join(BUILD, "jobprof-dump")],
                       capture_output=True, text=True)
    is_true("jobprof-dump needs root", p.returncode == 1 and p.stderr.count("\n") == 1, p.stderr)


def tasks_told(d):
    """slurmstepd says which process is which task, whatever else says otherwise."""
    job = new_job()
    s = Step(d, job)
    s.stepd.call(c.step(job_id=job, step_id=0, families="task", freq="task=30"))
    h = Holds("0")
    s.run(h.cmd("park"), first=3)
    h.wait()
    is_equal("slurm.conf: an absolute path that ends", [s.stepd.call(
        c.conf(job, 0, path))["error"] for path in ("/etc/slurm.conf", "", "etc/slurm.conf",
                                                    "/" * 256)], [0, -22, -22, -22])
    boxed = Peer(d, s.base + "/slurm")
    boxed.tell("chroot " + d.dir)
    is_equal("slurm.conf: of another root directory", boxed.call(c.conf(job, 0, "/s.conf"))["error"],
             -1)
    boxed.end()
    is_equal("a task is told", s.stepd.call(c.task(c.TASK, job, 0, 41, h.all[0].pid))["error"], 0)
    h.go()
    s.stepd.call(c.task(c.TASK_END, job, 0, 41, h.all[0].pid))
    time.sleep(0.1)
    is_equal("the end is told", s.stepd.call(c.step_end(job, 0, "time limit"))["error"] in (0, -3),
             True)
    s.end()
    path = d.file(job, 0)
    is_equal("the told task's table", tasks_of(path), [41])


def slow():
    """A request counts that came before the step began, of which jobprofd hears when tasks run."""
    d = daemon(ProfileHDF5Default="task").start()
    job = new_job()
    Step(d, job).run(["true"]).end()
    d.file(job, 0)  # the user is known by now
    job = new_job()
    peer = c.connect(d.settings["Socket"])
    peer.send(c.step(job_id=job, step_id=0, families="task,block"))
    is_equal("a slow jobprofd: the answer", c.decode(peer.recv(4096))[1]["error"], 0)
    d.proc.send_signal(signal.SIGSTOP)
    base = tree.job(job, "s00%011d" % job) + "/step_0"
    h = Holds("0")
    s = Stepd(job, 0, h.cmd("park"), v2_task(base))
    h.wait()
    d.proc.send_signal(signal.SIGCONT)
    time.sleep(3 * INTERVAL)
    h.go()
    s.end()
    is_equal("a slow jobprofd: tables", tables(d.file(job, 0)),
             ["BlkLatency", "Commands", "Step", "Tasks"])
    d.end()


def restarted():
    """kill -9 of jobprofd while others bring rows."""
    d = daemon(ProfileHDF5Default="None").start()
    job = new_job()
    s = Step(d, job)
    s.stepd.call(c.step(job_id=job, step_id=0, families="task"))
    h = Holds("0")
    s.run(h.cmd("park"))
    h.wait()
    p = Peer(d, s.base + "/user/task_0")
    cols = [("X", "", c.U64, c.GAUGE)]
    other = [("Y", "", c.F64, c.GAUGE), ("Z", "", c.U64, c.GAUGE)]
    p.call(c.table(0, "a", cols))
    p.call(c.rows(0, [1]))
    p.call(c.mark("one"))
    p.call(c.mark(b"x\xff"))
    time.sleep(2 * INTERVAL)
    os.kill(d.proc.pid, signal.SIGKILL)
    d.proc.wait()
    d.start()
    p.connect(d)
    p.call(c.table(0, "b", other))
    p.call(c.rows(0, [2.5, 9]))
    p.call(c.table(1, "a", cols))
    p.call(c.rows(1, [3]))
    p.call(c.mark("two"))
    p.call(c.mark("one"))
    p.call(c.mark(b"y\xfe\xff"))
    h.go()
    p.end()
    s.end()
    with h5py.File(d.file(job, 0), "r") as f:
        n = f[NODE]
        is_equal("after a restart: a series goes on", list(n["User/a"]["X"]), [1, 3])
        is_equal("after a restart: a new one beside it",
                 [float(n["User/b"]["Y"][0]), int(n["User/b"]["Z"][0])], [2.5, 9])
        is_equal("after a restart: marks", list(n["Marks"]["Mark"]), [1, 2, 3, 1, 4])
        attrs = attrs_of(d.file(job, 0))
        is_equal("after a restart: marks' names", [attrs["Mark %d" % i] for i in (1, 2, 3, 4)], ["one", "x\ufffd", "two", "y\ufffd\ufffd"])
        is_equal("after a restart: what was lost before counts", attrs["Replaced Bytes"], 3)
    is_equal("after a restart: jobprofd ends", d.end(), 0)


def copies(d):
    """A process that copies a journal for its user, which he does not read, can be stopped by nobody: it ends in time."""
    job = new_job()
    s = Step(d, job)
    s.stepd.call(c.step(job_id=job, step_id=0, uid=NOBODY, gid=NOBODY, families="task"))
    s.run(["sleep", "60"], uid=NOBODY)
    deaf = Peer(d, s.base + "/user/task_0", NOBODY)
    deaf.call(c.table(0, "t", [("C%d" % i, "", c.U64, c.GAUGE) for i in range(30)]))
    for i in range(1000):  # more than a pipe takes
        deaf.send(c.rows(0, range(30), flags=0))
    deaf.call(c.rows(0, range(30)))
    deaf.send(c.totals(flags=7))
    status = wait_until(lambda: copying(d.proc.pid), 5, "a copy")
    is_true("copies: ids that no user has", re.search(r"^Uid:(\t%s){4}$" % OWN_ID, status, re.M), status)
    deaf.end()
    os.kill(s.tasks.proc.pid, signal.SIGTERM)
    s.end()


STOPS = """import os, signal, sys, time
stopped, end = set(), time.time() + 4
while time.time() < end:
    for pid in open("/proc/%s/task/%s/children" % (sys.argv[1], sys.argv[1])).read().split():
        try:
            if b"running" in open("/proc/%s/cmdline" % pid, "rb").read():
                os.kill(int(pid), signal.SIGSTOP)
                stopped.add(pid)
        except OSError:
            pass
print(len(stopped))
"""


@in_full
def judges():
    """A user stops those that judge the files of his steps: they are two, so that there is room for others."""
    d = daemon(LiveFindings="all").start()
    steps = [Step(d, new_job()) for _ in range(5)]
    for s in steps:
        s.stepd.call(c.step(job_id=s.job, step_id=0, uid=NOBODY, gid=NOBODY, families="task", node_index=0))
        s.run(["sleep", "100"], uid=NOBODY)
    p = subprocess.run(["setpriv", "--reuid=%d" % NOBODY, "--clear-groups", "/usr/bin/python3", "-c", STOPS, str(d.proc.pid)],
                       capture_output=True, text=True, check=True)
    is_equal("judges: two are stopped", p.stdout, "2\n")
    for s in steps:
        os.kill(s.tasks.proc.pid, signal.SIGTERM)
        s.end()
    d.end()


def hostile(d):
    """Whatever comes over the socket costs nobody else anything."""
    job = new_job()
    s = Step(d, job)
    s.stepd.call(c.step(job_id=job, step_id=0, uid=NOBODY, gid=NOBODY, families="task"))
    s.run(["sleep", "3"], uid=NOBODY)
    path = d.settings["Socket"]
    is_equal("the socket's mode", oct(os.stat(path).st_mode & 0o777), "0o666")
    packets = [b"", b"\0", b"x" * 100, c.step()[:-1], c.message(99, b""), c.message(c.ROWS, b"x" * 9),
               c.message(c.TABLE, b"\xff" * 120), c.message(c.MARK, b"\xff" * 72),
               c.message(c.LIVE, b"\xff" * 40), c.message(c.BURSTS, b"\xff" * 48),
               c.message(c.STEP, b"", version=7), os.urandom(5000), b"\xff" * 60000]
    closed = 0
    for raw in packets:
        k = c.connect(path)
        try:
            k.send(raw)
            closed += not k.recv(4096)
        except OSError:
            closed += 1
        k.close()
    is_true("no packet of %d gets an answer that is none" % len(packets), closed >= 6, str(closed))
    flood = Peer(d, s.base + "/user/task_0", NOBODY)
    flood.call(c.table(0, "f", [("X", "", c.U64, c.GAUGE)]))
    row = c.rows(0, [1], flags=0)
    sent = 0
    end = time.time() + 1.5
    while time.time() < end:
        try:
            flood.send(row)
            sent += 1
        except Failed:
            time.sleep(0.001)  # it is behind
    many = []
    try:
        while len(many) < 3000:
            many.append(c.connect(path))
    except OSError:
        pass
    is_true("others are served beside many connections", s.stepd.call(
        c.task(c.TASK, job, 0, 0, 1 << 22))["error"] == 0, "not")
    for k in many:
        k.close()
    deaf = Peer(d, s.base + "/user/task_0", NOBODY)
    for _ in range(8):  # what the kernel keeps of a sender
        try:
            deaf.send(c.live())
        except Failed:
            break
    flood.end()
    deaf.end()
    s.end()
    rows = task_table(d.file(job, 0, user="nobody"), 0)
    times = [int(t) for t in rows["TimeNS"]]
    gap = max(b - a for a, b in zip(times, times[1:])) / 1e9
    is_true("rows of the step go on meanwhile", len(times) >= 10 and gap < 3 * INTERVAL,
            "%d rows, largest gap %.2f s" % (len(times), gap))


def main():
    d = daemon(ProfileHDF5Default="None").start()
    for part in (asked_for, own_programs, tasks_told, copies, hostile):
        try:
            part(d)
        except (Failed, OSError, KeyError) as e:
            not_ok(part.__name__, "%s: %s; jobprofd: %s" % (type(e).__name__, e, d.said()[-800:]))
    is_equal("jobprofd ends well", d.end(), 0)
    precedence()
    administrators()
    slow()
    run_tests([judges])
    restarted()


if __name__ == "__main__":
    main()
