#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof-index.service: what its unit closes leaves the service what it needs, and the index is where jobprof.conf says, or
in the directory that the unit makes. And a user's own index, for which nothing is installed."""

import contextlib
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from sitelib import *
from scan import put, Tree
from sacctlib import Sacct, job

UNIT = os.path.join(ROOT, "conf/jobprof-index.service.in")
EXPOSURE_MAX = 2.0
OTHER_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--no-new-privs"]


def settings():
    with open(UNIT) as f:
        return f.read().replace("@PREFIX@/bin", os.path.dirname(JOBPROF))


def unit():
    text = settings()
    is_equal("unit: its own user, and no capability", [line in text.splitlines() for line in ("User=jobprof", "CapabilityBoundingSet=", "NoNewPrivileges=yes")], [True] * 3)
    with open(os.path.join(ROOT, "user/base/config/config.c")) as f:
        spool = re.search(r'"MailSpool", PATH\(mail_spool\), "([^"]+)"', f.read())[1]
    is_true("unit: the spool of mails may be written to", "\nReadWritePaths=-%s\n" % spool in text, text)
    path = os.path.join(tmpdir("unit"), "jobprof-index.service")
    with open(path, "w") as f:
        f.write(text)
    is_hardened(path, EXPOSURE_MAX)


def public(top):
    """A directory that the service's user reaches, with the program and profiles."""
    os.chmod(TMP, 0o755)
    for path in (top, *glob.glob(top + "/**", recursive=True)):
        os.chmod(path, 0o755)
    program = os.path.join(TMP, "jobprof")
    if not os.path.exists(program):
        shutil.copy(JOBPROF, program)
        os.chmod(program, 0o755)
    return program


def calls_of_the_service():
    """It makes none that the unit's filter denies."""
    for program in ("strace", "systemd-analyze"):
        if os.geteuid() or not shutil.which(program):
            raise Skipped("needs root and %s" % program)
    t, sacct, log = Tree(), Sacct([job(5, int(time.time()) - 900)]), os.path.join(tmpdir("calls"), "calls")
    for n in (1, 2):
        put(t.user, n)
    spool, program = tmpdir("spool"), public(t.dir)
    for d in (os.path.dirname(t.index), spool, sacct.dir):
        os.chown(d, 65534, 65534)
    os.chmod(sacct.dir, 0o755)
    p = start(["strace", "-D", "-f", "-qq", "-o", log, "-e", "signal=none", *OTHER_USER, program, "index", "watch", "--every", "1", "--sacct", sacct.path,
               "--spool", spool, "--database", t.index, t.dir], stdout=subprocess.DEVNULL, env=sacct.env())
    wait_until(lambda: os.path.exists(spool + "/.served") and len(t.rows()) == 3, 30, "two profiles and a job of Slurm's")
    p.terminate()
    is_equal("without any right it reads profiles and sacct, and ends when it is told to", p.wait(PATIENCE), 0)
    with open(log) as f:
        own = re.split(r" execve\(\"%s" % re.escape(sacct.path), f.read())[0]  # what sacct does is Slurm's
    made = set(re.findall(r"^\d+ +(\w+)\(", own, re.M))
    is_true("unit: calls were seen", {"openat", "seccomp"} & made, made)
    is_equal("unit: nothing of it is denied", sorted(made - members("@system-service") - {"seccomp"}), [])  # libseccomp asks prctl then


IN_VAR = """mount -t tmpfs none /var/lib && mkdir /var/lib/jobprof-index && chown 65534:65534 /var/lib/jobprof-index && mount --bind "$1" /etc || exit 77
shift; timeout 3 "$@"; ls /var/lib/jobprof-index"""


def etc_with(configured):
    """A directory for the place of /etc, with this jobprof.conf."""
    etc = tmpdir("etc")
    for file in ("passwd", "group", "nsswitch.conf"):
        shutil.copy("/etc/" + file, etc)
    os.mkdir(etc + "/jobprof")
    with open(etc + "/jobprof/jobprof.conf", "w") as f:
        f.write(configured)
    for path in (etc, etc + "/jobprof"):
        os.chmod(path, 0o755)
    return etc


def where_the_index_is():
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        raise Skipped("needs root and a mount namespace of its own")
    t = Tree()
    put(t.user, 1)
    program = public(t.dir)
    words = re.search(r"^ExecStart=\S+ (.*)$", settings(), re.M)[1].split()
    for configured, name in (("", "index.db"), ("IndexDatabase=/var/lib/jobprof-index/other.db\n", "other.db")):
        p = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", IN_VAR, "sh", etc_with(configured), *OTHER_USER, program, *words, "--sacct", "none", t.dir],
                           capture_output=True, text=True, env=plain_env(), timeout=60)
        is_true("the service's index: %s" % name, name in p.stdout.split() and "1 job of 1 file" in p.stderr, (p.stdout, p.stderr))


def a_directory_by_a_link():
    """ProfileHDF5Dir may be a link, as to the file system of this year. The service and scan have one place of it."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        raise Skipped("needs root and a mount namespace of its own")
    t, link = Tree(), os.path.join(tmpdir("link"), "profiles")
    os.symlink(t.dir, link)
    put(t.user, 1)
    t.old()
    must("index", "import", "--database", t.index, "/dev/null")
    p = start(["unshare", "-m", "--propagation", "private", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', etc_with("ProfileHDF5Dir=%s\n" % link), JOBPROF,
               "index", "watch", "--every", "1", "--sacct", "none", "--database", t.index], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=plain_env())
    wait_until(t.rows, 30, "the job in the index")
    p.terminate()
    is_equal("watch, ProfileHDF5Dir a link: it ends", p.wait(PATIENCE), 0)
    is_equal("and has the real path", sql(t.index, "SELECT path FROM file"), [(os.path.realpath(t.user) + "/job_1.h5",)])
    is_equal("and scan finds nothing new there", t.scan(), "0 jobs of 0 new files")


SLURM = """#!/bin/sh
f=${0%/*}/comment
case $0 in
*sacct) echo "1|$(cat "$f" 2>/dev/null)" ;;
*) for word; do :; done; echo "${word#admincomment=}" >"$f" ;;
esac
"""


def comments_where_configured():
    """AdminComment=yes in jobprof.conf, and not without it: by stand-ins for sacct and sacctmgr that know one job."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        raise Skipped("needs root and a mount namespace of its own")
    for configured, wanted in (("", False), ("AdminComment=no\n", False), ("AdminComment=yes\n", True)):
        t, slurm, spool = Tree(), tmpdir("slurm"), tmpdir("spool")
        for name in ("sacct", "sacctmgr"):
            with open(os.path.join(slurm, name), "w") as f:
                f.write(SLURM)
            os.chmod(os.path.join(slurm, name), 0o755)
        put(t.user, 1)
        t.scan()
        with contextlib.closing(sqlite3.connect(t.index)) as db, db:
            db.execute("UPDATE job SET sources = 3, \"end\" = ?", [int(time.time()) - 100])
        p = start(["unshare", "-m", "--propagation", "private", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', etc_with(configured), JOBPROF, "index", "watch",
                   "--sacct", "none", "--spool", spool, "--database", t.index, t.dir], stdout=subprocess.DEVNULL, env=plain_env(PATH=slurm + ":" + os.environ["PATH"]))
        wait_until(lambda: os.path.exists(spool + "/.served"), 30, "mails, which come after comments")
        p.terminate()
        is_equal("the service with %r ends" % configured, p.wait(PATIENCE), 0)
        comment = os.path.join(slurm, "comment")
        is_equal("the service with %r writes comments" % configured, os.path.exists(comment) and open(comment).read()[:4] == "JS1:", wanted)


def own_index():
    """Two verbs, one after the other; what is known is not read again."""
    t, home = Tree(), tmpdir("home")
    for n in (1, 2):
        put(t.user, n)
    ask = lambda *args: as_json(*args, "--since", "all", "-p", t.dir, env={"XDG_DATA_HOME": home})
    is_equal("own index: it is made", sorted(r["job_id"] for r in ask("jobs")["rows"]), [1, 2])
    put(t.user, 3)
    is_equal("own index: and brought up to date", [ask("usage")["sum"]["jobs"], ask("jobs")["matching"]], [3, 3])
    index = os.path.join(home, "jobprof/index.db")
    is_equal("own index: for its user alone", os.stat(os.path.dirname(index)).st_mode & 0o77, 0)


@in_full
def own_index_is_quick():
    """1,000 known files: the best of five, as other load changes it."""
    t, home, took = Tree(), tmpdir("home"), []
    first = put(t.user, 1)
    for n in range(1000):
        shutil.copy(first, os.path.join(t.user, "job_1_%d.h5" % n))
    for _ in range(6):
        began = time.monotonic()
        must("jobs", "--since", "all", "-p", t.dir, env={"XDG_DATA_HOME": home})
        took.append(time.monotonic() - began)
    is_true("own index: 1,000 known files in less than a second", min(took[1:]) < 1, took)


if __name__ == "__main__":
    run_tests((unit, calls_of_the_service, where_the_index_is, a_directory_by_a_link, comments_where_configured, own_index, own_index_is_quick))
