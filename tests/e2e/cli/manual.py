#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual pages: clean for mandoc, and they name every option and key that the programs name."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

MAN = os.path.join(ROOT, "man")


def says(cmd):
    p = subprocess.run([os.path.join(BUILD, cmd[0])] + cmd[1:], capture_output=True, text=True)
    if p.returncode:
        raise Failed("%s: status %d" % (" ".join(cmd), p.returncode))
    return p.stdout


def page(name):
    with open(os.path.join(MAN, name)) as f:
        return f.read().replace("\\-", "-")


def lint():
    if not shutil.which("mandoc"):
        raise Skipped("there is no mandoc")
    files = sorted(glob.glob(MAN + "/*.[1-8]")) + sorted(glob.glob(os.path.join(BUILD, "man/*.7")))
    p = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"] + files, capture_output=True,
                       text=True)
    is_equal("manual: mandoc has nothing to say", p.stdout, "")


COMMON = {"--input", "--jobs", "--profiledir", "--overwrite"}  # jobprof(1) has them for all verbs


def verbs():
    return re.findall(r"^  (\w+) ", says(["jobprof", "--help"]), re.M)


def has_option(text, option):
    return re.search(re.escape(option) + r"(?![\w-])", text)


def options():
    pages = [("jobprofd.8", ["jobprofd"]), ("jobprof-dump.8", ["jobprof-dump"]), ("sh5util.1", ["sh5util"])]
    pages += [("jobprof-%s.1" % v, ["jobprof", v]) for v in verbs()]
    for name, cmd in pages:
        wanted = set(re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", says(cmd + ["--help"]), re.M)) - {"--help"}
        text, overview = page(name), page("jobprof.1") if cmd[0] == "jobprof" else ""
        is_equal("manual: %s has the options of %s" % (name, " ".join(cmd)),
                 [len(wanted) > 0, [o for o in wanted if not has_option(text, o) and not (o in COMMON and has_option(overview, o))]], [True, []])
        if overview:
            is_true("manual: %s says how the verb is called" % name,
                    " ".join(cmd) in text.replace('"', "").split(".SH DESCRIPTION")[0], text[:200])
            is_true("manual: jobprof.1 has a line on %s" % cmd[1], "\n.TP 12\n.B %s\n" % cmd[1] in overview, "no .TP")


def one_of():
    """Of options that exclude each other the second one is refused, in the same words by each verb; one given twice is one."""
    for args, said in (("cluster --json --svg -", "--json, --csv, --svg and --html"), ("cluster --code --regions", "--regions and --code"),
                       ("report --why x --facts", "--json, --html, --facts, --why and --store"), ("plot --svg - --html -", "--svg and --html"),
                       ("fold --html - --svg -", "--svg and --html"), ("compare --html - --json a b", "--json and --html"),
                       ("flame --folded --svg -", "--svg, --html, --folded, --speedscope, --pprof and --perfetto"),
                       ("reduce --store -o x", "-o and --store"), ("reduce --fold --clusters", "--clusters and --fold"),
                       ("jobs --json --csv", "--json and --csv"), ("digest --csv --html -", "--json, --csv and --html")):
        verb = args.split()[0]
        p = subprocess.run([JOBPROF, *args.split()], capture_output=True, text=True)
        is_equal("options: " + args, (p.returncode, p.stdout, p.stderr),
                 (2, "", 'jobprof %s: one of %s; see "jobprof %s --help"\n' % (verb, said, verb)))
    p = subprocess.run([JOBPROF, "show", "--json", "--json", os.path.join(ROOT, "tests/data/golden/job_7.h5")], capture_output=True)
    p2 = subprocess.run([JOBPROF, "cluster", "--json", "--json", "/dev/null"], capture_output=True, text=True)
    is_true("options: one twice is one", p.returncode == 0 and "one of" not in p2.stderr, (p.returncode, p2.stderr))


def width():
    for cmd in [["sh5util"], ["jobprof-dump"], ["jobprof"]] + [["jobprof", v] for v in verbs()]:
        is_equal("manual: %s --help is 80 columns wide" % " ".join(cmd),
                 [line for line in says(cmd + ["--help"]).splitlines() if len(line) > 80], [])


def columns():
    with open(os.path.join(ROOT, "docs/columns.md")) as f:
        text = f.read()
    made = subprocess.run([os.path.join(ROOT, "scripts/columns"), JOBPROF], check=True,
                          capture_output=True, text=True).stdout
    is_true("docs/columns.md is as \"make docs\" makes it", text == made, "run \"make docs\"")
    p = subprocess.run([os.path.join(ROOT, "scripts/columns"), "--help"], capture_output=True, text=True)
    is_true("scripts/columns --help prints its usage", "usage: scripts/columns" in p.stdout and not p.stderr, p)


def keys():
    names = re.findall(r"^([A-Z]\w+)\n    \S", says(["jobprofd", "--help"]), re.M)
    text = page("jobprof.conf.5")
    is_equal("manual: jobprof.conf.5 has every key",
             [len(names) > 10, [k for k in names if "\n.BI %s= " % k not in text]], [True, []])


def sensors():
    names = [s["name"] for s in json.loads(says(["jobprof", "sensors", "--all", "--json"]))["sources"]]
    with open(os.path.join(BUILD, "man/jobprof-metrics.7")) as f:
        section = f.read().split(".SH SENSORS\n")[1].split(".SH ")[0].replace("\\-", "-")
    is_equal("manual: jobprof-metrics.7 has every sensor", re.findall(r"^\.B (.*)$", section, re.M), names)


def completed(program, *words):
    """What bash offers after these words, by the script that is installed."""
    script = (". %s; COMP_WORDS=(%s); COMP_CWORD=%d; %s; echo ${COMPREPLY[*]}" % (
        os.path.join(BUILD, "completion", program), " ".join("'%s'" % w for w in (program,) + words),
        len(words), "_%s %s '%s' '%s'" % (program, program, words[-1], ((program,) + words)[-2])))
    p = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    return p.stdout.split()


def completion():
    is_equal("completion: verbs", set(completed("jobprof", "")), set(verbs()) | {"help", "--help", "--version"})
    is_equal("completion: after help", completed("jobprof", "help", "s"), ["seff", "sensors", "serve", "show", "site"])
    is_equal("completion: files are not its business", completed("jobprof", "show", "x"), [])
    is_equal("completion: options of a command are not, either",
             completed("jobprof", "run", "--", "ls", "-"), [])
    with open(os.path.join(ROOT, "docs/columns.md")) as f:
        text = f.read()
    for args, wanted in (
            (("extract", "--format", ""), {"csv", "json", "table"}),
            (("items", "--format", "j"), {"json"}), (("live", "--format", "t"), {"table"}),
            (("extract", "--format", "=", "t"), {"table"}), (("extract", "--format", "="), {"csv", "json", "table"}),
            (("extract", "-l", ""), {"totals", "timeseries"}),
            (("extract", "--level", "to"), {"totals"}),
            (("run", "--perf-mode", ""), {"auto", "exact", "sampled", "off"}),
            (("run", "--series", "me"), {"memory"}), (("run", "-s", "block,me"), {"block,memory"}),
            (("extract", "-s", "Tasks,En"), {"Tasks,Energy"})):
        is_equal("completion: values of " + " ".join(args), set(completed("jobprof", *args)), wanted)
    with open(os.path.join(ROOT, "schemas/series.def")) as f:
        text += " ".join(re.findall(r"^GROUP\((\w+),", f.read(), re.M))
    for verb in ("extract", "items", "list", "live"):
        names = set(completed("jobprof", verb, "--series", ""))
        is_true("completion: series of " + verb, {"Tasks", "Step", "Energy"} <= names and
                all(n in text for n in names), names)
    columns = {c["name"] for s in json.loads(says(["jobprof", "list", "--json"])) for c in s["columns"]}
    for args in (("plot", "-d", "Run"), ("items", "--data", "Run"), ("extract", "--columns", "Run"), ("reduce", "-d", "Run")):
        is_equal("completion: columns of " + args[0], set(completed("jobprof", *args)), {c for c in columns if c.startswith("Run")})
    with open(os.path.join(ROOT, "user/findings/rules.lua")) as f:
        rules = set(re.findall(r"^rules\[\"([a-z_.]+)\"\] = ", f.read(), re.M))
    is_equal("completion: rules", (set(completed("jobprof", "report", "--why", "")), len(rules) > 30), (rules, True))
    is_equal("completion: run takes each family", [
        f for f in completed("jobprof", "run", "--series", "") if "no family" in subprocess.run(
            [JOBPROF, "run", "--series", f, "--interval", "x", "true"], capture_output=True,
            text=True).stderr], [])
    for args in (["help", "help"], ["help", "--help"]):
        is_equal(" ".join(args), says(["jobprof"] + args), says(["jobprof", "help"]))
    for verb in verbs():
        text = says(["jobprof", verb, "--help"])
        wanted = set(re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", text, re.M))
        is_equal("completion: options of " + verb, set(completed("jobprof", verb, "--")), wanted)
        is_equal("help %s is %s --help" % (verb, verb), says(["jobprof", "help", verb]), text)
    for program in ("jobprofd", "jobprof-dump"):
        with open(os.path.join(BUILD, "completion", program)) as f:
            words = re.search(r"-W '([^']*)' %s$" % program, f.read(), re.M).group(1).split()
        wanted = re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", says([program, "--help"]), re.M)
        is_equal("completion: options of " + program, [w for w in words if w[:2] == "--"], wanted)


if __name__ == "__main__":
    run_tests([lint, options, one_of, width, columns, keys, sensors, completion])
