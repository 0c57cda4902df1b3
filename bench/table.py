# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the result, as a table for people and as JSON."""

import json

from stats import quartiles


class Row:
    """One figure. values: one per round; why: why there is none; target: an upper bound."""

    def __init__(self, section, name, unit, values=None, why=None, target=None, verdict=None,
                 digits=1):
        self.section, self.name, self.unit = section, name, unit
        self.values, self.why, self.target = values or [], why, target
        self.digits = digits
        self.verdict = verdict
        if not self.values and not verdict and not why:
            self.why = "no value"
        if target is not None and self.values and not why:
            self.verdict = "reached" if self.median() <= target else "not reached"

    def median(self):
        return quartiles(self.values)[1]

    def figure(self):
        if self.why:
            return "not here: " + self.why
        if not self.values:
            return self.verdict
        low, mid, high = quartiles(self.values)
        text = "%.*f %s" % (self.digits, mid, self.unit)
        if len(self.values) > 1:
            text += "  (%.*f .. %.*f)" % (self.digits, low, self.digits, high)
        return text

    def goal(self):
        if self.target is None:
            return ""
        return "at most %g %s" % (self.target, self.unit)

    def as_dict(self):
        d = {"section": self.section, "name": self.name, "unit": self.unit}
        if self.values:
            d["q1"], d["median"], d["q3"] = quartiles(self.values)
            d["rounds"] = len(self.values)
        for key in ("why", "target", "verdict"):
            if getattr(self, key) is not None:
                d[key] = getattr(self, key)
        return d


def matrix(rows):
    """Rows named "line: column" as one table: [[text]], the heads first."""
    lines, heads, cells = [], [], {}
    for r in rows:
        line, _, column = r.name.rpartition(": ")
        lines += [line] if line not in lines else []
        heads += [column] if column not in heads else []
        cells[line, column] = "%.*f %s" % (r.digits, r.median(), r.unit) if r.values and not r.why else r.figure()
    return [[""] + heads] + [[line] + [cells.get((line, h), "-") for h in heads] for line in lines]


def show_matrix(rows, out):
    texts = matrix(rows)
    wide = [max(len(line[i]) for line in texts) for i in range(len(texts[0]))]
    for line in texts:
        out.write("  " + "  ".join("%-*s" % pair for pair in zip(wide, line)).rstrip() + "\n")


def show(rows, titles, out, matrices=()):
    """Prints the rows below their sections' titles."""
    for name in [n for n in titles if n in matrices and any(r.section == n for r in rows)]:
        out.write("\n%s\n" % titles[name])
        show_matrix([r for r in rows if r.section == name], out)
    rows = [r for r in rows if r.section not in matrices]
    section = None
    wide = max([len(r.name) for r in rows] + [10])
    for r in rows:
        if r.section != section:
            section = r.section
            out.write("\n%s\n" % titles.get(section, section))
        line = "  %-*s  %s" % (wide, r.name, r.figure())
        if r.goal() and r.values:
            line += "; %s: %s" % (r.goal(), r.verdict)
        elif r.goal():
            line += "; wanted %s" % r.goal()
        out.write(line.rstrip() + "\n")
        out.flush()


def cell(text):
    return text.replace("|", "\\|")


def as_markdown(rows, titles, head, matrices=()):
    """The sections as tables of a Markdown page, below a line that says where and when."""
    lines, section = [head, ""], None
    for name in [n for n in titles if n in matrices and any(r.section == n for r in rows)]:
        texts = matrix([r for r in rows if r.section == name])
        texts.insert(1, ["---"] * len(texts[0]))
        lines += ["### " + titles[name], ""] + ["| %s |" % " | ".join(map(cell, line)) for line in texts] + [""]
    for r in rows:
        if r.section in matrices:
            continue
        if r.section != section:
            section = r.section
            if lines[-1]:
                lines.append("")
            lines += ["### " + titles.get(section, section), "",
                      "| figure | median | quartiles | wanted |", "|---|---|---|---|"]
        median, spread = r.figure(), ""
        if r.values and not r.why:
            low, mid, high = quartiles(r.values)
            median = "%.*f %s" % (r.digits, mid, r.unit)
            if len(r.values) > 1:
                spread = "%.*f to %.*f" % (r.digits, low, r.digits, high)
        goal = r.goal()
        if goal and r.verdict:
            goal += ": " + r.verdict
        lines.append("| %s | %s | %s | %s |" % (cell(r.name), cell(median), spread, goal))
    return "\n".join(lines) + "\n"


MARK = "<!-- scripts/bench --write puts its tables below; do not change them by hand -->\n"


def write_page(path, markdown):
    """Puts the tables at the end of the page, in place of those that are there."""
    with open(path) as f:
        text = f.read()
    if MARK not in text:
        raise ValueError("%s has no line %s" % (path, MARK.strip()))
    with open(path, "w") as f:
        f.write(text[:text.index(MARK) + len(MARK)] + "\n" + markdown)


def as_json(rows, about):
    return json.dumps({"about": about, "rows": [r.as_dict() for r in rows]}, indent=1)
