#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is installed: it starts, it knows the users of name services, it can be removed."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from mergelib import inputs, world

USER, UID = "serviceuser", 54321  # whom the name service jptest knows, and no file


def run(*cmd, **more):
    p = subprocess.run(cmd, capture_output=True, text=True, errors="replace", timeout=60, **more)
    return p.returncode, p.stdout, p.stderr


def installation():
    """Where others may run it."""
    top = tmpdir()
    os.chmod(top, 0o755)
    made = run("make", "-s", "install", "DESTDIR=" + top, "B=" + os.path.relpath(BUILD, ROOT),
               *(["SAN=1"] if "san" in BUILD else []), cwd=ROOT)
    if made[0]:
        raise Failed("make install: " + made[2])
    return os.path.join(top, "usr", "local")


def as_user(*cmd):
    """As the user whom only the name service knows."""
    conf, libs = os.path.join(tmpdir(), "nsswitch.conf"), tmpdir()
    with open(conf, "w") as f:
        f.write("passwd: files jptest\n")
    shutil.copy(os.path.join(BUILD, "tests", "stub", "nss_jptest.so"),
                os.path.join(libs, "libnss_jptest.so.2"))
    for d in (TMP, os.path.dirname(conf), libs):
        os.chmod(d, 0o755)
    script = ('mount --bind "$0" /etc/nsswitch.conf && '
              'exec setpriv --reuid %d --regid %d --clear-groups "$@"' % (UID, UID))
    env = dict(os.environ, LD_LIBRARY_PATH=libs)
    return run("unshare", "-m", "--propagation", "private", "sh", "-c", script, conf, *cmd, env=env)


def profile():
    prof, out = world("7_0_p1.h5", "7_0_p2.h5", user=USER), tmpdir()
    for d in (prof, os.path.join(prof, USER), out):
        os.chmod(d, 0o755)
        os.chown(d, UID, UID)
    for f in inputs(prof, USER):
        os.chown(os.path.join(prof, USER, f), UID, UID)
    return prof, out


def users_of_a_name_service():
    if os.geteuid():
        raise Skipped("needs root, for mounts of its own")
    with open(JOBPROF, "rb") as f:
        sanitized = b"__asan_init" in f.read()
    if sanitized:
        raise Skipped("the name service is built for sanitizers, which other programs cannot load")
    st, out, err = as_user("id", "-un")
    if out != USER + "\n":
        raise Failed("the name service does not work: " + out + err)
    prof, out = profile()
    prefix = installation()
    jobprof = os.path.join(prefix, "bin", "jobprof")
    sh5util = os.path.join(prefix, "libexec", "jobprof", "sh5util")
    for name, cmd in (
            ("their own", [jobprof, "merge", "-j", "7", "-S", "-p", prof]),
            ("by number", [jobprof, "merge", "-j", "7", "-S", "-p", prof, "-u", str(UID)]),
            ("sh5util", [sh5util, "-j", "7", "-S", "-p", prof]),
            ("sh5util, by name", [sh5util, "-j", "7", "-S", "-p", prof, "-u", USER]),
            ("sh5util, by number", [sh5util, "-j", "7", "-S", "-p", prof, "-u", str(UID)])):
        file = os.path.join(out, "job.h5")
        st, _, err = as_user(*cmd, "-o", file)
        is_true(name, st == 0 and os.path.exists(file), (st, err))
        if os.path.exists(file):
            os.unlink(file)
    st, _, err = as_user(sh5util, "-j", "7", "-p", prof, "-u", "nosuchuser", "-o", file)
    is_true("nobody's name", st == 255 and "No such user" in err, (st, err))


def an_installation_starts():
    prefix = installation()
    st, out, err = run(os.path.join(prefix, "bin/jobprof"), "run", "--help")
    is_true("jobprof", st == 0 and "usage: jobprof run" in out, (st, err))
    st, out, err = run(os.path.join(prefix, "libexec/jobprof/sh5util"), "-V")
    is_true("sh5util", st == 0 and out, (st, err))


def users_can_run_but_not_read():
    """Programs that jobprofd starts as a job's user: the kernel lets nobody trace what they cannot
    read."""
    prefix = installation()
    for program in ("bin/jobprof", "libexec/jobprof/jobprof-writer"):
        mode = os.stat(os.path.join(prefix, program)).st_mode & 0o777
        is_equal("mode of " + program, oct(mode), oct(0o711))


def uninstalling_removes_what_installing_made():
    """Also where nothing is built any more, and nothing is then."""
    prefix = installation()
    top = prefix[:-len("/usr/local")]
    mine = os.path.join(top, "etc/jobprof/jobprof.conf")
    with open(mine, "w") as f:
        f.write("ProfileHDF5Dir=/p\n")
    before = sum(len(names) for _, _, names in os.walk(top))
    unbuilt = os.path.join(tmpdir(), "unbuilt")
    st, out, err = run("make", "uninstall", "DESTDIR=" + top, "B=" + os.path.relpath(unbuilt, ROOT), cwd=ROOT)
    is_true("uninstalling builds nothing", not os.path.exists(unbuilt), out)
    left = [os.path.join(d, n) for d, _, names in os.walk(top) for n in names]
    is_true("uninstalled: only the settings are left", st == 0 and before > 20 and left == [mine],
            (before, left, err))


PROGRAM = """
#include <jobprof.h>
int main(void) { return jobprof_mark("begin") == 0 ? 3 : 0; }
"""

SCRIPT = """
set -e
cp -a /etc "$1/etc" && mount --bind "$1/etc" /etc && mount -t tmpfs none /usr/local
make -s install "B=$2" $3 >"$1/said" 2>&1
export PKG_CONFIG_PATH=/usr/local/lib/pkgconfig
gcc "$1/a.c" -o "$1/a" $(pkg-config --cflags --libs jobprof)
"$1/a"
"""


def programs_find_the_library_once_it_is_installed():
    """As in README: no LD_LIBRARY_PATH, and the loader's cache is the installation's business."""
    if os.geteuid():
        raise Skipped("needs root, for mounts of its own")
    d = tmpdir()
    with open(os.path.join(d, "a.c"), "w") as f:
        f.write(PROGRAM)
    st, out, err = run("unshare", "-m", "--propagation", "private", "sh", "-c", SCRIPT, "sh", d,
                       os.path.relpath(BUILD, ROOT), "SAN=1" if "san" in BUILD else "", cwd=ROOT)
    is_equal("a program of libjobprof starts", (st, err), (0, ""))


run_tests([users_of_a_name_service, an_installation_starts, users_can_run_but_not_read,
           uninstalling_removes_what_installing_made,
           programs_find_the_library_once_it_is_installed])
