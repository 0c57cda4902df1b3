#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Energy of real jobs, asked for with Slurm's own words, on a machine made of files: jobprofd's
table stands in the place of Slurm's, and Slurm's sh5util reads it."""

import csv
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *
from machinelib import Meter, machine, roots


def node_of(path):
    with h5py.File(path, "r") as f:
        node = f[list(f)[0]]
        return sorted(set(node) - {"Totals", "Columns"}), {k: node[k][:] for k in node if k == "Energy"}, text_of(node)


def text_of(node):
    return {k: node.attrs[k] for k in ("Energy Rule", "Energy Allocation")
            if k in node.attrs}


def stock(c, *args):
    return subprocess.run([STOCK] + [str(a) for a in args], env=c.env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30)


def energy_alone(name, c, d):
    s = c.srun(["--profile=energy", "--acctg-freq=energy=1", "-w", c.nodes[0]], ["sleep", "3.2"])
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, c.nodes[0])
    series, tables, said = node_of(path)
    is_equal(name + ": series", series, ["Energy"])
    rows = tables["Energy"]
    is_true(name + ": a row every second", 3 <= len(rows) <= 8, rows["TimeNS"])
    is_true(name + ": all is known", all(
        not numpy.isnan(rows[n]).any() for n in rows.dtype.names
        if n not in ("NodeEnergy", "GpuEnergy")), rows)
    # the counters' writer may be late, and make good for it; the last row may be shorter than its turn
    took = numpy.diff(rows["TimeNS"].astype(numpy.int64)) / 1e9
    power = rows["Power"][1:][took > 0.5]
    is_true(name + ": Power is that of the machine", len(power) >= 2 and
            all(20 < p < 90 for p in power) and 45 < numpy.median(power) < 60, (rows["Power"], took))
    is_equal(name + ": whose cores are whose", said["Energy Allocation"], "cores as Slurm said")
    both(name, c, d, s.id, rows)


def both(name, c, d, job, rows):
    """Slurm's sh5util merges it, and says of Power what is there."""
    dir = tmpdir("merge")
    out, totals, series, items = (os.path.join(dir, n) for n in ("job.h5", "t", "s", "i"))
    for what, args in (
            ("merges", ["-S", "-j", job, "-u", "root", "-p", d.hdf5, "-o", out]),
            ("extracts totals", ["-E", "-j", job, "-i", out, "-l", "Node:Totals", "-s", "Energy",
                                 "-o", totals]),
            ("extracts series", ["-E", "-j", job, "-i", out, "-l", "Node:TimeSeries", "-s",
                                 "Energy", "-o", series]),
            ("lists items", ["-I", "-j", job, "-i", out, "-s", "Energy", "-d", "Power", "-o",
                             items])):
        p = stock(c, *args)
        is_true("%s: Slurm's sh5util %s" % (name, what), p.returncode == 0, p.stderr)
    with open(totals) as f:
        got = list(csv.DictReader(f, skipinitialspace=True))
    is_equal(name + ": Slurm's totals of Power", [int(got[0][k]) for k in ("Min_Power", "Max_Power")],
             [int(rows["Power"].min()), int(rows["Power"].max())])
    with open(series) as f:
        got = list(csv.DictReader(f, skipinitialspace=True))
    is_equal(name + ": Slurm's series of Power", [int(r["Power"]) for r in got],
             [int(p) for p in rows["Power"]])


def with_tasks(name, c, d):
    s = c.srun(["--profile=all", "--acctg-freq=task=1,energy=1", "-w", c.nodes[1]],
               ["sh", "-c", "timeout 1.5 sh -c 'while :; do :; done'; sleep 1"])
    s.end()
    series, tables, said = node_of(d.get(s.id, 0, c.nodes[1]))
    is_true(name + ": one table of energy, ours", "Energy" in series and
            not [n for n in series if n.startswith("Slurm_")], series)
    rows = tables["Energy"]
    is_true(name + ": what it did is more than nothing", rows["StepDynamic"].sum() > 0, rows)
    parts = sum(rows[n] for n in ("StepEnergy", "OtherEnergy", "SystemEnergy",
                                  "UnallocatedEnergy"))
    is_true(name + ": every row conserves", numpy.allclose(
        parts, rows["PkgEnergy"] + rows["DramEnergy"], rtol=1e-9), rows)


def main():
    for p in ("spank_jobprof.so", "acct_gather_profile_jobprof.so"):
        if not os.path.exists(plugin(p)):
            skip("plugins", "%s was not built: Slurm's headers are not installed" % plugin(p))
            return
    root = machine("intel-2s")
    with Meter(root):
        d = Profiler(30, ProfileHDF5Default="None", **roots(root))
        d.start()
        socket = d.settings["Socket"]
        clusters = start_clusters(
            cpus=64,
            conf=["AcctGatherProfileType=acct_gather_profile/jobprof",
                  "PluginDir=%s:%s" % (PLUGINS, PLUGIN_DIR)],
            acct=["ProfileJobprofSocket=" + socket],
            plugstack=["optional %s socket=%s timeout=1000" % (plugin("spank_jobprof.so"), socket)])
        in_modes([energy_alone, with_tasks], clusters, d)
        is_equal("jobprofd ends", d.end(), 0)


main()
