"""Trains with in-graph replication: one graph has a copy of the model for each worker, and a thread runs each copy's train op.

Usage: cluster_threads.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses. It prints lines of JSON.
"""

import json
import sys
import threading

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

STEPS = 200  # of each worker


def data(worker):
    rng = np.random.default_rng(worker)
    x = rng.standard_normal((64, 3)).astype(np.float32)
    return x, x @ np.array([[1.0], [-2.0], [3.0]], np.float32) + 0.5 + 0.3 * rng.standard_normal((64, 1)).astype(np.float32)


def count(cluster):
    """Clients with a session each add to the same counters at the same time: no addition may be lost."""
    with tf1.Graph().as_default():
        with tf1.device("/job:ps/task:1"):
            counters = [tf1.get_variable("n%d" % r, initializer=0, use_resource=r > 0) for r in range(2)]
            add = [tf1.assign_add(c, 1, use_locking=True) for c in counters]
        with tf1.Session("grpc://" + cluster["worker"][0]) as sess:
            sess.run(tf1.global_variables_initializer())

        def client(target):
            with tf1.Session(target, graph=add[0].graph) as sess:
                for _ in range(STEPS):
                    sess.run(add)

        threads = [threading.Thread(target=client, args=("grpc://" + address,)) for address in cluster["worker"] * 2]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        with tf1.Session("grpc://" + cluster["ps"][0]) as sess:
            return [int(n) for n in sess.run(counters)]


def main():
    cluster = json.loads(sys.argv[1])
    workers, ps = len(cluster["worker"]), len(cluster["ps"])
    step = tf1.train.get_or_create_global_step()
    losses, train_ops = [], []
    for i in range(workers):
        setter = tf1.train.replica_device_setter(ps_tasks=ps, worker_device="/job:worker/task:%d" % i)
        with tf1.device(setter), tf1.variable_scope("model", reuse=i > 0):
            x, y = map(tf1.constant, data(i))
            w = tf1.get_variable("w", [3, 1], initializer=tf1.zeros_initializer())
            b = tf1.get_variable("b", [1], initializer=tf1.zeros_initializer())
            losses.append(tf1.losses.mean_squared_error(y, tf1.matmul(x, w) + b))
            train_ops.append(tf1.train.GradientDescentOptimizer(0.02).minimize(losses[i], global_step=step))
    with tf1.Session("grpc://" + cluster["worker"][0]) as sess:
        sess.run(tf1.global_variables_initializer())
        coordinator = tf1.train.Coordinator()

        def train(i):
            with coordinator.stop_on_exception():
                for _ in range(STEPS):
                    sess.run(train_ops[i])

        threads = [threading.Thread(target=train, args=(i,)) for i in range(workers)]
        for t in threads:
            t.start()
        coordinator.join(threads)
        # Steps that read the same value count as one: use_locking is off, as it is by default.
        reached = int(sess.run(step))
        print(json.dumps(["steps", STEPS < reached <= STEPS * workers]))
        print(json.dumps(["losses", [float(l) for l in sess.run(losses)]]))
        print(json.dumps(["counts", count(cluster)]))
        print(json.dumps(["devices", [v.device for v in tf1.global_variables()]]))


main()
