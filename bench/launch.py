# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugins add to the launch of a step: srun true in Slurms of the bench's own."""

import os
import shlex
import socket
import struct
import subprocess
import threading

import slurm
import steps
from helper import Missing, tmpdir
from stats import rotated
from table import Row

TITLE = "ms that the plugins add to \"srun true\", with and without them in turn"

HEAD = struct.Struct("=IHHIHH")  # user/client/protocol.h
REPLY = 9
WANT_REPLY = (1, 2)  # STEP, STEP_END


# What any SPANK plugin costs that does nothing.
EMPTY = """#include <slurm/spank.h>
SPANK_PLUGIN(empty, 1)
int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
	return 0;
}
"""


def empty_plugin():
    path = os.path.join(tmpdir(), "empty.so")
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=EMPTY, text=True, check=True)
    return path


class Listener:
    """In jobprofd's place: takes what is said; answers at once, or never."""

    def __init__(self, path, answers):
        self.answers = answers
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(path)
        self.socket.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(c,), daemon=True).start()

    def _serve(self, c):
        with c:
            while True:
                packet = c.recv(65536)
                if len(packet) < HEAD.size:
                    return
                magic, version, kind, _, _, seq = HEAD.unpack_from(packet)
                if self.answers and kind in WANT_REPLY:
                    c.send(HEAD.pack(magic, version, REPLY, 256, 0, seq) +
                           struct.pack("=iIII224s", 0, 0, 1, 0, b""))


class Way:
    """One way to launch a step. cluster: its kind of AcctGatherProfileType; base: the way that has
    no plugin of ours, None if this is one."""

    def __init__(self, name, cluster, base=None, socket=None, args=(), file=False, target=5, plugin=None):
        self.name, self.cluster, self.base, self.args = name, cluster, base, list(args)
        self.plugstack = "optional %s socket=%s\n" % (slurm.SPANK, socket) if socket else ""
        if plugin:
            self.plugstack = "optional %s\n" % plugin
        self.file, self.target = file, target  # file: jobprofd writes one
        self.took = []


def ways(jobprofd, answers, mute, nobody):
    bare, theirs = "srun true", "srun --profile=task true with Slurm's hdf5 plugin"
    ask = ["--profile=task", "--acctg-freq=task=1"]
    spank, empty = "added by spank_jobprof.so, ", "added by an empty SPANK plugin"
    yield Way(bare, "none")
    yield Way(theirs, "hdf5", args=ask)
    yield Way(empty, "none", bare, target=None, plugin=empty_plugin())
    yield Way(spank + "nothing asked for", "none", bare, jobprofd)
    yield Way(spank + "--jobprof=all", "none", bare, jobprofd, ["--jobprof=all"], True)
    yield Way("added by both plugins, nothing asked for", "jobprof", bare, jobprofd)
    yield Way("added by both plugins, --profile=task", "jobprof", bare, jobprofd, ask, True)
    yield Way("both plugins in the place of Slurm's, --profile=task", "jobprof", theirs, jobprofd,
              ask, True)
    yield Way(spank + "something that answers at once", "none", bare, answers)
    yield Way(spank + "no jobprofd", "none", bare, nobody)
    yield Way(spank + "something that never answers", "none", bare, mute, target=50)


def clusters(d):
    """One per kind, that differ in nothing else."""
    made = {}
    try:
        for kind, conf, acct in (("none", [], []), ("hdf5", [], []), (
                "jobprof", [slurm.plugin_dirs()], ["ProfileJobprofSocket=" + d.socket])):
            made[kind] = slurm.Cluster(tmpdir() + "/slurm", [
                "AcctGatherProfileType=acct_gather_profile/" + kind] + conf, acct)
    except Missing:
        down(made)
        raise
    return made


def down(made):
    for cluster in made.values():
        cluster.down()


def launch(way, made, d):
    """What its file costs belongs to no other way."""
    before = d.files()
    ms = made[way.cluster].launch(way.plugstack, way.args)
    if way.file:
        steps.wait_until(lambda: d.files() > before, 20, "a file; jobprofd said: " + d.said())
    return ms


def measure(all_ways, made, d, rounds):
    for way in all_ways:
        launch(way, made, d)  # what the first one pays belongs to none
    for n in range(rounds):
        for way in rotated(all_ways, n):
            way.took.append(launch(way, made, d))


def run(helper, opts):
    slurm.need()
    t = tmpdir()
    made, d = {}, None
    Listener(t + "/answers", True)
    Listener(t + "/mute", False)
    try:
        d = steps.Daemon(1, "none", 60, CgroupRoot=None)
        made = clusters(d)
        all_ways = list(ways(d.socket, t + "/answers", t + "/mute", t + "/nobody"))
        measure(all_ways, made, d, 2 if opts.quick else max(opts.rounds, 50))
    finally:
        down(made)
        if d:
            d.end()
    took = {way.name: way.took for way in all_ways}
    for way in all_ways:
        if not way.base:
            yield Row("launch", way.name, "ms", way.took)
            continue
        yield Row("launch", way.name, "ms", [v - b for v, b in zip(way.took, took[way.base])],
                  target=way.target)
