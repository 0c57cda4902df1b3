#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Energy of steps in their files: a machine made of files, whose counters follow what the steps'
processes do at a power that only this test knows."""

import sys


sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *
from machinelib import Gpus, Meter, machine, roots

COLUMNS = ["ElapsedTime", "EpochTime", "Power", "NodeEnergy", "PkgEnergy", "DramEnergy",
           "GpuEnergy", "StepEnergy", "StepStatic", "StepDynamic", "StepEnergyLow",
           "StepEnergyHigh", "OtherEnergy", "SystemEnergy", "UnallocatedEnergy", "TimeNS"]
def energy_of(path):
    with h5py.File(path, "r") as f:
        node = f[NODE]
        return node["Energy"][:], {k: v for k, v in node.attrs.items()}


def text(v):
    v = v[0] if isinstance(v, numpy.ndarray) else v
    return v.decode() if isinstance(v, bytes) else str(v)


def conserves(rows):
    measured = rows["PkgEnergy"] + rows["DramEnergy"]
    parts = sum(rows[c] for c in ("StepEnergy", "OtherEnergy", "SystemEnergy",
                                  "UnallocatedEnergy"))
    # an interval may be shorter than the counters' own
    return float(numpy.max(numpy.abs(parts - measured) / numpy.maximum(measured, 1e-6)))


def shown(path, rows):
    p = subprocess.run([JOBPROF, "show", path], capture_output=True, text=True, timeout=20)
    m = re.search(r"^ +energy +([\d.]+) J \(([\d.]+) to ([\d.]+)\), what it did ([\d.]+) J, "
                  r"mean [\d.]+ W,\s+of the node's ([\d.]+) J", p.stdout, re.M)
    is_true("show: a line of energy", m and numpy.allclose(
        [float(v) for v in m.groups()],
        [rows[c].sum() for c in ("StepEnergy", "StepEnergyLow", "StepEnergyHigh", "StepDynamic")] +
        [rows["PkgEnergy"].sum() + rows["DramEnergy"].sum()], atol=0.06), p.stdout)


def live(d, job):
    p = subprocess.run([JOBPROF, "live", "-j", str(job), "-s", "Energy", "--format", "json"],
                       capture_output=True, text=True, timeout=20,
                       env=plain_env(JOBPROF_SOCKET=d.settings["Socket"]))
    is_true("live: the last row, as it runs", p.returncode == 0 and '"PkgEnergy"' in p.stdout and
            '"StepEnergyHigh"' in p.stdout, p.stdout + p.stderr)


def two_steps_share_a_package(root, meter):
    d = Daemon(interval=0.5, **roots(root)).start()
    jobs = [new_job(), new_job()]
    steps = []
    for job, watts in zip(jobs, (20.0, 50.0)):
        h = Holds(["0"])
        s = Stepd(job, 0, h.cmd("park", "spin=3", "park"), v2_task(tree.job(job) + "/step_0"))
        h.wait()
        meter.watch(h.all[0].pid, watts)
        steps.append((job, s, h))
    for _, _, h in steps:
        h.go()
    time.sleep(1.5)
    live(d, jobs[0])
    for _, _, h in steps:
        h.wait()
    truth = [meter.of[h.all[0].pid] for _, _, h in steps]
    for _, s, h in steps:
        h.go()
        s.end()
    for (job, _, h), dynamic, name in zip(steps, truth, ("20 W", "50 W")):
        rows, attrs = energy_of(d.file(job, 0))
        is_equal(name + ": columns", list(rows.dtype.names), COLUMNS)
        first, last = int(rows["TimeNS"][0]), int(rows["TimeNS"][-1])
        for what, column in (("pkg", "PkgEnergy"), ("dram", "DramEnergy")):
            is_near("%s: %s is the counters', over the wrap too" % (name, column),
                    float(rows[column][1:].sum()), meter.joules(what, first, last),
                    1.5 + 2 * meter.largest_step(), 0.02)
        is_true(name + ": what is not there is not known",
                numpy.isnan(rows["NodeEnergy"]).all() and numpy.isnan(rows["GpuEnergy"]).all(), rows)
        is_true(name + ": every row conserves", conserves(rows) < 1e-9, rows)
        seconds = numpy.diff(rows["TimeNS"].astype("f8")) / 1e9
        watts = (rows["PkgEnergy"] + rows["DramEnergy"])[1:] / seconds
        is_true(name + ": Power is their mean over the interval",
                numpy.allclose(rows["Power"][1:], watts, rtol=0.02, atol=1), (rows["Power"], watts))
        is_true(name + ": static and dynamic parts make the energy", numpy.allclose(
            rows["StepStatic"] + rows["StepDynamic"], rows["StepEnergy"]), rows)
        low, high = rows["StepEnergyLow"].sum(), rows["StepEnergyHigh"].sum()
        is_true(name + ": between the bounds", low <= rows["StepEnergy"].sum() <= high, rows)
        # who holds the idle cores of this machine is not known: none of them, or all
        idle = meter.joules("pkg", first, last) + meter.joules("dram", first, last)
        is_true(name + ": the truth is not outside the bounds",
                low <= dynamic + idle and dynamic <= high, (low, dynamic, high))
        is_true(name + ": the rule has a name", re.search(
            "packages by rapl, DRAM by rapl; static part .*; dynamic part by (CPU time|core cycles)",
            text(attrs["Energy Rule"])), attrs["Energy Rule"])
        is_equal(name + ": whose cores are whose", text(attrs["Energy Allocation"]), "not known")
        shown(d.path(job, 0), rows)
        is_equal(name + ": mode", text(attrs["Mode energy"]), "estimated: see Energy Rule")
    is_equal("jobprofd ends", d.end(), 0)
    is_true("jobprofd had nothing to complain of", "cannot split" not in d.said(), d.said()[-500:])
    return d, jobs


def both_together_are_what_was_measured():
    root = machine("intel-2s")
    with Meter(root) as meter:
        d, jobs = two_steps_share_a_package(root, meter)
    a, b = (energy_of(d.path(j, 0))[0] for j in jobs)
    # rows of both that end, and begin, at the same instants
    same = [(i, k) for i in range(1, len(a)) for k in range(1, len(b))
            if abs(int(a["TimeNS"][i]) - int(b["TimeNS"][k])) < 1000
            and abs(int(a["TimeNS"][i - 1]) - int(b["TimeNS"][k - 1])) < 1000]
    is_true("together: intervals of both", len(same) >= 3, (a["TimeNS"], b["TimeNS"]))
    for i, k in same[:1] + same[-1:]:
        # steps of others on this machine are in it too
        is_true("together: the other's energy is the other's",
                a["OtherEnergy"][i] > b["StepEnergy"][k] - 1e-6, (a[i], b[k]))
        is_near("together: all that steps have is the same in both files",
                float(a["OtherEnergy"][i] + a["StepEnergy"][i]),
                float(b["OtherEnergy"][k] + b["StepEnergy"][k]), 1e-6, 1e-9)
    cpu = []
    for job, rows, which in ((jobs[0], a, 0), (jobs[1], b, 1)):
        with h5py.File(d.path(job, 0), "r") as f:
            task = f[NODE]["Tasks/0"][:]
        at = {int(t): c for t, c in zip(task["TimeNS"], task["CPUTime"])}
        cpu.append(sum(at[int(rows["TimeNS"][s[which]])] for s in same))
    is_near("together: dynamic energy goes by CPU time",
            float(sum(a["StepDynamic"][i] for i, _ in same) /
                  sum(b["StepDynamic"][k] for _, k in same)), cpu[0] / cpu[1], 0.02, 0.05)


def restart_with(root):
    d = Daemon(interval=0.25, **roots(root)).start()
    job, h = new_job(), Holds(["0"])
    s = Stepd(job, 0, h.cmd("park", "spin=0.6", "park", "spin=0.6", "park"),
              v2_task(tree.job(job) + "/step_0"))
    h.wait()
    h.go()
    h.wait()
    time.sleep(0.3)
    d.end(signal.SIGKILL)
    d.start()
    time.sleep(0.6)
    h.go()
    h.wait()
    time.sleep(0.5)
    h.go()
    s.end()
    rows, _ = energy_of(d.file(job, 0))
    d.end()
    return rows


def confine(path, cpus):
    """A cpuset for what is at path in the freezer hierarchy, from the top down."""
    mount = need_cgroup1("cpuset")
    made = ""
    for part in path.strip("/").split("/"):
        made += "/" + part
        dir = mkcg(made[1:], mount)
        for name, value in (("mems", "0"), ("cpus", cpus)):
            with open("%s/cpuset.%s" % (dir, name), "w") as f:
                f.write(value)


def a_cpuset_says_whose_cores():
    root = machine("intel-2s")
    with Meter(root):
        d = Daemon(interval=0.25, **roots(root)).start()
        job, h = new_job(), Holds(["0"])
        base = tree.v1(0, job)
        confine(base[len(need_cgroup1("freezer")):] + "/step_0", "1")
        s = Stepd(job, 0, h.cmd("park", "spin=0.3", "park"),
                  ["-d", base, "-S", "-c", base + "/step_0"])
        h.wait()
        h.go()
        h.wait()
        time.sleep(0.5)
        h.go()
        s.end()
        rows, attrs = energy_of(d.file(job, 0))
        d.end()
    is_equal("cpuset: it is what the step holds", text(attrs["Energy Allocation"]),
             "the CPUs of its cpuset")
    is_true("cpuset: every row conserves", conserves(rows) < 1e-9, rows)


def gpus_go_to_who_uses_them():
    """One has GPU 0 for itself and a quarter of GPU 1, the other the rest of that."""
    root = machine("intel-2s")
    with Meter(root), Gpus() as gpus:
        d = Daemon(interval=0.5, wrap=gpus.wrap, **roots(root)).start()
        steps = []
        for i in range(2):
            job, h = new_job(), Holds(["0"])
            s = Stepd(job, 0, h.cmd("park"), v2_task(tree.job(job) + "/step_0"))
            h.wait()
            steps.append((job, s, h))
        a, b = (h.all[0].pid for _, _, h in steps)
        gpus.processes = [(0, a, 300 * MB, 80), (1, a, 100 * MB, 20), (1, b, 500 * MB, 60)]
        time.sleep(5)
        for _, s, h in steps:
            h.go()
            s.end()
        files = [d.file(job, 0) for job, _, _ in steps]
        d.end()
    wanted = {0: (200 + 25, 400, 100), 1: (75, 500, 60)}
    for i, path in enumerate(files):
        rows, attrs = energy_of(path)
        name = "gpu, step %d" % i
        # what a GPU draws is known after its second answer
        rows = rows[~numpy.isnan(rows["GpuEnergy"])]
        is_true(name + ": rows with GPUs", len(rows) >= 4, rows)
        is_true(name + ": every row conserves", numpy.allclose(
            rows["PkgEnergy"] + rows["DramEnergy"] + rows["GpuEnergy"],
            rows["StepEnergy"] + rows["OtherEnergy"] + rows["SystemEnergy"] +
            rows["UnallocatedEnergy"], rtol=1e-9), rows)
        seconds = numpy.diff(rows["TimeNS"].astype("f8")) / 1e9
        is_near(name + ": all GPUs", float(rows["GpuEnergy"][1:].sum() / seconds.sum()), 300, 5)
        watts, memory, util = wanted[i]
        got = float(numpy.median(rows["StepDynamic"][1:] / seconds))
        # the packages' idle power is not known: all of it may be a step's
        is_true(name + ": its GPUs' energy is in its own", watts - 12 < got < watts + 60, (got, rows))
        with h5py.File(path, "r") as f:
            task = f[NODE]["Tasks/0"][:]
        is_equal(name + ": GPUMemMB", int(numpy.median(task["GPUMemMB"])), memory)
        is_near(name + ": GPUUtilization", float(numpy.median(task["GPUUtilization"])), util, 0.01)
        is_true(name + ": it is not called unknown",
                "GPU" not in text(attrs.get("Unknown Columns", b"")), attrs)


def goes_on_after_a_restart():
    root = machine("intel-2s")
    with Meter(root):
        rows = restart_with(root)
    gap = numpy.isnan(rows["PkgEnergy"])
    is_true("restart: at most the interval over it is unknown", gap.sum() <= 1, rows["PkgEnergy"])
    known = ~gap
    is_true("restart: rows before and after", known.sum() >= 5, rows["PkgEnergy"])
    is_true("restart: times rise", (numpy.diff(rows["TimeNS"].astype("i8")) > 0).all(),
            rows["TimeNS"])
    is_true("restart: every row conserves", conserves(rows[known]) < 1e-9, rows)


def nobody_asks():
    """A step that is not to be profiled, and the one after it, make nobody run in circles."""
    root = machine("intel-2s")
    d = Daemon(interval=0.25, ProfileHDF5Default="None", **roots(root)).start()
    job, h = new_job(), Holds(["0"])
    s = Stepd(job, 0, h.cmd("park", "park"), v2_task(tree.job(job) + "/step_0"))
    h.wait()
    time.sleep(1)
    before = os.times()[4], d_cpu(d)
    time.sleep(2)
    after = os.times()[4], d_cpu(d)
    is_true("nobody asks: jobprofd sleeps", after[1] - before[1] < 0.25 * (after[0] - before[0]),
            (before, after))
    h.go()
    h.wait()
    h.go()
    s.end()
    d.end()


def d_cpu(d):
    """Its CPU time, in s."""
    with open("/proc/%d/schedstat" % d.proc.pid) as f:
        return int(f.read().split()[0]) / 1e9


def no_sensor_no_table():
    root = tmpdir("bare")
    for part in ("sys", "proc", "dev"):
        os.mkdir(os.path.join(root, part))
    os.chmod(root, 0o755)
    d = Daemon(interval=0.25, **roots(root)).start()
    job, h = new_job(), Holds(["0"])
    s = Stepd(job, 0, h.cmd("park", "spin=0.3"), v2_task(tree.job(job) + "/step_0"))
    h.wait()
    h.go()
    s.end()
    with h5py.File(d.file(job, 0), "r") as f:
        is_true("bare: no Energy", "Energy" not in f[NODE], list(f[NODE]))
        is_equal("bare: why", text(f[NODE].attrs["Mode energy"]),
                 "absent: nothing on this node measures it")
    d.end()


need_bpf()
tree = Trees()
run_tests([
    both_together_are_what_was_measured,
    a_cpuset_says_whose_cores,
    gpus_go_to_who_uses_them,
    goes_on_after_a_restart,
    nobody_asks,
    no_sensor_no_table,
])
