"""boosted_trees.py ARCHIVE: SavedModels of tf.estimator's boosted trees, with requests and answers, as internal/imported/session's TestBoostedTrees
reads them. Later versions of TensorFlow have no boosted trees: with Python 3.10, pip install tensorflow-cpu==2.8.4 'protobuf<3.20' 'numpy<1.24'."""
import base64
import io
import json
import os
import sys
import tarfile
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

fc = tf.feature_column


def data(kind, rows=400):
    r = np.random.RandomState(7)
    x = {"size": r.lognormal(0, 1, rows).astype(np.float32), "age": r.randint(0, 90, rows).astype(np.float32),
         "colour": r.choice(["red", "green", "blue"], rows), "pair": r.normal(size=(rows, 2)).astype(np.float32)}
    score = np.log(x["size"]) + (x["age"] > 40) - (x["colour"] == "red") + x["pair"][:, 1]
    y = {"classes": np.clip(np.digitize(score, [-0.5, 1]), 0, 2), "binary": (score > 0.3).astype(int), "regression": score.astype(np.float32)}[kind]
    return x, y


def columns():
    colour = fc.categorical_column_with_vocabulary_list("colour", ["red", "green", "blue"])
    return [fc.numeric_column("size"), fc.bucketized_column(fc.numeric_column("age"), [18., 40., 65.]), fc.indicator_column(colour), fc.numeric_column("pair", shape=(2,))]


def receiver():
    p = {k: tf.compat.v1.placeholder(tf.string if k == "colour" else tf.float32, [None, 2] if k == "pair" else [None]) for k in ["size", "age", "colour", "pair"]}
    return tf.estimator.export.ServingInputReceiver(p, p)


def recorded(v):
    v = np.asarray(v)
    if v.dtype.kind in "OSU":
        text = [x if isinstance(x, bytes) else str(x).encode() for x in v.ravel().tolist()]
        return {"dtype": "string", "shape": list(v.shape), "data": [base64.b64encode(x).decode() for x in text]}
    return {"dtype": str(v.dtype), "shape": list(v.shape), "data": base64.b64encode(np.ascontiguousarray(v).tobytes()).decode()}


def record(folder, kind):
    x, y = data(kind)
    make = tf.estimator.BoostedTreesRegressor if kind == "regression" else tf.estimator.BoostedTreesClassifier
    more = {"n_classes": 3} if kind == "classes" else {}
    if kind == "binary":
        more = {"tree_complexity": 0.01, "pruning_mode": "post"}
    e = make(columns(), n_batches_per_layer=1, n_trees=4, max_depth=3, center_bias=kind == "regression", **more)
    e.train(lambda: tf.data.Dataset.from_tensors((x, y)).repeat(), max_steps=40)
    path = e.export_saved_model(os.path.join(folder, kind), receiver).decode()
    os.rename(path, os.path.join(folder, kind, "1"))
    model = tf.saved_model.load(os.path.join(folder, kind, "1"))
    asked = {k: v[:40] for k, v in x.items()}
    asked["size"][:5] = [0, -1, 1e30, np.inf, np.nan]
    runs = []
    for name, f in model.signatures.items():
        if set(f.structured_input_signature[1]) != set(asked):
            continue
        got = f(**{k: tf.constant(v) for k, v in asked.items()})
        runs.append({"signature": name, "inputs": {k: recorded(v) for k, v in asked.items()}, "outputs": {k: recorded(v.numpy()) for k, v in got.items()}})
    with open(os.path.join(folder, kind + ".json"), "w") as f:
        json.dump(runs, f)


def main(archive):
    with tempfile.TemporaryDirectory() as folder:
        for kind in ["binary", "classes", "regression"]:
            record(folder, kind)
        with tarfile.open(archive, "w:bz2") as tar:
            for full in sorted(os.path.join(root, f) for root, _, files in os.walk(folder) for f in files):
                with open(full, "rb") as r:
                    content = r.read()
                info = tarfile.TarInfo(os.path.relpath(full, folder))
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


main(sys.argv[1])
