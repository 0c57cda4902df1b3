#!/usr/bin/python3
# releases: all
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the files of real jobs are: names, owners, ids, attributes, and what sh5util makes of them.
With cgroup v1 and v2, all jobs at the same time."""

import json
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *

PLAIN = ("Left Cgroup After", "Array Job Id", "Array Task Id", "Het Job Id", "Het Job Offset", "Restart Count")


def serial(name, c, d):
    s = c.srun(["-w", c.nodes[0], "-J", "one job", "-A", "acct", "-c2", "--mem=150"], UNTIL)
    job, node = s.id, c.nodes[0]
    live = os.path.join(d.hdf5, "root", "." + name_of(job, 0, node))
    wait_until(lambda: os.path.exists(live) and picked(live, "Job Name")[0], 20,
               "the live file to have what the task's environment says")
    begin = time.time_ns()
    let_go(s)
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(job, 0, node)
    ended = time.time_ns()  # slurmstepd outlives srun, and the step's cgroup with it
    has_files(name, d, job, [name_of(job, 0, node)])
    is_equal(name + ": owner and mode", owned(path), [0, 0, 0o644, 0, 0, 0o700])
    is_equal(name + ": group and table", [group_of(path), tasks_of(path)], [[node], [0]])
    is_equal(name + ": ids", picked(path, "Job Id", "Step", "Node Name", "Node Index", "User",
                                    "UID", "Number of Tasks", "Nodes in Step", "Step Node List"),
             [job, "0", node, 0, "root", 0, 1, 1, node])
    is_equal(name + ": labels", picked(path, "Job Name", "Account", "Partition", "Cluster",
                                       "CPUs per Task"),
             ["one job", "acct", "main", "testbed", 2])
    is_equal(name + ": end", picked(path, "Exit Status", "End Reason", "Lost", "Unattributed"),
             [0, "exited", 0, 0])
    is_equal(name + ": what it is not is absent", picked(path, *PLAIN), [None] * len(PLAIN))
    rows = task_table(path)
    is_true(name + ": rows over the step", len(rows) >= 4 and
            begin < rows["TimeNS"][-1] < ended, (rows["TimeNS"], begin, ended))
    merges(name, c, d, job, {"0": {node: ["0"]}})


def two_nodes(name, c, d):
    s = c.srun(["-N2", "-n4", "--ntasks-per-node=2"], ["sh", "-c", "sleep 0.6; exit $SLURM_PROCID"])
    is_equal(name + ": srun's status", s.end(), 3)
    a, b = c.nodes
    has_files(name, d, s.id, [name_of(s.id, 0, a), name_of(s.id, 0, b)])
    for node, index, tasks in ((a, 0, [0, 1]), (b, 1, [2, 3])):
        path = d.path_of(s.id, 0, node)
        is_equal("%s, %d: group and tables" % (name, index), [group_of(path), tasks_of(path)],
                 [[node], tasks])
        is_equal("%s, %d: attributes" % (name, index),
                 picked(path, "Node Name", "Node Index", "Number of Tasks", "Nodes in Step",
                        "Step Node List", "Exit Status"),
                 [node, index, 2, 2, "%s[1-2]" % c.prefix, tasks[-1]])
    merges(name, c, d, s.id, {"0": {a: ["0", "1"], b: ["2", "3"]}})


def by_sluid(name, c, d):
    """26.05 gives each run of a job a SLUID, which names its cgroups in v2."""
    s = c.srun(["-w", c.nodes[0]], ["sleep", "0.6"])
    is_equal(name + ": srun's status", s.end(), 0)
    sluid = picked(d.get(s.id, 0, c.nodes[0]), "SLUID")[0]
    if RELEASE < (26, 5) or c.mode == "v1":
        is_equal(name + ": there is none", sluid, None)
        return
    is_equal(name + ": squeue knows the same", c.command("squeue", "-h", "-t", "all", "-j", sluid,
                                                         "-o", "%A"), str(s.id))
    work, empty = tmpdir("sluid"), tmpdir("empty")
    os.mkdir(os.path.join(empty, "root"))
    # Where no file says it, as of Slurm's own plugin, squeue is asked.
    for args, status, text in ((["-S", "-p", d.hdf5], 0, "1 node-step file merged"),
                               (["-E", "-s", "Tasks"], 0, "extract_%d.csv" % s.id),
                               (["-p", empty], 1, "No node-step files found for jobid %d" % s.id)):
        p = subprocess.run([OURS, "-j", sluid.lower()] + args, cwd=work, env=c.env,
                           capture_output=True, text=True, timeout=60)
        is_true("%s: sh5util -j SLUID %s" % (name, args[0]),
                p.returncode == status and text in p.stderr, (p.returncode, p.stderr))
    is_equal(name + ": its files", sorted(os.listdir(work)), ["extract_%d.csv" % s.id,
                                                              "job_%d.h5" % s.id])


def several_steps(name, c, d):
    """Batch plus steps of other shapes, one after the other and at once; it is all another's."""
    script = """srun -w FIRST -n1 sleep 0.6
srun -N2 -n3 -c1 sleep 0.6
srun --overlap --mem=20 -w FIRST -N1 -n1 sh -c 'sleep 0.6; exit 3' &
srun --overlap --mem=20 -w FIRST -N1 -n2 sh -c 'sleep 0.6; kill -9 $$'
wait
i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done
exit 5
"""
    j = c.sbatch(script.replace("FIRST", c.nodes[0]), ["-N2", "-n4", "--ntasks-per-node=2"],
                 user=USER.pw_name)
    is_equal(name + ": state", j.end(), "FAILED")
    a, b = c.nodes
    has_files(name, d, j.id, [name_of(j.id, s, n) for s, n in (
        ("batch", a), (0, a), (1, a), (1, b), (2, a), (3, a))], USER.pw_name)
    path = d.path_of(j.id, "batch", a, USER.pw_name)
    his = [USER.pw_uid, USER.pw_gid]
    is_equal(name + ": owner and mode", owned(path), his + [0o644] + his + [0o700])
    is_equal(name + ": batch", picked(path, "Step", "User", "UID", "Exit Status", "Job Name",
                                      "Number of Tasks"),
             ["batch", USER.pw_name, USER.pw_uid, 5, "script", 1])
    is_true(name + ": the script's CPU time is the batch step's",
            whole(path, "Tasks/0", "CPUTime") > 0.005, whole(path, "Tasks/0", "CPUTime"))
    got = {s: picked(d.path_of(j.id, s, a, USER.pw_name), "Exit Status", "Nodes in Step")
           for s in (0, 1, 2, 3)}
    # two at once: either may be the first
    is_equal(name + ": ends of the steps", [got[0], got[1], sorted((got[2], got[3]))],
             [[0, 1], [0, 2], [[3, 1], [137, 1]]])
    n = len(tasks_of(d.path_of(j.id, 2, a, USER.pw_name)))
    merges(name, c, d, j.id, {
        "batch": {a: ["0"]}, "0": {a: ["0"]},
        "1": {a: ["0", "1"], b: ["2"]}, "2": {a: ["0", "1"][:n]}, "3": {a: ["0", "1"][:3 - n]}},
        USER.pw_name)


def array(name, c, d):
    j = c.sbatch("sleep 0.5\n", ["--array=3,7", "-w", c.nodes[0]])
    first = j.id
    wait_until(lambda: set(c.command("squeue", "-h", "-t", "all", "-j", first, "-o", "%T")
                           .split()) == {"COMPLETED"}, 40, "the array to end")
    out = c.command("squeue", "-h", "-t", "all", "-r", "-j", first, "-o", "%A %K").split("\n")
    tasks = {int(t): int(job) for job, t in (l.split() for l in out)}
    is_equal(name + ": tasks", sorted(tasks), [3, 7])
    for t, job in tasks.items():
        path = d.get(job, "batch", c.nodes[0])
        is_equal("%s, %d: ids" % (name, t), picked(path, "Job Id", "Array Job Id",
                                                   "Array Task Id", "Array Task Count", "Het Job Id"),
                 [job, first, t, 2, None])


def het_job(name, c, d):
    s = c.srun(["-n1", "sleep", "0.7", ":", "-n2"], ["sleep", "0.7"])
    is_equal(name + ": srun's status", s.end(), 0)
    first = min(int(os.path.basename(p).split(".")[1]) for p in glob.glob(s.dir + "/out.*"))
    for offset, tasks in ((0, ["0"]), (1, ["1", "2"])):
        job = first + offset
        wait_until(lambda: d.of_job(job) and not any("/." in p or p.startswith(".")
                                                     for p in d.of_job(job)), 20, "the files")
        path = os.path.join(d.hdf5, "root", d.of_job(job)[0])
        is_equal("%s, %d: tables" % (name, offset), [str(t) for t in tasks_of(path)], tasks)
        is_equal("%s, %d: ids" % (name, offset), picked(path, "Job Id", "Het Job Id",
                                                        "Het Job Offset"), [job, first, offset])


def het_batch(name, c, d):
    """A step over both components."""
    j = c.sbatch("#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\n"
                 "srun --het-group=0,1 sleep 0.7\nexit 6\n")
    first = j.id
    wait_until(lambda: c.state("%d+0" % first).startswith("FAILED"), 40, "the job to end")
    found = {}
    for job, step in ((first, "batch"), (first, 0), (first + 1, 0)):
        files = wait_until(lambda: glob.glob(d.path_of(job, step, "*")), 20, "the files")
        found[job, step] = picked(files[0], "Het Job Id", "Het Job Offset", "Exit Status",
                                  "Number of Tasks") + [tasks_of(files[0])]
    is_equal(name + ": ids, ends, tasks", found, {(first, "batch"): [first, 0, 6, 1, [0]],
                                                  (first, 0): [first, 0, 0, 1, [0]],
                                                  (first + 1, 0): [first, 1, 0, 2, [1, 2]]})


def another_user(name, c, d):
    node = c.nodes[1]
    s = c.srun(["-w", node], ["sh", "-c", "sleep 0.5; id -u"], user=USER.pw_name)
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, node, USER.pw_name)
    his = [USER.pw_uid, USER.pw_gid]
    is_equal(name + ": owner and mode", owned(path), his + [0o644] + his + [0o700])
    is_equal(name + ": who", [s.out().strip()] + picked(path, "User", "UID"),
             [str(USER.pw_uid), USER.pw_name, USER.pw_uid])
    p = subprocess.run(as_user("bin") + ["cat", path], capture_output=True)
    is_true(name + ": nobody else reads it", p.returncode, "it could be read")
    merges(name, c, d, s.id, {"0": {node: ["0"]}}, USER.pw_name)
    merged = os.path.join(s.dir, "job.h5")
    out_of(as_user(USER.pw_name) + [public_copy(JOBPROF), "merge", "-j", s.id, "-p", d.hdf5,
                                "-o", merged], env=c.env, cwd=s.dir)
    is_equal(name + ": merges it himself", [os.stat(merged).st_uid, steps_in(merged),
                                            d.of_job(s.id, USER.pw_name)],
             [USER.pw_uid, {"0": {node: ["0"]}}, []])


def run_inside(name, c, d):
    """jobprof run of a user, as the first thing that a task does."""
    line = "exec %s run -q --json page.$SLURM_PROCID -- %s -o own.$SLURM_PROCID 0.3" % (
        public_copy(JOBPROF), public_copy(tool("jpspin")))
    s = c.srun(["-n2", "-w", c.nodes[0]], ["sh", "-c", line], user=USER.pw_name,
               env={"JOBPROF_SOCKET": d.settings["Socket"]})
    is_equal(name + ": srun's status", s.end(), 0)
    for task in "01":
        with open(os.path.join(s.dir, "page." + task)) as f:
            text = f.read()
        is_true("%s, task %s: there is a page" % (name, task), text.startswith("{"), text)
        page = json.loads(text)
        is_equal("%s, task %s: its step" % (name, task), page["step"], "%d.0" % s.id)
        used = page["series"]["Tasks/" + task]["cpu_s"]
        is_near("%s, task %s: CPU time is schedstat's" % (name, task), used,
                *own_cpu(read_account(os.path.join(s.dir, "own." + task)), 0.01, 0.02))
        # the other task may have had no CPU meanwhile
        is_true("%s, task %s: the step's is no less" % (name, task),
                page["series"]["Step"]["cpu_s"] >= used - 1e-3, page["series"])


def interactive(name, c, d):
    """salloc without a command: Slurm runs the shell as a step."""
    job = c.salloc(["-n1", "-w", c.nodes[0]], "sleep 0.6; exit 4")
    path = d.get(job, INTERACTIVE, c.nodes[0])
    has_files(name, d, job, [name_of(job, INTERACTIVE, c.nodes[0])])
    is_equal(name + ": ids", picked(path, "Job Id", "Step", "Exit Status"),
             [job, "interactive", 4])
    merges(name, c, d, job, {"-6": {c.nodes[0]: ["0"]}})


def main():
    clusters = start_clusters(conf=["LaunchParameters=use_interactive_step"])
    if not clusters:
        return
    d = Profiler().start()
    in_modes((serial, two_nodes, by_sluid, several_steps, array, het_job, het_batch, another_user,
              interactive, run_inside), clusters, d)
    is_equal("jobs: jobprofd's exit status", d.end(), 0)


need_bpf()
main()
