"""trees.py OUT: predictions of XGBoost's stumps, written to internal/runtime/trees/testdata/xgboost.json.

With trees of depth 1 a layer is a tree, so that boosting layer by layer is XGBoost's algorithm: with as many buckets as
there are different numbers the predictions must be equal. The data are those of the Go test, by the same recurrence.
"""
import json
import sys

import numpy as np
import xgboost as xgb

ROWS, WIDTH, TREES = 500, 4, 50


def data():
    state = 12345
    x = np.zeros((ROWS, WIDTH), "f4")
    y = np.zeros(ROWS, "f4")
    for r in range(ROWS):
        for c in range(WIDTH):
            state = (state * 1664525 + 1013904223) % 2**32
            x[r, c] = (state >> 16) % 40
        state = (state * 1664525 + 1013904223) % 2**32
        noise = (state >> 16) % 8
        y[r] = float(x[r, 0] + (12 if x[r, 1] > 20 else 0) - x[r, 2] / 4 + noise > 24)
    return x, y


x, y = data()
out = {"version": xgb.__version__, "cases": []}
for objective in ("reg:squarederror", "binary:logistic"):
    for penalty in (dict(reg_lambda=1.0, reg_alpha=0.0), dict(reg_lambda=3.0, reg_alpha=2.0, min_child_weight=5.0)):
        base = 0.0 if objective.startswith("reg") else 0.5
        params = dict(tree_method="hist", max_depth=1, eta=0.3, max_bin=256, objective=objective, base_score=base, nthread=1,
                      **dict(dict(min_child_weight=0.0), **penalty))
        b = xgb.train(params, xgb.DMatrix(x, y), TREES)
        margin = b.predict(xgb.DMatrix(x[:100]), output_margin=True)
        out["cases"].append(dict(objective=objective, l1=penalty["reg_alpha"], l2=penalty["reg_lambda"],
                                 weight=penalty.get("min_child_weight", 0.0), margins=[round(float(m), 7) for m in margin]))
with open(sys.argv[1], "w") as f:
    json.dump(out, f)
    f.write("\n")
