"""Trains with SyncReplicasOptimizer: three workers, one as a backup, and prints a JSON object.

Usage: cluster_sync_replicas.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses. Each worker is a thread with a session
of its own. All have the same data, so that the mean of gradients is the same whichever workers' come first; how many steps
they make together is luck. The last steps are made without them, up to a fixed one.
"""

import json
import sys
import threading

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

SYNCHRONOUS, ALL = 12, 40


class Model:
    """Two embeddings and layers: of reference variables and of resource variables."""

    def __init__(self, cluster, worker):
        rng = np.random.default_rng(1)
        with tf1.device(tf1.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % worker)):
            self.step = tf1.train.get_or_create_global_step()
            ids, y = tf1.constant([3, 1, 3, 7, 0, 8], tf.int64), tf1.constant(rng.standard_normal((6, 1)).astype(np.float32))
            for resource in (False, True):
                with tf1.variable_scope("resource" if resource else "reference", use_resource=resource):
                    embedding = tf1.get_variable("embedding", initializer=rng.standard_normal((9, 4)).astype(np.float32))
                    w = tf1.get_variable("w", initializer=rng.standard_normal((4, 1)).astype(np.float32))
                    b = tf1.get_variable("b", initializer=np.zeros(1, np.float32))
                    y -= tf1.matmul(tf1.nn.embedding_lookup(embedding, ids), w) + b
            self.loss = tf1.reduce_mean(tf1.square(y))


def work(cluster, worker, ready, failed):
    """Is a worker. Others than the chief begin when the variables are there: before, they would look every 30 seconds."""
    if worker > 0:
        ready.wait()
    try:
        with tf1.Graph().as_default():
            m = Model(cluster, worker)
            o = tf1.train.SyncReplicasOptimizer(tf1.train.GradientDescentOptimizer(0.05), replicas_to_aggregate=2, total_num_replicas=3)
            with tf1.device(tf1.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % worker)):
                train = o.minimize(m.loss, global_step=m.step)
            hooks = [o.make_session_run_hook(worker == 0), tf1.train.StopAtStepHook(last_step=SYNCHRONOUS)]
            # The chief's queue runner may wait for gradients that nobody computes any more: the session waits for it first.
            with tf1.train.MonitoredTrainingSession("grpc://" + cluster["worker"][worker], is_chief=worker == 0, hooks=hooks, log_step_count_steps=None, stop_grace_period_secs=0.1) as s:
                ready.set()
                while not s.should_stop():
                    s.run(train)
    except Exception as e:  # pylint: disable=broad-except
        failed.append("%d: %s: %s" % (worker, type(e).__name__, e))
    finally:
        ready.set()


def main():
    cluster = json.loads(sys.argv[1])
    ready, failed = threading.Event(), []
    workers = [threading.Thread(target=work, args=(cluster, i, ready, failed)) for i in range(len(cluster["worker"]))]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    if failed:
        raise RuntimeError("\n".join(failed))
    with tf1.Graph().as_default(), tf1.Session("grpc://" + cluster["worker"][0]) as s:
        m = Model(cluster, 0)
        train = tf1.train.GradientDescentOptimizer(0.05).minimize(m.loss, global_step=m.step)
        together = int(s.run(m.step))
        if not SYNCHRONOUS <= together <= ALL:
            raise RuntimeError("%d steps together" % together)
        while s.run(m.step) < ALL:
            s.run(train)
        print(json.dumps({"loss": float(s.run(m.loss)), "variables": {v.op.name: s.run(v).ravel().tolist() for v in tf1.trainable_variables()}}))


main()
