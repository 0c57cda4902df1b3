#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The index in SQLite: who may read and write it, what becomes of it when its writer is killed, its disk is full or its file damaged."""

import fcntl
import itertools
import stat
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from indexlib import *

NOBODY, GROUP = 65534, 12345


def new_index(top=None, n=4):
    """The index of some profiles, and their directory."""
    path, top = os.path.join(tmpdir("index"), "index.db"), top or tmpdir("profiles")
    if n:
        profiles(top, n)
    jobprof("index", "scan", top, "--database", path)
    return path, top


def how_the_file_is():
    path, _ = new_index(n=1)
    names = {f: stat.S_IMODE(os.stat(os.path.join(os.path.dirname(path), f)).st_mode) for f in os.listdir(os.path.dirname(path))}
    is_equal("its group may read what readers need, and no other", names,
             {"index.db": 0o640, "index.db-wal": 0o640, "index.db-shm": 0o640, "index.db.lock": 0o600})
    is_equal("the log is empty when who wrote has ended", os.path.getsize(path + "-wal"), 0)
    is_equal("how it was made", [query(path, "PRAGMA " + p)[0][0] for p in ("journal_mode", "page_size")], ["wal", 8192])
    version = tuple(map(int, sqlite3.sqlite_version.split(".")))
    p = call("index", "check", "--database", path)
    safe = version >= (3, 51, 3) or version in ((3, 50, 7), (3, 44, 6))
    is_true("check warns of SQLite before 3.51.3", p.returncode == 0 and (p.stderr == "") == safe and p.stderr.count("\n") == (not safe) and
            ("only one process may write" in p.stderr) != safe, p.stderr)


class Shared:
    """An index whose group may read it, in a directory in which it may not write; reader() is of that group."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="jobprof-shared.", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self.program = shutil.copy(JOBPROF, self.dir)
        os.chmod(self.program, 0o755)
        self.home = os.path.join(self.dir, "home")
        os.mkdir(self.home)
        os.chown(self.home, 0, GROUP)
        os.chmod(self.home, 0o2750)  # new files have its group
        self.path = os.path.join(self.home, "index.db")

    def reader(self, *args, group=GROUP):
        return subprocess.run([self.program, *args, "--database", self.path], capture_output=True, text=True, env=plain_env(HOME=self.dir),
                              user=NOBODY, group=NOBODY, extra_groups=[group] if group else [], cwd="/", timeout=60)

    def ids(self):
        p = self.reader("jobs", "--since", "all", "--all", "--json")
        return sorted(r["job_id"] for r in json.loads(p.stdout)["rows"]) if not p.returncode and not p.stderr else p.stderr

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir)


def readers_of_its_group():
    if os.geteuid():
        raise Skipped("needs root")
    with Shared() as s:
        top = tmpdir("profiles")
        profiles(top, 3)
        for path in glob.glob(top + "/**/*.h5", recursive=True):
            os.chown(path, NOBODY, NOBODY)  # who is no staff sees own jobs
        jobprof("index", "scan", top, "--database", s.path)
        is_equal("a reader when nobody writes", s.ids(), [100, 101, 102])
        is_true("and nothing of it changes", s.ids() == [100, 101, 102] and sorted(os.listdir(s.home)) ==
                ["index.db", "index.db-shm", "index.db-wal", "index.db.lock"], os.listdir(s.home))
        p = s.reader("jobs", group=None)
        is_true("another user may not", one_line(p, "Permission denied"), p.stderr)
        p = s.reader("index", "scan", top)
        is_true("nor does a reader write", one_line(p, "Permission denied"), p.stderr)
        with contextlib.closing(sqlite3.connect(s.path, isolation_level=None)) as db:
            db.execute("PRAGMA wal_autocheckpoint=0")
            db.execute("UPDATE job SET job_id = job_id + 1000")
            db.execute("BEGIN IMMEDIATE")
            db.execute("UPDATE job SET job_id = job_id + 1000")
            is_equal("a reader while another process writes: what is committed", s.ids(), [1100, 1101, 1102])
            db.execute("ROLLBACK")
        code = ("import os, signal, sqlite3\ndb = sqlite3.connect(%r, isolation_level=None)\ndb.execute('PRAGMA wal_autocheckpoint=0')\n"
                "db.execute('UPDATE job SET job_id = job_id + 1000')\ndb.execute('BEGIN IMMEDIATE')\ndb.execute('DELETE FROM job')\n"
                "os.kill(os.getpid(), signal.SIGKILL)" % s.path)
        subprocess.run([sys.executable, "-c", code])
        is_true("a writer that was killed has left a log", os.path.getsize(s.path + "-wal") > 0, "")
        is_equal("a reader after that: what was committed", s.ids(), [2100, 2101, 2102])
        jobprof("index", "remake", "--database", s.path)
        is_equal("and after the next writer", (s.ids(), os.path.getsize(s.path + "-wal")), ([2100, 2101, 2102], 0))
        os.unlink(s.path + "-shm")
        os.unlink(s.path + "-wal")
        p = s.reader("jobs")
        is_true("a reader without what readers share is told who makes it", one_line(p, "index.db-shm", "jobprof index scan"), p.stderr)


def one_that_writes():
    path, top = new_index()
    with open(path + ".lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = query(path, "SELECT count(*) FROM job")
        p = call("index", "remake", "--database", path)
        is_true("a second one that writes is refused", one_line(p, "another process writes"), p.stderr)
        is_true("readers read", call("jobs", "--since", "all", "--database", path).returncode == 0, "")
        is_equal("nothing has changed", query(path, "SELECT count(*) FROM job"), before)
    jobprof("index", "remake", "--database", path)
    healthy(path, "after the lock")


def a_writer_is_killed():
    """At several instants of a scan: its lock ends with it, and the next scan leaves nothing doubled or out."""
    top, path = tmpdir("killed"), os.path.join(tmpdir("index"), "index.db")
    profiles(top, 6)
    for i in range(20):
        p = start([JOBPROF, "index", "scan", "--again", top, "--database", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=plain_env(),
                  start_new_session=True)
        time.sleep(0.01 + 0.035 * i)
        p.kill()
        p.wait()
        q = call("jobs", "--since", "all", "--database", path)
        is_true("killed, %d: it can be read, or is not there" % i, q.returncode == 0 or "jobprof index scan" in q.stderr, q.stderr)
    end = time.monotonic() + PATIENCE  # its children die with it, but not at once, and have its lock
    while call("index", "scan", top, "--database", path).returncode and time.monotonic() < end:
        time.sleep(0.1)
    is_equal("all jobs are there once", query(path, "SELECT job_id FROM job ORDER BY job_id"), [(100 + i,) for i in range(6)])
    healthy(path, "after kills")


def what_is_no_index():
    path, top = new_index(n=2)
    d = os.path.dirname(path)

    def refused(name, where, *says):
        for args in (["jobs"], ["index", "scan", top]):
            p = call(*args, "--database", where)
            is_true("%s: %s" % (args[0], name), one_line(p, *says), p.stderr)

    text = os.path.join(d, "text")
    with open(text, "w") as f:
        f.write("all my results\n" * 1000)
    refused("a file of another kind", text, text, "no index")
    with open(text) as f:
        is_equal("it is as it was", f.read(), "all my results\n" * 1000)
    os.symlink(path, os.path.join(d, "link"))
    refused("a symbolic link", os.path.join(d, "link"), "symbolic link")
    os.mkfifo(os.path.join(d, "fifo"))
    refused("a pipe", os.path.join(d, "fifo"), "no file")
    refused("a directory", d, "no file")
    p = call("jobs", "--database", os.path.join(d, "none"))
    is_true("none", one_line(p, "there is no index", "jobprof index scan"), p.stderr)
    p = call("index", "scan", top, "--database", os.path.join(d, "no", "way"))
    is_true("no directory", one_line(p, "No such file"), p.stderr)
    other = os.path.join(d, "other.db")
    with contextlib.closing(sqlite3.connect(other)) as db, db:
        db.execute("CREATE TABLE meta (key TEXT, value TEXT)")
    refused("a database of others", other, "no index")
    os.symlink(d, d + ".way")
    p = call("jobs", "--since", "all", "--database", os.path.join(d + ".way", "index.db"))
    is_true("a link on the way to it is followed", p.returncode == 0 and not p.stderr, p.stderr)
    os.unlink(d + ".way")


def schema(path):
    """Names of tables, of their columns in any order, and of indexes."""
    names = query(path, "SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1, 2")
    return [(*n, sorted(columns(path, n[1])) if n[0] == "table" else None) for n in names]


def versions_of_the_schema():
    path, top = new_index()
    made = schema(path)
    before = rows(path, "job")
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = '999' WHERE key = 'version'")
    for args in (["jobs"], ["index", "scan", top], ["index", "remake"]):
        p = call(*args, "--database", path)
        is_true("%s: a later version is refused" % " ".join(args[:2]), one_line(p, "999", "later"), p.stderr)
    is_equal("and left as it was", (rows(path, "job"), query(path, "SELECT value FROM meta WHERE key = 'version'")), (before, [("999",)]))
    version = int(re.search(r"define INDEX_VERSION (\d+)", open(os.path.join(ROOT, "user/index/index.h")).read()).group(1))
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = 1 WHERE key = 'version'")
        db.execute("ALTER TABLE job DROP COLUMN offloads")
        for table in ("job_fs", "node", "node_row", "running", "coordinator"):  # which later versions have brought
            db.execute("DROP TABLE %s" % table)
        for column in ("kind", "code", "needs", "used", "asked"):  # and what version 2 has more
            db.execute("ALTER TABLE finding DROP COLUMN %s" % column)
        db.execute("DROP INDEX job_program")
        db.execute("DROP INDEX job_list")
        for table, column in itertools.product(("day", "month"), ("failed", "read_bytes", "write_bytes")):
            db.execute("ALTER TABLE %s DROP COLUMN %s" % (table, column))
    p = call("jobs", "--database", path)
    is_true("of an earlier version a reader says how it comes forward", one_line(p, "earlier", "jobprof index scan"), p.stderr)
    jobprof("index", "scan", top, "--database", path)
    names = columns(path, "job")
    is_equal("who writes brings it forward", (query(path, "SELECT value FROM meta WHERE key = 'version'"), "offloads" in names), ([(str(version),)], True))
    is_equal("with all tables, columns and indexes that a new one has", schema(path), made)
    is_equal("and its rows are there", query(path, "SELECT job_id, \"user\", lost_core_s FROM job ORDER BY job_id"),
             sorted((r[1], r[names.index("user") - 1], r[names.index("lost_core_s") - 1]) for r in before))
    is_equal("sums have what they had not", query(path, "SELECT sum(failed) IS NOT NULL, sum(read_bytes) FROM day"),
             query(path, "SELECT 1, sum(read_bytes) FROM job"))
    is_equal("file systems are known when a profile is read again", query(path, "SELECT count(*) FROM job_fs"), [(0,)])
    jobprof("index", "remake", top, "--database", path)
    is_true("and then they are there", query(path, "SELECT count(*) FROM job_fs")[0][0] > 0, "")
    healthy(path, "brought forward")


def damage(path, share):
    """Nothing of the middle of the file is left."""
    size = os.path.getsize(path)
    with open(path, "r+b") as f:
        f.seek(int(size * (1 - share) / 2) // 8192 * 8192 + 8192)
        f.write(random.Random(5).randbytes(int(size * share)))


def a_damaged_file():
    path, top = new_index(n=6)
    jobprof("contacted", "101", "--ticket", "T1", "--database", path)
    before = rows(path, "job")
    whole = open(path, "rb").read()
    damage(path, 0.5)
    p = call("index", "check", "--database", path)
    is_true("check: damage is said", p.returncode == 1 and "damaged" in p.stderr and "remake" in p.stderr + p.stdout, p.stdout + p.stderr)
    for args in (["jobs", "--since", "all"], ["usage", "--by", "name", "--since", "all"], ["index", "remake"]):
        p = call(*args, "--database", path)
        is_true("%s: no crash" % " ".join(args[:2]), p.returncode in (0, 1) and (p.returncode == 0 or "damaged" in p.stderr), (p.returncode, p.stderr))
    jobprof("index", "remake", top, "--database", path)
    is_true("remake DIR makes all rows again", [r[:3] for r in rows(path, "job")] == [r[:3] for r in before], rows(path, "job"))
    healthy(path, "made again")
    is_true("the damaged one is set aside", os.path.getsize(path + ".old") > 0, "")
    with open(path, "wb") as f:
        f.write(whole)
    jobprof("index", "remake", top, "--database", path)
    is_equal("contacts come from the one before where it can be read", query(path, "SELECT ticket FROM contact"), [("T1",)])
    with open(path, "r+b") as f:
        f.truncate(3 * 8192)
    p = call("jobs", "--since", "all", "--database", path)
    is_true("a file that was cut", one_line(p, "damaged", "remake"), p.stderr)


def a_full_disk():
    """Nothing is half written, and with room again the next scan does what this one could not."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        raise Skipped("needs a mount namespace of its own")
    top = tmpdir("full")
    profiles(top, 3)
    script = """set -u
mount -t tmpfs -o size=420k none "$1"
"$2" index scan "$3" --database "$1/index.db"; echo "scan $?"
"$2" jobs --since all --database "$1/index.db" >/dev/null; echo "jobs $?"
mount -o remount,size=8m "$1"
"$2" index scan "$3" --database "$1/index.db"; echo "again $?"
"$2" index check --database "$1/index.db"; echo "check $?"
"""
    p = subprocess.run(["unshare", "-m", "--propagation", "private", "bash", "-c", script, "sh", tmpdir("disk"), JOBPROF, top], capture_output=True,
                       text=True, env=plain_env(), timeout=120)
    is_true("full: one line, and it can be read", "scan 1\n" in p.stdout and p.stderr.count("full") == 1, p.stdout + p.stderr)
    is_true("with room: all is there", "again 0\n" in p.stdout and "3 jobs, 3 with a profile" in p.stdout and "check 0\n" in p.stdout, p.stdout + p.stderr)


if __name__ == "__main__":
    run_tests([how_the_file_is, readers_of_its_group, one_that_writes, a_writer_is_killed, what_is_no_index, versions_of_the_schema, a_damaged_file,
               a_full_disk])
