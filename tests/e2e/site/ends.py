#!/usr/bin/python3
# timeout: 400
# SPDX-License-Identifier: GPL-2.0-or-later
"""Many jobs that end in one minute, as the service has them: it runs one command of Slurm's at a time, whatever there is to ask, and as many
readers as there are CPUs; comments and mails wait in queues that empty at their rates; and what fails or hangs holds up nothing else."""

import collections
import contextlib
import signal
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from sitelib import *
from sacctlib import PROGRAM as SACCT, FIELDS, job
from scan import ME, put, Tree
from service import etc_with
from squeuelib import begin_at

RATES = {"admin_comment": 30, "mail": 60}  # a minute
COMMAND = r'''#!/usr/bin/python3
import os, subprocess, sys, time
here, name, args = os.path.dirname(os.path.abspath(__file__)), os.path.basename(__file__), sys.argv[1:]
def log(word):
    with open(here + "/log", "a") as f:
        f.write("%s %s %d\n" % (word, name, os.getpid()))
def comment(job):
    return here + "/comments/" + job
log("begin")
if os.path.exists(here + "/" + name + ".hangs"):
    time.sleep(1000)
if name == "sacctmgr" and "modify" in args:
    with open(comment([a for a in args if a.startswith("jobid=")][0][6:]), "w") as f:
        f.write([a for a in args if a.startswith("admincomment=")][0][13:])
elif name == "sacct" and "-j" in args:
    job = args[args.index("-j") + 1]
    print(job + "|" + (open(comment(job)).read() if os.path.exists(comment(job)) else ""))
elif name == "sacct":
    subprocess.run([here + "/sacct.real", *args], check=True)
elif name == "sendmail":
    with open(here + "/mails", "ab") as f:
        f.write(sys.stdin.buffer.read())
log("end")
'''


class Site(Tree):
    """n jobs that have just ended, with profiles, in Slurm's accounting, each with a mail."""

    def __init__(self, n):
        super().__init__()
        self.n, self.bin, self.spool = n, tmpdir("slurm"), tmpdir("spool")
        for name, text in [(n, COMMAND) for n in ("squeue", "sacct", "sacctmgr", "sendmail")] + [("sacct.real", SACCT)]:
            with open(os.path.join(self.bin, name), "w") as f:
                f.write(text)
            os.chmod(os.path.join(self.bin, name), 0o755)
        os.mkdir(self.bin + "/comments")
        with open(self.bin + "/fields", "w") as f:
            f.write(" ".join(FIELDS))
        start = int(time.time()) - 3600
        begin_at(start)
        ended = [self.add(i, start) for i in range(1, n + 1)]
        with open(self.bin + "/jobs.json", "w") as f:
            json.dump(ended, f)
        must("index", "import", "--database", self.index, "/dev/null")

    def add(self, number, start):
        put(self.user, number, nodes=1, tasks=1, wall=1800)
        with open("%s/%d.mail" % (self.spool, number), "w") as f:
            json.dump({"subject": "Slurm Job_id=%d Ended" % number, "to": "a@b", "at": start + 1800,
                       "env": {"SLURM_JOB_ID": str(number), "SLURM_JOB_USER": ME, "SLURM_JOB_MAIL_TYPE": "Ended"}}, f)
        return job(number, start, 1800, User=ME, UID=str(os.geteuid()))

    @contextlib.contextmanager
    def watched(self, *args):
        said = open(os.path.join(tmpdir("log"), "log"), "w+")
        p = start(["unshare", "-m", "--propagation", "private", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', etc_with("AdminComment=yes\n"), JOBPROF, "index", "watch", "--every", "1", "--sacct",
                   self.bin + "/sacct", "--squeue", self.bin + "/squeue", "--sendmail", self.bin + "/sendmail", "--spool", self.spool, "--cluster", "c1", "--database", self.index, *args, self.dir],
                  stdout=subprocess.DEVNULL, stderr=said, env=plain_env(PATH=self.bin + ":" + os.environ["PATH"], SACCT_DATA=self.bin))
        try:
            yield p, said
        finally:
            p.terminate()
            p.wait(PATIENCE)

    def hang(self, name, does=True):
        path = "%s/%s.hangs" % (self.bin, name)
        open(path, "w").close() if does else os.unlink(path)

    def most_at_once(self):
        """Of the commands."""
        running = most = 0
        with open(self.bin + "/log") as f:
            for line in f:
                running += 1 if line.startswith("begin") else -1
                most = max(most, running)
        return most

    def left(self):
        """What waits for its turn: of the queue of comments, and mails."""
        return (sql(self.index, "SELECT count(*) FROM admin_comment WHERE state = 'waits'")[0][0], len(glob.glob(self.spool + "/*.mail")))

    def a_minute_goes_by(self):
        with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(self.index, timeout=30)) as db, db:
            for table in RATES:
                db.execute("UPDATE %s SET at = at - 61" % table)


def children(pid):
    with contextlib.suppress(OSError), open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return len(f.read().split())
    return 0


def of_mount_namespaces():
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        raise Skipped("needs root and a mount namespace of its own")


def jobs_of_a_minute(n):
    of_mount_namespaces()
    s, most, seen, name = Site(n), 0, collections.Counter(), "%d jobs" % n
    with s.watched() as (p, said):
        end = time.monotonic() + 60 + n
        while time.monotonic() < end and (not os.path.exists(s.bin + "/mails") or s.left() != (0, 0)):
            most = max(most, children(p.pid))
            if not seen["rounds"] and os.path.exists(s.bin + "/mails") and s.left()[0]:
                time.sleep(2)
                is_true(name + ": no more than the rates in a minute", len(os.listdir(s.bin + "/comments")) <= RATES["admin_comment"] and n - s.left()[1] <= RATES["mail"], s.left())
            if os.path.exists(s.bin + "/mails"):
                seen["rounds"] += 1
                s.a_minute_goes_by()
            time.sleep(0.05)
    with open(s.bin + "/log") as f:
        ran = collections.Counter(line.split()[1] for line in f if line.startswith("begin"))
    is_equal(name + ": one command at a time", s.most_at_once(), 1)
    is_true(name + ": readers are no more than CPUs", 0 < most <= max(1, os.sysconf("SC_NPROCESSORS_ONLN")), most)
    is_equal(name + ": all are rows, once, of both feeds", sql(s.index, "SELECT count(*), count(DISTINCT job_id), min(sources) FROM job"), [(n, n, 3)])
    is_equal(name + ": comments and mails are out, each once", (s.left(), len(os.listdir(s.bin + "/comments")), open(s.bin + "/mails").read().count("Message-ID:")), ((0, 0), n, n))
    is_true(name + ": a comment is two commands, and few are read again; a mail is one; accounting and queue are asked by the round",
            ran["sendmail"] == n and ran["sacctmgr"] <= n + 1 and ran["squeue"] <= 2 + seen["rounds"], ran)
    said.seek(0)
    is_equal(name + ": nothing is said to be wrong", [l for l in said.read().splitlines() if "jobs of" not in l and "job of" not in l], [])


def some_jobs():
    jobs_of_a_minute(45)


@in_full
def a_thousand_jobs():
    jobs_of_a_minute(1000)


def what_hangs_holds_up_nothing_else():
    of_mount_namespaces()
    s = Site(5)
    for name in ("squeue", "sacctmgr", "sendmail"):
        s.hang(name)
    with s.watched("--wait", "1") as (p, said):
        wait_until(lambda: sql(s.index, "SELECT count(*) FROM admin_comment WHERE tries > 0")[0][0], PATIENCE, "a comment that was tried")
        put(s.user, 6, nodes=1, tasks=1, wall=1800)
        wait_until(lambda: sql(s.index, "SELECT count(*) FROM job WHERE job_id = 6")[0][0], PATIENCE, "a profile that came meanwhile")
        for name in ("squeue", "sacctmgr", "sendmail"):
            s.hang(name, False)
        def is_done():
            with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(s.index, timeout=30)) as db, db:
                db.execute("UPDATE admin_comment SET next = at WHERE state = 'waits' AND at IS NOT NULL")
            s.a_minute_goes_by()
            return s.left() == (0, 0)
        wait_until(is_done, 2 * PATIENCE, "comments and mails")
    is_equal("what hung is made good", (len(os.listdir(s.bin + "/comments")), len(glob.glob(s.spool + "/*.mail"))), (5, 0))
    said.seek(0)
    text = said.read()
    is_true("that they hung is said", all(w in text for w in ("squeue", "sacctmgr: it had not ended", "sendmail: it had not ended")), text)


@in_full
def readers_that_wait_for_a_cpu():
    """A minute without a CPU, as on a machine that does other things: what a job may take is time of the processor."""
    t = Tree()
    for n in range(1, 9):
        put(t.user, n, nodes=8, tasks=64)
    p = start([JOBPROF, "index", "scan", "--database", t.index, t.dir], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: children(p.pid) or p.poll() is not None, PATIENCE, "a reader")
    with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
        readers = [int(w) for w in f.read().split()]
    time.sleep(0.1)
    for reader in readers:
        os.kill(reader, signal.SIGSTOP)
    time.sleep(65)
    for reader in readers:
        os.kill(reader, signal.SIGCONT)
    said = p.communicate(timeout=3 * PATIENCE)[1]
    is_equal("readers that had no CPU for 65 s: all are read", (len(readers) > 0, p.returncode, len(t.rows()), said), (True, 0, 8, ""))


if __name__ == "__main__":
    run_tests((some_jobs, what_hangs_holds_up_nothing_else, readers_that_wait_for_a_cpu, a_thousand_jobs))
