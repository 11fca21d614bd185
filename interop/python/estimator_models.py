"""Exports tf.estimator's canned models, and beside each what TensorFlow computes: DIR/<name>/ and DIR/<name>.<signature>.json."""
import base64
import json
import logging
import os
import sys

import numpy as np
import tensorflow as tf

logging.getLogger("tensorflow").setLevel("ERROR")
fc = tf.feature_column
age = fc.numeric_column("age")
size = fc.numeric_column("size", shape=(3,))
job = fc.categorical_column_with_vocabulary_list("job", ["cook", "clerk", "pilot"], num_oov_buckets=2)
town = fc.categorical_column_with_hash_bucket("town", 20)
level = fc.categorical_column_with_identity("level", 7, default_value=0)
ages = fc.bucketized_column(age, [20.0, 30.0, 50.0])
cross = fc.crossed_column(["job", "town"], 30)
wide = [age, size, ages, job, town, level, cross]
with open("/tmp/vocabulary.txt" if len(sys.argv) < 2 else os.path.join(sys.argv[1], "vocabulary.txt"), "w") as f:
    f.write("red\ngreen\nblue\n")
color = fc.categorical_column_with_vocabulary_file("color", f.name, num_oov_buckets=1)
deep = [age, size, fc.indicator_column(job), fc.embedding_column(town, 4), fc.embedding_column(cross, 3, combiner="sqrtn"), fc.embedding_column(color, 2)]


def example(r, labels=False):
    f = {"age": tf.train.Feature(float_list=tf.train.FloatList(value=[r.uniform(10, 60)])),
         "size": tf.train.Feature(float_list=tf.train.FloatList(value=r.normal(size=3)))}
    text = lambda words: tf.train.Feature(bytes_list=tf.train.BytesList(value=[w.encode() for w in words]))
    if r.random() < 0.8:
        f["job"] = text(r.choice(["cook", "clerk", "pilot", "thief"], size=r.integers(1, 3)))
    if r.random() < 0.8:
        f["town"] = text(r.choice(["Ulm", "Rom", "Oslo", "Bari"], size=r.integers(0, 4)))
    f["color"] = text(r.choice(["red", "blue", "pink"], size=1))
    if r.random() < 0.7:
        f["level"] = tf.train.Feature(int64_list=tf.train.Int64List(value=[r.integers(0, 7)]))
    return tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString()


def estimators(base):
    cfg = lambda n: tf.estimator.RunConfig(model_dir=os.path.join(base, "run_" + n), tf_random_seed=1)
    return {
        "linear": tf.estimator.LinearClassifier(wide, n_classes=3, label_vocabulary=["a", "b", "c"], config=cfg("linear")),
        "binary": tf.estimator.LinearClassifier(wide, config=cfg("binary")),
        "dnn": tf.estimator.DNNClassifier([8, 4], deep, n_classes=3, batch_norm=True, dropout=0.2, config=cfg("dnn")),
        "regressor": tf.estimator.DNNRegressor([8], deep, config=cfg("regressor")),
        "both": tf.estimator.DNNLinearCombinedClassifier(linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[6], config=cfg("both")),
    }


def plain(a):
    a = np.asarray(a)
    if a.dtype.kind in "SUO":
        data = [base64.b64encode(s if isinstance(s, bytes) else s.encode()).decode() for s in a.ravel()]
        return {"dtype": "string", "shape": list(a.shape), "data": data}
    return {"dtype": str(a.dtype), "shape": list(a.shape), "data": base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()}


out = sys.argv[1]
r = np.random.default_rng(5)
spec = fc.make_parse_example_spec(wide + deep)
data = np.array([example(r) for _ in range(40)])
for name, e in estimators(out).items():
    labels = r.normal(size=40).astype("float32") if name == "regressor" else r.integers(0, 3 if name in ("linear", "dnn") else 2, size=40)
    if name == "linear":
        labels = np.array(["a", "b", "c"])[labels]
    e.train(lambda: tf.data.Dataset.from_tensors((tf.io.parse_example(data, spec), labels)).repeat(), steps=5)
    made = e.export_saved_model(os.path.join(out, "made_" + name), tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)).decode()
    os.rename(made, os.path.join(out, name))
    m = tf.saved_model.load(os.path.join(out, name))
    for key, fn in m.signatures.items():
        alias = list(fn.structured_input_signature[1])[0]
        record = []
        for rows in (1, 2, 9):
            got = fn(**{alias: tf.constant(data[:rows])})
            record.append({"inputs": {alias: plain(data[:rows])}, "outputs": {k: plain(v.numpy()) for k, v in got.items()}})
        with open(os.path.join(out, name + "." + key + ".json"), "w") as f:
            json.dump(record, f)
    print(name, "ok")
