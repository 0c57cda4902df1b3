# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs for tests of jobprof seff: as rows of an index, and as what Slurm's perl modules give to Slurm's own seff, which
runs here without a Slurm."""

import glob
import json
import os
import pwd
import random
import shutil
import sqlite3
import subprocess

from reporting import Skipped

STATES = {"PENDING": 0, "RUNNING": 1, "COMPLETED": 3, "CANCELLED": 4, "FAILED": 5, "TIMEOUT": 6, "OUT_OF_MEMORY": 12}
NO_VAL = 0xfffffffe

SLURM_PM = r"""package Slurm;
use Exporter 'import';
our %EXPORT_TAGS = (all => []);
my @names = (NAMES);
sub new { return bless {}, 'Slurm'; }
sub load_ctl_conf { return {cluster_name => 'here'}; }
sub job_state_string { return $names[$_[1]]; }
1;
"""
SLURMDB_PM = r"""package Slurmdb;
use Exporter 'import';
use JSON::PP;
use constant {MEM_PER_CPU => 0x8000000000000000, INFINITE64 => 0xffffffffffffffff, TRES_CPU => 1, TRES_MEM => 2,
              TRES_NODE => 4, JOBCOND_FLAG_NO_TRUNC => 1};
our @EXPORT_OK = qw(MEM_PER_CPU INFINITE64 TRES_CPU TRES_MEM TRES_NODE JOBCOND_FLAG_NO_TRUNC);
our %EXPORT_TAGS = (all => \@EXPORT_OK);
sub connection_get { return 1; }
sub jobs_get {
	open my $f, '<', $ENV{SEFF_JOBS} or die;
	local $/;
	my $job = decode_json(<$f>)->{$_[1]->{step_list}};
	return $job ? [$job] : [];
}
sub find_tres_count_in_string {
	my ($text, $id) = @_;
	return $text =~ /(?:^|,)$id=(\d+)/ ? $1 : INFINITE64;
}
1;
"""


class Job:
    """What both know. Memory in KiB; per_cpu: it was asked for per CPU; peaks: of the tasks."""

    def __init__(self, job, **more):
        self.job, self.array, self.task, self.state, self.exit = job, 0, 0, "COMPLETED", 0
        self.user, self.cluster = "root", "here"
        self.cpus, self.nodes, self.cpu_s, self.elapsed, self.used = 4, 1, 100.25, 60, 1 << 20
        self.node_mb, self.per_cpu, self.peaks = 4000, False, (1.0,)
        self.__dict__.update(more)

    def row(self):
        """Columns of the table job."""
        r = {"cluster": self.cluster, "job_id": self.job, "start": 1795226400, "restart": 0, "user": self.user,
             "account": "a", "partition": "p", "name": "x", "state": self.state, "exit_code": "%d:0" % self.exit,
             "end": 1795226400 + self.elapsed, "elapsed_s": self.elapsed, "nodes": self.nodes, "cpus": self.cpus,
             "mem_asked_mb": self.node_mb, "cpu_s": self.cpu_s, "peak_sum_mb": self.used / 1024,
             "task_spread": max(self.peaks) * len(self.peaks) / sum(self.peaks), "day": 20778, "month": 24321,
             "findings": 0, "worst_rule": "", "sources": 3, "disagrees": 0, "tasks": len(self.peaks)}
        if self.state == "CANCELLED":
            r["state"] = "CANCELLED by 1000"
        if self.array:
            r.update(array_id=self.array, array_task=self.task)
        if self.per_cpu:
            r["mem_per_cpu_mb"] = self.node_mb * self.nodes / self.cpus
        return r

    def perl(self):
        """As Slurmdb::jobs_get() gives it."""
        whole = int(self.cpu_s)
        task = int(self.used * 1024 / sum(self.peaks))
        step = {"tot_cpu_sec": whole, "tot_cpu_usec": round((self.cpu_s - whole) * 1e6), "stats": {
            "tres_usage_in_tot": "1=5,2=%d" % (self.used * 1024), "tres_usage_in_max": "2=%d" % (task * max(self.peaks)),
            "tres_usage_in_ave": "2=%d" % (task * sum(self.peaks) / len(self.peaks))}}
        other = {"tot_cpu_sec": 0, "tot_cpu_usec": 0, "stats": {"tres_usage_in_tot": "2=1024", "tres_usage_in_max": "2=1024",
                                                                "tres_usage_in_ave": "2=1024"}}
        return {"jobid": self.job, "user": self.user, "gid": pwd.getpwnam(self.user).pw_gid, "state": STATES[self.state], "cluster": self.cluster,
                "alloc_cpus": self.cpus, "alloc_nodes": self.nodes, "req_mem": (1 << 63) * self.per_cpu + 1,
                "tres_req_str": "1=1,2=%d" % (self.node_mb * self.nodes), "elapsed": self.elapsed, "exitcode": self.exit << 8,
                "tres_alloc_str": "1=%d,2=%d" % (self.cpus, self.node_mb * self.nodes), "array_job_id": self.array,
                "array_task_id": self.task if self.array else NO_VAL, "steps": [other, step]}


def some_jobs():
    """Each form that a line can have, and numbers at the borders of units."""
    rng = random.Random(7)
    yield Job(101)
    yield Job(102, cpus=1, cpu_s=59.5, elapsed=3600)
    yield Job(103, nodes=3, cpus=10, cpu_s=86399.6, elapsed=86400, node_mb=1024, used=1024)
    yield Job(104, state="FAILED", exit=127, used=1023)
    yield Job(105, state="CANCELLED", cpu_s=0.4, used=1 << 30, node_mb=1 << 21)
    yield Job(106, state="TIMEOUT", per_cpu=True, nodes=2, cpus=16, cpu_s=123456.0, elapsed=100000, node_mb=32000)
    yield Job(107, array=100, task=7, state="OUT_OF_MEMORY", exit=9)
    yield Job(108, peaks=(1, 1, 2), used=3 << 20)
    yield Job(109, cpu_s=0.0, elapsed=0)
    yield Job(110, state="PENDING")
    yield Job(111, peaks=(4, 4, 4), used=3 << 20)
    yield Job(112, user="daemon", cpus=128, nodes=128, cpu_s=1e9, elapsed=7000000)
    for job in range(120, 136):
        tasks = rng.randrange(1, 9)
        yield Job(job, cpus=rng.randrange(1, 300), nodes=rng.randrange(1, 9), cpu_s=rng.randrange(10 ** rng.randrange(1, 9)) / 4,
                  elapsed=rng.randrange(10 ** rng.randrange(1, 7)), node_mb=rng.randrange(1, 10 ** rng.randrange(1, 7)),
                  used=rng.randrange(1, 10 ** rng.randrange(2, 10)) * tasks, per_cpu=rng.random() < 0.4,
                  peaks=tuple(rng.randrange(1, 5) for _ in range(tasks)), exit=rng.randrange(3))


def put_rows(path, rows):
    """Rows of an index that is there."""
    with sqlite3.connect(path) as db:
        for r in rows:
            db.execute("INSERT INTO job (%s) VALUES (%s)" % (", ".join('"%s"' % k for k in r), ", ".join("?" * len(r))),
                       list(r.values()))
    db.close()


def slurms_seff():
    """Its path: $SEFF, or where Slurm's contribs are installed."""
    for path in [os.environ.get("SEFF", ""), *sorted(glob.glob("/opt/slurm*/bin/seff")), "/usr/bin/seff", "/usr/local/bin/seff"]:
        if os.path.isfile(path) and b"Slurmdb" in open(path, "rb").read(4000):
            return path
    raise Skipped("there is no seff of Slurm's contribs; SEFF= names one")


def run_slurms(jobs, options, directory):
    """What Slurm's seff prints of each job."""
    if not shutil.which("perl"):
        raise Skipped("there is no perl")
    names = [next((n for n, v in STATES.items() if v == i), "?") for i in range(16)]
    for name, text in (("Slurm.pm", SLURM_PM.replace("NAMES", ", ".join("'%s'" % n for n in names))),
                       ("Slurmdb.pm", SLURMDB_PM)):
        with open(os.path.join(directory, name), "w") as f:
            f.write(text)
    with open(os.path.join(directory, "jobs.json"), "w") as f:
        json.dump({str(j.job): j.perl() for j in jobs}, f)
    out = {}
    for j in jobs:
        p = subprocess.run(["perl", "-I", directory, slurms_seff(), *options, str(j.job)], capture_output=True, text=True,
                           env={**os.environ, "SEFF_JOBS": os.path.join(directory, "jobs.json")})
        out[j.job] = p.returncode, p.stdout, p.stderr
    return out
