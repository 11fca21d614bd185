"""hist_gradient_boosting.py LABEL classification|regression DELIMITER (TRAIN TEST)...: scores of scikit-learn's boosted trees.

Words are categories, of which HistGradientBoosting has at most 255: columns of more are left out. Everything else is its default. It prints
{"scores": [...], "seconds": [...]}, of each pair of files the accuracy or the root mean squared error on TEST.
"""
import json
import sys
import time

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def read(path, label, regression, delimiter):
    table = pd.read_csv(path, sep=delimiter, skipinitialspace=True, na_values=["?"], dtype=None if regression else {label: str})
    return table, table.pop(label)


def columns(train, test):
    for name in list(train.columns):
        if pd.api.types.is_numeric_dtype(train[name]) and train[name].dtype != bool:
            continue
        values = sorted(train[name].dropna().astype(str).unique())
        if len(values) > 250:
            train, test = train.drop(columns=name), test.drop(columns=name)
            continue
        for table in (train, test):
            table[name] = pd.Categorical(table[name].where(table[name].isna(), table[name].astype(str)), categories=values)
    return train, test


def main():
    label, task, delimiter = sys.argv[1:4]
    regression, out = task == "regression", {"scores": [], "seconds": []}
    for train_path, test_path in zip(sys.argv[4::2], sys.argv[5::2]):
        began = time.time()
        train, y = read(train_path, label, regression, delimiter)
        test, want = read(test_path, label, regression, delimiter)
        train, test = columns(train, test)
        kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        got = kind(categorical_features="from_dtype", random_state=0).fit(train, y).predict(test)
        out["scores"].append(float(np.sqrt(np.mean((got - want) ** 2)) if regression else np.mean(got == want)))
        out["seconds"].append(time.time() - began)
    print(json.dumps(out))


main()
