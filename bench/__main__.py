# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/bench: what jobprof costs, beside other tools, as one table."""

import argparse
import atexit
import os
import platform
import sys
import time

import calls
import cluster
import collector
import daemon
import energy
import files
import helper
import index
import instead
import launch
import metrics
import perf
import programs
import reduce
import report
import sampling
import scale
import sensors
import serve
import sizing
import switch
import table

# In this order; each a module with TITLE and run(helper, opts) that yields rows.
SECTIONS = {"switch": switch, "perf": perf, "programs": programs, "calls": calls, "sampling": sampling, "daemon": daemon,
            "files": files, "launch": launch, "collector": collector,
             "report": report, "cluster": cluster, "reduce": reduce, "energy": energy, "sensors": sensors, "metrics": metrics,
             "index": index, "serve": serve, "sizing": sizing, "scale": scale, "instead": instead}
ONLY_ASKED = {"report", "reduce", "energy", "index", "metrics", "serve", "sizing", "scale", "instead"}


def parse():
    p = argparse.ArgumentParser(prog="bench", description="Measures what jobprof costs. Each "
                                "figure is a difference or a ratio from runs in turn: the median "
                                "over the rounds, with the quartiles beside it.")
    p.add_argument("--json", action="store_true", help="print JSON instead of the table")
    p.add_argument("--write", metavar="PAGE", help="put the tables into this Markdown page, such as "
                   "docs/performance.md, or those of --only sizing into docs/sizing.md, of scale into docs/scale.md")
    p.add_argument("--rounds", type=int, default=15, help="rounds of runs (default 15)")
    p.add_argument("--quick", action="store_true", help="a short run that shows that it works; "
                   "its figures say little")
    p.add_argument("--only", action="append", default=[], metavar="SECTION",
                   help="only this section; may be given several times")
    p.add_argument("--list", action="store_true", help="print the sections")
    opts = p.parse_args()
    for name in opts.only:
        if name not in SECTIONS:
            p.error("no section %s; there are %s" % (name, ", ".join(SECTIONS)))
    if opts.rounds < 1:
        p.error("--rounds must be at least 1")
    opts.ms = 40
    if opts.quick:
        opts.rounds, opts.ms = 2, 10
    return opts


def about():
    cpus = len(os.sched_getaffinity(0))
    virtual = False
    with open("/proc/cpuinfo") as f:
        virtual = " hypervisor" in f.read()
    return {"kernel": platform.release().split("-")[0], "cpus": cpus,
            "machine": "virtual machine" if virtual else "bare machine",
            "load": os.getloadavg()[0], "time": time.strftime("%Y-%m-%d %H:%M:%S")}


def collect(opts, told):
    rows = []
    for name, section in SECTIONS.items():
        if name not in opts.only and (opts.only or name in ONLY_ASKED):
            continue
        h = helper.Helper()
        began = time.monotonic()
        try:
            rows += section.run(h, opts)
        except helper.Missing as e:
            rows.append(table.Row(name, "section", "", why=str(e)))
        finally:
            h.end()
        told("bench: %s took %.0f s\n" % (name, time.monotonic() - began))
    return rows


def main():
    opts = parse()
    if opts.list:
        for name, section in SECTIONS.items():
            print("%-10s %s%s" % (name, section.TITLE,
                                  " (with --only)" if name in ONLY_ASKED else ""))
        return 0
    atexit.register(helper.remove_tmp)
    what = about()
    helper.leave_worker_cpu()
    rows = collect(opts, sys.stderr.write)
    if opts.json:
        print(table.as_json(rows, what))
        return 0
    head = ("%(machine)s, %(cpus)d CPUs, kernel %(kernel)s, load %(load).2f at the start, %(time)s"
            % what)
    titles = {n: s.TITLE for n, s in SECTIONS.items()}
    print(head)
    print("median (first quartile .. third) over the rounds")
    table.show(rows, titles, sys.stdout)
    if opts.write:
        table.write_page(opts.write, table.as_markdown(
            rows, titles, "Measured on a %s; medians over %d rounds." % (head, opts.rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
