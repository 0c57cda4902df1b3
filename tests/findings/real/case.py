# SPDX-License-Identifier: GPL-2.0-or-later
"""What a case of the corpus is, and how its variants are run. A command is as a user types it: words, or a line for a
shell where it has a shell's characters. Its directory is the case's own, made by `setup`; $P is the folder of small
programs beside this file. A command runs there more than once, and does the same each time. A number in [[ ]] is an
amount of work: it grows until the first variant takes long enough for findings, on any machine."""

import dataclasses
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../.."))
from lib import MB, Failed, Skipped, cgroup1_mount, mkcg, plain_env, start, tmpdir
from measured import OMPI, first_in_line, profiled

PROGRAMS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs")
PYTHON = "/usr/bin/python3"
VARIANTS = "healthy", "sick", "mended"
TRIES = 3
DISTURBED = 0.10  # share of the cores that other programs had: another try
USELESS = 0.20  # not to be judged
AMOUNT = re.compile(r"\[\[(\d+)\]\]")
LEAST_S, WANTED_S = 5, 6  # a run's time
GROWTH = 30  # at once

# $P, the case's directory and one name for Python, for all commands
ENV = {"P": PROGRAMS, "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/lib/postgresql/15/bin:/usr/sbin", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclasses.dataclass
class V:
    """A command where it runs: cpus (for taskset), a quota in CPUs or a limit of memory in MB of a cgroup, in which all
    of jobprof run is, or is_inside: the command finds the cgroup's file of processes in $CG; and a command beside it.
    status: what it ends with."""
    cmd: str
    cpus: str = ""
    quota: float = 0
    memory: int = 0
    is_inside: bool = False
    beside: str = ""
    status: int = 0


@dataclasses.dataclass
class Case:
    """rules: ids of findings, either of which is the cause; also: ids that are true besides, of the mended one too.
    loss: what the mended one takes less: "wall" (cores x time), "cpu" (CPU time), "none" (it cannot be compared)."""
    name: str
    needs: str = ""
    setup: str = ""
    healthy: object = None
    sick: object = None
    mended: object = None
    rules: str = ""
    remedy: str = ""
    also: str = ""
    loss: str = "wall"
    cpus: str = ""

    def variants(self):
        for kind in VARIANTS:
            v = getattr(self, kind)
            if v:
                yield kind, v if isinstance(v, V) else V(v)


def lacks(case):
    """What the machine lacks of a case's needs, "" for nothing."""
    for need in case.needs.split():
        kind, _, name = need.rpartition(":")
        if kind == "py" and not has_module(name) or kind == "blas" and not has_blas(name) or not kind and not shutil.which(name, path=ENV["PATH"]):
            return need
    return ""


def has_module(name):
    return subprocess.run([PYTHON, "-c", "import importlib.util as i; exit(not i.find_spec('%s'))" % name]).returncode == 0


def has_blas(name):
    """Whether NumPy computes with this library: not all of them have threads."""
    return subprocess.run([PYTHON, "-c", "import numpy; exit('%s' not in open('/proc/self/maps').read())" % name], stderr=subprocess.DEVNULL).returncode == 0


def sized(text, scale):
    return AMOUNT.sub(lambda amount: "%d" % max(1, round(int(amount[1]) * scale)), text)


def words(cmd):
    """A command for exec(); NAME=VALUE in front of it goes to env."""
    cmd = re.sub(r"\$P\b", PROGRAMS, cmd)
    if any(c in cmd for c in "|;&<>$*`\n"):
        return ["sh", "-c", cmd]
    parts = shlex.split(cmd)
    return (["env"] if "=" in parts[0] else []) + parts


class Place:
    """The directory of a case in a size."""

    def __init__(self, case, scale=1):
        self.case, self.scale, self.dir = case, scale, tmpdir("real")
        if case.setup:
            p = subprocess.run(["sh", "-ec", sized(case.setup, scale)], cwd=self.dir, env=plain_env(**OMPI, **ENV), stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, errors="replace")
            if p.returncode:
                raise Failed("set-up: status %d: %s" % (p.returncode, (p.stderr or p.stdout)[-400:]))

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def run(self, v):
        """The Report of a variant, the least disturbed of some tries."""
        best = None
        for _ in range(TRIES):
            r = self.try_once(v)
            if not best or delayed(r, v) < delayed(best, v):
                best = r
            if delayed(best, v) < DISTURBED:
                break
        return best

    def try_once(self, v):
        groups = limits(v)
        enter = "".join("echo $$ >%s/cgroup.procs; " % g for g in groups)
        before = ["sh", "-c", enter + 'exec "$@"', "sh"] if groups and not v.is_inside else []
        cpus = v.cpus or self.case.cpus
        before += ["taskset", "-c", cpus] if cpus else []
        other = v.beside and start(words(v.beside), preexec_fn=first_in_line, env=plain_env(**ENV), cwd=self.dir,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            r = profiled(words(sized(v.cmd, self.scale)), before, cwd=self.dir, CG=groups[0] + "/cgroup.procs" if groups else "", **ENV)
        finally:
            if other:
                os.killpg(other.pid, signal.SIGKILL)
                other.wait()
        if r.status != v.status:
            raise Failed("%s: status %d: %s" % (v.cmd, r.status, r.printed[-400:]))
        return r


def place_for(case):
    """The Place of a case in which its first variant takes long enough."""
    _, first = next(case.variants())
    texts, scale = case.setup + first.cmd, 1
    for _ in range(TRIES):
        place = Place(case, scale)
        wall_s = place.try_once(first).facts["wall_s"] if AMOUNT.search(texts) else LEAST_S
        if wall_s >= LEAST_S:
            break
        scale *= min(WANTED_S / wall_s, GROWTH)
        place.remove()
    return Place(case, scale) if place.scale != scale else place


def disturbed(r, v):
    """The share of the cores that programs had which do not belong here; it is not known of a part of the cores, or
    of less than a second."""
    return 0 if v.beside or r.core_s() < 1 else (r.facts.get("others_s") or 0) / r.core_s()


def delayed(r, v):
    """The same, with what threads waited for those programs: it delays ends and messages."""
    return disturbed(r, v) if v.beside or v.quota else max(disturbed(r, v), (r.facts.get("waited_system_s") or 0) / r.core_s())


def limits(v):
    """The cgroups of a variant, of version 1."""
    made = []
    for controller, wanted, values in (
            ("cpu", v.quota, {"cpu.shares": 262144, "cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": int(v.quota * 100000)}),
            ("memory", v.memory, {"memory.limit_in_bytes": v.memory * MB})):
        if not wanted:
            continue
        mount = cgroup1_mount(controller)
        if not mount:
            raise Skipped("there is no %s controller of cgroups v1" % controller)
        group = mkcg("jptest_real_%d_%s" % (os.getpid(), controller), mount)
        for name, value in values.items():
            with open(os.path.join(group, name), "w") as f:
                f.write(str(value))
        made.append(group)
    return made
