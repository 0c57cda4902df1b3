# SPDX-License-Identifier: GPL-2.0-or-later
"""What jobprofd and its writer use: CPU, memory, bytes in the file, and how soon a row is there."""

import os
import subprocess
import time

import journal
import steps
import stock
from helper import ALL, BUILD, SCHED, tmpdir
from stats import quartiles
from table import Row

TITLE = "jobprofd and jobprof-writer, all families but perf where not said otherwise"

HOUR = 3600  # rows
PUBLISH = 60  # seconds, the default
PUBLISH_SHARE = 250  # a file that takes more than one part in so many comes less often (steps.c)


def per_sample(d, seconds):
    """CPU and wall ms per sample, one value per part of the time. Samples are the Step's rows."""
    cpu, wall = [], []
    before, rows = d.cpu(), len(d.rows().of("Step"))
    for _ in range(max(2, int(seconds))):
        time.sleep(1 if seconds >= 2 else seconds / 2)
        now, n = d.cpu(), len(d.rows().of("Step"))
        if n > rows:
            cpu.append((now[0] - before[0]) / (n - rows) / 1e6)
            wall.append((now[0] - before[0] + now[1] - before[1]) / (n - rows) / 1e6)
        before, rows = now, n
    return cpu, wall


def sampling(tasks, families, opts, seconds):
    """A step sampled ten times a second: its costs, its memory and its file."""
    d = steps.Daemon(0.1, families)
    step = None
    try:
        step = steps.Step(tasks, ["-p", 50 if tasks <= 16 else 400, 600])
        steps.wait_until(lambda: len(d.rows().of("Step")) >= 3, 20, "the first rows; jobprofd "
                         "said: " + d.said())
        time.sleep(0.2 if opts.quick else 1)
        cpu, wall = per_sample(d, seconds)
        memory = d.memory()
        step.end(0)
        return cpu, wall, memory, d.file(step)
    finally:
        if step:
            step.end(0)
        d.end()


def tables(path):
    """[(name, rows, bytes of a row, bytes stored)]"""
    out = subprocess.run([os.path.join(BUILD, "bench", "jph5size"), path], capture_output=True,
                         text=True, check=True).stdout
    for line in out.splitlines():
        name, rows, width, stored = line.rsplit(" ", 3)
        yield name, int(rows), int(width), int(stored)


def stored(path, label):
    """Bytes in the file per row of a task, alone and with what belongs to that row: its part of
    the histograms."""
    tasks, others, width = {}, {}, {}
    for name, rows, row_bytes, size in tables(path):
        part = name.split("/")
        if "Totals" in part or len(part) < 3 or rows < 2:
            continue
        series, task = part[-2], part[-1]
        width[series] = row_bytes
        if series == "Tasks":
            tasks[task] = size / rows
        else:
            others[task] = others.get(task, 0) + size / rows
    what = ", ".join("%s %d" % w for w in sorted(width.items()))
    yield Row("daemon", "bytes per row of Tasks, %s (uncompressed: %s)" % (label, what), "B",
              list(tasks.values()), target=200)
    if others:
        yield Row("daemon", "bytes per row of Tasks and its histograms, " + label, "B",
                  [tasks[t] + others.get(t, 0) for t in tasks])


def first_rows(opts):
    """ms from a task's first instruction to the instant of its first row, rows every 0.1 s."""
    values = []
    for _ in range(2 if opts.quick else 8):
        d = steps.Daemon(0.1, SCHED)
        try:
            birth = os.path.join(d.dir, "birth")
            step = steps.Step(1, ["-b", birth, 0.5])
            steps.wait_until(lambda: d.rows().of("Tasks"), 10, "the first row")
            row = d.rows().of("Tasks")[0]
            step.end()
            with open(birth) as f:
                values.append((row - int(f.read())) / 1e6)
        finally:
            d.end()
    return values


def write_file(data):
    """Bytes of the file that a writer makes of a journal, and what the writer has used."""
    d = tmpdir()
    with open(d + "/journal", "wb") as f:
        f.write(data)
    j, at = os.open(d + "/journal", os.O_RDONLY), os.open(d, os.O_RDONLY | os.O_DIRECTORY)
    try:
        used = stock.run([os.path.join(BUILD, "jobprof-writer"), "-j", str(j), "-d", str(at),
                          "-n", "1_0_bench.h5", "-m", "live"], fds=(j, at))
    finally:
        os.close(j)
        os.close(at)
        os.unlink(d + "/journal")
    return sum(e.stat().st_size for e in os.scandir(d)), used


def write_once(data):
    """CPU seconds and peak RSS in MiB of it."""
    _, used = write_file(data)
    return used.cpu, used.mb


def writer_rows(data, opts):
    """Rows of the table, the last with the writer's CPU seconds for an hour's journal."""
    rounds, cost = 2 if opts.quick else 5, []
    for what, rows in (("after a minute", 60), ("after an hour", HOUR)):
        text = journal.lengthened(data, rows)
        got = [write_once(text) for _ in range(rounds)]
        cost = [cpu for cpu, _ in got]
        yield Row("daemon", "jobprof-writer, 16 tasks at 1 Hz %s: CPU per publication" % what, "ms",
                  [1000 * c for c in cost]), cost
        yield Row("daemon", "jobprof-writer, 16 tasks at 1 Hz %s: RSS" % what, "MB",
                  [rss for _, rss in got]), cost


def steady(opts):
    """16 tasks at 1 Hz with the defaults: shares of a core, memory, and the journal."""
    d = steps.Daemon(1, ALL, PUBLISH)
    step = None
    shares = []
    try:
        step = steps.Step(16, ["-p", 100, 600])
        steps.wait_until(lambda: d.rows().of("Step"), 10, "the first row")
        for _ in range(2 if opts.quick else 4):
            before, began = d.cpu()[0], time.monotonic()
            time.sleep(2 if opts.quick else 5)
            shares.append((d.cpu()[0] - before) / (time.monotonic() - began) / 1e7)
        return shares, d.memory(), d.journal()
    finally:
        if step:
            step.end(0)
        d.end()


def rows_of_sampling(opts):
    for tasks in (1, 16, 128):
        cpu, wall, memory, _ = sampling(tasks, ALL, opts, 1 if opts.quick else 4)
        label = "%d task%s" % (tasks, "s" * (tasks > 1))
        yield Row("daemon", "a sample of %s: CPU" % label, "ms", cpu, digits=3,
                  target=1 if tasks == 128 else None)
        yield Row("daemon", "a sample of %s: CPU and waiting for one" % label, "ms", wall,
                  digits=3)
        yield Row("daemon", "jobprofd, %s: RSS" % label, "MB", [memory[0]], target=24)
        yield Row("daemon", "jobprofd, %s: PSS" % label, "MB", [memory[1]])
    for families, label in (("all,files", "all families"), (SCHED, "only sched, memory, file")):
        path = sampling(16, families, opts, 1 if opts.quick else 10)[3]
        yield from stored(path, label)


def run(helper, opts):
    try:
        yield from rows_of_sampling(opts)
        shares, memory, data = steady(opts)
        yield Row("daemon", "jobprofd, 16 tasks at 1 Hz: share of a core", "%", shares, digits=3)
        yield Row("daemon", "jobprofd, 16 tasks at 1 Hz: RSS", "MB", [memory[0]], target=24)
        cost = []
        for row, cost in writer_rows(data, opts):
            yield row
        cost = quartiles(cost)[1]
        writer = 100 * cost / max(PUBLISH, PUBLISH_SHARE * cost)
        yield Row("daemon", "both, 16 tasks at 1 Hz after an hour: share of a core", "%",
                  [s + writer for s in shares], digits=3, target=0.5)
        yield Row("daemon", "first instruction of a task to its first row, rows every 0.1 s", "ms",
                  first_rows(opts))
    finally:
        steps.remove_cgroups()
