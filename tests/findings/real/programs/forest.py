# SPDX-License-Identifier: GPL-2.0-or-later
"""forest.py JOBS TREES: a forest of decision trees"""
import sys

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

x, y = make_classification(6000, 20, random_state=1)
print(RandomForestClassifier(int(sys.argv[2]), n_jobs=int(sys.argv[1]), random_state=1).fit(x, y).score(x, y))
