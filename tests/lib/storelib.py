# SPDX-License-Identifier: GPL-2.0-or-later
"""Journals made by test_nodestep, and the files that jobprof-writer makes of them."""


from lib import *

WRITER = os.path.join(BUILD, "jobprof-writer")
DATA = os.path.join(ROOT, "tests", "data", "slurm")
SRC = tmpdir("journals")


def sh(*args, **kw):
    return subprocess.run(args, capture_output=True, text=True, **kw)


def writer(journal, directory, name, mode, *more, pre=(), **kw):
    """Runs jobprof-writer as jobprofd would: the journal and the directory as descriptors."""
    j = os.open(os.path.join(SRC, journal), os.O_RDONLY)
    d = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return subprocess.run([*pre, WRITER, "-j", str(j), "-d", str(d), "-n", name, "-m", mode,
                               *more], pass_fds=(j, d), capture_output=True, text=True, **kw)
    finally:
        os.close(j)
        os.close(d)


def writer_start(journal, directory, name, mode, *more):
    j = os.open(os.path.join(SRC, journal), os.O_RDONLY)
    d = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    p = start([WRITER, "-j", str(j), "-d", str(d), "-n", name, "-m", mode, *more],
              pass_fds=(j, d), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(j)
    os.close(d)
    return p


def published(journal="n1.journal", name="7_0_n1.h5"):
    d = tmpdir()
    r = writer(journal, d, name, "final")
    if r.returncode or r.stdout or r.stderr:
        raise Failed("writer: %d %s %s" % (r.returncode, r.stdout, r.stderr))
    return os.path.join(d, name)


def run_store_tests(tests):
    r = sh(os.path.join(BUILD, "tests", "unit", "test_nodestep"), "--make", SRC)
    if r.returncode:
        not_ok(os.path.basename(sys.argv[0]), "cannot make journals: " + r.stderr)
        sys.exit(1)
    run_tests(tests)
