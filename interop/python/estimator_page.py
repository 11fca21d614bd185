"""Runs the Python side of docs/migrate.md, from JSON on standard input: "blocks" of programs, and "names" that TensorFlow must have.

Each block is a part of a program; what it lacks is here: data, a first model, the graph around two losses.
Prints one line for each block.
"""

import json
import sqlite3
import sys
import tempfile

import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")
page = json.load(sys.stdin)
blocks = page["blocks"]
unknown = []
for name in page["names"]:
    of = tf
    for part in name.split(".")[1:]:
        of = getattr(of, part, None)
    if of is None:
        unknown.append(name)
assert not unknown, unknown
rng = np.random.default_rng(1)
pictures = {"image": rng.random((64, 28, 28)).astype(np.float32)}
digits = rng.integers(0, 10, 64)


def batches(features, labels):
    return lambda: tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(16)


def trained(est, features, labels):
    est.train(batches(features, labels), steps=2)
    assert est.get_variable_value("global_step") == 2
    return est


def premade(ns):
    people = {"age": rng.random(64).astype(np.float32), "sex": np.array(["male", "female"] * 32)}
    trained(ns["est"], people, rng.integers(0, 2, 64))


def head(ns):
    ns["first"] = trained(ns["est"], pictures, digits)


def two_inputs(ns):
    rows = {"picture": rng.random((64, 9)).astype(np.float32), "number": rng.random((64, 1)).astype(np.float32)}
    est = trained(tf.estimator.Estimator(ns["model_fn"]), rows, rng.random((64, 1)).astype(np.float32))
    assert "sum" in next(est.predict(lambda: tf.data.Dataset.from_tensor_slices(rows).batch(4)))


def two_heads(ns):
    labels = {"inside": rng.integers(0, 2, (64, 1)), "distance": rng.random((64, 1)).astype(np.float32)}
    trained(ns["est"], {"point": rng.random((64, 2)).astype(np.float32)}, labels)


def frozen(ns):
    before = ns["first"].get_variable_value("dense/kernel")
    second = trained(ns["second"], pictures, digits)
    assert (second.get_variable_value("dense/kernel") == before).all()


def generator(ns):
    ns["connection"] = sqlite3.connect(":memory:", check_same_thread=False)
    ns["connection"].execute("create table plant (wind real, sun real, power real)")
    ns["connection"].executemany("insert into plant values (?, ?, ?)", [(i, 2 * i, 3 * i) for i in range(70)])
    shapes = [power.shape[0] for _, power in ns["input_fn"]()]
    assert shapes == [64, 6], shapes


def lion(ns):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.get_variable("x", initializer=[1.0, -2.0])
        step = ns["Lion"](0.1).minimize(tf.reduce_sum(x * x))
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(step)
        value = session.run(x)
    assert np.allclose(value, [1 - 0.1 * 1.01, -2 + 0.1 * 1.02]), value


def gan(text, ns):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        own = {"tf": tf, "mode": tf.estimator.ModeKeys.TRAIN}
        step = tf.compat.v1.train.get_or_create_global_step()
        for name in "g", "d":
            with tf.compat.v1.variable_scope({"g": "generator", "d": "discriminator"}[name]):
                own[name + "_loss"] = tf.reduce_sum(tf.compat.v1.get_variable("w", initializer=[1.0]) ** 2)
        exec(text, own)
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(own["spec"].train_op)
        assert session.run(step) == 1


def custom_loop(text, ns):
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
    own = {
        "tf": tf,
        "dataset": tf.data.Dataset.from_tensor_slices((rng.random((256, 784)).astype(np.float32), rng.integers(0, 10, 256))),
        "make_model": lambda: tf.keras.Sequential([tf.keras.layers.Dense(10)]),
        "loss_of": tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none"),
    }
    exec(text, own)
    assert own["optimizer"].iterations.numpy() == 2 and float(own["loss"]) > 0


# What is done with each block, by a text that it has.
RUNS = [
    ("DNNClassifier", premade), ("MultiHead(", two_heads), ("WarmStartSettings", frozen), ('features["picture"]', two_inputs),
    ("MultiClassHead", head), ("from_generator", generator), ("class Lion", lion), ("g_loss", gan), ("MirroredStrategy", custom_loop),
]
kept = {}
# A process makes its logical devices before anything is computed.
order = sorted(range(len(blocks)), key=lambda i: "MirroredStrategy" not in blocks[i])
for i in order:
    text = blocks[i]
    run = next(run for mark, run in RUNS if mark in text)
    ns = {"tf": tf, **kept}
    if run in (gan, custom_loop):
        run(text, ns)
    else:
        # Each model has a folder of its own: those without one get a temporary one.
        exec(text.replace('model_dir="run"', f"model_dir={tempfile.mkdtemp()!r}"), ns)
        run(ns)
    if "first" in ns:
        kept["first"] = ns["first"]
    print(run.__name__)
