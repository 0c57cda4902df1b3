#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof plot: what is drawn is what numpy makes of the tables, in SVG and in the terminal, at its size; an
output is there when it is complete; names stay text."""

import fcntl
import os
import pty
import struct
import sys
import termios
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from cases import job
from lib import *

GOLDEN = os.path.join(ROOT, "tests/data/golden")
SVG = "{http://www.w3.org/2000/svg}"
UTF8, PLAIN = dict(LC_ALL="C.UTF-8"), dict(LC_ALL="C")
INTERVALS = 800


def plot(*args, **env):
    p = subprocess.run([JOBPROF, "plot"] + [str(a) for a in args], capture_output=True, env={**plain_env(), **env})
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def drawn(*args, **env):
    status, out, err = plot(*args, **env)
    if status or err:
        raise Failed("plot %s: status %d, %s" % (" ".join(map(str, args)), status, err))
    return out


def write(name, j):
    path = os.path.join(tmpdir("plot"), name + ".h5")
    j.write(path)
    return path


# ---- the truth

def tables(path, series, column):
    """Begin and end of each row since the job's start, and values, of every table."""
    out = []
    with h5py.File(path) as f:
        nodes = [n for s in f["Steps"].values() for n in s["Nodes"].values()] if "Steps" in f else list(f.values())
        for n in nodes:
            group = n[series]
            for t in group.values() if isinstance(group, h5py.Group) else [group]:
                rows = t[()]
                ends = rows["TimeNS"].astype(float) / 1e9
                start = float(n.attrs["Start TimeNS"]) / 1e9
                out.append((numpy.concatenate([[start], ends[:-1]]), ends, rows[column].astype(float)))
    first = min(b[0] for b, _, _ in out)
    return [(b - first, e - first, v) for b, e, v in out]


def title_of(path):
    """The program, as the first task of a job file says it, whose name says no job."""
    with h5py.File(path) as f:
        node = next(n for s in f["Steps"].values() for n in s["Nodes"].values())
        task = next(iter(node["Tasks"].values()))
        return str(task.attrs["Executable"]).rpartition("/")[2]


def in_intervals(rows, n, end):
    """Mean over time, least and highest of the steps in n equal intervals."""
    edges = numpy.linspace(0, end, n + 1)
    means, low, high = (numpy.full(n, numpy.nan) for _ in range(3))
    for k in range(n):
        part = numpy.minimum(rows[1], edges[k + 1]) - numpy.maximum(rows[0], edges[k])
        hit = (part > 1e-7 * end / n) & ~numpy.isnan(rows[2])
        if hit.any():
            means[k] = numpy.average(rows[2][hit], weights=part[hit])
            low[k], high[k] = rows[2][hit].min(), rows[2][hit].max()
    return means, low, high


# ---- the picture

class Picture:
    """Points of an SVG as times and values: the scale of each axis is that of its labels."""

    def __init__(self, text, time_s, factor):
        self.root = ElementTree.fromstring(text)
        self.x = self.axis("x", "x", time_s)
        self.y = self.axis("y", "y", factor)

    def axis(self, kind, at, factor):
        labels = [t for t in self.root.iter(SVG + "text") if t.get("class") == kind]
        values = numpy.array([float(t.text) * factor for t in labels])
        ticks = [line for line in self.root.iter(SVG + "line") if line.get("class") == "tick"]
        where = [float(line.get(at + "1")) for line in ticks if (line.get("x1") == line.get("x2")) == (kind == "x")]
        return numpy.polyfit(where, values, 1)

    def points(self, element):
        xy = numpy.array([p.split(",") for p in element.get("points").split()], float)
        return numpy.polyval(self.x, xy[:, 0]), numpy.polyval(self.y, xy[:, 1])

    def curve(self, i, kind="middle"):
        group = [g for g in self.root.iter(SVG + "g") if g.get("id") == "curve%d" % i][0]
        return [self.points(e) for e in group if e.get("class") == kind]

    def texts(self):
        return ["".join(t.itertext()) for t in self.root.iter(SVG + "text")]


def picture(args, time_s, factor):
    path = tmpdir("svg") + "/out.svg"
    drawn("--overwrite", "--svg", path, *args)
    with open(path) as f:
        return Picture(f.read(), time_s, factor)


def are_near(name, got, want, scale):
    """scale: what a thousandth of the picture is, and a bit."""
    is_true(name, len(got) == len(want) and numpy.abs(numpy.array(got) - numpy.array(want)).max() < scale,
            "%d points of %d; %s" % (len(got), len(want), numpy.abs(numpy.array(got)[:9] - numpy.array(want)[:9])
                                     if len(got) == len(want) else ""))


def one_table():
    path = write("one", job("fine", 3))
    for column, time_s, factor, rate in (("RSS", 60, 1024**2, False), ("CPUTime", 60, 1, True), ("ReadMB", 60, 1 / 1024, True),
                                         ("Threads", 60, 1, False)):
        begin, end, value = tables(path, "Tasks", column)[3]
        value = value / (end - begin) if rate else value
        p = picture(["-s", "Tasks/3", "-d", column, path], time_s, factor)
        (x, y), = p.curve(0)
        are_near("plot: %s: times of one table's rows" % column, x, numpy.stack([begin, end], 1).ravel(), 2e-4 * end[-1])
        are_near("plot: %s: their values" % column, y, numpy.repeat(value, 2), 2e-4 * max(1e-9, value.max()))
        is_equal("plot: %s: rows have no range" % column, p.curve(0, "range"), [])


def many_tables():
    path = write("many", job("some", 4, wall=1800))
    rows = tables(path, "Tasks", "CPUTime")
    rows = [(b, e, v / (e - b)) for b, e, v in rows]
    p = picture(["-s", "Tasks", "-d", "CPUTime", path], 60, 1)
    (x, y), = p.curve(0)
    n = len(x) // 2
    is_equal("plot: as many intervals as there are rows", n, len(rows[0][0]))
    means = numpy.array([in_intervals(r, n, 1800)[0] for r in rows])
    are_near("plot: median of tasks", y[::2], numpy.median(means, axis=0), 1e-3)
    (x, y), = p.curve(0, "range")
    are_near("plot: highest of tasks", y[:2 * n:2], means.max(axis=0), 1e-3)
    are_near("plot: lowest of tasks", y[2 * n::2][::-1], means.min(axis=0), 1e-3)
    is_true("plot: legend", title_of(path) + ": 16 tasks: median, lowest to highest" in p.texts(), p.texts())
    one = picture(["-s", "Tasks", "-N", "n2", "-d", "CPUTime", path], 60, 1)
    is_true("plot: -N is of that node", title_of(path) + ": 4 tasks: median, lowest to highest" in one.texts(), one.texts())


def many_rows():
    path = write("long", job("fine", 5, wall=4000))
    begin, end, value = tables(path, "Tasks", "RSS")[2]
    p = picture(["-s", "Tasks/2", "-d", "RSS", path], 60, 1024**2)
    (x, y), = p.curve(0)
    means, low, high = in_intervals((begin, end, value), INTERVALS, end[-1])
    scale = 2e-4 * value.max()
    are_near("plot: 4,000 rows: means", y[::2], means, scale)
    (x, y), = p.curve(0, "range")
    are_near("plot: 4,000 rows: highest", y[:2 * INTERVALS:2], high, scale)
    are_near("plot: 4,000 rows: lowest", y[2 * INTERVALS::2][::-1], low, scale)


def several_files():
    a, b = job("fine", 3), job("fine", 6, wall=900)
    b.put(AnonMB=700.0)
    paths = [write("first", a), write("second", b)]
    p = picture(["-s", "Tasks/0", "-d", "RSS"] + paths, 60, 1024**2)
    for i, path in enumerate(paths):
        begin, end, value = tables(path, "Tasks", "RSS")[0]
        (x, y), = p.curve(i)
        are_near("plot: file %d: times since its own start" % i, x, numpy.stack([begin, end], 1).ravel(), 0.4)
        are_near("plot: file %d: values" % i, y, numpy.repeat(value, 2), 1e3)
    def cut(text):
        return text if len(text) < 48 else text[:25] + ".." + text[-20:]

    is_equal("plot: files of one job are told apart by their paths", p.texts()[-2:], [cut("%s, %s" % (title_of(f), f)) for f in paths])
    with h5py.File(paths[1], "r+") as f:
        for task in f["Steps/0/Nodes/n1/Tasks"].values():
            task.attrs["Executable"] = "/opt/other"
    other = picture(["-s", "Tasks/0", "-d", "RSS"] + paths, 60, 1024**2)
    is_equal("plot: and those of two programs by these", other.texts()[-2:], [title_of(f) for f in paths])
    dashes = {e.get("stroke-dasharray") for e in p.root.iter(SVG + "polyline")}
    is_equal("plot: curves differ without colours, too", len(dashes), 2)
    text = drawn("-s", "Tasks/0", "-d", "RSS", *paths, **UTF8)
    is_true("plot: and in a terminal without colours", "* " + title_of(paths[0]) in text and "o " + title_of(paths[1]) in text, text)


def late_tables():
    """The axis begins with the job's first step, though the table's rows, or its own step, begin later."""
    path = write("job_7", job("fine", 3))
    with h5py.File(path, "r+") as f:
        steps = f["Steps"]
        node = steps["0/Nodes/n1"]
        rows = node["Tasks/0"][500:]
        ends = (rows["TimeNS"].astype("i8") - node.attrs["Start TimeNS"]) / 1e9
        del node["Tasks/0"]
        node["Tasks/0"] = rows
        other = steps.create_group("batch/Nodes/n1")
        other.attrs["Start TimeNS"] = node.attrs["Start TimeNS"] - 10**11
        f.copy(node["Tasks/1"], other.create_group("Tasks"))
    for name, args, before in (("the step", ["-j", "7.0", os.path.dirname(path)], 0), ("the job", [path], 100)):
        (x, _), = picture(["-s", "Tasks/0", "-d", "CPUTime"] + args, 60, 1).curve(0)
        are_near("plot: a late table: times since the start of " + name, x[1::2], ends + before, 0.5)
        curves = picture(["-s", "Tasks", "-d", "RSS"] + args, 60, 1024**2).curve(0)
        is_near("plot: late tables: their end since the start of " + name, curves[-1][0][-1], ends[-1] + before, 0, 0.5)


def two_rows():
    """A task of two rows, of which its end has cut the second short: the first is since the task's start."""
    path = write("two", job("fine", 3))
    with h5py.File(path, "r+") as f:
        node = f["Steps/0/Nodes/n1"]
        rows, start = node["Tasks/0"][:2], int(node.attrs["Start TimeNS"])
        rows["TimeNS"], rows["CPUTime"] = [start + 9 * 10**9, start + 10 * 10**9], [8, 0.5]
        del node["Tasks/0"]
        node["Tasks/0"] = rows
        node["Tasks/0"].attrs["Start TimeNS"] = start + 10**9
    (x, y), = picture(["-s", "Tasks/0", "-d", "CPUTime", path], 1, 1).curve(0)
    are_near("plot: two rows: their times", x, [1, 9, 9, 10], 0.02)
    are_near("plot: two rows: their rates", y, [1, 1, 0.5, 0.5], 0.02)


def gaps():
    path = write("gap", job("fine", 3))
    with h5py.File(path, "r+") as f:
        t = f["Steps/0/Nodes/n1/Tasks/0"]
        rows = t[()]
        rows["CPUTime"][300:400] = numpy.nan
        t[...] = rows
    p = picture(["-s", "Tasks/0", "-d", "CPUTime", path], 60, 1)
    curves = p.curve(0)
    is_equal("plot: what is not known is a gap", [len(x) // 2 for x, _ in curves], [300, 800])


def slurms():
    """Of Slurm's own file: a job file, and one of a node and step."""
    with h5py.File(GOLDEN + "/real/3_0_n1.h5") as f:
        tasks = next(node for node in f.values() if "Tasks" in node)["Tasks"]
        name = sorted(tasks)[0]
        rows = tasks[name][()]
    elapsed, rss = rows["ElapsedTime"].astype(float), rows["RSS"].astype(float)
    begin = numpy.concatenate([[0], elapsed[:-1]])
    real = elapsed > begin
    p = picture(["-s", "Tasks/" + name, "-d", "RSS", GOLDEN + "/real/3_0_n1.h5"], 1, kib_of_label(rss[real].max()))
    x, y = (numpy.concatenate(v) for v in zip(*p.curve(0)))
    are_near("plot: Slurm's file: times", x, numpy.stack([begin[real], elapsed[real]], 1).ravel(), 1e-3 * elapsed[-1])
    are_near("plot: Slurm's file: RSS", y, numpy.repeat(rss[real], 2), 1e-3 * rss.max())
    text = drawn("-s", "Tasks", "-d", "rss", "-j", "3", GOLDEN + "/real", **UTF8)
    is_true("plot: Slurm's job file", text.startswith("RSS of Tasks, "), text)


def kib_of_label(kib):
    """Of the labels' unit in KiB: B, KiB, MiB ... below 1000."""
    power = 0
    while kib * 1024 / 1024**power >= 1000:
        power += 1
    return 1024.0**(power - 1)


# ---- the terminal

def ascii_rows():
    """Each column of the drawing has the mark where numpy has the mean of the steps in it."""
    j = job("fine", 3)
    j.put(AnonMB=100 + 900 * (numpy.arange(j.n) / j.n)**2)
    path = write("ascii", j)
    text = drawn("--ascii", "-s", "Tasks/0", "-d", "RSS", path, **UTF8)
    is_true("plot: --ascii is ASCII", text.isascii() and "*" in text, text)
    lines = text.splitlines()
    is_true("plot: 80 columns, 24 lines without a terminal", len(lines) <= 24 and max(map(len, lines)) <= 80, text)
    at = lines[1].index("+") if "+" in lines[1] else lines[1].index("|")
    rows = [line for line in lines[1:] if line[at:at + 1] in "|+"][:-1]
    ticks = [(k, float(line[:at])) for k, line in enumerate(rows) if line[:at].strip()]
    scale = numpy.polyfit([k for k, _ in ticks], [v for _, v in ticks], 1)
    begin, end, value = tables(path, "Tasks", "RSS")[0]
    width, factor = 80 - at - 1, kib_of_label(value.max())
    wrong = []
    for x in range(width):
        hit = (end > end[-1] * x / width) & (begin < end[-1] * (x + 1) / width)
        marked = [k for k, line in enumerate(rows) if line[at + 1 + x:at + 2 + x] == "*"]
        got = numpy.polyval(scale, [marked[-1], marked[0]]) if marked else [numpy.nan] * 2
        want = value[hit].min() / factor, value[hit].max() / factor
        if not (abs(got[0] - want[0]) < 1.5 * abs(scale[0]) and abs(got[1] - want[1]) < 1.5 * abs(scale[0])):
            wrong.append((x, list(got), want))
    is_equal("plot: every column of the terminal shows its rows", wrong[:3], [])


def on_terminal(width, height, *args, **env):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    p = subprocess.Popen([JOBPROF, "plot"] + list(args), stdout=slave, stderr=subprocess.PIPE,
                         env={**plain_env(), **UTF8, **env})
    os.close(slave)
    out = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(master)
    p.communicate()
    return out.decode().replace("\r\n", "\n")


def sizes():
    paths = [write("size-a", job("some", 3)), write("size-b", job("some", 4))]
    for width, height in ((80, 24), (132, 50), (40, 12), (213, 60), (20, 5), (1, 1)):
        text = on_terminal(width, height, "-s", "Tasks", "-d", "CPUTime", paths[0])
        lines = text.splitlines()
        fits = width >= 40
        is_true("plot: a terminal of %d x %d" % (width, height), not fits or (len(lines) <= height - 1 + (height < 13) and
                max(map(len, lines)) in (width - 1, width)), "%d lines, %d columns\n%s" %
                (len(lines), max(map(len, lines)), text))
        is_true("plot: %d x %d: Braille" % (width, height), any("\u2800" <= c <= "\u28ff" for c in text), text)
    two = on_terminal(80, 24, "-s", "Tasks", "-d", "CPUTime", *paths)
    is_true("plot: several files have colours on a terminal", "\033[34m" in two and "\033[31m" in two, two)
    is_true("plot: NO_COLOR", "\033" not in on_terminal(80, 24, "-s", "Tasks", "-d", "CPUTime", *paths, NO_COLOR="1"), "")
    is_true("plot: --ascii on a terminal of UTF-8", on_terminal(80, 24, "--ascii", "-s", "Tasks", "-d", "CPUTime",
                                                                paths[0]).isascii(), "")
    is_true("plot: a locale without UTF-8 gets ASCII", drawn("-s", "Tasks", "-d", "CPUTime", *paths, **PLAIN).isascii(), "")


# ---- bad input

def complete_or_not():
    d = tmpdir("outputs")
    good, bad, out = write("good", job("fine", 3)), d + "/bad.h5", d + "/plot.svg"
    with open(good, "rb") as f, open(bad, "wb") as g:
        g.write(f.read(60000))
    with open(out, "w") as f:
        f.write("old")
    for name, args in (("a damaged file", (bad,)), ("a damaged file among good ones", (good, bad)),
                       ("no such column", (good,))):
        column = "None" if "column" in name else "RSS"
        status, _, err = plot("-s", "Tasks", "-d", column, "--svg", out, "--overwrite", *args)
        with open(out) as f:
            is_true("plot: %s leaves the output as it was" % name, status == 1 and err and f.read() == "old", err)
    is_equal("plot: and nothing beside it", sorted(os.listdir(d)), ["bad.h5", "plot.svg"])
    status, _, err = plot("-s", "Tasks", "-d", "RSS", "--svg", good, good)
    is_true("plot: what is read is not written over", status and "what is read" in err and h5py.is_hdf5(good), err)
    second = write("other", job("fine", 3))
    status, _, err = plot("-s", "Tasks", "-d", "RSS", "--svg", second, good, second)
    is_true("plot: nor is a second file", status and "what is read" in err and h5py.is_hdf5(second), err)
    status, _, err = plot("-s", "Tasks", "-d", "RSS", "--svg", out, good)
    with open(out) as f:
        is_true("plot: what is there stays", status == 1 and "already" in err and f.read() == "old", err)
    drawn("-s", "Tasks", "-d", "RSS", "--svg", out, "--overwrite", good)
    ElementTree.parse(out)
    is_true("plot: --svg -", drawn("-s", "Tasks", "-d", "RSS", "--svg", "-", good).rstrip().endswith("</svg>"), "")


def refused():
    good, unknown, damaged = (write(name, job("fine", 3)) for name in ("fine", "unknown", "damaged"))
    nine = [shutil.copy(good, "%s.%d.h5" % (good, i)) for i in range(9)]
    with h5py.File(unknown, "r+") as f:
        for t in f["Steps/0/Nodes/n1/Tasks"].values():
            rows = t[()]
            rows["RunDelay"] = numpy.nan
            t[...] = rows
    with h5py.File(damaged, "r+") as f:
        where = h5py.h5o.get_info(f["Steps/0/Nodes/n1"].id).addr
    with open(damaged, "r+b") as f:
        f.seek(where)
        f.write(b"\xff" * 16)
    for name, args, word in (("no series", ("-s", "Nothing", "-d", "RSS", good), "there is no series Nothing"),
                             ("no column", ("-s", "Tasks", "-d", "Nothing", good), "Nothing"),
                             ("nothing known", ("-s", "Tasks", "-d", "RunDelay", unknown), "not known in any row"),
                             ("nothing known of one file", ("-s", "Tasks", "-d", "RunDelay", good, unknown), "unknown.h5"),
                             ("a damaged table", ("-s", "Tasks", "-d", "RunDelay", damaged), "damaged"),
                             ("no such node", ("-s", "Tasks", "-d", "RunDelay", "-N", "zz", good), "no node zz"),
                             ("no such task", ("-s", "Tasks/77", "-d", "RSS", good), ""),
                             ("no file", ("-s", "Tasks", "-d", "RSS", "/none.h5"), "none.h5"),
                             ("no column is named", ("-s", "Tasks", good), "-d COLUMN"),
                             ("nine files", ("-s", "Tasks", "-d", "RSS") + tuple(nine), "no more than 8")):
        status, out, err = plot(*args)
        is_true("plot: %s: one line" % name, status and not out and len(err.splitlines()) == 1 and word in err,
                "%d %s%s" % (status, out[:200], err))


def hostile():
    d = tmpdir("hostile")
    path = os.path.join(d, "<script>alert(1)&\x1b[31m\u202e" + "x" * 150 + "]]>.h5")
    j = job("fine", 3)
    j.write(path)
    with h5py.File(path, "r+") as f:
        n = f["Steps/0/Nodes/n1"]
        name = "Residual\"<b>&\x07\u202e"
        table = numpy.zeros(5, dtype=[("ElapsedTime", "<u8"), ("EpochTime", "<u8"), (name, "<f8")])
        table["ElapsedTime"], table[name] = range(1, 6), range(5)
        table["EpochTime"] = table["ElapsedTime"] + 1795226400
        n.create_group("User").create_dataset("a<b", data=table)
    for series, column in (("Tasks", "RSS"), ("User/a<b", name)):
        svg = drawn("--svg", "-", "-s", series, "-d", column, path)
        tree = ElementTree.fromstring(svg)
        is_true("plot: %s: hostile names are text of the SVG" % series, svg.isascii() and "\x1b" not in svg and
                {e.tag.replace(SVG, "") for e in tree.iter()} <= set("svg title style rect line text path g polygon "
                                                                  "polyline".split()), svg[:1500])
        text = drawn("-s", series, "-d", column, path, **UTF8)
        is_true("plot: %s: and of the terminal" % series, "\x1b" not in text and "\x07" not in text and
                "\u202e" not in text and max(map(len, text.splitlines())) <= 80, text)


def values_without_a_middle():
    """No number of the picture is NaN or infinite, whatever the values are, and all finite ones are in it."""
    for name, values in (("differences that overflow", (1.7e308, -1.7e308)),
                         ("neighbours that round to one", (-1e300, numpy.nextafter(-1e300, 0))),
                         ("infinite", (numpy.inf, -numpy.inf, 1)), ("denormal", (5e-324, 1e-323))):
        path = write("odd", job("fine", 3))
        with h5py.File(path, "r+") as f:
            table = numpy.zeros(len(values), dtype=[("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("V", "<f8")])
            table["ElapsedTime"], table["V"] = range(1, len(values) + 1), values
            table["EpochTime"] = table["ElapsedTime"] + 1795226400
            f["Steps/0/Nodes/n1"].create_group("User").create_dataset("odd", data=table)
        tree = ElementTree.fromstring(drawn("--svg", "-", "-s", "User/odd", "-d", "V", path))
        line = [e for e in tree.iter(SVG + "polyline") if e.get("class") == "middle"]
        points = numpy.array([p.split(",") for e in line for p in e.get("points").split()], float)
        is_true("plot: %s: each is a point of the picture" % name,
                len(points) == 2 * numpy.isfinite(values).sum() and (points >= 0).all() and (points <= 480).all(), points)
        drawn("-s", "User/odd", "-d", "V", path)


def full_disk():
    status, _, err = plot("-s", "Tasks", "-d", "RSS", "--svg", "/dev/full", write("fine", job("fine", 3)))
    is_true("plot: a full disk is named as the reason",
            status == 1 and err.count("\n") == 1 and "No space left" in err, err)


if __name__ == "__main__":
    run_tests([one_table, many_tables, many_rows, several_files, late_tables, two_rows, gaps, slurms, ascii_rows, sizes, complete_or_not, refused,
               hostile, values_without_a_middle, full_disk])
