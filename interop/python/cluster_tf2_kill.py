"""Schedules functions on three workers while one of them is killed and started again, and prints what they gave, a line of JSON.

Usage: cluster_tf2_kill.py CLUSTER DIR: the line "kill" asks for the end of worker 1, "start" for its return.
"""

import json
import sys
import time

import tensorflow as tf


def main():
    cluster = tf.train.ClusterSpec(json.loads(sys.argv[1]))
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        runs = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def double(x):
        runs.assign_add(1)
        return 2 * x

    def results(count):
        values = [coordinator.schedule(double, args=(tf.constant(i),)) for i in range(count)]
        coordinator.join()
        return sorted(int(v.fetch()) for v in values)

    first = results(60)
    exactly = int(runs.numpy())
    print("kill", flush=True)
    killed = results(600)
    print("start", flush=True)
    back = None
    for _ in range(60):
        try:
            with tf.device("/job:worker/task:1"):
                back = int(double(tf.constant(21)))
            break
        except tf.errors.OpError:
            time.sleep(0.5)
    print(json.dumps([first, exactly, killed, back, results(60)]))


main()
