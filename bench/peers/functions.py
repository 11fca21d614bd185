"""functions.py FIXTURES: the coordinator of TensorFlow's ClusterCoordinator, which starts two parameter servers and three workers."""
import json
import os
import subprocess
import sys
import threading
import time

import link

import tensorflow as tf

RATE, CHECKED, SERVERS, WORKERS, BATCH = 0.1, 4, 2, 3, 64


def ports(n):
    import socket
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = ["127.0.0.1:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return found


def follow():
    """A server ends with the process that started it."""
    sys.stdin.read()
    os._exit(0)


def serve(resolver):
    threading.Thread(target=follow, daemon=True).start()
    tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc",
                         config=tf.compat.v1.ConfigProto(intra_op_parallelism_threads=link.THREADS)).join()


def coordinate(resolver):
    fixtures = link.Fixtures(sys.argv[1])
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(SERVERS))
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        table, kernel = (tf.keras.initializers.Constant(fixtures.weights[k]) for k in ("table", "kernel"))
        inputs = tf.keras.Input((3,), dtype=tf.int64)
        rows = tf.keras.layers.Embedding(9, 20, embeddings_initializer=table)(inputs)
        outputs = tf.keras.layers.Dense(1, activation="sigmoid", kernel_initializer=kernel)(tf.reduce_mean(rows, axis=1))
        model = tf.keras.Model(inputs, outputs)
        optimizer = tf.keras.optimizers.legacy.RMSprop(learning_rate=RATE)
        accuracy = tf.keras.metrics.Accuracy()
    entropy = tf.keras.losses.BinaryCrossentropy(reduction=tf.keras.losses.Reduction.NONE)

    def replica(x, y):
        with tf.GradientTape() as tape:
            predicted = model(x, training=True)
            loss = tf.nn.compute_average_loss(entropy(y, predicted))
            gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        accuracy.update_state(y, tf.cast(tf.greater(predicted, 0.5), tf.int64))
        return loss

    @tf.function
    def step(iterator):
        x, y = next(iterator)
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, args=(x, y)), axis=None)

    @tf.function
    def empty():
        return

    @tf.function
    def data():
        whole = tf.data.Dataset.from_tensor_slices((fixtures.x, fixtures.y))
        return strategy.distribute_datasets_from_function(lambda _: whole.repeat().batch(BATCH, drop_remainder=True).prefetch(2))

    iterator = iter(coordinator.create_per_worker_dataset(data))
    losses = [float(coordinator.schedule(step, args=(iterator,)).fetch()) for _ in range(CHECKED)]

    def run(steps, case):
        begun = time.perf_counter()
        for _ in range(steps):
            if case == "empty":
                coordinator.schedule(empty)
            else:
                coordinator.schedule(step, args=(iterator,))
        coordinator.join()
        return time.perf_counter() - begun

    link.serve(tf.__version__, {"tutorial": losses}, run)


def main():
    if "TF_CONFIG" in os.environ:
        serve(tf.distribute.cluster_resolver.TFConfigClusterResolver())
        return
    free = ports(1 + SERVERS + WORKERS)
    cluster = {"chief": free[:1], "ps": free[1:1 + SERVERS], "worker": free[1 + SERVERS:]}
    tasks = []
    for job in ("ps", "worker"):
        for i in range(len(cluster[job])):
            config = json.dumps({"cluster": cluster, "task": {"type": job, "index": i}})
            tasks.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), sys.argv[1]], stdin=subprocess.PIPE,
                                          stdout=subprocess.DEVNULL, env=dict(os.environ, TF_CONFIG=config, GRPC_FAIL_FAST="use_caller")))
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}})
    try:
        coordinate(tf.distribute.cluster_resolver.TFConfigClusterResolver())
    finally:
        for t in tasks:
            t.kill()
        os._exit(0)  # TensorFlow takes seconds to tear down, and nothing is left to do


main()
