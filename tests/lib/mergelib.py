# SPDX-License-Identifier: GPL-2.0-or-later
"""Profile directories to merge, and what tests of merging share."""

import getpass
import os
import shutil
import subprocess

import h5py
import numpy

from lib import BUILD, JOBPROF, ROOT, TMP, Failed, tmpdir
from slurm_release import RELEASE, STOCK

GOLDEN = os.path.join(ROOT, "tests", "data", "golden")
ME = getpass.getuser()


def world(*files, user=ME):
    """A profile directory with copies of golden files."""
    d = tmpdir("prof")
    os.mkdir(os.path.join(d, user))
    for f in files:
        shutil.copy(os.path.join(GOLDEN, f), os.path.join(d, user))
    return d


def job7():
    return world("7_0_p1.h5", "7_0_p2.h5", "7_1_p1.h5", "7_batch_p1.h5")


READERS = []  # options: how many processes read, where that is not left to the program


def merge(prof, *args, out=None, env=None, cwd=None):
    """Status and stderr."""
    cmd = [JOBPROF, "merge"] + (["-p", prof] if prof else []) + READERS + list(args)
    if out:
        cmd += ["-o", out]
    p = subprocess.run(cmd, capture_output=True, text=True, errors="replace", env=env,
                       cwd=cwd or TMP, timeout=60)
    return p.returncode, p.stderr


def inputs(prof, user=ME):
    return sorted(os.listdir(os.path.join(prof, user)))


def expect(what, status, err, *words):
    missing = [w for w in words if w not in err]
    if what != status or missing:
        raise Failed("status %s, wanted %s; missing %s in: %s" % (status, what, missing, err))


def steps(path):
    with h5py.File(path, "r") as f:
        return {s: sorted(f["Steps"][s].get("Nodes", {})) for s in f["Steps"]}


def value(v):
    v = v[0] if getattr(v, "shape", ()) else v
    return v.decode() if isinstance(v, bytes) else v


def same_tree(a, b, skip=()):
    """Names, attributes, types and rows of two groups."""
    if sorted(k for k in a if k not in skip) != sorted(k for k in b if k not in skip):
        return "%s has %s, the other %s" % (a.name, sorted(a), sorted(b))
    why = same_attributes(a, b)
    if why:
        return why
    for k in a:
        if k in skip:
            continue
        if isinstance(a[k], h5py.Dataset):
            if a[k].dtype != b[k].dtype or a[k][()].tobytes() != b[k][()].tobytes():
                return "%s differs" % a[k].name
            why = same_attributes(a[k], b[k])
        else:
            why = same_tree(a[k], b[k])
        if why:
            return why
    return None


def same_attributes(a, b):
    if sorted(a.attrs) != sorted(b.attrs):
        return "%s: attributes %s and %s" % (a.name, sorted(a.attrs), sorted(b.attrs))
    for k in a.attrs:
        x, y = a.attrs.get_id(k), b.attrs.get_id(k)
        if not (numpy.array_equal(a.attrs[k], b.attrs[k]) and x.get_type().equal(y.get_type()) and
                x.get_space().shape == y.get_space().shape):
            return "%s: %s" % (a.name, k)
    return None


def holds(out, path, step, node, of=None):
    """Whether a node of the job file is the file's, but for totals that the file lacks."""
    with h5py.File(out, "r") as m, h5py.File(path, "r") as f:
        from_file = f[of or node]
        skip = () if "Totals" in from_file else ("Totals",)
        return same_tree(from_file, m["Steps"][step]["Nodes"][node], skip) is None


def edit(prof, name, fn, user=ME):
    path = os.path.join(prof, user, name)
    with h5py.File(path, "r+") as f:
        fn(f)
    return path


def put(prof, golden, name, node=None, user=ME, **attrs):
    """A copy of a golden file under another name and with another node."""
    src = golden.rsplit("_", 1)[1][:-3]
    node = node or name.rsplit("_", 1)[1][:-3]
    path = os.path.join(prof, user, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with h5py.File(os.path.join(GOLDEN, golden), "r") as a, h5py.File(path, "w") as b:
        a.copy(src, b, node)
        for k, v in attrs.items():
            k = k.replace("_", " ")
            if isinstance(v, str):
                b[node].attrs.create(k, [v.encode()], dtype="S%d" % len(v))
            else:
                b[node].attrs.create(k, [v], dtype="<i4")
    return path


def our_journals():
    """A directory with the journals of steps that jobprof has profiled."""
    made = tmpdir("ours")
    tool = os.path.join(BUILD, "tests", "unit", "test_nodestep")
    subprocess.run([tool, "--make", made], check=True, capture_output=True)
    return made


def write_ours(journal, into, name):
    """A node-step file with Totals, as jobprof's writer makes it. Its status."""
    d = os.open(into, os.O_RDONLY)
    fd = os.open(journal, os.O_RDONLY)
    p = subprocess.run([os.path.join(BUILD, "jobprof-writer"), "-j", str(fd), "-d", str(d), "-n",
                        name, "-m", "final"], pass_fds=(fd, d), capture_output=True)
    os.close(fd)
    os.close(d)
    return p.returncode
