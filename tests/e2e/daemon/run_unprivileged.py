#!/usr/bin/python3
# timeout: 180
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof run as a user: in a step that jobprofd profiles it reports on the time in which its command
ran; elsewhere it says what is possible."""

import pwd
import sys


sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

NOBODY = pwd.getpwnam("nobody").pw_uid
AS_NOBODY = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]
tree = Trees()


def public_jobprof():
    path = os.path.join(os.path.dirname(public_tool("jpspin")), "jobprof")
    if not os.path.exists(path):
        shutil.copy(JOBPROF, path)
    return path


class Step:
    """A step of nobody whose tasks execute a shell script; $1 is the task's number, $JP is jobprof."""

    def __init__(self, d, script, n=1):
        self.d, self.job = d, new_job()
        self.dir = tmpdir("job")
        os.chmod(self.dir, 0o777)
        base = tree.job(self.job) + "/step_0"
        for tool_name in ("jpspin", "jpmem", "jpranks"):
            public_tool(tool_name)
        env = {"JOBPROF_SOCKET": d.settings["Socket"], "JP": public_jobprof(), "DIR": self.dir,
               "BIN": os.path.dirname(public_jobprof())}
        extra = ["-u", NOBODY, "-w", 0.3] + [x for k, v in env.items()
                                             for x in ("-e", "%s=%s" % (k, v))]
        self.stepd = Stepd(self.job, 0, ["sh", "-c", "cd $DIR\n" + script, "sh", "%d"],
                           v2_task(base, extra), n=n)

    def end(self):
        status = self.stepd.end(60)
        if status:
            raise Failed("the step ended with %d: %s" % (status, self.stepd.out()[-500:]))
        return self

    def text(self, name):
        with open(os.path.join(self.dir, name)) as f:
            return f.read()

    def number(self, name):
        return int(written(os.path.join(self.dir, name)))

    def page(self, name):
        try:
            return json.loads(self.text(name))
        except ValueError:
            raise Failed("%s is no JSON: %s" % (name, self.text(name)[-300:]))

    def account(self, name):
        return read_account(os.path.join(self.dir, name))

    def touch(self, name):
        open(os.path.join(self.dir, name), "w").close()

    def wait_for(self, name):
        wait_until(lambda: os.path.exists(os.path.join(self.dir, name)), 20, name)


WINDOW = """
until_there() { while [ ! -e $1 ]; do sleep 0.02; done; }
if [ $1 = 1 ]; then
    until_there begun
    $BIN/jpspin -o other 0.3
    touch spun
    until_there over
    exit 0
fi
$BIN/jpspin 0.4 >/dev/null
dd if=/dev/zero of=early bs=1M count=5 2>/dev/null
cat >work <<EOF
touch begun
$BIN/jpspin -o own 0.5
dd if=/dev/zero of=late bs=1M count=8 2>/dev/null
while [ ! -e spun ]; do sleep 0.02; done
exit 7
EOF
$JP run -q --json page -- sh ./work
echo $? >status
touch over
$BIN/jpspin 0.3 >/dev/null
"""


def a_window(d):
    """What went before and after in the step is not in it; the other task is in Step alone."""
    s = Step(d, WINDOW, n=2).end()
    page = s.page("page")
    task, step = page["series"]["Tasks/0"], page["series"]["Step"]
    own, other = (s.account(n)["schedstat.run_ns"] / 1e9 for n in ("own", "other"))
    is_equal("window: the command's exit status", (s.number("status"), page["exit_status"]), (7, 7))
    is_equal("window: the step", page["step"], "%d.0" % s.job)
    # the shell, dd and sleeps use some more than the two that keep an account
    is_true("window: CPU time of the task is schedstat's", own <= task["cpu_s"] < own + 0.12,
            (own, task["cpu_s"]))
    is_near("window: CPU time of the task is getrusage's", task["cpu_s"],
            page["command_use"]["user_s"] + page["command_use"]["system_s"], 0.02, 0.03)
    is_true("window: CPU time of the step has the other task's",
            own + other <= step["cpu_s"] < own + other + 0.2, (own, other, step["cpu_s"]))
    is_near("window: user and kernel mode are the CPU time", task["user_s"] + task["system_s"],
            task["cpu_s"], 0.001)
    is_true("window: 8 MB were written, not 13", 8 <= task["write_mb"] < 8.1, task["write_mb"])
    marks_of_window(d.file(s.job, 0, "nobody"), page)


def marks_of_window(path, page):
    with h5py.File(path, "r") as f:
        rows = f[NODE]["Marks"][()]
    attrs = attrs_of(path)
    is_equal("window: its marks", [attrs["Mark %d" % m] for m in rows["Mark"]],
             ["run begin: sh", "run end"])
    begin, end = (int(r["TimeNS"]) for r in rows)
    is_near("window: its length is that between the marks", page["wall_s"], (end - begin) / 1e9, 0,
            0.1)
    tasks = task_table(path)
    is_true("window: rows of its two ends were added", len(tasks) <= (tasks["TimeNS"][-1] -
            tasks["TimeNS"][0]) / 0.2e9 + 5, len(tasks))
    is_true("window: its rows are where its marks are", all(0 <= s < 0.1 for s in (
        (begin - max(t for t in map(int, tasks["TimeNS"]) if t <= begin)) / 1e9,
        (end - max(t for t in map(int, tasks["TimeNS"]) if t <= end)) / 1e9)), list(tasks["TimeNS"]))


PAGES = """
$JP run -q -- $BIN/jpspin -o spun 0.1 2>quiet
$JP run -- $BIN/jpmem -a 100 -t 0.1 -o big 2>page
$JP run --json bigger.json -- $BIN/jpmem -a 150 -o bigger 2>both
$JP run -q --json small.json -- $BIN/jpmem -a 40 -t 0.3 -o small 2>none
"""


def pages(d):
    s = Step(d, PAGES).end()
    is_equal("page: none with -q", s.text("quiet"), "")
    page = s.text("page")
    is_true("page: what it says", all(re.search(p, page, re.M) for p in (
        r'^job %d step 0 "\S*jpmem -a 100 [^"]*"  nobody$' % s.job, r"^ran \S+ m?s, (?:a row every |\d rows?)",
        r"^Where the time went +\d+ cores? x .* core-s$", r"^  own code +\d+\.\d %",
        r"^CMD alone: exit status 0, .* largest process 10\d MiB", r"other processes")), page)
    is_equal("page: nothing of a file, which the step has, and of an option that only root has",
             re.findall("its end is not in the file|run --deep", page), [])
    is_true("page: 30 lines", len(page.splitlines()) <= 30, page)
    is_true("page: --json and -q: the page and JSON, or JSON alone", re.search("^Where the time went", s.text("both"), re.M) and
            not s.text("none") and s.page("bigger.json")["report"]["findings"] is not None, s.text("both"))
    bigger, small = s.page("bigger.json"), s.page("small.json")
    is_near("page: the peak is the program's own account", bigger["series"]["Tasks/0"]["peak_mb"],
            s.account("bigger")["status.VmHWM"] / 1024, 0.05, 8)
    is_equal("page: a peak below an earlier one is not known", small["series"]["Step"]["peak_mb"],
             None)
    is_near("page: the earlier peak", small["series"]["Step"]["earlier_peak_mb"],
            bigger["series"]["Step"]["peak_mb"], 0.001)


FAULTS = {
    "8 threads on one core": ("taskset -c %d $BIN/jpspin 2 8" % min(os.sched_getaffinity(0)), "cpu.stacked"),
    "8 threads per core": ("$BIN/jpranks threads=%d work=0.4" % (8 * len(os.sched_getaffinity(0))), "cpu.oversubscribed"),
    "1-KiB writes": ("$BIN/jpranks -n 2 -r 16 write=w0:60:1024@0 write=w1:60:1024@1 work=0.03", "io.small"),
    "a healthy command": ("$BIN/jpranks -n %d work=2" % len(os.sched_getaffinity(0)), None),
}
FAULT = """
echo $$ >pid
while [ ! -e go ]; do sleep 0.02; done
$BIN/jpmem -a 60 -t 0.1 >/dev/null; $BIN/jpspin 0.3 >/dev/null; dd if=/dev/zero of=early bs=7 count=9999 2>/dev/null
export TMPDIR=$DIR
$JP run -q --json window.json -- %s >/dev/null
"""
OTHERS, TRIES, DISTURBED = "cpu.neighbour", 3, 0.15


def window_of(d, cmd):
    """The JSON of a window in which the step goes first on the machine's CPUs."""
    s = Step(d, FAULT % cmd)
    pid = s.number("pid")
    os.setpriority(os.PRIO_PROCESS, pid, -20)
    try:
        with open("/proc/%d/autogroup" % pid, "w") as f:
            f.write("-20")
    except OSError:
        pass
    s.touch("go")
    return s.end().page("window.json"), s


def undisturbed(d, cmd, rule):
    """The window, its step, and its findings without that of other programs, which may take a little."""
    for _ in range(TRIES):
        page, s = window_of(d, cmd)
        if not page["report"]:
            raise Failed("there is no report: %s" % page)
        found, facts = page["report"]["findings"], page["report"]["facts"]
        ids = [f["id"] for f in found if f["id"] != OTHERS]
        others = facts["others_s"] + sum(f["cost"]["core_s"] for f in found if f["id"] == OTHERS)
        if ids[:1] == [rule] or (not rule and not ids) or (others < DISTURBED * facts["core_s"] and ids[:1] != ["io.wait"]):
            return page, s, ids
    raise Skipped("other programs used the CPUs or the disk in all of %d tries" % TRIES)


@in_full
def faults_of_a_window():
    """Rows are far between: what the window has are those of its two ends."""
    d = Daemon(JobAcctGatherFrequency="task=30", Sensors="cpu,node").start()
    for name, (cmd, rule) in FAULTS.items():
        try:
            page, s, ids = undisturbed(d, cmd, rule)
        except Skipped as e:
            skip("window: " + name, e)
            continue
        is_equal("window: %s: the first finding" % name, ids[:1] or [None], [rule])
        facts, step = page["report"]["facts"], page["series"]["Step"]
        for fact in ("cpu_s", "write_mb", "wait_s"):
            is_near("window: %s: the report's %s is that of the window" % (name, fact), facts[fact], step[fact], 1e-6, 1e-6)
        is_near("window: %s: the report's time" % name, facts["wall_s"], page["wall_s"], 1e-6)
        is_true("window: %s: no program of before is in it" % name, "dd" not in
                [c["name"] for c in page["report"]["commands"]], page["report"]["commands"])
        is_equal("window: %s: no file is left" % name, [f for f in os.listdir(s.dir) if "jobprof" in f], [])
        rows = task_table(d.file(s.job, 0, "nobody"))
        is_true("window: %s: rows of its two ends are in the profile" % name, 3 <= len(rows) <= 4, len(rows))
    is_equal("jobprofd ends well", d.end(), 0)


ASK = """/usr/bin/python3 - >said 2>&1 <<EOF
import fcntl, os, socket, stat, struct
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.environ["JOBPROF_SOCKET"])
s.send(struct.pack("<IHHIHHII", 0x314a5043, 1, 12, 24, 6, 1, 0xffffffff, 0))
raw, passed, _, _ = s.recvmsg(32768, socket.CMSG_SPACE(4))
fd = struct.unpack("i", passed[0][2])[0]
print(struct.unpack_from("<H", raw, 6)[0], os.read(fd, 8).decode(), fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY,
      stat.S_ISFIFO(os.fstat(fd).st_mode))
EOF
"""


def journal_is_for_reading(d):
    s = Step(d, ASK).end()
    is_equal("journal: it comes through a pipe", s.text("said").split(), ["15", "JPJOURN1", "True", "True"])


STATUSES = """
$JP run -q -- sh -c 'kill -9 $$' 2>e1; echo $? >killed
$JP run -q -- ./nothing 2>e2; echo $? >missing
echo >plain; $JP run -q -- ./plain 2>e3; echo $? >forbidden
$JP run -q -- sleep 30 2>e4 & pid=$!
sleep 0.5; kill -TERM $pid; wait $pid; echo $? >ended
$JP run -q -- sh -c 'trap "exit 7" USR1; touch up; while :; do sleep 0.05; done' 2>e5 & pid=$!
while [ ! -e up ]; do sleep 0.05; done; kill -USR1 $pid; wait $pid; echo $? >warned
TMPDIR=/nowhere/$$ $JP run -- true 2>nodir; echo $? >without
for o in --series=all --output=. --interval=1 --wait-all --user=root --events=cycles; do
    $JP run $o -- touch ran 2>"r$o"; echo $? >"s$o"
done 2>/dev/null
"""


def statuses(d):
    s = Step(d, STATUSES.replace("--output=.", "--output=x")).end()
    is_equal("statuses: killed, not found, not to be run, ended by a signal that is passed on",
             [s.number(n) for n in ("killed", "missing", "forbidden", "ended", "warned")],
             [137, 127, 126, 143, 7])
    is_true("statuses: no room for the report: said, and the sums", s.number("without") == 0 and
            re.search("TMPDIR /nowhere/[0-9]+: No such file or directory\n", s.text("nodir")) and "CPU" in s.text("nodir"), s.text("nodir"))
    for o in ("series=all", "output=x", "interval=1", "wait-all", "user=root", "events=cycles"):
        said = s.text("r--" + o)
        is_true("statuses: --%s is refused by name" % o.split("=")[0], s.number("s--" + o) == 2 and
                said.count("\n") == 1 and "--%s needs root" % o.split("=")[0] in said, said)
    is_true("statuses: CMD was not run", not os.path.exists(s.dir + "/ran"), "it was")


# Root of a user namespace, as apptainer --fakeroot and rootless podman make it, and root with fewer capabilities, as
# docker makes it. The last one has no step.
FAKE = """
for ns in "unshare -Ur" "env SUDO_UID=1 SUDO_GID=1 unshare -Ur"; do
    $ns $JP run -q --json page -- sh -c '$BIN/jpspin -o own 0.3; exit 5' 2>said; echo $? >status
    n=x$n; mv page page$n; mv own own$n; mv said said$n; mv status status$n
done
unshare -Ur $JP run --series=all -- touch ran 2>refused; echo $? >refusal
"""
NO_BPF = ["setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin", "--inh-caps", "-bpf,-perfmon,-sys_admin"]


def roots_without_bpf(d):
    """They may load no program, and do what a user does: report on the step."""
    s = Step(d, FAKE).end()
    for n in ("x", "xx"):
        page, own = s.page("page" + n), s.account("own" + n)["schedstat.run_ns"] / 1e9
        is_equal("fake root %s: the command's exit status, and nothing else" % n, (s.number("status" + n), s.text("said" + n)), (5, ""))
        is_true("fake root %s: CPU time is schedstat's" % n, own <= page["series"]["Tasks/0"]["cpu_s"] < own + 0.12, (own, page["series"]))
    is_true("fake root: an option is refused by name", s.number("refusal") == 2 and "--series needs root that" in s.text("refused") and
            not os.path.exists(s.dir + "/ran"), s.text("refused"))
    p = subprocess.run(NO_BPF + [public_jobprof(), "run", "--", "touch", TMP + "/ran"], capture_output=True, text=True, timeout=30,
                       env=plain_env(JOBPROF_SOCKET=d.settings["Socket"]))
    is_true("root without capabilities: one line says what is possible", p.returncode == 1 and p.stderr.count("\n") == 1 and
            "CAP_BPF" in p.stderr and "srun --jobprof" in p.stderr and "profiles no step" in p.stderr and
            not os.path.exists(TMP + "/ran"), (p.returncode, p.stderr))


HELD = """
$JP run -q --json json -- sh -c 'touch begun; $BIN/jpspin -o own 0.3; while [ ! -e go ]; do sleep 0.02; done
    exit 5' 2>page
echo $? >status
"""


def without_daemon():
    """jobprofd ends while the command runs, for good or to be restarted."""
    d = Daemon().start()
    gone, back = Step(d, HELD), Step(d, HELD)
    gone.wait_for("own")
    back.wait_for("own")
    d.end(signal.SIGKILL)
    gone.touch("go")
    status, said = gone.number("status"), gone.text("page")
    is_true("jobprofd is gone: one line, the command's status", status == 5 and
            said.count("\n") == 1 and "has gone" in said, said)
    d.start()
    time.sleep(0.5)
    back.touch("go")
    is_equal("jobprofd is back: the command's status", back.number("status"), 5)
    page = back.page("json")
    is_true("jobprofd is back: nothing is lost", back.account("own")["schedstat.run_ns"] / 1e9 <=
            page["series"]["Tasks/0"]["cpu_s"] < back.account("own")["schedstat.run_ns"] / 1e9 + 0.3,
            page["series"])
    for s in (gone, back):
        s.end()
    is_equal("jobprofd is back: it ends well", d.end(), 0)


def elsewhere(d):
    for name, socket_path, why in (("no jobprofd", "/nowhere/socket", "no jobprofd runs"),
                                   ("no step", d.settings["Socket"], "profiles no step")):
        p = subprocess.run(AS_NOBODY + [public_jobprof(), "run", "--", "touch", TMP + "/ran"],
                           env=plain_env(JOBPROF_SOCKET=socket_path), capture_output=True,
                           text=True, timeout=30)
        is_true("elsewhere: %s: one line says what is possible" % name, p.returncode == 1 and
                p.stderr.count("\n") == 1 and "sudo jobprof run" in p.stderr and
                "srun --jobprof" in p.stderr and why in p.stderr, (p.returncode, p.stderr))
    is_true("elsewhere: CMD was not run", not os.path.exists(TMP + "/ran"), "it was")


def main():
    d = Daemon().start()
    for test in (a_window, pages, journal_is_for_reading, statuses, roots_without_bpf, elsewhere):
        try:
            test(d)
        except (Failed, OSError, KeyError) as e:
            not_ok(test.__name__, "%s: %s; jobprofd: %s" % (type(e).__name__, e, d.said()[-800:]))
    is_equal("jobprofd ends well", d.end(), 0)
    run_tests([faults_of_a_window, without_daemon])


if __name__ == "__main__":
    main()
