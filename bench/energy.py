# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the split of a node's energy is from the truth, beside the rules of others: on simulated
nodes (tests/energysim), for only there every joule's owner is known."""

import json
import os
import subprocess

import helper
from table import Row

TITLE = "Energy of steps on simulated nodes: mean distance from the truth, % of it"
RULES = (("jobprof", "jobprof"), ("kepler", "Kepler's rule"), ("ceems", "CEEMS's"),
         ("slurm", "Slurm's"))
# Closer than this is the same sensor's error.
SAME = 0.3


class Case(Row):
    """One case; values: jobprof's, by node."""

    def __init__(self, data):
        super().__init__("energy", data["case"], "%", [data["jobprof"]])
        self.data = data

    def smallest(self):
        return self.data["jobprof"] <= min(self.data[key] for key, _ in RULES[1:]) + SAME

    def figure(self):
        d = self.data
        text = ", ".join("%s %.1f" % (name, d[key]) for key, name in RULES)
        text += "; of what it did alone %.1f, Kepler's %.1f" % (d["jobprof_dynamic"],
                                                               d["kepler_dynamic"])
        text += "; bounds +-%.0f %%, held in %.1f %%" % (d["width"], d["held"])
        return text if self.smallest() else text + "; NOT the smallest"

    def as_dict(self):
        return {**super().as_dict(), **{k: v for k, v in self.data.items() if k != "case"}}


def run(_, opts):
    tool = os.path.join(os.environ["BUILD"], "tests", "tools", "jpenergy")
    if not os.path.exists(tool):
        raise helper.Missing("jpenergy was not built")
    p = subprocess.run([tool, "2" if opts.quick else "40"], capture_output=True, text=True)
    if p.returncode:
        raise helper.Missing(p.stderr.strip())
    return [Case(json.loads(line)) for line in p.stdout.splitlines()]
