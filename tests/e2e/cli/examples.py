#!/usr/bin/python3
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
"""Every example of README.md, docs and man is executed.

An example is a code block. This script runs again below a layer over /, which is thrown away: there
the commands of a block run as they stand, as root, on files of two jobs that jobprofd has followed,
and what a block shows of their output is compared with it. LEFT_OUT names what cannot run here.
With arguments only these documents are read."""

import shlex
import textwrap

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
import daemonlib
from daemonlib import *
import machinelib

LEFT_OUT = (  # how a command or a block of another kind begins, and why it does not run here
    (r"scripts/demo", "installs packages"),
    (r"(sudo )?scripts/(test|bench|fuzz|vm|install-deps|package)|make (test|lint)|tests/vm/", "takes minutes, or is what runs this"),
    (r"apt install|dnf install", "installs packages: tests/e2e/cli/packages.py"),
    (r"\[Service\]", "is a part of a unit"),
    (r"make slurm|make( install)? SLURM=|for s in /opt/slurm", "needs the headers of a Slurm: tests/e2e/slurm"),
    (r"srun|sbatch|jobid=|echo optional|optional|#SBATCH|AcctGatherProfileType|PluginDir", "needs a Slurm: tests/e2e/slurm"),
    (r"eval ..\(scripts/testbed|scripts/testbed", "starts a Slurm: tests/e2e/slurm"),
    (r"systemctl", "needs systemd"),
    (r"Incompatible Slurm plugin", "is said by a Slurm of another release"),
    (r"Step,(Node\[|Elasped)", "tests/e2e/slurm/sh5golden.py compares these with the stock tool's"),
    (r"#include <(stdio|jobprof-sensor).h>", "tests/e2e/sensors/plugins.py compiles and loads it"),
    (r"rule|-- |local |return |function ", "is Lua of rules: tests/e2e/cli/rules_site.py tests it"),
    (r"sweep of", "is of an index of many jobs: tests/e2e/site/advice.py compares such lines"),
    (r"PerfEvents", "needs hardware counters: scripts/vm-arm64"),
    (r"#include <jobprof.h>", "is no C as it stands: tests/e2e/cli/client.py calls the functions"),
    (r"static int print_peaks", "is a part of a verb, not a program"),
    (r"mpirun", "Open MPI starts nothing as root by itself: tests/e2e/files/reduce.py"),
    (r"jobprof run .*--region-budget", "Open MPI starts nothing as root by itself: tests/e2e/cli/cluster.py"),
    (r"slurm ALL=", "is a line for sudoers"),
    (r"bpf/ ", "is a list of folders: document_paths.py looks for them"),
    (r"kernel  ", "is a picture"),
    (r"jobprof serve --user", "never ends: tests/e2e/site/serve.py"),
    (r"jobprof expire", "needs users' directories and an index: tests/e2e/files/expire.py"),
    (r"jobprof top", "needs a terminal: tests/e2e/cli/top.py"),
    (r"install -d -m 2750 -g www-data|jobprof site build", "needs a site's index: tests/e2e/site/files.py"),
)
# Of a run of some seconds a page says its rows, of a longer one how often they come; counters are good that move, those of
# a copied tree stand still.
MAY_DIFFER = {"rows", "good"}
PROGRAMS = ("jobprof", "jobprofd", "jobprof-dump", "sh5util", "seff")
SETUP = """set -e
d=$1 tree=$2; shift 2
mount -t tmpfs none $d
mkdir $d/a $d/b $d/c $d/d $d/root
mount -t overlay none -o lowerdir=/,upperdir=$d/a,workdir=$d/b $d/root
mkdir -p $d/root$tree
mount -t overlay none -o lowerdir=$tree,upperdir=$d/c,workdir=$d/d $d/root$tree
for m in proc sys dev; do mount --rbind /$m $d/root/$m; done
mount -t bpf none $d/root/sys/fs/bpf
mount -t tmpfs -o mode=755 none $d/root/run
mkdir -p $d/root/var/lib/jobprof  # journals of this machine's own runs
mount -t tmpfs -o mode=755 none $d/root/var/lib/jobprof
hostname n1
exec chroot $d/root "$@"
"""
PATH = ":".join(("/usr/local/bin", "/usr/local/sbin", "/usr/local/libexec/jobprof", os.environ["PATH"]))
ENV = plain_env(PATH=PATH, SLURM_JOB_ID="4711")
left_out = set()


def plain(text):
    """A line of a manual page without its macros."""
    if re.match(r"\.[BI]{1,2} ", text):
        font, text = text.split(" ", 1)
        text = "".join(shlex.split(text)) if len(font) == 3 else text
    text = "" if text.startswith(".") else re.sub(r"\\f[BIPR]", "", text)
    return text.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\").replace("\\&", "")


def blocks(path):
    """The code blocks of a document: number of the first line, lines."""
    with open(path) as f:
        lines = f.read().split("\n")
    begin, end = (r"\.(nf|EX)$", r"\.(fi|EE)$") if "/man/" in path else (r"```", r"```$")
    found, inside, before = [], False, ""
    for n, line in enumerate(lines, 1):
        indented = line.startswith("    ") and "/man/" not in path
        if re.match(end if inside else begin, line):
            inside = not inside
            if inside:
                found.append((n + 1, []))
        elif inside or indented:
            if indented and not inside and not before.startswith("    "):
                if not before:  # else it goes on with a paragraph
                    found.append((n, []))
            found[-1][1].append(plain(line) if "/man/" in path else line)
        before = line
    return [(n, textwrap.dedent("\n".join(text)).strip().split("\n")) for n, text in found]


def is_command(line):
    word = re.sub(r"^[#$] ", "", line).split()[0]
    return (word in PROGRAMS or re.match(r"(for|eval|\w+=\$\()", line) or shutil.which(word)
            or os.path.isfile(os.path.join(ROOT, word))) and not word.startswith("import")


def commands(line, block):
    """The commands of a block, each with its place and the lines of output that follow."""
    found, prompts = [], re.match(r"[#$] ", block[0])
    for n, text in enumerate(block, line):
        if found and found[-1][1].startswith("for ") and "done" not in found[-1][1]:
            found[-1][1] += "\n" + text
        elif found and found[-1][1].endswith("\\"):
            found[-1][1] += "\n" + text
        elif not prompts or re.match(r"[#$] ", text):
            found.append([n, re.sub(r"^[#$] ", "", text), []])
        else:
            found[-1][2].append(text)
    return found


def is_left_out(name, text):
    for begin, why in LEFT_OUT:
        if re.match(begin, text):
            left_out.add(begin)
            print("left out: %s: %s" % (name, why))
            return True
    return False


def first_word(line):
    return (re.findall(r"[A-Za-z][\w-]*", line) or [""])[0]


def differences(shown, out):
    """What a document shows and the output has not: first words of lines in their order, and words
    that are no name, number, unit or date. "..." stands for any lines."""
    rest, missing = [first_word(line) for line in out.split("\n")], []
    for word in (first_word(line) for line in shown if line.strip() != "..."):
        if word in rest:
            rest = rest[rest.index(word) + 1:]
        else:
            missing.append(word)
    words = " ".join(w for w in " ".join(shown).split() if not re.search(r"[/\d]", w))
    return missing + sorted(set(re.findall(r"[A-Za-z]{4,}", words)) - set(re.findall(r"[A-Za-z]{4,}", out)) - MAY_DIFFER)


def execute(command, cwd):
    """Status and output; what has no end is interrupted."""
    if re.match(r"jobprof (mark|emit|live)", command):
        command = "jobprof run -q -o /tmp -- sh -c " + shlex.quote(command)
    if re.match(r"(build/)?jobprof sensors( +#|$)", command):
        command = command.replace("sensors", "sensors --root " + machine)
    if re.match(r"make|scripts/|build/", command):
        cwd = ROOT
    if "--watch" in command:
        return watch(command, cwd)
    p = start(["bash", "-c", "set -o pipefail; " + command], cwd=cwd, env=ENV, text=True,
              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
              start_new_session=True)
    try:
        return p.communicate(timeout=120)[0], p.returncode
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGINT)
        return p.communicate(timeout=20)[0], "none in 120 s"


def watch(command, cwd):
    """Of what has no end: what it prints until its second round, however long the first one takes to come."""
    path = os.path.join(TMP, "watched")
    with open(path, "w") as out:
        p = start(["bash", "-c", command], cwd=cwd, env=ENV, stdin=subprocess.DEVNULL, stdout=out, start_new_session=True)
    wait_until(lambda: os.path.getsize(path), 60, "a line of " + command)
    time.sleep(2.5)
    os.killpg(p.pid, signal.SIGINT)
    p.wait(20)
    return slurp(path), 0


def check_command(name, command, shown, cwd):
    out, status = execute(command, cwd)
    wrong = differences(shown, out)
    if status or wrong or ("--watch" in command and not out) or ("| jq" in command and "null" in out):
        not_ok(name, "status %s, shown but not there: %s; output: %s" % (status, wrong, out[-600:]))
    else:
        ok(name)


def check_python(name, block, cwd):
    p = subprocess.run([sys.executable, "-c", "\n".join(block)], cwd=cwd, capture_output=True, text=True)
    is_true(name, not p.returncode and re.search(r"Steps/0/Nodes/n1/Tasks/0 +[0-9.]+", p.stdout),
            p.stdout + p.stderr[-300:])


def check_config(name, block, cwd):
    conf = os.path.join(cwd, "jobprof.conf")
    with open(conf, "w") as f:
        f.write("Include /etc/slurm/slurm.conf\nProfileHDF5Dir=/shared/profiles\n" + "\n".join(block) + "\n")
    check_command(name, "jobprofd --check-config -c " + conf, [], cwd)


def check_peaks(name, block, cwd):
    """A file of peaks that is read before another section is added."""
    conf = os.path.join(cwd, "peaks.conf")
    with open(conf, "w") as f:
        f.write("\n".join(block) + "\n")
    check_command(name, "jobprof calibrate --quick --only flops --nodes x -w " + conf, [], cwd)


def check_program(name, block, compiler, suffix, frame):
    """Statements become a program by the frame, which is linked with the library and executed."""
    prog = os.path.join(TMP, "example")
    if not shutil.which(compiler):
        return skip(name, "there is no " + compiler)
    with open(prog + suffix, "w") as f:
        f.write(frame % "\n".join(block))
    libs = subprocess.run(["pkg-config", "--cflags", "--libs", "jobprof"], capture_output=True, text=True).stdout.split()
    p = subprocess.run([compiler, "-Wall", "-Werror", "-o", prog, prog + suffix, *libs], capture_output=True, text=True)
    is_true(name, not p.returncode, p.stderr)
    is_equal(name + " is executed", p.returncode or subprocess.run([prog], env=ENV, timeout=20).returncode, 0)


def check_c(name, block, cwd):
    check_program(name, block, "gcc", ".c", """#include <jobprof.h>
static double residual = 1;
static int n = 3;
static void advance(int i) { residual /= n + i; }
int main(void) { advance(1); %s return 0; }
""")


def check_fortran(name, block, cwd):
    check_program(name, block, "gfortran", ".f90", """program example
use, intrinsic :: iso_c_binding
implicit none
integer :: i = 1
%s
contains
subroutine advance(i)
integer, intent(inout) :: i
i = i + 1
end subroutine
end program
""")


def check_layout(name, block, cwd):
    """Names of groups are in the file of a job or are declared."""
    with open(ROOT + "/schemas/series.def") as f:
        there = set(re.findall(r"^[A-Z]+\((\w+)", f.read(), re.M))
    with h5py.File(os.path.join(cwd, "job_42.h5")) as f:
        f.visit(lambda path: there.update(path.split("/")))
    named = {w for line in block for w in re.findall(r"[/ ](\w+)(?=[/, ]|$)", line.split("  ")[0])}
    is_equal(name, [len(named) > 1, sorted(named - there)], [True, []])


def check_keys(name, block, cwd):
    """Of JSON that jobprof-dump prints."""
    there = set(re.findall(r'"(\w+)":', execute("jobprof-dump --json", cwd)[0]))
    is_equal(name, set(re.findall(r'"(\w+)":', "\n".join(block))) - there, set())


KINDS = (  # blocks that are no commands, by how they begin
    (r"import h5py", check_python),
    (r"Include|# Slurm says|ProfileHDF5|CgroupPattern", check_config),
    (r"IpcPeak", check_peaks),
    (r"static const char|int step = ", check_c),
    (r"interface", check_fortran),
    (r"/<node>|/Steps", check_layout),
    (r'\{"job"', check_keys),
    (r"rapl:", lambda name, block, cwd: check_command(name, "jobprof sensors", block, cwd)),
)


def check_block(doc, line, block, cwd):
    if is_command(block[0]):
        for n, command, shown in commands(line, block):
            name = "%s:%d: %s" % (doc, n, command.split("  #")[0].split("\n")[0].strip())
            if not is_left_out(name, command):
                check_command(name, command, shown, cwd)
        return
    name = "%s:%d: %s" % (doc, line, block[0][:40].strip())
    check = next((fn for begin, fn in KINDS if re.match(begin, block[0])), None)
    if check:
        check(name, block, cwd)
    elif not is_left_out(name, block[0]):
        not_ok(name, "no command, and not of a kind in KINDS or LEFT_OUT")


def prepare():
    """What the examples take for granted: an installed jobprof, a Slurm's settings, a user alice, a daemon that has
    followed the jobs 42 and 4711 on node n1 and follows another, a machine with RAPL."""
    global machine
    subprocess.run(["useradd", "-g", "users", "alice"])  # or there is one
    put = machinelib.put
    subprocess.run(["make", "-s", "install"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    put("/", "etc/slurm/slurm.conf", "ClusterName=c\nSlurmctldHost=n1\nProctrackType=proctrack/cgroup\n"
        "JobAcctGatherFrequency=task=1\nNodeName=n[1-3],node1\n")
    put("/", "etc/slurm/acct_gather.conf", "ProfileHDF5Dir=/shared/profiles\n")
    put("/", "etc/jobprof/jobprof.conf", "\n".join(next(
        b for _, b in blocks(ROOT + "/README.md") if b[0].startswith("Include"))).replace("=All", "=all,stack,burst") +
        "\nCgroupRoot=%s\n" % daemonlib.CGROUP_ROOT)
    os.makedirs("/shared/profiles", 0o1777)
    with open("/tmp/jobprofd.log", "w") as log:
        start(["jobprofd", "-f"], env=ENV, stdout=log, stderr=log)
    wait_until(lambda: not subprocess.run(["jobprofd", "--status"], env=ENV, capture_output=True).returncode,
               20, "jobprofd, which writes to /tmp/jobprofd.log")
    daemonlib.NODE = "n1"
    trees = Trees()
    steps = [Stepd(job, step, ["sh", "-c", "seq 300000 >/tmp/seq; sleep 3"],
                   v2_task(trees.job(job) + "/step_%s" % step)) for job in (42, 4711) for step in ("0", "batch")]
    job = new_job()
    Stepd(job, 0, ["sleep", "280"], v2_task(trees.job(job) + "/step_0"))
    for s in steps:
        s.end()
    wait_until(lambda: len(glob.glob("/shared/profiles/root/4[27]*_n1.h5")) == 4, 30, "files of 4 steps")
    machine = machinelib.machine("intel-2s")
    for node in ("n2", "n3", "node1"):
        subprocess.run(["hostname", node], check=True)
        if node != "node1":
            subprocess.run(["jobprof", "run", "-q", "-o", "/shared/profiles/root", "true"], env=ENV, check=True)
    template = tmpdir("template")
    put(template, "Makefile", "all:\n\tseq 300000 >numbers\n")
    for job in ("42", "4711"):
        subprocess.run(["jobprof", "merge", "-S", "-j", job, "-p", "/shared/profiles"], cwd=template,
                       env=ENV, check=True)
    shutil.copytree("/shared/profiles", template + "/profiles")
    return template


def examples():
    template = prepare()
    for path in sys.argv[2:] or DOCUMENTS:
        cwd = os.path.join(TMP, os.path.basename(path))
        shutil.copytree(template, cwd)
        shutil.rmtree("/shared/profiles/root", ignore_errors=True)
        shutil.copytree(template + "/profiles", "/shared/profiles", dirs_exist_ok=True)
        for line, block in blocks(path):
            check_block(os.path.relpath(path, ROOT), line, block, cwd)
    if not sys.argv[2:]:
        is_equal("every line of LEFT_OUT leaves out something",
                 [begin for begin, _ in LEFT_OUT if begin not in left_out], [])


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        run_one(examples)
    else:
        need_bpf()
        sys.exit(subprocess.run(["unshare", "-m", "-u", "sh", "-c", SETUP, "sh", tmpdir("layer"), ROOT,
                                 sys.executable, "-u", os.path.realpath(__file__), "inside"] +
                                [os.path.realpath(a) for a in sys.argv[1:]]).returncode)
