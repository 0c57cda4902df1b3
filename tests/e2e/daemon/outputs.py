#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files and journals that cannot be written: directories of other users, full ones, links, names
that are taken. The tests run in a mount namespace of their own, with small file systems."""

import os
import stat
import sys

if os.geteuid() == 0 and "JP_OWN_MOUNTS" not in os.environ:
    os.environ["JP_OWN_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, "-u"] + sys.argv)

sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *
from maplib import Maps


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
    d = RootedDaemon("uw")
    theirs = os.path.join(d.hdf5, "nobody")
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
    path = d.file(job, 0, "nobody", 30)
    wait_until(lambda: not d.journals(), 10, "the journal to go: its writer has ended")
    is_true("user's directory writable again: the file is finished",
            len(task_rows(path)) and os.stat(path).st_uid == NOBODY and not d.journals(),
            "journals %s" % d.journals())
    os.chown(theirs, 0, 0)
    job = new_job()
    p = d.step(job, 0, ["setpriv", "--reuid=%d" % NOBODY, tool("jphold"), "sleep=30"], v1_uid=NOBODY)
    wait_until(lambda: len(d.journals()) == 1, 10, "the step's journal")
    is_equal("SIGTERM with a file that cannot be written: a clean end within 10 s", d.end(seconds=10), 0)
    is_true("SIGTERM with a file that cannot be written: its journal is kept, and that is said",
            len(d.journals()) == 1 and "some files are not finished" in d.said(), d.said()[-400:])
    p.kill()
    p.wait()


def one_line_says_why():
    """However many files wait for the same reason, and the reason is the right one."""
    d = RootedDaemon("ol", LogLevel="info")
    d.configure(ProfileHDF5Dir=os.path.join(d.dir, "not-mounted"))
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
    who = sh(["setpriv", "--reuid=%d" % NOBODY, "--clear-groups"] + [JOBPROFD, "--status", "-c", d.conf])
    is_true("--status: for root and administrators", who.returncode == 1 and
            who.stderr == "jobprofd: root and AdminGroup may ask for this\n" and not who.stdout, who)
    time.sleep(1.5)
    said = [l for l in d.said().splitlines() if "cannot write" in l]
    is_equal("three files in a directory that is not there: one line", len(said), 1)
    os.makedirs(d.settings["ProfileHDF5Dir"])
    wait_until(lambda: not d.journals(), 15, "the files to be written")
    ok("three files in a directory that is not there: written when it is")
    is_equal("they are written again: said", len(re.findall("is written again", d.said())), 3)
    p = status(d)
    is_true("--status: healthy", p.returncode == 0 and "problem" not in p.stdout and
            p.stdout.endswith("status: healthy\n"), p.stdout + p.stderr)
    d.end()
    p = status(d)
    is_true("--status: none runs", p.returncode == 1 and "no jobprofd listens at" in p.stderr, p.stderr)


HANGING = """#!/bin/sh
while [ -e %(dir)s/hang ]; do sleep 0.05; done
[ ! -e %(dir)s/fail ] || exit 1
exec %(writer)s "$@"
"""


class Writers:
    """What a daemon starts as its writer: it hangs, or fails, while a file of that name is there."""

    def __init__(self):
        self.dir = tmpdir("writer")
        os.chmod(self.dir, 0o755)
        self.path = os.path.join(self.dir, "writer")
        with open(self.path, "w") as f:
            f.write(HANGING % {"dir": self.dir, "writer": WRITER})
        os.chmod(self.path, 0o755)

    def now(self, *words):
        for word in ("hang", "fail"):
            path = os.path.join(self.dir, word)
            if word in words:
                open(path, "w").close()
            elif os.path.exists(path):
                os.unlink(path)


def since_of(d, words):
    """The instant that --status names for a problem, once it names the problem."""
    pattern = "^problem: since ([^ ]+ [^ ]+): .*" + words
    wait_until(lambda: re.search(pattern, status(d).stdout, re.M), 60, "--status to say '%s': %s" % (
        words, status(d).stdout))
    return re.search(pattern, status(d).stdout, re.M)[1]


def is_as_old_as_it_was(name, d, words):
    """Whenever it is asked: the clock has gone on by more than its grain."""
    first, end = since_of(d, words), time.time() + 2.1
    wait_until(lambda: since_of(d, words) != first or time.time() > end, 10, "two seconds")
    is_equal(name + ": since the same instant", since_of(d, words), first)
    return first


@in_full
def writers_that_hang():
    """A problem after 10 s, by itself, and none any more when they go on: running steps have new versions then."""
    writers = Writers()
    d = RootedDaemon("wh", PublishInterval="1", Writer=writers.path).start()
    for name, words, after in (("hangs", ["hang"], []), ("hangs, and fails", ["hang", "fail"], ["fail"])):
        writers.now(*words)
        job = new_job()
        p, _ = spinning(d, job)
        is_as_old_as_it_was("a writer that " + name, d,
                            "1 writer has not ended within 10 s, as that of %d_0_%s.h5: " % (job, d.name))
        is_equal("a writer that %s: the status" % name, status(d).returncode, 1)
        writers.now(*after)
        if after:
            since_of(d, "1 file cannot be written, as %d_0_" % job)
            writers.now()
        live = os.path.join(d.hdf5, "root", ".%d_0_%s.h5" % (job, d.name))
        wait_until(lambda: os.path.exists(live), 30, live)
        first = os.stat(live).st_ino
        wait_until(lambda: os.stat(live).st_ino != first, 30, "another version of " + live)
        wait_until(lambda: status(d).returncode == 0, 20, "a healthy daemon: " + status(d).stdout)
        ok("a writer that %s: new versions come when the next one does not" % name)
        end_of(p)
        d.file(job, 0)
    is_equal("writers that hang: a clean end", d.end(), 0)


def no_line_of_a_step():
    """At the default level the log has the version and the settings, and nothing of a step that goes well."""
    d = RootedDaemon("qu", LogLevel=None, AutoMerge="yes").start()
    job = new_job()
    cgroup = os.path.dirname(d.v2_step(job, 0))
    d.step(job, 0, [tool("jphold"), "spin=0.05"], extra=["-e", "SLURM_JOB_NODELIST=" + d.name, "-e",
                                                        "SLURM_STEP_NUM_NODES=1"]).wait()
    wait_until(lambda: not os.path.exists(d.v2_step(job, 0)), 10, "the step's cgroup to go")
    os.rmdir(cgroup)
    merged = os.path.join(d.hdf5, "root", "job_%d.h5" % job)
    wait_until(lambda: os.path.exists(merged) and not os.path.exists(d.path(job, 0)), 30, merged)
    wait_until(lambda: not not_helpers(d.proc.pid), 10, "the merge to end")
    is_equal("info: a clean end", d.end(), 0)
    said = d.said().splitlines()
    is_equal("info: nothing of the job", [l for l in said if str(job) in l], [])
    first = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d jobprofd: version [\d.]+, node %s; by %s and options: .*\bStateDir=%s " % (
        d.name, d.conf, d.state)
    is_equal("info: version and settings at the start, with the time", len([l for l in said if re.match(first, l + " ")]), 1)


def without_a_slot(name):
    """A daemon whose slots steps have taken, and these."""
    d = RootedDaemon(name, MaxSlots="16").start()
    taken = [d.v2_step(new_job(), 0) for _ in range(14)]
    for path in taken:
        os.makedirs(path)
    wait_until(lambda: len(d.used_slots()) == 14, 20, "steps that take all slots")
    return d, taken


def slots_that_are_wanting():
    """Since when is since when, however many steps come later."""
    d, taken = without_a_slot("sw")
    late = [d.v2_step(new_job(), 0) for _ in range(2)]
    os.makedirs(late[0])
    first = is_as_old_as_it_was("slots", d, "slots are taken")
    os.makedirs(late[1])
    wait_until(lambda: "2 steps are not profiled" in status(d).stdout, 20, "the status to know of both")
    is_equal("slots, and more steps: since the first", since_of(d, "slots are taken"), first)
    for path in late:
        os.rmdir(path)
        os.rmdir(os.path.dirname(path))
    wait_until(lambda: "slots are taken" not in status(d).stdout, 60, "the status to know that they have ended")
    is_equal("slots: those that had one are still there", len(d.used_slots()), 14)
    for path in taken:
        os.rmdir(path)
        os.rmdir(os.path.dirname(path))
    d.end()


def a_slot_that_comes_late():
    """What the step has used before, the file has in one number."""
    d, taken = without_a_slot("sl")
    job = new_job()
    p, cgroup = spinning(d, job)
    since_of(d, "slots are taken")
    for path in taken:
        os.rmdir(path)
        os.rmdir(os.path.dirname(path))
    d.wait_said("profiling %d_0_" % job, 60)
    time.sleep(0.5)
    end_of(p)
    path = d.file(job, 0)
    attrs, counted = attrs_of(path), whole(path, "Step", "CPUTime")
    is_true("a slot that comes late: some is counted, and some not", counted > 0.01 and attrs.get("Missed CPU Time", 0) > 0.01, (counted, attrs))
    is_near("a slot that comes late: what is counted, and what is missed by the file, are cpu.stat's",
            counted + attrs["Missed CPU Time"], cpu_stat_ns(cgroup) / 1e9, 0.002, 0.006)
    d.end()


def kernel_losses_are_said():
    """Tasks without storage, as the pinned map has them: their own words, in status, log and file."""
    d = RootedDaemon("kl", LogLevel="info").start()
    job = new_job()
    d.step(job, 0, [tool("jphold"), "spin=0.02"]).wait()
    before = attributes(d.file(job, 0))
    p = status(d)
    is_true("no loss: healthy", p.returncode == 0 and "Uncounted Tasks" not in before, p.stdout)
    for n, text in ((1, "1 task got no storage in the kernel and is not counted: .*; which program of the node "
                        "it was of is not known, and what it used is in no row"),
                    (3, "3 tasks got no storage in the kernel and are not counted: .*; which programs of the node "
                        "they were of is not known, and what they used is in no row")):
        maps = Maps(d.pin)
        raw = bytearray(maps.get("jp_control", 0))
        struct.pack_into("<Q", raw, 48 + 3 * 8, n)
        is_equal("the count is that of storage_fail, %d" % n,
                 (maps.put("jp_control", 0, bytes(raw)), d.stats()["storage_fail"])[1], n)
        job = new_job()
        d.step(job, 0, [tool("jphold"), "spin=0.02"]).wait()
        attrs = attributes(d.file(job, 0))
        is_equal("no storage, %d: the file has it, and not as unattributed" % n,
                 [int(attrs[a][0]) for a in ("Uncounted Tasks", "Unattributed")], [n, 0])
        p = status(d)
        is_true("no storage, %d: --status names it" % n, p.returncode == 1 and
                re.search("^problem: since 20.*: " + text, p.stdout, re.M), p.stdout)
    is_equal("no storage: logged once in a while", d.said().count("got no storage"), 1)
    d.end()


def runs_do_not_speak_for_others():
    """What an earlier run could not write is no later run's error."""
    state, out = tmpdir("state"), tmpdir("out")
    run = start(run_cmd("sleep", "30", out=out, state=state), stderr=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL)
    sockets = "/run/jobprof/run-%d.sock*" % run.pid
    wait_until(lambda: glob.glob(state + "/runs/*.journal"), 20, "its journal")
    wait_until(lambda: glob.glob(sockets), 20, "its sockets")
    for pid in children(run.pid) + [run.pid]:
        os.kill(pid, signal.SIGKILL)
    run.wait()
    shutil.rmtree(out)
    left = glob.glob(sockets)
    p = sh(run_cmd("true", out=tmpdir("other"), state=state))
    is_equal("a later run removes the sockets of a killed one",
             (len(left) > 0, glob.glob(sockets)), (True, []))
    is_equal("a later run says nothing of an earlier one's directory", (p.returncode, p.stderr),
             (0, ""))
    is_equal("the earlier one's journal stays", len(glob.glob(state + "/runs/*.journal")), 1)


def full_output():
    small, state, mark = tmpfs("256k"), tmpdir("state"), marker()
    filler = fill(small)
    p = sh(run_cmd("sh", "-c", "touch %s; exit 7" % mark, out=small, state=state))
    is_equal("output directory full: CMD's status", p.returncode, 7)
    is_true("output directory full: CMD runs", os.path.exists(mark), "it did not")
    is_true("output directory full: said", "No space left" in p.stderr and "the next jobprof run" in p.stderr,
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


def is_whole(name, d, job, cgroup):
    """The file has all that the job's cgroup used, from the first instruction to the last."""
    path = d.file(job, 0)
    tables, wanted = read_all(path), cpu_stat_ns(cgroup) / 1e9
    for table in ("Tasks/0", "Step"):
        got = tables[table]["CPUTime"].sum() if table in tables else -1
        is_true("%s: %s has what cpu.stat says" % (name, table), approx(got, wanted, 0.002, 0.006),
                "CPUTime %s, cpu.stat %s" % (got, wanted))
    return tables, attributes(path)


def full_state():
    d = RootedDaemon("fs", StateDir=tmpfs("512k"))
    d.start()
    state = d.settings["StateDir"]
    # Full before its first row: the journal cannot even be made.
    early, during, late, ending = (new_job() for _ in range(4))
    filler = fill(state)
    p, cgroup = spinning(d, early)
    d.wait_said("cannot begin journal .*%d_0_.*No space left.*make room" % early)
    q, cgroup_during = spinning(d, during)
    time.sleep(0.5)
    end_of(q)
    time.sleep(0.3)
    is_as_old_as_it_was("StateDir full", d, "2 journals cannot be written, as .*journal: make room in " + state)
    is_true("StateDir full: --status has what running steps left out",
            re.search("rows left out since the start: [1-9]", status(d).stdout), status(d).stdout)
    is_equal("StateDir full: no other problem is said", len(re.findall("^problem", status(d).stdout, re.M)), 1)
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
    is_equal("StateDir full at a step's end: no file yet", os.path.exists(d.path(ending, 0)), False)
    os.unlink(filler)
    before = time.time_ns()
    journal, = [j for j in d.journals() if "/%d_0_" % late in j]
    written = set()
    wait_until(lambda: written.add(os.stat(journal).st_mtime_ns) or len(written) > 5, 30, "the journal to be written several times")
    end_of(p)
    tables, attrs = is_whole("StateDir full for a while", d, late, cgroup)
    is_true("StateDir full: rows left out are counted", attrs["Lost"][0] > 0, "Lost %s" % attrs["Lost"])
    page = sh([JOBPROF, "report", d.path(late, 0)]).stdout
    is_true("StateDir full: the page says how many are missing", ", %d rows missing" % attrs["Lost"][0] in page and "none missing" not in page, page[:400])
    for name in ("Tasks/0", "Step"):
        n = int((tables[name]["TimeNS"] > numpy.uint64(before)).sum())
        is_true("StateDir full: %s goes on when there is room" % name, n >= 3, "%d rows" % n)
    is_true("StateDir full: said once", len(re.findall("%d_0_.*rows are left out," % late,
                                                       d.said())) == 1, "more often")
    attrs = is_whole("StateDir full at a step's end", d, ending, cgroup_ending)[1]
    is_true("StateDir full at a step's end: why it ended", "End Reason" in attrs, list(attrs))
    works(d, "StateDir was full: the next step works")
    d.end()
    subprocess.run(["umount", "-l", state])


def full_state_and_killed():
    """jobprofd is killed while it cannot complete the journals of steps that have ended, one of which has no record at all: the
    next one has all counts, and all tasks."""
    d = RootedDaemon("fk", StateDir=tmpfs("512k")).start()
    late, during = new_job(), new_job()
    p, cgroup = spinning(d, late)
    d.wait_said("profiling %d_0_" % late)
    filler = fill(d.state)
    d.wait_said("%d_0_.*rows are left out.*make room" % late)
    q, cgroup_during = spinning(d, during)
    d.wait_said("cannot begin journal .*%d_0_" % during)
    time.sleep(0.5)
    end_of(p)
    end_of(q)
    wait_until(lambda: all(state != 1 for _, state, _, _ in d.used_slots()), 20, "the steps to end")
    time.sleep(3)
    d.end(signal.SIGKILL)
    d.start()
    os.unlink(filler)
    for what, job, at in (("step's end", late, cgroup), ("step's life", during, cgroup_during)):
        name = "StateDir full at a %s, and a kill" % what
        is_equal(name + ": number of tasks", is_whole(name, d, job, at)[1]["Number of Tasks"][0], 1)
    is_equal("StateDir full, and a kill: a file for each step", len(d.files()), 2)
    d.end()
    subprocess.run(["umount", "-l", d.state])


def same_name():
    out, state = tmpdir("out"), tmpdir("state")
    env = plain_env(SLURM_JOB_ID="4711")
    said = [sh(run_cmd("true", out=out, state=state), env=env).stderr for _ in range(3)]
    is_true("a file of that name: one line says where the earlier one is", not said[0] and
            all(t.count("\n") == 1 and "earlier run is restart%d/4711_0_" % i in t
                for i, t in enumerate(said[1:])), said)
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
    d = RootedDaemon("ln")
    target = tmpdir("target")
    os.chmod(target, 0o700)
    secret = os.path.join(target, "secret")
    with open(secret, "w") as f:
        f.write("secret")
    os.symlink(target, os.path.join(d.hdf5, "nobody"))
    d.start()
    job = new_job()
    cmd = ["setpriv", "--reuid=%d" % NOBODY, tool("jphold"), "spin=0.05"]
    d.step(job, 0, cmd, v1_uid=NOBODY).wait()
    d.wait_said("cannot write %d_0_" % job)
    st = os.stat(target)
    is_true("link at the user's directory is not followed", (st.st_uid, stat.S_IMODE(st.st_mode)) ==
            (0, 0o700) and os.listdir(target) == ["secret"], "%s %s" % (st, os.listdir(target)))
    os.unlink(os.path.join(d.hdf5, "nobody"))
    d.file(job, 0, "nobody", 30)
    # Now the user owns his directory, and plants links where the writer will write.
    theirs, job = os.path.join(d.hdf5, "nobody"), new_job()
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
    d.end()
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


if __name__ == "__main__":
    need_bpf()
    run_five_at_a_time([full_output, writers_that_hang, unwritable_output, one_line_says_why, kernel_losses_are_said,
                        no_line_of_a_step, slots_that_are_wanting, a_slot_that_comes_late,
                        runs_do_not_speak_for_others, symlinks, full_state, full_state_and_killed, same_name])
