"""Records what tf.estimator's LinearSDCA converges to: sdca.json.

Run with TensorFlow 2.15: python sdca.py > sdca.json
"""
import json, os, tempfile
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")
rng = np.random.RandomState(7)
n = 80
x = rng.randn(n, 3).astype(np.float32)
words = ["a", "b", "c", "d"]
word = rng.randint(4, size=n)
weight = rng.uniform(0.5, 2, size=n).astype(np.float32)
score = x @ np.array([1.5, -2, 0.2]) + np.array([1, -1, 0.5, 0])[word] + rng.randn(n) * 0.5 + 0.3
out = {"x": x.tolist(), "word": [words[i] for i in word], "weight": weight.tolist(), "class": (score > 0).astype(int).tolist(),
       "number": score.astype(np.float32).tolist(), "cases": []}
columns = [tf.feature_column.numeric_column("x", shape=[3]), tf.feature_column.categorical_column_with_vocabulary_list("word", words)]
for kind in ["class", "number"]:
    for l1, l2 in [(0.0, 1.0), (3.0, 2.0)]:
        def data():
            f = {"x": x, "word": np.array(out["word"]), "weight": weight, "id": np.array(["example %d" % i for i in range(n)])}
            return tf.data.Dataset.from_tensor_slices((f, np.array(out[kind]))).batch(20).repeat()

        sdca = tf.estimator.experimental.LinearSDCA("id", symmetric_l1_regularization=l1, symmetric_l2_regularization=l2)
        make = tf.estimator.LinearClassifier if kind == "class" else tf.estimator.LinearRegressor
        est = make(columns, model_dir=tempfile.mkdtemp(), optimizer=sdca, weight_column="weight")
        est.train(data, steps=400)
        values = {v: np.asarray(est.get_variable_value(v)).reshape(-1).tolist() for v in est.get_variable_names() if "weights" in v}
        out["cases"].append({"label": kind, "l1": l1, "l2": l2, "variables": values})
print(json.dumps(out))
