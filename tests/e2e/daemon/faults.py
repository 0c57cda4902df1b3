#!/usr/bin/python3
# timeout: 240
# beside: nobody
# SPDX-License-Identifier: GPL-2.0-only
"""Bad input and faults: each gives one line or a counter in the file, the right exit status, and a
program that goes on. All in a mount namespace of its own, so that mounts can be taken away."""

import concurrent.futures
import os
import pty
import stat
import struct
import sys

if os.geteuid() == 0 and "JP_FAULTS_NS" not in os.environ:
    os.environ["JP_FAULTS_NS"] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, "-u"] + sys.argv)

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
from faultlib import *

NOBODY = 65534
_lock = threading.Lock()
WRITER = os.path.join(BUILD, "jobprof-writer")
DUMP = os.path.join(BUILD, "jobprof-dump")
UNCAPPED = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin"]
# A job's number is part of a cgroup's name only: nobody else's daemon follows our trees.
_jobs = iter(range(81000, 99000))


def new_job():
    with _lock:
        return next(_jobs)


def sh(cmd, timeout=30, env=None, **kw):
    return subprocess.run(cmd, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                          env=env or plain_env(), errors="replace", **kw)


def run_cmd(*args, out=None, state=None, interval="0.1"):
    out = out or tmpdir("out")
    return [JOBPROF, "run", "-q", "-i", interval, "-o", out, "--state-dir", state or tmpdir("state"),
            "--"] + list(args)


def says(name, p, status, pattern):
    """Exit status, and one line that tells."""
    lines = [l for l in p.stderr.splitlines() if l]
    if p.returncode != status:
        not_ok(name, "status %d, wanted %d: %s" % (p.returncode, status, p.stderr[-300:]))
    elif len(lines) != 1:
        not_ok(name, "%d lines on stderr: %s" % (len(lines), lines[:3]))
    elif not re.search(pattern, lines[0]):
        not_ok(name, "no '%s' in: %s" % (pattern, lines[0]))
    else:
        ok(name)


def in_namespace(script, cmd):
    """CMD after SCRIPT, in a mount namespace of its own."""
    return ["unshare", "-m", "--propagation", "private", "sh", "-ec", script + '; exec "$@"',
            "sh"] + cmd


def h5_files(d):
    return sorted(glob.glob(d + "/*.h5") + glob.glob(d + "/.*.h5"))


def marker():
    return os.path.join(tmpdir("mark"), "ran")


def tmpfs(size):
    d = tmpdir("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%s,mode=0755" % size, "tmpfs", d], check=True)
    return d


def fill(d):
    """Takes the last byte of a file system. Returns the file to remove."""
    path = os.path.join(d, "filler")
    with open(path, "wb", buffering=0) as f:
        for size in (1 << 16, 4096, 1):
            try:
                while True:
                    f.write(b"\0" * size)
            except OSError:
                pass
    return path


def steady(seconds=600):
    return [tool("jphold"), "sleep=%g" % seconds]


def daemon(tag="f", **keys):
    return Daemon(tag, **keys)


def task_rows(path):
    """Of the only task; says what is there instead."""
    tables = read_all(path)
    if "Tasks/0" not in tables:
        raise Failed("%s has no Tasks/0 but %s; %s" % (
            path, {k: len(v) for k, v in tables.items()},
            {k: v for k, v in attributes(path).items() if k in (
                "Number of Tasks", "Unattributed", "End Reason", "Late Tasks", "Lost Events",
                "Baseline", "Restarted")}))
    return tables["Tasks/0"]


def works(d, name):
    """A daemon that has met something still does its work."""
    job, account = new_job(), os.path.join(tmpdir("acct"), "account")
    d.step(job, 0, [tool("jphold"), "-o", account, "spin=0.05"]).wait()
    path = d.wait_file(job, 0)
    rows = task_rows(path)
    wanted = read_account(account)["schedstat.run_ns"] / 1e9
    is_true(name, approx(rows["CPUTime"].sum(), wanted, 0.001, 0.004),
            "CPUTime %s, schedstat says %s" % (rows["CPUTime"], wanted))


# --- what the machine or the caller lacks -------------------------------------------------------

def not_root():
    user = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]
    if sh(user + ["test", "-x", JOBPROF]).returncode:
        raise Skipped("nobody cannot reach the programs in %s" % BUILD)
    mark = marker()
    out = tmpdir("out")
    os.chmod(TMP, 0o755)
    os.chmod(out, 0o777)
    says("not root: jobprof run", sh(user + run_cmd("touch", mark, out=out)), 1, "needs root.*sudo")
    is_true("not root: CMD is not run", not os.path.exists(mark), "it was")
    d = daemon()
    says("not root: jobprofd", sh(user + [JOBPROFD, "-f", "-c", d.config]), 1, "must run as root")
    if not os.path.exists(DUMP):
        skip("not root: jobprof-dump", "it is not built")
        return
    p = sh(user + [DUMP, "--pin", BPFFS + "/jobprof"])
    says("not root: jobprof-dump", p, 1, "jobprof-dump: .*")


def no_bpf():
    if sh(UNCAPPED + ["true"]).returncode:
        raise Skipped("setpriv cannot drop CAP_BPF")
    says("no BPF: jobprof run", sh(UNCAPPED + run_cmd("true")), 1, "BPF programs: .*CAP_BPF")
    d = daemon()
    says("no BPF: jobprofd", sh(UNCAPPED + [JOBPROFD, "-f", "-c", d.config]), 1,
         "BPF programs: .*CAP_BPF")
    p = sh(UNCAPPED + [JOBPROFD, "--check"])
    is_true("no BPF: --check says what is missing", p.returncode == 1 and "NO" in p.stdout and
            "required" in p.stderr, "%d %s" % (p.returncode, p.stderr))


def no_btf():
    garbage = os.path.join(tmpdir("btf"), "garbage")
    with open(garbage, "wb") as f:
        f.write(os.urandom(4096))
    for what, path in (("missing", "/nonexistent"), ("garbage", garbage), ("a directory", "/")):
        cmd = run_cmd("true")
        cmd[2:2] = ["--btf", path]
        says("no BTF: file is %s" % what, sh(cmd), 1, "BTF")
        d = daemon()
        says("no BTF: jobprofd, file is %s" % what,
             sh([JOBPROFD, "-f", "-c", d.config, "--btf", path]), 1, "BTF")


UMOUNT_CGROUPS = ("awk '$0 ~ / - cgroup2? / { print $5 }' /proc/self/mountinfo | sort -r |"
                  " while read -r m; do umount -l \"$m\"; done")


def no_cgroup():
    says("no cgroup mounted: jobprof run", sh(in_namespace(UMOUNT_CGROUPS, run_cmd("true"))), 1,
         "no cgroup hierarchy.*mount -t cgroup2")
    d = daemon()
    says("no cgroup mounted: jobprofd",
         sh(in_namespace(UMOUNT_CGROUPS, [JOBPROFD, "-f", "-c", d.config])), 1,
         "no cgroup hierarchy.*mount -t cgroup2")


def no_cgroup2():
    if not cgroup1_mount("freezer") or not cgroup2_mount():
        raise Skipped("v1 and v2 are not mounted side by side here")
    out = tmpdir("out")
    account = out + "/account"
    p = sh(in_namespace("umount -l " + cgroup2_mount(),
                        run_cmd(tool("jphold"), "-o", account, "spin=0.1", out=out)))
    files = h5_files(out)
    is_true("no cgroup2: jobprof run takes v1", p.returncode == 0 and len(files) == 1 and
            approx(read_all(files[0])["Tasks/0"]["CPUTime"].sum(),
                   read_account(account)["schedstat.run_ns"] / 1e9, 0.001, 0.004),
            "%d %s %s" % (p.returncode, files, p.stderr))


def bpffs():
    d = daemon()
    d.prefix = in_namespace("umount -l %s; ! grep -q ' - bpf ' /proc/self/mountinfo" % BPFFS, [])
    d.start()
    seen = os.path.isdir("/proc/%d/root%s/maps" % (d.proc.pid, d.pin))
    works(d, "bpffs missing: jobprofd mounts it and works")
    is_true("bpffs missing: the pins are there", seen, "no %s" % d.pin)
    is_equal("bpffs missing: a clean end", d.stop(), 0)
    e = daemon(PinDir=os.path.join(tmpdir("pins"), "x"))
    says("PinDir not on a bpffs", sh([JOBPROFD, "-f", "-c", e.config]), 1,
         "PinDir .* not a bpffs: mount")
    e.write_config(PinDir=BPFFS + "/jptest_none/x")
    says("PinDir in no directory", sh([JOBPROFD, "-f", "-c", e.config]), 1, "PinDir .*No such file")


def state_dir():
    says("StateDir cannot be made", sh(run_cmd("true", state="/proc/nothing")), 1,
         "StateDir /proc/nothing: ")
    d = daemon(StateDir="/proc/nothing")
    says("StateDir cannot be made: jobprofd", sh([JOBPROFD, "-f", "-c", d.config]), 1,
         "StateDir /proc/nothing: ")


# --- the output ---------------------------------------------------------------------------------

def limits_of_command():
    p = sh(["prlimit", "--nofile=1000:"] + run_cmd("sh", "-c", "ulimit -n"))
    is_equal("CMD has the caller's limit of open files", p.stdout.split("\n")[0], "1000")


def unwritable_output():
    mark = marker()
    env = plain_env(SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY), SUDO_USER="nobody")
    out = tmpdir("out")
    os.chmod(out, 0o755)
    says("output directory not the user's", sh(run_cmd("touch", mark, out=out), env=env), 1,
         "output directory .*nobody may not write.*-o")
    is_true("output directory not the user's: CMD is not run", not os.path.exists(mark), "it was")
    os.chown(out, NOBODY, NOBODY)
    says("output directory another user's", sh(run_cmd("touch", mark, out=out)), 1,
         "output directory .*root may not write there")
    is_true("output directory another user's: CMD is not run", not os.path.exists(mark), "it was")
    for what, path in (("of procfs", "/proc"), ("that cannot be made", "/proc/x/y")):
        says("output directory " + what, sh(run_cmd("touch", mark, out=path)), 1,
             "output directory %s: No such" % path)
        is_true("output directory %s: CMD is not run" % what, not os.path.exists(mark), "it was")
    made = os.path.join(out, "a", "b")
    os.chmod(TMP, 0o755)
    os.chmod(out, 0o777)
    p = sh(run_cmd("true", out=made), env=env)
    is_equal("output directory missing: it is made, and the user's",
             (p.returncode, len(h5_files(made)), os.stat(made).st_uid), (0, 1, NOBODY))
    d = daemon("uw")
    theirs = os.path.join(d.h5, "nobody")
    os.mkdir(theirs, 0o700)
    d.start()
    job = new_job()
    d.step(job, 0, ["setpriv", "--reuid=%d" % NOBODY, tool("jphold"), "spin=0.05"], v1_uid=NOBODY).wait()
    d.wait_said("cannot write %d_0_.* as uid %d: .*Permission denied" % (job, NOBODY))
    is_equal("user's directory not writable: the journal is kept", len(d.journals()), 1)
    works(d, "user's directory not writable: other steps go on")
    is_true("user's directory not writable: it is left as it was",
            os.stat(theirs).st_uid == 0 and stat.S_IMODE(os.stat(theirs).st_mode) == 0o700, "changed")
    os.chown(theirs, NOBODY, NOBODY)
    path = d.wait_file(job, 0, "nobody", 30)
    wait_until(lambda: not d.journals(), 10, "the journal to go: its writer has ended")
    is_true("user's directory writable again: the file is finished",
            len(task_rows(path)) and os.stat(path).st_uid == NOBODY and not d.journals(),
            "journals %s" % d.journals())
    os.chown(theirs, 0, 0)
    job = new_job()
    p = d.step(job, 0, ["setpriv", "--reuid=%d" % NOBODY, tool("jphold"), "sleep=30"], v1_uid=NOBODY)
    wait_until(lambda: len(d.journals()) == 1, 10, "the step's journal")
    is_equal("SIGTERM with a file that cannot be written: a clean end within 10 s", d.stop(10), 0)
    is_true("SIGTERM with a file that cannot be written: its journal is kept, and that is said",
            len(d.journals()) == 1 and "some files are not finished" in d.said(), d.said()[-400:])
    p.kill()
    p.wait()


def status(d):
    return sh([JOBPROFD, "--status", "-c", d.config])


def one_line_says_why():
    """However many files wait for the same reason, and the reason is the right one."""
    d = daemon("ol", LogLevel="info")
    d.write_config(ProfileHDF5Dir=os.path.join(d.home, "not-mounted"))
    d.start()
    jobs = [new_job() for _ in range(3)]
    for job in jobs:
        d.step(job, 0, [tool("jphold"), "spin=0.02"]).wait()
    d.wait_said("cannot write .*/not-mounted: No such file or directory: mount")
    wait_until(lambda: len(d.journals()) == 3, 10, "three journals")
    wait_until(lambda: "problem: since 20" in status(d).stdout and " 3 files cannot" in status(d).stdout,
               10, "three files to fail")
    p = status(d)
    is_true("--status: what is wrong, and since when", p.returncode == 1 and
            re.search(r"^problem: since [\d-]+ [\d:]+: 3 files cannot be written, as \d+_0_.*/not-mounted: No such",
                      p.stdout, re.M) and "status: there are problems" in p.stdout, p.stdout + p.stderr)
    is_true("--status: the last error", re.search(r"^errors since the start: 1; .*cannot write", p.stdout, re.M),
            p.stdout)
    who = sh(["setpriv", "--reuid=%d" % NOBODY, "--clear-groups"] + [JOBPROFD, "--status", "-c", d.config])
    is_true("--status: for root and administrators", who.returncode == 1 and
            who.stderr == "jobprofd: root and AdminGroup may ask for this\n" and not who.stdout, who)
    time.sleep(1.5)
    said = [l for l in d.said().splitlines() if "cannot write" in l]
    is_equal("three files in a directory that is not there: one line", len(said), 1)
    os.makedirs(d.keys["ProfileHDF5Dir"])
    wait_until(lambda: not d.journals(), 15, "the files to be written")
    ok("three files in a directory that is not there: written when it is")
    is_equal("they are written again: said", len(re.findall("is written again", d.said())), 3)
    p = status(d)
    is_true("--status: healthy", p.returncode == 0 and "problem" not in p.stdout and
            p.stdout.endswith("status: healthy\n"), p.stdout + p.stderr)
    d.stop()
    p = status(d)
    is_true("--status: none runs", p.returncode == 1 and "no jobprofd listens at" in p.stderr, p.stderr)


def runs_do_not_speak_for_others():
    """What an earlier run could not write is no later run's error."""
    state, out = tmpdir("state"), tmpdir("out")
    run = start(run_cmd("sleep", "30", out=out, state=state), stderr=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL)
    wait_until(lambda: glob.glob(state + "/runs/*.journal"), 20, "its journal")
    time.sleep(0.5)
    for pid in children(run.pid) + [run.pid]:
        os.kill(pid, signal.SIGKILL)
    run.wait()
    shutil.rmtree(out)
    left = glob.glob("/run/jobprof/run-%d.sock*" % run.pid)
    p = sh(run_cmd("true", out=tmpdir("other"), state=state))
    is_equal("a later run removes the sockets of a killed one",
             (len(left) > 0, glob.glob("/run/jobprof/run-%d.sock*" % run.pid)), (True, []))
    is_equal("a later run says nothing of an earlier one's directory", (p.returncode, p.stderr),
             (0, ""))
    is_equal("the earlier one's journal stays", len(glob.glob(state + "/runs/*.journal")), 1)


def full_output():
    small, state, mark = tmpfs("256k"), tmpdir("state"), marker()
    filler = fill(small)
    p = sh(run_cmd("sh", "-c", "touch %s; exit 7" % mark, out=small, state=state))
    is_equal("output directory full: CMD's status", p.returncode, 7)
    is_true("output directory full: CMD runs", os.path.exists(mark), "it did not")
    is_true("output directory full: said", "No space left" in p.stderr and "journal stays" in p.stderr,
            p.stderr)
    journals = glob.glob(state + "/runs/*.journal")
    is_equal("output directory full: the journal is kept", len(journals), 1)
    is_equal("output directory full: nothing half is left",
             [n for n in os.listdir(small) if n != "filler"], [])
    os.unlink(filler)
    sh(run_cmd("true", state=state))
    is_true("output directory full: the next run finishes it", len(h5_files(small)) == 1 and
            not glob.glob(state + "/runs/*.journal"), "%s" % os.listdir(small))
    for path in h5_files(small):
        read_all(path)
    subprocess.run(["umount", "-l", small])


def spinning(d, job):
    """A step that uses some CPU all the time, and where the kernel counts what it uses."""
    p = d.step(job, 0, [tool("jpduty"), "0.002", "0.02"], extra=["-e", "SLURM_JOB_NAME=whole"])
    return p, os.path.dirname(d.v2_step(job, 0))


def end_of(p):
    p.terminate()
    p.wait()


def is_whole(name, d, job, cgroup):
    """The file has all that the job's cgroup used, from the first instruction to the last."""
    path = d.wait_file(job, 0)
    tables, wanted = read_all(path), cpu_stat_ns(cgroup) / 1e9
    for table in ("Tasks/0", "Step"):
        got = tables[table]["CPUTime"].sum() if table in tables else -1
        is_true("%s: %s has what cpu.stat says" % (name, table), approx(got, wanted, 0.002, 0.006),
                "CPUTime %s, cpu.stat %s" % (got, wanted))
    return tables, attributes(path)


def full_state():
    d = daemon("fs", StateDir=tmpfs("512k"))
    d.start()
    state = d.keys["StateDir"]
    # Full before its first row: the journal cannot even be made.
    early, during, late, ending = (new_job() for _ in range(4))
    filler = fill(state)
    p, cgroup = spinning(d, early)
    d.wait_said("cannot begin journal .*%d_0_.*No space left.*make room" % early)
    q, cgroup_during = spinning(d, during)
    time.sleep(0.5)
    end_of(q)
    time.sleep(0.3)
    os.unlink(filler)
    d.wait_said("%d_0_.*: its journal is written again" % early)
    end_of(p)
    is_whole("StateDir full at a step's start", d, early, cgroup)
    attrs = is_whole("StateDir full all of a step's life", d, during, cgroup_during)[1]
    is_true("StateDir full all of a step's life: attributes", "whole" in str(attrs["Job Name"]),
            attrs["Job Name"])
    # Full for a while, and full at the end.
    p, cgroup = spinning(d, late)
    q, cgroup_ending = spinning(d, ending)
    for job in (late, ending):
        d.wait_said("profiling %d_0_" % job)
    time.sleep(0.05)
    filler = fill(state)
    d.wait_said("%d_0_.*rows are left out.*make room" % late)
    time.sleep(0.5)
    end_of(q)
    time.sleep(0.3)
    is_equal("StateDir full at a step's end: no file yet", os.path.exists(d.file(ending, 0)), False)
    os.unlink(filler)
    before = time.time_ns()
    time.sleep(0.5)
    end_of(p)
    tables, attrs = is_whole("StateDir full for a while", d, late, cgroup)
    is_true("StateDir full: rows left out are counted", attrs["Lost"][0] > 0, "Lost %s" % attrs["Lost"])
    for name in ("Tasks/0", "Step"):
        n = int((tables[name]["TimeNS"] > numpy.uint64(before)).sum())
        is_true("StateDir full: %s goes on when there is room" % name, n >= 3, "%d rows" % n)
    is_true("StateDir full: said once", len(re.findall("%d_0_.*rows are left out," % late,
                                                       d.said())) == 1, "more often")
    attrs = is_whole("StateDir full at a step's end", d, ending, cgroup_ending)[1]
    is_true("StateDir full at a step's end: why it ended", "End Reason" in attrs, list(attrs))
    works(d, "StateDir was full: the next step works")
    d.stop()
    subprocess.run(["umount", "-l", state])


def same_name():
    out, state = tmpdir("out"), tmpdir("state")
    env = plain_env(SLURM_JOB_ID="4711")
    for _ in range(3):
        sh(run_cmd("true", out=out, state=state), env=env)
    names = sorted(os.path.relpath(os.path.join(d, n), out) for d, _, files in os.walk(out)
                   for n in files)
    node = names[-1].split("/")[-1]
    is_equal("a file of that name: earlier ones are kept", names,
             sorted([node, "restart0/" + node, "restart1/" + node]))
    starts = {int(attributes(os.path.join(out, n))["Start TimeNS"][0]) for n in names}
    is_equal("a file of that name: three runs", len(starts), 3)
    with open(os.path.join(out, node), "w") as f:
        f.write("somebody's notes")
    p = sh(run_cmd("true", out=out, state=state), env=env)
    kept = [os.path.join(d, n) for d, _, files in os.walk(out) for n in files
            if open(os.path.join(d, n), "rb").read() == b"somebody's notes"]
    is_true("a foreign file of that name is kept", p.returncode == 0 and len(kept) == 1 and
            "/restart" in kept[0] and read_all(os.path.join(out, node)), "%s %s" % (kept, p.stderr))


def symlinks():
    d = daemon("ln")
    target = tmpdir("target")
    os.chmod(target, 0o700)
    secret = os.path.join(target, "secret")
    with open(secret, "w") as f:
        f.write("secret")
    os.symlink(target, os.path.join(d.h5, "nobody"))
    d.start()
    job = new_job()
    cmd = ["setpriv", "--reuid=%d" % NOBODY, tool("jphold"), "spin=0.05"]
    d.step(job, 0, cmd, v1_uid=NOBODY).wait()
    d.wait_said("cannot write %d_0_" % job)
    st = os.stat(target)
    is_true("link at the user's directory is not followed", (st.st_uid, stat.S_IMODE(st.st_mode)) ==
            (0, 0o700) and os.listdir(target) == ["secret"], "%s %s" % (st, os.listdir(target)))
    os.unlink(os.path.join(d.h5, "nobody"))
    d.wait_file(job, 0, "nobody", 30)
    # Now the user owns his directory, and plants links where the writer will write.
    theirs, job = os.path.join(d.h5, "nobody"), new_job()
    name = "%d_0_%s.h5" % (job, d.name)
    for link in (name, "." + name, "." + name + ".tmp", "restart0"):
        os.symlink(target if link == "restart0" else secret, os.path.join(theirs, link))
    d.step(job, 0, cmd, v1_uid=NOBODY).wait()
    path = os.path.join(theirs, name)
    wait_until(lambda: not os.path.islink(path) and os.path.exists(path), 20, "the file at %s" % path)
    read_all(path)
    st = os.stat(secret)
    is_true("links at the output's names are not followed", open(secret).read() == "secret" and
            st.st_uid == 0 and os.listdir(target) == ["secret"], "%s" % os.listdir(target))
    d.stop()
    # The same where root profiles for a user.
    out = tmpdir("out")
    os.chown(out, NOBODY, NOBODY)
    node = None
    for _ in range(2):
        if node:
            for link in (node, "." + node, "." + node + ".tmp"):
                path = os.path.join(out, link)
                if os.path.lexists(path):
                    os.unlink(path)
                os.symlink(secret, path)
        p = sh(run_cmd("true", out=out), env=plain_env(
            SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY), SLURM_JOB_ID="4712"))
        node = node or os.path.basename(h5_files(out)[0])
    is_true("links at the output of jobprof run are not followed", p.returncode == 0 and
            open(secret).read() == "secret" and not os.path.islink(os.path.join(out, node)) and
            os.stat(os.path.join(out, node)).st_uid == NOBODY, "%s %s" % (p.stderr, os.listdir(out)))


# --- cgroups ------------------------------------------------------------------------------------

def vanishing():
    d = daemon("va", MaxSlots="2048")
    d.start()
    root = d.v2_step(new_job(), 0).rpartition("/job_")[0]
    os.makedirs(root)
    for i in range(300):
        job = new_job()
        for sub in ("", "/step_0", "/step_0/user", "/step_0/user/task_0"):
            os.mkdir("%s/job_%d%s" % (root, job, sub))
        if i % 10 == 0:
            time.sleep(0.01)
        for sub in ("/step_0/user/task_0", "/step_0/user", "/step_0", ""):
            os.rmdir("%s/job_%d%s" % (root, job, sub))
    works(d, "300 cgroups vanish while they are read: jobprofd goes on")
    wait_until(lambda: not d.journals(), 30, "the files of %s" % d.journals()[:3])
    bad = [l for l in d.said().splitlines() if re.search("cannot|error|killed|unknown", l)]
    is_equal("300 cgroups vanish while they are read: nothing to complain about", bad[:3], [])
    is_equal("300 cgroups vanish while they are read: a clean end", d.stop(), 0)


HOSTILE = ["%s%n%s%n", "a\nb", "..", "...", "..x", "x" * 240, "\u00e4\u00f6\u00fc\u2603", "\x01\x1b[31mred", "-1", "0x",
           "99999999999", "", "0 ", "+1", "0+", "1+2+3", "4294967295", "007", "-", "a;rm -rf b", "$(id)",
           "'\"", "\\", "\xff"]


def hostile_tree(d, top, make):
    """A process in a directory of every hostile name."""
    n = 0
    for name in HOSTILE:
        path = os.path.join(top, *make(name))
        if len(os.path.basename(path).encode()) > 255:
            continue
        try:
            os.makedirs(path, exist_ok=True)
        except OSError:
            continue  # the kernel allows no such name
        p = start([tool("jphold"), "sleep=0.4"], stdout=subprocess.DEVNULL)
        try:
            with open(path + "/cgroup.procs", "w") as f:
                f.write(str(p.pid))
            n += 1
        except OSError:
            pass
    return n


def hostile_names():
    d = daemon("ho", MaxSlots="2048")
    root = d.cgroup_root()
    d.write_config(CgroupPattern="%s/box/box-*//t-*" % d.root)
    d.start()
    scope = root + "/system.slice/slurmstepd.scope"
    n = hostile_tree(d, scope, lambda x: ["job_9", "step_" + x, "user", "task_0"])
    n += hostile_tree(d, scope, lambda x: ["job_" + x, "step_0", "user", "task_" + x])
    n += hostile_tree(d, root + "/box", lambda x: ["box-" + x, "t-" + x])
    if cgroup1_mount("freezer"):
        n += hostile_tree(d, d.cgroup_root(cgroup1_mount("freezer")) + "/slurm",
                          lambda x: ["uid_" + x, "job_9", "step_0", "task_0"])
    time.sleep(0.8)
    for top in list(d._dirs):
        rmtree_cgroup(top)
        os.mkdir(top)
    is_true("hostile names: they were made", n > 40, "only %d" % n)
    works(d, "hostile names: jobprofd goes on")
    wait_until(lambda: not d.journals(), 30, "the files of %s" % d.journals()[:3])
    odd = [l for l in d.said().split("\n") if l and not re.match("jobprof(d|-writer): ", l)]
    raw = [l for l in d.said() if l != "\n" and ord(l) < 32 or l == "\x7f"]
    is_true("hostile names: no log line is forged", not odd and not raw, "%s %s" % (odd[:2], raw[:2]))
    outside = [p for p in os.listdir(d.home) if p not in ("h5", "state", "conf", "log", "notify", "socket", "socket.root")]
    is_equal("hostile names: nothing is written elsewhere", outside, [])
    names = [os.path.basename(f) for f in d.files()]
    bad = [x for x in names if any(ord(c) < 32 for c in x) or x.startswith(("..", "-"))]
    is_equal("hostile names: no file has one", bad, [])
    is_equal("hostile names: every file opens", [f for f in d.files() if not read_all(f)], [])
    is_equal("hostile names: a clean end", d.stop(), 0)


# --- CMD ----------------------------------------------------------------------------------------

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
    for name, script, status in (("its own status", "exit 42", 42), ("SIGTERM", "kill -TERM $$", 143),
                                 ("SIGKILL", "kill -KILL $$", 137), ("SIGSEGV", "kill -SEGV $$", 139)):
        p = sh(run_cmd("sh", "-c", script))
        is_true("CMD ends by %s: %d" % (name, status), p.returncode == status and not p.stderr,
                "%d %s" % (p.returncode, p.stderr))
    p = sh([a for a in run_cmd("sh", "-c", "sleep 0.5 & exit 3") if a != "-q"])
    is_true("a process of it ran on", p.returncode == 3 and "\n1 background process ran on after "
            "the command's end, not counted (--wait-all waits)\n" in p.stdout, p.stdout[-300:])


COUNTER = """import os, signal, sys, time
n = 0
def count(sig, frame):
    global n
    n += 1
for s in (signal.SIGINT, signal.SIGTERM):
    signal.signal(s, count)
open(sys.argv[1], "w").close()
end = time.time() + 20
while not n and time.time() < end:
    time.sleep(0.05)
time.sleep(0.4)
open(sys.argv[2], "w").write(str(n))
sys.exit(30 + n)
"""


def signals():
    """Each to jobprof run alone, and typed at its terminal."""
    started = []
    for sig in (signal.SIGINT, signal.SIGTERM):
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
    long = start(run_cmd(tool("jphold"), "sleep=3", out=a, state=state), env=plain_env(),
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


# --- writers ------------------------------------------------------------------------------------

def script(text):
    path = os.path.join(tmpdir("writer"), "writer")
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    os.chmod(os.path.dirname(path), 0o755)
    return path


def in_use(journal):
    """Bytes of it; the rest is room for more."""
    with open(journal, "rb") as f:
        return len(f.read().rstrip(b"\0"))


def broken_writer(what, writer):
    """Rows go on; when the writer works again the next jobprofd finishes the file from the journal."""
    d = daemon("wr", Writer=writer)
    d.start()
    job = new_job()
    p = d.step(job, 0, [tool("jpduty"), "-o", d.home + "/account", "0.01", "0.05"])
    d.wait_said("profiling %d_0" % job)
    time.sleep(2.5)
    journal = d.journals()[0]
    size = in_use(journal)
    time.sleep(0.6)
    is_true("%s: rows go on" % what, in_use(journal) > size, "no more rows")
    return d, job, p


def finish_repaired(what, d, job, p):
    d.write_config(Writer=None)
    d.start()
    p.terminate()
    p.wait(10)
    path = d.wait_file(job, 0)
    wait_until(lambda: not d.journals(), 10, "the journal to go: its writer has ended")
    rows = task_rows(path)
    is_true("%s: the journal finishes the file" % what, approx(
        rows["CPUTime"].sum(), read_account(d.home + "/account")["schedstat.run_ns"] / 1e9, 0.001, 0.004)
        and not d.journals(), "CPUTime %s, schedstat %s, journals %s" % (
            rows["CPUTime"].sum(), read_account(d.home + "/account")["schedstat.run_ns"], d.journals()))
    is_equal("%s: no temporary file is left" % what, d.temporaries(), [])
    is_equal("%s: a clean end" % what, d.stop(), 0)


def writers(pid):
    """jobprofd forks for other ends too."""
    return [c for c in children(pid) if comm(c).startswith("jobprof-writer"[:15])]


def not_helpers(pid):
    """Children that have become another program; those that look things up have not."""
    return [c for c in children(pid) if comm(c) not in ("jobprofd", "")]


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except OSError:
        return ""


def writer_hangs():
    pid_file = os.path.join(tmpdir("pid"), "pid")
    what = "a writer that hangs"
    d, job, p = broken_writer(what, script("echo $$ > %s; exec sleep 1000\n" % pid_file))
    is_equal("%s: one at a time" % what, len(not_helpers(d.proc.pid)), 1)
    pid = int(open(pid_file).read())
    d.kill()
    wait_until(lambda: not os.path.exists("/proc/%d" % pid), 5, "the writer to end with jobprofd")
    ok("%s: it ends with a killed jobprofd" % what)
    finish_repaired(what, d, job, p)


def catch_writer(daemon, seconds):
    """A writer's life is some ms: looked for without a pause, and stopped where it is."""
    end = time.time() + seconds
    while time.time() < end:
        with open("/proc/%d/task/%d/children" % (daemon, daemon)) as f:
            pids = [int(p) for p in f.read().split()]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGSTOP)
                if comm(pid).startswith("jobprof-writer"[:15]):
                    return [pid]
                os.kill(pid, signal.SIGCONT)
            except OSError:
                continue  # it has gone
    raise Failed("no writer could be caught in %d s" % seconds)


def writer_stopped():
    """The real one under SIGSTOP, somewhere between its first and its last system call."""
    what = "a writer that stands still"
    d = daemon("ws")
    d.start()
    job = new_job()
    p = d.step(job, 0, [tool("jpduty"), "-o", d.home + "/account", "0.01", "0.05"])
    pids = catch_writer(d.proc.pid, 20)
    size = in_use(d.journals()[0])
    time.sleep(0.6)
    is_true("%s: rows go on" % what, in_use(d.journals()[0]) > size, "no more rows")
    d.kill()
    wait_until(lambda: not os.path.exists("/proc/%d" % pids[0]), 5, "the writer to end with jobprofd")
    finish_repaired(what, d, job, p)


def writer_dies():
    what = "a writer that dies"
    d, job, p = broken_writer(what, "/bin/false")
    d.wait_said("cannot write %d_0_.* as uid .*: its writer ended with status 1" % job)
    ok("%s: said" % what)
    n = len(re.findall("cannot write %d_0_" % job, d.said()))
    is_true("%s: tried again, not in a loop" % what, 1 <= n <= 4, "%d times" % n)
    d.kill(signal.SIGUSR1)
    finish_repaired(what, d, job, p)


def writer_missing():
    what = "no writer"
    d, job, p = broken_writer(what, "/nonexistent/writer")
    d.wait_said("cannot run /nonexistent/writer: No such file.*Writer=")
    ok("%s: said" % what)
    d.kill(signal.SIGUSR1)
    finish_repaired(what, d, job, p)


# --- usage and configuration --------------------------------------------------------------------

def wrong_usage():
    for prog, args in ((JOBPROF, []), (JOBPROF, ["frob"]), (JOBPROF, ["run"]), (JOBPROF, ["run", "--"]),
                       (JOBPROF, ["run", "--frob", "true"]), (JOBPROF, ["run", "-o", "/tmp", "-i", "0", "true"]),
                       (JOBPROF, ["run", "-i", "x", "true"]), (JOBPROF, ["run", "-i", "-1", "true"]),
                       (JOBPROF, ["run", "-s", "frob", "true"]), (JOBPROF, ["run", "-u", "frob", "true"]),
                       (JOBPROF, ["run", "-o"]), (JOBPROF, ["show"]), (JOBPROF, ["show", "--frob"]),
                       (JOBPROF, ["list", "--frob"]), (JOBPROF, ["list", "x", "y"]), (JOBPROFD, ["--frob"]),
                       (JOBPROFD, ["x"]), (JOBPROFD, ["-c"]), (WRITER, []), (WRITER, ["-j", "x"]),
                       (WRITER, ["-j", "3", "-d", "4", "-n", "x.h5", "-m", "frob"]),
                       (DUMP, ["--frob"]), (DUMP, ["x"])):
        name = "wrong usage: %s" % " ".join([os.path.basename(prog)] + args)
        if not os.path.exists(prog):
            skip(name, "it is not built")
            continue
        p = sh([prog] + args)
        is_true(name, p.returncode == 2 and p.stderr and not p.stdout and
                (prog == WRITER or not args or p.stderr.count("\n") == 1),
                "status %d, stdout %s, stderr %s" % (p.returncode, p.stdout[:80], p.stderr[:80]))
    says("an option that is not there", sh([JOBPROF, "run", "--frob", "true"]), 2,
         "there is no option --frob;")
    says("options that begin alike", sh([JOBPROF, "run", "--s", "x", "true"]), 2,
         "more than one option begins with --s;")
    says("no interval", sh([JOBPROF, "run", "-i", "0.01", "true"]), 2, "want 0.1 to 86400 seconds")
    p = sh([JOBPROF, "shwo"])
    is_true("a verb that is nearly one is named", '"show"' in p.stderr, p.stderr)


def bad_configuration():
    d = tmpdir("conf")
    good = "ProfileHDF5Dir=/tmp\n"
    for name, text, pattern in (
            ("unknown key", good + "ProfilHDF5Default=All\n", r"bad\.conf:2: .*ProfilHDF5Default.*ProfileHDF5Default"),
            ("bad number", good + "\n\nMaxSlots=many\n", r"bad\.conf:4: .*MaxSlots.*many"),
            ("out of range", good + "MaxSlots=1\n", r"bad\.conf:2: .*MaxSlots.*16 to 4096"),
            ("bad frequency", "JobAcctGatherFrequency=task=0.01\n", r"bad\.conf:1: .*JobAcctGatherFrequency"),
            ("unknown series", "JobAcctGatherFrequency=taks=1\n", r"bad\.conf:1: .*taks"),
            ("relative path", "StateDir=state\n", r"bad\.conf:1: .*absolute"),
            ("no value", good + "StateDir\n", r"bad\.conf:2: "),
            ("name with a slash", "NodeName=a/b\n", r"bad\.conf:1: .*NodeName"),
            ("bad level", "LogLevel=loud\n", r"bad\.conf:1: .*error, warn, info, debug"),
            ("missing include", "Include /nonexistent/x\n", r"bad\.conf:1: .*|/nonexistent/x"),
            ("unknown family", good + "ProfileHDF5Default=All,frob\n", "frob")):
        path = os.path.join(d, "bad.conf")
        with open(path, "w") as f:
            f.write(text)
        says("configuration: " + name, sh([JOBPROFD, "--check-config", "-c", path]), 1, pattern)
    good_path = os.path.join(d, "good.conf")
    with open(good_path, "w") as f:
        f.write(good)
    os.chmod(good_path, 0o666)
    says("configuration: world-writable is refused", sh([JOBPROFD, "--check-config", "-c", good_path]), 1,
         "good.conf.*writ")
    os.chmod(good_path, 0o644)
    is_equal("configuration: a good one", sh([JOBPROFD, "--check-config", "-c", good_path]).returncode, 0)
    says("configuration: missing file", sh([JOBPROFD, "--check-config", "-c", "/nonexistent/c"]), 1,
         "/nonexistent/c: .*No such file")
    says("configuration: a directory", sh([JOBPROFD, "--check-config", "-c", d]), 1, "directory|regular")
    with open(good_path, "wb") as f:
        f.write(b"\x7fELF\0\1\2" * 100)
    says("configuration: binary", sh([JOBPROFD, "--check-config", "-c", good_path]), 1, r"good\.conf:1: ")
    with open(good_path, "w") as f:
        f.write("ProfileHDF5Default=All\n")
    says("configuration: no ProfileHDF5Dir", sh([JOBPROFD, "-f", "-c", good_path]), 1,
         "ProfileHDF5Dir is not set")
    e = daemon("nd", LogLevel="info")
    del e.keys["ProfileHDF5Dir"]
    e.write_config(ProfileHDF5Default="None")
    e.start()
    e.wait_said("ProfileHDF5Dir is not set: no step can be profiled")
    e.stop()
    ok("no ProfileHDF5Dir where nothing is profiled by default: said at the start")
    e = daemon("cf").start()
    job = new_job()
    e.write_config(MaxSlots="many")
    e.proc.send_signal(signal.SIGHUP)
    e.wait_said("old settings stay in force")
    works(e, "configuration: a bad one at SIGHUP leaves the old in force")
    e.write_config(MaxSlots="64", Socket=e.keys["Socket"] + "2", LogLevel="info")
    e.proc.send_signal(signal.SIGHUP)
    e.wait_said(r"jobprofd: MaxSlots, Socket: the new value is in force after a restart")
    e.stop()


def checked_configuration():
    """--check-config: what the daemon would refuse, and what does not fit the node or Slurm."""
    d = tmpdir("site")
    h5, etc, lib = [os.path.join(d, n) for n in ("h5", "etc", "lib")]
    for path in (h5, etc, lib):
        os.mkdir(path, 0o755)
    host = os.uname().nodename.split(".")[0]

    def check(keys, slurm, acct="", plugstack="optional spank_jobprof.so\n"):
        for name, text in (("jobprof.conf", keys), ("slurm.conf", slurm), ("acct_gather.conf", acct),
                           ("plugstack.conf", plugstack)):
            with open(os.path.join(etc, name), "w") as f:
                f.write(text)
        return sh([JOBPROFD, "--check-config", "-c", os.path.join(etc, "jobprof.conf")],
                  env=plain_env(SLURM_CONF=os.path.join(etc, "slurm.conf")))
    good = "ProfileHDF5Default=All\nInclude slurm.conf\nNodeName=%s\n" % "c7"
    slurm = "ClusterName=blue\nPluginDir=/nowhere:%s\nNodeName=DEFAULT CPUs=2\nNodeName=c[1-9] State=UNKNOWN\n" % lib
    jobprof = good + "ProfileHDF5Dir=%s\n" % h5
    for name in ("spank_jobprof.so", "acct_gather_profile_jobprof.so"):
        with open(sorted(glob.glob(os.path.join(BUILD, "slurm-*", name)))[0], "rb") as f:
            data = f.read()
        with open(os.path.join(lib, name), "wb") as f:
            f.write(data)
    shutil.copy(os.path.join(lib, name), os.path.join(lib, "jobacct_gather_linux.so"))  # has its version
    p = check(jobprof, slurm + "AcctGatherProfileType=acct_gather_profile/jobprof\n")
    is_equal("check: all is well", (p.returncode, p.stderr), (0, ""))
    is_true("check: what was looked at", all(re.search("^# .*" + w, p.stdout, re.M) for w in (
        h5, "NodeName c7", "spank_jobprof.so is of version", "spank_jobprof.so is built for Slurm",
        "acct_gather_profile_jobprof.so is of")),
        p.stdout[-400:])
    with open(os.path.join(etc, "again.conf"), "w") as f:
        f.write(p.stdout)
    again = sh([JOBPROFD, "--check-config", "-c", os.path.join(etc, "again.conf")])
    is_equal("check: what is printed is a configuration",
             [l for l in again.stdout.splitlines() if l[0] != "#"],
             [l for l in p.stdout.splitlines() if l[0] != "#"])
    says("check: no ProfileHDF5Dir", check(good, slurm), 1, "ProfileHDF5Dir is not set")
    says("check: no ProfileHDF5Dir, and no step that would need it",
         check(good.replace("=All", "=None"), slurm), 1, "ProfileHDF5Dir is not set")
    says("check: it is not there", check(good + "ProfileHDF5Dir=%s/a/b\n" % d, slurm), 1,
         "/a/b: No such file or directory: mount")
    says("check: nobody may write in it", check(good + "ProfileHDF5Dir=/sys/kernel\n", slurm), 1,
         "/sys/kernel.*neither root nor users may")
    says("check: it is a file", check(good + "ProfileHDF5Dir=%s/slurm.conf\n" % etc, slurm), 1,
         "slurm.conf.*Not a directory")
    for line, status, wanted in (
            ("ProctrackType=proctrack/linuxproc", 1, "linuxproc: steps have no cgroups"),
            ("ProctrackType=proctrack/linuxproc\nTaskPlugin=task/affinity,task/cgroup", 0,
             "linuxproc: steps are found with cgroup v2 only")):
        says("check: " + line.replace("\n", ", "), check(jobprof, slurm + line + "\n"), status,
             "slurm.conf: ProctrackType=proctrack/" + wanted)
    says("check: another NodeName", check(jobprof.replace("c7", "d7"), slurm +
                                          "NodeName=x1 NodeHostname=%s\n" % host), 1,
         "NodeName d7 .*is in no line of .*slurm.conf, which calls this host x1:")
    says("check: several nodes are of this host", check(
        jobprof.replace("c7", "d7"), slurm + "".join("NodeName=x%d NodeHostname=%s\n" % (i, host)
                                                     for i in range(50))), 1, "this host x0, x1, x2, ")
    says("check: another cluster", check(jobprof + "ClusterName=red\n", slurm), 1,
         "ClusterName=red, but .*slurm.conf has ClusterName=blue")
    both = slurm + "AcctGatherProfileType=acct_gather_profile/jobprof\n"
    elsewhere = jobprof + "Socket=/run/x/s\n"
    looks = re.compile(r"(\S+) looks for jobprofd at (\S+), and Socket is /run/x/s: ")
    default = "/run/jobprof/jobprofd.sock"
    for acct, plugstack, wanted in (
            ("", "", [("spank_jobprof.so", default), ("acct_gather_profile_jobprof.so", default)]),
            ("ProfileJobprofSocket=/run/x/s\n", " timeout=9 socket=/run/x/s", []),
            ("ProfileJobprofSocket=/run/y\n", "\tsocket=/run/x/s # socket=/run/z",
             [("acct_gather_profile_jobprof.so", "/run/y")])):
        p = check(elsewhere, both, acct, "optional spank_jobprof.so%s\n" % plugstack)
        is_equal("check: where plugins look for jobprofd: %s" % acct, looks.findall(p.stderr), wanted)
    p = check(jobprof, slurm + "AcctGatherProfileType=acct_gather_profile/hdf5\n",
              "ProfileHDF5Dir=%s\n" % h5)
    says("check: Slurm's plugin writes to the same place", p, 0, "acct_gather_profile/hdf5 writes files")
    e = daemon("slurms", root=False)
    os.symlink(e.h5, os.path.join(d, "link"))
    e.env["SLURM_CONF"] = os.path.join(etc, "slurm.conf")
    check(jobprof, slurm + "AcctGatherProfileType=acct_gather_profile/hdf5\n",
          "ProfileHDF5Dir=%s/link\n" % d)
    e.start()
    e.wait_said("acct_gather_profile/hdf5 writes files of the same names to " + e.h5)
    e.stop()
    ok("jobprofd warns at its start, too")
    with open(os.path.join(lib, "spank_jobprof.so"), "wb") as f:
        f.write(re.sub(rb"jobprof version: [0-9]", b"jobprof version: 9", data))
    says("check: a plugin of another version", check(jobprof, slurm), 1,
         "spank_jobprof.so is of 9.*install both")
    os.unlink(os.path.join(lib, "spank_jobprof.so"))
    os.mkfifo(os.path.join(lib, "spank_jobprof.so"))
    is_equal("check: a plugin that is a FIFO", check(jobprof, slurm).returncode, 1)
    os.unlink(os.path.join(lib, "spank_jobprof.so"))
    says("check: a plugin that is not there", check(jobprof, slurm), 1,
         "plugstack.conf uses spank_jobprof.so, which is not in PluginDir")
    says("check: no writer", check(jobprof + "Writer=/nowhere/w\n", slurm, plugstack=""), 1,
         "Writer /nowhere/w: No such file")


DEV_LOG = """
mount -t tmpfs none "$1/dev" && cp -a /dev/null "$1/dev" && ln -s "$1/log" "$1/dev/log" &&
mount --bind "$1/dev" /dev && shift && exec "$@"
"""


def syslog():
    """In the background and without systemd, where a syslogd listens: here, at a /dev/log of a mount
    namespace of its own."""
    d = daemon("sl")
    os.mkdir(os.path.join(d.home, "dev"))
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(os.path.join(d.home, "log"))
    log.settimeout(20)
    p = sh(["unshare", "-m", "--propagation", "private", "sh", "-c", DEV_LOG, "sh", d.home, JOBPROFD,
            "-c", d.config])
    is_equal("in the background: ready, and stderr is left alone", (p.returncode, p.stderr),
             (0, ""))
    d.write_config(MaxSlots="64")
    pid = [int(n) for n in os.listdir("/proc") if n.isdigit() and d.config.encode() in cmdline(n)][0]
    os.kill(pid, signal.SIGHUP)
    said = [log.recv(4096).decode(), log.recv(4096).decode()]
    os.kill(pid, signal.SIGTERM)
    form = r"<(\d+)>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d jobprofd\[(\d+)\]: "
    is_equal("in the background: syslog has the priority, the pid and the text",
             [re.sub(form, r"\1 \2 ", x).split()[:3] for x in said],
             [["30", str(pid), "settings"], ["28", str(pid), "MaxSlots:"]])
    wait_until(lambda: d.config.encode() not in cmdline(pid), 20, "jobprofd to end")


def cmdline(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as f:
            return f.read()
    except OSError:
        return b""


def second_daemon():
    a = daemon("sa").start()
    b = daemon("sb", StateDir=a.state)
    says("same StateDir: the second refuses", sh([JOBPROFD, "-f", "-c", b.config]), 1,
         "another jobprofd uses StateDir")
    b.write_config(StateDir=os.path.join(b.home, "state"), PinDir=a.pin)
    try:
        says("same PinDir: the second refuses", sh([JOBPROFD, "-f", "-c", b.config], timeout=5), 1,
             "another .*PinDir|PinDir .*another")
    except subprocess.TimeoutExpired:
        not_ok("same PinDir: the second refuses", "it runs")
    works(a, "the first goes on beside them")
    is_equal("the first: a clean end", a.stop(), 0)


# --- damaged files ------------------------------------------------------------------------------

def flip(path, at, n=1):
    with open(path, "r+b") as f:
        f.seek(at)
        old = f.read(n)
        f.seek(at)
        f.write(bytes(x ^ 0x5a for x in old))


def damaged_journals():
    d = daemon("dj")
    d.start()
    jobs = [new_job() for _ in range(3)]
    steps = [d.step(j, 0, [tool("jpduty"), "0.002", "0.02"]) for j in jobs]
    wait_until(lambda: len(d.journals()) == 3, 10, "three journals")
    time.sleep(1)
    d.kill()
    for p in steps:
        p.terminate()
        p.wait()
    head, middle, whole = (glob.glob("%s/steps/%d_0_*" % (d.state, j))[0] for j in jobs)
    flip(head, 3)
    flip(middle, in_use(middle) - 700, 64)
    empty = d.state + "/steps/1_0_x.h5.1.journal"
    text = d.state + "/steps/2_0_x.h5.1.journal"
    open(empty, "w").close()
    with open(text, "w") as f:
        f.write("this is not a journal at all, only somebody's notes\n" * 20)
    unborn = [d.state + "/steps/5_0_x.h5.1.journal.new", d.state + "/runs/5_0_x.h5.1.journal.new"]
    young = d.state + "/runs/6_0_x.h5.1.journal.new"
    os.makedirs(d.state + "/runs", exist_ok=True)
    for path in unborn + [young]:
        open(path, "w").close()
    os.utime(unborn[1], (time.time() - 100,) * 2)
    os.mkdir(d.state + "/steps/3_0_x.h5.1.journal")
    os.symlink("/etc/passwd", d.state + "/steps/4_0_x.h5.1.journal")
    passwd = open("/etc/passwd", "rb").read()
    d.start()
    for path, what in ((head, "magic flipped"), (text, "text")):
        is_true("journal with its %s: said and left" % what, os.path.exists(path) and
                re.search(re.escape(path) + " is not a usable journal.*left where it is", d.said()),
                d.said()[-400:])
    for job, what in ((jobs[1], "bytes flipped in the middle"), (jobs[2], "no damage")):
        rows = task_rows(d.wait_file(job, 0))
        is_true("journal with %s: its rows are in the file" % what, len(rows) >= 5, "%d" % len(rows))
    is_true("journals whose makers were killed: gone", not any(os.path.exists(p) for p in unborn),
            d.journals() + d.journals("runs"))
    is_true("a journal that a jobprof run may be making: left", os.path.exists(young), young)
    is_true("journal that is a link: not followed", open("/etc/passwd", "rb").read() == passwd, "changed")
    wait_until(lambda: not any(os.path.exists(p) for p in (middle, whole, empty)), 20,
               "journals to go: %s" % d.journals())
    works(d, "damaged journals: jobprofd goes on")
    is_equal("damaged journals: a clean end", d.stop(), 0)


def damaged_files():
    d = tmpdir("h5")
    r, good = run_jobprof([tool("jphold"), "spin=0.3"], 0.1)
    data = open(good, "rb").read()
    wrong = {"empty": b"", "text": b"hello\n" * 100, "cut": data[:len(data) // 2],
             "cut by one": data[:-1], "magic": b"\x88" + data[1:], "superblock": data[:20] + b"\xff" * 40 + data[60:],
             "zeros behind its head": data[:512] + b"\0" * (len(data) - 512)}
    for name, content in wrong.items():
        path = os.path.join(d, name.replace(" ", "_") + ".h5")
        with open(path, "wb") as f:
            f.write(content)
        says("damaged file (%s): jobprof show" % name, sh([JOBPROF, "show", path]), 1, re.escape(path))
    with h5py.File(os.path.join(d, "foreign.h5"), "w") as f:
        f["x"] = numpy.arange(10)
    says("foreign HDF5 file: jobprof show", sh([JOBPROF, "show", f"{d}/foreign.h5"]), 1, "foreign.h5")
    says("no file: jobprof show", sh([JOBPROF, "show", "/nonexistent.h5"]), 1, "No such file")
    says("directory: jobprof show", sh([JOBPROF, "show", d]), 1, "profiles; name one of them")
    rnd = numpy.random.default_rng(1)
    crashed = []
    for i in range(40):
        bent = bytearray(data)
        for at in rnd.integers(0, len(data), 8):
            bent[at] ^= int(rnd.integers(1, 256))
        path = os.path.join(d, "bent.h5")
        with open(path, "wb") as f:
            f.write(bent)
        p = sh([JOBPROF, "show", path])
        if p.returncode not in (0, 1):
            crashed.append("%d: status %d %s" % (i, p.returncode, p.stderr[-100:]))
    is_equal("40 files with random bytes changed: jobprof show ends by itself", crashed[:2], [])


# --- memory and what is left --------------------------------------------------------------------

def valgrind():
    if sh(["sh", "-c", "command -v valgrind"]).returncode:
        raise Skipped("there is no valgrind")
    if b"__asan_init" in open(JOBPROF, "rb").read():
        raise Skipped("built with sanitizers")
    r, good = run_jobprof([tool("jphold"), "spin=0.3"], 0.1)
    cmds = {"jobprof show": [JOBPROF, "show", good],
            "jobprof show --json": [JOBPROF, "show", "--json", good],
            "jobprof list": [JOBPROF, "list"], "jobprof list --json": [JOBPROF, "list", "--json"]}
    for unit in ("test_journal", "test_nodestep"):
        path = os.path.join(BUILD, "tests", "unit", unit)
        if os.path.exists(path):
            cmds[unit] = [path]
        else:
            skip("valgrind: " + unit, "it is not built")
    for name, cmd in cmds.items():
        p = sh(["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--num-callers=40",
                "--errors-for-leak-kinds=definite",
                "--suppressions=" + os.path.join(ROOT, "tests", "data", "valgrind.supp")] + cmd,
               timeout=120)
        is_true("valgrind: " + name, p.returncode == 0,
                "status %d: %s" % (p.returncode, " ".join(p.stderr.split())[:600]))


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


def nothing_left():
    def gone(name, ids):
        try:
            wait_until(lambda: not alive(ids), 8, "kernel objects to go")
            ok(name)
        except Failed:
            not_ok(name, "left: %s" % alive(ids)[:5])
    def tops(pid):
        return [t for m in {cgroup2_mount(), cgroup1_mount("freezer")} - {None}
                for t in glob.glob("%s/**/jobprof_%d" % (m, pid), recursive=True)]

    def begin(seconds):
        p = start(run_cmd(tool("jphold"), "sleep=%g" % seconds), env=plain_env(),
                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return p, wait_until(lambda: tops(p.pid), 20, "the cgroup of jobprof run"), programs_of(p.pid)

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
    d = daemon("nl").start()
    works(d, "jobprofd works")
    ids = programs_of(d.proc.pid)
    pinned = os.path.isdir(d.pin)
    d.stop()
    is_true("jobprofd: pinned while it ran", pinned and len(ids) > 10, "%d" % len(ids))
    is_true("jobprofd: no pin is left", not os.path.exists(d.pin), "%s" % d.pin)
    gone("jobprofd: no program, no map and no link is left", ids)


def removed_while_looked_at():
    """Steps whose directories go when a scan has just opened them: the kernel has told of each
    already, and none is found a second time."""
    if not shutil.which("strace"):
        raise Skipped("no strace")
    d = daemon("rl", MaxSlots="2048").start()
    job, made, ready = new_job(), [], threading.Event()
    # whose the others are, in which nothing runs
    long = d.step(job, 9999, [tool("jpduty"), "0.002", "0.02"])
    wait_until(d.journals, 10, "the journal of a step")
    d.kill()
    base = os.path.dirname(d.v2_step(job, 0))
    os.makedirs(base, exist_ok=True)

    def churn():
        while not ready.is_set():
            made.append(len(made))
            os.mkdir("%s/step_%d" % (base, made[-1]))
            time.sleep(0.008)
            os.rmdir("%s/step_%d" % (base, made[-1]))
            time.sleep(0.002)

    t = threading.Thread(target=churn)
    t.start()
    d.prefix = ["strace", "-qq", "-o", "/dev/null", "-e", "inject=openat:delay_exit=8000"]
    try:
        d.spawn()
        d.ready(60)
    finally:
        ready.set()
        t.join()
        for p in children(d.proc.pid):
            os.kill(p, signal.SIGKILL)
        d.proc.wait(20)
    d.prefix = []
    d.start()
    d.wait_file(job, made[-1], seconds=60)
    long.terminate()
    long.wait()
    wait_until(lambda: not d.journals(), 60, "the files of %s" % d.journals()[:3])
    names = [os.path.relpath(f, d.h5) for f in d.files() if "/%d_" % job in f]
    wanted = {"root/%d_%d_%s.h5" % (job, n, d.name) for n in made + [9999]}
    is_equal("removed while looked at: a file of each step, and no other",
             (len(names), set(names) ^ wanted), (len(wanted), set()))
    is_equal("removed while looked at: a clean end", d.stop(), 0)


# The long ones first.
TESTS = [
    full_output, limits_of_command, unwritable_output, one_line_says_why, runs_do_not_speak_for_others, symlinks,
    writer_hangs, writer_stopped, writer_dies, writer_missing,
    valgrind, full_state, bpffs, hostile_names, vanishing, damaged_journals, second_daemon,
    bad_configuration, checked_configuration, syslog, nothing_left, signals, side_by_side, same_name, inherits_nothing, command_ends, damaged_files,
    removed_while_looked_at, no_btf, no_bpf, no_cgroup, no_cgroup2, not_root, state_dir, wrong_usage, clock_steps]


def main():
    need_bpf()
    # Most of them wait most of the time.
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        list(pool.map(run_one, chosen(TESTS)))


main()
