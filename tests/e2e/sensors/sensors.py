#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof sensors on machines made of files, and on this one."""

import pwd
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from sensorlib import *

NOBODY = pwd.getpwnam("nobody").pw_uid
POWERCAP = "sys/class/powercap/"


def parts_and_ways_are_listed():
    want = {
        "intel-2s": ("rapl", "powercap: 2 package, 2 dram",
                     ["package-1", "dram-1", "package-0", "dram-0"]),
        "amd-2s": ("rapl", "powercap: 2 package", ["package-0", "package-1"]),
        "amd-cores": ("rapl-cores", "msr: 2 core", ["core-0", "core-1"]),
        "intel-client": ("rapl", "powercap: 1 platform, 1 package, 1 cores, 1 uncore, 1 dram",
                         ["package-0", "cores-0", "uncore-0", "dram-0", "psys"]),
        "intel-spr": ("rapl", "msr: 1 platform, 1 package, 1 dram",
                      ["package-0", "dram-0", "psys"]),
    }
    for name, (source, way, channels) in want.items():
        root = machine(name)
        all_ = json.loads(sensors("--json", "--root", root))["sources"]
        s = [x for x in all_ if x["name"] == source]
        is_equal("way_of_" + name, [x["way"] for x in s], [way])
        is_equal("channels_of_" + name, [c["name"] for c in s[0]["channels"]], channels)
        bad = [c for c in s[0]["channels"] if c["unit"] != "J" or c["rate_unit"] != "W"
               or c["quality"] != "good" or c["value"] != 0 or c["rate"] != 0]
        is_equal("values_of_" + name, bad, [])
        text = sensors("--root", root)
        is_true("text_of_" + name, all(c in text for c in channels) and
                "%s: %s\n" % (source, way) in text, text)


def joules_and_watts_follow_the_files():
    root = machine("intel-2s")
    w = Watch(root)
    w.next()
    put(root, POWERCAP + "intel-rapl:1/energy_uj", 1000000000 + 30000000)
    # A count past its range, 262143328850 uJ, is 0; the counter stood at 262143000000.
    put(root, POWERCAP + "intel-rapl:0/energy_uj", 20000000)
    now, _ = w.until("package-0", lambda c: c["value"] != 0)
    # The files are not written at one instant.
    if now["package-1"]["value"] == 0:
        now, _ = w.until("package-1", lambda c: c["value"] != 0)
    is_near("joules", now["package-0"]["value"], 30, 1e-12)
    is_near("joules_over_a_wrap", now["package-1"]["value"], 20.328851, 1e-12)
    a = w.next()["package-0"]
    put(root, POWERCAP + "intel-rapl:1/energy_uj", 1000000000 + 60000000)
    now, before = w.until("package-0", lambda c: c["value"] > 30.5)
    a, b = before["package-0"] if before else a, now["package-0"]
    is_near("watts", b["rate"], 30 / ((b["boot_ns"] - a["boot_ns"]) / 1e9), 1e-9)
    put(root, POWERCAP + "intel-rapl:1/energy_uj", 1000)
    now, _ = w.until("package-0", lambda c: c["quality"] == "gap")
    is_true("a_jump_back_has_no_rate", now["package-0"]["rate"] is None and
            now["package-0"]["value"] == b["value"], now["package-0"])
    w.end()


def a_package_that_vanishes_has_no_value():
    root = machine("amd-2s")
    w = Watch(root)
    w.next()
    with open(os.path.join(root, POWERCAP + "intel-rapl:1/energy_uj"), "w"):
        pass
    now, _ = w.until("package-1", lambda c: c["quality"] != "good")
    is_true("it_is_null", now["package-1"]["value"] is None and
            now["package-1"]["quality"] == "none" and now["package-0"]["quality"] == "good",
            now)
    put(root, POWERCAP + "intel-rapl:1/energy_uj", 5000000)
    now, _ = w.until("package-1", lambda c: c["quality"] != "none")
    is_equal("it_comes_back_as_a_gap", now["package-1"]["quality"], "gap")
    w.until("package-1", lambda c: c["quality"] == "good")
    w.end()


def who_may_not_read_is_told_what_to_do():
    if os.geteuid():
        raise Skipped("needs root, to become nobody")
    root = machine("intel-client")
    for path in glob.glob(os.path.join(root, POWERCAP, "*/energy_uj")):
        os.chmod(path, 0o400)

    def nobody():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    # Where nobody may not go there is no test.
    if subprocess.run(["test", "-x", JOBPROF], preexec_fn=nobody).returncode:
        raise Skipped("nobody may not start %s" % JOBPROF)
    text = sensors("--root", root, preexec_fn=nobody)
    is_true("denied_text", "rapl: not permitted: powercap: energy_uj: not permitted: run as root"
            in text and "package" not in text, text)
    got = json.loads(sensors("--root", root, "--json", preexec_fn=nobody))["sources"]
    is_equal("denied_json", [(s["name"], s["state"], s["channels"]) for s in got],
             [("rapl", "not permitted", [])])


def nothing_there_is_no_error():
    root = tmpdir("empty")
    text = sensors("--root", root)
    is_true("nothing_there_says_so", text.startswith("none of the sensors that jobprof knows"),
            text)
    text = sensors("--root", root, "--all")
    is_true("all_says_why", "rapl: not there: perf events: no PMU" in text, text)
    is_equal("nothing_in_json", json.loads(sensors("--root", root, "--json")), {"sources": []})
    text = sensors("--root", machine("vm"), "--all")
    is_true("registers_of_0_are_none", "rapl: not there:" in text and
            "the registers read 0 or do not exist" in text, text)


def gpus_of_both_makers():
    """Libraries that tell of two GPUs each; AMD's numbers go on behind NVIDIA's."""
    root = machine("vm")
    os.mkdir(os.path.join(root, "lib"))
    for lib in ("libnvidia-ml.so.1", "rocm/librocm_smi64.so"):
        shutil.copy(os.path.join(BUILD, "tests/stub", lib), os.path.join(root, "lib"))
    by_name = {s["name"]: s for s in json.loads(sensors("--json", "--root", root))["sources"]}
    is_equal("a_library's_chatter_reaches_nobody",
             subprocess.run([JOBPROF, "sensors", "--json", "--root", root], capture_output=True,
                            text=True).stderr, "")
    cells = {}
    for name in ("nvml", "rsmi"):
        for c in by_name[name]["channels"]:
            cells.setdefault(c["table"], {})[c["column"]] = (name, c["unit"], c["value"])
    is_equal("a_table_per_gpu", sorted(cells), ["GPU/0", "GPU/1", "GPU/2", "GPU/3"])
    is_equal("whose_is_which", [{v[0] for v in cells["GPU/%d" % i].values()} for i in range(4)],
             [{"nvml"}, {"nvml"}, {"rsmi"}, {"rsmi"}])
    with_doc = json.loads(subprocess.run([JOBPROF, "list", "-s", "GPU", "--json"],
                                         capture_output=True, text=True, check=True).stdout)
    known = {c["name"] for c in with_doc[0]["columns"]} - {"ElapsedTime", "EpochTime", "TimeNS"}
    is_equal("nvidias_have_all_columns", set(cells["GPU/0"]), known)
    is_equal("amds_have_all_but_two", set(cells["GPU/2"]), known - {"ThrottleReasons", "Split"})
    is_equal("values_as_the_libraries_say",
             [cells["GPU/0"][c] for c in ("Power", "MemMB", "Clock")] +
             [cells["GPU/2"][c] for c in ("Power", "Temperature", "MemClock")],
             [("nvml", "W", 301), ("nvml", "B", 8 << 30), ("nvml", "MHz", 1755),
              ("rsmi", "W", 412), ("rsmi", "C", 51), ("rsmi", "MHz", 1600)])


def lenovos_own_command_is_for_lenovos():
    root = machine("vm")
    put(root, "dev/ipmi0", "")
    put(root, "sys/class/dmi/id/sys_vendor", "QEMU")
    text = sensors("--root", root, "--all")
    is_true("others_are_not_asked", "xcc: not there: the system's vendor is not Lenovo\n" in text,
            text)
    put(root, "sys/class/dmi/id/sys_vendor", "Lenovo")
    got = {s["name"]: s for s in json.loads(sensors("--root", root, "--json"))["sources"]}
    is_true("lenovos_are", got["xcc"]["state"] == "does not work" and
            got["xcc"]["why"] == "the BMC behind %s/dev/ipmi0" % root, got["xcc"])


def kernel_has_rapl():
    """Told by the kernel's own trees; None where registers would have to be understood."""
    events = glob.glob("/sys/bus/event_source/devices/power*/events/energy-*")
    if events or glob.glob("/sys/class/powercap/intel-rapl:*"):
        return True
    return None if glob.glob("/dev/cpu/*/msr") else False


def this_machine():
    has = kernel_has_rapl()
    if has is None:
        raise Skipped("no driver for RAPL, and an msr device: what is behind it is not known here")
    names = [s["name"] for s in json.loads(sensors("--json"))["sources"]]
    is_equal("rapl_is_listed_where_it_is", "rapl" in names, has)
    p = subprocess.run([os.path.join(BUILD, "jobprofd"), "--check"], capture_output=True,
                       text=True, timeout=60)
    is_equal("jobprofd_check_has_it_where_it_is", "\nsensor rapl " in p.stdout, has)


def jobprofd_checks_sensors():
    """With a made-up machine's /sys, seen by this process alone."""
    if os.geteuid():
        raise Skipped("needs root, for mounts of its own")
    root = machine("intel-2s")
    shutil.rmtree(os.path.join(root, "sys/bus"))
    script = ('mount --bind "$1/sys" /sys && mount --bind "$1/proc/cpuinfo" /proc/cpuinfo && '
              'exec "$2" --check')
    p = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", root,
                        os.path.join(BUILD, "jobprofd")], capture_output=True, text=True,
                       timeout=60)
    if "mount" in p.stderr or "unshare" in p.stderr:
        raise Skipped(p.stderr)
    line = [l for l in p.stdout.splitlines() if l.startswith("sensor rapl ")]
    is_true("check_names_what_is_there", len(line) == 1 and
            line[0].split()[2] == "yes" and "powercap: 2 package, 2 dram" in line[0], p.stdout)


def jobprofd_checks_controllers():
    """Of cgroup v2, by the kernel's own two files; then with made-up ones, seen by this process alone."""
    if os.geteuid():
        raise Skipped("needs root, for mounts of its own")
    with open("/proc/self/mounts") as f:
        mount = [l.split()[1] for l in f if l.split()[2] == "cgroup2"]
    if not mount:
        raise Skipped("there is no cgroup v2")
    there, on = (os.path.join(mount[0], "cgroup." + n) for n in ("controllers", "subtree_control"))
    fake = [os.path.join(tmpdir(), n) for n in ("there", "on")]
    for path, text in zip(fake, ("cpuset cpu io memory\n", "cpuset memory_not memory\n")):
        with open(path, "w") as f:
            f.write(text)
    script = 'mount --bind "$1" "$2" && mount --bind "$3" "$4" && exec "$5" --check'
    jobprofd = os.path.join(BUILD, "jobprofd")
    for name, files, cmd in (
            ("this machine's", (there, on), [jobprofd, "--check"]),
            ("made up", fake, ["unshare", "-m", "sh", "-c", script, "sh", fake[0], there, fake[1], on,
                               jobprofd])):
        p = subprocess.run(cmd, capture_output=True, text=True, timeout=60)
        words = [open(f).read().split() for f in files]
        for c, column in (("memory", "MemMB"), ("cpu", "Throttled")):
            line = [l for l in p.stdout.splitlines() if l.startswith("v2 controller %s " % c)]
            is_true("check_controllers_%s_%s" % (name, c), len(line) == 1 and column in line[0] and
                    line[0].split()[3] == ("yes" if c in words[0] and c in words[1] else "no"),
                    (line, words, p.stderr))


def columns_are_aligned():
    """Each word of quality begins in one column, whatever the units and names are."""
    for args in ([], ["--root", machine("intel-2s")]):
        lines = [l for l in sensors(*args).splitlines() if l.startswith("  ")]
        at = {re.search(r"\S+$", l).start() for l in lines}
        is_true("columns_are_aligned %d" % len(args), len(lines) > 1 and len(at) == 1, (at, lines[:9]))


def json_numbers_are_short():
    texts = []
    json.loads(sensors("--json"), parse_float=lambda t: texts.append(t) or float(t))
    is_equal("json_numbers_are_short", [t for t in texts if float(t) != 0 and
                                        len(t) > len(repr(float(t)))], [])


def wrong_words_are_refused():
    for args, status, why in (
            (["--watch", "0"], 2, "--watch: \"0\" is not a number of seconds"),
            (["--watch", "x"], 2, "--watch"), (["more"], 2, "\"more\" means nothing here; see \"jobprof sensors --help\""),
            (["--nope"], 2, "no option --nope"),
            (["--root", "/nonexistent"], 1, "--root: /nonexistent: No such file"),
            (["--root", "/dev/null"], 1, "--root: /dev/null: Not a directory")):
        got = sensors(*args, status=status)
        is_true("refused_" + "_".join(args).strip("-"), why in got, got)


run_tests([
    parts_and_ways_are_listed,
    joules_and_watts_follow_the_files,
    a_package_that_vanishes_has_no_value,
    who_may_not_read_is_told_what_to_do,
    nothing_there_is_no_error,
    gpus_of_both_makers,
    lenovos_own_command_is_for_lenovos,
    this_machine,
    jobprofd_checks_sensors,
    jobprofd_checks_controllers,
    columns_are_aligned,
    json_numbers_are_short,
    wrong_words_are_refused,
])
