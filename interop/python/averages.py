"""averages.py answer|check FILE GRADIENTS [N]: the averages that TensorFlow keeps of a variable, for the cases in FILE.

GRADIENTS is the file of optimizers.py, with a variable and its gradients. answer writes the averages and the variable after all
steps into FILE; check compares them with what the file has. A case of kind ema is use_ema of Keras' optimizer, or with rising
tf.train.ExponentialMovingAverage with num_updates; one of kind swa is the formula of tfa.optimizers.SWA.
"""
import gzip
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

keras = tf.keras.optimizers


def make(case, **more):
    if case["rule"] == "sgd":
        return keras.SGD(case["rate"], **more)
    return keras.Adam(case["rate"], beta_1=0.75, beta_2=0.875, epsilon=0.125, **more)


def gradient(data, step):
    g = data["grads"][step]
    if "ids" not in data:
        return tf.constant(np.reshape(g, data["shape"]))
    ids = data["ids"][step]
    return tf.IndexedSlices(tf.constant(np.reshape(g, [len(ids)] + data["shape"][1:])), tf.constant(ids, tf.int64), tf.constant(data["shape"], tf.int64))


def train(case, data):
    """The variable and its average after all steps."""
    w = tf.Variable(np.array(data["w"], np.float64).reshape(data["shape"]))
    keras_ema = case["kind"] == "ema" and not case["rising"]
    optimizer = make(case, use_ema=True, ema_momentum=case["decay"]) if keras_ema else make(case)
    shadow = Shadow(case["decay"], w) if case["rising"] else None
    average = tf.Variable(tf.zeros_like(w))
    start, period = case["start"], max(case["every"], 1)
    for step in range(len(data["grads"])):
        optimizer.apply_gradients([(gradient(data, step), w)])
        if shadow:
            shadow.apply(w, step)
        if case["kind"] == "swa":  # average_op of tfa.optimizers.SWA, with the iterations before the update
            snapshots = max(0, (step - start) // period)
            if step >= start and step == start + snapshots * period:
                average.assign((average * snapshots + w) / (snapshots + 1.0))
    if keras_ema:
        average = optimizer._model_variables_moving_average[0]
    if shadow:
        average = shadow.average
    return {"w": flat(w), "average": flat(average)}


class Shadow:
    """tf.train.ExponentialMovingAverage with num_updates, which takes a new object for each of them when it runs eagerly."""

    def __init__(self, decay, w):
        self.graph, first = tf.Graph(), w.numpy()
        with self.graph.as_default():
            self.value = tf.compat.v1.placeholder(tf.float64, w.shape)
            self.updates = tf.compat.v1.placeholder(tf.int32, [])
            self.w = tf.compat.v1.get_variable("w", initializer=first, use_resource=True)
            ema = tf.compat.v1.train.ExponentialMovingAverage(decay, num_updates=self.updates)
            with tf.control_dependencies([self.w.assign(self.value)]):
                self.op = ema.apply([self.w])
            self.session = tf.compat.v1.Session(graph=self.graph)
            init = tf.compat.v1.global_variables_initializer()
            self.result = ema.average(self.w)
        self.session.run(init)

    def apply(self, w, updates):
        self.session.run(self.op, {self.value: w.numpy(), self.updates: updates})

    @property
    def average(self):
        return self.session.run(self.result)


def flat(x):
    return np.array(x).reshape(-1).tolist()


def main():
    what, path, gradients, *every = sys.argv[1:]
    with gzip.open(gradients, "rt") as f:
        data = json.load(f)
    with open(path) as f:
        cases = json.load(f)[::int(every[0]) if every else 1]
    worst = 0.0
    for c in cases:
        for kind in ("dense", "sparse"):
            got = train(c, data[kind])
            if what == "answer":
                c[kind] = got
            else:
                worst = max(worst, *(np.max(np.abs(np.subtract(got[k], c[kind][k]))) for k in got))
    if what == "answer":
        with open(path, "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
    elif not worst < 1e-12:
        sys.exit(f"TensorFlow {tf.__version__} differs by {worst}")
    print(f"{len(cases)} cases, TensorFlow {tf.__version__}")


main()
