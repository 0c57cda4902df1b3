# SPDX-License-Identifier: GPL-2.0-or-later
"""What blocks are read from: a loop device over memory, and a file on the disk."""

import os
import subprocess
import tempfile

import helper

SIZE = 64 << 20
PLACES = ("/dev/shm", "/run")  # memory


class Devices:
    """paths: {"loop": path, "disk": path}; why: {name: why it is not there}. A context."""

    def __enter__(self):
        self.paths, self.why, self._loop, self._files = {}, {}, None, []
        for name, make in (("loop", self._make_loop), ("disk", self._make_disk)):
            try:
                self.paths[name] = make()
            except (OSError, subprocess.CalledProcessError, helper.Missing) as e:
                self.why[name] = str(getattr(e, "stderr", None) or e).strip()
        return self

    def _fill(self, directory):
        fd, path = tempfile.mkstemp(prefix="jobprof-bench.", dir=directory)
        self._files.append(path)
        with os.fdopen(fd, "wb") as f:
            for _ in range(SIZE >> 20):
                f.write(os.urandom(1 << 20))
            f.flush()
            os.fsync(f.fileno())
        return path

    def _make_loop(self):
        where = next((d for d in PLACES if os.access(d, os.W_OK)), None)
        if not where or not helper.has("losetup"):
            raise helper.Missing("no losetup, or no file system in memory")
        out = subprocess.run([helper.has("losetup"), "-r", "-f", "--show", self._fill(where)],
                             capture_output=True, text=True, check=True)
        self._loop = out.stdout.strip()
        return self._loop

    def _make_disk(self):
        path = self._fill(helper.tmpdir())
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        return path

    def __exit__(self, *_):
        if self._loop:
            subprocess.run([helper.has("losetup"), "-d", self._loop])
        for path in self._files:
            os.unlink(path)
