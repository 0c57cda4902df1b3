# SPDX-License-Identifier: GPL-2.0-or-later
"""What the features of docs/compatibility.md have in common; see tests/e2e/slurm/features.py."""

from slurmlib import *
import reporting


def note(name, text):
    """The feature works, and this goes with it."""
    reporting._say("note %s: %s" % (name, text))


def lacks(name, text):
    """The feature does not work, and nothing wrong is said or written."""
    reporting._say("lacks %s: %s" % (name, text))


def needs(release, what):
    if RELEASE < release:
        raise Skipped("Slurm has %s since %d.%02d" % ((what,) + release))


def knows(key):
    """A parameter that this Slurm's configuration has."""
    with open(os.path.join(PLUGIN_DIR, "libslurmfull.so"), "rb") as f:
        return b"\0%s\0" % key.encode() in f.read()


def needs_key(key):
    if not knows(key):
        raise Skipped("this Slurm has no " + key)


def needs_v2(c):
    if c.mode != "v2":
        raise Skipped("it is for cgroup v2")


def task_ends(name, d, job, step, wanted):
    """wanted: {node: ([tasks], exit status)} of a step that ended by itself."""
    got = {}
    for node in wanted:
        path = d.get(job, step, node)
        got[node] = (tasks_of(path), picked(path, "Exit Status")[0])
        is_true("%s: rows on %s" % (name, node), len(table(path, "Step")) >= 2, path)
    is_equal("%s: tasks and exit status of step %s" % (name, step), got, wanted)
