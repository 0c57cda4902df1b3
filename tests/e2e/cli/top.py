#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof top: its numbers beside jobprof live's of the same jobprofd, and its screen and keys in a
terminal, before a jobprofd of the test's own."""

import errno
import struct
import sys
import unicodedata
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
import screenlib
import serverlib

SOCKET = os.path.join(tmpdir("sock"), "sock")
ENV = plain_env(JOBPROF_SOCKET=SOCKET, LC_ALL="C.UTF-8")
MIB = 1 << 20
F_BRIEF, ALL = 8, 0xfffffffe
TIME = [("ElapsedTime", "s", 0, 0)]
STEP = TIME + [(n, "", 1, 0) for n in ("CPUUtilization", "RunDelay", "OffCPUDisk", "RSS", "MemMB", "MemLimitMB",
                                       "BlkReadMB", "BlkWriteMB", "NetRxMB", "NetTxMB", "Threads")]
EXTRA = [("Interval", "s", 1, 0), ("CPUTotal", "s", 1, 2)]
NAN = float("nan")
# job, user, job's name, step, [cpu % of each task]
JOBS = [(42, "anna", "solver", "batch", [12.5]), (42, "anna", "solver", "0", [380.0, 90.5, 5.0]),
        (43, "bert", "weather model", "0", [50.0])]


def numbers(cpu, rss_kib, mem_mib=NAN, limit_mib=NAN):
    """A row of two seconds: half of a second waiting, a tenth on disks, 4 MiB read, nothing known of the net."""
    return (65, cpu, 0.5, 0.2, rss_kib, mem_mib, limit_mib, 4.0, 0.0, NAN, NAN, 3.0, 2.0, 3700.0)


class Node(serverlib.Server):
    """Answers LIVE as jobprofd does, with self.jobs."""

    def __init__(self, jobs):
        super().__init__(SOCKET, lambda s, c, m: s.tables(m))
        self.jobs = jobs

    def tables(self, m):
        out, n = [], 0
        jobs = [j for j in self.jobs if m["job_id"] in (ALL, j[0])]
        if not jobs and m["job_id"] != ALL:
            return [serverlib.reply(m["seq"], -errno.ESRCH, text="no step of job %d that runs on this node is profiled" % m["job_id"])]
        for job, user, name, step, tasks in jobs:
            out.append(self.about(job, user, name, step, len(tasks)))
            rows = [("%d.%s" % (job, step), "Step", numbers(sum(tasks), 2 << 20, 4096.0, 1024.0))]
            rows += [("%d.%s/Tasks" % (job, step), str(i), numbers(cpu, 1024)) for i, cpu in enumerate(tasks)]
            for group, table, row in rows:
                cols = STEP + EXTRA
                out += [serverlib.table(n, group, table, cols), serverlib.rows(n, cols, [row])]
                n += 1
        return out + [serverlib.reply(m["seq"], number=n)]

    @staticmethod
    def about(job, user, name, step, ntasks):
        values = dict.fromkeys(serverlib._STEP_NUMBERS, 0)
        values.update(job_id=job, node_tasks=ntasks, ntasks=ntasks)
        texts = dict.fromkeys([n for n, _ in serverlib._STEP_TEXTS], b"")
        texts.update(user=user.encode("utf-8", "surrogateescape"), step_name=step.encode(),
                     job_name=name.encode("utf-8", "surrogateescape"))
        form = serverlib._BODIES[serverlib.STEP][0]
        body = struct.pack(form, *[values[n] for n in serverlib._STEP_NUMBERS], *texts.values())
        return serverlib.head(serverlib.STEP, serverlib.HEAD.size + len(body)) + body


def top(*args, env=ENV):
    p = subprocess.run([JOBPROF, "top", *args], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout, p.stderr


def cells(out):
    """Rows of a batch's table by their first word, each a dict by the heads of columns."""
    lines = out.splitlines()
    at = next(i for i, l in enumerate(lines) if l.startswith(("JOB/STEP/TASK", "STEP/TASK", "NODE")))
    heads, rows = re.findall(r"\S+", lines[at]), {}
    for line in lines[at + 1:]:
        if not line:
            break
        m = re.match(r" *(?:[-+] )?(task \d+|\S+)", line)
        words = line[m.end():].split()
        if "USER" in heads and line[14:23].strip():
            words = words[1:]  # the user
        rows.setdefault(m.group(1), dict(zip([h for h in heads[1:] if h != "USER"], words)))
    return rows


def batch():
    n = Node(JOBS).start()
    status, out, log = top("-b", "-n", "1", "-w", "200")
    is_equal("what was asked", [(m["job_id"], m["flags"] & F_BRIEF) for m in n.of("LIVE")], [(ALL, F_BRIEF)])
    got = cells(out)
    is_equal("a job's CPU is the sum of its steps", (status, log, got["42"]["CPU%"]), (0, "", "488.0"))
    is_equal("a task", {k: got["task 1"][k] for k in ("CPU%", "WAIT%", "IO%", "MEM", "DISK/s", "NET/s", "WATT", "THR")},
             {"CPU%": "90.5", "WAIT%": "25.0", "IO%": "10.0", "MEM": "1.0M", "DISK/s": "2.0M", "NET/s": "?", "WATT": "?", "THR": "3"})
    is_equal("a step's memory is its cgroup's", (got["batch"]["MEM"], got["batch"]["MEM%"]), ("4.0G", "400.0"))
    is_equal("time", (got["0"]["TIME"], got["0"]["ELAPSED"]), ("1:01h", "1:05"))
    is_true("the highest first", out.index("anna") < out.index("bert") and out.index("  - 0") < out.index("batch") and
            out.index("task 0") < out.index("task 1"), out)
    status, out, _ = top("-b", "-n", "3", "-d", "0.1")
    is_equal("three looks", (status, out.count("JOB/STEP/TASK"), out.count("\n\njobprof top - ")), (0, 3, 2))
    is_true("80 columns", max(map(len, out.splitlines())) <= 80 and "DISK/s" in out and "NAME" in out, out)
    for width in (1, 20, 40, 132, 300):
        out = top("-b", "-n", "1", "-w", str(width))[1]
        is_true("%d columns" % width, max(map(len, out.splitlines())) <= width, out)
    is_equal("of one user", list(cells(top("-b", "-n", "1", "-u", "bert")[1])), ["43", "0", "task 0"])
    is_equal("of one job", list(cells(top("-b", "-n", "1", "-j", "43")[1])), ["43", "0", "task 0"])
    is_equal("a list, by id", [l.split()[0] for l in top("-b", "-n", "1", "--flat", "-o", "id")[1].split("NAME\n")[1].splitlines()],
             ["42.0/0", "42.0/1", "42.0/2", "42.batch/0", "43.0/0"])
    n.jobs = []
    status, out, log = top("-b", "-n", "1")
    is_true("no steps are no error", status == 0 and "0 jobs, 0 steps, 0 tasks" in out and not log, (status, out, log))
    n.stop()


def errors():
    status, out, log = top("-b", "-n", "1")
    is_true("no jobprofd", status == 1 and not out and log.count("\n") == 1 and "no jobprofd on this node" in log, log)
    for args in (["x"], ["-n", "0"], ["-d", "0"], ["-d", "x"], ["-o", "colour"], ["-j", "1,2"], ["-j", "1.0"], ["-p", "/tmp"]):
        status, out, log = top(*args)
        is_true("usage: " + " ".join(args), status == 2 and not out and log, (status, out, log))
    status, out, log = top("-j", "42", "-p", tmpdir("none"))
    is_true("no file of the job", status == 1 and not out and log.count("\n") == 1 and "PublishInterval" in log, log)
    n = Node(JOBS).start()
    status, out, log = top()
    is_true("no terminal", status == 2 and not out and "-b" in log and log.count("\n") == 1, log)
    n.answer = lambda s, c, m: [Node.about(1, "a", "b", "0", 1)[:-1]]
    status, out, log = top("-b", "-n", "1")
    is_true("another program at the socket", status == 1 and not out and log.count("\n") == 1, log)
    n.stop()


def hostile_names():
    n = Node([(7, "ev\x1b[2Jil", "a\x1b]0;x\x07b\n\u202e\u00e4\udcff" + "\u4e16" * 30, "0", [1.0])]).start()
    out = top("-b", "-n", "1", "-w", "120")[1]
    n.stop()
    is_true("nothing but characters comes out", "\x1b" not in out and "\x07" not in out and "\u202e" not in out and
            "a\\x1b]0;x\\x07b" in out, out)
    wide = lambda text: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
    n = Node([(7, "\u4e16" * 9, "\U0001f600\uac00" * 15, "0", [1.0]), (8, "b", "\u4e16\u754c" * 2, "0", [1.0])]).start()
    for columns in (80, 81, 120, 50):
        lines = top("-b", "-n", "1", "-w", str(columns))[1].splitlines()
        is_true("names of wide characters: no more than %d columns" % columns, max(map(wide, lines)) <= columns, lines)
    lines = top("-b", "-n", "1", "-w", "120")[1].splitlines()
    n.stop()
    is_equal("names of wide characters: their columns", len({wide(l[:l.rindex("\u4e16\u754c")]) for l in lines if "\u4e16\u754c" in l} | {wide(next(l for l in lines if "NAME" in l).partition("NAME")[0]) + 4}), 1)


def terminal(jobs=JOBS, *args, lines=24, columns=80, env=ENV):
    n = Node(jobs).start()
    t = screenlib.Terminal([JOBPROF, "top", "-d", "0.3", *args], env, lines, columns)
    t.node = n
    return t


def done(t):
    t.press("q")
    status = t.end()
    t.node.stop()
    is_equal("%dx%d: its end, and no sequence that the model lacks" % (t.model.columns, t.model.lines), (status, t.model.unknown), (0, []))
    t.close()


def ids(lines):
    """What stands in the first column of the table, without the marks of the tree."""
    at = next((i for i, l in enumerate(lines) if l.startswith(("JOB/STEP", "STEP/TASK"))), None)
    return [] if at is None else [re.sub(r"^ *[-+ ] ", "", l[:14]).strip() for l in lines[at + 1:-1] if l.strip()]


def style_of(t, word):
    """Of the first cell of the line that begins with it."""
    for y, line in enumerate(t.model.text()):
        if line.lstrip(" -+").startswith(word):
            return t.model.styles[y][0]


def keys():
    t = terminal()
    whole = ["42", "0", "task 0", "task 1", "task 2", "batch", "task 0", "43", "0", "task 0"]
    is_true("the whole tree", t.see(lambda l: ids(l) == whole), t.model.text())
    is_true("the first row is selected", style_of(t, "42") == "reverse", t.model.styles[6])
    for name, key, then in (
            ("space folds the job", " ", ["42", "43", "0", "task 0"]),
            ("space unfolds it", " ", whole),
            ("* folds all", "*", ["42", "43"]),
            ("- unfolds all", "-", whole),
            ("N sorts by id", "N", ["42", "0", "task 0", "task 1", "task 2", "batch", "task 0", "43", "0", "task 0"]),
            ("R turns it round", "R", ["43", "0", "task 0", "42", "batch", "task 0", "0", "task 2", "task 1", "task 0"]),
            ("P sorts by CPU again", "P", whole),
            ("t makes a list", "t", ["42.0/0", "42.0/1", "43.0/0", "42.batch/0", "42.0/2"]),
            ("F5 a tree", "\x1b[15~", whole),
            ("F4 filters", "\x1bOSweath\n", ["43", "0", "task 0"]),
            ("an empty filter shows all", "\\" + "\x7f" * 9 + "\n", whole),
            ("u shows one user", "ubert\n", ["43", "0", "task 0"]),
            ("and all", "u" + "\x7f" * 4 + "\n", whole)):
        t.press(key)
        is_true("key: " + name, t.see(lambda l, then=then: ids(l) == then), t.model.text())
    for name, key, word in (("/ finds", "/bert\n", "43"), ("Home", "\x1bOH", "42"), ("End", "\x1bOF", "task 0"),
                            ("up", "\x1bOA", "0"), ("down at the end", "\x1bOB" * 3, "task 0"),
                            ("page up", "\x1b[5~", "42"), ("page down", "\x1b[6~", "task 0")):
        t.press(key)
        is_true("key: " + name, t.see(lambda l, word=word: "reverse" in [
            t.model.styles[y][0] for y, x in enumerate(l) if x.lstrip(" -+").startswith(word) and y > 4]), t.model.text())
    t.press("h")
    is_true("key: help", t.see(lambda l: "Any key goes back." in l), t.model.text())
    t.press("x")
    t.press("d")
    is_true("key: d asks", t.see(lambda l: l[-1].startswith("Seconds between looks: 0.3")), t.model.text())
    t.press("\x7f" * 3 + "0.2\n")
    is_true("key: the delay is another", t.see(lambda l: "every 0.2 s" in l[0]), t.model.text())
    t.press("/nothing\n")
    is_true("key: not found", t.see(lambda l: l[-1] == "not found"), t.model.text())
    t.press("M")
    is_true("key: > goes to the next column", t.see(lambda l: True) and (t.press(">") or True), "")
    done(t)


def sizes():
    many = [(100 + j, "user%d" % j, "job %d" % j, "0", [float(i) for i in range(20)]) for j in range(40)]
    for lines, columns in ((24, 80), (50, 200), (5, 20), (2, 10), (1, 1)):
        t = terminal(many, lines=lines, columns=columns)
        is_true("%dx%d is drawn" % (columns, lines), t.see(lambda l: any(x.strip() for x in l)), t.raw[-500:])
        if lines == 50:
            head = t.see(lambda l: "ELAPSED" in l[4])
            is_true("wide: more columns", head and "DKWR/s" in head[4] and len(head) == 50, head)
        done(t)
    t = terminal(many, lines=15, columns=60)
    is_true("60 columns: no name of which two letters are seen", t.see(lambda l: l[4].endswith("NET/s")), t.model.text())
    t.press("h")
    is_true("60x15: the help is whole", t.see(lambda l: l[-1] == "Any key goes back." and l[5].endswith("rows with a text") and l[13].endswith("last row.")), t.model.text())
    t.press("x")
    done(t)
    t = terminal(many)
    t.see(lambda l: len(ids(l)) == 18)
    t.press("\x1bOF")
    is_true("End shows the last rows", t.see(lambda l: ids(l)[-1:] == ["task 0"]), t.model.text())
    t.resize(40, 132)
    is_true("it follows the terminal's size", t.see(lambda l: len(l) == 40 and len(ids(l)) == 34 and l[-1].startswith("F1")), t.model.text())
    t.resize(10, 60)
    is_true("smaller, too", t.see(lambda l: len(ids(l)) == 4 and l[-1].startswith("F1")), t.model.text())
    done(t)


def colours():
    t = terminal()
    t.see(lambda l: len(ids(l)) == 10)
    is_true("much waiting has a colour", any("colour 33" in s for row in t.model.styles for s in row), t.model.seen)
    done(t)
    t = terminal(env=dict(ENV, NO_COLOR="1"))
    t.see(lambda l: len(ids(l)) == 10)
    t.press("\x1bOB")
    t.see(lambda l: style_of(t, "0") == "reverse")
    is_true("NO_COLOR: none has", not any(s.startswith("colour") for s in t.model.seen), t.model.seen)
    done(t)


def daemon_goes():
    t = terminal()
    t.see(lambda l: len(ids(l)) == 10)
    t.node.stop()
    is_true("jobprofd has gone: the rows stay, and it says so",
            t.see(lambda l: "no jobprofd on this node" in l[-1] and len(ids(l)) == 10), t.model.text())
    t.node = Node(JOBS[2:]).start()
    is_true("it has come back", t.see(lambda l: ids(l) == ["43", "0", "task 0"] and l[-1].startswith("F1")), t.model.text())
    done(t)


def live_rows(d, job):
    p = subprocess.run([JOBPROF, "live", "--format", "json", "-j", str(job)], env=plain_env(JOBPROF_SOCKET=d.settings["Socket"]),
                       capture_output=True, text=True, timeout=30)
    return {t["series"]: dict(zip([c["name"] for c in t["columns"]], t["rows"][-1])) for t in json.loads(p.stdout or "[]")}


def real_numbers():
    """Of two tasks that compute, beside what live prints of the same rows."""
    tree, d, job = Trees(), Daemon(interval=1).start(), new_job()
    h = Holds("01")
    s = Stepd(job, 0, h.cmd("spin=60", "park"), v2_task(tree.job(job) + "/step_0", ["-b", 0.5]), n=2, first=5)
    env = plain_env(JOBPROF_SOCKET=d.settings["Socket"])
    wait_until(lambda: "Tasks/6" in live_rows(d, job), 20, "rows")
    for _ in range(20):
        before, (_, out, _), after = live_rows(d, job), top("-b", "-n", "1", "-w", "250", env=env), live_rows(d, job)
        if before == after:
            break
        time.sleep(0.3)
    got = cells(out)
    for row, table in (("0", "Step"), ("task 5", "Tasks/5"), ("task 6", "Tasks/6")):
        v = after[table]
        seconds = v["CPUTime"] / v["CPUUtilization"] * 100
        is_near(row + ": CPU%", float(got[row]["CPU%"]), v["CPUUtilization"], abs_=0.051 + v["CPUUtilization"] * 0.001)
        is_near(row + ": WAIT%", float(got[row]["WAIT%"]), 100 * v["RunDelay"] / seconds, abs_=0.1 + v["RunDelay"] * 0.2)
        is_equal(row + ": threads", got[row]["THR"], "%.0f" % v["Threads"])
    mem = after["Step"]["MemMB"] if after["Step"]["MemMB"] is not None else after["Step"]["RSS"] / 1024
    is_near("memory", float(got["0"]["MEM"].rstrip("MK")) * (1 if "M" in got["0"]["MEM"] else 1 / 1024), mem, rel=0.06, abs_=0.06)
    is_equal("the job", got[str(job)]["CPU%"], got["0"]["CPU%"])
    is_equal("no sensor: power is not known", got["0"]["WATT"], "?")
    # another user sees nothing of it, and that is all the same whether it runs or not
    p = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", public_copy_of_jobprof(), "top", "-b", "-n", "1"],
                       env=env, capture_output=True, text=True)
    is_true("another user sees no step", "0 jobs, 0 steps, 0 tasks" in p.stdout and str(job) not in p.stdout, p.stdout + p.stderr)
    away(d, job)
    s.proc.terminate()  # and its tasks
    s.end()
    d.end()


def running_file(d):
    names = [os.path.join(top, n) for top, _, all in os.walk(d.hdf5) for n in all if n.startswith(".") and n.endswith(".h5")]
    return names[0] if names else None


def away(d, job):
    """Where no jobprofd is: the last row of the file, as h5py reads it."""
    wait_until(lambda: running_file(d), 20, "the file of the running step")
    path = os.path.join(tmpdir("away"), os.path.basename(running_file(d)))
    shutil.copy(running_file(d), path)  # the step's own is written anew
    os.utime(path)
    step = next(g for _, g in h5items(path) if "Step" in g)["Step"]
    _, out, log = top("-b", "-n", "1", "-w", "200", "-j", str(job), "-p", os.path.dirname(path))
    node = cells(out).get(NODE, {})
    is_true("away from the node: its row", node and node["STEPS"] == "0" and "1 node\n" in out and not log, (out, log))
    is_near("CPU% of the file's last row", float(node["CPU%"]), step["CPUUtilization"][-1], rel=0.001, abs_=0.051)
    is_true("how old it is", 0 <= as_seconds(node["AGE"]) <= 120, node["AGE"])
    with open(path, "wb") as f:
        f.write(b"no profile")
    status, out, log = top("-b", "-n", "1", "-j", str(job), "-p", os.path.dirname(path))
    is_true("a damaged file has no row", status == 1 and not out and log.count("\n") == 1, (out, log))


def as_seconds(text):
    minutes, seconds = text.split(":")
    return int(minutes) * 60 + int(seconds)


def h5items(path):
    """The groups of a file, with its tables as arrays."""
    found = []
    with h5py.File(path) as f:
        f.visititems(lambda name, o: found.append((name, {k: o[k][:] for k in o if isinstance(o[k], h5py.Dataset)}))
                     if isinstance(o, h5py.Group) else None)
    return found


def public_copy_of_jobprof():
    path = os.path.join(tmpdir("public"), "jobprof")
    shutil.copy(JOBPROF, path)
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o755)
    return path


run_tests([batch, errors, hostile_names, keys, sizes, colours, daemon_goes, real_numbers])
