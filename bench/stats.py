# SPDX-License-Identifier: GPL-2.0-or-later
"""Medians with their spread, and when one is less than another."""


def quantile(values, q):
    v = sorted(values)
    at = (len(v) - 1) * q
    low = int(at)
    high = min(low + 1, len(v) - 1)
    return v[low] + (v[high] - v[low]) * (at - low)


def quartiles(values):
    """First quartile, median, third."""
    return tuple(quantile(values, q) for q in (0.25, 0.5, 0.75))


def less(a, b):
    """Whether a is less than b, from values of the same rounds: "yes" and "no" only where the
    quartiles of the differences within a round lie on one side of 0."""
    low, _, high = quartiles([x - y for x, y in zip(a, b)])
    if high < 0:
        return "yes"
    return "no" if low > 0 else "within the spread"


def rotated(items, n):
    n %= max(1, len(items))
    return items[n:] + items[:n]
