"""canned.py MODE CASES DATA OUT: tf.estimator's canned models, for canned_test.go.

train:  each case of CASES is trained from its own initial values; OUT/<case> is its model_dir, with the checkpoint of
        step 0 too, and OUT/<case>/answers: its losses by step, predictions and metrics.
resume: OUT/<case> has a checkpoint of another's making: it predicts and evaluates, is trained on and tells the same.
ids:    hash and cross ids of DATA's strings and integers go to OUT.
"""
import json
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.feature_column import feature_column_v2

import exchange

fc = tf.feature_column
tf.get_logger().setLevel("ERROR")


def columns(specs):
    """The columns of a config file's declarations, by name."""
    out = {}
    for s in specs:
        made = column(s, out)
        if s["type"] == "shared_embeddings":
            out.update({c.name: c for c in made})
        else:
            out[s.get("name") or made.name] = made
    return out


def column(s, known):
    kind, key, of = s["type"], s.get("key"), known.get(s.get("of"))
    dtype = tf.as_dtype(s.get("dtype") or "string")
    if kind == "numeric":
        n = s.get("normalize") or {}
        normalize = None
        if n.get("mean"):
            normalize = lambda x: (x - tf.constant(n["mean"], tf.float32)) / tf.constant(n["std"], tf.float32)
        return fc.numeric_column(key, tuple(s.get("shape") or (1,)), normalizer_fn=normalize)
    if kind == "bucketized":
        return fc.bucketized_column(of, s["boundaries"])
    if kind == "hash_bucket":
        return fc.categorical_column_with_hash_bucket(key, s["buckets"], dtype)
    if kind == "vocabulary":
        return fc.categorical_column_with_vocabulary_list(key, s["vocabulary"], num_oov_buckets=s.get("oov_buckets") or 0)
    if kind == "identity":
        return fc.categorical_column_with_identity(key, s["buckets"])
    if kind == "crossed":
        return fc.crossed_column([p.get("key") or known[p["column"]] for p in s["keys"]], s["buckets"])
    if kind == "weighted":
        return fc.weighted_categorical_column(of, s["weight_key"])
    if kind == "indicator":
        return fc.indicator_column(of)
    options = dict(dimension=s["dimension"], combiner=s.get("combiner") or "mean", max_norm=s.get("max_norm") or None,
                   trainable=not s.get("frozen"))
    if kind == "embedding":
        return fc.embedding_column(of, **options)
    assert kind == "shared_embeddings", kind
    return fc.shared_embeddings([known[c] for c in s["columns"]], **options)


OPTIMIZERS = {"Adagrad": "Adagrad", "Adam": "Adam", "Ftrl": "Ftrl", "RMSProp": "RMSprop", "SGD": "SGD"}


def optimizer(v):
    if isinstance(v, str):
        return v
    v = dict(v)
    names = {"l1": "l1_regularization_strength", "l2": "l2_regularization_strength", "clip_norm": "clipnorm", "clip_value": "clipvalue", "global_clip_norm": "global_clipnorm"}
    make = getattr(tf.keras.optimizers.legacy, OPTIMIZERS[v.pop("name")])
    return lambda: make(**{names.get(k, k): x for k, x in v.items()})


def estimator(case, model_dir):
    known, p = columns(case["columns"]), dict(case["params"])
    for k in list(p):
        if k.endswith("feature_columns"):
            p[k] = [known[name] for name in p[k]]
        elif k.endswith("optimizer"):
            p[k] = optimizer(p[k])
        elif k.endswith("activation_fn"):
            p[k] = getattr(tf.nn, p[k])
        elif k == "head":
            p[k] = {"poisson": tf.estimator.PoissonRegressionHead, "logistic": tf.estimator.LogisticRegressionHead}[p[k]]()
    config = tf.estimator.RunConfig(model_dir=model_dir, tf_random_seed=5, save_checkpoints_steps=case["steps"], save_summary_steps=50, keep_checkpoint_max=None)
    return getattr(tf.estimator, case["class"])(config=config, **p)


def dataset(data, case, first, count):
    batch = case["batch"]
    features, end = {}, min((first + count) * batch, len(data["age"]))
    for name, x in data.items():
        if name.startswith("label") or name == "offsets" or name in ("words", "weights"):
            continue
        features[name] = x[first * batch:end]
    offsets = data["offsets"]
    for name in ("words", "weights"):
        rows = tf.RaggedTensor.from_row_splits(data[name], offsets)[first * batch:end]
        features[name] = rows.to_sparse()
    label = data[case["label"]][first * batch:end]
    return tf.data.Dataset.from_tensor_slices((features, label)).batch(batch)


def one_shot(make):
    # Not the Dataset itself: the baselines read it before its iterator would be initialised.
    return lambda: tf.compat.v1.data.make_one_shot_iterator(make()).get_next()


def input_fn(data, case, first, count):
    return one_shot(lambda: dataset(data, case, first, count))


class Losses(tf.estimator.SessionRunHook):
    def __init__(self):
        self.values = []

    def begin(self):
        self.loss = tf.compat.v1.losses.get_losses()[-1]

    def before_run(self, context):
        return tf.estimator.SessionRunArgs(self.loss)

    def after_run(self, context, values):
        self.values.append(float(values.results))


def answer(e, data, case, folder, checkpoint, losses):
    """Writes losses, predictions and metrics of the first batches."""
    few = input_fn(data, case, 0, 20)
    predicted = list(e.predict(few, checkpoint_path=checkpoint))
    key = "logits" if "logits" in predicted[0] else "predictions"
    metrics = e.evaluate(few, checkpoint_path=checkpoint)
    out = {"predictions": np.array([p[key] for p in predicted], np.float32), "losses": np.array(losses, np.float64),
           "metrics": np.array([k for k in sorted(metrics)], object), "values": np.array([float(metrics[k]) for k in sorted(metrics)], np.float64)}
    exchange.save(folder, out)


def train(data, case, folder):
    e, h = estimator(case, folder), Losses()
    read = input_fn(data, case, 0, case["steps"])
    if case["class"].startswith("Baseline"):  # whose initialisation takes a batch
        read = one_shot(lambda: dataset(data, case, 0, 1).concatenate(dataset(data, case, 0, case["steps"])))
    e.train(read, hooks=[h], max_steps=case["steps"])
    answer(e, data, case, os.path.join(folder, "answers"), tf.train.latest_checkpoint(folder), h.values)
    events = [f for f in os.listdir(folder) if "tfevents" in f]
    tags = {v.tag for f in events for r in tf.compat.v1.train.summary_iterator(os.path.join(folder, f)) for v in r.summary.value}
    with open(os.path.join(folder, "tags"), "w") as f:
        f.write("\n".join(sorted(tags)))


def resume(data, case, folder):
    e, h, given = estimator(case, folder), Losses(), tf.train.latest_checkpoint(folder)
    e.train(input_fn(data, case, case["steps"], case["more"]), hooks=[h], steps=case["more"])
    answer(e, data, case, os.path.join(folder, "answers"), given, h.values)


def ids(data, out):
    """Ids of single values: of a hash bucket column, and of crosses of three."""
    strings, ints = data["strings"], data["ints"]
    dense = {"s": tf.constant(strings, shape=[len(strings), 1]), "i": tf.constant(ints, shape=[len(ints), 1])}
    cols = {"hash": fc.categorical_column_with_hash_bucket("s", 1000003), "hash_ints": fc.categorical_column_with_hash_bucket("i", 1000003, tf.int64),
            "cross": fc.crossed_column(["s", "i"], 1 << 30), "cross_long": fc.crossed_column(["s", "i", fc.categorical_column_with_identity("level", 7)], 1 << 20)}
    dense["level"] = tf.constant(data["levels"], shape=[len(ints), 1])
    out_ids = {}
    for name, c in cols.items():
        t = c.get_sparse_tensors(feature_column_v2.FeatureTransformationCache(dense), None).id_tensor
        found = np.full(len(strings), -1, np.int64)
        found[t.indices.numpy()[:, 0]] = t.values.numpy()
        out_ids[name] = found
    exchange.save(out, out_ids)


def main():
    mode, cases, data, out = sys.argv[1:]
    data = exchange.load(data)
    if mode == "ids":
        ids(data, out)
        return
    tf.compat.v1.disable_eager_execution()  # shared_embeddings needs that
    with open(cases) as f:
        cases = json.load(f)
    for case in cases:
        folder = os.path.join(out, case["name"])
        {"train": train, "resume": resume}[mode](data, case, folder)
        print(case["name"], end=" ")


if __name__ == "__main__":
    main()
