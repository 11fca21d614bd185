"""coordinator.py IN OUT: TensorFlow's tutorial of parameter servers, its custom training loop, for coordinator_test.go.

IN has examples (features, label), initial values by our names, and the numbers of workers, epochs and steps. The cluster
is in this process. OUT gets the shapes of the embedding's shards, the loss of each step, each epoch's accuracy, and both
evaluations.
"""
import socket
import sys

import numpy as np
import tensorflow as tf

import exchange

VOCABULARY = ["avenger", "ironman", "batman", "hulk", "spiderman", "kingkong", "wonder_woman"]
BATCH, SERVERS = 32, 2


def in_process_cluster(workers):
    """A resolver of servers that run here, on free ports."""
    held = [socket.create_server(("localhost", 0)) for _ in range(workers + SERVERS)]
    hosts = ["localhost:%d" % s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    spec = tf.train.ClusterSpec({"worker": hosts[:workers], "ps": hosts[workers:]})
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=4)  # fewer than tasks lead to a dead lock
    for job, n in ("worker", workers), ("ps", SERVERS):
        for i in range(n):
            tf.distribute.Server(spec, job_name=job, task_index=i, config=config, protocol="grpc")
    return tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")


def assign(layer_weights, value):
    """Sets a variable, which may be in shards."""
    at = 0
    for w in layer_weights:
        w.assign(value[at : at + w.shape[0]])
        at += w.shape[0]
    assert at == len(value), (at, value.shape)


class Model:
    """The tutorial's model, with our initial values."""

    def __init__(self, initial):
        self.words = tf.keras.layers.StringLookup(vocabulary=VOCABULARY, mask_token="")
        self.labels = tf.keras.layers.StringLookup(vocabulary=["yes", "no"], num_oov_indices=0, mask_token=None)
        ids = tf.keras.Input(shape=(3,), dtype="int64")
        embedding = tf.keras.layers.Embedding(self.words.vocabulary_size(), 20)
        dense = tf.keras.layers.Dense(1, activation="sigmoid")
        self.net = tf.keras.Model(ids, dense(tf.reduce_mean(embedding(ids), axis=1)))
        self.optimizer = tf.keras.optimizers.legacy.RMSprop(0.1)
        self.shards = [list(w.shape) for w in embedding.weights]
        assign(embedding.weights, initial["embedding/embeddings"])
        assign(dense.weights[:-1], initial["dense/kernel"])
        assign(dense.weights[-1:], initial["dense/bias"])

    def dataset(self, features, label):
        ds = tf.data.Dataset.from_tensor_slices((features, label[:, None]))
        return ds.map(lambda x, y: (self.words(x), self.labels(y)))


def main(source, out):
    data = exchange.load(source)
    workers, epochs, steps = (int(data[n]) for n in ("workers", "epochs", "steps"))
    strategy = tf.distribute.ParameterServerStrategy(
        in_process_cluster(workers), variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(SERVERS))
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    features, label = data["features"].astype("S"), data["label"].astype("S")
    with strategy.scope():
        model = Model(data)
        accuracy = tf.keras.metrics.Accuracy()
        eval_accuracy = tf.keras.metrics.Accuracy()

    @tf.function
    def step(iterator):
        def replica(ids, labels):
            with tf.GradientTape() as tape:
                pred = model.net(ids, training=True)
                each = tf.keras.losses.BinaryCrossentropy(reduction=tf.keras.losses.Reduction.NONE)(labels, pred)
                loss = tf.nn.compute_average_loss(each)
            gradients = tape.gradient(loss, model.net.trainable_variables)
            model.optimizer.apply_gradients(zip(gradients, model.net.trainable_variables))
            accuracy.update_state(labels, tf.cast(pred > 0.5, tf.int64))
            return loss

        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, args=next(iterator)), axis=None)

    @tf.function
    def eval_step(iterator):
        def replica(ids, labels):
            eval_accuracy.update_state(labels, tf.cast(model.net(ids, training=False) > 0.5, tf.int64))

        strategy.run(replica, args=next(iterator))

    def per_worker(ds):
        made = coordinator.create_per_worker_dataset(lambda: strategy.distribute_datasets_from_function(lambda _: ds()))
        return iter(made)

    results, accuracies = [], []
    training = per_worker(lambda: model.dataset(features, label).repeat().batch(BATCH))
    for _ in range(epochs):
        accuracy.reset_state()
        results += [coordinator.schedule(step, args=(training,)) for _ in range(steps)]
        coordinator.join()
        accuracies.append(accuracy.result().numpy())
    losses = coordinator.fetch(results)

    direct = tf.keras.metrics.Accuracy()
    for ids, labels in model.dataset(features, label).batch(BATCH):
        direct.update_state(labels, tf.cast(model.net(ids, training=False) > 0.5, tf.int64))
    held = per_worker(lambda: model.dataset(features, label).repeat().batch(BATCH))
    for _ in range(len(features) // BATCH):
        coordinator.schedule(eval_step, args=(held,))
    coordinator.join()
    exchange.save(out, {
        "shards": np.array(model.shards, np.int64), "losses": np.array(losses, np.float32), "accuracy": np.array(accuracies, np.float32),
        "direct": np.float32(direct.result().numpy()), "distributed": np.float32(eval_accuracy.result().numpy())})
    print("accuracy", accuracies, "direct", float(direct.result()), "distributed", float(eval_accuracy.result()))


main(*sys.argv[1:])
