# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile that each verb finds something in, and a call of each verb that reads profiles. Needs tests/findings in the
path."""

import os

from besideslib import put_bursts, put_samples, put_stacks
from jobs import Job
from layout import START


def make_profile(path, seed=0, work="work"):
    Job(nodes=1, tasks=2, cores=2, wall=600, seed=seed).write(path)
    put_bursts(path, START, [(300, 0.003, 0.002), (200, 0.03, 0.002)])
    put_stacks(path, START, {"main;" + work: 5, "main;wait": 2})
    put_samples(path, START, 3000, 0.1, 0.5)


def calls(a, b):
    """By name the words of a call; of profiles of two jobs, job_4711.h5 and another, in one directory."""
    there = os.path.dirname(a)
    curve = ["plot", "-s", "Tasks", "-d", "RSS"]
    return {
        "show": ["show", a], "show --json": ["show", "--json", "--all", a], "list": ["list", a], "list --json": ["list", "--json", a],
        "report": ["report", "--all", a], "report --json": ["report", "--json", a], "report --html": ["report", "--html", "-", a],
        "report of several": ["report", a, b], "report -j": ["report", "-j", "4711", there],
        "flame": ["flame", a], "flame --folded": ["flame", "--folded", a], "flame --svg": ["flame", "--svg", "-", a],
        "flame --diff": ["flame", "--diff", b, a], "flame --html": ["flame", "--html", "-", a],
        "flame --speedscope": ["flame", "--speedscope", "-", a],
        "fold": ["fold", a], "fold --svg": ["fold", "--svg", "-", a], "fold --json": ["fold", "--json", a],
        "fold --html": ["fold", "--html", "-", a], "cluster --html": ["cluster", "--html", "-", a],
        "cluster": ["cluster", a], "cluster --csv": ["cluster", "--csv", a], "cluster --json": ["cluster", "--json", a],
        "track": ["track", a, b], "plot": [*curve, a, b], "plot --svg": [*curve, "--svg", "-", a], "plot --html": [*curve, "--html", "-", a],
        "items": ["items", "-s", "Step", "-d", "CPUTime", a], "items, table": ["items", "-s", "Tasks", "-d", "RSS", "--format", "table", a],
        "items, json": ["items", "-s", "Tasks", "-d", "RSS", "--format", "json", a],
        "extract": ["extract", "-s", "Tasks", "-l", "timeseries", a], "extract, table": ["extract", "-s", "Tasks", "--format", "table", a],
        "extract -j": ["extract", "-j", "4711", "-s", "Tasks", "--format", "json", there],
        "compare": ["compare", a, b], "compare --json": ["compare", "--json", a, b], "reduce": ["reduce", a, b],
    }
