#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make: what depends on how it is called."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *


def directories():
    """SYSCONFDIR and SENSORDIR, which follows PREFIX, are in programs: others make them anew."""
    root = tmpdir("build")
    made = os.path.join(root, "user", "base", "config", "config.o")

    def sensor_dir(*args):
        subprocess.run(["make", "-s", "B=" + root, *args, made], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL, timeout=120)
        with open(made, "rb") as f:
            content = f.read()
        return [d for d in ("/usr/local", "/opt/x", "/srv/y")
                if (d + "/lib/jobprof/sensors\0").encode() in content], os.stat(made).st_mtime_ns

    first, _ = sensor_dir("PREFIX=/opt/x")
    is_equal("of the first PREFIX", first, ["/opt/x"])
    second, then = sensor_dir("PREFIX=/srv/y")
    is_equal("of the next PREFIX", second, ["/srv/y"])
    is_equal("called alike, nothing is made", sensor_dir("PREFIX=/srv/y")[1], then)


PAGE = "web: no template was made"  # what is said where making the page fails


def without_node():
    """The pages of --html are what needs node; without it `make` does all else and asks for no page."""
    def commands(*args):
        return subprocess.run(["make", "-n", "all", *args], cwd=ROOT, check=True, capture_output=True, text=True, timeout=120).stdout

    is_true("with node a page is made", PAGE in commands("NODE=/bin/node", "NPM=/bin/npm"), "none is")
    is_true("without node none is asked for", PAGE not in commands("NODE=", "NPM="), "one is")


def fuzzers():
    """What runs in full only still compiles and links with jobprof's objects, and takes the inputs that are kept."""
    p = subprocess.run(["make", "-s", "fuzz-links"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    is_equal("the fuzzers link", (p.returncode, p.stderr[-800:]), (0, ""))
    for name in ("texts", "messages", "programs"):
        files = glob.glob("%s/tests/data/%s/**" % (ROOT, name), recursive=True)
        p = subprocess.run([os.path.join(ROOT, "build/tests/fuzz/replay_%s.links" % name), "20"] + [f for f in files if os.path.isfile(f)],
                           capture_output=True, text=True, timeout=120)
        is_true("the fuzzer %s takes what is kept" % name, p.returncode == 0 and re.search(r", [1-9]\d* taken", p.stdout), p)


if __name__ == "__main__":
    run_tests([directories, without_node, fuzzers])
