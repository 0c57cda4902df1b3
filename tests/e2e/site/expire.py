#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof expire: which files go and which stay, by age, by quota and by reason; that root works as each directory's owner,
whatever users put there; that a name is looked at again right before it goes; and the units that call it."""

import contextlib
import pwd
import socket
import sqlite3
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from sitelib import *
from scan import Tree
from service import EXPOSURE_MAX, etc_with, members

DAY = 86400
UNITS = [os.path.join(ROOT, "conf/jobprof-expire.%s.in" % kind) for kind in ("service", "timer")]
# Users without a name here, as they are where a user is gone; and what they leave.
UIDS = (61001, 61002)
OTHER = 61009
REASONS = ("unmerged", "unindexed", "running", "foreign", "young")


def put(path, days, uid=None, size=3000):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(b"x" * size)
    age(path, days)
    if uid is not None and not os.geteuid():
        os.chown(path, uid, uid)
    return path


def age(path, days):
    t = time.time() - days * DAY
    os.utime(path, (t, t), follow_symlinks=False)


class Site:
    """A directory of users, and an index that has read all job files and node-step files that are there when it is noted."""

    def __init__(self):
        t = Tree()
        os.rmdir(t.user)
        self.dir, self.index = t.dir, t.index
        os.chmod(TMP, 0o755)
        os.chmod(self.dir, 0o755)
        must("index", "scan", "--database", self.index, self.dir)

    def user(self, name, uid=None):
        d = os.path.join(self.dir, name)
        os.mkdir(d, 0o700)
        if not os.geteuid():
            os.chown(d, UIDS[0] if uid is None else uid, -1)
        return d

    def note(self, *but):
        """What jobprof index scan stores of files that are there."""
        rows = []
        for d, _, names in os.walk(self.dir):
            for n in names:
                path = os.path.join(d, n)
                st = os.lstat(path)
                if n.endswith(".h5") and n not in but:
                    rows.append((path, d, st.st_mtime_ns / 1e9, st.st_size, st.st_uid, "read"))
        with contextlib.closing(sqlite3.connect(self.index)) as db:
            db.executemany("INSERT OR REPLACE INTO file (path, directory, mtime, size, uid, state) VALUES (?, ?, ?, ?, ?, ?)", rows)
            db.executemany("INSERT OR IGNORE INTO directory (path) VALUES (?)", {(r[1],) for r in rows})
            db.commit()

    def expire(self, *args, **more):
        return call("expire", "--database", self.index, *args, self.dir, **more)


def below(d):
    return sorted(os.path.relpath(os.path.join(at, n), d) for at, _, names in os.walk(d) for n in names)


def blocks(d, names):
    return sum(os.lstat(os.path.join(d, n)).st_blocks * 512 for n in names)


def mixed(s, name="gone1", uid=None):
    """A directory with one of each: the names that go by age, and those that stay, with the reason."""
    uid = UIDS[0] if uid is None else uid
    d = s.user(name, uid)
    go = ["job_1.h5", "job_13.restart1.h5", "restart0/job_12.h5"]
    stay = {"job_2.h5": None, "3_0_n1.h5": "unmerged", "4_0_n1.h5": "unmerged", "job_4.h5": "unmerged", "job_5.h5": "running", ".5_0_n1.h5": "running",
            "job_6.h5": "unindexed", "job_7.h5": "foreign", "job_10.h5": "foreign", "notes.h5": None, "job_11.txt": None, "job_.h5": None,
            "job_99999999999.h5": None, ".job_14.h5.merge": "running", "job_14.h5": "running", "job_1.h5.old": None}
    for n in [*go, *stay]:
        put(os.path.join(d, n), 10 if n == "job_2.h5" else 100, uid)
    if not os.geteuid():
        os.chown(d + "/restart0", uid, uid)
        os.chown(d + "/job_10.h5", OTHER, OTHER)
    else:
        stay["job_10.h5"] = None
        age(d + "/job_10.h5", 10)
    os.link(d + "/job_7.h5", os.path.join(s.dir, "elsewhere-" + name))
    s.note("job_6.h5")
    return d, go, stay


def kept_jobs(stay):
    jobs = {(re.search(r"\d+", n)[0], why) for n, why in stay.items() if why}
    return {r: sum(why == r for _, why in jobs) for r in REASONS}


def by_age():
    s = Site()
    d, go, stay = mixed(s, "gone1" if not os.geteuid() else pwd.getpwuid(os.geteuid()).pw_name)
    size = blocks(d, go)
    p = s.expire("--older-than", "60d", "--dry-run")
    shown = sorted(os.path.relpath(line.split(": ")[0], d) for line in p.stdout.splitlines() if " days old" in line)
    is_equal("dry run: what would go is printed, and stays", [p.returncode, shown, below(d)], [0, sorted(go), sorted([*go, *stay])])
    is_true("dry run: sums of the user", "%s: 3 jobs would go (3 files, " % os.path.basename(d) in p.stdout, p.stdout)
    p = s.expire("--older-than", "60d", "--json")
    is_equal("age: these go", [p.returncode, below(d), os.path.exists(d + "/restart0")], [0, sorted(stay), False])
    j = json.loads(p.stdout)
    is_equal("age: JSON has the sums", j["users"][0]["by_age"], {"jobs": 3, "files": 3, "bytes": size})
    is_equal("age: and why others stay", j["users"][0]["kept_jobs"], kept_jobs(stay))
    is_equal("age: totals are those of the one user", [j["total"][k] for k in ("by_age", "by_quota", "left", "kept_jobs")],
             [j["users"][0][k] for k in ("by_age", "by_quota", "left", "kept_jobs")])
    p = s.expire("--older-than", "60d", "--unmerged", "--unindexed")
    stay = {n: why for n, why in stay.items() if why not in ("unmerged", "unindexed")}
    is_equal("--unmerged --unindexed: the rest of what is old", [p.returncode, below(d)], [0, sorted(stay)])
    is_true("age: a line in words", re.search(r": 3 jobs removed \(4 files, .*\), 1?\d jobs left .*; stay though due: 2 running or being merged, \d with links", p.stdout), p.stdout)


def never_young():
    s = Site()
    d = s.user(pwd.getpwuid(os.geteuid()).pw_name, os.geteuid())
    put(d + "/job_1.h5", 0.9, os.geteuid())
    put(d + "/job_2.h5", -5, os.geteuid())
    s.note()
    p = s.expire("--older-than", "0h", "--quota", "1", "--json")
    is_equal("what changed within a day stays, and what a clock put into the future", [p.returncode, below(d), json.loads(p.stdout)["total"]["kept_jobs"]["young"]],
             [0, ["job_1.h5", "job_2.h5"], 2])


def quota():
    s = Site()
    me = os.geteuid()
    d = s.user(pwd.getpwuid(me).pw_name, me)
    names = ["job_%d.h5" % (100 - i) for i in range(10)]
    for i, n in enumerate(names):  # the larger the number, the younger
        put(os.path.join(d, n), 30 - i, me, 100000 + 5000 * i)
    s.note()
    most = blocks(d, names[-4:]) + blocks(d, [names[0]]) // 2
    p = s.expire("--quota", "%d" % most, "--json")
    j = json.loads(p.stdout)["users"][0]
    is_equal("quota: the newest stay", below(d), sorted(names[-4:]))
    is_equal("quota: what is left fits", [j["left"]["bytes"] <= most, j["left"], j["by_quota"]["jobs"]],
             [True, {"jobs": 4, "files": 4, "bytes": blocks(d, names[-4:])}, 6])
    p = s.expire("--quota", "%d" % most)
    is_equal("quota: nothing more goes", below(d), sorted(names[-4:]))
    p = s.expire("--quota", "1KiB", "--older-than", "27d", "--unindexed")
    is_true("quota: what nothing holds goes, with age", below(d) == [] and "by the quota" in p.stdout, p.stdout)
    for words in (["--quota", "much"], ["--older-than", "all"], ["--older-than", "x"], ["-u", "a/b"]):
        is_equal("wrong: %s" % " ".join(words), [s.expire(*words).returncode], [2])


def without_settings():
    s = Site()
    p = s.expire()
    is_true("without a limit nothing expires", p.returncode == 0 and "nothing expires" in p.stderr, p.stderr)
    p = call("expire", "--older-than", "60d", "--database", s.index + ".none", s.dir)
    is_true("without an index nothing expires, which is an error", p.returncode == 1 and "there is no index" in p.stderr, p.stderr)
    p = call("expire", "--older-than", "60d", "--unindexed", s.dir + "/none")
    is_true("without the directory neither", p.returncode == 1 and "No such file" in p.stderr, p.stderr)


def need_root():
    if os.geteuid():
        raise Skipped("needs root")


def reached(program):
    """A copy that other users can start."""
    copy = os.path.join(TMP, "jobprof-of-all")
    if not os.path.exists(copy):
        shutil.copy(program, copy)
        os.chmod(copy, 0o755)
    return copy


def as_owner():
    """Root without its right to pass over modes, as on a file system where root is nobody."""
    need_root()
    s = Site()
    dirs = {uid: mixed(s, "gone%d" % i, uid)[0] for i, uid in enumerate(UIDS)}
    before = {d: below(d) for d in dirs.values()}
    log = os.path.join(tmpdir("calls"), "calls")
    p = subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=unlinkat,unlink,setresuid,openat", "setpriv", "--bounding-set=-all,+setuid,+setgid", JOBPROF, "expire",
                        "--older-than", "60d", "--unmerged", "--unindexed", s.dir], capture_output=True, text=True, env=plain_env())
    is_equal("as owners: all goes that is due", [p.returncode, [len(below(d)) < len(before[d]) - 5 for d in dirs.values()]], [0, [True, True]])
    with open(log) as f:
        text = f.read()
    became = dict(re.findall(r"^(\d+) +setresuid\(\d+, (\d+), ", text, re.M))
    removing = set(re.findall(r"^(\d+) +unlink(?:at)?\((?:\d+, )?\"[^\"]*\.h5\"", text, re.M))
    is_equal("as owners: each file is removed by a process that has become the user", sorted(became.get(pid) for pid in removing), [str(u) for u in UIDS])
    is_equal("as owners: and no directory of a user is opened by another one",
             [line for line in re.findall(r"^\d+ +openat\([^\n]*\"gone[^\n]*", text, re.M) if line.split()[0] not in became], [])


def as_user():
    """A user's own directory, and nobody else's."""
    need_root()
    s = Site()
    me = pwd.getpwnam("nobody")
    d, go, stay = mixed(s, "nobody", me.pw_uid)
    other, _, _ = mixed(s, "gone1")
    before = below(other)
    wrap = ["setpriv", "--reuid=%d" % me.pw_uid, "--regid=%d" % me.pw_gid, "--clear-groups", reached(JOBPROF)]
    run = lambda *words: subprocess.run([*wrap, "expire", "--older-than", "60d", "--unindexed", *words, s.dir], capture_output=True, text=True, env=plain_env(HOME=tmpdir("home")), cwd="/")
    p = run()
    stay.pop("job_6.h5")
    is_equal("a user: own files", [p.returncode, below(d), below(other)], [0, sorted(stay), before])
    os.chmod(other, 0o777)
    p = run("-u", "gone1", "--unmerged")
    is_true("a user: others' directories are left alone, however open", below(other) == before and "left alone" in p.stderr, (p.stdout, p.stderr))


def hostile_top():
    """What users may put where the users' directories are."""
    need_root()
    s = Site()
    secret = tmpdir("secret")
    put(secret + "/job_1.h5", 100, 0)
    d, _, _ = mixed(s)
    os.symlink(secret, s.dir + "/link")
    os.symlink("/", s.dir + "/root")
    s.user("nobody", UIDS[1])  # of a user who has another number
    put(s.dir + "/nobody/job_1.h5", 100, UIDS[1])
    s.user("archive", 0)  # root's, who has another name
    put(s.dir + "/archive/job_1.h5", 100, 0)
    os.mkfifo(s.dir + "/fifo")
    put(s.dir + "/job_3.h5", 100, 0)
    hidden = s.user(".hidden")
    put(hidden + "/job_1.h5", 100, UIDS[0])
    p = s.expire("--older-than", "60d", "--unindexed", "--unmerged")
    stays = ["archive/job_1.h5", "nobody/job_1.h5", "job_3.h5", ".hidden/job_1.h5"]
    is_equal("top: nothing goes that is in no user's directory", [n for n in stays if not os.path.exists(os.path.join(s.dir, n))] + [below(secret)], [["job_1.h5"]])
    is_equal("top: one line says so", [p.returncode, len(p.stderr.splitlines()), "4 left alone" in p.stderr], [0, 1, True])
    is_true("top: and the others' turn comes", not os.path.exists(d + "/job_1.h5"), below(d))


def hostile_directory():
    """What a user may put into the own directory."""
    need_root()
    s = Site()
    secret = tmpdir("secret")
    os.chmod(secret, 0o777)
    put(secret + "/job_1.h5", 100, UIDS[0])
    d = s.user("gone1")
    for n, kind in ((1, "link"), (2, "dangling"), (3, "fifo"), (4, "directory"), (5, "socket")):
        path = d + "/job_%d.h5" % n
        if kind in ("link", "dangling"):
            os.symlink(secret + ("/job_1.h5" if kind == "link" else "/none"), path)
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "directory":
            os.mkdir(path)
            put(path + "/job_9.h5", 100, UIDS[0])
        else:
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as u:
                u.bind(path)
        os.chown(path, UIDS[0], UIDS[0], follow_symlinks=False)
        age(path, 100)
    os.symlink(secret, d + "/restart0")
    os.mkdir(d + "/restart1", 0o700)
    os.chown(d + "/restart1", OTHER, OTHER)
    put(d + "/restart1/job_1.h5", 100, UIDS[0])
    os.mkdir(d + "/restart2")
    subprocess.run(["mount", "--bind", secret, d + "/restart2"], check=True)
    try:
        strange = "job_6\n\x1b[31m.h5"
        put(os.path.join(d, strange), 100, UIDS[0])
        put(d + "/job_7.h5", 100, UIDS[0])
        names = set(os.listdir(d)) - {"job_7.h5"}
        p = s.expire("--older-than", "60d", "--unindexed", "--unmerged", "-v")
        is_equal("hostile: only a file of the user's goes", [p.returncode, set(os.listdir(d)), below(secret), below(d + "/job_4.h5"), below(d + "/restart1")],
                 [0, names, ["job_1.h5"], ["job_9.h5"], ["job_1.h5"]])
        is_true("hostile: why is counted", "stay though due: 5 with links" in p.stdout, p.stdout)
    finally:
        subprocess.run(["umount", d + "/restart2"], check=True)


def swapped():
    """A name that becomes another file between the look at the directory and its removal, and between the last look and the removal."""
    need_root()
    for what in ("a new file", "a link", "another's restart0"):
        s = Site()
        secret = put(tmpdir("secret") + "/job_1.h5", 100, UIDS[0])
        d = s.user("gone1")
        at = d + ("/restart0" if "restart" in what else "")
        path = put(at + "/job_1.h5", 100, UIDS[0])
        os.chown(at, UIDS[0], UIDS[0])
        # alarm() comes before each step: names of the directories and, last, the removal
        steps = 4 + (3 if "restart" in what else 0)
        p = start(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=alarm", "-e", "inject=alarm:delay_exit=3000000:when=%d" % steps, JOBPROF, "expire",
                   "--older-than", "60d", "--unindexed", s.dir], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        still = os.path.exists(path)
        if what == "a new file":
            os.rename(put(d + "/new", 0, UIDS[0]), path)
        elif what == "a link":
            os.unlink(path)
            os.symlink(secret, path)
        else:
            os.rename(at, d + "/moved")
            os.symlink(os.path.dirname(secret), at)
        out, err = p.communicate(timeout=60)
        is_true("swapped for %s: in time" % what, still, "it was removed before")
        is_equal("swapped for %s: the other one stays" % what, [os.path.lexists(path), os.path.exists(secret)], [True, True])
        if "restart" not in what:
            is_true("swapped for %s: it is said" % what, p.returncode == 1 and "it has changed meanwhile" in err, (p.returncode, out, err))


# Those that work as the user of this script, and those of them that it may end.
ENDS = """import os, re
mine = [int(p) for p in os.listdir("/proc") if p.isdigit() and os.path.exists("/proc/%s/status" % p)
        and re.search(r"^Uid:\t\d+\t%d\t" % os.getuid(), open("/proc/%s/status" % p).read(), re.M) and int(p) != os.getpid()]
for p in mine:
    try:
        os.kill(p, 0)
        print(p, "may be ended")
    except PermissionError:
        print(p, "goes on")
"""


def not_ended():
    """The user as whom files are removed can neither end nor stop who does it: the next user's turn would not come."""
    need_root()
    s = Site()
    put(s.user("gone1") + "/job_1.h5", 100, UIDS[0])
    p = start(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=alarm", "-e", "inject=alarm:delay_enter=2000000:when=1", JOBPROF, "expire",
               "--older-than", "60d", "--unindexed", s.dir], stdout=subprocess.DEVNULL)
    as_user = ["setpriv", "--reuid=%d" % UIDS[0], "--clear-groups", "--regid=%d" % UIDS[0], "/usr/bin/python3", "-c", ENDS]
    said = wait_until(lambda: subprocess.run(as_user, capture_output=True, text=True, check=True).stdout, 10, "a process that works as the user")
    is_true("not ended: by the user", re.fullmatch(r"\d+ goes on\n", said), said)
    is_equal("not ended: its status", p.wait(30), 0)


def many():
    """A user with 20,000 files, half of which go."""
    s = Site()
    me = os.geteuid()
    d = s.user(pwd.getpwuid(me).pw_name, me)
    now = time.time()
    for i in range(20000):
        path = "%s/job_%d.h5" % (d, i + 1)
        with open(path, "w"):
            pass
        os.utime(path, (now, now - (100 if i % 2 else 10) * DAY))
    s.note()
    began = time.monotonic()
    p = s.expire("--older-than", "60d", "--json")
    took = time.monotonic() - began
    is_equal("20,000 files: half of them go", [p.returncode, json.loads(p.stdout)["total"]["by_age"]["files"], len(os.listdir(d))], [0, 10000, 10000])
    is_true("20,000 files: in 20 s", took < 20, took)
    print("%.2f s" % took)


def settings_of_the_site():
    """jobprof.conf says for how long, where, and which index."""
    need_root()
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        raise Skipped("needs a mount namespace of its own")
    s = Site()
    d, go, stay = mixed(s)
    etc = etc_with("ProfileHDF5Dir=%s\nIndexDatabase=%s\nProfileRetention=60\nProfileQuota=1000000\n" % (s.dir, s.index))
    with open(UNITS[0]) as f:
        unit = f.read()
    words = re.search(r"^ExecStart=\S+ (.*)$", unit, re.M)[1].split()
    caps = ",".join("+" + c[4:].lower() for c in re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M)[1].split())
    log = os.path.join(tmpdir("calls"), "calls")
    p = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", 'mount --bind "$1" /etc || exit 77; shift; exec "$@"', "sh", etc,
                        "strace", "-f", "-qq", "-o", log, "-e", "signal=none", "setpriv", "--bounding-set=-all," + caps, "--no-new-privs", JOBPROF, *words],
                       capture_output=True, text=True, env=plain_env())
    is_equal("service: what is due goes, with the unit's rights", [p.returncode, below(d)], [0, sorted(stay)])
    with open(log) as f:
        made = set(re.findall(r"^\d+ +(\w+)\(", f.read().split("execve(\"%s\"" % JOBPROF)[-1], re.M))
    if shutil.which("systemd-analyze"):
        is_equal("service: no call is denied", sorted(made - members("@system-service")), [])


def units():
    place = tmpdir("unit")
    paths = []
    for unit in UNITS:
        with open(unit) as f:
            text = f.read().replace("@PREFIX@/bin", os.path.dirname(JOBPROF)).replace("@SYSCONFDIR@", "/etc")
        paths.append(os.path.join(place, os.path.basename(unit)[:-3]))
        with open(paths[-1], "w") as f:
            f.write(text)
    if not shutil.which("systemd-analyze"):
        raise Skipped("there is no systemd-analyze")
    p = subprocess.run(["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True)
    is_equal("units: systemd finds nothing wrong", [line for line in p.stderr.splitlines() if "jobprof-expire" in line], [])
    is_hardened(paths[0], EXPOSURE_MAX + 1)


if __name__ == "__main__":
    run_tests((by_age, never_young, quota, without_settings, as_owner, as_user, hostile_top, hostile_directory, swapped, not_ended, many, settings_of_the_site, units))
