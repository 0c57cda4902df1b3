#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
"""What root reads: each verb that parses HDF5 or ELF files of users does it as the owner of the file, and can then
neither write, start, connect nor end anything. A preloaded library says who parses, in the process that does. What the
verbs say is the same as without: as the owner himself has it."""

import os
import pwd
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from h5make import node_file, rows_of, U
from lib import *
from verblib import calls, make_profile

WHO = os.path.join(BUILD, "tests/stub/whoreads.so")
NOBODY = 65534
OWNER, SECOND = 1, 2
READS = re.compile(r"^reads: (.*) uid=(\S*) gid=(\S*) groups=(.*) caps=(\S*) nnp=(\S*) seccomp=(\S*) may=(.*)\n", re.M)
CONFINED = (str(NOBODY), "", "0000000000000000", "1", "2", "")
WITH_WORKERS = CONFINED[:-1] + ("f",)  # report and compare read the rows of nodes side by side
HERE = tmpdir("read")  # no other user comes here
SECRET = os.path.join(HERE, "secret")
A, B = os.path.join(HERE, "job_4711.h5"), os.path.join(HERE, "job_4712.h5")
OUT, SH5UTIL = os.path.join(HERE, "out"), os.path.join(HERE, "sh5util")

CALLS = calls(A, B)


def give(a, b):
    os.chown(A, a, a)
    os.chown(B, b, b)


def run(program, *args, **kw):
    """Status, output, errors without what the library says, and that: (path, uid, all else) of each reading."""
    p = subprocess.run([program, *args], capture_output=True, timeout=100, cwd=HERE,
                       env=plain_env(LD_PRELOAD=WHO, WHOREADS_WRITES=SECRET, LC_ALL="C"), **kw)
    err = p.stderr.decode("latin-1")
    return (p.returncode, re.sub(rb"CPU time of this reduction: .*", b"", p.stdout), READS.sub("", err),
            [(path, int(uid), tuple(r.strip() for r in rest)) for path, uid, *rest in READS.findall(err)])


def is_confined(name, reads, files, uids):
    is_true(name + ": the files are read", set(files) <= {r[0] for r in reads}, reads)
    is_true(name + ": as their owner", {r[1] for r in reads} <= set(uids), reads)
    may = {CONFINED, WITH_WORKERS} if name.split()[0] in ("report", "compare") else {CONFINED}
    is_true(name + ": with no more rights than to read", {r[2] for r in reads} <= may, reads)


def readers_are_the_owner():
    give(OWNER, OWNER)
    for name, args in CALLS.items():
        files = [f for f in (A, B) if f in args] or [A]
        status, _, err, reads = run(JOBPROF, *args)
        is_true(name + ": works", status == 0, (status, err[-300:]))
        is_confined(name, reads, files, [OWNER])
    os.symlink(JOBPROF, SH5UTIL)
    status, out, err, reads = run(SH5UTIL, "-E", "-j", "4711", "-i", A, "-s", "Tasks", "-o", "-")
    os.unlink(SH5UTIL)
    is_true("sh5util: works", status == 0 and out, (status, err[-300:]))
    is_confined("sh5util", reads, [A], [OWNER])


def roots_files_are_read_by_nobody():
    give(0, 0)
    for name in ("show", "report --json", "plot", "compare"):
        status, _, err, reads = run(JOBPROF, *CALLS[name])
        is_true(name + ": works", status == 0, (status, err[-300:]))
        is_confined(name, reads, [A], [NOBODY])


def files_of_two_owners():
    """Where one process reads both, the second file is opened for it."""
    give(OWNER, SECOND)
    for name in ("plot", "compare", "flame --diff", "track", "reduce", "report of several"):
        status, _, err, reads = run(JOBPROF, *CALLS[name])
        is_true(name + ": works", status == 0, (status, err[-300:]))
        is_confined(name, reads, [A, B], [OWNER, SECOND])


def nothing_is_lost_by_it():
    """As root, and as the owner, for whom nothing changes."""
    give(OWNER, OWNER)
    for d in (TMP, HERE):
        os.chmod(d, 0o711)
    for name, args in CALLS.items():
        if HERE in args:
            continue
        root, own = run(JOBPROF, *args), run(JOBPROF, *args, user=OWNER, group=OWNER, extra_groups=[])
        is_true(name + ": root sees what the owner sees", root[:2] == own[:2] and own[0] == 0, (root[:3], own[:3]))
    for d in (TMP, HERE):
        os.chmod(d, 0o700)


def what_is_stored():
    """Of verbs that store results, what reads the profile is confined too, and the file stays its owner's."""
    give(OWNER, OWNER)
    for name, args, group in (("report --store", ["report", "--store", A], "report"), ("fold --store", ["fold", "--store", A], "fold"),
                              ("reduce --store", ["reduce", "--store", A], None)):
        status, _, err, reads = run(JOBPROF, *args)
        is_true(name + ": works", status == 0, (status, err[-300:]))
        is_confined(name, reads, [A], [OWNER])
        with h5py.File(A, "r") as f:
            is_true(name + ": is in the file", not group or group in f["analysis"], list(f["analysis"]))
        st = os.stat(A)
        is_equal(name + ": whose file", (st.st_uid, st.st_mode & 0o777), (OWNER, 0o600))
    is_equal("nothing is left", sorted(os.listdir(HERE)), sorted([os.path.basename(p) for p in (A, B, SECRET)]))


def what_is_written():
    give(OWNER, OWNER)
    for name, args in (("extract", ["extract", "-s", "Tasks", "-o", OUT, A]), ("flame", ["flame", "--svg", OUT, A]),
                       ("report", ["report", "--html", OUT, A]), ("plot", ["plot", "-s", "Tasks", "-d", "RSS", "--svg", OUT, A])):
        status, _, err, reads = run(JOBPROF, *args)
        is_true(name + ": writes", status == 0 and os.path.getsize(OUT) > 100, (status, err[-300:]))
        is_confined(name, reads, [A], [OWNER])
        os.unlink(OUT)


def merges_read_as_the_owner():
    """What names and deletes files parses none. What writes the job file starts workers, and no more than that."""
    d = os.path.join(HERE, "daemon")
    made = os.path.join(HERE, "job_4713.h5")
    os.mkdir(d)
    os.chown(d, OWNER, OWNER)

    def merge(name, nodes, *more):
        inputs = [os.path.join(d, "4713_0_%s.h5" % n) for n in nodes]
        for i, path in enumerate(inputs):
            node_file(path, nodes[i], {"Energy": rows_of([0, 1], [("Power", U)], [[5, 6]])}, index=int(nodes[i][1:]))
            os.chown(path, OWNER, OWNER)
            os.chmod(path, 0o600)
        status, _, err, reads = run(JOBPROF, "merge", "-j", "4713", "-u", "daemon", HERE, *more)
        is_true(name + ": works", status == 0 and os.path.exists(made), (status, err[-300:]))
        is_true(name + ": every file is read", set(inputs) <= {r[0] for r in reads}, reads)
        is_true(name + ": never as root", {r[1] for r in reads} <= {OWNER, NOBODY} and OWNER in {r[1] for r in reads}, reads)
        is_true(name + ": with no more rights", {r[2][:-1] for r in reads} == {CONFINED[:-1]} and {r[2][-1] for r in reads} <= {"", "f", "fk"}, reads)
        return inputs

    inputs = merge("merge -S", ["n0", "n1", "n2"], "-S")
    is_equal("merge -S: the inputs stay", [os.path.exists(p) for p in inputs], [True] * 3)
    for p in inputs:
        os.unlink(p)
    os.chown(made, OWNER, OWNER)
    os.chmod(made, 0o640)
    inputs = merge("merge into a file", ["n3", "n4"])
    is_equal("merge into a file: the inputs are deleted", os.listdir(d), [])
    with h5py.File(made, "r") as f:
        is_equal("merge into a file: all nodes", sorted(f["Steps/0/Nodes"]), ["n0", "n1", "n2", "n3", "n4"])
    st = os.stat(made)
    is_equal("merge into a file: whose it is", (st.st_uid, st.st_mode & 0o777), (OWNER, 0o640))
    os.unlink(made)
    shutil.rmtree(d)


def programs_are_read_as_their_owner():
    program = os.path.join(HERE, "program")
    shutil.copy(tool("jpspin"), program)
    os.chown(program, OWNER, OWNER)
    reads = [r for r in run(JOBPROF, "run", "--region", program + ":no_such_function", "true")[3] if r[0] == program]
    is_confined("run --region", reads, [program], [OWNER])
    os.unlink(program)


def a_second_owner_gets_no_other_file():
    """The second file is no profile: it is said, as ever."""
    give(OWNER, OWNER)
    for name in ("plot", "compare"):
        status, out, err, _ = run(JOBPROF, *(SECRET if w == B else w for w in CALLS[name]))
        is_true(name + ": one line", status == 1 and "not a profile, or damaged" in err and b"secret" not in out, (status, out[-300:], err[-300:]))


if os.geteuid():
    skip("confined.py", "needs root")
else:
    for at, path in enumerate((A, B)):
        make_profile(path, at)
        os.chmod(path, 0o600)
    with open(SECRET, "w") as f:
        f.write("secret")
    run_tests([readers_are_the_owner, roots_files_are_read_by_nobody, files_of_two_owners, nothing_is_lost_by_it, what_is_stored,
               what_is_written, merges_read_as_the_owner, programs_are_read_as_their_owner, a_second_owner_gets_no_other_file])
