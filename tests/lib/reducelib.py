# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs jobprof reduce, alone and as processes of MPI."""

import contextlib

from lib import *

MPI = os.path.join(BUILD, "jobprof-reduce-mpi")


def reduced(*args, status=0, env=None, before=()):
    p = subprocess.run(list(before) + [JOBPROF, "reduce"] + list(args), capture_output=True, text=True, timeout=120,
                       env=env or plain_env(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    if status is not None and p.returncode != status:
        raise Failed("%s: status %d: %s" % (" ".join(args), p.returncode, p.stderr))
    return p


def paths_of(d):
    return sorted(os.path.join(d, f) for f in os.listdir(d) if f.endswith(".h5"))


def merged(d):
    path = os.path.dirname(d) + "/job.h5"
    subprocess.run([JOBPROF, "merge", "-S", "-j", "7", "-p", os.path.dirname(d), "-o", path], check=True)
    return path


def need_mpi():
    if not os.path.exists(MPI) or not shutil.which("mpirun.openmpi"):
        raise Skipped("jobprof-reduce-mpi is not built: scripts/install-deps test")


def mpirun(n, *more):
    return ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", str(n)] + list(more)


def rank_of(pid):
    with contextlib.suppress(OSError):
        with open("/proc/%d/environ" % pid, "rb") as f:
            return dict(x.partition(b"=")[::2] for x in f.read().split(b"\0")).get(b"OMPI_COMM_WORLD_RANK")
    return None


def children(pid):
    with contextlib.suppress(OSError):
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(p) for p in f.read().split()]
    return []
