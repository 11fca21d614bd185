"""Trains an Estimator with tf.estimator.train_and_evaluate as the task that TF_CONFIG names.

Usage: cluster_estimator.py DIR MODEL STRATEGY: MODEL is one of MODELS; STRATEGY is ps (ParameterServerStrategy) or none
(replica_device_setter by TF_CONFIG). The chief prints what the last checkpoint holds, the evaluator its last metrics, as lines
of JSON. Where other workers train, too, values depend on who comes first: the shapes of variables are printed then.
"""

import json
import os
import sys
import time

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.INFO)

STEPS = 60  # where the chief trains alone
TOGETHER = 200  # where others train, too


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


def numeric():
    return [tf1.feature_column.numeric_column("x", 4)]


def dnn(config):
    return tf1.estimator.DNNClassifier([8, 4], numeric(), n_classes=3, config=config)


def linear(config):
    return tf1.estimator.LinearClassifier(numeric(), n_classes=3, config=config)


def combined(config):
    buckets = tf1.feature_column.bucketized_column(tf1.feature_column.numeric_column("x", 4), [-1.0, 0.0, 1.0])
    return tf1.estimator.DNNLinearCombinedClassifier(linear_feature_columns=[buckets], dnn_feature_columns=numeric(), dnn_hidden_units=[8, 4], n_classes=3, config=config)


def custom(config):
    return tf1.estimator.Estimator(model_fn, config=config)


MODELS = {m.__name__: m for m in (dnn, linear, combined, custom)}


def reached(step, workers):
    """Shows the step where one task trains; each of several may have begun one more or two when the last one was made."""
    return step if workers == 0 else TOGETHER <= step <= TOGETHER + 2 * (workers + 1)


class Together(tf1.train.SessionRunHook):
    """Lets a task go on after its first step when all have made theirs. A chief is fast enough to be done before others begin."""

    def __init__(self, folder, task, workers):
        self.mine = os.path.join(folder, "trains-%s-%d" % (task["type"], task["index"]))
        self.tasks = workers + 1
        self.runs = 0

    def before_run(self, run_context):
        while self.runs == 1 and len(tf1.gfile.Glob(os.path.join(os.path.dirname(self.mine), "trains-*"))) < self.tasks:
            time.sleep(0.01)

    def after_run(self, run_context, run_values):
        self.runs += 1
        if self.runs == 1:
            open(self.mine, "w").close()


def checkpoint(folder, workers):
    """Prints what the last checkpoint holds."""
    reader = tf1.train.load_checkpoint(folder)
    shapes = reader.get_variable_to_shape_map()
    del shapes["global_step"]
    print(json.dumps(["step", reached(int(reader.get_tensor("global_step")), workers)]))
    print(json.dumps({n: shapes[n] if workers else reader.get_tensor(n).ravel().tolist() for n in sorted(shapes)}))


def main():
    folder, model, strategy = sys.argv[1:4]
    tf_config = json.loads(os.environ["TF_CONFIG"])
    task, workers = tf_config["task"], len(tf_config["cluster"].get("worker", []))
    config = tf1.estimator.RunConfig(
        model_dir=folder, tf_random_seed=1, save_checkpoints_steps=20, keep_checkpoint_max=None,
        save_summary_steps=10, log_step_count_steps=10, experimental_max_worker_delay_secs=0,
        train_distribute=tf1.distribute.experimental.ParameterServerStrategy() if strategy == "ps" else None)
    estimator = MODELS[model](config)
    serving = tf1.estimator.export.build_parsing_serving_input_receiver_fn({"x": tf1.FixedLenFeature([4], tf.float32)})
    hooks = [Together(folder, task, workers)] if workers else None
    tf1.estimator.train_and_evaluate(
        estimator, tf1.estimator.TrainSpec(input_fn, max_steps=TOGETHER if workers else STEPS, hooks=hooks),
        tf1.estimator.EvalSpec(input_fn, steps=6, start_delay_secs=0, throttle_secs=0, exporters=tf1.estimator.LatestExporter("latest", serving)))
    if task["type"] == "chief":
        checkpoint(folder, workers)
    elif task["type"] == "evaluator":
        metrics = estimator.evaluate(input_fn, 6, name="last")
        step = int(metrics.pop("global_step"))
        print(json.dumps(["metrics", {n: float(v) for n, v in metrics.items()}, reached(step, workers)]))
        print(json.dumps(["exports", bool(os.listdir(os.path.join(folder, "export", "latest")))]))
    print(json.dumps(["done", task]), flush=True)


main()
