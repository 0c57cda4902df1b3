# SPDX-License-Identifier: GPL-2.0-or-later
"""A PostgreSQL server of the script's own: in a directory of its own, on a Unix socket there, as a user without
rights, for it refuses root. It ends with the script."""

import atexit
import csv
import glob
import io
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

from reporting import *

# Commits reach no disk, and nobody but its socket's users reaches it.
SETTINGS = {"listen_addresses": "", "fsync": "off", "full_page_writes": "off", "max_connections": "20", "shared_buffers": "32MB",
            "logging_collector": "off", "log_min_messages": "panic"}


def programs():
    """The directory of the newest server's programs; None: there is none."""
    found = [d for d in glob.glob("/usr/lib/postgresql/*/bin") if os.access(d + "/initdb", os.X_OK) and os.access(d + "/psql", os.X_OK)]
    return max(found, key=lambda d: float(d.split("/")[-2]), default=None)


def _unprivileged():
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    raise Skipped("no user postgres or nobody")


class Server:
    """of: a user of the database who needs no password is "jobprof"; "limited" has the password PASSWORD."""
    PASSWORD = "s@cr/et:?%"

    def __init__(self, **settings):
        self.bin = programs()
        if not self.bin:
            raise Skipped("PostgreSQL's server is not installed")
        self.user = _unprivileged() if os.geteuid() == 0 else None
        self.dir = tempfile.mkdtemp(prefix="jobprof-pg.", dir="/tmp")  # the path of a socket is short
        self.data, self.process = os.path.join(self.dir, "data"), None
        self.settings = {**SETTINGS, "unix_socket_directories": self.dir, **settings}
        atexit.register(self.remove)
        if self.user:
            os.chown(self.dir, self.user.pw_uid, self.user.pw_gid)
        os.chmod(self.dir, 0o755)
        self._run("initdb", "-D", self.data, "-U", "jobprof", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with open(os.path.join(self.data, "pg_hba.conf"), "w") as f:
            f.write("local all limited scram-sha-256\nlocal all all trust\n")
        self.start()
        self.sql("CREATE DATABASE jobprof", "postgres")
        self.sql("CREATE ROLE limited LOGIN PASSWORD '%s'" % self.PASSWORD)

    def _as_user(self):
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": [], "cwd": self.dir} if self.user else {"cwd": self.dir}

    def _run(self, name, *args):
        p = subprocess.run([os.path.join(self.bin, name), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, **self._as_user())
        if p.returncode:
            raise Failed("%s: %s" % (name, p.stderr))

    def start(self):
        args = [w for k, v in self.settings.items() for w in ("-c", "%s=%s" % (k, v))]
        with open(os.path.join(self.dir, "log"), "ab") as log:
            self.process = subprocess.Popen([os.path.join(self.bin, "postgres"), "-D", self.data, *args], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, **self._as_user())
        end = time.monotonic() + PATIENCE
        while self.psql("SELECT 1", "postgres").returncode:
            if time.monotonic() > end or self.process.poll() is not None:
                with open(os.path.join(self.dir, "log")) as f:
                    raise Failed("the server does not start: " + f.read())
            time.sleep(0.05)

    def stop(self, how=signal.SIGINT):
        """SIGINT ends all connections, SIGQUIT at once, as a crash does."""
        if self.process:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)
        self.process = None

    def remove(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.dir, ignore_errors=True)

    def address(self, database="jobprof", user="jobprof", password=None):
        if password is not None:
            user += ":" + re.sub(r"[^a-z0-9]", lambda m: "%%%02X" % ord(m.group()), password)
        return "postgresql://%s@/%s?host=%s" % (user, database, self.dir)

    def psql(self, sql, database="jobprof"):
        return subprocess.run([os.path.join(self.bin, "psql"), "-X", "-q", "--csv", "-v", "ON_ERROR_STOP=1", "-h", self.dir, "-U", "jobprof",
                               "-d", database, "-f", "-"], input=sql, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})

    def sql(self, sql, database="jobprof"):
        """The rows, as texts."""
        p = self.psql(sql, database)
        if p.returncode:
            raise Failed("%s: %s" % (sql, p.stderr))
        return list(csv.reader(io.StringIO(p.stdout)))[1:]

    def new_database(self, name):
        self.sql("DROP DATABASE IF EXISTS %s" % name, "postgres")
        self.sql("CREATE DATABASE %s" % name, "postgres")
        return self.address(name)
