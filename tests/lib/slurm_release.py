# SPDX-License-Identifier: GPL-2.0-or-later
"""The Slurm under test: the one installed in $SLURM (scripts/test --slurm), else that in PATH."""

import os
import re
import shutil
import subprocess

from lib import BUILD, plain_env

SLURM = os.environ.get("SLURM", "")
SLURM_PATH = os.pathsep.join(([SLURM + "/bin", SLURM + "/sbin"] if SLURM else []) +
                             [os.environ.get("PATH", os.defpath), "/usr/sbin"])


def slurm_program(name):
    """Its path; None where this machine lacks it."""
    return shutil.which(name, path=SLURM + "/bin:" + SLURM + "/sbin" if SLURM else SLURM_PATH)


def slurm_env(**more):
    """An environment in which commands of Slurm's are those of the Slurm under test."""
    return plain_env(PATH=SLURM_PATH, **more)


def _release():
    """(26, 5) of "slurm 26.05.3"; (0, 0) without a Slurm."""
    slurmd = slurm_program("slurmd")
    if not slurmd:
        return (0, 0)
    out = subprocess.run([slurmd, "-V"], capture_output=True, text=True, check=True).stdout
    return tuple(int(n) for n in re.search(r"(\d+)\.(\d+)", out).groups())


def _plugin_dir():
    """Where Slurm's own plugins are: with the library that all its programs have."""
    out = subprocess.run(["ldd", slurm_program("slurmd") or ""], capture_output=True, text=True)
    found = re.search(r"libslurmfull\.so => (\S+)", out.stdout)
    return os.path.dirname(found.group(1)) if found else None


STOCK = slurm_program("sh5util")
RELEASE = _release()
PLUGIN_DIR = _plugin_dir()
PLUGINS = os.path.join(BUILD, "slurm-%d.%02d" % RELEASE)  # ours, for this release


def plugin(name):
    """The path of one of ours."""
    return os.path.join(PLUGINS, name)
