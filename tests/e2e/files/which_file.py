#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file -j, -p, FILE and DIR mean: the same in all verbs; two jobs of one id are two."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

GOLDEN = os.path.join(ROOT, "tests/data/golden")
ONE = {  # verbs that read one file
    "show": [], "list": [], "extract": ["-s", "Tasks"], "items": ["-s", "Tasks", "-d", "RSS"],
    "flame": [], "cluster": [], "fold": []}
ALL = {  # verbs that read all files of a job
    "report": ["--facts"], "plot": ["-s", "Tasks", "-d", "RSS"], "reduce": []}


def jobprof(verb, *args, cwd=None):
    p = subprocess.run([JOBPROF, verb, *(ONE | ALL).get(verb, []), *args], cwd=cwd, capture_output=True, text=True)
    return p.returncode, re.sub(r"(CPU time of this reduction:) [\d.]+ s", r"\1", p.stdout), p.stderr


def of(names, where):
    """The same but for the path by which the file is named."""
    return lambda r: (r[0], *(t.replace(os.path.join(where, n), n).replace("./" + n, n)
                              for t in r[1:] for n in names[:1]))


def put(d, *names):
    os.makedirs(d, exist_ok=True)
    for name in names:
        shutil.copy(os.path.join(GOLDEN, name), d)
    return d


def node_step_file():
    """A run's only file is found by its job's id, here, below, and by what it says of itself."""
    name = "7_0_p1.h5"
    here, top = put(tmpdir("here"), name), tmpdir("top")
    put(os.path.join(top, "alice"), name)
    for verb in ONE | ALL:
        want = of([name], here)(jobprof(verb, name, cwd=here))
        is_equal("%s -j finds the node-step file" % verb, of([name], here)(jobprof(verb, "-j", "7", cwd=here)), want)
        is_equal("%s -j JOB.STEP" % verb, of([name], here)(jobprof(verb, "-j", "7.0", cwd=here)), want)
        below = os.path.join(top, "alice")
        for args in (["-p", top, "-j", "7"], ["-j", "7", top], ["-i", top, "-j", "7"]):
            is_equal("%s %s: below" % (verb, args[0]), of([name], below)(jobprof(verb, *args)), want)
        status, out, err = jobprof(verb, "-j", "7.3", cwd=here)
        is_true("%s: a step that is not there" % verb, status == 1 and not out and "7.3" in err, (status, out, err))
    for verb in ONE:
        is_equal("%s DIR: the only one below" % verb, of([name], os.path.join(top, "alice"))(jobprof(verb, top)),
                 of([name], here)(jobprof(verb, name, cwd=here)))


def nothing_named():
    """Without a word a verb reads what was written last here, and says so; where nothing is, it asks."""
    d = put(tmpdir("newest"), "7_0_p1.h5", "7_1_p1.h5")
    os.utime(os.path.join(d, "7_0_p1.h5"), (1e9, 1e9))
    for verb in (ONE | ALL | {"track": []}).keys() - {"list", "reduce"}:
        status, out, err = jobprof(verb, "7_1_p1.h5", cwd=d)
        said = "jobprof %s: 7_1_p1.h5, the newest of 2 profiles here\n" % verb
        is_equal("%s: the newest" % verb, jobprof(verb, cwd=d), (status, out, said + err))
        status, out, err = jobprof(verb, cwd=tmpdir("empty"))
        is_true("%s: none here" % verb, status == 2 and not out and err.count("\n") == 1 and "which profile" in err, err)


def another_job():
    """A file of another job than -j names is refused by all."""
    d = put(tmpdir("another"), "7_0_p1.h5", "job_7.h5")
    for verb in ONE | ALL:
        for name in os.listdir(d):
            status, out, err = jobprof(verb, name, "-j", "3", cwd=d)
            is_equal("%s %s -j 3" % (verb, name), (status, out, err),
                     (1, "", "jobprof %s: %s is of job 7, not of 3\n" % (verb, name)))


def several_files():
    """Node-step files of one job: all of them, or which there are."""
    names = ("7_0_p1.h5", "7_1_p1.h5")
    d = put(tmpdir("several"), *names)
    for verb in ONE:
        status, out, err = jobprof(verb, "-j", "7", cwd=d)
        is_true("%s: of two files" % verb, status == 1 and not out and all(n in err for n in names) and "merge" in err, err)
        is_equal("%s: of one step" % verb, jobprof(verb, "-j", "7.1", cwd=d)[:2], jobprof(verb, names[1], cwd=d)[:2])
    p = subprocess.run([JOBPROF, "report", "--json", "-j", "7", d], capture_output=True, text=True)
    want = sorted(n.split("_")[1] for n in names)
    is_equal("report: both steps", sorted(str(s["name"]) for s in json.loads(p.stdout)["job"]["steps"]), want)


def set_attrs(path, **attrs):
    with h5py.File(path, "r+") as f:
        nodes = [n for s in f["Steps"].values() for n in s["Nodes"].values()] if "Steps" in f else list(f.values())
        for node in nodes:
            for name, value in attrs.items():
                name = name.replace("_", " ")
                if name in node.attrs:
                    del node.attrs[name]
                node.attrs[name] = numpy.bytes_(value) if isinstance(value, str) else numpy.array([value], "i8")


def two_jobs_of_one_id():
    """Two clusters on one directory, and ids that were given again: never one job."""
    for name in ("7_0_p1.h5", "job_7.h5"):
        for attr, values in (("Cluster", ("one", "two")), ("UID", (1001, 1002)), ("Start_TimeNS", (17 * 10**17, 17 * 10**17 + 10**13)),
                             ("SLUID", ("s0000000000001", "s0000000000002")), ("Restart_Count", (1, 2))):
            top = tmpdir("ids" + attr + name)
            paths = [os.path.join(put(os.path.join(top, u), name), name) for u in ("a", "b")]
            for path, value in zip(paths, values):
                set_attrs(path, **{attr: value})
            for args in ([top], paths):
                p = subprocess.run([JOBPROF, "report", "--json", *args], capture_output=True, text=True)
                is_equal("%s: %s tells two jobs apart" % (name, attr), (len(json.loads(p.stdout).get("jobs", [])), p.stderr),
                         (2, ""))
            status, out, err = jobprof("show", "-p", top, "-j", "7")
            is_true("%s: show names both" % name, status == 1 and all(p in err for p in paths), err)
            status, out, err = jobprof("reduce", "-p", top, "-j", "7")
            is_true("%s: reduce adds up no two jobs" % name,
                    status == 1 and not out and "two jobs" in err and all(p in err for p in paths), (status, out, err))
    d = put(tmpdir("requeued"), "7_0_p1.h5", "7_1_p1.h5")
    set_attrs(d + "/7_0_p1.h5", Partition="main")
    set_attrs(d + "/7_1_p1.h5", Partition="main", Restart_Count=1)
    p = subprocess.run([JOBPROF, "report", "--json", "-p", d, "-j", "7"], capture_output=True, text=True)
    is_equal("a run, and the one after a requeue to another node: two jobs", (len(json.loads(p.stdout).get("jobs", [])), p.stderr), (2, ""))
    top = tmpdir("copy")
    paths = [os.path.join(put(os.path.join(top, u), "7_0_p1.h5"), "7_0_p1.h5") for u in ("a", "b")]
    p = subprocess.run([JOBPROF, "report", "--json", *paths], capture_output=True, text=True)
    is_true("a copy is not another job", "jobs" not in json.loads(p.stdout) and "count once" in p.stderr, p.stderr)


def several_jobs():
    """A list of jobs is a profile of each; of one id in two clusters, too."""
    top = tmpdir("list")
    for job, user, cluster in ((7, "a", "one"), (8, "a", "one"), (7, "b", "two")):
        d = os.path.join(top, user)
        os.makedirs(d, exist_ok=True)
        path = os.path.join(d, "%d_0_p1.h5" % job)
        shutil.copy(os.path.join(GOLDEN, "7_0_p1.h5"), path)
        set_attrs(path, Job_Id=job, Cluster=cluster)

    def ids(*args):
        p = subprocess.run([JOBPROF, "report", "--json", *args], capture_output=True, text=True)
        return p.returncode, [(str(j["id"]), os.path.relpath(j["file"], top)) for j in json.loads(p.stdout).get("jobs", [])]

    both = [("7", "a/7_0_p1.h5"), ("7", "b/7_0_p1.h5")]
    is_equal("-j of an id in two clusters", sorted(ids("-j", "7", top)[1]), both)
    is_equal("-j of two jobs", sorted(ids("-j", "7,8", top)[1]), [*both, ("8", "a/8_0_p1.h5")])
    status, found = ids("-j", "8,9", top)
    is_equal("-j of one that is there and one that is not", (status, found), (1, []))  # the page of the only one
    status, out, err = jobprof("show", "-j", "8,9", top)
    is_true("it is said which is not", status == 1 and "-j 9: there is no profile of it" in err, (status, err))


def files_of_any_name():
    """Every profile of a directory is in its table of jobs, as those that jobprof run -o NAME.h5 makes; other HDF5 files,
    damaged ones and runs before a requeue are not."""
    top = put(tmpdir("any"), "7_0_p1.h5")
    users = os.path.join(top, "alice")
    os.mkdir(users)
    ids = {"7_0_p1.h5": 7}
    for name, job in (("mine.h5", 11), ("job_of_mine.h5", 12), (os.path.join("alice", "her run.h5"), 13)):
        path = os.path.join(top, name)
        shutil.copy(os.path.join(GOLDEN, "7_0_p1.h5"), path)
        set_attrs(path, Job_Id=job)
        ids[name] = job
    with h5py.File(os.path.join(top, "other.h5"), "w") as f:
        f["numbers"] = numpy.arange(5)
    with open(os.path.join(top, "damaged.h5"), "wb") as f, open(os.path.join(top, "mine.h5"), "rb") as whole:
        f.write(whole.read()[:3000])
    shutil.copy(os.path.join(top, "mine.h5"), os.path.join(top, "job_5.restart0.h5"))
    p = subprocess.run([JOBPROF, "report", "--json", top], capture_output=True, text=True)
    is_equal("a directory's table has every profile in it", (p.returncode, sorted(str(j["id"]) for j in json.loads(p.stdout)["jobs"])),
             (0, sorted(map(str, ids.values()))))
    only = tmpdir("only")
    shutil.copy(os.path.join(top, "mine.h5"), os.path.join(only, "run.h5"))
    for name in ("other.h5", "damaged.h5"):
        shutil.copy(os.path.join(top, name), only)
    status, out, err = jobprof("show", only)
    is_true("the only profile of a directory", status == 0 and not err and "job 11" in out.lower(), (status, out[:200], err))


if __name__ == "__main__":
    run_tests((node_step_file, nothing_named, another_job, several_files, two_jobs_of_one_id, several_jobs, files_of_any_name))
