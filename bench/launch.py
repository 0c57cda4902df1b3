# SPDX-License-Identifier: GPL-2.0-only
"""What spank_jobprof.so adds to the launch of a step: srun true in a Slurm of the bench's own."""

import os
import shutil
import socket
import struct
import subprocess
import threading
import time

from helper import BUILD, ROOT, Missing, tmpdir
from stats import rotated
from table import Row

TITLE = "ms that spank_jobprof.so adds to \"srun true\", with and without it in turn"

PLUGIN = os.path.join(BUILD, "spank_jobprof.so")
TESTBED = os.path.join(ROOT, "scripts", "testbed")
HEAD = struct.Struct("=IHHIHH")  # user/client/protocol.h
REPLY = 9
WANT_REPLY = (1, 2)  # STEP, STEP_END


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


class Cluster:
    def __init__(self, directory):
        self.dir = directory
        up = subprocess.run([TESTBED, "up", "--dir", directory, "--no-constrain"],
                            capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if up.returncode:
            raise Missing("no Slurm: " + " ".join(up.stderr.split()[-30:]))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
        self.env["SLURM_CONF"] = os.path.join(directory, "etc", "slurm.conf")

    def launch(self, plugstack):
        """ms of one srun. Each reads the plugins anew."""
        with open(os.path.join(self.dir, "etc", "plugstack.conf"), "w") as f:
            f.write(plugstack)
        began = time.monotonic()
        subprocess.run(["srun", "true"], env=self.env, check=True, stdin=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return (time.monotonic() - began) * 1e3

    def down(self):
        subprocess.run([TESTBED, "down", self.dir], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)


def measure(cluster, sockets, rounds):
    """{who listens, None without the plugin: [ms]}"""
    took = {name: [] for name in [None] + list(sockets)}
    for name in took:
        cluster.launch("")  # what the first one pays belongs to none
    for n in range(rounds):
        for name in rotated(list(took), n):
            line = "optional %s socket=%s\n" % (PLUGIN, sockets[name]) if name else ""
            took[name].append(cluster.launch(line))
    return took


def run(helper, opts):
    for needed in ("srun", "slurmctld", "munged"):
        if not shutil.which(needed, path=os.environ.get("PATH", "") + ":/usr/sbin"):
            raise Missing("there is no %s: scripts/install-deps test" % needed)
    if not os.path.exists(PLUGIN):
        raise Missing("spank_jobprof.so is not built: slurm/spank.h is in libslurm-dev")
    d = tmpdir()
    sockets = {"a jobprofd that answers": d + "/answers", "no jobprofd": d + "/nobody",
               "one that never answers": d + "/mute"}
    Listener(d + "/answers", True)
    Listener(d + "/mute", False)
    cluster = Cluster(d + "/slurm")
    try:
        took = measure(cluster, sockets, 2 if opts.quick else max(opts.rounds, 50))
    finally:
        cluster.down()
    bare = took.pop(None)
    yield Row("launch", "srun true without the plugin", "ms", bare)
    for name, values in took.items():
        yield Row("launch", "added with " + name, "ms", [v - b for v, b in zip(values, bare)],
                  target=10 if "never" not in name else 50)
