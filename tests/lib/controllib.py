# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes in the cgroups of steps that speak to jobprofd's socket."""

from daemonlib import *
import socketlib as c

INTERVAL = 0.2
tree = Trees()


class Peer:
    """A process in a cgroup, as a user, that speaks to the socket."""

    def __init__(self, d, cgroup, uid=0):
        wait_until(lambda: os.path.isdir(cgroup), 5, cgroup)

        def enter():
            with open(os.path.join(cgroup, "cgroup.procs"), "w") as f:
                f.write(str(os.getpid()))
            if uid:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)

        self.proc = start(["/usr/bin/python3", c.__file__],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=enter,
                          text=True)
        self.connect(d)

    def tell(self, line):
        self.proc.stdin.write(line + "\n")
        self.proc.stdin.flush()
        answer = self.proc.stdout.readline().strip()
        if answer.startswith("error"):
            raise Failed("the socket: " + answer)
        return answer

    def connect(self, d):
        self.tell("connect " + d.settings["Socket"])

    def send(self, raw):
        self.tell(raw.hex())

    def receive(self):
        return c.decode(bytes.fromhex(self.tell("?")))

    def call(self, raw):
        """The answer to one message."""
        self.send(raw)
        kind, fields = self.receive()
        if kind != c.REPLY:
            raise Failed("an answer of type %d" % kind)
        return fields

    def end(self):
        self.proc.stdin.close()
        self.proc.wait(10)


class Step:
    """A step's cgroup on v2 with its slurmstepd's place, and tasks when asked for."""

    def __init__(self, d, job, step=0):
        self.d, self.job, self.step = d, job, step
        self.base = tree.job(job) + "/step_%s" % step
        for p in ("", "/slurm", "/user"):
            if not os.path.isdir(self.base + p):
                os.mkdir(self.base + p)
        self.stepd = Peer(d, self.base + "/slurm")

    def run(self, cmd, uid=0, **kw):
        self.tasks = Stepd(self.job, self.step, cmd,
                           v2_task(self.base, ["-u", uid] if uid else []), **kw)
        return self

    def end(self):
        status = self.tasks.end()
        self.stepd.end()
        for p in ("/user", "/slurm", ""):
            path = self.base + p
            if os.path.isdir(path):
                os.rmdir(path)
        return status
