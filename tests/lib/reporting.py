# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests are functions that report one line per result on stdout:
    ok NAME | not ok NAME: why | skip NAME: why
"""

import os
import sys
import time
import traceback

PATIENCE = 60  # seconds

def _say(line):
    # one write: several threads may report
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def ok(name):
    _say("ok " + name)


def not_ok(name, why):
    _say("not ok %s: %s" % (name, " ".join(str(why).split())))


def skip(name, why):
    _say("skip %s: %s" % (name, " ".join(str(why).split())))


class Failed(Exception):
    """A test says why it failed."""


class Skipped(Exception):
    """A test says what the machine lacks."""


def run_one(test):
    """Runs one function: an exception is a failure, never an end of the others."""
    began = time.monotonic()
    try:
        test()
    except Skipped as e:
        skip(test.__name__, e)
    except Failed as e:
        not_ok(test.__name__, e)
    except Exception as e:
        traceback.print_exc()
        not_ok(test.__name__, "%s: %s" % (type(e).__name__, e))
    _say("took %.1f %s" % (time.monotonic() - began, test.__name__))


def in_full(test):
    """Marks a function that takes long and finds what others hardly leave: it runs in scripts/test --full, or by its name."""
    test.in_full = True
    return test


def chosen(tests):
    """Those named on the command line, or all that this run wants."""
    if sys.argv[1:]:
        return [t for t in tests if t.__name__ in sys.argv[1:]]
    return [t for t in tests if "JOBPROF_TEST_FULL" in os.environ or not hasattr(t, "in_full")]


def run_tests(tests):
    """Runs functions, each a test of its own or the maker of several lines."""
    for test in chosen(tests):
        run_one(test)


def approx(got, wanted, rel=0.0, abs_=0.0):
    return abs(got - wanted) <= rel * abs(wanted) + abs_


def is_near(name, got, wanted, rel=0.0, abs_=0.0):
    if approx(got, wanted, rel, abs_):
        ok(name)
    else:
        not_ok(name, "got %.9g, wanted %.9g within %g + %g %%"
               % (got, wanted, abs_, rel * 100))


def is_equal(name, got, wanted):
    if got == wanted:
        ok(name)
    else:
        not_ok(name, "got %s, wanted %s" % (got, wanted))


def is_true(name, cond, why):
    if cond:
        ok(name)
    else:
        not_ok(name, why)


def wait_until(cond, seconds, what):
    """What it waits for has to come; how fast it comes is no test's business: PATIENCE is the least."""
    seconds = max(seconds, PATIENCE)
    end = time.monotonic() + seconds
    while True:
        v = cond()
        if v:
            return v
        if time.monotonic() > end:
            raise Failed("waited %g s for %s" % (seconds, what))
        time.sleep(0.01)


def written(path, seconds=20):
    """The line that a shell writes to a file: the file is there, and empty, before its text is."""
    def text():
        try:
            with open(path) as f:
                return f.read()
        except FileNotFoundError:
            return ""
    wait_until(lambda: text().endswith("\n"), seconds, path)
    return text()
