"""Runs TensorFlow's tutorial on parameter server training: Model.fit, the loop of a ClusterCoordinator, evaluation there and beside it.

Usage: cluster_tf2_tutorial.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses. This process is the coordinator.
It prints a JSON object of lists of numbers. With one worker they are the same from run to run.
"""

import contextlib
import glob
import json
import os
import random
import sys

import numpy as np
import tensorflow as tf

FEATURES = ["avenger", "ironman", "batman", "hulk", "spiderman", "kingkong", "wonder_woman"]
LABELS = ["yes", "no"]

results = {}


def show(name, *values):
    results[name] = [float(v) for value in values for v in np.asarray(value, np.float64).ravel()]


def fit(strategy, folder):
    """Model.fit with a DatasetCreator and with a dataset, the callbacks of the tutorial."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(10, 10)).astype(np.float32)
    y = x.sum(axis=1)

    def dataset_fn(context=None):
        del context
        return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10).repeat().batch(10).prefetch(2)

    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        scale = tf.keras.layers.Normalization()
        scale.adapt(x)
        model = tf.keras.Sequential([scale, tf.keras.layers.Dense(10, activation="relu"), tf.keras.layers.Dropout(0.1), tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.legacy.SGD(0.01), loss="mse", metrics=["mae"], steps_per_execution=5)
    callbacks = [
        tf.keras.callbacks.TensorBoard(log_dir=os.path.join(folder, "log")),
        tf.keras.callbacks.ModelCheckpoint(filepath=os.path.join(folder, "ckpt"), save_weights_only=True),
        tf.keras.callbacks.BackupAndRestore(backup_dir=os.path.join(folder, "backup")),
    ]
    creator = tf.keras.utils.experimental.DatasetCreator(dataset_fn)
    history = model.fit(creator, epochs=2, steps_per_epoch=20, verbose=0)
    more = model.fit(dataset_fn(), epochs=3, steps_per_epoch=20, callbacks=callbacks, verbose=0)
    show("losses of fit", history.history["loss"], more.history["loss"], more.history["mae"])
    show("steps of the optimizer", model.optimizer.iterations)
    evaluated = model.evaluate(creator, steps=10, verbose=0)
    show("evaluate", evaluated)
    show("files", bool(glob.glob(os.path.join(folder, "log", "train", "*"))), bool(glob.glob(os.path.join(folder, "ckpt*.index"))))

    before = [v.numpy() for v in model.variables]
    for v in model.trainable_variables:
        v.assign(tf.zeros_like(v))
    saved = os.path.join(folder, "weights")
    model.save_weights(saved)
    show("zeros", *(np.abs(v.numpy()).sum() for v in model.trainable_variables))
    for v, old in zip(model.variables, before):
        v.assign(old)
    model.load_weights(saved)
    show("restored", *(np.abs(v.numpy()).sum() for v in model.trainable_variables))


def example_set(count):
    rng = random.Random(7)
    drawn = [rng.sample(FEATURES, 3) for _ in range(count)]
    return {"features": drawn, "label": [["yes" if "avenger" in d else "no"] for d in drawn]}


def lookups():
    """The layers that make numbers of words, as models."""
    feature = tf.keras.layers.StringLookup(vocabulary=FEATURES, mask_token=None)
    label = tf.keras.layers.StringLookup(vocabulary=LABELS, num_oov_indices=0, mask_token=None)
    raw_feature = tf.keras.layers.Input(shape=(3,), dtype=tf.string, name="feature")
    raw_label = tf.keras.layers.Input(shape=(1,), dtype=tf.string, name="label")
    return tf.keras.Model({"features": raw_feature}, feature(raw_feature)), tf.keras.Model({"label": raw_label}, label(raw_label))


def network():
    words = tf.keras.layers.Input(shape=(3,), dtype=tf.int64, name="model_input")
    embedding = tf.keras.layers.Embedding(input_dim=len(FEATURES) + 1, output_dim=256)
    mean = tf.reduce_mean(embedding(words), axis=1)
    out = tf.keras.layers.Dense(1, activation="sigmoid", kernel_regularizer=tf.keras.regularizers.L2(1e-4))(mean)
    return tf.keras.Model({"features": words}, out), embedding


def numbered(stages, examples):
    """The examples as numbers."""
    features, labels = stages
    return tf.data.Dataset.from_tensor_slices(examples).map(lambda x: ({"features": features(x["features"])}, labels(x["label"])))


def loop(strategy, coordinator, folder):
    """The tutorial's loop of its own."""
    tf.keras.utils.set_random_seed(2)
    with strategy.scope():
        stages = lookups()
        model, embedding = network()
        optimizer = tf.keras.optimizers.legacy.RMSprop(learning_rate=0.1)
        accuracy = tf.keras.metrics.Accuracy()
        eval_accuracy = tf.keras.metrics.Accuracy()
    show("shards", len(embedding.weights), len({w.device for w in embedding.weights}))
    examples = example_set(200)

    def dataset_fn(_):
        return numbered(stages, examples).shuffle(200).batch(32).repeat()

    @tf.function
    def step_fn(iterator):
        def replica_fn(batch, labels):
            with tf.GradientTape() as tape:
                pred = model(batch, training=True)
                each = tf.keras.losses.BinaryCrossentropy(reduction=tf.keras.losses.Reduction.NONE)(labels, pred)
                loss = tf.nn.compute_average_loss(each)
                if model.losses:
                    loss += tf.nn.scale_regularization_loss(tf.add_n(model.losses))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            accuracy.update_state(labels, tf.cast(tf.greater(pred, 0.5), tf.int64))
            return loss

        batch, labels = next(iterator)
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica_fn, args=(batch, labels)), axis=None)

    @tf.function
    def eval_step(iterator):
        def replica_fn(batch, labels):
            eval_accuracy.update_state(labels, tf.cast(tf.greater(model(batch, training=False), 0.5), tf.int64))

        batch, labels = next(iterator)
        strategy.run(replica_fn, args=(batch, labels))

    @tf.function
    def per_worker_dataset_fn():
        return strategy.distribute_datasets_from_function(dataset_fn)

    iterator = iter(coordinator.create_per_worker_dataset(per_worker_dataset_fn))
    accuracies = []
    for _ in range(4):
        accuracy.reset_states()
        for _ in range(10):
            coordinator.schedule(step_fn, args=(iterator,))
        coordinator.join()
        accuracies.append(accuracy.result().numpy())
    loss = coordinator.schedule(step_fn, args=(iterator,))
    coordinator.join()
    show("the loop", accuracies, loss.fetch(), coordinator.done())
    show("steps of the loop", optimizer.iterations)

    right = tf.keras.metrics.Accuracy()
    for batch, labels in numbered(stages, example_set(16)).batch(8):
        right.update_state(labels, tf.cast(tf.greater(model(batch, training=False), 0.5), tf.int64))
    show("evaluation by the coordinator", right.result())
    evaluation = iter(coordinator.create_per_worker_dataset(lambda: numbered(stages, example_set(16)).shuffle(16).repeat().batch(8)))
    for _ in range(5):
        coordinator.schedule(eval_step, args=(evaluation,))
    coordinator.join()
    show("evaluation on workers", eval_accuracy.result())

    checkpoints = os.path.join(folder, "sidecar")
    tf.train.CheckpointManager(tf.train.Checkpoint(model=model, optimizer=optimizer), checkpoints, max_to_keep=1).save()
    sidecar(stages, checkpoints)


def sidecar(stages, checkpoints):
    """Evaluates a checkpoint with a model outside the strategy."""
    words = network()[0]
    words.compile(metrics=[tf.keras.metrics.BinaryAccuracy()], optimizer=tf.keras.optimizers.legacy.RMSprop(), loss=tf.keras.losses.BinaryCrossentropy())
    seen = {}
    evaluator = tf.keras.utils.SidecarEvaluator(model=words, data=numbered(stages, example_set(16)).batch(8), checkpoint_dir=checkpoints, steps=2, max_evaluations=1,
                                                 callbacks=[tf.keras.callbacks.LambdaCallback(on_test_end=seen.update)])
    with contextlib.redirect_stdout(sys.stderr):
        evaluator.start()
    show("side-car", seen["binary_accuracy"])


def main():
    cluster, folder = tf.train.ClusterSpec(json.loads(sys.argv[1])), sys.argv[2]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    shards = tf.distribute.experimental.partitioners.MinSizePartitioner(min_shard_bytes=1 << 10, max_shards=2)
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=shards)
    fit(strategy, folder)
    loop(strategy, tf.distribute.coordinator.ClusterCoordinator(strategy), folder)
    print(json.dumps(results))


main()
