#!/usr/bin/python3
# timeout: 180
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof report on jobs of a real Slurm, from their node-step files and from the job file: what was
asked for, how the job ended, and which task did the work, as the tools' own accounts say it."""

import json
import shutil
import sys
import threading

sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *


def report(*args):
    p = subprocess.run([JOBPROF, "report", "--json"] + list(args), capture_output=True, text=True)
    if p.returncode:
        raise Failed("report: status %d, %s" % (p.returncode, p.stderr))
    return json.loads(p.stdout)


def one_works(name, c, d):
    """Of two tasks one computes and one sleeps."""
    node, account = c.nodes[0], tmpdir("account") + "/a"
    j = c.sbatch("srun -n2 sh -c 'if [ $SLURM_PROCID = 1 ]; then exec %s -o %s 1; else sleep 1.2; fi'\n"
                 % (tool("jpspin"), account),
                 ["-w", node, "-n2", "-t", "7", "--mem=60"])
    is_equal(name + ": it ends", j.end(), "COMPLETED")
    for step in (0, "batch", EXTERN):
        d.get(j.id, step, node)
    r = report("-j", str(j.id), "-p", d.hdf5)
    f, a = r["facts"], read_account(account)
    is_equal(name + ": what it asked for and its end",
             [f["limit_s"], f["request_mb"], f["is_exclusive"], f["is_completed"], r["job"]["state"]],
             [420, 60, 0, 1, "COMPLETED"])
    is_equal(name + ": the steps", sorted(s["name"] for s in r["job"]["steps"]), ["0", "batch", "extern"])
    is_equal(name + ": the main step", [s["name"] for s in r["job"]["steps"] if s["main"]], ["0"])
    is_near(name + ": the task that works", r["units"]["tasks"]["cpu_s"][1], *own_cpu(a, 0.002, 0.004))
    # It is looked at now and then: of so short a task the shell may be all that was seen.
    is_true(name + ": its program", r["job"]["program"] in ("jpspin", "dash", None), r["job"])
    is_true(name + ": the other task", r["units"]["tasks"]["cpu_s"][0] < 0.1, r["units"]["tasks"])
    unused = [x["id"] for x in r["findings"] if x["id"] in ("cpu.unused", "mpi.imbalance", "mpi.straggler")]
    is_true(name + ": it is found", unused or others(r), r["findings"])
    subprocess.run([JOBPROF, "merge", "-j", str(j.id), "-p", d.hdf5, "-o", account + ".h5", "-S"],
                   check=True, capture_output=True)
    merged = report(account + ".h5")
    is_equal(name + ": the job file says the same", sorted(merged["facts"]), sorted(f))
    wrong = [k for k in f if not approx(merged["facts"][k], f[k], 1e-9, 1e-12)]
    is_equal(name + ": its numbers too, but for the order of sums", wrong, [])


MPIRUN = """export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The node's name is not that of the host: else mpirun would look for the node elsewhere.
export OMPI_MCA_ras=^slurm OMPI_MCA_plm=isolated
%s --oversubscribe --bind-to none -n 4 %s %s 3
"""


one_by_one = threading.Lock()  # or the jobs of one cluster are the neighbours of the other's


def mpirun_in_batch(name, c, d):
    with one_by_one:
        bound_and_unbound(name, c, d)


def bound_and_unbound(name, c, d):
    """All ranks of an mpirun are bound to one of the job's two cores; and another job's to none."""
    mpirun = shutil.which("mpirun.openmpi")
    if not mpirun:
        raise Skipped("there is no Open MPI: scripts/install-deps test")
    cpus = os.sched_getaffinity(0)
    if len(cpus) != 2:
        os.sched_setaffinity(0, sorted(cpus)[:2])
    cpu, node = min(cpus), c.nodes[0]
    for where, list_ in (("taskset -c %d" % cpu, str(cpu)), ("", None)):
        before = busy_s(cpu)
        j = c.sbatch(MPIRUN % (mpirun, where, tool("jpspin")), ["-w", node, "-n2", "-t", "7", "--mem=200"])
        is_equal(name + ": it ends", j.end(), "COMPLETED")
        foreign = busy_s(cpu) - before
        d.get(j.id, "batch", node)
        d.get(j.id, EXTERN, node)
        r = report("-j", str(j.id), "-p", d.hdf5)
        ids = [f["id"] for f in r["findings"]]
        is_equal(name + ": its ranks", r["facts"]["tasks"], 4)
        with h5py.File(d.get(j.id, "batch", node), "r") as f:
            lists = [f[node]["Ranks/%d" % n].attrs.get("Allowed CPU List") for n in range(4)]
        if list_:
            is_equal(name + ": where they may run", lists, [list_] * 4)
            # Where others have three sevenths of that CPU, each second that ranks wait is half for them.
            foreign -= r["facts"]["cpu_s"]
            if foreign > 0.5 * r["facts"]["cpu_s"]:
                skip(name + ": bound, stacked is named first", "other programs had CPU %d for %.1f s" % (cpu, foreign))
                continue
            is_equal(name + ": bound, stacked is named first", ids[:1], ["cpu.stacked"])
            is_equal(name + ": bound, where", r["findings"][0]["where"] if ids else None, "ranks 0-3")
            is_true(name + ": bound, neighbours are not to blame", "cpu.neighbour" not in ids, ids)
        else:
            is_true(name + ": where they may run, unbound", list_ not in lists and None not in lists, lists)
            is_true(name + ": unbound, not stacked", "cpu.stacked" not in ids, r["findings"])


def others(r):
    """Whether other programs used the machine, so that no finding can be wanted."""
    return r["facts"]["wait_s"] > 0.1 * r["facts"]["cpu_s"]


def main():
    d = Profiler(Sensors="cpu,node")
    clusters = start_clusters(conf=["PrologFlags=Contain"])
    if not clusters:
        return
    d.start()
    in_modes((one_works, mpirun_in_batch), clusters, d)
    is_equal("reports: jobprofd's exit status", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    main()
