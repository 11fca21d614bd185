"""trees_xgboost.py DIR onehot|numbers: XGBoost's hist on the cases of ../trees_data.go; ids as categories, of which a split
takes one, or as numbers."""
import json
import os
import sys
import time

import numpy as np
import xgboost as xgb

import link

TREES, DEPTH, BUCKETS = 100, 6, 256


class Case:
    def __init__(self, folder, ids):
        with open(os.path.join(folder, "info.json")) as f:
            info = json.load(f)
        read = lambda name: np.fromfile(os.path.join(folder, name), "<f4")
        self.y, self.y_test = read("y"), read("y_test")
        self.x, self.x_test = read("x").reshape(info["rows"], -1), read("x_test").reshape(info["test_rows"], -1)
        categories = len(info["ids"] or [])
        self.kwargs = {}
        self.params = dict(tree_method="hist", max_depth=DEPTH, eta=0.1, max_bin=BUCKETS, reg_lambda=1, min_child_weight=1,
                           nthread=link.THREADS, objective="binary:logistic" if categories else "reg:squarederror")
        if categories and ids == "onehot":
            for x in (self.x, self.x_test):
                x[:, info["numbers"]:][x[:, info["numbers"]:] < 0] = np.nan
            self.params["max_cat_to_onehot"] = 1000
            self.kwargs = dict(enable_categorical=True, feature_types=["q"] * info["numbers"] + ["c"] * categories)
        self.categories = categories

    def fit(self):
        return xgb.train(self.params, xgb.QuantileDMatrix(self.x, self.y, max_bin=BUCKETS, nthread=link.THREADS, **self.kwargs), TREES)

    def loss(self):
        p = self.fit().predict(xgb.DMatrix(self.x_test, **self.kwargs))
        if self.categories:
            return float(-np.mean(np.where(self.y_test > 0.5, np.log(p), np.log(1 - p))))
        return float(np.sqrt(np.mean((p - self.y_test) ** 2)))


cases = {name: Case(os.path.join(sys.argv[1], name), sys.argv[2]) for name in ("california", "adult")}


def run(steps, case):
    begun = time.perf_counter()
    for _ in range(steps):
        cases[case].fit()
    return time.perf_counter() - begun


link.serve(xgb.__version__, {name: [c.loss()] for name, c in cases.items()}, run)
