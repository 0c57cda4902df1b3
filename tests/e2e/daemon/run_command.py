#!/usr/bin/python3
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof run and its command: what the command inherits, how it ends, signals, runs at the same
time, clocks that are set, and that nothing is left in memory or in the kernel."""

import pty
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *


def limits_of_command():
    p = sh(["prlimit", "--nofile=1000:"] + run_cmd("sh", "-c", "ulimit -n"))
    is_equal("CMD has the caller's limit of open files", p.stdout.split("\n")[0], "1000")


# Without this right a program keeps a hard limit.
MAY_NOT_LIFT = ["setpriv", "--bounding-set=-sys_resource"]


def limit_of_file_size():
    """The limit of the size of files, which Slurm passes on from the login, is one of CMD's files alone: the hard one where
    this process may lift it."""
    may_lift = sh(["prlimit", "--fsize=4096:4096", "prlimit", "--fsize=unlimited:unlimited", "true"]).returncode == 0
    for hard in (False, True):
        out, name = tmpdir("out"), "limit of the size of files, %s" % ("hard" if hard else "soft")
        args = [a for a in run_cmd("sh", "-c", "prlimit --fsize -o SOFT --noheadings; exit 5", out=out) if a != "-q"]
        p = sh(["prlimit", "--fsize=4096:" + "4096" * hard] + args)
        is_equal(name + ": CMD has it", [p.returncode, p.stdout.split()], [5, ["4096"]])
        if hard and not may_lift:
            skip(name, "a hard limit may not be lifted here (CAP_SYS_RESOURCE)")
            continue
        is_true(name + ": the page and the file", "Where the time went" in p.stderr and
                len(h5_files(out)) == 1 and "too large" not in p.stderr, p.stderr)


def cpus_of_command():
    """CMD was given the CPUs of jobprof run, also where it binds itself to one as soon as it begins."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        skip("CPUs of CMD", "there is one CPU")
        return
    runs = [Run(["taskset", "-c", str(cpus[0]), tool("jphold"), "sleep=0.3"]) for _ in range(4)]
    given = [attrs_of(r.end())["Allocated CPUs"] for r in runs]
    is_equal("CPUs that CMD was given, which binds itself to one", given, [len(cpus)] * 4)


def inherits_nothing():
    """CMD may be anybody's: no map, program, journal or lock of ours reaches it."""
    fds = os.path.join(tmpdir("fds"), "fds")
    sh(run_cmd("sh", "-c", "for f in /proc/$$/fd/*; do readlink $f; done > " + fds))
    ours = [l for l in open(fds).read().split("\n") if re.search("bpf|journal|anon_inode|lock", l)]
    is_equal("CMD inherits no file descriptor of ours", ours, [])


def command_ends():
    plain = os.path.join(tmpdir("cmd"), "plain")
    with open(plain, "w") as f:
        f.write("no program")
    for name, cmd, status, text in (
            ("not found", ["/nonexistent/cmd"], 127, "cannot run /nonexistent/cmd: No such file"),
            ("not in PATH", ["jp-no-such-command"], 127, "cannot run jp-no-such-command: No such"),
            ("not executable", [plain], 126, "cannot run .*plain: Permission denied"),
            ("a directory", ["/tmp"], 126, "cannot run /tmp: "),
            ("empty", [""], 127, "cannot run")):
        says("CMD %s: %d" % (name, status), sh(run_cmd(*cmd)), status, text)
    script, out = os.path.join(tmpdir("cmd"), "script"), tmpdir("ends")
    with open(script, "w") as f:
        f.write("#!/nonexistent/interpreter\n")
    os.chmod(script, 0o755)
    says("CMD without its interpreter: 127", sh(run_cmd(script, out=out)), 127, "cannot run .*script: No such file")
    attrs = attributes(h5_files(out)[0])
    is_equal("CMD without its interpreter: the file says how it ended",
             (attrs["End Reason"], int(attrs.get("Exit Status", [-1])[0])), ("exited", 127))
    for name, script, status in (("its own status", "exit 42", 42), ("SIGTERM", "kill -TERM $$", 143),
                                 ("SIGKILL", "kill -KILL $$", 137), ("SIGSEGV", "kill -SEGV $$", 139)):
        p = sh(run_cmd("sh", "-c", script))
        is_true("CMD ends by %s: %d" % (name, status), p.returncode == status and not p.stderr,
                "%d %s" % (p.returncode, p.stderr))
    p = sh([a for a in run_cmd("sh", "-c", "sleep 0.5 & exit 3") if a != "-q"])
    is_true("a process of it ran on", p.returncode == 3 and "\n1 background process ran on after "
            "the command's end, not counted (--wait-all waits): sleep\n" in p.stderr, p.stderr[-300:])


def processes_that_run_on():
    """The profile ends with the command, whatever its processes do for 20 s: wall by the file's own rows."""
    for name, script in (("asleep", "sleep 20 >/dev/null 2>&1 & echo $! >>$0"), ("at work", "yes >/dev/null 2>&1 & echo $! >>$0"),
                         ("two", "for i in 1 2; do sleep 20 >/dev/null 2>&1 & echo $! >>$0; done; sleep 0.05")):
        out, pids = tmpdir("on"), os.path.join(tmpdir("pids"), "pids")
        try:
            sh(run_cmd("sh", "-c", script, pids, out=out))
        finally:
            for pid in slurp(pids).split():
                os.kill(int(pid), signal.SIGKILL)
        path = h5_files(out)[0]
        wall = 1e-9 * (int(task_table(path)["TimeNS"][-1]) - int(attributes(path)["Start TimeNS"][0]))
        is_true("a process runs on, %s: the profile ends with the command" % name, wall < 10, wall)


def is_reaped(pid):
    wait_until(lambda: not os.path.exists("/proc/%d" % pid), 30, "the end of the command")


def signal_while_processes_run_on():
    """A signal after the command's end ends --wait-all alone: the file is written, the process lives, its cgroup goes."""
    d = tmpdir("wait")
    args = [a for a in run_cmd("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $! >%s/pid; echo $$ >%s/done" % (d, d), out=d) if a != "-q"]
    at = args.index("--")
    p = start(args[:at] + ["--wait-all"] + args[at:], stderr=subprocess.PIPE, text=True)
    pid = int(written(d + "/pid"))
    is_reaped(int(written(d + "/done")))
    made = cgroups_of(p.pid)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=60)[1]
    is_true("wait-all and a signal: the file is written", p.returncode == 0 and len(h5_files(d)) == 1, said)
    is_true("wait-all and a signal: what ran on is said", "\n1 background process ran on after" in said, said)
    is_true("wait-all and a signal: the process lives, its cgroup is gone",
            made and not any(os.path.exists(t) for t in made) and os.path.exists("/proc/%d" % pid), made)
    os.kill(pid, signal.SIGKILL)


def output_is_the_commands():
    """Standard output is CMD's alone, also where it ends early."""
    args = [a for a in run_cmd("sh", "-c", "seq 3; exit 4") if a != "-q"]
    p = sh(args)
    is_equal("stdout is that of CMD", (p.returncode, p.stdout), (4, "1\n2\n3\n"))
    is_true("the page is on stderr", re.search(r"^run .*^Where the time went.*^file: /", p.stderr, re.M | re.S),
            p.stderr)
    p = sh([args[0], "run", "-q", "--json", "-"] + args[2:])
    is_true("--json -: JSON is behind what CMD says", p.stdout.startswith("1\n2\n3\n{") and not p.stderr and
            json.loads(p.stdout[6:])["units"]["nodes"], p.stdout + p.stderr)
    quoted = " ".join("'%s'" % a for a in args)
    p = sh(["bash", "-c", quoted + " | head -n 1; echo ${PIPESTATUS[0]}"])
    is_equal("a reader that leaves changes nothing", p.stdout.split(), ["1", "4"])
    is_true("nor does it add an error", "cannot write" not in p.stderr, p.stderr)
    p = sh(["bash", "-c", quoted + " 2>&1 | head -n 1; echo ${PIPESTATUS[0]}"])
    is_equal("nor one that leaves both", p.stdout.split(), ["1", "4"])


def json_file():
    """--json FILE: the user's, of what --json of report says, beside the page; nothing is lost that was there."""
    os.chmod(TMP, 0o755)
    d = tmpdir("json")
    os.chmod(d, 0o777)
    path, mark, profile = d + "/x.json", d + "/mark", d + "/x.h5"
    args = [a for a in run_cmd("touch", mark, out=profile) if a != "-q"]
    as_nobody = plain_env(SUDO_UID="65534", SUDO_GID="65534", SUDO_USER="nobody")
    p = sh([args[0], "run", "--json", path] + args[2:], env=as_nobody)
    is_true("--json FILE: the page is there, too", p.returncode == 0 and "\nWhere the time went" in p.stderr, p.stderr)
    is_equal("--json FILE: whose it is, and what is beside it", (os.stat(path).st_uid, sorted(os.listdir(d))),
             (65534, ["mark", "x.h5", "x.json"]))
    with open(path) as f:
        written = json.load(f)
    told = json.loads(sh([JOBPROF, "report", "--json", profile]).stdout)
    is_equal("--json FILE: it is the JSON of report", written, told)
    os.unlink(mark)
    for name, where, reason in (("a file is there", path, "--overwrite"), ("no such directory", d + "/no/x", "No such file"),
                                ("root's directory", "/root/x.json", "Permission denied")):
        p = sh([args[0], "run", "--json", where] + args[2:], env=as_nobody)
        is_true("--json, %s: said before CMD runs" % name, p.returncode == 1 and reason in p.stderr and p.stderr.count("\n") == 1
                and not os.path.exists(mark), p.stderr)
    p = sh([args[0], "run", "--overwrite", "--json", path] + args[2:], env=as_nobody)
    with open(path) as f:
        is_true("--overwrite: it is the new run's", p.returncode == 0 and json.load(f) != written, p.stderr)


def named_file():
    """-o FILE.h5 is the file, an earlier one is kept, and the file says what was run, where and by whom."""
    d = tmpdir("named")
    command = ["sh", "-c", "exit $1", "a b", "0", "--token", "geheim", "DB_PASSWORD=geheim"]
    for _ in range(2):
        p = sh(run_cmd(*command, out=d + "/x.h5"), cwd=d)
        is_true("-o FILE.h5", p.returncode == 0, p.stderr)
    is_equal("its name, and the earlier one's", sorted(os.path.relpath(f, d) for f in glob.glob(d + "/**/*.h5", recursive=True)),
             ["restart0/x.h5", "x.h5"])
    attrs = attrs_of(d + "/x.h5")
    is_equal("what was run, and where", [attrs[k] for k in ("Command Line", "Working Directory", "User")],
             ["sh -c 'exit $1' 'a b' 0 --token *** DB_PASSWORD=***", d, "root"])
    is_equal("no secret is in the file", [f for f in (d + "/x.h5", d + "/restart0/x.h5") if b"geheim" in open(f, "rb").read()], [])
    title = sh([JOBPROF, "report"], cwd=d)
    is_true("report without a name: that file, by its command", title.stdout.startswith('run ') and
            "\"sh -c 'exit $1' 'a b' 0" in title.stdout.split("\n")[0] and not title.stderr, title.stdout + title.stderr)
    old = os.path.join(d, "old.h5")
    shutil.copy(d + "/x.h5", old)
    os.utime(old, (1, 1))
    is_true("of two, the newest, which is said", sh([JOBPROF, "report"], cwd=d).stderr.endswith(
        "x.h5, the newest of 2 profiles here\n"), "")
    for wrong in (d + "/.x.h5", d + "/" + "x" * 240 + ".h5"):
        says("-o %.20s..." % os.path.basename(wrong), sh(run_cmd("true", out=wrong)), 2, "a file's name has at most")


def full_disk():
    """Where the file cannot be written the page is printed all the same, and a later run writes the file."""
    d, state, tmp = tmpdir("full"), tmpdir("state"), tmpdir("tmp")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", d], check=True)
    try:
        p = sh([a for a in run_cmd("sh", "-c", "sleep 0.3; exit 5", out=d, state=state) if a != "-q"],
               env=dict(os.environ, TMPDIR=tmp))
        is_equal("full disk: the command's status", p.returncode, 5)
        is_true("full disk: the page", re.search(r"^run \d+ \"sh -c .*\nran 0\.\d+ s.*\npeak memory .*\nWhere the time went", p.stderr, re.M | re.S),
                p.stderr)
        last = p.stderr.rstrip("\n").split("\n")[-1]
        path = re.fullmatch(r"file: not written \(No space left on device\): .* writes (%s/\d+_0_.*\.h5) when it can" % d, last)
        is_true("full disk: what becomes of the file", path, last)
        is_equal("full disk: nothing is left of what the page was made of", os.listdir(tmp) + os.listdir(d), [])
        programs = re.findall(r"^  (\S+) .* process", p.stderr, re.M)
        is_equal("programs are the command's, not ours", sorted(programs), ["sh", "sleep"])
        subprocess.run(["mount", "-o", "remount,size=8m", d], check=True)
        p = sh(run_cmd("true", state=state))
        is_true("room again: the next run writes it, and says so", path and os.path.exists(path[1]) and
                "finished %s of an earlier run" % path[1] in p.stderr, p.stderr)
    finally:
        subprocess.run(["umount", "-l", d], check=True)


def unwritable_journal(name, before, why, state, out):
    args = [a for a in run_cmd("sh", "-c", "sleep 4; exit 5", out=out, state=state) if a != "-q"]
    p = sh(before + args, timeout=60)
    is_equal("full journal, %s: the command's status" % name, p.returncode, 5)
    is_true("full journal, %s: one line says what is missing" % name, len(re.findall(
        "the end of the profile is missing: cannot append to the journal .*: " + why, p.stderr)) == 1, p.stderr)
    return p.stderr


def full_journal():
    """Where the journal cannot be written a run ends as its command does, with a file of the rows that there are; and at
    once when it is told to."""
    state, out = tmpdir("state"), tmpdir("out")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", state], check=True)
    limit = threading.Thread(target=unwritable_journal, args=(
        "a limit", [*MAY_NOT_LIFT, "prlimit", "--fsize=65536"], "File too large", tmpdir("state"), tmpdir("out")))
    limit.start()
    try:
        said = unwritable_journal("no room", [], "No space left on device", state, out)
        # the limit is one of the page's own file, too
        is_true("full journal: the page", re.search(r"^run \d+ .*, its end is not in the file$.*^Where the time went", said, re.M | re.S), said)
        is_true("full journal: a file of the rows that there are", len(h5_files(out)) == 1 and len(task_table(h5_files(out)[0])) > 5, said)
        done = os.path.join(tmpdir("done"), "done")
        p = start(run_cmd("sh", "-c", "sleep 4; echo $$ >" + done, out=out, state=state), stderr=subprocess.PIPE, text=True)
        is_reaped(int(written(done)))
        p.terminate()
        said = p.communicate(timeout=60)[1]
        is_true("full journal: a signal ends the wait", "file: not written (interrupted)" in said, said)
        limit.join()
    finally:
        subprocess.run(["umount", "-l", state], check=True)


SICK = """for i in $(seq 40); do cat /dev/null; true | head -c 1 >/dev/null; ls /proc >/dev/null; done
dd if=/dev/zero of=small bs=1 count=200000 2>/dev/null
for i in 1 2 3 4; do taskset -c %d timeout 1.5 yes >/dev/null & done
dd if=/dev/zero of=large bs=1M count=20 conv=fsync 2>/dev/null
sleep 4 & sleep 2"""


def page_of_a_run():
    """30 lines of 80 columns at most, with what run itself says; more is on the page of the file."""
    d = tmpdir("page")
    sick = ["sh", "-c", "cd %s; %s" % (d, SICK % sorted(os.sched_getaffinity(0))[0])]
    for name, cmd in (("asleep", ["sleep", "0.5"]), ("sick", sick)):
        p = sh([a for a in run_cmd(*cmd) if a != "-q"])
        page = [l for l in p.stderr.split("\n") if not l.startswith("jobprof run: ")]  # the log
        path = re.search("^file: (.*)$", p.stderr, re.M).group(1)
        everything = sh([JOBPROF, "report", "--all", path]).stdout
        is_true("page of a run, %s: 30 lines of 80 columns" % name, page.pop() == "" and len(page) <= 30 and
                max(len(l) for l in page if not re.match(r"file: |More: |\d+ background", l)) <= 80, "%d: %s" % (len(page), p.stderr))
        is_equal("page of a run, %s: where the rest is" % name,
                 "\nMore: jobprof report --all %s\n" % path in p.stderr, name == "sick")
        found = re.findall("^[1-5] (?:BAD|WARN|note) +(.{20})", p.stderr, re.M)
        is_equal("page of a run, %s: the findings, as on that page" % name, found,
                 re.findall("^[1-5] (?:BAD|WARN|note) +(.{20})", everything, re.M))
        is_true("page of a run, %s: a sleep has none" % name, not found or name == "sick", p.stderr)
        one_verdict(name, path, found)


def page_of(*cmd, more=()):
    """The page of a run, and its file."""
    args = [a for a in run_cmd(*cmd) if a != "-q"]
    at = args.index("--")
    p = sh(args[:at] + list(more) + args[at:])
    return p.stderr, re.search("^file: (.*)$", p.stderr, re.M).group(1)


def what_a_page_says():
    """Rows without a rhythm are counted; a signal has its whole name; helpers that end just after a program are not said to run on."""
    for more in ((), ("-i", "1")):
        text, path = page_of("sleep", "0.3", more=more)
        rows = len(task_table(path))
        if rows <= 3:
            is_true("a run of %d rows: they are counted" % rows, ", %d row%s, none missing\n" % (rows, "s"[:rows > 1]) in text, text)
        else:
            is_true("a run of %d rows: their rhythm" % rows, ", a row every " in text, text)
    text, _ = page_of("sh", "-c", "kill -SEGV $$")
    is_true("a signal by its whole name", "signal 11 (Segmentation fault)" in text, text)
    pages = [page_of("sh", "-c", "sleep 0.01 & exit 0")[0] for _ in range(3)]
    is_true("a helper that ends just after: nothing is said", any("background process" not in p for p in pages), pages)


def one_verdict(name, path, found):
    """All forms of the report judge a file as the page of its run did; found: the begins of its findings."""
    judged = json.loads(sh([JOBPROF, "report", "--json", path]).stdout)
    is_equal("one verdict, %s: --json has the findings of the run's page" % name,
             [f["text"][:20] for f in judged["findings"][:5]], found)
    other = os.path.join(tmpdir("twice"), "1_0_other.h5")
    shutil.copy(path, other)
    row = json.loads(sh([JOBPROF, "report", "--json", path, other]).stdout)["jobs"][0]
    is_equal("one verdict, %s: the table of several jobs has the first" % name,
             [row["finding"] and row["finding"]["id"], row["findings"]],
             [judged["findings"][0]["id"] if found else None, len(judged["findings"])])
    html = path + ".html"
    sh([JOBPROF, "report", "--html", html, path])
    is_true("one verdict, %s: the page in a browser has all" % name, not os.path.exists(html) or
            all(json.dumps(f["text"])[1:21] in open(html).read() for f in judged["findings"]), html)


COUNTER = """import os, signal, sys, time
n = 0
def count(sig, frame):
    global n
    n += 1
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
    signal.signal(s, count)
open(sys.argv[1], "w").close()
end = time.time() + 20
while not n and time.time() < end:
    time.sleep(0.05)
time.sleep(0.4)
open(sys.argv[2], "w").write(str(n))
sys.exit(30 + n)
"""


def taken_journal():
    """Another program replaces, removes or cuts the journal of a run: the rows that are not cut off
    are in the file, as many as jobprof run made, and what is said is true."""
    def swap(j):
        shutil.copy(j, j + ".copy")
        os.rename(j + ".copy", j)

    def bar(j):
        os.unlink(j)
        os.mkdir(j)

    def run(name, take):
        state, out = tmpdir("state"), tmpdir("out")
        p = start(run_cmd(tool("jphold"), "sleep=2", out=out, state=state), env=plain_env(),
                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                  text=True)
        j = wait_until(lambda: glob.glob(state + "/**/*.journal", recursive=True), 20, "a journal")[0]
        wait_until(lambda: os.path.getsize(j) > 25000, 20, "some rows")
        take(j)
        text = p.communicate(timeout=30)[1]
        files = h5_files(out)
        is_true(name + ": there is a file", p.returncode == 0 and len(files) == 1, text)
        about.append((name, sorted(table_attributes(files[0], "Tasks/0"))))
        return text, task_table(files[0]), attributes(files[0]), state

    about = []
    for name, take in (("replaced by a copy", swap), ("removed", os.unlink)):
        text, rows, attrs, state = run(name, take)
        is_equal(name + ": every row is in the file", (len(rows), "Lost Bytes" in attrs), (attrs["Intervals"][0], False))
        is_true(name + ": that is said", text.count("\n") == 1 and "no row is lost" in text, text)
        is_equal(name + ": nothing stays", glob.glob(state + "/**/*.journal*", recursive=True), [])
    text, rows, attrs, state = run("cannot be put back", bar)
    is_equal("cannot be put back: the file is made of the open journal", len(rows), attrs["Intervals"][0])
    is_true("cannot be put back: that is said", text.count("\n") == 1 and "cannot be put back: Is a "
            "directory" in text, text)
    for name, size in (("cut to nothing", 0), ("cut in a frame", 6500)):
        text, rows, attrs, state = run(name, lambda j: os.truncate(j, size))
        made = attrs["Intervals"][0]
        is_true(name + ": rows since then are in the file", 0 < len(rows) < made - 2, (len(rows), made))
        lost = re.search(r"cut its journal \S+: (\d+) bytes of rows are lost", text)
        is_true(name + ": the loss is said and stored", lost and text.count("\n") == 1
                and attrs["Lost Bytes"][0] == int(lost[1]) > 1000, (text, attrs.get("Lost Bytes")))
        is_true(name + ": attributes are in the file", attrs["End Reason"] == b"exited" or
                attrs["End Reason"] == "exited", attrs)
    for name, names in about[1:]:
        is_equal(name + ": what is known of the task is in the file", names, about[0][1])


def signals():
    """Each to jobprof run alone, and typed at its terminal."""
    started = []
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
        d = tmpdir("sig")
        p = start(run_cmd(sys.executable, "-c", COUNTER, d + "/up", d + "/n"), env=plain_env(),
                  stdin=subprocess.DEVNULL, start_new_session=True)
        started.append((sig, d, p))
    d = tmpdir("pty")
    cmd = run_cmd(sys.executable, "-c", COUNTER, d + "/up", d + "/n")
    pid, tty = pty.fork()
    if pid == 0:
        os.execve(cmd[0], cmd, plain_env())
    wait_until(lambda: os.path.exists(d + "/up"), 20, "CMD to begin at the terminal")
    os.write(tty, b"\x03")
    for sig, where, p in started:
        wait_until(lambda: os.path.exists(where + "/up"), 20, "CMD to begin")
        p.send_signal(sig)
    for sig, where, p in started:
        is_equal("%s to jobprof run reaches CMD once" % signal.Signals(sig).name,
                 (p.wait(30), open(where + "/n").read()), (31, "1"))
    wait_until(lambda: os.path.exists(d + "/n"), 20, "CMD to end at the terminal")
    try:
        while os.read(tty, 4096):
            pass
    except OSError:
        pass
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    is_equal("Ctrl-C at the terminal reaches CMD once", (status, open(d + "/n").read()), (31, "1"))


def side_by_side():
    """Two at once know nothing of each other."""
    a, b = tmpdir("a"), tmpdir("b")
    state = tmpdir("state")
    long = start(run_cmd(tool("jphold"), "sleep=8", out=a, state=state), env=plain_env(),
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(0.8)
    began = time.monotonic()
    p = sh(run_cmd(tool("jphold"), "spin=0.1", out=b, state=state))
    took = time.monotonic() - began
    is_true("a short jobprof run does not wait for a long one", p.returncode == 0 and long.poll() is None,
            "took %.1f s" % took)
    is_equal("a jobprof run writes no other's file", len(h5_files(b)), 1)
    long.wait(30)
    is_equal("a jobprof run keeps its own file", len(h5_files(a)), 1)


def many_side_by_side():
    """The journal of a run that ends is no leftover to a run that begins: each makes its own file."""
    state, outs, failed = tmpdir("state"), [], []
    for _ in range(5):
        new = [tmpdir("out") for _ in range(4)]
        runs = [start(run_cmd("true", out=o, state=state), env=plain_env(), stdin=subprocess.DEVNULL,
                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for o in new]
        failed += [r.stderr.read() for r in runs if r.wait(60)]
        outs += new
    is_equal("20 jobprof runs, four at a time: each ends well", failed, [])
    is_equal("each has its file", [len(h5_files(o)) for o in outs], [1] * 20)


def leftovers_that_stay():
    """Journals of killed runs whose directory is gone wait, and none of them needs a descriptor."""
    state, gone, out = tmpdir("state"), tmpdir("gone"), tmpdir("out")
    p = start(run_cmd(tool("jphold"), "sleep=60", out=gone, state=state), env=plain_env(), stdin=subprocess.DEVNULL,
              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    j = wait_until(lambda: glob.glob(state + "/runs/*.journal"), 20, "a journal")[0]
    wait_until(lambda: os.path.getsize(j) > 10000, 20, "some rows")
    p.kill()
    p.wait()
    for top in cgroups_of(p.pid):
        rmtree_cgroup(top)
    shutil.rmtree(gone)
    for i in range(300):
        shutil.copy(j, "%s%d.journal" % (j[:-len("journal")], i))
    p = sh(["prlimit", "--nofile=256:256"] + run_cmd("true", out=out, state=state))
    is_equal("300 leftovers, 256 descriptors: jobprof run ends well", (p.returncode, p.stderr), (0, ""))
    is_equal("and has its file", len(h5_files(out)), 1)
    is_equal("the leftovers stay", len(glob.glob(state + "/runs/*.journal")), 301)


def clock_steps():
    """The clock is set to what it shows: the kernel calls that a step, and nobody else is hurt."""
    begun = os.path.join(tmpdir("clock"), "begun")
    r = Run(["sh", "-c", 'sleep 0.2; : >"$0"; sleep 0.6', begun], interval=0.1)
    wait_until(lambda: os.path.exists(begun), 20, "the command to begin")
    try:
        time.clock_settime_ns(time.CLOCK_REALTIME, time.clock_gettime_ns(time.CLOCK_REALTIME))
    except PermissionError:
        r.end()
        raise Skipped("this machine's clock may not be set")
    path = r.end()
    rows, attrs = task_table(path), attributes(path)
    is_true("clock step: counted in the file", attrs.get("Clock Steps", [0])[0] >= 1, attrs)
    span = int(rows["TimeNS"][-1]) - int(attrs["Start TimeNS"][0])
    is_true("clock step: rows go on by the steady clock",
                all(int(b) > int(a) for a, b in zip(rows["TimeNS"], rows["TimeNS"][1:]))
                and 0.8e9 <= span < 3e9, list(rows["TimeNS"]))
    is_true("clock step: EpochTime - ElapsedTime stays",
                len(set(rows["EpochTime"] - rows["ElapsedTime"])) == 1, list(rows["EpochTime"]))


def programs_of(pid):
    """Ids of the BPF programs and maps that a process holds."""
    ids = set()
    for fd in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            text = open(fd).read()
        except OSError:
            continue
        for kind in ("prog", "map", "link"):
            m = re.search(r"^%s_id:\s*(\d+)" % kind, text, re.M)
            if m:
                ids.add((kind, int(m.group(1))))
    return ids


def alive(ids):
    left = []
    for kind, i in ids:
        if not sh(["bpftool", kind, "show", "id", str(i)]).returncode:
            left.append("%s %d" % (kind, i))
    return left


def cgroups_of(pid):
    return [t for m in {cgroup2_mount(), cgroup1_mount("freezer")} - {None}
            for t in glob.glob("%s/**/jobprof_%d" % (m, pid), recursive=True)]


def nothing_left():
    def gone(name, ids):
        try:
            wait_until(lambda: not alive(ids), 8, "kernel objects to go")
            ok(name)
        except Failed:
            not_ok(name, "left: %s" % alive(ids)[:5])

    def begin(seconds):
        p = start(run_cmd(tool("jphold"), "sleep=%g" % seconds), env=plain_env(),
                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return p, wait_until(lambda: cgroups_of(p.pid), 20, "the cgroup of jobprof run"), programs_of(p.pid)

    p, made, ids = begin(0.5)
    is_true("jobprof run: it has programs, maps and a cgroup", len(ids) > 10 and len(made) == 1,
            "%d %s" % (len(ids), made))
    p.wait(20)
    is_equal("jobprof run: no cgroup is left", [t for t in made if os.path.exists(t)], [])
    gone("jobprof run: no program and no map is left", ids)
    p, made, ids = begin(20)
    p.kill()
    p.wait()
    gone("jobprof run killed: no program and no map is left", ids)
    for top in made:
        rmtree_cgroup(top)
    d = RootedDaemon("nl").start()
    works(d, "jobprofd works")
    ids = programs_of(d.proc.pid)
    pinned = os.path.isdir(d.pin)
    d.end()
    is_true("jobprofd: pinned while it ran", pinned and len(ids) > 10, "%d" % len(ids))
    is_true("jobprofd: no pin is left", not os.path.exists(d.pin), "%s" % d.pin)
    gone("jobprofd: no program, no map and no link is left", ids)


if __name__ == "__main__":
    need_bpf()
    run_five_at_a_time([limits_of_command, limit_of_file_size, cpus_of_command, nothing_left, signals, side_by_side,
                        many_side_by_side, leftovers_that_stay, inherits_nothing, command_ends, clock_steps,
                        taken_journal, processes_that_run_on, signal_while_processes_run_on, output_is_the_commands,
                        page_of_a_run, what_a_page_says, json_file, named_file, full_disk, full_journal])
