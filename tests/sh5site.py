# SPDX-License-Identifier: GPL-2.0-only
"""A place with node-step files, where the stock sh5util and ours can be called."""

import pwd

from lib import *
from h5make import *

GOLDEN = os.path.join(ROOT, "tests", "data", "golden")
STOCK = shutil.which("sh5util", path="/usr/bin:/usr/local/bin")
OURS = os.path.join(BUILD, "sh5util")
USER = pwd.getpwuid(os.getuid()).pw_name


class Done:
    """What a call printed and left behind."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return "status %d, %r, %r" % (self.code, self.out[-300:], self.err[-600:])


class Site:
    def __init__(self, conf=True):
        self.dir = tmpdir("site")
        self.prof = os.path.join(self.dir, "prof", USER)
        self.work = os.path.join(self.dir, "work")
        etc = os.path.join(self.dir, "etc")
        for d in (self.prof, self.work, etc):
            os.makedirs(d)
        self.env = plain_env(SLURM_CONF=os.path.join(etc, "slurm.conf"))
        if not conf:
            return
        with open(os.path.join(etc, "slurm.conf"), "w") as f:
            f.write("ClusterName=x\nSlurmctldHost=localhost\n"
                    "AcctGatherProfileType=acct_gather_profile/hdf5\n")
        with open(os.path.join(etc, "acct_gather.conf"), "w") as f:
            f.write("ProfileHDF5Dir=%s\n" % os.path.dirname(self.prof))

    def call(self, program, *args, cwd=None):
        p = subprocess.run([program] + list(args), cwd=cwd or self.work, env=self.env,
                           capture_output=True, text=True, timeout=60)
        return Done(p.returncode, p.stdout, p.stderr)

    def ours(self, *args, cwd=None):
        return self.call(OURS, *args, cwd=cwd)

    def stock(self, *args, cwd=None):
        return self.call(STOCK, *args, cwd=cwd)

    def golden(self, *names):
        for n in names:
            shutil.copy(os.path.join(GOLDEN, n), self.prof)

    def files(self):
        return sorted(os.listdir(self.prof))

    def left(self, cwd=None):
        return sorted(os.listdir(cwd or self.work))

    def path(self, name):
        return os.path.join(self.work, name)

    def read(self, name, cwd=None):
        with open(os.path.join(cwd or self.work, name), newline="") as f:
            return f.read()

    def clean(self):
        for n in os.listdir(self.work):
            os.unlink(self.path(n))


def golden_text(name):
    with open(os.path.join(GOLDEN, name), newline="") as f:
        return f.read()


def make_job(site, job, seed=9):
    """Steps 1, 2 and batch on up to three nodes with all of Slurm's series, of random numbers."""
    rng = numpy.random.default_rng(seed)
    for step, nodes in (("1", ("n1", "n2", "n10")), ("2", ("n1",)), ("batch", ("n1",))):
        for i, node in enumerate(nodes):
            tables = {"Tasks/%d" % t: random_rows(rng, "Tasks", int(rng.integers(1, 25)))
                      for t in ((2 * i, 2 * i + 1) if step == "1" else (0,))}
            for s in ("Energy", "Filesystem", "Network"):
                tables[s] = random_rows(rng, s, int(rng.integers(1, 25)))
            node_file(os.path.join(site.prof, "%d_%s_%s.h5" % (job, step, node)), node, tables, i)


def need_stock():
    if not STOCK:
        raise Skipped("there is no stock sh5util")
