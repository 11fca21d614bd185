"""Trains under MonitoredTrainingSessions, one after the other, until it is killed, or a file says that it is over.

Usage: cluster_soak.py CLUSTER DIR: servers are killed meanwhile. Checkpoints go to DIR; where DIR/over is there, the program ends.
Prints a line of JSON per session: the steps so far. Any error but what a lost server makes ends it with another exit code than 0.
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()


class Over(tf1.train.SessionRunHook):
    """Asks for the end after some steps, and when everything is over."""

    def __init__(self, file, steps):
        self.file, self.steps, self.done = file, steps, 0

    def after_run(self, run_context, run_values):
        self.done += 1
        if self.done >= self.steps or os.path.exists(self.file):
            run_context.request_stop()


def train(cluster, folder, steps):
    with tf1.Graph().as_default():
        with tf1.device(tf1.train.replica_device_setter(worker_device="/job:worker/task:0", cluster=cluster)):
            step = tf1.train.get_or_create_global_step()
            x = tf1.placeholder(tf.float32, [None, 8])
            fixed = tf1.get_variable("fixed", initializer=np.arange(8, dtype=np.float32).reshape(8, 1), trainable=False)
            w = tf1.get_variable("w", [8, 1], initializer=tf1.zeros_initializer())
            exact = tf1.matmul(x, fixed)
            loss = tf1.losses.mean_squared_error(exact, tf1.matmul(x, w))
            update = tf1.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
        rng, last = np.random.default_rng(1), 0
        with tf1.train.MonitoredTrainingSession(
                "grpc://" + cluster["worker"][0], checkpoint_dir=folder, hooks=[Over(os.path.join(folder, "over"), steps)],
                save_checkpoint_steps=50, save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
                config=tf1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])) as s:
            while not s.should_stop():
                batch = rng.integers(0, 4, (16, 8)).astype(np.float32)
                values, error, _, last = s.run([exact, loss, update, step], {x: batch})
                if not np.array_equal(values[:, 0], batch @ np.arange(8, dtype=np.float32)) or not np.isfinite(error):
                    raise AssertionError("wrong result at step %d: %r, loss %r" % (last, values, error))
        return int(last)


def main():
    cluster, folder = json.loads(sys.argv[1]), sys.argv[2]
    lost = 0
    while not os.path.exists(os.path.join(folder, "over")):
        try:
            print(json.dumps(["step", train(cluster, folder, 300), "lost", lost]), flush=True)
        except (tf.errors.AbortedError, tf.errors.UnavailableError) as e:  # while it was saved, or at its end
            lost += 1
            print(json.dumps(["lost", str(e)[:200]]), flush=True)


main()
