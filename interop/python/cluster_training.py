"""Trains models of TensorFlow 1 on a cluster and prints the losses: a JSON object of lists.

Usage: cluster_training.py CLUSTER DIR: CLUSTER is as for cluster_sessions.py; checkpoints go to DIR. The variables are on
two parameter servers.
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

OPTIMIZERS = {
    "sgd": lambda: tf1.train.GradientDescentOptimizer(0.1),
    "adagrad": lambda: tf1.train.AdagradOptimizer(0.1),
    "adam": lambda: tf1.train.AdamOptimizer(0.01),
    "momentum": lambda: tf1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "rmsprop": lambda: tf1.train.RMSPropOptimizer(0.01, momentum=0.5, centered=True),
    "ftrl": lambda: tf1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
}


class Model:
    """An embedding and two layers."""

    def __init__(self, optimizer, resource):
        rng = np.random.default_rng(0)
        with tf1.device(tf1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:0")):
            self.step = tf1.train.get_or_create_global_step()
            self.x, self.y, self.ids = tf1.placeholder(tf.float32, [None, 4]), tf1.placeholder(tf.int64, [None]), tf1.placeholder(tf.int64, [None])
            with tf1.variable_scope("m", use_resource=resource):
                embedding = tf1.get_variable("embedding", initializer=rng.standard_normal((7, 4)).astype(np.float32))
                w1 = tf1.get_variable("w1", initializer=rng.standard_normal((4, 8)).astype(np.float32))
                b1 = tf1.get_variable("b1", initializer=np.zeros(8, np.float32))
                w2 = tf1.get_variable("w2", initializer=rng.standard_normal((8, 3)).astype(np.float32))
            h = tf1.nn.relu(tf1.nn.xw_plus_b(self.x + tf1.nn.embedding_lookup(embedding, self.ids), w1, b1))
            self.loss = tf1.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=tf1.matmul(h, w2)))
            self.train = OPTIMIZERS[optimizer]().minimize(self.loss, global_step=self.step)
        self.feeds = [{self.x: rng.standard_normal((6, 4)), self.y: rng.integers(0, 3, 6), self.ids: rng.integers(0, 7, 6)} for _ in range(8)]

    def steps(self, session, feeds):
        return [float(session.run([self.loss, self.train], f)[0]) for f in feeds]


def supervised(target, folder):
    """Trains under a Supervisor in two sessions; the second one goes on from the first one's checkpoint."""
    losses = []
    for part in range(2):
        with tf1.Graph().as_default():
            m = Model("momentum", False)
            supervisor = tf1.train.Supervisor(logdir=folder, global_step=m.step, summary_op=None, save_model_secs=1000)
            with supervisor.managed_session(target) as s:
                losses += m.steps(s, m.feeds[4 * part:4 * part + 4]) + [int(s.run(m.step))]
                supervisor.saver.save(s, supervisor.save_path, global_step=m.step)
        tf1.Session.reset(target)
    return losses


def main():
    cluster, folder = json.loads(sys.argv[1]), sys.argv[2]
    target, losses = "grpc://" + cluster["worker"][0], {}
    for i, name in enumerate(OPTIMIZERS):
        with tf1.Graph().as_default(), tf1.Session(target) as s:
            m = Model(name, i % 2 == 0)
            s.run(tf1.global_variables_initializer())
            losses[name] = m.steps(s, m.feeds)
        tf1.Session.reset(target)
    for name in ("sgd", "adagrad", "adam"):
        for resource in (False, True):
            path = os.path.join(folder, "%s_%s" % (name, resource))
            for part in range(2):  # the second session goes on from the checkpoint
                with tf1.Graph().as_default():
                    m = Model(name, resource)
                    with tf1.train.MonitoredTrainingSession(target, checkpoint_dir=path, save_checkpoint_steps=3, log_step_count_steps=None) as s:
                        losses["%s %s %d" % (name, resource, part)] = m.steps(s, m.feeds[4 * part:4 * part + 4])
                        losses["step of %s %s %d" % (name, resource, part)] = [int(s.run(m.step))]
                tf1.Session.reset(target)
    losses["supervisor"] = supervised(target, os.path.join(folder, "supervised"))
    print(json.dumps(losses))


main()
