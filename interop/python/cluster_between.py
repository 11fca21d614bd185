"""Is a worker of between-graph replication: each worker's process builds the same graph and trains in its own session.

Usage: cluster_between.py CLUSTER DIR INDEX STEPS: INDEX is the worker's, 0 is the chief; DIR takes checkpoints and summaries;
all workers together train STEPS steps. The worker's loss at the end is printed as a line of JSON; steps are logged.
"""

import json
import sys

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.logging.set_verbosity(tf1.logging.INFO)


def data(worker):
    rng = np.random.default_rng(worker)
    x = rng.standard_normal((64, 3)).astype(np.float32)
    return x, x @ np.array([[1.0], [-2.0], [3.0]], np.float32) + 0.5 + 0.3 * rng.standard_normal((64, 1)).astype(np.float32)


def tags(file):
    """Returns the tags of the summaries in a file; a chief that was killed may have left it with half a record."""
    found = set()
    try:
        for event in tf1.train.summary_iterator(file):
            found.update(v.tag for v in event.summary.value)
    except tf.errors.DataLossError:
        pass
    return found


def main():
    cluster, folder, index, steps = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with tf1.device(tf1.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=cluster)):
        step = tf1.train.get_or_create_global_step()
        x, y = tf1.placeholder(tf.float32, [None, 3]), tf1.placeholder(tf.float32, [None, 1])
        w = tf1.get_variable("w", [3, 1], initializer=tf1.zeros_initializer())
        b = tf1.get_variable("b", [1], initializer=tf1.zeros_initializer())
        loss = tf1.losses.mean_squared_error(y, tf1.matmul(x, w) + b)
        train = tf1.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
        tf1.summary.scalar("loss", loss)
    features, labels = data(index)
    config = tf1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
    hooks = [tf1.train.StopAtStepHook(last_step=steps), tf1.train.LoggingTensorHook({"step": step}, every_n_iter=10)]
    batch = 0
    with tf1.train.MonitoredTrainingSession(
            master="grpc://" + cluster["worker"][index], is_chief=index == 0, checkpoint_dir=folder, hooks=hooks,
            save_checkpoint_steps=100, save_summaries_steps=50, config=config) as sess:
        while not sess.should_stop():
            rows = slice(16 * (batch % 4), 16 * (batch % 4) + 16)
            batch += 1
            sess.run(train, {x: features[rows], y: labels[rows]})
    if index == 0:  # what the last checkpoint holds
        reader = tf1.train.load_checkpoint(folder)
        error = features @ reader.get_tensor("w") + reader.get_tensor("b") - labels
        saved = int(reader.get_tensor("global_step"))
        print(json.dumps(["last checkpoint", steps <= saved < steps + 10, float(np.mean(error ** 2))]))
        print(json.dumps(["summaries", sorted(set().union(*map(tags, tf1.gfile.Glob(folder + "/events*"))))]))
    print(json.dumps(["worker", index]))


main()
