"""optimizers.py answer|check FILE [N]: what TensorFlow's optimizers make of the cases in FILE (see models/optimizers/tensorflow_test.go).

answer writes it into the file; check compares it with what the file has.
"""
import gzip
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1.train
keras = tf.keras.optimizers.legacy

modern = tf.keras.optimizers


class LAMB:
    """tfa.optimizers.LAMB."""

    def __init__(self, learning_rate, beta_1, beta_2, epsilon, weight_decay):
        self.rate, self.beta, self.epsilon, self.decay, self.count = learning_rate, (beta_1, beta_2), epsilon, weight_decay, 0

    def apply_gradients(self, pairs):
        (g, w), = pairs
        g = tf.convert_to_tensor(g).numpy()
        if self.count == 0:
            self.m, self.v = tf.Variable(np.zeros_like(g)), tf.Variable(np.zeros_like(g))
        self.count += 1
        self.m.assign(self.beta[0] * self.m + (1 - self.beta[0]) * g)
        self.v.assign(self.beta[1] * self.v + (1 - self.beta[1]) * g * g)
        m, v = (x / (1 - b**self.count) for x, b in zip((self.m, self.v), self.beta))
        update = m / (tf.sqrt(v) + self.epsilon) + self.decay * w
        sizes = tf.norm(w), tf.norm(update)
        w.assign_sub(self.rate * (sizes[0] / sizes[1] if min(sizes) > 0 else 1.0) * update)


# By rule: the class, and its names of parameters that have another one here.
ADAM = {"beta1": "beta_1", "beta2": "beta_2"}
FTRL = {"l1": "l1_regularization_strength", "l2": "l2_regularization_strength", "l2_shrinkage": "l2_shrinkage_regularization_strength"}
RULES = {
    "sgd": (v1.GradientDescentOptimizer, {}),
    "momentum": (v1.MomentumOptimizer, {"nesterov": "use_nesterov"}),
    "adam": (v1.AdamOptimizer, {}),
    "adamw": (v1.AdamOptimizer, {}),
    "adagrad": (v1.AdagradOptimizer, {}),
    "rmsprop": (v1.RMSPropOptimizer, {"rho": "decay"}),
    "ftrl": (v1.FtrlOptimizer, FTRL),
    "amsgrad": (lambda **kw: modern.Adam(amsgrad=True, **kw), ADAM),
    "adamax": (modern.Adamax, ADAM),
    "nadam": (modern.Nadam, ADAM),
    "lamb": (LAMB, ADAM),
    "lion": (modern.Lion, ADAM),
    "adadelta": (modern.Adadelta, {}),
    "keras_sgd": (keras.SGD, {}),
    "keras_adam": (keras.Adam, ADAM),
    "keras_adamw": (keras.Adam, ADAM),
    "keras_adagrad": (keras.Adagrad, {}),
    "keras_rmsprop": (keras.RMSprop, {}),
    "keras_ftrl": (keras.Ftrl, FTRL),
}


SLOTS = {"accum": "accumulator"}

# By rule: our names of the state that optimizers keep in lists, one element for each variable.
LISTS = {
    "amsgrad": {"m": "_momentums", "v": "_velocities", "vhat": "_velocity_hats"},
    "adamax": {"m": "_m", "v": "_u"},
    "nadam": {"m": "_momentums", "v": "_velocities"},
    "lion": {"m": "momentums"},
    "adadelta": {"accum_grad": "_accumulated_grads", "accum_var": "_accumulated_delta_vars"},
}


def state(rule, optimizer, w):
    if rule == "lamb":
        return {"m": optimizer.m, "v": optimizer.v}
    if rule in LISTS:
        return {name: getattr(optimizer, attribute)[0] for name, attribute in LISTS[rule].items()}
    return {SLOTS.get(name, name): optimizer.get_slot(w, name) for name in optimizer.get_slot_names()}


def train(rule, params, data):
    """The variable and the optimizer's state of it after all steps."""
    make, names = RULES[rule]
    params = dict(params)
    decay = 0.0 if rule == "lamb" else params.pop("weight_decay", 0.0)  # decoupled, as AdamW's, of every other rule
    optimizer = make(**{names.get(k, k): v for k, v in params.items()})
    w = tf.Variable(np.array(data["w"], np.float64).reshape(data["shape"]))
    for step, g in enumerate(data["grads"]):
        before = tf.identity(w)
        if "ids" in data:
            ids = data["ids"][step]
            grad = tf.IndexedSlices(tf.constant(np.reshape(g, [len(ids)] + data["shape"][1:])), tf.constant(ids, tf.int64), tf.constant(data["shape"], tf.int64))
        else:
            grad = tf.constant(np.reshape(g, data["shape"]))
        w.assign_sub(params["learning_rate"] * decay * before)
        optimizer.apply_gradients([(grad, w)])
    return {"w": flat(w), "slots": {name: flat(s) for name, s in state(rule, optimizer, w).items() if s is not None}}


def flat(variable):
    return variable.numpy().reshape(-1).tolist()


def difference(got, want):
    if got["slots"].keys() != want["slots"].keys():
        sys.exit(f"TensorFlow has the slots {list(got['slots'])}, expected {list(want['slots'])}")
    return max(np.max(np.abs(np.subtract(a, b))) for a, b in [(got["w"], want["w"])] + [(got["slots"][k], want["slots"][k]) for k in got["slots"]])


def main():
    what, path, *every = sys.argv[1:]
    with gzip.open(path, "rt") as f:
        content = json.load(f)
    worst = 0.0
    cases = content["cases"]
    if every:  # of each rule the first, and one of N others
        cases = [c for i, c in enumerate(cases) if i % int(every[0]) == 0 or c["rule"] != cases[i - 1]["rule"]]
    for c in cases:
        for kind in ("dense", "sparse"):
            got = train(c["rule"], c["params"], content[kind])
            if what == "answer":
                c[kind] = got
            else:
                worst = max(worst, difference(got, c[kind]))
    if what == "answer":
        with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as f:
            f.write(json.dumps(content, separators=(",", ":")).encode())
    elif not worst < 1e-12:
        sys.exit(f"TensorFlow {tf.__version__} differs by {worst}")
    print(f"{len(cases)} cases, TensorFlow {tf.__version__}")


main()
