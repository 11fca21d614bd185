"""Runs TensorFlow 2's ParameterServerStrategy and ClusterCoordinator on a cluster, and prints what they gave: a JSON object of lists.

Usage: cluster_tf2.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses. This process is the coordinator.
"""

import json
import sys

import numpy as np
import tensorflow as tf

results = {}


def show(name, *values):
    results[name] = [float(v) for value in values for v in np.asarray(value, np.float64).ravel()]


def fails(call):
    """Returns the code of the error, 0 for none."""
    try:
        call()
        return 0
    except tf.errors.OpError as e:
        return e.error_code


def single_ops():
    """Ops and functions on tasks that the program names, without the coordinator."""
    worker, ps = "/job:worker/task:0", "/job:ps/task:1"
    with tf.device(worker):
        a, b = tf.constant(2.0), tf.constant([3.0, 4.0])
        show("sum on a worker", a + b)
    with tf.device(ps):
        show("moved to a ps", (a + b) * 2)
        v, w = tf.Variable([1.0, 2.0]), tf.Variable([5.0, 6.0])
    v.assign_add([1.0, 1.0])
    show("variables", v, w)

    @tf.function
    def step(x):
        v.assign_add(x * w)
        return tf.reduce_sum(v), tf.shape(v), w

    with tf.device(worker):
        show("function on a worker", *step(b))
    show("function on the coordinator", *step(tf.constant([1.0, -1.0])))
    with tf.device(worker):
        show("error of an op", fails(lambda: tf.reshape(b, [3])), fails(lambda: tf.linalg.matmul([[1.0]], [[1.0], [2.0]])))
    show("after errors", v)


def branches():
    """Branches and loops in a function of a worker, with variables of parameter servers."""
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(3.0)

    @tf.function
    def collatz(n):
        steps = tf.constant(0)
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    @tf.function
    def choose(flag):
        if flag:
            v.assign_add(1.0)
        return v * 2.0

    with tf.device("/job:worker/task:0"):
        show("loop", collatz(tf.constant(27)))
        show("branch", choose(tf.constant(True)), choose(tf.constant(False)))


def batches(count, rng):
    return [(tf.constant(rng.standard_normal((8, 4)), tf.float32), tf.constant(rng.integers(0, 3, 8), tf.int32)) for _ in range(count)]


def by_hand(strategy, coordinator):
    """A linear model whose matrix is sharded, and an embedding."""
    rng = np.random.default_rng(0)
    with strategy.scope():
        w = tf.Variable(rng.standard_normal((4, 3)).astype(np.float32))
        embedding = tf.Variable(rng.standard_normal((6, 4)).astype(np.float32))
        steps = tf.Variable(0, dtype=tf.int64)
    variables = list(w.variables) + list(embedding.variables)

    @tf.function
    def step(x, y):
        def replica(x, y):
            with tf.GradientTape() as tape:
                logits = tf.matmul(x + tf.nn.embedding_lookup(embedding, y), tf.convert_to_tensor(w))
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            for v, g in zip(variables, tape.gradient(loss, variables)):
                if isinstance(g, tf.IndexedSlices):
                    v.scatter_sub(tf.IndexedSlices(0.1 * g.values, g.indices))
                else:
                    v.assign_sub(0.1 * g)
            steps.assign_add(1)
            return loss

        return strategy.run(replica, args=(x, y))

    losses = []
    for x, y in batches(6, rng):
        value = coordinator.schedule(step, args=(x, y))
        coordinator.join()
        losses.append(value.fetch())
    show("losses by hand", losses)
    show("places by hand", len(w.variables), len(embedding.variables), len({v.device for v in variables}))
    for x, y in batches(20, rng):
        coordinator.schedule(step, args=(x, y))
    coordinator.join()
    show("steps by hand", steps)


def keras(strategy, coordinator, optimizer):
    """The tutorial's loop: a model, an optimizer and a metric of Keras."""
    rng = np.random.default_rng(1)
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(8, activation="relu", kernel_initializer="zeros", input_shape=(4,)),
            tf.keras.layers.Dense(3, kernel_initializer="zeros"),
        ])
        rule = tf.keras.optimizers.get({"class_name": optimizer, "config": {"learning_rate": 0.05}})
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    for v in model.trainable_variables:
        v.assign(rng.standard_normal(v.shape).astype(np.float32))
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    @tf.function
    def step(x, y):
        def replica(x, y):
            with tf.GradientTape() as tape:
                logits = model(x, training=True)
                loss = tf.reduce_mean(loss_of(y, logits))
            rule.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            accuracy.update_state(y, logits)
            return loss

        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, args=(x, y)), axis=None)

    losses = []
    for x, y in batches(6, rng):
        value = coordinator.schedule(step, args=(x, y))
        coordinator.join()
        losses.append(value.fetch())
    show("losses of " + optimizer, losses)
    show("accuracy of " + optimizer, accuracy.result(), rule.iterations)
    show("prediction of " + optimizer, model(tf.ones((1, 4))))


def datasets(strategy, coordinator):
    """An iterator on each worker."""
    with strategy.scope():
        total = tf.Variable(0)

    @tf.function
    def step(iterator):
        batch = next(iterator)
        total.assign_add(tf.reduce_sum(batch))
        return batch

    data = coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(7, output_type=tf.int32).map(lambda x: x * x).shuffle(7, seed=1).repeat().batch(4))
    iterator, values = iter(data), []
    for _ in range(4):
        value = coordinator.schedule(step, args=(iterator,))
        coordinator.join()
        values.append(value.fetch())
    show("batches of a worker's dataset", values, total)


def words(strategy, coordinator):
    """The tutorial's preprocessing on the worker: layers that make numbers of words, in the function of a dataset."""
    names, rng = ["avenger", "ironman", "batman", "hulk"], np.random.default_rng(4)
    drawn = np.array([rng.choice(names + ["kingkong"], 2, replace=False) for _ in range(24)])
    labels = np.array([["yes" if "avenger" in d else "no"] for d in drawn])
    tf.keras.utils.set_random_seed(5)
    with strategy.scope():
        feature = tf.keras.layers.StringLookup(vocabulary=names, mask_token=None)
        label = tf.keras.layers.StringLookup(vocabulary=["yes", "no"], num_oov_indices=0, mask_token=None)
        model = tf.keras.Sequential([tf.keras.layers.Embedding(5, 8, input_length=2), tf.keras.layers.Flatten(), tf.keras.layers.BatchNormalization(),
                                     tf.keras.layers.Dropout(0.2), tf.keras.layers.Dense(1, activation="sigmoid")])
        rule = tf.keras.optimizers.legacy.RMSprop(0.1)
        accuracy = tf.keras.metrics.Accuracy()

    def replica(batch, labels):
        with tf.GradientTape() as tape:
            pred = model(batch, training=True)
            loss = tf.reduce_mean(tf.keras.losses.binary_crossentropy(labels, pred))
        rule.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        accuracy.update_state(labels, tf.cast(pred > 0.5, tf.int64))
        return loss

    @tf.function
    def step(iterator):
        return strategy.run(replica, args=next(iterator))

    data = coordinator.create_per_worker_dataset(lambda: strategy.distribute_datasets_from_function(
        lambda _: tf.data.Dataset.from_tensor_slices((drawn, labels)).map(lambda x, y: (feature(x), label(y))).shuffle(24).batch(8).repeat()))
    iterator, losses = iter(data), []
    for _ in range(6):
        value = coordinator.schedule(step, args=(iterator,))
        coordinator.join()
        losses.append(value.fetch())
    show("losses of words", losses, accuracy.result())


def fit(strategy):
    """Model.fit with a dataset, which the worker takes as a description."""
    x = np.random.default_rng(6).uniform(size=(12, 3)).astype(np.float32)
    tf.keras.utils.set_random_seed(7)
    with strategy.scope():
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.range(12), tf.constant(x.sum(axis=1))), 0.0)
        model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.SGD(0.05, momentum=0.9), loss="mse", metrics=["mae"], steps_per_execution=3)
    data = tf.data.Dataset.range(12, output_type=tf.int32).map(lambda i: (tf.gather(x, i), table.lookup(i))).shuffle(12).repeat().batch(4)
    history = model.fit(data, epochs=2, steps_per_epoch=6, verbose=0).history
    show("losses of fit", history["loss"], history["mae"])


def errors(strategy, coordinator):
    """A function that fails makes join fail; what is scheduled later runs."""
    with strategy.scope():
        runs = tf.Variable(0)

    @tf.function
    def step(bad):
        tf.debugging.assert_equal(bad, 0)
        runs.assign_add(1)
        return bad

    def all_of():
        for bad in (0, 1):
            coordinator.schedule(step, args=(tf.constant(bad),))
        coordinator.join()

    show("code of a failed function", fails(all_of))
    value = coordinator.schedule(step, args=(tf.constant(0),))
    coordinator.join()
    show("after a failed function", value.fetch(), coordinator.done())


def main():
    cluster = tf.train.ClusterSpec(json.loads(sys.argv[1]))
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    shards = tf.distribute.experimental.partitioners.MinSizePartitioner(min_shard_bytes=16, max_shards=2)
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=shards)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    single_ops()
    branches()
    by_hand(strategy, coordinator)
    keras(strategy, coordinator, "Adam")
    datasets(strategy, coordinator)
    words(strategy, coordinator)
    fit(strategy)
    errors(strategy, coordinator)
    print(json.dumps(results))


main()
