"""edge_cases.py answer|check FILE: what TensorFlow gives for the cases of internal/testkit/edgecases.

answer writes it into the file; check compares it with what the file has.
"""
import base64
import gzip
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # whose kernels treat NaN as it happens

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

tf1 = tf.compat.v1
tf1.disable_eager_execution()


def reduction(name):
    return {"none": "none", "weighted_sum": "weighted_sum", "weighted_mean": "weighted_mean", "weighted_sum_by_nonzero": "weighted_sum_by_nonzero_weights",
            "weighted_sum_over_batch": "weighted_sum_over_batch_size"}[name]


def loss(f):
    """A function of tf.losses; its arguments are labels, predictions and perhaps weights."""
    def run(how, labels, predictions, weights=1.0):
        return f(labels, predictions, weights, reduction=reduction(how))
    return run


def own_loss(f):
    """A loss that tf.losses lacks, weighted and reduced as its are."""
    def run(how, labels, predictions, weights=1.0):
        return tf1.losses.compute_weighted_loss(f(tf.cast(labels, predictions.dtype), predictions), weights, reduction=reduction(how))
    return run


def softmax_focal(z, x):
    """Keras' categorical_focal_crossentropy of logits without its clip of probabilities."""
    log = tf.nn.log_softmax(x)
    return 0.25 * -tf.reduce_sum(z * log * tf.pow(1 - tf.exp(log), 2.0), -1)


FUNCTIONS = {
    "sparse_softmax_cross_entropy": loss(lambda z, x, w, **kw: tf1.losses.sparse_softmax_cross_entropy(z, x, w, **kw)),
    "softmax_cross_entropy": loss(lambda z, x, w, **kw: tf1.losses.softmax_cross_entropy(tf.cast(z, x.dtype), x, w, **kw)),
    "sigmoid_cross_entropy": loss(lambda z, x, w, **kw: tf1.losses.sigmoid_cross_entropy(tf.cast(z, x.dtype), x, w, **kw)),
    "hinge": loss(lambda z, x, w, **kw: tf1.losses.hinge_loss(tf.cast(z, x.dtype), x, w, **kw)),
    "log": loss(lambda z, x, w, **kw: tf1.losses.log_loss(tf.cast(z, x.dtype), x, w, **kw)),
    "mean_squared_error": loss(lambda z, x, w, **kw: tf1.losses.mean_squared_error(tf.cast(z, x.dtype), x, w, **kw)),
    "mean_absolute_error": loss(lambda z, x, w, **kw: tf1.losses.absolute_difference(tf.cast(z, x.dtype), x, w, **kw)),
    "huber": loss(lambda z, x, w, **kw: tf1.losses.huber_loss(tf.cast(z, x.dtype), x, w, delta=1.0, **kw)),
    "quantile": own_loss(lambda z, x: tf.maximum(0.75 * (z - x), -0.25 * (z - x))),
    "cosine_distance": loss(lambda z, x, w, **kw: tf1.losses.cosine_distance(tf.cast(z, x.dtype), x, axis=-1, weights=w, **kw)),
    "poisson": own_loss(lambda z, x: x - z * tf.math.log(x + 1e-7)),
    "log_poisson": own_loss(lambda z, x: tf.nn.log_poisson_loss(z, x)),
    "full_log_poisson": own_loss(lambda z, x: tf.nn.log_poisson_loss(z, x, compute_full_loss=True)),
    "sigmoid_focal": own_loss(lambda z, x: tf.keras.losses.binary_focal_crossentropy(z[..., None], x[..., None], from_logits=True)),
    "balanced_sigmoid_focal": own_loss(lambda z, x: tf.keras.losses.binary_focal_crossentropy(
        z[..., None], x[..., None], apply_class_balancing=True, alpha=0.25, gamma=1.5, from_logits=True)),
    "softmax_focal": own_loss(softmax_focal),
    "kl_divergence": own_loss(tf.keras.losses.kl_divergence),
    "cosine_similarity": own_loss(tf.keras.losses.cosine_similarity),
    "dice": own_loss(lambda z, x: 1 - (2 * tf.reduce_sum(z * x, -1) + 1) / (tf.reduce_sum(z, -1) + tf.reduce_sum(x, -1) + 1)),
    "contrastive": own_loss(lambda z, x: z * tf.square(x) + (1 - z) * tf.square(tf.maximum(1 - x, 0))),
    "clip_by_value": lambda x: tf.clip_by_value(x, -0.7, 1.1),
    "silu": lambda x: x * tf.sigmoid(x),
    "gelu": lambda x: tf.nn.gelu(x),
    "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
    "sigmoid_cross_entropy_with_logits": lambda x, z: tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x),
}


BLOBS, PLACES = [], {}  # what the file shares between cases, in base64; places count from 1


def load(t):
    kind = tf.as_dtype(t["dtype"]).as_numpy_dtype
    return np.frombuffer(base64.b64decode(BLOBS[t["bytes"] - 1] or ""), kind).reshape(t["shape"])


def save(a):
    a = np.asarray(a)
    blob = base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()
    if blob not in PLACES:
        BLOBS.append(blob)
        PLACES[blob] = len(BLOBS)
    return {"dtype": int(tf.as_dtype(a.dtype).as_datatype_enum), "shape": list(a.shape), "bytes": PLACES[blob]}


def completed(definition):
    """Gives nodes the types that follow from their inputs."""
    kinds = {}
    for node in definition.node:
        op = op_def_registry.get(node.op)
        at = 0
        for arg in op.input_arg:
            n = len(node.input) - len(op.input_arg) + 1 if arg.number_attr else 1
            if arg.number_attr:
                node.attr[arg.number_attr].i = n
            if arg.type_attr and arg.type_attr not in node.attr:
                node.attr[arg.type_attr].type = kinds[node.input[at].split(":")[0]]
            at += n
        for attr in op.attr:
            if attr.name not in node.attr and attr.name == "num":
                node.attr["num"].i = 2
            if attr.name not in node.attr and attr.name == "num_split":
                node.attr["num_split"].i = 2
        if "dtype" in node.attr:
            kinds[node.name] = node.attr["dtype"].type
    return definition


class Computation:
    """A graph, or a function, with the gradients by its inputs; for cases that differ in what they are fed."""

    def __init__(self, case):
        options = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        options.graph_options.rewrite_options.disable_meta_optimizer = True
        options.graph_options.optimizer_options.opt_level = -1
        with tf.Graph().as_default() as graph:
            if case.get("function"):
                name, *detail = case["function"].split(":")
                self.fed = {f["name"]: tf1.placeholder(tf.as_dtype(f["dtype"]), f["shape"], f["name"]) for f in case["feeds"]}
                out = FUNCTIONS[name](*detail, *self.fed.values())
                self.fetches = list(out) if isinstance(out, (list, tuple)) else [out]
            else:
                tf1.import_graph_def(completed(tf1.GraphDef.FromString(base64.b64decode(BLOBS[case["graph"] - 1]))), name="")
                self.fed = {f["name"]: graph.get_tensor_by_name(f["name"] + ":0") for f in case["feeds"]}
                self.fetches = [graph.get_tensor_by_name(n) for n in case["fetches"]]
            if case.get("wrt"):
                self.cotangent = tf1.placeholder(self.fetches[0].dtype, len(case["cotangent"]["shape"]) * [None])
                gradients = tf.gradients(self.fetches[:1], [self.fed[n] for n in case["wrt"]], grad_ys=[self.cotangent], unconnected_gradients="zero")
                self.fetches += [tf.convert_to_tensor(g) for g in gradients]
            self.session = tf1.Session(graph=graph, config=options)

    def run(self, case):
        feeds = {self.fed[f["name"]]: load(f) for f in case["feeds"]}
        if case.get("wrt"):
            feeds[self.cotangent] = load(case["cotangent"])
        return self.session.run(self.fetches, feeds)


COMPUTATIONS = {}


def answers(case):
    key = case["graph"], case.get("function"), str(case.get("wrt")), str(case["fetches"]), str([(f["name"], f["dtype"]) for f in case["feeds"]])
    if case.get("function"):
        key += (str([f["shape"] for f in case["feeds"]]),)
    if key not in COMPUTATIONS:
        COMPUTATIONS[key] = Computation(case)
    return COMPUTATIONS[key].run(case)


def answer(case):
    try:
        case["want"] = [save(a) for a in answers(case)]
    except (tf.errors.OpError, ValueError, LookupError) as e:
        case["error"] = str(e).split("\n")[0][:300]


def check(case):
    if case.get("error"):
        return None
    for i, (got, want) in enumerate(zip(answers(case), case["want"])):
        want, got = load(want), np.asarray(got)
        if got.dtype != want.dtype or got.shape != want.shape:
            return "result %d is %s%s, recorded %s%s" % (i, got.dtype, got.shape, want.dtype, want.shape)
        if got.dtype.kind != "f":
            differ = got != want
        else:
            with np.errstate(all="ignore"):
                near = np.isfinite(want) & (np.abs(got - want) <= 1e-5 * np.maximum(1, np.abs(want)))
            differ = ~(near | (got == want) | (np.isnan(got) & np.isnan(want)))
        if differ.any():
            k = np.flatnonzero(differ.ravel())[0]
            return "result %d, element %d is %r, recorded %r" % (i, k, got.ravel()[k], want.ravel()[k])
    return None


def main():
    verb, file = sys.argv[1:]
    with gzip.open(file) as f:
        contents = json.load(f)
    BLOBS.extend(contents["blobs"] or [])
    PLACES.update((b, i + 1) for i, b in enumerate(BLOBS))
    cases, bad = contents["cases"], []
    for case in cases:
        if verb == "answer":
            answer(case)
        else:
            problem = check(case)
            if problem:
                bad.append("%s: %s" % (case["name"], problem))
    if verb == "answer":
        for case in cases:
            if case.get("error"):
                print("no answer to", case["name"], "|", case["error"])
        with open(file, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
            contents["blobs"] = BLOBS
            z.write(json.dumps(contents, separators=(",", ":")).encode())
    print(len(cases), "cases,", len(bad), "differ")
    if bad:
        print("\n".join(bad))
        sys.exit(1)


main()
