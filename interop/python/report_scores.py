"""What scikit-learn has of the predictions that a report is about, as JSON.

report_scores.py scores PREDICTIONS LABEL POSITIVE     a CSV with the label beside the probabilities
report_scores.py permute TABLE COLUMN REPEATS PREFIX   the fifth of a table that is held out, and copies with that column permuted
"""
import csv
import json
import sys

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, brier_score_loss, confusion_matrix, log_loss, roc_auc_score


def scores(predictions, label, positive):
    with open(predictions, newline="") as f:
        rows = list(csv.DictReader(f))
    y = np.array([r[label].strip().startswith(positive) for r in rows], int)
    p = np.array([float(r["probabilities_1"]) for r in rows])
    true, predicted = calibration_curve(y, p, n_bins=10)
    print(json.dumps({
        "roc_auc": roc_auc_score(y, p), "average_precision": average_precision_score(y, p), "brier_score": brier_score_loss(y, p),
        "cross_entropy": log_loss(y, p), "true": true.tolist(), "predicted": predicted.tolist(),
        "confusion_matrix": confusion_matrix(y, [int(r["class_ids"]) for r in rows]).tolist()}))


def permute(table, column, repeats, prefix):
    with open(table, newline="") as f:
        header, *rows = csv.reader(f)
    rows = [r for r in rows if any(r)][::5]
    at, random = header.index(column), np.random.default_rng(1)
    for i in range(int(repeats) + 1):
        values = [r[at] for r in rows]
        if i > 0:
            values = random.permutation(values).tolist()
        with open(f"{prefix}{i}.csv", "w", newline="") as f:
            csv.writer(f).writerows([header] + [r[:at] + [v] + r[at + 1:] for r, v in zip(rows, values)])


{"scores": scores, "permute": permute}[sys.argv[1]](*sys.argv[2:])
