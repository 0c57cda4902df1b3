#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
"""Every option of every verb that writes a file: none replaces a file that is there without --overwrite, and none
leaves a part of a file where it cannot write it all."""

import os
import resource
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from besideslib import put_bursts, put_samples, put_stacks
from jobs import Job
from layout import START
from lib import *

PROFILE = os.path.join(tmpdir("made"), "job_4711.h5")
OTHER = os.path.join(tmpdir("other"), "job_4712.h5")
INDEX = os.path.join(tmpdir("index"), "index.db")
MINE = b"a file of the user's\n"

# By verb and option that writes a new file: the words of a call that does, {} being the file.
WRITES = {
    ("cluster", "--svg"): ["--svg", "{}", PROFILE],
    ("cluster", "--html"): ["--html", "{}", PROFILE],
    ("compare", "--html"): ["--html", "{}", PROFILE, OTHER],
    ("digest", "--html"): ["--html", "{}", "--since", "2000-01-01", "--database", INDEX],
    ("extract", "--output"): ["-s", "Tasks", "-o", "{}", PROFILE],
    ("flame", "--svg"): ["--svg", "{}", PROFILE],
    ("flame", "--html"): ["--html", "{}", PROFILE],
    ("flame", "--speedscope"): ["--speedscope", "{}", PROFILE],
    ("flame", "--pprof"): ["--pprof", "{}", PROFILE],
    ("flame", "--perfetto"): ["--perfetto", "{}", PROFILE],
    ("fold", "--svg"): ["--svg", "{}", PROFILE],
    ("fold", "--html"): ["--html", "{}", PROFILE],
    ("items", "--output"): ["-s", "Step", "-d", "CPUTime", "-o", "{}", PROFILE],
    ("plot", "--svg"): ["-s", "Tasks", "-d", "RSS", "--svg", "{}", PROFILE],
    ("plot", "--html"): ["-s", "Tasks", "-d", "RSS", "--html", "{}", PROFILE],
    ("report", "--html"): ["--html", "{}", PROFILE],
    ("reduce", "--keep"): ["--keep", "{dir}", PROFILE],
}
# What puts something into a file that is there, by which the user names it, and leaves what else is in it; or never
# replaces anything: other scripts have these.
ADDS = {
    ("calibrate", "--write"): "calibrate.py: the sections of other nodes stay",
    ("fold", "--store"): "fold.py", ("report", "--store"): "store.py", ("reduce", "--store"): "reduce.py",
    ("reduce", "--output"): "reduce.py: /analysis of a file",
    ("merge", "--output"): "merge.py: a job file of this job grows, another file is refused",
    ("exporter", "--file"): "metrics.py file: its own file, which it makes anew",
    ("run", "--output"): "run_command.py: the earlier file is kept", ("run", "--json"): "run_command.py: json_file",
}
READS = {"--input", "--profiledir", "--baseline", "--diff", "--rules", "--region", "--btf", "--root", "--plugins"}
PROGRAMS = {("index", "--sendmail"), ("mail", "--program")}
SCRATCH = {("calibrate", "--dir"), ("index", "--spool"), ("mail", "--spool"), ("run", "--pin"), ("run", "--state-dir")}


def jobprof(*args, **kw):
    return subprocess.run([JOBPROF, *args], capture_output=True, text=True, timeout=60, env=plain_env(), **kw)


def make():
    for path, seed in ((PROFILE, 0), (OTHER, 1)):
        Job(nodes=1, tasks=2, cores=2, wall=600, seed=seed).write(path)
        put_bursts(path, START, [(300, 0.003, 0.002), (200, 0.03, 0.002)])
        put_stacks(path, START, {"main;work": 5, "main;wait": 2})
        put_samples(path, START, 3000, 0.1, 0.5)
    jobprof("index", "scan", os.path.dirname(PROFILE), "--database", INDEX)


def every_option():
    """What the help of each verb says that names a file or directory is known here."""
    verbs = re.findall(r"^  (\w+) ", jobprof("help").stdout, re.M)
    found = set()
    for verb in verbs:
        text = jobprof(verb, "--help").stdout
        found |= {(verb, o) for o, arg in re.findall(r"^ +(?:-\w, )?(--[\w-]+)((?: \S+)?)", text, re.M)
                  if re.search("FILE|DIR", arg) or o in ("--store", "--write")} - {(verb, o) for o in READS}
    is_true("the help lists verbs", len(verbs) > 15, verbs)
    is_equal("each option that writes is known here", sorted(found), sorted(set(WRITES) | set(ADDS) | SCRATCH | PROGRAMS))


def call(verb, option, path, *more, **kw):
    place = {"dir": os.path.dirname(path)}
    return jobprof(verb, *(w.format(path, **place) for w in WRITES[verb, option]), *more, **kw)


def target_of(verb, option, d):
    return os.path.join(d, "rank-0.part" if option == "--keep" else "out")


def content(path):
    with open(path, "rb") as f:
        return f.read(), os.stat(path).st_ino


def no_room():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def nothing_is_replaced():
    for verb, option in WRITES:
        d = tmpdir("written")
        path, name = target_of(verb, option, d), "%s %s" % (verb, option)
        p = call(verb, option, path)
        is_true(name + ": writes a file, and only that", p.returncode == 0 and os.listdir(d) == [os.path.basename(path)] and
                os.path.getsize(path) > 100, (p.returncode, p.stderr[-300:], os.listdir(d)))
        with open(path, "wb") as f:
            f.write(MINE)
        before = content(path)
        p = call(verb, option, path)
        is_true(name + ": one that is there stays", p.returncode == 1 and content(path) == before and os.listdir(d) ==
                [os.path.basename(path)], (p.returncode, p.stderr[-300:], content(path)[0][:40], os.listdir(d)))
        is_true(name + ": and how to replace it is said", "%s is there already: --overwrite replaces it" % path in p.stderr, p.stderr[-300:])
        p = call(verb, option, path, "--overwrite", preexec_fn=no_room)
        is_true(name + ": without room it is not replaced", p.returncode == 1 and content(path) == before and os.listdir(d) ==
                [os.path.basename(path)], (p.returncode, p.stderr[-300:], content(path)[0][:40], os.listdir(d)))
        p = call(verb, option, path, "--overwrite")
        is_true(name + ": --overwrite replaces it", p.returncode == 0 and content(path)[0] != MINE and os.listdir(d) ==
                [os.path.basename(path)], (p.returncode, p.stderr[-300:]))


def no_half_file():
    for verb, option in WRITES:
        d = tmpdir("half")
        p = call(verb, option, target_of(verb, option, d), preexec_fn=no_room)
        is_true("%s %s: without room there is no file, and it says so" % (verb, option), p.returncode == 1 and not os.listdir(d) and
                "File too large" in p.stderr, (p.returncode, p.stderr[-300:], os.listdir(d)))


def inputs_stay():
    """What is read is never written over, with --overwrite neither."""
    for verb, option in WRITES:
        if option == "--keep":
            continue
        path = INDEX if verb == "digest" else PROFILE
        before = content(path)
        p = call(verb, option, path, "--overwrite")
        is_true("%s %s: what is read stays" % (verb, option), p.returncode == 1 and content(path) == before, (p.returncode, p.stderr[-300:]))


def ends(p):
    try:
        return p.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        return None, "it waits"


def others_do_not_choose_what_is_written():
    """In another user's directory: a pipe that nobody reads, one that its owner holds open, links to a device, to a file
    and to nothing, a device."""
    if os.geteuid():
        raise Skipped("needs root")
    d = tmpdir("theirs")
    os.chown(d, 1, 1)
    name = lambda n: os.path.join(d, n)
    os.mkfifo(name("unread"))
    os.mkfifo(name("held"))
    os.symlink("/dev/null", name("device"))
    os.symlink(name("held"), name("pipe"))
    target = os.path.join(tmpdir("ours"), "file")
    with open(target, "wb") as f:
        f.write(MINE)
    os.symlink(target, name("link"))
    os.symlink(target + ".none", name("dangling"))
    for n in os.listdir(d):
        os.chown(name(n), 1, 1, follow_symlinks=False)
    os.mkfifo(name("own"))  # root's, whoever has the directory
    held = os.open(name("held"), os.O_RDWR)
    for verb, option in WRITES:
        if option == "--keep":
            continue
        words = lambda n: [JOBPROF, verb, *(w.format(name(n)) for w in WRITES[verb, option]), "--overwrite"]
        for n, says in (("unread", "another user's"), ("held", "another user's"), ("device", "another user's"), ("pipe", "another user's"),
                        ("own", "no program reads this pipe")):
            err = ends(start(words(n), stderr=subprocess.PIPE, text=True))[1]
            is_true("%s %s: %s is refused in a line" % (verb, option, n), err.count("\n") == 1 and
                    "%s: cannot be written: " % name(n) in err and says in err, err)
        for n in ("link", "dangling"):
            err = ends(start(words(n), stderr=subprocess.PIPE, text=True))[1]
            is_true("%s %s: %s is replaced, not followed" % (verb, option, n), os.path.isfile(name(n)) and not os.path.islink(name(n)) and
                    content(target)[0] == MINE and not os.path.exists(target + ".none"), err)
            os.unlink(name(n))
            os.symlink(target if n == "link" else target + ".none", name(n))
            os.chown(name(n), 1, 1, follow_symlinks=False)
    os.close(held)


def others_do_not_choose_where():
    """A directory on the way that is another user's link to one of root's; a link of root's is followed."""
    if os.geteuid():
        raise Skipped("needs root")
    theirs, ours = tmpdir("theirs"), tmpdir("ours")
    os.chown(theirs, 1, 1)
    for n, uid in (("way", 1), ("ours", 0)):
        os.symlink(ours, os.path.join(theirs, n))
        os.chown(os.path.join(theirs, n), uid, uid, follow_symlinks=False)
    calls = {**WRITES, ("reduce", "--output"): ["-o", "{}", PROFILE], ("run", "--output"): ["-o", "{dir}", "--", "true"]}
    for (verb, option), words in calls.items():
        for way in ("way", "ours"):
            d = os.path.join(theirs, way)
            p = jobprof(verb, *(w.format(d + "/out", dir=d) for w in words))
            said, made = "another user's link on the way is not followed" in p.stderr, os.listdir(ours)
            is_equal("%s %s: through %s" % (verb, option, way), (p.returncode, said, bool(made)),
                     (1, True, False) if way == "way" else (0, False, True))
            for n in made:
                os.unlink(os.path.join(ours, n))


def what_is_trusted_is_written_to():
    """Standard output by its name, a pipe of one's own that is read, a terminal's like."""
    d = tmpdir("trusted")
    args = [JOBPROF, "items", "-s", "Step", "-d", "CPUTime", PROFILE, "-o"]
    wanted = subprocess.run(args + ["-"], capture_output=True).stdout
    for path in ("/dev/stdout", "/proc/self/fd/1"):
        is_true(path, subprocess.run(args + [path], stdout=subprocess.PIPE).stdout.startswith(wanted), path)
    r, w = os.pipe()
    p = subprocess.run(args + ["/dev/fd/%d" % w], pass_fds=[w])
    os.close(w)
    with os.fdopen(r, "rb") as f:
        is_equal("a pipe by its number", (p.returncode, f.read()), (0, wanted))
    fifo = os.path.join(d, "fifo")
    os.mkfifo(fifo)
    reader = start(["cat", fifo], stdout=subprocess.PIPE)
    # Only when it has opened the pipe there is one who reads.
    end = wait_until(lambda: opened(fifo), 20, "the reader of the pipe")
    p = subprocess.run(args + [fifo])
    os.close(end)
    is_equal("a pipe of one's own", (p.returncode, reader.communicate()[0]), (0, wanted))
    is_equal("/dev/null", subprocess.run(args + ["/dev/null"]).returncode, 0)


def opened(fifo):
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


make()
run_tests([every_option, nothing_is_replaced, no_half_file, inputs_stay, others_do_not_choose_what_is_written, others_do_not_choose_where, what_is_trusted_is_written_to])
