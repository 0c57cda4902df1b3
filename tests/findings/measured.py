# SPDX-License-Identifier: GPL-2.0-or-later
"""A command under `jobprof run`, first in line for the CPUs, and what `jobprof report` then says of it."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess

from lib import JOBPROF, Failed, plain_env, start, tmpdir

OMPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def first_in_line():
    """In a child: a session of its own, which the scheduler prefers to all others."""
    os.setsid()
    try:
        with open("/proc/self/autogroup", "w") as f:
            f.write("-20")
    except OSError:
        pass
    os.setpriority(os.PRIO_PROCESS, 0, -20)


class Report:
    """Of a job file."""

    def __init__(self, path):
        self.path = path
        out = subprocess.run([JOBPROF, "report", "--json", path], capture_output=True, text=True)
        if out.returncode:
            raise Failed("report: " + out.stderr)
        self.json = json.loads(out.stdout)
        self.facts, self.findings = self.json["facts"], self.json["findings"]

    @property
    def ids(self):
        return [f["id"] for f in self.findings]

    def core_s(self):
        return self.facts["core_s"]

    def keep(self, path):
        """Copies the file, where there is a path for it; returns itself."""
        if path:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(self.path, path)
        return self


def kept(folder, name):
    """The path of a file that is kept in a folder; None without one."""
    return folder and os.path.join(folder, re.sub(r"\W+", "_", name) + ".h5")


def profiled(cmd, before=(), options=(), cwd=None, timeout=90, **env):
    """The Report of a command; before: words that come before jobprof. Its output is in printed."""
    folder = tmpdir("profiled")
    p = start([*before, JOBPROF, "run", "-q", *options, "-o", folder, "--", *cmd], preexec_fn=first_in_line,
              env=plain_env(**OMPI, **env), cwd=cwd or folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
              stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        printed, _ = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        raise Failed("%s: it takes more than %d s" % (cmd, timeout)) from None
    files = glob.glob(folder + "/*.h5")
    if len(files) != 1:
        raise Failed("status %d, no file: %s" % (p.returncode, printed))
    r = Report(files[0])
    r.printed, r.status = printed, p.returncode
    return r
