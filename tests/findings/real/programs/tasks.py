# SPDX-License-Identifier: GPL-2.0-or-later
"""tasks.py BATCH TASKS: small tasks for two workers of joblib"""
import math
import sys

import joblib

print(sum(joblib.Parallel(n_jobs=2, batch_size=int(sys.argv[1]))(joblib.delayed(math.sqrt)(i) for i in range(int(sys.argv[2])))))
