#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sensors of a site's own: which are loaded, what they say, and what is said of those refused."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

STUB = os.path.join(BUILD, "tests", "stub")
EXAMPLE = os.path.join(BUILD, "sensors", "sensor_meminfo.so")
NOBODY = 65534


def put(path, text):
    """In one write, and never empty: it may be read meanwhile."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.ftruncate(fd, os.write(fd, b"%s\n" % str(text).encode()))
    os.close(fd)


def plugin_dir(**files):
    """sensor_NAME.so for each, copies of stubs or of any other file."""
    d = tmpdir("plugins")
    os.chmod(d, 0o755)
    for name, source in files.items():
        path = os.path.join(d, "sensor_%s.so" % name)
        if not os.path.isabs(source):
            source = os.path.join(STUB, "plugin-%s.so" % source)
        shutil.copyfile(source, path)
        os.chmod(path, 0o644)
    return d


def machine():
    root = tmpdir("machine")
    for d in ("proc", "dev", "lib"):
        os.mkdir(os.path.join(root, d))
    for fan, speed in (("front", 1200), ("back", 900)):
        put(os.path.join(root, "sys/fans", fan, "speed"), speed)
        put(os.path.join(root, "sys/fans", fan, "joules"), 1000000)
    return root


def sensors(*args, status=0):
    p = subprocess.run([JOBPROF, "sensors"] + list(args), capture_output=True, text=True,
                       timeout=60)
    if p.returncode != status:
        raise Failed("sensors %s: status %d: %s%s"
                     % (" ".join(args), p.returncode, p.stdout, p.stderr))
    return p


def sources(d, root=None):
    """Sources by name, and the complaints."""
    p = sensors("--json", "--all", "--plugins", d, *(["--root", root] if root else []))
    return {s["name"]: s for s in json.loads(p.stdout)["sources"]}, p.stderr


def tables_and_columns_are_as_declared():
    s, err = sources(plugin_dir(fans="good"), machine())
    is_equal("nothing_is_complained_of", err, "")
    got = [(c["table"], c["column"], c["name"], c["unit"], c["quantity"], c["value"], c["quality"])
           for c in s["fans"]["channels"]]
    is_equal("channels_of_a_plugin", got, [
        ("Fans/front", "Speed", "front Speed", "rpm", "level", 1200, "good"),
        ("Fans/front", "Energy", "front Energy", "J", "energy", 0, "good"),
        ("Fans/back", "Speed", "back Speed", "rpm", "level", 900, "good"),
        ("Fans/back", "Energy", "back Energy", "J", "energy", 0, "good")])
    is_equal("its_way_is_told", s["fans"]["way"], "2 fans\033[31m")
    text = sensors("--plugins", plugin_dir(fans="good"), "--root", machine()).stdout
    is_true("and_escaped_for_people", "fans: 2 fans\\x1b[31m\n" in text, text)


def counts_are_since_it_was_opened():
    root = machine()
    d = plugin_dir(fans="good")
    p = start([JOBPROF, "sensors", "--json", "--watch", "0.1", "--root", root, "--plugins", d],
              stdout=subprocess.PIPE, text=True)

    def until(cond):
        for _ in range(200):
            for s in json.loads(p.stdout.readline())["sources"]:
                if s["name"] == "fans" and cond(s["channels"][1]):
                    return s["channels"][1]
        raise Failed("never so")

    until(lambda c: c["value"] == 0)
    joules = os.path.join(root, "sys/fans/front/joules")
    put(joules, 1000025)
    c = until(lambda c: c["value"] != 0)
    is_equal("joules_of_a_plugin", (c["value"], c["quality"]), (25, "good"))
    put(joules, 3)
    c = until(lambda c: c["quality"] != "good")
    is_equal("a_count_that_falls_is_a_gap", (c["value"], c["quality"]), (25, "gap"))
    until(lambda c: c["quality"] == "good")
    put(joules, 10)
    c = until(lambda c: c["value"] != 25)
    is_equal("and_goes_on_from_there", (c["value"], c["quality"]), (32, "good"))
    put(joules, "none")
    until(lambda c: c["quality"] == "none" and c["value"] is None)
    ok("what_it_does_not_know_is_null")
    p.terminate()
    p.wait()


def lies_are_no_values():
    s, err = sources(plugin_dir(lies="lies"), machine())
    got = [(c["value"], c["quality"]) for c in s["lies"]["channels"]]
    is_equal("lies_are_no_values", got,
             [(None, "none"), (None, "none"), (1e300, "good"), (None, "not permitted")])
    is_true("a_reading_of_the_future_is_of_now",
            s["lies"]["channels"][2]["boot_ns"] < 2 ** 62, s["lies"]["channels"][2])
    is_true("endless_text_ends", set(s["lies"]["way"]) == {"y"} and len(s["lies"]["way"]) < 300,
            s["lies"]["way"])


def one_that_hangs_keeps_nobody_waiting():
    s, err = sources(plugin_dir(fans="good", hang="hang"), machine())
    is_equal("one_that_hangs", (s["hang"]["slow"], s["hang"]["state"], s["hang"]["channels"]),
             (True, "no answer yet", []))
    is_equal("the_other_is_read", s["fans"]["channels"][0]["value"], 1200)


def what_is_refused_says_why():
    no_symbol = os.path.join(STUB, "rocm", "librocm_smi64.so")
    cases = {
        "abi": ("abi", "made for ABI 2 .* jobprof-sensor.h"),
        "name": ("name", "jobprof has a source rapl itself"),
        "series": ("series", "its series is called gpu, which jobprof has itself"),
        "flags": ("flags", "flags 0x8 are not known"),
        "nosymbol": (no_symbol, "it defines no jobprof_sensor: see jobprof-sensor"),
        "text": (os.path.join(ROOT, "README.md"), "invalid ELF header|file too short"),
    }
    d = plugin_dir(zgood="good", **{k: v[0] for k, v in cases.items()})
    shutil.copyfile(os.path.join(STUB, "plugin-good.so"), os.path.join(d, "libfans.so"))
    shutil.copyfile(os.path.join(d, "sensor_zgood.so"), os.path.join(d, "sensor_zzagain.so"))
    os.chmod(os.path.join(d, "sensor_zzagain.so"), 0o644)
    os.mkfifo(os.path.join(d, "sensor_fifo.so"), 0o644)
    os.mkdir(os.path.join(d, "sensor_dir.so"))
    os.symlink("/nonexistent", os.path.join(d, "sensor_link.so"))
    more = {"zzagain": "another plug-in is called fans", "fifo": "it is no regular file",
            "dir": "it is no regular file", "link": "No such file"}
    s, err = sources(d, machine())
    lines = err.splitlines()
    for name, why in list(more.items()) + [(k, v[1]) for k, v in cases.items()]:
        mine = [l for l in lines if "/sensor_%s.so is not loaded: " % name in l]
        is_true("refused_" + name, len(mine) == 1 and re.search(why, mine[0]), err)
    is_equal("a_line_for_each", len(lines), len(cases) + len(more))
    is_equal("the_good_one_is_loaded", s["fans"]["channels"][0]["value"], 1200)


def who_may_write_to_it():
    d = plugin_dir(fans="good")
    path = os.path.join(d, "sensor_fans.so")
    for mode in (0o664, 0o646):
        os.chmod(path, mode)
        s, err = sources(d, machine())
        is_true("writable_%o" % mode, "fans" not in s and "others may write to it (mode 0%o); "
                "chmod go-w it" % mode in err, err)
    os.chmod(path, 0o644)
    os.chmod(d, 0o775)
    err = sensors("--plugins", d, status=1).stderr
    is_true("writable_directory", "%s are not loaded: others may write to it" % d in err, err)
    os.chmod(d, 0o755)
    s, err = sources(d, machine())
    is_true("and_loaded_when_nobody_may", "fans" in s and not err, err)
    os.rename(path, os.path.join(d, "fans"))
    os.symlink("fans", path)
    s, err = sources(d, machine())
    is_true("a_link_is_followed", "fans" in s and not err, err)
    if os.geteuid():
        raise Skipped("needs root, to give files away")
    os.chown(os.path.join(d, "fans"), NOBODY, NOBODY)
    s, err = sources(d, machine())
    is_true("owned_by_another", "fans" not in s and "it belongs to uid 65534; chown root it" in err,
            err)
    os.chown(d, NOBODY, NOBODY)
    err = sensors("--plugins", d, status=1).stderr
    is_true("owned_directory", "it belongs to uid 65534" in err, err)


def directories():
    for name, why in (("/nonexistent", "No such file"), ("/dev/null", "Not a directory")):
        err = sensors("--plugins", name, status=1).stderr
        is_true("no_directory_" + name, name in err and why in err, err)
    s, err = sources(plugin_dir(), machine())
    is_true("an_empty_one_is_fine", not err and "fans" not in s, err)


def meminfo():
    with open("/proc/meminfo") as f:
        m = {l.split(":")[0]: int(l.split()[1]) for l in f}
    with open("/proc/vmstat") as f:
        m.update({w: int(n) for w, n in (l.split() for l in f)})
    return m


def the_example_says_what_the_kernel_says():
    before = meminfo()
    s, err = sources(plugin_dir(meminfo=EXAMPLE))
    after = meminfo()
    is_equal("the_example_is_fast_and_quiet", (err, s["meminfo"]["slow"]), ("", False))
    got = {c["column"]: c for c in s["meminfo"]["channels"]}
    words = {"CachedMB": "Cached", "DirtyMB": "Dirty", "ShmemMB": "Shmem", "SlabMB": "Slab",
             "SwapFreeMB": "SwapFree", "HugeMB": "Hugetlb"}
    for column, word in words.items():
        if word not in before:
            is_equal("example_" + column, got[column]["value"], None)
            continue
        a, b = before[word] / 1024, after[word] / 1024
        is_near("example_" + column, got[column]["value"], (a + b) / 2,
                abs_=abs(a - b) + 0.05 * max(a, b) + 64)
    pages = os.sysconf("SC_PAGESIZE") / MB
    is_true("example_SwapInMB", 0 <= got["SwapInMB"]["value"] <=
            (after["pswpin"] - before["pswpin"]) * pages + 1e-9, got["SwapInMB"])
    root = tmpdir("recorded")
    for d in ("sys", "dev", "lib"):
        os.mkdir(os.path.join(root, d))
    put(os.path.join(root, "proc/meminfo"), "MemTotal: 9 kB\nCached: 2048 kB\nSlab: x\nDirty:")
    s, err = sources(plugin_dir(meminfo=EXAMPLE), root)
    got = {c["column"]: (c["value"], c["quality"]) for c in s["meminfo"]["channels"]}
    is_equal("example_on_a_recorded_machine", (got["CachedMB"], got["SlabMB"], got["DirtyMB"],
             got["SwapInMB"]), ((2, "good"),) + ((None, "none"),) * 3)
    os.unlink(os.path.join(root, "proc/meminfo"))
    s, err = sources(plugin_dir(meminfo=EXAMPLE), root)
    is_equal("example_without_its_file", s["meminfo"]["state"], "not there")


def the_header_stands_alone():
    """As a site compiles it: the header and nothing else of ours, C and C++."""
    d = tmpdir("alone")
    shutil.copy(os.path.join(ROOT, "user/sensor/plugin/jobprof-sensor.h"), d)
    shutil.copy(os.path.join(ROOT, "user/sensor/plugin/example/sensor_meminfo.c"), d)
    out = os.path.join(d, "sensor_meminfo.so")
    p = subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", out,
                        "sensor_meminfo.c"], cwd=d, capture_output=True, text=True)
    is_true("the_example_compiles_as_it_says", not p.returncode, p.stderr)
    for cmd in (["gcc", "-std=c99", "-pedantic", "-x", "c"], ["g++", "-std=c++11", "-x", "c++"]):
        if not shutil.which(cmd[0]):
            raise Skipped("no " + cmd[0])
        p = subprocess.run(cmd + ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-"],
                           input='#include "jobprof-sensor.h"\n', cwd=d, capture_output=True,
                           text=True)
        is_true("header_by_" + cmd[0], not p.returncode, p.stderr)
    s, err = sources(plugin_dir(meminfo=out))
    is_true("and_is_loaded", s["meminfo"]["state"] == "read" and not err, err)


def the_manuals_example_works():
    with open(os.path.join(ROOT, "man/jobprof-sensor.7")) as f:
        page = f.read().split(".SH EXAMPLE")[1]
    text = page.split(".nf\n")[1].split(".fi\n")[0].replace("\\-", "-")
    d = tmpdir("manual")
    with open(os.path.join(d, "sensor_water.c"), "w") as f:
        f.write(text)
    out = os.path.join(d, "sensor_water.so")
    p = subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-o", out,
                        "-I" + os.path.join(ROOT, "user/sensor/plugin"), "sensor_water.c"], cwd=d,
                       capture_output=True, text=True)
    is_true("the_manuals_example_compiles", not p.returncode, p.stderr)
    root = machine()
    put(os.path.join(root, "sys/class/water/inlet"), "17.5")
    s, err = sources(plugin_dir(water=out), root)
    is_equal("and_reads", [(c["table"], c["column"], c["value"]) for c in s["water"]["channels"]],
             [("Water", "Inlet", 17.5)])


run_tests([
    tables_and_columns_are_as_declared,
    counts_are_since_it_was_opened,
    lies_are_no_values,
    one_that_hangs_keeps_nobody_waiting,
    what_is_refused_says_why,
    who_may_write_to_it,
    directories,
    the_example_says_what_the_kernel_says,
    the_header_stands_alone,
    the_manuals_example_works,
])
