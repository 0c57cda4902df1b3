# SPDX-License-Identifier: GPL-2.0-or-later
"""Files to extract from, made with h5py, and what tests of extraction share."""

import os
import shutil
import subprocess

import h5py
import numpy

from lib import BUILD, JOBPROF, ROOT, tmpdir

GOLDEN = os.path.join(ROOT, "tests", "data", "golden")
EPOCH = 1795226477
START_NS = EPOCH * 10**9 + 250000000
NAN, INF = float("nan"), float("inf")

TASK = [("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("CPUFrequency", "<u8"), ("CPUTime", "<f8"),
        ("CPUUtilization", "<f8"), ("RSS", "<u8"), ("VMSize", "<u8"), ("Pages", "<u8"),
        ("ReadMB", "<f8"), ("WriteMB", "<f8")]
NETWORK = [("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("PacketsIn", "<u8"),
           ("PacketsOut", "<u8"), ("InMB", "<f8"), ("OutMB", "<f8")]
ENERGY = [("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("Power", "<u8")]
HOSTILE_F64 = [-0.0, NAN, -NAN, INF, -INF, 1e300, -1e300, 5e-324, 2.5e-6, 0.0000005, 1.7976931e308,
               -1.5, 123456789.123456789, 2.0**53 + 2, 0.1]
HOSTILE_U64 = [0, 1, 2**64 - 1, 2**63, 2**63 - 1, 2**53 + 1, 10**19, 9, 10, 99, 100, 9999, 10000,
               99999, 12345678901234567890]


def extract(*args, **kw):
    """jobprof extract ARG...: the ended process, output as bytes."""
    return subprocess.run([JOBPROF, "extract"] + [str(a) for a in args], capture_output=True,
                          timeout=100, **kw)


def rows(dtype, n, rng, first=1):
    """n rows of numbers as Slurm writes them."""
    a = numpy.zeros(n, numpy.dtype(dtype))
    for name in a.dtype.names:
        if name == "ElapsedTime":
            a[name] = numpy.arange(n) + first
        elif name == "EpochTime":
            a[name] = numpy.arange(n) + first + EPOCH
        elif a.dtype[name].kind == "u":
            a[name] = rng.integers(0, 10**rng.integers(1, 12), n)
        else:
            a[name] = numpy.round(rng.random(n) * 10.0**rng.integers(-3, 6), 6)
    return a


def put(group, name, data, slurm=True):
    """A table as Slurm's plugin lays it out, or as ours does."""
    how = dict(chunks=(10,), compression="gzip", compression_opts=0) if slurm else \
        dict(chunks=(121,), shuffle=True, compression="gzip", compression_opts=4)
    return group.create_dataset(name, data=data, maxshape=(None,), **how)


def job_file(path, seed=1, steps=("0", "2", "10", "batch", "-4"), nodes=("n1", "n2", "n10"),
             tasks=(0, 2, 10), nrows=25, slurm=True):
    rng = numpy.random.default_rng(seed)
    with h5py.File(path, "w") as f:
        for step in steps:
            for node in nodes:
                g = f.create_group("/Steps/%s/Nodes/%s" % (step, node))
                for t in tasks:
                    put(g.require_group("Tasks"), str(t), rows(TASK, nrows, rng), slurm)
                put(g, "Network", rows(NETWORK, nrows + 3, rng, 0), slurm)
                put(g, "Energy", rows(ENERGY, nrows + 1, rng), slurm)
    return path


def written_file():
    """A node-step file of one node as jobprof's writer makes it, with all series."""
    made = tmpdir("written")
    subprocess.run([os.path.join(BUILD, "tests", "unit", "test_nodestep"), "--make", made],
                   check=True, capture_output=True)
    d = os.open(made, os.O_RDONLY)
    j = os.open(os.path.join(made, "n1.journal"), os.O_RDONLY)
    subprocess.run([os.path.join(BUILD, "jobprof-writer"), "-j", str(j), "-d", str(d), "-n",
                    "7_0_n1.h5", "-m", "final"], pass_fds=(j, d), check=True)
    os.close(j)
    os.close(d)
    return os.path.join(made, "7_0_n1.h5")


def tables(path, series):
    """(step, node, table or None, rows) of every table, in h5py's order."""
    out = []
    with h5py.File(path, "r") as f:
        for step in f["Steps"]:
            for node in f["Steps"][step]["Nodes"]:
                s = f["Steps"][step]["Nodes"][node].get(series)
                if isinstance(s, h5py.Dataset):
                    out.append((step, node, None, s[()]))
                elif s is not None:
                    out += [(step, node, t, s[t][()]) for t in s]
    return out


class Stock:
    """The installed sh5util, with a configuration of its own."""

    def __init__(self):
        self.dir = tmpdir("stock")
        with open(os.path.join(self.dir, "slurm.conf"), "w") as f:
            f.write("ClusterName=x\nSlurmctldHost=localhost\n"
                    "AcctGatherProfileType=acct_gather_profile/hdf5\n")
        with open(os.path.join(self.dir, "acct_gather.conf"), "w") as f:
            f.write("ProfileHDF5Dir=%s\n" % self.dir)
        self.env = dict(os.environ, SLURM_CONF=os.path.join(self.dir, "slurm.conf"))

    @staticmethod
    def there():
        return shutil.which("sh5util") is not None

    def extract(self, path, *args):
        out = os.path.join(self.dir, "out.csv")
        if os.path.exists(out):
            os.unlink(out)
        subprocess.run(["sh5util", "-E", "-i", path, "-o", out] + list(args), env=self.env,
                       check=True, capture_output=True, timeout=100)
        with open(out, "rb") as f:
            return f.read()
