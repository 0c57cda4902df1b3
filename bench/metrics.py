# SPDX-License-Identifier: GPL-2.0-or-later
"""What a scrape of the metrics of 64 tasks costs jobprof exporter and jobprofd together, each with a snapshot of its own. Only when it is
asked for: scrapes are more than a second apart."""

import http.client
import os
import socket
import subprocess
import time

import helper
import steps
from files import JOBPROF
from table import Row

TITLE = "A scrape by Prometheus of a node with 64 tasks, all families but perf"
TASKS, SCRAPES = 64, 200
APART, AFTER = 1, 0.02  # s: a snapshot is a second old at most; connections are closed meanwhile


def used(pid):
    """ns on a CPU."""
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def scrape(connection):
    connection.request("GET", "/metrics")
    r = connection.getresponse()
    body = r.read()
    if r.status != 200 or b"\njobprof_up 1\n" not in body or b"\njobprof_job_cpu_seconds_total{" not in body:
        raise helper.Missing("an answer without the job: %d %s" % (r.status, body[:200]))
    return len(body)


def measured(jobs, opts):
    """ms of each scrape by jobprofd and by the exporter, and the bytes of an answer."""
    d, all_steps, p, port = steps.Daemon(3600, helper.ALL), [], None, free_port()
    try:
        all_steps = [steps.Step(TASKS // jobs, ["-p", 400, 3600]) for _ in range(jobs)]
        p = subprocess.Popen([JOBPROF, "exporter", "--listen", "127.0.0.1:%d" % port, "--readers", "all"], stdin=subprocess.DEVNULL,
                             env=dict(os.environ, JOBPROF_SOCKET=d.socket))
        steps.wait_until(lambda: not socket.socket().connect_ex(("127.0.0.1", port)), 10, "the exporter")
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        time.sleep(3)
        size, pids, costs = scrape(c), (d.proc.pid, p.pid), ([], [])
        for _ in range(5 if opts.quick else SCRAPES):
            time.sleep(APART)
            before = [used(pid) for pid in pids]
            scrape(c)
            time.sleep(AFTER)
            for cost, pid, b in zip(costs, pids, before):
                cost.append((used(pid) - b) / 1e6)
        return costs, size
    finally:
        for s in all_steps:
            s.end(0)
        if p:
            p.terminate()
            p.wait(20)
        d.end()


def run(helper_, opts):
    try:
        for jobs in (1, 16):
            label = "%d task%s of %d job%s" % (TASKS, "s", jobs, "s" * (jobs > 1))
            (daemon, exporter), size = measured(jobs, opts)
            yield Row("metrics", label + ": CPU of jobprofd", "ms", daemon, digits=3)
            yield Row("metrics", label + ": CPU of the exporter", "ms", exporter, digits=3)
            yield Row("metrics", label + ": CPU of both", "ms", [a + b for a, b in zip(daemon, exporter)], digits=3, target=1)
            yield Row("metrics", label + ": the answer", "KiB", [size / 1024])
    finally:
        steps.remove_cgroups()
