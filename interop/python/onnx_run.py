"""onnx_run.py CASES: ONNX's checker and ONNX Runtime take exported models.

CASES lists {name, model, feeds, want}: the outputs must be what want has, of the
whole batch and of its first example alone.
"""
import json
import os
import sys

import numpy as np
import onnx
import onnxruntime

import exchange


def check(case, bad):
    path = os.path.join(case["model"], "model.onnx")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds, want = exchange.load(case["feeds"]), exchange.load(case["want"])
    names = [o.name for o in session.get_outputs()]
    fed = {i.name: feeds[i.name] for i in session.get_inputs()}
    worst = 0.0
    for rows in (slice(None), slice(0, 1)):
        got = session.run(names, {k: v[rows] for k, v in fed.items()})
        for name, value in zip(names, got):
            key = name if name in want else "cluster_index"
            worst = max(worst, exchange.compare("%s/%s" % (case["name"], name), "ONNX Runtime", value, np.asarray(want[key])[rows], bad))
    return len(names), worst


def main():
    bad = []
    with open(sys.argv[1]) as f:
        cases = json.load(f)
    for case in cases:
        values, worst = check(case, bad)
        print("%s: %d outputs, largest difference %.2g" % (case["name"], values, worst))
    if bad:
        sys.exit("\n".join(bad))


main()
