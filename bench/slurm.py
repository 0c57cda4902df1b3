# SPDX-License-Identifier: GPL-2.0-or-later
"""A Slurm of the bench's own (scripts/testbed), and what its step daemons have used."""

import glob
import os
import re
import shutil
import subprocess
import time

from helper import BUILD, ROOT, Missing

TESTBED = os.path.join(ROOT, "scripts", "testbed")
SLURMD = os.popen("PATH=$PATH:/usr/sbin slurmd -V 2>&1").read()
PLUGINS = os.path.join(BUILD, "slurm-" + (re.findall(r"\d+\.\d+", SLURMD) or ["none"])[0])
SPANK = os.path.join(PLUGINS, "spank_jobprof.so")


def need():
    """Missing where this machine has no Slurm, or the plugins are not built."""
    for program in ("srun", "slurmctld", "munged"):
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin"):
            raise Missing("there is no %s: scripts/install-deps test" % program)
    if not os.path.exists(SPANK):
        raise Missing("spank_jobprof.so is not built: slurm/spank.h is in libslurm-dev")


def plugin_dirs():
    """PluginDir with our plugins before Slurm's."""
    # they are with the library that all programs of Slurm's have
    out = os.popen("PATH=$PATH:/usr/sbin; ldd $(command -v slurmd) 2>&1").read()
    found = re.search(r"libslurmfull\.so => (\S+)/libslurmfull", out)
    if not found:
        raise Missing("Slurm's plugins are not known: slurmd has no libslurmfull.so")
    return "PluginDir=%s:%s" % (PLUGINS, found.group(1))


def cpu_ns(pid):
    """CPU time of all of a process's threads, those that have ended with them: its own clock, as
    clock_getcpuclockid() makes it, in the kernel's ns where /proc has ticks."""
    return time.clock_gettime_ns((~pid << 3) | 2)


class Cluster:
    """All its processes may use every CPU, whatever the bench keeps for its workers."""

    def __init__(self, directory, conf=(), acct=(), cpus=4, gather="linux"):
        self.dir = directory
        cmd = [TESTBED, "up", "--dir", directory, "--no-constrain", "--cpus", str(cpus), "--gather", gather]
        for option, lines in (("--conf", conf), ("--acct", acct)):
            for line in lines:
                cmd += [option, line]
        up = subprocess.run(["taskset", "-c", "0-%d" % (os.cpu_count() - 1)] + cmd,
                            capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if up.returncode:
            raise Missing("no Slurm: " + " ".join(up.stderr.split()[-30:]))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
        self.env["SLURM_CONF"] = os.path.join(directory, "etc", "slurm.conf")

    def plugstack(self, text):
        with open(os.path.join(self.dir, "etc", "plugstack.conf"), "w") as f:
            f.write(text)

    def launch(self, plugstack, args=()):
        """ms of one srun true. Each reads the plugins anew."""
        self.plugstack(plugstack)
        began = time.monotonic()
        subprocess.run(["srun", *args, "true"], env=self.env, check=True, cwd="/",
                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return (time.monotonic() - began) * 1e3

    def start(self, args, cmd):
        return subprocess.Popen(["srun"] + [str(a) for a in list(args) + list(cmd)], env=self.env,
                                cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def stepds(self):
        """{job id: pid of its step 0's slurmstepd}, those of this cluster."""
        found = {}
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path) as f:
                    title = f.read()
                if not title.startswith("slurmstepd: [") or not self._has(os.path.dirname(path)):
                    continue
            except OSError:
                continue
            job, step = title[len("slurmstepd: ["):].split("]")[0].split(".")
            if step == "0":
                found[int(job)] = int(path.split("/")[2])
        return found

    def _has(self, process):
        """It has slurmd's log open. (Its environment is blank since 25.11.)"""
        return any(os.readlink(fd).startswith(self.dir + "/log/")
                   for fd in glob.glob(process + "/fd/*"))

    def down(self):
        subprocess.run([TESTBED, "down", self.dir], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
