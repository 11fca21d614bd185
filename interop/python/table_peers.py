"""table_peers.py LABEL classification|regression DELIMITER (TRAIN TEST)...: scores of HistGradientBoosting of scikit-learn and of LightGBM.

Words are categories, of which HistGradientBoosting has at most 255: columns of more are left out, as are those without a value. Everything else is their default. It prints
{"HistGradientBoosting": {"scores": [...], "seconds": [...]}, "LightGBM": ...}, of each pair of files the accuracy or the root mean squared
error on TEST; LightGBM only where it is installed.
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
        if train[name].isna().all():
            train, test = train.drop(columns=name), test.drop(columns=name)
            continue
        if pd.api.types.is_numeric_dtype(train[name]) and train[name].dtype != bool:
            continue
        values = sorted(train[name].dropna().astype(str).unique())
        if len(values) > 250:
            train, test = train.drop(columns=name), test.drop(columns=name)
            continue
        for table in (train, test):
            table[name] = pd.Categorical(table[name].where(table[name].isna(), table[name].astype(str)), categories=values)
    return train, test


def kinds(regression):
    out = {"HistGradientBoosting": (HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier)(
        categorical_features="from_dtype", random_state=0)}
    try:
        import lightgbm
    except ImportError:
        return out
    out["LightGBM"] = (lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier)(verbose=-1, random_state=0)
    return out


def main():
    label, task, delimiter = sys.argv[1:4]
    regression = task == "regression"
    out = {name: {"scores": [], "seconds": []} for name in kinds(regression)}
    for train_path, test_path in zip(sys.argv[4::2], sys.argv[5::2]):
        for name, model in kinds(regression).items():
            began = time.time()
            train, y = read(train_path, label, regression, delimiter)
            test, want = read(test_path, label, regression, delimiter)
            train, test = columns(train, test)
            if name == "LightGBM":  # which takes no marks in names
                train.columns = test.columns = [f"c{i}" for i in range(train.shape[1])]
            got = model.fit(train, y).predict(test)
            out[name]["scores"].append(float(np.sqrt(np.mean((got - want) ** 2)) if regression else np.mean(got == want)))
            out[name]["seconds"].append(time.time() - began)
    print(json.dumps(out))


main()
