#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""AutoMerge: a job's files become one when it has ended, as its user, on its first node, and not
before all are there. And the users' directories, where root has no rights."""

import pwd
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from controllib import *
import socketlib as c
import h5make

USER = pwd.getpwnam("nobody")
OTHER = pwd.getpwnam("daemon")
SETTLED = 3  # seconds that names must stay the same
in_vain = {}  # jobs that many() leaves


def capabilities(*without):
    """Runs a command as root with what the unit leaves it."""
    with open(os.path.join(ROOT, "conf", "jobprofd.service.in")) as f:
        names = re.search(r"^CapabilityBoundingSet=(.*)$", f.read(), re.M).group(1).split()
    kept = ["+" + n[4:].lower() for n in names if n not in without]
    return ["setpriv", "--bounding-set", ",".join(["-all"] + kept)]


def squashed():
    """As on a file system where root is nobody: root may not give files away, nor write into others'
    directories."""
    d = Daemon(0.2, -10, wrap=capabilities("CAP_CHOWN", "CAP_DAC_OVERRIDE"), AutoMerge="yes")
    os.chmod(d.hdf5, 0o1777)
    return d


def with_socket(d):
    return d


# All of them see all jobs, and each has files of its own. They come before the other load: a task
# must be looked at while it is there.
main = with_socket(squashed())
off = with_socket(Daemon(0.2, -10, wrap=capabilities()))
again = with_socket(Daemon(0.2, -10, AutoMerge="yes"))


def own(d, user=USER):
    return os.path.join(d.hdf5, user.pw_name)


def job_file(d, job, user=USER, run=""):
    return os.path.join(own(d, user), "job_%d%s.h5" % (job, run))


def node_file(d, job, step=0, node=NODE, user=USER):
    return os.path.join(own(d, user), "%d_%s_%s.h5" % (job, step, node))


def run_step(job, step=0, nodes=NODE, nnodes=1, user=USER, **env):
    """A step of 0.5 s, from its start to its end."""
    env.update(SLURM_JOB_NODELIST=nodes, SLURM_STEP_NUM_NODES=nnodes)
    words = ["-u", user.pw_uid] + [w for k, v in env.items() for w in ("-e", "%s=%s" % (k, v))]
    base = tree.job(job) + "/step_%s" % step
    status = Stepd(job, step, ["sleep", "0.5"], v2_task(base, words)).end()
    if status:
        raise Failed("the step's status is %d" % status)


def end_job(job):
    os.rmdir(tree.job(job))


def there(path, seconds=20, condition=os.path.exists):
    """Waits for a file; the log of whose it is says why it does not come."""
    try:
        wait_until(lambda: condition(path), seconds, path)
    except Failed as e:
        d = next(d for d in (main, off, again) if path.startswith(d.hdf5))
        job = re.search(r"\d+", os.path.basename(path)).group(0)
        raise Failed("%s; jobprofd: %s" % (e, [l for l in d.said().splitlines() if job in l][-8:]))


def contents(path):
    with h5py.File(path, "r") as f:
        return {s: sorted(f["Steps"][s]["Nodes"]) for s in f["Steps"]}


def as_other_node(path, to, node):
    """A copy of a node-step file as another node would have it."""
    shutil.copy(path, path + ".copy")
    with h5py.File(path + ".copy", "r+") as f:
        f.move(NODE, node)
        h5make.attribute(f[node], "Node Name", node) if "Node Name" not in f[node].attrs else \
            f[node].attrs.modify("Node Name", numpy.array([node.encode()]))
    os.chown(path + ".copy", USER.pw_uid, USER.pw_gid)
    os.rename(path + ".copy", to)


def merged():
    """Not while the job is there; then as the user. A step after that is added."""
    job = new_job()
    run_step(job)
    there(node_file(main, job))
    time.sleep(SETTLED + 2)
    is_equal("the job is there: not merged", os.path.exists(job_file(main, job)), False)
    end_job(job)
    there(job_file(main, job))
    st, top = os.stat(job_file(main, job)), os.stat(own(main))
    is_equal("merged: owner, mode", [st.st_uid, st.st_gid, oct(st.st_mode)],
             [USER.pw_uid, USER.pw_gid, "0o100644"])
    is_equal("merged: the user's directory", [top.st_uid, oct(top.st_mode)],
             [USER.pw_uid, "0o40700"])
    is_equal("merged: what", contents(job_file(main, job)), {"0": [NODE]})
    wait_until(lambda: "merged " + job_file(main, job) in main.said(), 10, "the log")
    is_equal("merged: the files of the node are gone", os.path.exists(node_file(main, job)), False)
    wait_until(lambda: not os.path.exists(record(main, job)), 5, "the record to go")
    is_equal("AutoMerge=no: nothing is merged, nothing written down",
             [os.path.exists(node_file(off, job)), os.path.exists(job_file(off, job)),
              os.path.exists(os.path.join(off.settings["StateDir"], "merges"))],
             [True, False, False])
    run_step(job, 1)
    end_job(job)
    there(job_file(main, job), condition=lambda path: len(contents(path)) == 2)
    is_equal("merged: a later step is added", contents(job_file(main, job)),
             {"0": [NODE], "1": [NODE]})


def record(d, job):
    return os.path.join(d.settings["StateDir"], "merges", str(job))


def told():
    """The nodes come from the plugin, whatever the environment says."""
    job = new_job()
    s = Step(main, job)
    s.stepd.call(c.step(job_id=job, step_id=0, uid=0, gid=0, nnodes=1, node_name="x%d" % PID,
                        job_node_list="x[%d-%d]" % (PID, PID + 1)))
    s.run(["sleep", "0.3"])
    s.end()
    end_job(job)
    path = os.path.join(main.hdf5, "root", "job_%d.h5" % job)
    there(path)
    is_equal("told by the plugin: merged", contents(path), {"0": ["x%d" % PID]})


def elsewhere():
    """Another node is the job's first."""
    job = new_job()
    run_step(job, nodes="a[1-3],%s" % NODE)
    end_job(job)
    there(node_file(main, job))
    time.sleep(SETTLED + 3)
    is_equal("another node is the first: not merged here",
             [os.path.exists(node_file(main, job)), os.path.exists(job_file(main, job)),
              os.path.exists(record(main, job))], [True, False, False])


def waits():
    """For the other node's file, and for a step that runs there."""
    job = new_job()
    run_step(job, nodes=NODE + ",zz1", nnodes=2)
    there(node_file(main, job))
    with open(os.path.join(own(main), ".%d_1_zz1.h5" % job), "w"):
        pass
    end_job(job)
    time.sleep(SETTLED + 2)
    is_equal("one node of two: not merged", os.path.exists(job_file(main, job)), False)
    as_other_node(node_file(main, job), node_file(main, job, 0, "zz1"), "zz1")
    time.sleep(SETTLED + 2)
    is_equal("a step runs elsewhere: not merged", os.path.exists(job_file(main, job)), False)
    shutil.copy(node_file(main, job, 0, "zz1"), node_file(main, job, 1, "zz1"))
    with h5py.File(node_file(main, job, 1, "zz1"), "r+") as f:
        f["zz1"].attrs.modify("Nodes in Step", numpy.array([1], dtype="<i4"))
    os.chown(node_file(main, job, 1, "zz1"), USER.pw_uid, USER.pw_gid)
    os.unlink(os.path.join(own(main), ".%d_1_zz1.h5" % job))
    there(job_file(main, job))
    is_equal("all is in place: merged", contents(job_file(main, job)),
             {"0": [NODE, "zz1"], "1": ["zz1"]})


def requeued():
    """The second run has the job file; the first one's is kept."""
    job = new_job()
    run_step(job)
    end_job(job)
    there(job_file(main, job))
    wait_until(lambda: not os.path.exists(record(main, job)), 10, "the merge to end")
    first = attrs_of_node(job_file(main, job))
    run_step(job, SLURM_RESTART_COUNT=1)
    end_job(job)
    there(job_file(main, job, run=".restart0"))
    there(job_file(main, job))
    second = attrs_of_node(job_file(main, job))
    is_equal("requeued: a job file per run",
             [attrs_of_node(job_file(main, job, run=".restart0")) == first, first == second,
              second.get("Restart Count")], [True, False, 1])


def of_an_earlier_job():
    """An id that came again: the older job's file stays as it is, and the log says so."""
    job = new_job()
    run_step(job)
    end_job(job)
    there(job_file(main, job))
    wait_until(lambda: not os.path.exists(record(main, job)), 10, "the merge to end")
    with h5py.File(job_file(main, job), "r+") as f:
        a = f["Steps/0/Nodes/" + NODE].attrs
        a.modify("Start TimeNS", a["Start TimeNS"] - 365 * 86400 * 10**9)
    with open(job_file(main, job), "rb") as f:
        was = f.read()
    run_step(job, 1)
    end_job(job)
    wait_until(lambda: "job %d is not merged" % job in main.said(), 30, "the log")
    with open(job_file(main, job), "rb") as f:
        is_equal("an earlier job's file: untouched, said", (
            f.read() == was, "job %d: the files in" % job in main.said(),
            os.path.exists(node_file(main, job, 1))), (True, True, True))


def attrs_of_node(path):
    with h5py.File(path, "r") as f:
        a = f["Steps/0/Nodes/" + NODE].attrs
        return {k: int(a[k][0]) for k in ("Start TimeNS", "Restart Count") if k in a}


def restarted():
    """jobprofd is away when the job ends, and it is killed while it waits to merge."""
    job, late = new_job(), new_job()
    run_step(job)
    run_step(late, nodes=NODE + ",zz1", nnodes=2)
    there(node_file(again, job))
    there(node_file(again, late))
    end_job(late)
    wait_until(lambda: "job %d has ended" % late in again.said(), 10, "the merge that waits")
    again.end(signal.SIGKILL)
    end_job(job)
    again.start()
    there(job_file(again, job))
    is_equal("restarted between step and job end: merged", contents(job_file(again, job)),
             {"0": [NODE]})
    is_equal("restarted while it waited: not merged yet", os.path.exists(job_file(again, late)),
             False)
    as_other_node(node_file(again, late), node_file(again, late, 0, "zz1"), "zz1")
    there(job_file(again, late))
    is_equal("restarted while it waited: merged", contents(job_file(again, late)),
             {"0": [NODE, "zz1"]})


def stored_report():
    """AutoReport: the job file has the report, too, and is its user's."""
    d = Daemon(0.2, -10, AutoMerge="yes", AutoReport="yes")
    d.start()
    job = new_job()
    run_step(job)
    end_job(job)
    path = job_file(d, job)
    wait_until(lambda: "analysis" in contents_of_root(path), 30, "the report in " + path)
    with h5py.File(path) as f:
        text = f["analysis/report"][0]
    is_true("AutoReport: the report is in the file", b'"findings"' in bytes(text), text[:80])
    is_equal("AutoReport: the file is its user's", os.stat(path).st_uid, USER.pw_uid)
    d.end()


def contents_of_root(path):
    try:
        with h5py.File(path) as f:
            return list(f)
    except OSError:
        return []


def wait_option():
    """jobprof merge --wait, when it is in vain and when it need not be."""
    top = tmpdir("wait")
    mine = os.path.join(top, pwd.getpwuid(os.geteuid()).pw_name)
    os.mkdir(mine)
    rows = h5make.rows_of([1, 2], h5make.COLUMNS["Energy"], [[1, 2]])

    def add(name, node, nodes):
        # At once: a process that another thread forks meanwhile has the file's lock until it calls exec.
        h5make.node_file(os.path.join(mine, name), node, {"Energy": rows}, attributes=[("Nodes in Step", nodes)])

    def merge(*args):
        p = subprocess.run([JOBPROF, "merge", "-p", top] + list(args), capture_output=True,
                           text=True, cwd=top, timeout=60)
        return p.returncode, p.stderr

    def refused(name, words, *args):
        before = sorted(os.listdir(mine))
        status, err = merge(*args)
        is_true(name, status == 1 and all(w in err for w in words) and err.count("\n") == 1 and
                sorted(os.listdir(mine)) == before and not glob.glob(top + "/*.h5"),
                "%d: %s" % (status, err))

    refused("--wait: no file at all", ["job 7", "no files"], "-j", "7", "--wait", "0")
    add("7_0_n1.h5", "n1", 2)
    refused("--wait: a node is missing", ["step 0 of job 7 has files of 1 of its 2 nodes"], "-j",
            "7", "--wait", "1")
    add("7_0_n2.h5", "n2", 2)
    with open(os.path.join(mine, ".7_batch_n2.h5"), "w"):
        pass
    refused("--wait: a step runs", ["step batch of job 7 still runs on n2"], "-j", "7", "--wait",
            "0")
    is_equal("--wait: another step does not matter", merge("-j", "7.0", "--wait", "0")[0], 0)
    is_equal("--wait: merged", contents(top + "/job_7.h5"), {"0": ["n1", "n2"]})
    os.unlink(os.path.join(mine, ".7_batch_n2.h5"))
    status, err = merge("-j", "7", "--wait", "60")
    is_equal("--wait: merged already", [status, "merged already" in err], [0, True])
    is_equal("--wait: wrong usage", [merge("-j", j, "--wait", w)[0] for j, w in
                                     (("7", "x"), ("7", "-1"), ("7_1", "1"), ("7+1", "1"))],
             [2, 2, 2, 2])


def processes(d):
    """Merges of a jobprofd: what /proc says of them."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(path + "/cmdline", "rb") as f:
                cmd = f.read()
            if not cmd.startswith(b"jobprof\0merge\0") or d.hdf5.encode() not in cmd:
                continue
            with open(path + "/status") as f:
                words = dict(l.rstrip("\n").split(":\t", 1) for l in f if ":\t" in l)
            with open(path + "/oom_score_adj") as f:
                words["oom"] = f.read().strip()
            words["nice"] = os.getpriority(os.PRIO_PROCESS, int(path[6:]))
            words["fds"] = sorted(os.listdir(path + "/fd"), key=int)
            found.append(words)
        except OSError:
            pass
    return found


def many():
    """One user's merges that wait in vain leave room for others'; what they may do."""
    global in_vain
    root = pwd.getpwuid(0)
    jobs = in_vain = {new_job(): u for u in [OTHER] * 18 + [root]}
    together([lambda j=j: run_step(j, nodes=NODE + ",zz1", nnodes=2, user=jobs[j]) for j in jobs])
    for j in jobs:
        there(node_file(main, j, user=jobs[j]))
        end_job(j)

    def of(user):
        return [p for p in processes(main) if p["Uid"].split()[0] == str(user.pw_uid)]

    wait_until(lambda: len(of(OTHER)) >= 16 and of(root), 10, "16 merges and root's")
    time.sleep(2.5)
    is_equal("root's own merge has no capability",
             {(p["CapEff"], p["CapPrm"], p["NoNewPrivs"]) for p in of(root)},
             {("0" * 16, "0" * 16, "1")})
    ps = of(OTHER)
    is_equal("of one user: so many at a time", len(ps), 16)
    is_equal("a merge: ids, capabilities, no new ones, priority, what it has open",
             sorted({(p["Uid"], p["Gid"], p["CapEff"], p["CapPrm"], p["NoNewPrivs"], p["oom"],
                      p["nice"], len(p["fds"]) <= 5) for p in ps}),
             [("\t".join([str(OTHER.pw_uid)] * 4), "\t".join([str(OTHER.pw_gid)] * 4), "0" * 16,
               "0" * 16, "1", "1000", 19, True)])


def ended_by_others():
    """The kernel ends merges first where memory is short: one begins again, and a third time."""
    job, ended = new_job(), []
    run_step(job, nodes=NODE + ",zz1", nnodes=2)
    end_job(job)

    def another():
        for path in glob.glob("/proc/%d/task/*/children" % main.proc.pid):
            for pid in slurp(path).split():
                try:
                    if pid not in ended and "\0-j\0%d\0" % job in slurp("/proc/%s/cmdline" % pid):
                        return pid
                except OSError:
                    pass  # it has gone
        return None

    for _ in range(3):
        ended.append(wait_until(another, 20, "the merge of job %d" % job))
        os.kill(int(ended[-1]), signal.SIGKILL)
    wait_until(lambda: "job %d is not merged, or not all of it (signal 9)" % job in main.said(), 20, "the log")
    is_equal("a merge that is ended three times: no record", os.path.exists(record(main, job)), False)


def a_crowd():
    """One user's jobs that wait to be merged leave room for others' to wait."""
    d = Daemon(0.2, -10, AutoMerge="yes")
    os.makedirs(os.path.dirname(record(d, 0)), 0o700)
    for i in range(4096):
        with open(record(d, 900000000 + i), "wb") as f:
            f.write(b"".join(w.encode() + b"\0" for w in (
                "merge 1", "54000", "54000", "54000", d.hdf5, tree.v2)))
    d.start()
    job = new_job()
    run_step(job)
    end_job(job)
    path = job_file(d, job)
    wait_until(lambda: os.path.exists(path), 20, "%s; jobprofd: %s" % (path, d.said()[-300:]))
    is_equal("a crowd of another user's jobs waits: merged", contents(path), {"0": [NODE]})
    is_equal("and jobprofd ends", d.end(), 0)


def jobs_that_end_together(n, bad=0):
    """n jobs of five users that are due at once on one node, and `bad` of which a file is damaged: so many merges at a time, all are done, and
    what could not be merged is there and named."""
    d = Daemon(0.2, -10, AutoMerge="yes", AutoReport="yes")
    users = [pwd.getpwnam(u) for u in ("nobody", "daemon", "bin", "games", "mail")]
    os.makedirs(os.path.dirname(record(d, 0)), 0o700)
    for u in users:
        os.makedirs(own(d, u), 0o700)
        os.chown(own(d, u), u.pw_uid, u.pw_gid)
    first, jobs = tmpdir("together") + "/one.h5", {800000000 + i: users[i % len(users)] for i in range(n)}
    h5make.node_file(first, NODE, {"Energy": h5make.rows_of([1, 2], h5make.COLUMNS["Energy"], [[1, 2]])}, attributes=[("Nodes in Step", 1)])
    for job, u in jobs.items():
        shutil.copy(first, node_file(d, job, user=u))
        if job < 800000000 + bad:
            os.truncate(node_file(d, job, user=u), 1000)
        os.chown(node_file(d, job, user=u), u.pw_uid, u.pw_gid)
        with open(record(d, job), "wb") as f:
            f.write(b"".join(w.encode() + b"\0" for w in ("merge 1", str(u.pw_uid), str(u.pw_gid), u.pw_name, d.hdf5, tree.v2 + "/gone")))
    began, most, of_one = time.monotonic(), 0, 0
    d.start()
    while os.listdir(os.path.dirname(record(d, 0))) and time.monotonic() - began < 30 + n:
        uids = [p["Uid"].split()[0] for p in processes(d) if int(p["PPid"]) == d.proc.pid]
        most, of_one = max(most, len(uids)), max([of_one, *map(uids.count, uids)])
        time.sleep(0.1)
    name = "%d jobs end together" % n
    is_true("%s: at most 64 merges at a time, 16 of one user (%.0f s)" % (name, time.monotonic() - began), 0 < most <= 64 and of_one <= 16, (most, of_one))
    good = [j for j in jobs if j >= 800000000 + bad]
    is_equal(name + ": all are merged", [j for j in good if not os.path.exists(job_file(d, j, jobs[j])) or os.path.exists(node_file(d, j, user=jobs[j]))], [])
    is_equal(name + ": what is damaged stays, and is named", [j for j in jobs if j not in good and (
        not os.path.exists(node_file(d, j, user=jobs[j])) or "job %d is not merged" % j not in d.said())], [])
    is_equal(name + ": nothing is left of it", os.listdir(os.path.dirname(record(d, 0))), [])
    is_equal(name + ": jobprofd ends", d.end(), 0)


def some_jobs_end_together():
    jobs_that_end_together(100, 4)


@in_full
def a_thousand_jobs_end_together():
    jobs_that_end_together(1000, 20)


def end():
    """Merges end with their jobprofd; what they were for is kept."""
    is_equal("jobprofd ends", main.end(), 0)
    wait_until(lambda: not processes(main), 10, "the merges to end")
    is_equal("what was to be merged is kept",
             [len(in_vain), [j for j in in_vain if not os.path.exists(record(main, j))]], [19, []])


def directories():
    """A place that somebody has taken is not used, and said once; when it is free, the file comes."""
    taken, linked = pwd.getpwnam("bin"), pwd.getpwnam("games")
    os.mkdir(own(main, taken), 0o777)
    os.chmod(own(main, taken), 0o777)
    os.chown(own(main, taken), OTHER.pw_uid, OTHER.pw_gid)
    bait = tmpdir("bait")
    os.chmod(bait, 0o777)
    os.symlink(bait, own(main, linked))
    jobs = {u: new_job() for u in (taken, linked)}
    together([lambda u=u: run_step(jobs[u], user=u, nodes="a1") for u in jobs])
    said = {taken: "%s belongs to uid %d" % (own(main, taken), OTHER.pw_uid),
            linked: "%s is a symbolic link" % own(main, linked)}
    for u in jobs:
        wait_until(lambda: said[u] in main.said(), 10, "the log to say " + said[u])
    time.sleep(2)
    is_equal("somebody else's directory, a link: nothing in it, said once",
             [os.listdir(own(main, taken)), os.listdir(bait)] +
             [sum(said[u] in l for l in main.said().splitlines()) for u in jobs],
             [[], [], 1, 1])
    os.rmdir(own(main, taken))
    os.unlink(own(main, linked))
    for u in jobs:
        there(node_file(main, jobs[u], user=u))
    is_equal("the place is free: the user's directory",
             [[os.stat(own(main, u)).st_uid, oct(os.stat(own(main, u)).st_mode)] for u in jobs],
             [[u.pw_uid, "0o40700"] for u in jobs])
    st = os.stat(own(off, taken))
    is_equal("only root may make directories: the user's directory",
             [os.stat(off.hdf5).st_mode & 0o777, st.st_uid, st.st_gid, oct(st.st_mode)],
             [0o755, taken.pw_uid, taken.pw_gid, "0o40700"])
    for u in jobs:
        end_job(jobs[u])


if __name__ == "__main__":
    for d in (main, off, again):
        d.start()
    run_together([merged, told, elsewhere, waits, requeued, of_an_earlier_job, restarted, wait_option, directories, many, ended_by_others])
    run_tests([end, a_crowd, stored_report, some_jobs_end_together, a_thousand_jobs_end_together])
