#!/usr/bin/python3
# releases: all
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprofd --check-config finds the Slurm that runs, and says of a SPANK plugin whether that Slurm loads
it: the same as Slurm does."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *

SPANK = plugin("spank_jobprof.so")


def number_of(release, patch):
    return release[0] << 16 | release[1] << 8 | patch


def built_for(number, path):
    """The plugin, as if it had been built with headers of another version."""
    with open(SPANK, "rb") as f:
        image = f.read()
    ours = struct.unpack_from("=I", image, plugin_version_at(SPANK))[0]
    is_equal("the build is for this release", ours >> 8, number_of(RELEASE, 0) >> 8)
    image = bytearray(image)
    struct.pack_into("=I", image, plugin_version_at(SPANK), number)
    with open(path + ".new", "wb") as f:
        f.write(image)
    os.rename(path + ".new", path)  # slurmd has the other one mapped


def plugin_version_at(path):
    """Where in the file its version is."""
    address = int(re.search(r"^(\w+) \w plugin_version$", out_of(["nm", "-D", path]), re.M)[1], 16)
    for m in re.finditer(r"PROGBITS +(\w+) +(\w+) +(\w+)", out_of(["readelf", "-SW", path])):
        start, offset, size = (int(n, 16) for n in m.groups())
        if start <= address < start + size:
            return address - start + offset
    raise Failed("no plugin_version in " + path)


def check(c, path="/nowhere"):
    """What it finds; path: where it may find a slurmd that does not run."""
    conf = os.path.join(tmpdir("conf"), "jobprof.conf")
    hdf5 = tmpdir("hdf5")
    with open(conf, "w") as f:
        f.write("ProfileHDF5Dir=%s\nNodeName=%s\nClusterName=testbed\n" % (hdf5, c.nodes[0]))
    return subprocess.run([JOBPROFD, "--check-config", "-c", conf], text=True, capture_output=True,
                          env=plain_env(PATH=path, SLURM_CONF=c.conf), stdin=subprocess.DEVNULL)


def loads(c):
    """Whether Slurm does: the option is there, or srun refuses it."""
    p = subprocess.run(["srun", "--jobprof=none", "-n1", "true"], env=c.env, capture_output=True,
                       text=True, stdin=subprocess.DEVNULL, timeout=30)
    is_true("srun: the option is there, or refused",
            not p.returncode or "unrecognized option" in p.stderr, (p.returncode, p.stderr))
    return not p.returncode


def plugins(c, path):
    other = (RELEASE[0] - 1, RELEASE[1])
    for name, number, fits in (("its own release", number_of(RELEASE, 0), True),
                               ("another patch level", number_of(RELEASE, 99), True),
                               ("an older release", number_of(other, 8), False),
                               ("a newer release", number_of((99, 11), 0), False)):
        built_for(number, path)
        is_equal(name + ": Slurm loads it", loads(c), fits)
        p = check(c)
        is_equal(name + ": status", p.returncode, 0 if fits else 1)
        is_equal(name + ": errors", re.findall(
            r"is built for Slurm (\S+), and Slurm (\S+) does not load it", p.stderr),
            [] if fits else [("%d.%02d" % (number >> 16, number >> 8 & 255), "%d.%02d" % RELEASE)])


def required(c, path):
    """Then Slurm does without the plugin no longer."""
    stack = os.path.join(os.path.dirname(c.conf), "plugstack.conf")
    with open(stack) as f:
        was = f.read()
    with open(stack, "w") as f:
        f.write(was.replace("optional ", "required "))
    p = subprocess.run(["srun", "-n1", "true"], env=c.env, capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, timeout=30)
    is_true("required: srun refuses every job", p.returncode, p.stderr)
    is_true("required: so it is said", "no job can be submitted" in check(c).stderr, check(c).stderr)
    with open(stack, "w") as f:
        f.write(was)


def found(name, p, directory):
    version = out_of([slurm_program("slurmd"), "-V"]).split()[-1]
    is_equal(name, re.findall("^# Slurm (.*), with its plugins in (.*)$", p.stdout, re.M),
             [(version, directory)])


def main():
    if not PLUGIN_DIR:
        skip("check", "there is no Slurm")
        return
    if not os.path.exists(SPANK):
        skip("check", "%s was not built: Slurm's headers are not installed" % SPANK)
        return
    path = os.path.join(tmpdir("plugin"), "spank_jobprof.so")
    built_for(number_of(RELEASE, 0), path)
    c = Cluster("v1" if is_v1_mounted() else "v2", nodes=1, plugstack=["optional " + path])
    plugins(c, path)
    required(c, path)
    with open(c.conf) as f:
        lines = [l for l in f if not l.startswith("PluginDir=")]
    with open(c.conf, "w") as f:  # the same file: slurmd runs with it
        f.writelines(lines)
    found("by the slurmd that runs", check(c), PLUGIN_DIR)
    with open(c.conf, "a") as f:
        f.write("PluginDir=/nowhere:%s\n" % PLUGIN_DIR)
    found("by PluginDir", check(c), PLUGIN_DIR)
    with open(c.conf, "w") as f:
        f.writelines(lines)
    c.nodes = ["jpt%dnone" % PID]  # whose slurmd does not run
    found("by the slurmd in PATH", check(c, os.path.dirname(slurm_program("slurmd"))), PLUGIN_DIR)


main()
