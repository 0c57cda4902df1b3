# SPDX-License-Identifier: GPL-2.0-or-later
"""What a case of the test is, and how the cases of a rule are made of its table's line."""

import zlib

import numpy

from jobs import Job

SHAPES = {
    "threads": dict(nodes=1, tasks=1, cores=8),
    "fine": dict(nodes=1, tasks=8, cores=8, row=1, wall=1200),
    "fine shared": dict(nodes=1, tasks=4, cores=4, row=1, wall=1500, shared=True),
    "node": dict(nodes=1, tasks=16, cores=16),
    "shared": dict(nodes=1, tasks=16, cores=16, shared=True),
    "long": dict(nodes=1, tasks=8, cores=8, wall=10800),
    "pair": dict(nodes=2, tasks=16, cores=8),
    "pair fine": dict(nodes=2, tasks=4, cores=2, row=1, wall=1200),
    "hybrid": dict(nodes=4, tasks=8, cores=8, wall=7200),
    "some": dict(nodes=4, tasks=16, cores=4, wall=7200),
    "many": dict(nodes=4, tasks=64, cores=16),
    "wide": dict(nodes=16, tasks=64, cores=4),
}
ONE_NODE = ("threads", "fine", "fine shared", "node", "shared", "long")
RANKS = ("fine", "fine shared", "node", "shared", "pair", "some", "many", "wide")
LAUNCHED = ("fine", "fine shared", "node")
NODES = ("some", "many", "wide", "hybrid")
ANY = tuple(SHAPES)


class Case:
    """rule: whose table has the case; kind: has, near (just below the threshold), alike (healthy, and
    looks like it) or healthy. make() gives the job and the true loss in core-seconds, None: it loses none,
    or none that columns tell, and the finding has no cost. also: other findings that are true of the job; peers: those among them that may
    come first in its place; may: the case's own rule may be found as a note."""

    def __init__(self, rule, kind, name, make, expect=None, also=(), peers=(), may=False):
        self.rule, self.kind, self.name, self.make, self.may = rule, kind, name, make, may
        self.expect, self.peers = expect, set(peers)
        self.also = set(also) | self.peers

    @property
    def title(self):
        return "%s, %s" % (self.rule, self.name)


def seed_of(text):
    """Of the selection of shapes and of noise."""
    return zlib.crc32(("%s %d" % (text, seed)).encode())


seed = 0


def job(shape, number=0, **more):
    return Job(**{**SHAPES[shape], "seed": number, **more})


class Alike:
    """A job that looks like one of a rule: expect is what is truly wrong with it, if anything is."""

    def __init__(self, name, make, shape, expect=None, also=(), may=False, **job):
        self.name, self.make, self.shape, self.expect, self.also = name, make, shape, expect, also
        self.may, self.job = may, job


class Rule:
    """sick(job, strength) makes a job sick and returns the loss; near: the strength just below the
    threshold; job: arguments of Job beside the shape's; near_also: what is true of the near miss."""

    def __init__(self, name, sick, strengths, near, shapes, alike=(), also=(), peers=(), near_also=(),
                 repeat=2, **job):
        self.name, self.sick, self.strengths, self.near, self.shapes = name, sick, strengths, near, shapes
        self.alike, self.also, self.peers, self.near_also = alike, also, peers, near_also
        self.repeat, self.job = repeat, job

    def make(self, strength, shape, number, **more):
        def made():
            j = job(shape, seed_of("%s %d" % (self.name, number)), **{**self.job, **more})
            return j, self.sick(j, strength)
        return made

    def with_rows_of(self, seconds):
        """The same job each time, but for the length of its rows; not with many tasks, for these are many rows."""
        shape = min(self.shapes, key=lambda s: SHAPES[s]["tasks"])
        return self.make(self.strengths[len(self.strengths) // 2], shape, 1, row=seconds)

    def cases(self):
        order = numpy.random.default_rng(seed_of(self.name)).permutation(len(self.shapes))
        for i in range(self.repeat * len(self.strengths)):
            strength = self.strengths[i % len(self.strengths)]
            shape = self.shapes[order[(i + i // len(self.shapes)) % len(order)]]
            yield Case(self.name, "has", "%s at %s" % (strength, shape), self.make(strength, shape, i),
                       self.name, self.also, self.peers)
        if self.near is not None:
            shape = self.shapes[order[-1]]
            yield Case(self.name, "near", "near miss %s at %s" % (self.near, shape),
                       self.make(self.near, shape, 1), also=self.near_also)
        for a in self.alike:
            yield Case(self.name, "near" if a.name == "near miss" else "alike", "%s at %s" % (a.name, a.shape), alike_maker(a),
                       a.expect, a.also, may=a.may)


def alike_maker(a):
    def made():
        j = job(a.shape, seed_of(a.name), **a.job)
        return j, a.make(j)
    return made
