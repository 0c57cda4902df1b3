# SPDX-License-Identifier: GPL-2.0-only
"""Python and its libraries, R and Octave."""

from case import Case, V

PY = "/usr/bin/python3 "
MATMUL = "python3 -c 'import numpy as np; a = np.random.rand(1500, 1500)\nfor i in range(%d): a = a @ a; a /= abs(a).max()'"

CASES = (
    Case("numpy threads", "py:numpy", "",
         sick="OPENBLAS_NUM_THREADS=16 /usr/bin/python3 $P/matmul.py 600 300", mended="OPENBLAS_NUM_THREADS=2 /usr/bin/python3 $P/matmul.py 600 300",
         rules="cpu.oversubscribed", remedy="OPENBLAS_NUM_THREADS=2"),
)
