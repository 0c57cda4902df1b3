# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's own sh5util, and programs measured as a whole."""

import os
import subprocess

from helper import BUILD, Missing, has, tmpdir

CONF = """ClusterName=bench
SlurmctldHost=localhost
AcctGatherProfileType=acct_gather_profile/hdf5
"""


def setup(profiles):
    """Its environment: it starts with a configuration only, but reaches for no daemon."""
    if not has("sh5util"):
        raise Missing("sh5util is not installed")
    d = tmpdir()
    with open(os.path.join(d, "slurm.conf"), "w") as f:
        f.write(CONF)
    with open(os.path.join(d, "acct_gather.conf"), "w") as f:
        f.write("ProfileHDF5Dir=%s\n" % profiles)
    return dict(os.environ, SLURM_CONF=os.path.join(d, "slurm.conf"))


class Used:
    """What a program took: seconds of wall clock and of CPU, MB at most."""

    def __init__(self, wall, cpu, mb):
        self.wall, self.cpu, self.mb = wall, cpu, mb


def run(args, env=None, fds=()):
    """Runs to its end, on all processors."""
    mine = os.sched_getaffinity(0)  # this process itself has left one CPU to the workers
    # Inherited: a preexec_fn would have this whole process copied.
    os.sched_setaffinity(0, range(os.cpu_count()))
    p = subprocess.Popen([os.path.join(BUILD, "bench", "jprusage"), *args], env=env, pass_fds=fds,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         errors="replace")
    os.sched_setaffinity(0, mine)
    out, err = p.communicate()
    if p.returncode:
        raise Missing("%s: %s" % (" ".join(args[:3]), err.strip()[-200:]))
    wall, cpu_s, kib = out.split()
    return Used(float(wall), float(cpu_s), int(kib) / 1024)
