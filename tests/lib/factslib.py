# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts of hand-made jobs for build/tests/judge: a healthy job, and what differs from it."""

import copy
import json
import os
import re
import subprocess

from lib import BUILD, ROOT, Failed, tmpdir

JUDGE = os.path.join(BUILD, "tests", "judge")
BINS, DT, NODES, CORES, TASKS = 120, 30.0, 4, 16, 64
WALL = BINS * DT
with open(os.path.join(ROOT, "user/findings/rules.lua")) as rules:
    NRULES = len(re.findall(r'^rules\["', rules.read(), re.M))


def healthy(bins=BINS, nodes=NODES, cores=CORES, per_node=16, gpus=0):
    """An MPI program: all cores busy, equal ranks, little of all else. Every fact is known, but for those
    that need hardware counters or an index."""
    wall, tasks, all_cores = bins * DT, nodes * per_node, nodes * cores
    cpu = 0.96 * all_cores * wall
    f = {
        "job": {
            "wall_s": wall, "dt_s": DT, "limit_s": 1.25 * wall, "job_elapsed_s": wall, "is_completed": 1, "is_running": 0,
            "is_exclusive": 0, "is_interactive": 0, "is_slurm": 1, "steps": 1, "nodes": nodes,
            "nodes_allocated": nodes, "tasks": tasks, "gpus": gpus, "cores": all_cores, "cpus": all_cores,
            "cores_per_node": cores, "core_s": all_cores * wall, "coverage": 1, "row_s": 1, "cpu_s": cpu,
            "user_s": 0.97 * cpu, "system_s": 0.03 * cpu, "wait_s": 0.002 * cpu, "disk_wait_s": 0.002 * cpu,
            "cpu_share": 0.96, "wait_share": 0.002, "demand": 0.962 * all_cores, "avoidable_s": 0.001 * cpu,
            "throttled_s": 0, "others_s": 0.001 * cpu, "taken_s": 0, "stolen_s": 0, "probe_s": 0.0004 * cpu, "oom_kills": 0, "vol_switches": 20 * cpu,
            "invol_switches": 4 * cpu, "migrations": 0.1 * cpu, "forks": 4 * tasks, "minor_faults": 100 * cpu,
            "major_faults": 50, "read_mb": 4000, "write_mb": 9000, "read_calls": 8000, "write_calls": 18000,
            "disk_read_mb": 1000, "disk_write_mb": 9000, "blk_ops": 30000, "blk_time_s": 60, "blk_p99_s": 0.01,
            "run_p50_s": 0.00001, "opens": 3000, "mount_requests": 40000, "mount_meta_requests": 4000,
            "mount_request_s": 0.01 * wall, "net_tx_mb": 20, "net_rx_mb": 20, "net_ops": 9000, "tcp_retrans": 3,
            "port_tx_mb": 90000, "ports_up": nodes, "ipoib_mb": 2, "ask_mb": 37000, "own_peak_mb": 30000, "own_sum_peak_mb": 118000,
            "limit_mb": 64000, "request_mb": 64000, "is_request_default": 0, "swap_peak_mb": 0, "energy_j": 4e6,
            "energy_low_j": 3.8e6, "energy_high_j": 4.2e6, "energy_static_j": 1.2e6, "io_periods": 0,
            "gpu_periods": 0, "io_congestion_ops": 12, "imbalance_sd": 0.03, "idle_ratio": 0.01, "unused_ratio": 0,
            "task_balance": 0.98, "balance_saving": 0.01, "commands": 1, "programs": 1, "has_mpi": 1,
            "runs_per_day": 3, "node_mb": 128000,
        },
        "node": {
            "cores": cores, "wall_s": wall, "cpu_s": cpu / nodes, "wait_s": 0.002 * cpu / nodes,
            "avoidable_s": 0.001 * cpu / nodes, "throttled_s": 0, "tasks": per_node, "active": 1,
            "active_bins": bins, "rows": wall, "coverage": 1, "own_peak_mb": 29500, "charged_peak_mb": 60000,
            "limit_mb": 64000, "oom_limit_mb": None, "clock_mhz": 2800, "clock_slow": 0, "speed": 1, "speed_slow": 0.02, "speed_z": 0,
            "pkg_throttle_s": 0, "temperature_max": 71, "tcp_retrans": 1, "port_errors": 0, "links_down": 0, "port_rate": 100,
            "net_tx_mb": 20 / nodes, "oom_kills": 0, "gpus": gpus / nodes, "model": 1,
        },
        "task": {
            "node": [i // per_node + 1 for i in range(tasks)], "number": list(range(tasks)), "wall_s": wall,
            "cpu_s": cpu / tasks, "user_s": 0.97 * cpu / tasks, "system_s": 0.03 * cpu / tasks,
            "wait_s": 0.002 * cpu / tasks, "disk_wait_s": 0.002 * cpu / tasks, "peak_mb": 1800,
            "read_mb": 4000 / tasks, "write_mb": 9000 / tasks, "io_mb": 13000 / tasks, "calls": 26000 / tasks,
            "threads": 2, "invol_switches": 4 * cpu / tasks, "migrations": 0.1 * cpu / tasks, "cpus_allowed": 1, "cpus_demand": 0.97,
            "numa_nodes": 1, "busy": 0.96 * all_cores / tasks, "program": 1,
        },
        "bin": {
            "start_s": [DT * i for i in range(bins)], "span_s": DT, "cores_s": all_cores * DT,
            "cpu_s": 0.96 * all_cores * DT, "wait_s": 0.002 * cpu / bins, "avoidable_s": 0.001 * cpu / bins,
            "disk_wait_s": 0.002 * cpu / bins, "throttled_s": 0, "task_mean_s": cpu / tasks / bins,
            "task_max_s": 1.01 * cpu / tasks / bins, "own_mb": 110000, "swap_mb": 0, "charged_share": 0.9,
            "psi_mem_s": 0, "major_faults": 0.4, "refaults": 0, "read_mb": 4000 / bins, "write_mb": 9000 / bins,
            "calls": 26000 / bins, "blk_mb": 10000 / bins, "opens": 3000 / bins, "net_mb": 40 / bins,
            "port_mb": 180000 / bins, "tcp_retrans": 3 / bins, "forks": 4 * tasks / bins,
            "migrations": 0.1 * cpu / bins, "vol_switches": 20 * cpu / bins, "invol_switches": 4 * cpu / bins,
            "minor_faults": 100 * cpu / bins, "gpu": 0.9 if gpus else None, "energy_j": 4e6 / bins,
        },
        "gpu": {
            "node": [i * nodes // gpus + 1 for i in range(gpus)], "util": 0.9, "idle_s": 60,
            "idle_from_start_s": 40, "idle_longest_s": 40, "mem_peak_mb": 30000, "throttled": 0, "is_split": 0,
        } if gpus else {},
        "names": {"node": ["n%d" % (i + 1) for i in range(nodes)], "task": [str(i) for i in range(tasks)],
                  "gpu": [str(i % max(1, gpus // nodes)) for i in range(gpus)]},
        "count": {"node": nodes}, "state": "COMPLETED", "program": "lmp",
    }
    return f


def changed(facts, changes):
    """A copy with {"job.wall_s": 12, "bin.cpu_s": f}: a function gets the index of the item."""
    f = copy.deepcopy(facts)
    for name, value in changes.items():
        scope, fact = name.split(".") if "." in name else (None, name)
        if not scope:
            f[fact] = value
        elif callable(value):
            f[scope][fact] = [value(i) for i in range(count(f, scope))]
        else:
            f[scope][fact] = value
    return f


def count(facts, scope):
    if scope in facts.get("count", {}):
        return facts["count"][scope]
    return next((len(v) for v in facts[scope].values() if isinstance(v, list)), 0)


def account(facts):
    """What the cores were idle for, as the report has it: waits for a CPU, for a disk, sleep, others' programs, nothing."""
    def split(get, put):
        if get("core_s") is None or get("cpu_s") is None:
            return
        left = max(0, get("core_s") - get("cpu_s"))
        for part, wanted in (("wait", get("wait_s")), ("disk", get("disk_wait_s")), ("asleep", get("asleep_s")), ("taken", get("others_s"))):
            taken = min(left, wanted or 0)
            put("idle_%s_s" % part, None if wanted is None else taken)
            left -= taken
        put("idle_s", left)

    job, bins = facts["job"], facts.get("bin", {})
    asleep = job.pop("asleep_s", 0)
    split(lambda name: asleep if name == "asleep_s" else job.get(name), lambda name, v: job.setdefault(name, v))
    n = count(facts, "bin")
    at = lambda name, i: bins[name][i] if isinstance(bins.get(name), list) else bins.get(name)
    rows = {}
    names = {"core_s": "cores_s"}
    for i in range(n):
        get = lambda name: asleep / n if name == "asleep_s" else (job.get("others_s") or 0) / n if name == "others_s" else at(names.get(name, name), i)
        split(get, lambda name, v: rows.setdefault(name, []).append(v))
    for name, values in rows.items():
        if len(values) == n:
            bins.setdefault(name, values)
    return facts


def judge(facts, site=None, builtin=None, expect=0):
    """The verdict."""
    path = os.path.join(tmpdir(), "facts.json")
    with open(path, "w") as f:
        json.dump(account(copy.deepcopy(facts)), f)
    cmd = [JUDGE] + (["--builtin", builtin] if builtin else []) + (["--site", site] if site else []) + [path]
    p = subprocess.run(cmd, capture_output=True, text=True, timeout=120)
    if p.returncode != expect:
        raise Failed("judge: status %d: %s" % (p.returncode, p.stderr))
    verdict = json.loads(p.stdout)
    verdict["found"] = {f["id"]: f for f in verdict["findings"]}
    verdict["stderr"] = p.stderr
    return verdict
