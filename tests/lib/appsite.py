# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs of users who run the same programs again and again, until now: arrays, runs that become slower from a day on, memory and time
asked for that nobody needs, GPUs that idle. The same for the same seed, but for the end."""

import random

HOUR, DAY = 3600, 86400
SHARES = "share_cpu share_kernel share_others share_quota share_wait share_disk share_asleep share_idle".split()

# name, program, nodes, cores of a node, GPUs, hours, limit in hours, memory asked in GiB, used of that, CPU used, runs a day, tasks of an array, what is found
APPS = (
    ("wrf-arctic", "/opt/wrf/wrf.exe", 4, 64, 0, 6.2, 24, 128, 0.31, 0.83, 2.2, 0, (("time.over", "note", 0.0), ("mpi.wait", "warn", 0.11))),
    ("param-sweep", "/home/u/bin/sweep", 1, 8, 0, 0.7, 4, 32, 0.05, 0.52, 0.7, 24, (("mem.over", "note", 0.0), ("cpu.unused", "bad", 0.38))),
    ("train-unet", "/opt/python/bin/python3.11", 1, 16, 4, 9.5, 12, 240, 0.44, 0.21, 1.1, 0, (("gpu.idle", "bad", 0.27), ("io.small", "warn", 0.08))),
    ("postproc", "/opt/python/bin/python3.11", 1, 4, 0, 0.15, 1, 8, 0.6, 0.9, 3.0, 0, ()),
    ("qe-relax", "/opt/qe/bin/pw.x", 2, 64, 0, 3.1, 8, 200, 0.72, 0.93, 0.9, 0, (("cpu.wait", "warn", 0.16),)),
)
WORDS = {
    "time.over": "Ran for {ran}, of {limit} that were asked for",
    "mem.over": "Used at most {used} GiB of {asked} GiB",
    "mpi.wait": "{share:.0f} % of the core time ranks waited for others",
    "cpu.unused": "{idle} of {cores} cores did nothing",
    "gpu.idle": "The GPUs did nothing for {share:.0f} % of the time",
    "io.small": "{share:.0f} % of the time went into reads of less than 4 KiB",
    "cpu.wait": "{share:.0f} % of the time threads waited for a CPU: {cores} threads on half as many cores",
}


def hm(s):
    return "%d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60)


def finding(rule, severity, share, row):
    """As a profile's report has it."""
    held = row["elapsed_s"] * row["cores"]
    a = row["mem_asked_mb"] / 1024
    text = WORDS[rule].format(ran=hm(row["elapsed_s"]), limit=hm(row["limit_s"]), used=round(row["own_peak_mb"] / 1024, 1), asked=round(a), share=100 * share,
                              idle=max(1, int(share * row["cores"])), cores=int(row["cores"]))
    f = {"id": rule, "severity": severity, "text": text, "where": "", "remedy_kind": "sentence", "remedy": "See jobprof-rules(5) on %s." % rule,
         "cost": {"saving": round(share, 3), "is_at_least": False, "core_s": round(held * share, 1)}}
    if rule == "mem.over":
        needs = float(int(row["own_peak_mb"] * 1.25) + 1)
        f.update(remedy_kind="line", remedy_code="#SBATCH --mem=%dM" % needs, remedy="Ask for less. #SBATCH --mem=%dM" % needs,
                 sets={"needs": needs, "used": row["own_peak_mb"], "asked": row["mem_asked_mb"]})
    if rule == "time.over":
        needs = float(int(row["elapsed_s"] * 1.3 / 900 + 1) * 900)
        f.update(remedy_kind="line", remedy_code="#SBATCH --time=" + hm(int(needs)), remedy="Ask for less. #SBATCH --time=" + hm(int(needs)),
                 sets={"needs": needs, "used": float(row["elapsed_s"]), "asked": float(row["limit_s"])})
    if rule == "cpu.wait":
        f.update(remedy_kind="line", remedy_code="export OMP_NUM_THREADS=1", remedy="Start fewer threads: export OMP_NUM_THREADS=1")
    return f


def shares(rng, used, lost, name):
    idle = max(0.0, 1 - used) * 0.8
    parts = {"share_cpu": used * 0.93, "share_kernel": used * 0.07, "share_idle": idle, "share_disk": (1 - used) * (0.12 if name == "train-unet" else 0.04),
             "share_wait": lost if name == "qe-relax" else 0.004, "share_asleep": (1 - used) * 0.1}
    parts = {k: v * rng.uniform(0.9, 1.1) for k, v in parts.items()}
    whole = sum(parts.values())
    return {k: round(parts.get(k, 0) / whole, 4) for k in SHARES}


class Jobs:
    def __init__(self, users, now, days=75, seed=3, gpus=True, energy=True, apps=APPS):
        self.users, self.now, self.days, self.rng = users, int(now), days, random.Random(seed)
        self.gpus, self.energy, self.apps, self.job = gpus, energy, apps, 8400000
        self.seed = seed

    def row(self, user, app, start, job, extra):
        name, program, nodes, cores, gpus, hours, limit, asked, used, cpu, _, _, found = app
        rng = self.rng
        late = name == "wrf-arctic" and start > self.now - 6 * DAY  # a change 6 days ago
        elapsed = int(hours * HOUR * rng.gauss(1.18 if late else 1, 0.02))
        state = rng.choices(("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"), (0.93, 0.04, 0.01, 0.02))[0]
        if state == "FAILED":
            elapsed = max(40, elapsed // 9)
        if state == "TIMEOUT":
            elapsed = int(limit * HOUR) + 3
        all_cores = nodes * cores
        peak = round(asked * 1024 * used * rng.gauss(1, 0.05), 1)
        held = float(elapsed * all_cores)
        use = cpu * rng.gauss(1, 0.03)
        r = {"cluster": "heron", "job_id": job, "start": start, "restart": 0, "user": user, "account": "p%02d" % (len(user) % 7 + 5), "name": "%s-%d" % (name, job % 5) if not extra else name,
             "partition": "gpu" if gpus else "batch", "qos": "normal", "state": state, "exit_code": "0:0" if state == "COMPLETED" else "1:0", "submit": start - rng.randrange(60, 9000),
             "end": start + elapsed, "elapsed_s": elapsed, "limit_s": limit * HOUR, "nodes": nodes, "node_list": "n1" if nodes == 1 else "n[1-%d]" % nodes, "cpus": all_cores, "cores": float(all_cores),
             "tasks": all_cores, "gpus": gpus * nodes, "mem_asked_mb": asked * 1024.0, "cpu_s": round(held * use, 1), "slurm_cpu_s": round(held * use * 1.01), "peak_mb": peak, "own_peak_mb": round(peak * 0.95, 1),
             "read_mb": round(40 * rng.random() * elapsed / 60, 1), "write_mb": round(9 * rng.random() * elapsed / 60, 1), "program": program, "file": "/profiles/%s/job_%d.h5" % (user, job),
             "file_mtime": start + elapsed + 20, "changed": 0, "sources": 3, "disagrees": 0, "tags": rng.choice((0, 1, 2, 8)), "coverage": 1.0, "judged": 22, "has_footprint": 1, "is_eligible": int(elapsed > 3600),
             "held_core_s": held, "held_cpu_s": held, **extra}
        if self.energy:
            r["energy_j"] = round(held * 6.1)
            r["energy_low_j"], r["energy_high_j"] = round(held * 5.8), round(held * 6.4)
        if gpus:
            r["gpu_use"] = round(min(1, max(0, rng.gauss(0.62, 0.08))), 4)
            r["held_gpu_s"] = elapsed * gpus * nodes
            r["idle_gpu_s"] = round(r["held_gpu_s"] * (1 - r["gpu_use"]), 1)
            r["lost_gpu_s"] = r["idle_gpu_s"]
        lost = sum(f[2] for f in found)
        r.update(shares(rng, use, lost, name))
        if late:  # what is more is wait for the disk
            r["share_disk"] = round(r["share_disk"] + 0.13, 4)
            r["share_cpu"] = round(r["share_cpu"] - 0.13, 4)
        r["finding_list"] = sorted((finding(rule, severity, share * rng.uniform(0.8, 1.2), r) for rule, severity, share in found if rule != "time.over" or state == "COMPLETED"), key=lambda f: -f["cost"]["core_s"])
        r["findings"] = len(r["finding_list"])
        r["worst_rule"] = r["finding_list"][0]["id"] if r["findings"] else ""
        if r["findings"]:
            r["worst_text"] = r["finding_list"][0]["text"]
            r["worst_severity"] = ("note", "warn", "bad").index(r["finding_list"][0]["severity"])
        r["cost_core_s"] = round(sum(f["cost"]["core_s"] for f in r["finding_list"]), 1)
        r["lost_core_s"] = min(r["cost_core_s"], held)
        return r

    def rows(self):
        out = []
        for user in self.users:
            for app in self.apps:
                if app[4] and not self.gpus:
                    continue
                t = self.now - self.days * DAY
                while True:
                    t += int(self.rng.expovariate(app[10]) * DAY) + 60
                    if t + app[5] * 1.3 * HOUR > self.now - 600:
                        break
                    out += [(t + 7 * k, user, app, k) for k in range(max(1, app[11]))]
        out.sort(key=lambda o: (o[0], o[1]))
        rows, first = [], 0
        for start, user, app, k in out:
            self.job += 1
            first = self.job if not k else first
            rows.append(self.row(user, app, start, self.job, {"array_id": first, "array_task": k} if app[11] else {}))
        return rows
