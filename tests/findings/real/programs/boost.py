# SPDX-License-Identifier: GPL-2.0-or-later
"""boost.py ITERATIONS: gradient boosting"""
import sys

from sklearn.datasets import make_regression
from sklearn.ensemble import HistGradientBoostingRegressor

x, y = make_regression(20000, 20, random_state=1)
print(HistGradientBoostingRegressor(max_iter=int(sys.argv[1])).fit(x, y).score(x, y))
