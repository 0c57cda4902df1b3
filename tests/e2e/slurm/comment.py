#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs of a real Slurm with a real slurmdbd: jobprof index comment writes AdminComment, where sacctmgr stores
it as it is; jobprof seff says what sacct says of state, cores and times."""

import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *


def index(c, db, *args):
    p = subprocess.run([JOBPROF, "index", *args, "--database", db], capture_output=True, text=True, env=c.env)
    if p.returncode:
        raise Failed("jobprof index %s: %s%s" % (" ".join(args), p.stdout, p.stderr))
    return p.stdout.strip()


def field(c, job, name):
    return c.command("sacct", "-nPX", "-j", job, "-o", name)


def slurm_keeps_the_comment(c, d, db, jobs):
    theirs = jobs[1].id
    c.command("sacctmgr", "-i", "modify", "job", "where", "jobid=%d" % theirs, "set", "admincomment=of the owner")
    p = subprocess.run([JOBPROF, "index", "comment", "--database", db], capture_output=True, text=True, env=c.env)
    text = field(c, jobs[0].id, "AdminComment")
    if RELEASE < (23, 2):  # its sacctmgr makes lower case of it
        is_true("it says why it cannot", p.returncode == 1 and "sacctmgr does not store comments as they are" in p.stderr, p)
        is_equal("and takes it back", text, "")
    else:
        is_equal("what is written", (p.returncode, p.stdout), (0, "1 written, 1 of others, 0 failed, 0 waiting\n"))
        is_equal("Slurm has it as it was written", text, "JS1:Short")
        is_equal("nothing is written twice", index(c, db, "comment"), "0 written, 0 of others, 0 failed, 0 waiting")
    is_equal("the other stays", field(c, theirs, "AdminComment"), "of the owner")


def seff_agrees_with_sacct(c, d, db, jobs):
    for j in jobs:
        p = subprocess.run([JOBPROF, "seff", str(j.id), "--database", db], capture_output=True, text=True)
        says = dict(line.split(": ", 1) for line in p.stdout.splitlines() if ": " in line)
        state, code, cpus, nodes, elapsed, cluster, user = field(
            c, j.id, "State,ExitCode,AllocCPUS,AllocNodes,Elapsed,Cluster,User").split("|")
        is_equal("job %s: state, time, names" % state, [says["State"], says["Job Wall-clock time"], says["Cluster"], says["User/Group"]],
                 ["%s (exit code %s)" % (state, code.split(":")[0]), elapsed, cluster, "%s/root" % user])
        is_equal("job %s: cores" % state, [says.get("Nodes", "1"), int(says.get("Cores per node", says.get("Cores", 0)))],
                 [nodes, int(cpus) // int(nodes)])


def main():
    if not os.path.exists("%s/accounting_storage_mysql.so" % PLUGIN_DIR) or not shutil.which("mariadbd", path=SLURM_PATH):
        return skip("comments in a real slurmdbd", "there is no slurmdbd with a database")
    d = Profiler()
    c = Cluster("v2", nodes=1, accounting=True)
    d.start()
    spin = "srun %s 1.5\n" % tool("jpspin")
    jobs = [c.sbatch(spin, ["-n2", "-t5"]), c.sbatch(spin + "exit 3\n", ["-n1", "-t5"])]
    is_equal("they end", [j.end(120) for j in jobs], ["COMPLETED", "FAILED"])
    for j in jobs:
        d.get(j.id, "batch", c.nodes[0])
        steps_end(d, j.id)
    wait_until(lambda: all(field(c, j.id, "State") in ("COMPLETED", "FAILED") for j in jobs), 60, "slurmdbd to know their ends")
    db = tmpdir() + "/index.db"
    index(c, db, "scan", d.hdf5)
    index(c, db, "sync")
    for test in (slurm_keeps_the_comment, seff_agrees_with_sacct):
        test(c, d, db, jobs)
    is_equal("comment: jobprofd's exit status", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    main()
