"""Records what tf.estimator's KMeans makes of given initial clusters: kmeans.json.

Run with TensorFlow 2.15: python kmeans.py > kmeans.json
"""
import json, os, tempfile
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")
rng = np.random.RandomState(3)
centers = rng.randn(4, 3) * 3
x = (centers[rng.randint(4, size=96)] + rng.randn(96, 3)).astype(np.float32)
start = x[:4].copy()
out = {"x": x.tolist(), "start": start.tolist(), "cases": []}
for metric in ["squared_euclidean", "cosine"]:
    # Mini-batches are left out: TensorFlow reads the update counts while it writes them.
    def data(repeat=True):
        d = tf.compat.v1.data.Dataset.from_tensor_slices({"x": x}).batch(96)
        return d.repeat() if repeat else d

    est = tf.compat.v1.estimator.experimental.KMeans(
        4, model_dir=tempfile.mkdtemp(), initial_clusters=start, distance_metric=metric, use_mini_batch=False)
    est.train(data, steps=10)
    score = est.score(lambda: data(False))
    pred = list(est.predict(lambda: data(False)))
    values = {n: np.asarray(est.get_variable_value(n)).tolist() for n in est.get_variable_names() if n != "global_step"}
    out["cases"].append({"metric": metric, "batch": 96, "steps": 10, "score": float(score), "variables": values,
                         "index": [int(p["cluster_index"]) for p in pred], "distances": [p["all_distances"].tolist() for p in pred]})
print(json.dumps(out))
