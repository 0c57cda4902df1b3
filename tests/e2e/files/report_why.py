#!/usr/bin/python3
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""report --why of every rule and tag, on files of Slurm's own plugin, of jobprof run and of a job of several
nodes: it says something, and what it says is missing is in no file, as h5py reads them."""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from lib import *
import cases

GOLDEN = os.path.join(ROOT, "tests/data/golden/real/job_3.h5")
RULES = os.path.join(ROOT, "user/findings/rules.lua")
TAGS = ("unrestrained", "memory-bound", "compute-bound", "GPU-bound", "IO-heavy", "network-heavy")


def rule_ids():
    with open(RULES) as f:
        return re.findall(r'^rules\["([\w.]+)"\]', f.read(), re.M)


def needed_facts():
    with open(RULES) as f:
        text = f.read()
    lists = re.findall(r"needs = \{(.*?)\}", text, re.S) + re.findall(r"need\((.*?)\)", text) + \
        re.findall(r"ipairs\((\{\"job.*?\})\)", text)
    return set(re.findall(r'"((?:job|node|task|gpu|bin)\.\w+)"', " ".join(lists)))


def report(*args):
    return subprocess.run([JOBPROF, "report"] + list(args), capture_output=True, text=True)


def names_in(path):
    """Of all columns and attributes of a file."""
    columns, attributes = set(), set()

    def visit(_, item):
        attributes.update(item.attrs)
        if isinstance(item, h5py.Dataset) and item.dtype.names:
            columns.update(item.dtype.names)

    with h5py.File(path, "r") as f:
        f.visititems(visit)
    return columns, attributes


def explains(name, path, *options):
    """Returns all texts in one."""
    columns, attributes = names_in(path)
    texts = {}
    for i in rule_ids() + list(TAGS):
        p = report("--why", i, *options, path)
        found = p.stdout.startswith(i) or " %s;" % i in p.stdout or "[%s" % i in p.stdout
        texts[i] = " ".join(p.stdout.split())
        if p.returncode or p.stderr or not found or len(texts[i]) < len(i) + 20:
            not_ok("%s: %s" % (name, i), "status %d: %r %r" % (p.returncode, p.stdout, p.stderr))
    is_equal("%s: rules and tags with a reason" % name, len([t for t in texts.values() if t]), len(rule_ids()) + 6)
    whole = " ".join(texts.values())
    is_equal("%s: no reason is empty" % name, re.findall(r"it is not known|: ;|: ?$|\bnan\b|\(null\)", whole), [])
    is_equal("%s: attributes that are missing" % name,
             set(re.findall(r"attribute ([A-Z]\w+(?: \w+)*?)(?=[;:.]| [a-z]|$)", whole)) & attributes, set())
    is_equal("%s: columns that are missing" % name,
             set(re.findall(r"profiles have no ([A-Z]\w+)|the column (\w+)", whole)) & {(c, "") for c in columns}, set())
    return texts


def facts_have_reasons(name, path):
    lines = report("--facts", path).stdout.splitlines()
    bare = [l.split()[0] for l in lines if re.match(r"\S+\s+not known(?!:)", l)]
    is_equal("%s: needed facts without a reason" % name, sorted(set(bare) & needed_facts()), [])


def slurms_own():
    texts = explains("Slurm's own", GOLDEN)
    facts_have_reasons("Slurm's own", GOLDEN)
    is_true("Slurm's own: all that is missing", "job.wait_share" in texts["cpu.stacked"] and "RunDelay" in texts["cpu.stacked"], texts["cpu.stacked"])


def one_node():
    _, path = run_jobprof([tool("jpspin"), "1"])
    texts = explains("one node", path)
    facts_have_reasons("one node", path)
    facts = report("--facts", path).stdout
    is_equal("one node: no fact of the job is without a reason", re.findall(r"^job\.(\S+) +not known(?!:)", facts, re.M), [])
    is_true("one node: the tag whose columns are missing", "MemReadMB and MemWriteMB of CPU are not known" in texts["memory-bound"] and
            "memory controllers" in texts["memory-bound"], texts["memory-bound"])
    is_true("one node: what the shortest run lacks", "job.limit_s" in texts["time.over"], texts["time.over"])


def several_nodes():
    path = tmpdir("why") + "/job_4711.h5"
    j = cases.job("some", 5)
    j.write(path)
    texts = explains("several nodes", path)
    facts_have_reasons("several nodes", path)
    is_true("several nodes: the event that was not counted",
            "PerfEvents=" in texts["numa.remote"] and "NodeLoadMisses" in texts["numa.remote"], texts["numa.remote"])
    is_true("several nodes: the family that was not asked for", "family files" in texts["io.metadata"], texts["io.metadata"])
    is_true("several nodes: no array", "job array" in texts["time.short"], texts["time.short"])
    j = cases.job("some", 5)
    j.events = {"NodeLoads": 2e7, "NodeLoadMisses": 1e6}
    j.write(path)
    is_true("several nodes: with the event", "5 % of the loads" in report("--why", "numa.remote", path).stdout,
            report("--why", "numa.remote", path).stdout)


def unknown_name():
    p = report("--why", "cpu.nothing", GOLDEN)
    is_equal("a rule that does not exist: status and output", (p.returncode, p.stdout), (1, ""))
    is_true("a rule that does not exist: one line", p.stderr.count("\n") == 1 and "cpu.nothing" in p.stderr, p.stderr)


if __name__ == "__main__":
    need_bpf()
    run_tests((slurms_own, one_node, several_nodes, unknown_name))
