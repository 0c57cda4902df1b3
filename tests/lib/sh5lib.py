# SPDX-License-Identifier: GPL-2.0-or-later
"""A place with node-step files, where the stock sh5util and ours can be called."""

import csv
import io
import pwd

from lib import *
from h5make import *
from slurm_release import STOCK

GOLDEN = os.path.join(ROOT, "tests", "data", "golden")
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
        raise Skipped("there is no Slurm's own sh5util")


def rows_in(text):
    return list(csv.DictReader(io.StringIO(text)))


def is_done(name, done, code, *texts):
    is_true(name, done.code == code and all(t in done.err + done.out for t in texts), done)


def in_both(s, name, *args, out=None):
    """Both tools called in the same way: status, standard output and file."""
    results = []
    for tool in (s.stock, s.ours):
        d = tool(*args)
        text = None
        if out and os.path.exists(s.path(out)):
            text = s.read(out)
            os.unlink(s.path(out))
        results.append((d.code, d.out, text))
    is_equal(name, results[1], results[0])


def same_tree(a, b):
    """What of HDF5 file a is otherwise, or not, in b."""
    wrong = []
    with h5py.File(a) as f, h5py.File(b) as g:
        def look(name, x):
            if name not in g:
                wrong.append(name)
                return
            y = g[name]
            for k in x.attrs:
                if k not in y.attrs or repr(x.attrs[k]) != repr(y.attrs[k]) or \
                        x.attrs.get_id(k).shape != y.attrs.get_id(k).shape:
                    wrong.append("%s attribute %s" % (name, k))
            if isinstance(x, h5py.Dataset) and (x.dtype != y.dtype or
                                                x[()].tobytes() != y[()].tobytes()):
                wrong.append(name)
        f.visititems(look)
        look("/", f["/"])
    return wrong
