# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/compatibility.md: its table, read, compared with what tests/e2e/slurm/features.py finds, and
written by scripts/compatibility."""

import inspect
import textwrap

from lib import *

PAGE = os.path.join(ROOT, "docs", "compatibility.md")
BEGIN, END = "<!-- scripts/compatibility writes from here", "<!-- to here -->"


def title_of(feature):
    return inspect.getdoc(feature).split("\n")[0]


def account_of(feature):
    return " ".join(inspect.getdoc(feature).split("\n")[1:]).strip()


def rows():
    """{title: {"26.05 v1": cell}} of the page."""
    found, head = {}, None
    with open(PAGE) as f:
        for line in f.read().split(BEGIN)[1].split("\n"):
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            if line.startswith("| Feature"):
                head = cells[1:]
            elif line.startswith("| ") and head:
                found[cells[0]] = dict(zip(head, cells[1:]))
    return found


def has_rows(features):
    if "COMPATIBILITY" not in os.environ:
        is_equal("docs/compatibility.md has a row for every feature, in their order", list(rows()),
                 [title_of(f) for f in features])


def keep_or_compare(release, found):
    """found: {mode: {title: [cell, note]}}. It is written to the file $COMPATIBILITY, or else the
    page has to say the same; of a release or mode that is not on the page it need not."""
    found = {"%d.%02d %s" % (release + (mode,)): cells for mode, cells in found.items()}
    if "COMPATIBILITY" in os.environ:
        with open(os.environ["COMPATIBILITY"], "w") as f:
            json.dump(found, f)
        return
    page = rows()
    for column, cells in found.items():
        said = {t: page[t][column].split()[0] for t in page if column in page[t]}
        if said:
            is_equal("docs/compatibility.md, %s" % column,
                     {t: said[t] for t in said if said[t] != cells[t][0]},
                     {t: cells[t][0] for t in said if said[t] != cells[t][0]})


def write(found, features, tried):
    """found: as above, all columns; tried: the versions. Writes the page's part between the marks."""
    notes, lines = [], ["", "Tried: %s." % tried, ""]

    def cell(column, title):
        word, text = found[column].get(title, ("no", "it was not tried"))
        if text and text not in notes:
            notes.append(text)
        return "%s (%d)" % (word, notes.index(text) + 1) if text else word

    columns = sorted(found)
    lines += ["| Feature | %s |" % " | ".join(columns), "|---" * (len(columns) + 1) + "|"]
    lines += ["| %s | %s |" % (title_of(f), " | ".join(cell(c, title_of(f)) for c in columns))
              for f in features]
    lines += [""] + ["%d. %s" % (i + 1, text) for i, text in enumerate(notes)] + [""] * bool(notes)
    lines += ["## What was tried", ""]
    lines += [textwrap.fill("- **%s.** %s" % (title_of(f), account_of(f)), 100,
                            subsequent_indent="  ") for f in features]
    with open(PAGE) as f:
        top, rest = f.read().split(BEGIN)
    begin, end = BEGIN + rest.split("\n")[0], END + rest.split(END)[1]
    with open(PAGE, "w") as f:
        f.write(top + "\n".join([begin] + lines + [end]))
