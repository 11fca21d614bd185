"""Trains an Estimator with tf.estimator.train_and_evaluate as the task that TF_CONFIG names.

Usage: cluster_estimator.py DIR MODEL STRATEGY: MODEL is dnn (a DNNClassifier) or custom (a model_fn); STRATEGY is ps
(ParameterServerStrategy) or none (replica_device_setter by TF_CONFIG). The chief prints what the last checkpoint holds, the
evaluator its last metrics, as lines of JSON.
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.INFO)

STEPS = 60


def input_fn():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((96, 4)).astype(np.float32)
    y = (x.sum(1) > 0).astype(np.int32) + (x[:, 0] > 1)
    return tf1.data.Dataset.from_tensor_slices(({"x": x}, y)).repeat().batch(16)


def model_fn(features, labels, mode):
    x = tf1.layers.dense(features["x"], 8, activation=tf1.nn.relu, name="hidden")
    logits = tf1.layers.dense(x, 3, name="logits")
    predictions = tf1.argmax(logits, 1)
    loss = train = metrics = None
    if mode != tf.estimator.ModeKeys.PREDICT:
        loss = tf1.losses.sparse_softmax_cross_entropy(labels, logits)
        train = tf1.train.AdagradOptimizer(0.1).minimize(loss, global_step=tf1.train.get_global_step())
        metrics = {"accuracy": tf1.metrics.accuracy(labels, predictions)}
    outputs = {"serving_default": tf1.estimator.export.ClassificationOutput(scores=tf1.nn.softmax(logits))}
    return tf1.estimator.EstimatorSpec(mode, predictions, loss, train, eval_metric_ops=metrics, export_outputs=outputs)


def main():
    folder, model, strategy = sys.argv[1:4]
    config = tf1.estimator.RunConfig(
        model_dir=folder, tf_random_seed=1, save_checkpoints_steps=20, save_summary_steps=10, log_step_count_steps=10, experimental_max_worker_delay_secs=0,
        train_distribute=tf1.distribute.experimental.ParameterServerStrategy() if strategy == "ps" else None)
    if model == "dnn":
        estimator = tf1.estimator.DNNClassifier([8, 4], [tf1.feature_column.numeric_column("x", 4)], n_classes=3, config=config)
    else:
        estimator = tf1.estimator.Estimator(model_fn, config=config)
    serving = tf1.estimator.export.build_parsing_serving_input_receiver_fn({"x": tf1.FixedLenFeature([4], tf.float32)})
    tf1.estimator.train_and_evaluate(
        estimator, tf1.estimator.TrainSpec(input_fn, max_steps=STEPS),
        tf1.estimator.EvalSpec(input_fn, steps=6, start_delay_secs=0, throttle_secs=0, exporters=tf1.estimator.LatestExporter("latest", serving)))
    task = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
    if task == "chief":
        reader = tf1.train.load_checkpoint(folder)
        names = sorted(reader.get_variable_to_shape_map())
        print(json.dumps(["step", int(reader.get_tensor("global_step"))]))
        print(json.dumps({n: reader.get_tensor(n).ravel().tolist() for n in names if n != "global_step"}))
    elif task == "evaluator":
        metrics = estimator.evaluate(input_fn, 6, name="last")
        print(json.dumps(["metrics", {n: float(v) for n, v in metrics.items() if n != "global_step"}, int(metrics["global_step"])]))
        print(json.dumps(["exports", bool(os.listdir(os.path.join(folder, "export", "latest")))]))
    print(json.dumps(["done", task]), flush=True)


main()
