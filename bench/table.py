# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the result, as a table for people and as JSON."""

import json

from stats import quartiles


class Row:
    """One figure. values: one per round; why: why there is none; target: an upper bound."""

    def __init__(self, section, name, unit, values=None, why=None, target=None, verdict=None,
                 digits=1, column=None):
        """column: rows of one name and different columns are a line of a table of their section."""
        self.section, self.name, self.unit = section, name, unit
        self.values, self.why, self.target = values or [], why, target
        self.digits, self.column = digits, column
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
        for key in ("column", "why", "target", "verdict"):
            if getattr(self, key) is not None:
                d[key] = getattr(self, key)
        return d


def matrix(rows, section):
    """The lines of the section's rows that have columns, the first of them with their heads; each a list of texts."""
    of = [r for r in rows if r.section == section and r.column]
    columns, names = list(dict.fromkeys(r.column for r in of)), list(dict.fromkeys(r.name for r in of))
    cells = {(r.name, r.column): "%.*f" % (r.digits, r.median()) if r.values else r.figure() for r in of}
    return [["", *columns]] + [[n, *(cells.get((n, c), "-") for c in columns)] for n in names] if of else []


def show(rows, titles, out):
    """Prints the rows below their sections' titles."""
    section = None
    wide = max([len(r.name) for r in rows] + [10])
    for r in rows:
        if r.column:
            if r.section != section:
                section = r.section
                lines = matrix(rows, section)
                widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
                out.write("\n%s\n" % titles.get(section, section))
                for line in lines:
                    out.write("  %-*s" % (widths[0], line[0]) +
                              "".join("  %*s" % w for w in zip(widths[1:], line[1:])) + "\n")
            continue
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


def as_markdown(rows, titles, head):
    """The sections as tables of a Markdown page, below a line that says where and when."""
    lines, section = [head, ""], None
    for r in rows:
        if r.section != section:
            section = r.section
            if lines[-1]:
                lines.append("")
            lines += ["### " + titles.get(section, section), ""]
            of = matrix(rows, section)
            if of:
                lines += ["| %s |" % " | ".join(map(cell, of[0])), "|---" + "|---:" * (len(of[0]) - 1) + "|"]
                lines += ["| %s |" % " | ".join(map(cell, line)) for line in of[1:]]
            else:
                lines += ["| figure | median | quartiles | wanted |", "|---|---|---|---|"]
        if r.column:
            continue
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
