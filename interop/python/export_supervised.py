"""export_supervised.py CASES: runs the train_op and the metrics of exported graphs of training and evaluation."""
import json
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.saved_model import loader_impl

import exchange

bad = []
worst = {"loss": 0.0, "metric": 0.0, "variable": 0.0}


def near(kind, what, got, want, limit):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        bad.append("%s: shape %s, ours %s" % (what, got.shape, want.shape))
        return
    with np.errstate(invalid="ignore"):
        apart = np.where(got == want, 0, np.abs(got - want) / np.maximum(1, np.where(np.isfinite(want), np.abs(want), 1)))
    d = float(np.max(apart, initial=0))
    worst[kind] = max(worst[kind], d)
    if not d <= limit:
        bad.append("%s: differs by %g: TensorFlow %s, ours %s" % (what, d, np.ravel(got)[:4], np.ravel(want)[:4]))


def fed(graph, sig, feeds, rows):
    out = {}
    for key, info in sig.inputs.items():
        t = graph.get_tensor_by_name(info.name)
        x = feeds[key][rows]
        if x.dtype != object:
            x = x.astype(t.dtype.as_numpy_dtype)
        if t.shape.rank is not None and t.shape.rank != x.ndim:
            x = x.reshape([len(x)] + [d or -1 for d in t.shape.as_list()[1:]])
        out[t] = x
    return out


def outputs(sig):
    return {k: v.name for k, v in sig.outputs.items()}


def train(case, feeds):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.loader.load(session, ["train"], case["model"])
        sig = meta.signature_def["train"]
        assert sig.method_name == "tensorflow/supervised/training", sig.method_name
        op = loader_impl.get_train_op(meta)
        assert op is not None, "no train_op"
        assert any(k.startswith("predictions/") for k in sig.outputs), list(sig.outputs)
        n = case["rows"]  # of ragged features there are more values
        for i, want in enumerate(case["losses"]):
            at = i * case["batch"] % n
            loss, _ = session.run([outputs(sig)["loss"], op], fed(graph, sig, feeds, slice(at, at + case["batch"])))
            near("loss", "%s: loss of step %d" % (case["name"], i), loss, want, 1e-5)
            # What is not a number spreads to every variable: the first step says where it comes from.
            wrong = [v.op.name for v in tf.compat.v1.global_variables() if not np.all(np.isfinite(session.run(v)))]
            assert not wrong, "after step %d, of loss %s, these are not finite: %s" % (i, loss, wrong)
        ours = exchange.load(case["variables"])
        names = []
        for v in tf.compat.v1.global_variables():
            names.append(v.op.name)
            near("variable", "%s: variable %s" % (case["name"], v.op.name), session.run(v), ours[v.op.name], 1e-5)
        # Keras's hyper-parameters are variables in checkpoints; in the graph they are constants.
        lacking = {k for k, v in ours.items() if not (k.startswith("training/") and v.shape == () and not k.endswith("/iter"))} - set(names)
        if lacking:
            bad.append("%s: TensorFlow's graph has no variables %s" % (case["name"], sorted(lacking)))


def evaluate(case, feeds):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.loader.load(session, ["eval"], case["model"])
        sig = meta.signature_def["eval"]
        keys = outputs(sig)
        assert len(tf.compat.v1.local_variables()) == len(tf.compat.v1.get_collection("metric_variables")) > 0
        updates = {k: v for k, v in keys.items() if k.endswith("/update_op")}
        for _ in range(2):  # what local_variables_initializer makes anew
            losses = []
            for at in range(0, case["rows"], case["batch"]):
                got = session.run({"loss": keys["loss"], **updates}, fed(graph, sig, feeds, slice(at, at + case["batch"])))
                losses.append(got["loss"])
            for name, want in case["metrics"].items():
                if name == "loss":
                    near("metric", "%s: loss" % case["name"], np.mean(losses), want, 1e-6)
                    continue
                value = session.run(keys["metrics/%s/value" % name])
                near("metric", "%s: metric %s" % (case["name"], name), value, want, 1e-6)
                near("metric", "%s: last update of %s" % (case["name"], name), got["metrics/%s/update_op" % name], want, 1e-6)
            session.run(tf.compat.v1.local_variables_initializer())


cases = json.load(open(sys.argv[1]))
for case in cases:
    feeds = exchange.load(case["feeds"])
    try:
        train(case, feeds)
        evaluate(case, feeds)
    except Exception as e:  # the others are to be seen too
        bad.append("%s: %s" % (case["name"], str(e)[:600]))
if bad:
    sys.exit("\n".join(bad[:60]))
print("%d models: worst difference %s" % (len(cases), worst))
