"""Trains with a ClusterCoordinator until a parameter server is lost; run again, it goes on from the checkpoint.

Usage: cluster_tf2_restart.py CLUSTER DIR: it prints its losses, and in the first run "kill", to ask for the end of ps 0, and whether the error that follows
names a parameter server.
"""

import json
import os
import sys
import time

import numpy as np
import tensorflow as tf


def main():
    cluster, folder = tf.train.ClusterSpec(json.loads(sys.argv[1])), os.path.join(sys.argv[2], "restart")
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    shards = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=shards)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((20, 8, 4)).astype(np.float32)
    y = x.sum(axis=2, keepdims=True)
    with strategy.scope():
        w = tf.Variable(np.zeros((4, 1), np.float32))
        optimizer = tf.keras.optimizers.Adagrad(0.5)
        optimizer.build(list(w.variables))
    checkpoint = tf.train.Checkpoint(w=w, optimizer=optimizer)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    first = manager.latest_checkpoint is None
    if not first:
        checkpoint.restore(manager.latest_checkpoint).assert_consumed()

    def replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.matmul(x, tf.convert_to_tensor(w)) - y) ** 2)
        variables = list(w.variables)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    @tf.function
    def step(x, y):
        return strategy.run(replica, args=(x, y))

    def train(i):
        loss = coordinator.schedule(step, args=(tf.constant(x[i]), tf.constant(y[i])))
        coordinator.join()
        return float(loss.fetch())

    losses = []
    while (i := int(optimizer.iterations.numpy())) < (10 if first else 20):
        losses.append(train(i))
    if not first:
        print(json.dumps(losses), flush=True)
        os._exit(0)
    manager.save()
    print(json.dumps(losses))
    print("kill", flush=True)
    try:
        for _ in range(600):
            train(0)
            time.sleep(0.1)
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as e:
        print(json.dumps("/job:ps" in str(e)), flush=True)
    os._exit(0)  # the coordinator's threads still ask for the server that was lost


main()
