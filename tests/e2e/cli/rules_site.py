#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A site's rules.lua: what it may change, and that nothing in it spoils other rules."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from factslib import NRULES, changed, healthy, judge
from lib import *

H = healthy(bins=20, nodes=2, per_node=4, cores=4)
HALF = changed(H, {"job.cpu_share": 0.6, "job.cpu_s": 0.6 * 8 * 600})
GOOD = """
rules["site.good"] = {
	judge = function() return {severity = "note", text = "Good."} end,
}
"""


def write(text, mode=0o644):
    path = os.path.join(tmpdir(), "rules.lua")
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def verdict(text, facts=H):
    path = write(text)
    v = judge(facts, site=path)
    v["errors"] = [e.replace(path, "FILE") for e in v["errors"]]
    v["path"] = path
    return v


def thresholds():
    usual = judge(HALF)["found"]["cpu.unused"]
    is_equal("0.6 is bad", usual["severity"], "bad")
    v = verdict('rules["cpu.unused"].limits.bad = 0.5\n', HALF)
    is_equal("one limit", (v["found"]["cpu.unused"]["severity"], v["errors"]), ("warn", []))
    v = verdict('rules["cpu.unused"].limits = {bad = 0.5, warn = 0.55}\n', HALF)
    is_equal("several", ("cpu.unused" in v["found"], v["others"]["cpu.unused"]["reason"]),
             (False, "0.60 of the core time was used, not below 0.55"))
    v = verdict('rules["cpu.unused"].limits.coverage = 0.5\n', changed(HALF, {"job.coverage": 0.6}))
    is_equal("coverage", list(v["found"]), ["cpu.unused"])
    v = verdict('rules["cpu.unused"].limits.bad = rules["cpu.unused"].limits.bad - 0.1\n', HALF)
    is_equal("a limit is read", v["found"]["cpu.unused"]["severity"], "warn")


def times():
    """when() of masks whose runs are known: 20 bins of 30 s."""
    site = 'rules["site.x"] = {judge = function() return {severity = "note", text = "X.", times = %s} end}\n'
    of = lambda expression, **bins: verdict(site % expression, changed(H, {"bin." + k: f for k, f in bins.items()}))["found"]["site.x"]["times"]
    on = lambda *bins: lambda i: 1 if i in bins else 0
    some, rest = "when(mask(bin.forks, '>', 0))", "when(mask(bin.forks, '>', 0), bin.wait_s)"
    is_equal("when: neighbours are one time", of(some, forks=on(0, 3, 4, 5, 19)), [[0, 30], [90, 180], [570, 600]])
    is_equal("when: never, and what is not known", [of(some, forks=0), of(some, forks=None)], [[], []])
    is_equal("when: nearly all the time", [len(of(some, forks=on(*range(n)))) for n in (17, 18, 20)], [1, 0, 0])
    nine = changed(healthy(bins=40), {"bin.forks": lambda i: int(i < 36 and i % 4 < (1 if 20 <= i < 24 else 2))})
    is_equal("when: of nine the longest eight", verdict(site % some, nine)["found"]["site.x"]["times"],
             [[120 * i, 120 * i + 60] for i in range(9) if i != 5])
    many = changed(healthy(bins=40), {"bin.forks": lambda i: (i + 1) % 2})
    is_equal("when: eight of twenty hold less than half", verdict(site % some, many)["found"]["site.x"]["times"], [])
    for k, wanted in ((1, [[90, 120]]), (0, [])):
        is_equal("when: of the loss they hold half, or are none: %d" % k,
                 of(rest, forks=on(3), wait_s=lambda i: 10 if i == 3 else 6 if k == 0 and i in (7, 12) else 0), wanted)
    is_equal("times: of a rule's own, in their order", of("{{50, 60}, {1, 2}, {NAN, 4}}"), [[1, 2], [50, 60]])


def off():
    for text in ('rules["cpu.unused"].off = true\n', 'rules["cpu.unused"] = nil\n'):
        v = verdict(text, HALF)
        is_equal(text.strip(), (v["nrules"], "cpu.unused" in v["found"], v["others"]["cpu.unused"], v["errors"]),
                 (NRULES, False, {"judged": False, "reason": "a file of rules switched it off"}, []))
    v = verdict('rules["cpu.unused"].off = true\nrules["cpu.unused"].off = false\n', HALF)
    is_equal("and on again", v["nrules"], NRULES)


def added_and_replaced():
    v = verdict(GOOD)
    is_equal("a rule more", (v["nrules"], v["found"]["site.good"]["text"], v["errors"]), (NRULES + 1, "Good.", []))
    v = verdict(GOOD.replace("site.good", "cpu.unused"), HALF)
    is_equal("in place of a built-in one", (v["nrules"], v["found"]["cpu.unused"]["text"]), (NRULES, "Good."))


def explained_and_ordered():
    """A finding is explained by what costs half as much; a note counts for half of its cost in the order."""
    text = """
rules["site.dear"] = {suppressed_by = {"site.cause"}, judge = function() return {severity = "note", text = "Dear.", cost = 100} end}
rules["site.cause"] = {judge = function() return {severity = "note", text = "Cause.", cost = %d} end}
rules["site.loud"] = {judge = function() return {severity = "warn", text = "Loud.", cost = %d} end}
"""
    for cost, loud, found in ((50, 26, ["site.loud", "site.cause"]), (49, 49, ["site.dear", "site.loud", "site.cause"]),
                              (49, 51, ["site.loud", "site.dear", "site.cause"])):
        v = verdict(text % (cost, loud))
        is_equal("costs 100, %d and of a warning %d" % (cost, loud),
                 ([f["id"] for f in v["findings"] if f["id"].startswith("site.")], v["errors"]), (found, []))


LINE = """
rules["site.x"] = {
	kind = "%s",
	judge = function() return {severity = "note", text = "X.", remedy = "Say:", code = "%s", sets = {needs = 2, used = 1}} end,
}
"""


def lines_and_commands():
    """A site's rules are sentences but for those that say so; what a shell would understand is never to be copied."""
    found = lambda kind, code: verdict(LINE % (kind, code))["found"].get("site.x")
    f = verdict(GOOD)["found"]["site.good"]
    is_equal("a rule without a kind", (f["kind"], f["code"], f["needs"]), ("sentence", "", None))
    for kind, code in (("line", "#SBATCH --mem=2G"), ("line", "export A_B=1 C=close"), ("line", "srun --cpu-bind=cores"), ("command", "sbatch --dependency=afterok:JOBID x.sh")):
        f = found(kind, code)
        is_equal("%s: %s" % (kind, code), (f["kind"], f["code"], f["remedy"], f["needs"], f["used"], f["asked"]), (kind, code, "Say: " + code, 2, 1, None))
    for kind, code in (("line", "sbatch x"), ("line", "#SBATCH mem"), ("command", "#SBATCH --mem=2G"), ("command", "-x"), ("command", "")):
        v = verdict(LINE % (kind, code))
        is_true("no %s: %s" % (kind, code), len(v["errors"]) == 1 and "the code is no" in v["errors"][0] and "site.x" not in v["found"], v["errors"])
    for code in ("#SBATCH --exclude=n1;reboot", "srun --x=$(reboot)", "export A=`reboot`", "srun --x=a|b", "srun --x=a>b", "srun --x=a\\nreboot", "srun --x='a'", "srun --x=\u202e",
                 "srun --x=" + 300 * "a"):
        f = found("line", code)
        is_equal("not to be copied: %.40s" % code, (f["kind"], f["code"], f["needs"], f["remedy"][:10]), ("sentence", "", None, "Say: " + code[:5]))


def man_page():
    """The example of the manual page works as it stands there."""
    with open(os.path.join(ROOT, "man/jobprof-rules.5")) as f:
        page = f.read()
    blocks = re.findall(r"\.EX\n(.*?)\.EE\n", page, re.S)
    text = "\n".join(re.sub(r"\\-", "-", re.sub(r"\\e", r"\\", re.sub(r"\\&", "", b))) for b in blocks
                     if "rules[" in b)
    is_true("there are examples", text.count("rules[") >= 3, text)
    v = verdict(text, changed(HALF, {"job.minor_faults": 3e7, "job.user_s": 2000, "job.system_s": 500}))
    is_equal("no errors", v["errors"], [])
    is_equal("its rule is given", v["found"]["site.page_faults"]["severity"], "warn")
    is_equal("its cost", round(v["found"]["site.page_faults"]["cost"]), 300)
    is_equal("its limit holds", verdict(text)["others"]["site.page_faults"]["judged"], True)
    is_equal("one is more, and one is off", (v["nrules"], [r["reason"] for r in v["others"].values()].count("a file of rules switched it off")), (NRULES + 1, 1))
    sections = {w for w in re.findall(r"\b[a-z]+\.[a-z_]+\b", page)}
    names = set(v["others"]) | set(judge(HALF)["others"]) | set(judge(HALF)["found"])
    is_true("it names rules that exist", {"cpu.unused", "time.short"} <= sections & names, sections & names)


def page_names_all():
    """Every helper that rules have is on the page."""
    with open(os.path.join(ROOT, "man/jobprof-rules.5")) as f:
        page = re.sub(r"\\f[BR]", "", f.read())
    with open(os.path.join(ROOT, "user/findings/prelude.lua")) as f:
        prelude = f.read()
    names = set(re.findall(r"env\.(\w+)", prelude)) | set(re.findall(r'"(\w+)"', re.search(
        r"local TOOLS = {(.*?)}", prelude, re.S).group(1)))
    is_equal("not on the page", sorted(n for n in names if not re.search(r"\b%s\b" % n, page)), [])


WRONG = {
    "a syntax error": ('x = 1\nrules["a.b"] = = 2\n', r"FILE:2: unexpected symbol near '='"),
    "a text without an end": ('x = "abc\n', r"FILE:1: unfinished string"),
    "an error outside of a rule": ('\n\nlocal x = nil + 1\n', r"FILE:3: attempt to perform arithmetic on a nil value"),
    "an unknown rule": ('\nrules["cpu.unusd"].limits.bad = 0.5\n', r"FILE:2: there is no rule cpu.unusd$"),
    "an unknown rule off": ('rules["cpu.unusd"].off = true\n', r"FILE:1: there is no rule cpu.unusd$"),
    "an unknown rule away": ('rules["cpu.unusd"] = nil\n', r"FILE:1: there is no rule cpu.unusd$"),
    "an unknown limit": ('\n\nrules["cpu.unused"].limits.bda = 0.5\n', r"FILE:3: rule cpu.unused has no limit bda$"),
    "a limit of text": ('rules["cpu.unused"].limits.bad = "0.5"\n', r"FILE:1: rule cpu.unused: limit bad is no number$"),
    "a limit that is not known": ('rules["cpu.unused"].limits.bad = NAN\n', r"FILE:1: .*limit bad is no number$"),
    "another key": ('rules["cpu.unused"].judge = 1\n', r"FILE:1: rule cpu.unused: only limits and off"),
    "no judge": ('rules["site.x"] = {limits = {}}\n', r"FILE:1: rule site.x has no function judge$"),
    "a wrong id": ('rules["nothing"] = {judge = print}\n', r"FILE:1: the id of a rule is a text as"),
    "a number for an id": ('rules[1] = {judge = print}\n', r"FILE:1: the id of a rule is a text as"),
    "no table": ('rules["site.x"] = 5\n', r"FILE:1: rule site.x is no table$"),
    "an unknown key": ('rules["site.x"] = {juge = 1, judge = function() end}\n', r"FILE:1: rule site.x: there is no key juge$"),
    "needs of numbers": ('rules["site.x"] = {needs = {1}, judge = function() end}\n', r"FILE:1: .*needs is no list of texts$"),
    "another kind": ('rules["site.x"] = {kind = "poem", judge = function() end}\n', r"FILE:1: rule site.x: its kind is not \"command\", \"line\" or \"sentence\"$"),
    "many without a unit": ('rules["site.x"] = {many = {safe = "highest"}, judge = function() end}\n', r"FILE:1: rule site.x: many has no unit$"),
    "many of nothing": ('rules["site.x"] = {many = {safe = "all", unit = "core"}, judge = function() end}\n', r"FILE:1: rule site.x: many.safe is not"),
    "many of more": ('rules["site.x"] = {many = {safe = "lowest", unit = "core", x = "y"}, judge = function() end}\n', r"FILE:1: rule site.x: many has no x"),
    "a limit of nothing": ('rules["site.x"] = {limits = {a = true}, judge = function() end}\n', r"FILE:1: .*limit a is no number$"),
    "only_if outside of a rule": ('only_if(false, "x")\n', r"FILE: only a rule can end"),
    "a write to a fact": ('job.wall_s = 5\n', r"FILE:1: facts cannot be changed$"),
    "a write to an array": ('bin.cpu_s[1] = 5\n', r"FILE:1: arrays cannot be changed$"),
    "bytecode": ("\x1bLua", r"FILE: .*binary|FILE: attempt to load a binary chunk"),
}


def wrong_files():
    """Named with the line; built-in rules stay, and what comes after where that is possible."""
    for name, (text, pattern) in WRONG.items():
        v = verdict(text, HALF)
        is_true(name, len(v["errors"]) == 1 and re.search("^" + pattern if pattern[0] == "F" else pattern, v["errors"][0]),
                v["errors"])
        is_true(name + ": built-in rules stay", "cpu.unused" in v["found"] and v["nrules"] >= NRULES - 1, v["found"].keys())
    for name in ("an unknown rule", "an unknown limit", "no judge", "a wrong id"):
        v = verdict(WRONG[name][0] + GOOD)
        is_true(name + ": the next rule stays", "site.good" in v["found"], v["others"])


BODIES = {
    "an endless loop": ("while true do end", r"it took more than \d+ steps"),
    "an endless recursion": ("local function f() return f() end return f()", r"it took more than \d+ steps"),
    "a deep recursion": ("local function f() return 1 + f() end return f()", r"stack overflow|not enough memory"),
    "a memory bomb": ("local t = {} for i = 1, 1e9 do t[i] = {i} end", r"not enough memory|more than \d+ steps"),
    "a memory bomb that stays": ("BOMB = BOMB or {} for i = 1, 1e9 do BOMB[i] = {i} end", r"not enough memory|more than"),
    "a string bomb": ('local s = "x" while true do s = s .. s end', r"not enough memory"),
    "a format bomb": ('local s = "x" for i = 1, 100 do s = format("%s%s%s%s", s, s, s, s) end', r"not enough memory"),
    "a concat bomb": ('local t = {} for i = 1, 1e5 do t[i] = ("x"):upper() end\n'
                      'for i = 1, 1e9 do table.concat(t) end', r"more than \d+ steps"),
    "a sort bomb": ('local t = {} for i = 1, 1e5 do t[i] = i end for i = 1, 1e9 do table.sort(t) end', r"more than"),
    "an array bomb": ("local a = bin.cpu_s for i = 1, 1e9 do a = a + a end", r"more than \d+ steps"),
    "a fact that is not there": ("return job.wal_s", r"there is no fact job.wal_s"),
    "an array that is not there": ("return bin.wal_s", r"there is no fact bin.wal_s"),
    "need of no fact": ('need("bin.wal_s")', r"there is no fact bin.wal_s"),
    "beyond the end": ("return bin.cpu_s[21]", r"an array of 20 elements has none at 21"),
    "arrays of two lengths": ("return bin.cpu_s + node.cpu_s", r"arrays of 20 and 2 elements"),
    "a wrong operator": ('mask(bin.cpu_s, "=", 1)', r"invalid option '='"),
    "nil in arithmetic": ("return nothing + 1", r"attempt to perform arithmetic on a nil value"),
    "an error in its text": ('return {severity = "note", text = format("%s %s", 1)}', r"bad argument"),
    "an unknown format": ('return {severity = "note", text = format("%y", 1)}', r"invalid conversion"),
    "nothing": ("return nil", r"it gave neither a finding nor a reason"),
    "a number": ("return 5", r"what it gave is no finding"),
    "an unknown key": ('return {severity = "note", txt = "x"}', r"a finding has no txt"),
    "times of nine": ('local t = {} for i = 1, 9 do t[i] = {i, i} end return {severity = "note", text = "x", times = t}', r"there are more than 8 times"),
    "a time that is none": ('return {severity = "note", text = "x", times = {5}}', r"a time is no {from, to} of numbers"),
    "when of nodes": ("when(mask(node.cpu_s, '>', 0))", r"when\(\) takes arrays over bins"),
    "no severity": ('return {text = "x"}', r"the severity is not"),
    "another severity": ('return {severity = "awful", text = "x"}', r"the severity is not"),
    "no text": ('return {severity = "note"}', r"the finding has no text"),
    "a text of a number": ('return {severity = "note", text = 5}', r"the text of the finding is no string"),
    "a cost of text": ('return {severity = "note", text = "x", cost = "5"}', r"the cost of the finding is no number"),
    "a cost below 0": ('return {severity = "note", text = "x", cost = -5}', r"the cost is below 0"),
    "an infinite cost": ('return {severity = "note", text = "x", cost = math.huge}', r"the cost is not finite"),
    "a long text": ('return {severity = "note", text = table.concat({("x"):upper(), ("y"):rep(9999)})}', r"nil value"),
    "code of a sentence": ('return {severity = "note", text = "x", code = "#SBATCH --mem=1G"}', r"the rule's kind is \"sentence\": it has no code"),
    "what is set is no number": ('return {severity = "note", text = "x", sets = {needs = "1"}}', r"what it sets has no needs, or that is no number"),
    "what is set has more": ('return {severity = "note", text = "x", sets = {more = 1}}', r"what it sets has no more"),
    "io": ('io.open("/etc/passwd")', r"attempt to index a nil value \(global 'io'\)"),
    "os": ('os.execute("true")', r"global 'os'"),
    "load": ('load("return 1")', r"global 'load'"),
    "require": ('require("os")', r"global 'require'"),
    "dofile": ('dofile("/etc/passwd")', r"global 'dofile'"),
    "debug": ('debug.getregistry()', r"global 'debug'"),
    "string.rep": ('return ("x"):rep(1e9)', r"nil value \(method 'rep'\)"),
    "string.dump": ('string.dump(only_if)', r"nil value \(field 'dump'\)"),
    "patterns": ('return ("x"):find("x")', r"nil value \(method 'find'\)"),
    "coroutines": ('coroutine.wrap(function() while true do end end)()', r"global 'coroutine'"),
    "pcall": ("while true do pcall(error) end", r"global 'pcall'"),
    "metatables": ('getmetatable("").__index = nil', r"global 'getmetatable'"),
    "finalizers": ("setmetatable({}, {__gc = function() while true do end end})", r"global 'setmetatable'"),
    "garbage": ("collectgarbage()", r"global 'collectgarbage'"),
    "the prelude's natives": ("native.charge(1)", r"global 'native'"),
    "_G": ("_G.x = 1", r"global '_G'"),
    "print": ("print(1)", r"global 'print'"),
}


def broken_rules():
    """Each is named with its line and id; rules before and after it are judged."""
    for name, (body, pattern) in BODIES.items():
        text = 'rules["site.bad"] = {\n\tjudge = function()\n%s\nend}\n' % body + GOOD
        began = time.monotonic()
        v = verdict(text, HALF)
        took = time.monotonic() - began
        is_true(name, len(v["errors"]) == 1 and re.match(r"FILE:[234]: rule site.bad: .*(%s)" % pattern, v["errors"][0]),
                v["errors"])
        is_true(name + ": others are judged", "cpu.unused" in v["found"] and "site.good" in v["found"] and
                v["others"]["site.bad"]["judged"] is False, (v["found"].keys(), v["others"].get("site.bad")))
        is_true(name + ": it is stopped", took < 30, took)


def one_file_cannot_spoil_another():
    v = verdict('sum = 5\nmean = nil\nstring.format = nil\nmath.abs = nil\nonly_if = function() end\nformat = 3\n'
                'job = nil\nlocal s = rules["cpu.unused"].limits\ns.warn = 0.9\n' + GOOD, HALF)
    is_equal("globals are the file's own", (v["errors"], "cpu.unused" in v["found"], "site.good" in v["found"]),
             ([], True, True))
    clean, broken = judge(HALF), v
    is_equal("all others are as before", {k: o["reason"] for k, o in broken["others"].items()},
             {k: o["reason"] for k, o in clean["others"].items()})


def many_errors():
    v = verdict('for i = 1, 100000 do rules["cpu.unusd"].off = true end\n' + GOOD)
    is_true("errors are bounded", len(v["errors"]) <= 64, len(v["errors"]))
    v = verdict('for i = 1, 5000 do rules["site.r" .. i] = {judge = function() while true do end end} end\n')
    is_true("rules are bounded", v["nrules"] <= 1000, v["nrules"])


def circles():
    one = 'rules["site.%s"] = {suppressed_by = {%s}, judge = function() return {severity = "note", cost = %d, ' \
          'text = "%s"} end}\n'
    v = verdict(one % ("a", '"site.b"', 10, "A.") + one % ("b", '"site.a"', 10, "B."))
    is_equal("one of a circle stays", len([f for f in v["found"] if f.startswith("site.")]), 1)
    v = verdict(one % ("a", '"site.b"', 10, "A.") + one % ("b", '"site.c"', 10, "B.") + one % ("c", '"site.a"', 10, "C."))
    is_equal("one of three stays", len([f for f in v["found"] if f.startswith("site.")]), 1)
    v = verdict(one % ("a", '"site.b"', 10, "A.") + one % ("b", "", 4, "B."))
    is_equal("too cheap to explain it", sorted(v["found"]), ["site.a", "site.b"])
    v = verdict(one % ("a", '"site.b", "site.c"', 10, "A.") + one % ("b", "", 3, "B.") + one % ("c", "", 3, "C."))
    is_equal("together they do", sorted(v["found"]), ["site.b", "site.c"])


def owners():
    path = write(GOOD, 0o666)
    v = judge(H, site=path, expect=1)
    is_equal("all may write it", list(v["found"]), [])
    judge(H, site=os.path.join(tmpdir(), "none"), expect=1)
    fifo = os.path.join(tmpdir(), "fifo")
    os.mkfifo(fifo)
    judge(H, site=fifo, expect=1)
    large = write("--" + "x" * (1 << 20))
    judge(H, site=large, expect=1)
    if os.geteuid():
        raise Skipped("a file of another user needs root")
    path = write(GOOD)
    os.chown(path, 54321, 0)
    is_equal("another user's", list(judge(H, site=path, expect=1)["found"]), [])
    os.chown(path, 0, 54321)
    os.chmod(path, 0o664)
    is_equal("root's, for a group", list(judge(H, site=path)["found"]), ["site.good"])


def builtin_file():
    with open(os.path.join(ROOT, "user/findings/rules.lua")) as f:
        text = f.read()
    path = write(text)
    a, b = judge(HALF, builtin=path), judge(HALF)
    is_equal("a file in place of what was built in", (a["found"], a["others"]), (b["found"], b["others"]))
    v = judge(HALF, builtin=write("rules['x.y'] = {kind = 'sentence', judge = function()\n\nfoo() end}"))
    is_true("its errors", re.search(r"/rules.lua:3: rule x.y: .*global 'foo'", v["errors"][0]), v["errors"])
    v = judge(HALF, builtin=write("rules['x.y'] = {judge = function() return nil, 'no' end}"))
    is_true("a built-in rule says its kind", "x.y: its kind is not" in v["errors"][0] and not v["nrules"], v["errors"])


def helpers():
    """What texts are made of."""
    cases = (
        ('duration(0.0000082)', "8.2 us"), ('duration(0.084)', "84 ms"), ('duration(2.4)', "2.4 s"),
        ('duration(412)', "412 s"), ('duration(2400)', "40 min"), ('duration(13800)', "3 h 50 min"),
        ('duration(18000)', "5 h"), ('duration(86400 * 2 + 3 * 3600)', "2 d 3 h"), ('duration(NAN)', "unknown"),
        ('core_time(812)', "812 core-seconds"), ('core_time(1)', "1 core-second"), ('core_time(3600)', "1 core-hour"),
        ('core_time(77040)', "21.4 core-hours"), ('core_time(626400)', "174 core-hours"),
        ('size(300)', "300 MiB"), ('size(31.2 * 1024)', "31.2 GiB"), ('size(0.5 / 1024)', "512 bytes"), ('size(0)', "0 MiB"),
        ('size(1.4 * 1048576)', "1.4 TiB"), ('percent(0.305)', "30 %"), ('percent(0.05)', "5 %"),
        ('percent(0.0071)', "0.7 %"), ('percent(0.0004)', "0.04 %"), ('percent(0)', "0 %"), ('percent(1)', "100 %"),
        ('number(210000)', "210,000"), ('number(4.1e6)', "4.1 million"), ('number(999)', "999"),
        ('number(1234.4)', "1,234"), ('number(2.5)', "2.5"),
        ('plural(1, "rank")', "1 rank"), ('plural(3, "rank")', "3 ranks"), ('plural(0, "rank")', "0 ranks"),
        ('plural(2, "process", "processes")', "2 processes"),
        ('ranges({0, 1, 2, 3, 7, 9, 10})', "0-3,7,9-10"), ('ranges({1, 3, 5, 7, 9, 11, 13})', "1,3,5,7,9 and 2 more"),
        ('nodes({1, 2})', "n1-n2"), ('ranks({1, 2, 3, 4})', "ranks 0-3 on n1"), ('ranks({5})', "rank 4 on n2"),
        ('ranks({4, 5})', "ranks 3-4"), ('mem_option(9000)', "9G"), ('mem_option(500)', "512M"),
        ('time_option(4320)', "1:15:00"), ('time_option(60)', "0:05:00"), ('time_option(100000)', "1-03:50:00"),
        ('format("%d", 2.5)', "2"), ('format("%.1f %s", NAN, "nano")', "unknown nano"),
        ('format("%d", sum(array{1, 2, 3}))', "6"),
        ('format("%d", median(array{4, 1, 3, 2}) * 10)', "25"), ('format("%d", select(2, max(array{1, 9, 3})))', "2"),
        ('format("%s", tail(mask(array{1, 0, 0}, "<", 1)))', "2"), ('format("%d %d", longest(mask(array{0, 0, 1, 0}, "<", 1)))', "1 2"),
        ('tostring(tail(mask(array{0, 1}, "<", 1)))', "nil"), ('format("%d", sum(diff(array{1, 4, 9})))', "8"),
        ('format("%d", #only(array{1, 2, 3}, mask(array{1, 2, 3}, ">=", 2)))', "2"),
        ('format("%d", sum(lower(array{1, 5}, 3)))', "4"), ('format("%d", higher(2, 3))', "3"),
        ('format("%d", sum(slice(array{1, 2, 4}, 2)))', "6"), ('format("%d", #indexes(mask(array{1, 2}, "~=", 1)))', "1"),
        ('tostring(contains("lmp_mpi", "mp"))', "true"), ('format("%d", #node)', "2"), ('node.name[2]', "n2"),
        ('job.state', "COMPLETED"), ('format("%.0f", at_least(300))', "300"), ('format("%d", sum(array{1, NAN}))', "unknown"))
    for call, wanted in cases:
        v = verdict('rules["site.h"] = {judge = function() return nil, %s end}' % call)
        is_equal(call, v["others"].get("site.h", {}).get("reason") or v["errors"], wanted)


if __name__ == "__main__":
    run_tests([thresholds, times, off, added_and_replaced, helpers, wrong_files, broken_rules, one_file_cannot_spoil_another,
               many_errors, circles, explained_and_ordered, lines_and_commands, owners, builtin_file, man_page, page_names_all])
