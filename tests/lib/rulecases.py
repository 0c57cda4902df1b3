# SPDX-License-Identifier: GPL-2.0-or-later
"""For each built-in rule: jobs that have it, and jobs that look alike and do not, as changes of a healthy one."""

from factslib import BINS, CORES, DT, NODES, TASKS, WALL, changed, healthy

CORE_S = NODES * CORES * WALL
CPU = 0.96 * CORE_S
PER_BIN = NODES * CORES * DT


def at(where, this, other):
    """A value for items from `where` on (or at it, if a set), another one for the rest."""
    return lambda i: this if (i in where if isinstance(where, (set, range)) else i >= where) else other


def used(share, **job):
    """So much of the core time is CPU time, all the time."""
    d = {"job.cpu_s": share * CORE_S, "job.cpu_share": share, "job.demand": share * NODES * CORES,
         "job.user_s": 0.97 * share * CORE_S, "job.system_s": 0.03 * share * CORE_S,
         "bin.cpu_s": share * PER_BIN, "node.cpu_s": share * CORE_S / NODES, "task.cpu_s": share * CORE_S / TASKS}
    d.update({"job." + k: v for k, v in job.items()})
    return d


def both(*parts):
    d = {}
    for p in parts:
        d.update(p)
    return d


def waiting(share, demand, cpu_share=0.95):
    """Threads wait for so much of their runnable time; demand by cores."""
    wait = demand * NODES * CORES * WALL * share
    return both(used(cpu_share), {"job.wait_share": share, "job.demand": demand * NODES * CORES, "job.wait_s": wait,
                                  "job.run_p50_s": 0.004, "bin.wait_s": wait / BINS, "node.wait_s": wait / NODES,
                                  "task.wait_s": wait / TASKS})


def unexplained(share, idle):
    """Short waits of many processes, during which so much of the core time was idle."""
    return both(waiting(share, 1.05, 0.8), {"job.run_p50_s": 0.0002, "job.forks": 1e6, "job.idle_wait_s": idle * CORE_S,
                                            "bin.idle_wait_s": idle * PER_BIN})


def rare(wait):
    """It sleeps most of the time; others use most of its cores, and it waits for them for so much of the wall time."""
    return {"job.wait_share": 0.9, "job.wait_s": wait * WALL, "job.cpu_s": wait * WALL / 9, "job.disk_wait_s": 0,
            "job.others_s": 0.8 * CORE_S, "bin.cpu_s": wait * DT / 9, "bin.wait_s": wait * DT, "bin.disk_wait_s": 0}


def stacked(idle, often=1.0):
    """That part of the core time is idle while threads wait, in that part of the bins."""
    d = both(used(1 - idle), waiting(idle, 1.0, 1 - idle))
    d["job.avoidable_s"] = idle * CORE_S
    d["task.cpus_demand"] = 1 / (1 - idle)
    d["bin.avoidable_s"] = at(range(int(BINS * often)), idle * PER_BIN / often, 0)
    return d


def waited(facts, **shares):
    """Of all waits of these facts, so much was for each; the rest for its own tasks."""
    kinds = ("own_task", "own_step", "own_job", "other_jobs", "system", "idle", "unknown")
    own = 1 - sum(shares.values())
    return both(facts, {"job.waited_%s_s" % k: facts["job.wait_s"] * (own if k == "own_task" else shares.get(k, 0))
                        for k in kinds})


def one_core(**job):
    """A job of one node; one task with 8 cores uses one of them."""
    f = healthy(nodes=1, cores=8, per_node=1)
    whole = 8 * WALL
    return changed(f, both({"job.cpu_s": WALL, "job.cpu_share": 0.125, "job.demand": 1, "bin.cpu_s": DT,
                            "node.cpu_s": WALL, "task.cpu_s": WALL, "job.core_s": whole},
                           {"job." + k: v for k, v in job.items()}))


def tail(first, load=0.02):
    """From that bin on, so much of the cores is used."""
    cpu = (first * 0.96 + (BINS - first) * load) * PER_BIN
    return {"bin.cpu_s": at(first, load * PER_BIN, 0.96 * PER_BIN), "job.cpu_s": cpu, "job.cpu_share": cpu / CORE_S,
            "job.demand": cpu / WALL, "job.user_s": cpu, "job.system_s": 0.03 * cpu,
            "bin.read_mb": at(first, 0, 40), "bin.write_mb": at(first, 0, 80), "bin.net_mb": at(first, 0, 0.3),
            "bin.port_mb": at(first, 0, 1500), "bin.disk_wait_s": at(first, 0, 4)}


def unequal(saving=0.3, balance=0.5, high=range(16)):
    """The first node's ranks do most of the work."""
    few = len(high)
    mean = (1 - saving) * WALL
    low = (mean * TASKS - few * WALL) / (TASKS - few)
    return both(used(1 - saving), {"task.cpu_s": at(high, WALL, low), "job.task_balance": balance,
                                   "job.balance_saving": saving})


def useful(share):
    """Ranks are busy all the time; samples say which share of the wall time was outside of MPI."""
    of = [share(i) for i in range(TASKS)]
    balance = sum(of) / TASKS / max(of)
    return {"task.useful_s": lambda i: of[i] * WALL, "job.load_balance": balance, "job.pop_samples": 2000,
            "job.communication_efficiency": max(of), "job.with_cpu": 1, "job.parallel_efficiency": balance * max(of)}


def by_module(**shares):
    """Of 50,000 samples, so much was in each."""
    names = {"mpi": "sampled_for_mpi", "openmp": "sampled_openmp"}
    return {"job.samples": 50000, **{"job." + names[k]: 50000 * shares.get(k, 0) for k in names}}


def straggler(factor, rest=0.6):
    cpu = [rest * WALL * factor] + [rest * WALL] * (TASKS - 1)
    total = sum(cpu)
    return both(used(total / CORE_S), {"task.cpu_s": lambda i: cpu[i], "job.task_balance": total / TASKS / cpu[0],
                                       "job.balance_saving": 1 - total / TASKS / cpu[0]})


def one_writer(share=0.98, mb=200000, load=0.1, active=range(0, BINS, 4)):
    cpu = sum(load if i in active else 0.96 for i in range(BINS)) * PER_BIN
    return both(used(cpu / CORE_S), {
        "task.io_mb": at({0}, share * mb, (1 - share) * mb / (TASKS - 1)),
        "bin.write_mb": at(active, mb / len(active), 0), "bin.read_mb": 0,
        "bin.cpu_s": at(active, load * PER_BIN, 0.96 * PER_BIN)})


def gpus(util, **gpu):
    """Eight GPUs on four nodes; util of each."""
    return changed(healthy(gpus=8), both({"gpu.util": util}, {"gpu." + k: v for k, v in gpu.items()}))


def swap(part):
    """Grows in that part of the bins."""
    return {"job.swap_peak_mb": 2150, "bin.swap_mb": lambda i: 20.0 * min(i, int(part * BINS))}


SMALL_CALLS = 0.05 * CPU / 1e-6


def small(kb, **job):
    calls = SMALL_CALLS
    d = {"write_calls": calls, "write_mb": calls * kb / 1024, "disk_write_mb": calls * kb / 1024, "read_calls": 10,
         "read_mb": 1, "disk_read_mb": 1, "net_ops": 0, "system_s": 0.12 * CPU, "user_s": 0.88 * CPU}
    d.update(job)
    return both({"job." + k: v for k, v in d.items()}, {"bin.calls": calls / BINS})


def thrash(faults=480, share=0.99, psi=0.2, refaults=400, bins=range(20, 120)):
    return both(used(0.5), {"bin.charged_share": share, "bin.major_faults": at(bins, faults * DT, 1),
                            "bin.refaults": at(bins, refaults * DT, 0), "bin.psi_mem_s": at(bins, psi * DT, 0),
                            "bin.disk_wait_s": at(bins, 0.3 * PER_BIN, 0), "job.disk_wait_s": 0.05 * CORE_S})


def sockets(mb_s, **job):
    mb = mb_s * NODES * WALL
    d = {"net_tx_mb": mb, "net_rx_mb": mb, "port_tx_mb": 3}
    d.update(job)
    return both({"job." + k: v for k, v in d.items()}, {"node.net_tx_mb": mb / NODES})


def asks(per_s, **job):
    """Clients and servers that wait for each other's small messages, so many through IP sockets per CPU second."""
    d = {"net_ops": per_s * CPU, "has_mpi": 0, "vol_switches": 2500 * CPU, "read_mb": 2000, "write_mb": 2000, "blocked_poll_s": 0.2 * CORE_S,
         **job}
    return both({"job." + k: v for k, v in d.items()}, {"task.thread_s": 2 * WALL, "task.blocked_poll_s": 0.6 * WALL, "task.blocked_futex_s": 0,
                                                       "task.blocked_pipe_s": 0})


def hands_on(system):
    """Threads and processes of a pool hand each other small pieces of work, 30,000 times per CPU second; no core is idle, and the kernel has so
    much of the CPU time."""
    d = {"vol_switches": 30000 * CPU, "read_calls": 20000 * CPU, "write_calls": 10000 * CPU, "read_mb": 2 * CPU, "write_mb": CPU, "net_ops": 0,
         "disk_read_mb": 0, "disk_write_mb": 0, "has_mpi": 0, "system_s": system * CPU, "user_s": (1 - system) * CPU, "demand": 1.5 * CORES * NODES}
    return both({"job." + k: v for k, v in d.items()}, {"task.thread_s": 2 * WALL, "task.blocked_futex_s": 0.6 * WALL, "task.blocked_pipe_s": 0.3 * WALL,
                                                       "task.blocked_poll_s": 0})


def commits():
    return both(used(0.7), small(0.5, system_s=0.06 * CPU, disk_wait_s=0.25 * CORE_S, blk_ops=SMALL_CALLS))


def loads(system):
    """Five times a second a program is started again, and takes so much of its time in the kernel."""
    n = 5 * WALL * NODES
    return {"bin.forks": n / BINS, "job.forks": n, "job.repeated_processes": n, "job.repeated_cpu_s": 0.9 * CPU, "job.minor_faults": 4e4 * CPU,
            "job.short_processes": 0, "job.short_cpu_s": 0, "job.system_s": system * CPU, "job.user_s": (1 - system) * CPU}


H = healthy()

# rule: (name, given, facts or changes of a healthy job)
CASES = {
    "cpu.unused": [
        ("half of the cores", True, used(0.5)),
        ("near miss", False, used(0.805)),
        ("a job with GPUs", False, changed(gpus(0.9), used(0.5))),
        ("cores for their memory", False, both(used(0.5), {"job.own_peak_mb": 56000})),
        ("a shell", False, used(0.1, is_interactive=1)),
        ("one core", False, changed(healthy(nodes=1, cores=1, per_node=1),
                                    {"job.cpu_share": 0.3, "job.cpu_s": 0.3 * WALL})),
        ("5 minutes less a bin", False, changed(healthy(bins=9), {"job.cpu_share": 0.5})),
    ],
    "cpu.serial": [
        ("one of 8", True, one_core()),
        ("gzip", True, changed(one_core(), {"program": "gzip"})),
        ("part of the time", False, changed(one_core(), {"bin.cpu_s": at(89, 8 * DT, DT)})),
        ("near miss", False, changed(one_core(), {"bin.cpu_s": 0.84 * DT})),
        ("stacked", False, one_core(wait_share=0.8)),
        ("feeds a GPU", False, one_core(gpus=1)),
        ("others use most of the rest", True, one_core(others_s=6.5 * WALL)),
        ("others use the rest", False, one_core(others_s=6.65 * WALL)),
    ],
    "cpu.nodes_unused": [
        ("one of four works", True, both(used(0.24), {"node.active_bins": at({0}, BINS, 1),
                                                      "node.cpu_s": at({0}, 0.96 * CORES * WALL, 1)})),
        ("two bins each", False, {"node.active_bins": at({0}, BINS, 2)}),
        ("no rows of a node", False, {"node.active_bins": at({0}, BINS, 0), "node.coverage": at({0}, 1, 0.1)}),
        ("not known of a node", False, {"node.active_bins": at({0}, None, BINS)}),
        ("GPUs work there", False, changed(gpus(0.9), {"node.active_bins": at({0}, BINS, 0)})),
        ("all sleep", False, {"node.active_bins": 0}),
    ],
    "cpu.oversubscribed": [
        ("twice the threads", True, waiting(0.5, 2.0)),
        ("near miss: waiting", False, waiting(0.095, 1.2)),
        ("near miss: demand", False, waiting(0.2, 1.09)),
        ("hyper-threads in use", False, both(waiting(0.2, 1.8), {"job.cpus": 2 * NODES * CORES})),
        ("bursts of processes", False, both(waiting(0.2, 1.5), {"job.run_p50_s": 0.0002, "job.forks": 1e6})),
        ("threads with barriers", True, both(waiting(0.8, 4.0), {"job.run_p50_s": 0.00005, "job.vol_switches": 4100 * CPU})),
        ("threads that wait shortly and rarely", False, both(waiting(0.8, 4.0), {"job.run_p50_s": 0.00005, "job.vol_switches": 3900 * CPU})),
        ("barriers leave cores idle", True, both(waiting(0.8, 4.0, 0.5), {"job.run_p50_s": 0.00005, "job.vol_switches": 4100 * CPU})),
        ("clients and servers", False, both(waiting(0.8, 4.0), asks(0, vol_switches=9000 * CPU))),
        ("yields", False, both(waiting(0.5, 2.0), {"job.invol_switches": 2e4 * CPU})),
        ("waits for its own threads", True, waited(waiting(0.5, 2.0), system=0.49)),
        ("waits for others", False, waited(waiting(0.5, 2.0), other_jobs=0.51)),
        ("of a build", True, both(waiting(0.5, 2.0), {"job.forks": 1e6})),
        ("more ranks than cores", True, both(waiting(0.5, 2.0), {"job.tasks": 2 * NODES * CORES})),
        ("with idle cores", True, both(waiting(0.5, 2.0), {"job.avoidable_s": 0.05 * CORE_S, "job.vol_switches": 4100 * CPU})),
    ],
    "cpu.stacked": [
        ("ranks share cores", True, stacked(0.6)),
        ("near miss", False, stacked(0.049)),
        ("rarely", False, stacked(0.3, 0.4)),
        ("throttled", False, both(stacked(0.6), {"job.throttled_s": 0.6 * CORE_S})),
        ("near miss: demand", False, both(stacked(0.6), {"task.cpus_demand": 1.09, "task.cpus_allowed": 8, "job.vol_switches": 2000 * CPU})),
        ("tasks may use all cores", False, both(stacked(0.19), {"task.cpus_allowed": CORES})),
        ("threads bind themselves", True, both(stacked(0.6), {"task.cpus_allowed": CORES})),
        ("they wait shortly", False, both(stacked(0.6), {"task.cpus_allowed": CORES, "job.vol_switches": 2000 * CPU})),
        ("more of them than cores", False, both(stacked(0.6), {"task.cpus_allowed": CORES, "job.demand": 1.2 * NODES * CORES})),
        ("more of them, seen beside idle cores", True, both(stacked(0.6), {"task.cpus_allowed": CORES, "job.demand": 1.2 * NODES * CORES,
                                                                           "job.queued": 97 * WALL})),
        ("a command beside others", False, both(stacked(0.6), {"job.is_slurm": 0, "job.others_s": 0.3 * CORE_S, "task.cpus_demand": 1})),
        ("others are not known", False, both(stacked(0.6), {"job.is_slurm": 0, "job.others_s": None, "task.cpus_demand": 1})),
        ("a command alone", True, both(stacked(0.6), {"job.is_slurm": 0})),
        ("a command bound to a core", True, both(stacked(0.6), {"job.is_slurm": 0, "job.others_s": None, "task.cpus_demand": 2})),
        ("waits for its own tasks", True, waited(both(stacked(0.6), {"job.is_slurm": 0, "job.others_s": None}), system=0.49)),
        ("waits for others", False, waited(stacked(0.6), other_jobs=0.51)),
        ("a neighbour on its core", False, both(stacked(0.6), {"job.is_slurm": 0, "job.others_s": None, "task.cpus_demand": 1})),
    ],
    "cpu.throttled": [
        ("an eighth stopped", True, both(used(0.8), {"job.throttled_s": 0.12 * CORE_S})),
        ("near miss", False, {"job.throttled_s": 0.019 * CPU}),
        ("no controller", False, {"job.throttled_s": None}),
    ],
    "cpu.neighbour": [
        ("another job", True, both(waiting(0.1, 0.98, 0.88), {"job.avoidable_s": 0.01 * CORE_S})),
        ("seen to use the cores", True, both(waiting(0.2, 1.5, 0.8), {"job.others_s": 0.11 * CORE_S})),
        ("near miss: others", False, both(waiting(0.2, 1.5, 0.8), {"job.others_s": 0.099 * CORE_S})),
        ("near miss", False, waiting(0.049, 0.98)),
        ("own threads", False, waiting(0.1, 1.05)),
        ("one that could run for little of the time", True, rare(0.021)),
        ("near miss: time", False, rare(0.019)),
        ("whole nodes", False, both(waiting(0.1, 0.98, 0.88), {"job.is_exclusive": 1})),
        ("stacked", False, stacked(0.1)),
        ("other jobs had the CPU", True, waited(waiting(0.2, 1.5, 0.8), other_jobs=0.4, system=0.11)),
        ("many threads behind others", True, waited(waiting(0.9, 8, 0.1), system=0.9)),
        ("near miss: the CPU was others'", False, waited(waiting(0.2, 1.5, 0.8), other_jobs=0.3, system=0.19)),
        ("its own tasks had it", False, waited(both(waiting(0.2, 1.5, 0.8), {"job.others_s": 0.11 * CORE_S}), system=0.4)),
        ("its own tasks had what others left", True, waited(both(waiting(0.5, 1.0, 0.5), {"job.others_s": 0.5 * CORE_S}), system=0.4)),
        ("cores were free", False, waited(both(waiting(0.2, 1.0, 0.5), {"job.others_s": 0.3 * CORE_S}), system=0.4)),
    ],
    "cpu.waiting": [
        ("bursts that no rule explains", True, unexplained(0.30, 0.26)),
        ("near miss: waiting", False, unexplained(0.24, 0.26)),
        ("near miss: of the core time", False, unexplained(0.30, 0.24)),
        ("others had the CPU", False, waited(unexplained(0.30, 0.26), system=0.9)),
    ],
    "cpu.slow_clock": [
        ("a hot node", True, {"node.clock_mhz": at({2}, 1900, 2800), "node.clock_slow": at({2}, 0.9, 0),
                              "node.pkg_throttle_s": at({2}, 0.3 * WALL, 0)}),
        ("near miss", False, {"node.clock_slow": at({2}, 0.49, 0)}),
        ("all are alike", False, {"node.clock_slow": 0.9}),
        ("one node", False, changed(healthy(nodes=1), {"node.clock_slow": 0.9})),
        ("no clock", False, {"node.clock_mhz": None, "node.clock_slow": None}),
    ],
    "node.slow": [
        ("one does less", True, {"node.speed": at({2}, 0.87, 1), "node.speed_slow": at({2}, 0.95, 0),
                                 "node.speed_z": at({2}, -9, 0.2)}),
        ("near miss: speed", False, {"node.speed": at({2}, 0.905, 1), "node.speed_slow": at({2}, 0.95, 0),
                                     "node.speed_z": at({2}, -9, 0.2)}),
        ("near miss: time", False, {"node.speed": at({2}, 0.87, 1), "node.speed_slow": at({2}, 0.79, 0),
                                    "node.speed_z": at({2}, -9, 0.2)}),
        ("another model", False, {"node.speed": at({2}, 0.87, 1), "node.speed_slow": at({2}, 0.95, 0),
                                  "node.speed_z": at({2}, -9, 0.2), "node.model": at({2}, 2, 1)}),
        ("models are not known", False, {"node.speed": at({2}, 0.87, 1), "node.speed_slow": at({2}, 0.95, 0),
                                         "node.speed_z": at({2}, -9, 0.2), "node.model": None}),
        ("other work", False, {"node.speed": at({2}, 0.87, 1), "node.speed_slow": at({2}, 0.95, 0),
                               "node.speed_z": at({2}, -9, 0.2), "node.cpu_s": at({2}, 1e4, CPU / NODES)}),
    ],
    "mpi.imbalance": [
        ("a node does most", True, unequal()),
        ("near miss: balance", False, unequal(balance=0.86)),
        ("near miss: saving", False, unequal(saving=0.049)),
        ("different programs", False, both(unequal(), {"job.programs": 2})),
        ("ranks take turns on a core", False, both(unequal(), {"job.with_cpu": 0.59})),
        ("near miss: turns", True, both(unequal(), {"job.with_cpu": 0.61})),
        ("one task", False, changed(healthy(nodes=1, per_node=1), {"job.task_balance": 0.5, "job.balance_saving": 0.5})),
        ("its end explains it", False, both(unequal(saving=0.4), tail(60), {
            "bin.task_max_s": at(60, 30, 20), "bin.task_mean_s": at(60, 1, 20)})),
        ("its end writes", True, both(unequal(saving=0.4), tail(60), {
            "bin.task_max_s": at(60, 30, 20), "bin.task_mean_s": at(60, 1, 20), "bin.write_mb": at(60, 2000, 0)})),
        ("its end waits for a core", True, both(unequal(saving=0.4), tail(60), {
            "bin.task_max_s": at(60, 30, 20), "bin.task_mean_s": at(60, 1, 20), "bin.wait_s": at(60, 15, 0)})),
        ("before an end that does nothing", True, both(unequal(saving=0.4), tail(60, 0.006), {
            "bin.task_max_s": at(60, 0, 30), "bin.task_mean_s": at(60, 0, 18)})),
        ("unequal but for its first bin", True, both(used(0.2), unequal(saving=0.4), {
            "bin.cpu_s": at({0}, 0.3 * PER_BIN, 0.2 * PER_BIN),
            "bin.task_max_s": at({0}, 20, 30), "bin.task_mean_s": at({0}, 18, 15)})),
        ("ranks that yield", False, both(unequal(), {"job.invol_switches": 5100 * CPU})),
        ("near miss: ranks that yield", True, both(unequal(), {"job.invol_switches": 3400 * CPU})),
        ("ranks that yield, by samples", True, both(useful(lambda i: 0.9 if i < 16 else 0.5),
                                                    {"job.invol_switches": 5100 * CPU})),
        ("ranks that spin", True, useful(lambda i: 0.9 if i < 16 else 0.5)),
        ("near miss: ranks that spin", False, useful(lambda i: 0.95 if i < 16 else 0.78)),
        ("equal work in unequal CPU time", False, both(unequal(), useful(lambda i: 0.5))),
    ],
    "mpi.straggler": [
        ("a rank beside those that spin", True, useful(lambda i: 0.9 if i == 0 else 0.6)),
        ("near miss: spin", False, useful(lambda i: 0.9 if i == 0 else 0.7)),
        ("it alone does not wait inside MPI", False, both(straggler(1.6), useful(lambda i: 0.5))),
        ("rank 0", True, straggler(1.6)),
        ("near miss", False, straggler(1.29)),
        ("others differ too", False, both(straggler(1.6), {
            "task.cpu_s": lambda i: WALL * (0.96 if i == 0 else 0.8 if i == 1 else 0.6)})),
        ("the rank that writes", False, both(straggler(1.6), one_writer(), {
            "task.cpu_s": straggler(1.6)["task.cpu_s"]})),
        ("others are busy", False, straggler(1.3, rest=0.96)),
    ],
    "cpu.tail": [
        ("a third", True, tail(80)),
        ("near miss: length", False, tail(BINS - 11)),
        ("near miss: load", False, tail(80, 0.26)),
        ("it writes", False, both(tail(80), {"bin.write_mb": at(80, 2000, 0)})),
        ("threads wait for a core", False, both(tail(80), {"bin.wait_s": at(80, 15, 0)})),
        ("GPUs work", False, changed(gpus(0.9), tail(80))),
        ("never busy", False, used(0.1)),
        ("a shell", False, both(tail(80), {"job.is_interactive": 1})),
        ("ranks wait for the one with most work", False, both(tail(80, 0.06), {"job.load_balance": 0.7, "job.pop_samples": 1e5})),
        ("unequal ranks, none of which works", True, both(tail(80, 1e-5), {"job.load_balance": 0.7, "job.pop_samples": 1e5,
                                                                                "bin.read_mb": at(80, 3, 40)})),
    ],
    "job.stopped": [
        ("it hangs", True, both(tail(60, 0.0001), {"job.is_running": 1, "job.is_completed": 0})),
        ("near miss", False, tail(BINS - 9, 0.0001)),
        ("a little CPU", False, tail(60, 0.006)),
        ("it reads", False, both(tail(60, 0.0001), {"bin.read_mb": 3})),
        ("reading is not known", False, both(tail(60, 0.0001), {"bin.read_mb": None})),
        ("GPUs work", False, changed(gpus(0.9), tail(60, 0.0001))),
        ("GPUs are not known", False, changed(gpus(0.9), both(tail(60, 0.0001), {"bin.gpu": None}))),
        ("a shell", False, both(tail(60, 0.0001), {"job.is_interactive": 1})),
    ],
    "mem.over": [
        ("a sliver", True, {"job.own_peak_mb": 9000, "job.request_mb": 120000, "job.cores": 16}),
        ("near miss", False, {"job.own_peak_mb": 25000, "job.request_mb": 120000, "job.cores": 16}),
        ("few GB-hours", False, {"job.own_peak_mb": 1000, "job.request_mb": 20000, "job.cores": 16}),
        ("most cores of the node", False, {"job.own_peak_mb": 9000, "job.request_mb": 120000, "job.cores": 56}),
        ("by default", False, {"job.own_peak_mb": 9000, "job.request_mb": 120000, "job.cores": 16,
                               "job.is_request_default": 1}),
        ("failed", False, {"job.own_peak_mb": 9000, "job.request_mb": 120000, "job.cores": 16, "job.is_completed": 0}),
    ],
    "mem.near_limit": [
        ("31.2 of 32 GB", True, {"node.own_peak_mb": at({1}, 31.2 * 1024, 9000), "node.limit_mb": 32768}),
        ("near miss", False, {"node.own_peak_mb": 0.899 * 64000}),
        ("cache fills it", False, {"node.charged_peak_mb": 64000}),
        ("no limit", False, {"node.limit_mb": None, "node.own_peak_mb": 1e6}),
    ],
    "mem.leak": [
        ("will not fit", True, {"job.leak_m": 0.5, "job.leak_mb_s": 0.4, "job.leak_low_mb_s": 0.38,
                                "job.leak_high_mb_s": 0.42, "job.leak_now_mb": 63000, "job.leak_limit_mb": 64000,
                                "job.is_running": 1, "job.limit_s": 4 * WALL}),
        ("near miss", False, {"job.leak_m": 0.09, "job.leak_mb_s": 0.4, "job.leak_low_mb_s": 0.38,
                              "job.leak_high_mb_s": 0.42, "job.leak_now_mb": 50000, "job.leak_limit_mb": 64000}),
        ("a little", False, {"job.leak_m": 0.5, "job.leak_mb_s": 0.06, "job.leak_low_mb_s": 0.05,
                             "job.leak_high_mb_s": 0.07, "job.leak_now_mb": 3.4, "job.own_peak_mb": 3.4,
                             "job.leak_limit_mb": None}),
        ("may not grow", False, {"job.leak_m": 0.5, "job.leak_mb_s": 0.4, "job.leak_low_mb_s": -0.1,
                                 "job.leak_high_mb_s": 0.9, "job.leak_now_mb": 50000, "job.leak_limit_mb": 64000}),
        ("it has just begun", False, {"job.leak_m": 0.5, "job.leak_mb_s": 0.4, "job.leak_low_mb_s": 0.38,
                                      "job.leak_high_mb_s": 0.42, "job.leak_now_mb": 50000, "job.is_running": 1,
                                      "job.leak_limit_mb": 64000, "job.limit_s": 6 * WALL}),
    ],
    "mem.oom": [
        ("two killed", True, {"job.oom_kills": 2, "node.oom_kills": at({3}, 2, 0), "job.is_completed": 0}),
        ("none", False, {}),
        ("not known", False, {"job.oom_kills": None}),
    ],
    "mem.thrash": [
        ("pages come back", True, thrash()),
        ("near miss: faults", False, thrash(faults=99)),
        ("pages that are read ahead come back", True, thrash(faults=8, refaults=3300)),
        ("near miss: such pages", False, thrash(faults=8, refaults=3100)),
        ("with refaults that are not known", True, both(thrash(), {"bin.refaults": None})),
        ("room in memory", False, thrash(share=0.94)),
        ("a large input", False, thrash(refaults=10)),
        ("the start", False, thrash(bins=range(0, 2))),
    ],
    "mem.swap": [
        ("grows", True, swap(0.5)),
        ("near miss", False, swap(0.29)),
        ("without traffic", False, {"job.swap_peak_mb": 2150, "bin.swap_mb": 2150}),
        ("a little", False, both(swap(0.5), {"job.swap_peak_mb": 40})),
    ],
    "cpu.spin_yield": [
        ("slices of 8 us", True, {"job.invol_switches": 125000 * CPU}),
        ("near miss", False, {"job.invol_switches": 9900 * CPU}),
        ("wakes preempt", False, {"job.invol_switches": 25000 * CPU, "job.vol_switches": 41000 * CPU}),
        ("time slices", False, both(waiting(0.5, 2.0), {"job.invol_switches": 800 * CPU})),
        ("inside MPI", True, both({"job.invol_switches": 125000 * CPU}, by_module(mpi=0.6))),
        ("inside OpenMP", True, both({"job.invol_switches": 125000 * CPU}, by_module(openmp=0.6))),
    ],
    "io.wait": [
        ("a quarter", True, both(used(0.7), {"job.disk_wait_s": 0.25 * TASKS * WALL, "bin.disk_wait_s": 0.25 * TASKS * DT})),
        ("near miss", False, both(used(0.7), {"job.disk_wait_s": 0.099 * TASKS * WALL})),
        ("cores work meanwhile", False, {"job.disk_wait_s": 0.25 * TASKS * WALL}),
        ("threads that wait little each", False, both(used(0.9), {"job.disk_wait_s": 0.08 * CPU})),
        ("not known", False, both(used(0.7), {"job.disk_wait_s": None})),
        ("a commit for each row", True, commits()),
        ("asynchronous requests", True, both(used(0.7), {"job.disk_wait_s": 0, "job.blocked_disk_s": 0.25 * TASKS * WALL,
                                                         "job.idle_asleep_s": 0.3 * CORE_S})),
    ],
    "io.small": [
        ("500 bytes", True, small(0.5)),
        ("a commit for each row", False, commits()),
        ("beside asynchronous reads", False, small(0.5, disk_wait_s=0.25 * CORE_S, disk_read_mb=4 * SMALL_CALLS * 0.5 / 1024)),
        ("near miss: beside asynchronous reads", True, small(0.5, disk_wait_s=0.25 * CORE_S, disk_read_mb=SMALL_CALLS * 0.5 / 1024)),
        ("a program is loaded before", True, small(0.5, disk_wait_s=0.09 * CORE_S, disk_read_mb=400 * SMALL_CALLS * 0.5 / 1024)),
        ("sockets that are not IP's, and a program that is loaded", False, both(small(0.5), asks(0, read_calls=SMALL_CALLS))),
        ("near miss", False, small(4.05)),
        ("pipes", False, small(0.5, disk_write_mb=0)),
        ("sockets", False, small(0.5, net_ops=2 * SMALL_CALLS)),
        ("sockets are not known", False, small(0.5, net_ops=None)),
        ("no time lost", False, small(0.5, system_s=0.03 * CPU, user_s=0.97 * CPU)),
        ("calls that take next to no time", False, both(small(0.5), {
            "job.write_calls": 4.1e6, "job.write_mb": 2000, "job.disk_write_mb": 2000})),
        ("of programs that are loaded again and again", False, both(small(0.5), {"bin.forks": 900 * DT * NODES,
                                                                                 "job.forks": 900 * WALL * NODES})),
        ("few calls", False, small(0.5, write_calls=900, write_mb=0.5, disk_write_mb=0.5)),
    ],
    "io.metadata": [
        ("2300 a second", True, {"bin.opens": at(range(10, 90), 2300 * DT, 0), "job.io_congestion_ops": 2300}),
        ("near miss", False, {"bin.opens": 39 * DT}),
        ("imports at the start", False, {"bin.opens": at(range(0, 4), 2300 * DT, 0)}),
        ("mounts", True, {"job.is_exclusive": 1, "job.mount_meta_requests": 30000, "job.mount_request_s": 0.2 * WALL}),
        ("mounts of shared nodes", False, {"job.mount_meta_requests": 30000, "job.mount_request_s": 0.2 * WALL}),
    ],
    "io.one_rank": [
        ("rank 0 writes", True, one_writer()),
        ("near miss: share", False, one_writer(share=0.89)),
        ("others compute", False, one_writer(load=0.9)),
        ("little", False, one_writer(mb=900)),
        ("three tasks", False, healthy(nodes=1, per_node=3)),
    ],
    "io.periodic": [
        ("20 stops", True, {"job.io_periods": 20, "job.io_period_s": 180, "job.io_period_idle_s": 0.12 * CORE_S}),
        ("near miss", False, {"job.io_periods": 9, "job.io_period_s": 180, "job.io_period_idle_s": 0.12 * CORE_S}),
        ("none", False, {}),
    ],
    "net.errors": [
        ("a slow port", True, {"node.port_rate": at({2}, 50, 100)}),
        ("segments sent again", True, {"job.tcp_retrans": 9000, "bin.tcp_retrans": 9000 / BINS * 6,
                                       "bin.net_mb": 60}),
        ("few of many", False, {"job.tcp_retrans": 60000, "bin.tcp_retrans": 500, "bin.net_mb": 30000}),
        ("near miss", False, {"job.tcp_retrans": 99, "bin.tcp_retrans": 500}),
        ("a few errors", False, {"node.port_errors": 3}),
        ("a link went down once", True, {"node.links_down": at({1}, 1, 0)}),
        ("no ports", False, {"node.port_rate": None, "node.port_errors": None}),
    ],
    "numa.remote": [
        ("0.41", True, {"job.remote_loads": 0.41, "task.numa_nodes": 2}),
        ("near miss", False, {"job.remote_loads": 0.3, "task.numa_nodes": 2}),
        ("bound", False, {"job.remote_loads": 0.41}),
        ("few loads", False, {"job.remote_loads": 0.41, "task.numa_nodes": 2, "job.node_loads": 9e4 * CORE_S * 0.96}),
        ("one task per node", False, changed(healthy(per_node=1), {"job.remote_loads": 0.41, "task.numa_nodes": 2})),
    ],
    "net.not_fabric": [
        ("sockets", True, sockets(90)),
        ("near miss", False, sockets(49)),
        ("to a server", False, sockets(90, net_rx_mb=5)),
        ("IP on the fabric", False, sockets(90, ipoib_mb=90 * WALL * NODES)),
        ("one node sends", False, both(sockets(90), {"node.net_tx_mb": at({0}, 90 * WALL * NODES, 0)})),
        ("no fabric", False, sockets(90, ports_up=0)),
        ("fabric is not known", False, sockets(90, ports_up=None, port_tx_mb=None)),
    ],
    "gpu.idle": [
        ("two of eight", True, gpus(at({2, 3}, 0, 0.9), idle_longest_s=at({2, 3}, WALL, 40))),
        ("near miss", False, gpus(0.255)),
        ("split", False, gpus(None, is_split=1)),
        ("split, with numbers", False, gpus(0.01, is_split=1)),
        ("stage-in", False, gpus(0.7, idle_from_start_s=890, idle_longest_s=890)),
        ("no GPU", False, {}),
        ("half an hour less a bin", False, changed(healthy(bins=59, gpus=8), {"gpu.util": 0})),
    ],
    "gpu.offload": [
        ("takes turns", True, changed(gpus(0.5), {"job.gpu_periods": 140, "job.gpu_period_s": 26, "bin.gpu": 0.4})),
        ("near miss", False, changed(gpus(0.5), {"job.gpu_periods": 9, "job.gpu_period_s": 26, "bin.gpu": 0.4})),
        ("no GPU", False, {"job.gpu_periods": 140}),
    ],
    "gpu.throttled": [
        ("hot", True, gpus(0.9, throttled=at({1}, 0.22, 0))),
        ("near miss", False, gpus(0.9, throttled=0.049)),
        ("not known", False, gpus(0.9, throttled=None)),
    ],
    "time.over": [
        ("5 % of a day", True, {"job.limit_s": 20 * WALL}),
        ("near miss", False, {"job.limit_s": WALL / 0.605}),
        ("five minutes are the least", False, {"job.limit_s": 300, "job.job_elapsed_s": 60}),
        ("failed", False, {"job.limit_s": 20 * WALL, "job.is_completed": 0}),
        ("a shell", False, {"job.limit_s": 20 * WALL, "job.is_interactive": 1}),
        ("no limit", False, {"job.limit_s": None}),
    ],
    "time.short": [
        ("4120 of 12 s", True, {"job.runs_per_day": 4120, "job.wall_s": 12}),
        ("near miss", False, {"job.runs_per_day": 99, "job.wall_s": 12}),
        ("work of a minute", False, {"job.runs_per_day": 4120, "job.wall_s": 60}),
        ("no index", False, {"job.runs_per_day": None, "job.wall_s": 12}),
        ("an array of 500", True, {"job.runs_per_day": None, "job.array_tasks": 500, "job.wall_s": 12}),
        ("an array of 99", False, {"job.runs_per_day": None, "job.array_tasks": 99, "job.wall_s": 12}),
        ("an array with real work", False, {"job.runs_per_day": None, "job.array_tasks": 500, "job.wall_s": 600}),
        ("it runs", False, {"job.runs_per_day": None, "job.array_tasks": 500, "job.wall_s": 12, "job.is_running": 1}),
    ],
    "job.fragmented": [
        ("64 cores on 16 nodes", True, changed(healthy(nodes=16, cores=4, per_node=4),
                                               {"job.cores_per_node": 64, "job.own_sum_peak_mb": 30000})),
        ("near miss", False, {"job.cores_per_node": 16}),
        ("memory needs them", False, changed(healthy(nodes=16, cores=4, per_node=4), {"job.cores_per_node": 64})),
        ("GPUs need them", False, changed(healthy(nodes=16, cores=4, per_node=4, gpus=16),
                                          {"job.cores_per_node": 64, "job.own_sum_peak_mb": 30000})),
    ],
    "cpu.system": [
        ("44 %", True, {"job.system_s": 0.44 * CPU, "job.user_s": 0.56 * CPU, "job.minor_faults": 210000 * CPU}),
        ("a mapped file", True, {"job.system_s": 0.44 * CPU, "job.user_s": 0.56 * CPU, "job.major_faults": 8000 * CPU,
                                 "job.vol_switches": 9000 * CPU}),
        ("near miss", False, {"job.system_s": 0.299 * CPU, "job.user_s": 0.701 * CPU}),
        ("little CPU time", False, used(0.00003, system_s=50)),
        ("requests to a disk", False, {"job.system_s": 0.44 * CPU, "job.user_s": 0.56 * CPU, "job.vol_switches": 25000 * CPU, "job.blk_ops": 24000 * CPU,
                                       "job.minor_faults": 0}),
        ("new processes", False, both({"job.system_s": 0.44 * CPU, "job.user_s": 0.56 * CPU},
                                      {"job.forks": 4e8, "bin.forks": 4e8 / BINS})),
    ],
    "proc.forks": [
        ("a loop of a shell", True, {"bin.forks": 50 * DT * NODES, "job.forks": 50 * WALL * NODES}),
        ("near miss", False, {"bin.forks": 19.9 * DT * NODES, "job.forks": 19.9 * WALL * NODES}),
        ("a program that is loaded again and again", True, loads(0.3)),
        ("near miss: loading", False, loads(0.15)),
        ("a build", False, {"bin.forks": 50 * DT * NODES, "job.forks": 50 * WALL * NODES, "program": "make"}),
        ("a short burst", False, {"bin.forks": at(range(9), 50 * DT * NODES, 0)}),
        ("a short run, all the time", True, changed(healthy(bins=2), {"bin.forks": 50 * DT * NODES, "scale": 0.01})),
        ("the start of a short run", False, changed(healthy(bins=4), {"bin.forks": at({0}, 50 * DT * NODES, 0),
                                                                      "scale": 0.01})),
    ],
    "sync.fine": [
        ("21,000 sleeps", True, both(used(0.6), {"job.vol_switches": 21000 * CPU})),
        ("near miss", False, both(used(0.6), {"job.vol_switches": 3999 * 0.6 * CORE_S})),
        ("a server", False, both(used(0.6), {"job.vol_switches": 21000 * CPU, "job.net_ops": 20000 * CPU})),
        ("one request at a time", True, both(used(0.6), asks(9000))),
        ("near miss: messages", False, both(used(0.6), asks(2300))),
        ("large messages", False, both(used(0.6), asks(9000, read_mb=9000 * CPU / 900))),
        ("several clients", False, both(used(0.76), asks(9000))),
        ("disks", False, both(used(0.6), {"job.vol_switches": 21000 * CPU, "job.disk_wait_s": 0.2 * CORE_S})),
        ("cores are busy", False, {"job.vol_switches": 21000 * CPU}),
        ("cores are busy with handing on", True, hands_on(0.5)),
        ("near miss: handing on", False, hands_on(0.15)),
    ],
    "sync.spin": [
        ("a quarter inside OpenMP", True, by_module(openmp=0.25)),
        ("near miss", False, by_module(openmp=0.24)),
        ("few samples", False, {"job.samples": 90, "job.sampled_openmp": 60}),
    ],
    "cpu.migrates": [
        ("26 moves", True, {"job.migrations": 26 * CPU}),
        ("near miss", False, {"job.migrations": 9.9 * CPU}),
        ("more threads", False, both(waiting(0.2, 1.3), {"job.migrations": 26 * CPU})),
        ("short sleeps", False, {"job.migrations": 26 * CPU, "job.vol_switches": 5000 * CPU}),
        ("near miss: sleeps", False, {"job.migrations": 26 * CPU, "job.vol_switches": 4.1 * 26 * CPU}),
        ("a pool of threads that ask a server", False, {"job.migrations": 380 * CPU, "job.vol_switches": 3400 * CPU}),
    ],
    "energy.idle": [
        ("62 %", True, both(used(0.3), {"job.energy_static_j": 0.62 * 4e6})),
        ("near miss", False, both(used(0.3), {"job.energy_static_j": 0.599 * 4e6})),
        ("wide bounds", False, both(used(0.3), {"job.energy_static_j": 0.62 * 4e6, "job.energy_high_j": 5.2e6})),
        ("busy cores", False, {"job.energy_static_j": 0.62 * 4e6}),
    ],
    "self.cost": [
        ("0.7 %", True, {"job.probe_s": 0.007 * CPU}),
        ("near miss", False, {"job.probe_s": 0.005 * CPU}),
        ("not known", False, {"job.probe_s": None}),
    ],
}


def facts_of(what):
    return what if "job" in what else changed(H, what)
