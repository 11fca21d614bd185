"""onnx_ops.py DIR: ONNX Runtime computes of each op's model what TensorFlow does of the op.

DIR has graph.pb, a GraphDef of all ops, feeds, and cases.json: {Name, Model, Outputs}.
"""
import json
import os
import sys

import numpy as np
import onnx
import onnxruntime
import tensorflow as tf

import exchange

where = sys.argv[1]
feeds = exchange.load(os.path.join(where, "feeds"))
with open(os.path.join(where, "cases.json")) as f:
    cases = json.load(f)
with open(os.path.join(where, "graph.pb"), "rb") as f:
    definition = tf.compat.v1.GraphDef.FromString(f.read())
onnxruntime.set_default_logger_severity(3)


def difference(got, want):
    """None where alike, else what is not."""
    if got.dtype.kind in "OSU" or want.dtype.kind in "OSU":
        text = lambda x: [v.decode() if isinstance(v, bytes) else str(v) for v in x.ravel()]
        return None if text(got) == text(want) else "%s, TensorFlow %s" % (text(got), text(want))
    if got.shape != want.shape or got.dtype != want.dtype:
        return "%s%s, TensorFlow %s%s" % (got.dtype, got.shape, want.dtype, want.shape)
    if got.dtype.kind != "f":
        return None if np.array_equal(got, want) else "%s, TensorFlow %s" % (got.ravel(), want.ravel())
    scale = max(1, float(np.max(np.abs(want[np.isfinite(want)]), initial=0)))
    alike = (got == want) | (np.isnan(got) & np.isnan(want))  # infinities and NaN in the same places
    worst = float(np.max(np.abs(got - want)[~alike], initial=0))
    return None if worst <= 1e-5 * scale else "differs by %g: %s, TensorFlow %s" % (worst, got.ravel()[:8], want.ravel()[:8])


bad = []
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    tf.import_graph_def(definition, name="")
    for case in cases:
        try:
            outputs = case["Outputs"]
            want = session.run(outputs, feeds)
            onnx.checker.check_model(onnx.load(case["Model"]), full_check=True)
            runtime = onnxruntime.InferenceSession(case["Model"], providers=["CPUExecutionProvider"])
            given = {i.name: feeds[i.name + ":0"] for i in runtime.get_inputs()}
            got = runtime.run(["out%d" % i for i in range(len(outputs))], given)
            for name, g, w in zip(outputs, got, want):
                d = difference(np.asarray(g), np.asarray(w))
                if d:
                    bad.append("%s, %s: %s" % (case["Name"], name, d))
        except Exception as e:
            bad.append("%s: %s" % (case["Name"], str(e)[:500]))
if bad:
    sys.exit("\n".join(bad))
print("%d ops agree" % len(cases))
