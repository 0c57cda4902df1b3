#!/usr/bin/python3
# runs: in full
# runs: alone
# timeout: 10800
# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel side on Debian's kernels, emulated (scripts/vm), with cgroup v1 and v2:

    tests/vm/kernels/kernels.py [--write] [KERNEL[/v1|/v2] ...]     default: 6.1, 6.12, the newest that Debian has, and 5.10, which is refused

What jobprofd --check says of each is compared with the table "features", and the instructions that the verifier
went through (--check-bpf) with the table "instructions": a tenth more is an error. --write stores what was found.
A machine is as slow as it has to be and its clock goes by its instructions, so that what else runs here does not
matter: a few minutes of a CPU for each. At the end there is a table of kernels and tests; all that a machine says is
in build/vm/said-KERNEL-v1 or -v2 as it says it."""

import re
import subprocess
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

HERE = os.path.join(ROOT, "tests", "vm", "kernels")
KERNELS = ["%s/%s" % (k, g) for k in ("6.1", "6.12", "newest") for g in ("v1", "v2")]
OLD = "5.10"
# One CPU that takes turns with nobody, and room for more, as for the verifier loops over CPUs count.
MACHINE = ["-c", "1,maxcpus=8", "-t", "3000", "-q", "-icount shift=1"]
# Functions whose truth is a count of the kernel, or of the program itself, and no measured time.
TESTS = (("accounts.py", "sched", "ways_to_read", "forks"), ("commands.py", "rusage", "names"), ("memory.py",), ("file_calls.py", "every_call"),
         ("network.py", "calls", "skipped"), ("netskb.py", "calls"), ("wait.py", "long_waits"), ("restarts.py", "baseline_and_restarts"), ("containers.py",))
OF_DAEMON = ("restarts.py", "containers.py")
MORE = 1.1
COLUMN = 44


def table_path(name):
    return os.path.join(HERE, name)


def read_table(name):
    """{column: {row: word}}"""
    table = {}
    with open(table_path(name)) as f:
        head, *lines = [x.rstrip("\n") for x in f if not x.startswith("#")]
    for i, column in enumerate(head[COLUMN:].split()):
        table[column] = {x[:COLUMN].strip(): x[COLUMN:].split()[i] for x in lines}
    return {c: {r: w for r, w in rows.items() if w != "-"} for c, rows in table.items()}


def print_table(table, out):
    """Rows in the order of the column that has most."""
    columns = sorted(table, key=lambda c: [[int(n) for n in re.findall(r"\d+", c)]])
    rows = list(dict.fromkeys(r for c in sorted(columns, key=lambda c: -len(table[c])) for r in table[c]))
    widths = {c: max(len(w) for w in [c, *map(str, table[c].values())]) for c in columns}
    for head, words in [("", {c: c for c in columns})] + [(r, {c: table[c].get(r, "-") for c in columns}) for r in rows]:
        out.write((head.ljust(COLUMN) + "  ".join(str(words[c]).rjust(widths[c]) for c in columns)).rstrip() + "\n")


def write_table(name, found):
    path, about = table_path(name), []
    table = read_table(name) if os.path.exists(path) else {}
    if table:
        with open(path) as f:
            about = [x for x in f if x.startswith("#")]
    table.update(found)
    with open(path, "w") as f:
        f.writelines(about)
        print_table(table, f)


def boot(kernel, cgroups, script):
    """Its status, and what it said."""
    path = os.path.join(ROOT, "build/vm/said-%s-%s" % (kernel, cgroups))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w+", errors="replace") as f:
        p = subprocess.run([ROOT + "/scripts/vm", *MACHINE, "-g", cgroups, kernel, "sh", "-c", script],
                           stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT)
        f.seek(0)
        return p.returncode, f.read()


def guest_script():
    lines = ["echo == release; uname -r", "echo == features; jobprofd --check", "echo == instructions; jobprofd --check-bpf"]
    for script, *functions in TESTS:
        folder = "daemon" if script in OF_DAEMON else "kernel"
        lines.append("echo == %s; /usr/bin/python3 -u tests/e2e/%s/%s %s 2>&1" %
                     (script, folder, script, " ".join(functions)))
    return "\n".join(lines)


def features_of(lines):
    """{feature: yes, no or NO}; a hierarchy or sensor is a feature, too. The text besides is the same everywhere."""
    return {x[:20].strip(): x[20:26].strip() for x in lines[1:] if x[20:26].strip() in ("yes", "no", "NO")}


def instructions_of(lines):
    found = (re.fullmatch(r"(\S+) +(\d+) instructions verified ?(.*)", x) for x in lines)
    return {" ".join(filter(None, (m[1], m[3]))): m[2] for m in found if m}


def compare_features(where, found, wanted):
    is_equal(where + ": features", [(k, found.get(k)) for k in dict.fromkeys([*found, *wanted]) if found.get(k) != wanted.get(k)], [])


def compare_instructions(where, found, wanted):
    """A program that counts as many as in an earlier way to load it is said once: which are said may change."""
    is_true(where + ": programs load", found, "none")
    more = ["%s: %s, was %s" % (k, found[k], wanted[k]) for k in found if k in wanted and int(found[k]) > MORE * int(wanted[k])]
    is_equal(where + ": instructions of the verifier", more, [])


def result_of(where, script, lines):
    """In words for the table; what failed is said."""
    good, bad, left = ([x for x in lines if x.startswith(w)] for w in ("ok ", "not ok ", "skip "))
    if bad or not good + left:
        not_ok("%s: %s" % (where, script), "; ".join(bad or lines[-3:] or ["it said nothing"]))
        return "%d/%d" % (len(good), len(good) + len(bad))
    if good:
        ok("%s: %s" % (where, script))
    else:
        skip("%s: %s" % (where, script), left[0])
    return "%d" % len(good) if good else "skip"


def try_kernel(kernel, cgroups, found):
    status, said = boot(kernel, cgroups, guest_script())
    parts = {}
    for part in said.split("== ")[1:]:
        name, *lines = part.splitlines()
        parts[name] = lines
    if TESTS[-1][0] not in parts:
        not_ok("%s/%s: the machine ran" % (kernel, cgroups), "%d %s" % (status, said[-900:]))
    if not parts.get("release"):
        return
    where = "%s/%s" % (re.match(r"\d+\.\d+", parts["release"][0])[0], cgroups)
    found["features"][where] = features_of(parts.get("features", []))
    found["instructions"][where] = instructions_of(parts.get("instructions", []))
    found["tests"][where] = {t[0]: result_of(where, t[0], parts[t[0]]) for t in TESTS if t[0] in parts}


def refused():
    text = boot(OLD, "v2", "echo == said; cd /tmp; jobprofd -f 2>&1; echo status $?; jobprofd --check 2>&1 | grep -w NO; jobprof run true 2>&1")[1]
    said = text.splitlines()
    said = said[said.index("== said") + 1:] if "== said" in said else []
    is_true(OLD + " is refused in one line", len(said) > 2 and re.search(r"kernel 5\.10\S* is too old", said[0]) and
            said[1].startswith("status ") and said[1] != "status 0" and "too old" in said[-1], text[-600:])


def main():
    args = sys.argv[1:]
    write = "--write" in args
    found = {"features": {}, "instructions": {}, "tests": {}}
    for word in [a for a in args if a != "--write"] or [*KERNELS, OLD]:
        kernel, _, cgroups = word.partition("/")
        if kernel == OLD:
            run_one(refused)
            continue
        for g in [cgroups] if cgroups else ["v1", "v2"]:
            try_kernel(kernel, g, found)
    for name, compare in (("features", compare_features), ("instructions", compare_instructions)):
        if write:
            write_table(name, found[name])
            continue
        kept = read_table(name)
        for where, rows in found[name].items():
            if where in kept:
                compare(where, rows, kept[where])
            else:
                not_ok(where + ": " + name, "the table has no such kernel: --write, and look at what changed")
    print_table(found["tests"], sys.stdout)


main()
