"""v1_control.py OUT: graphs with the control flow of TensorFlow 1, and what they compute."""
import os
import sys

import numpy as np
import tensorflow as tf

import exchange

v1 = tf.compat.v1
v1.disable_v2_behavior()
v1.disable_control_flow_v2()
out = sys.argv[1]


def power(x, n):
    """A loop with something that stays the same, and a variable that is read in it."""
    w = v1.get_variable("w", initializer=np.float32([1.5, -0.5]), use_resource=True)
    _, y = tf.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, y * w + x), [tf.constant(0), x])
    return {"y": y}


def nested(x, n):
    def row(i, total):
        _, inner = tf.while_loop(lambda j, _: j <= i, lambda j, t: (j + 1, t + x * tf.cast(j, tf.float32)), [tf.constant(0), total])
        return i + 1, inner
    i, y = tf.while_loop(lambda i, _: i < n, row, [tf.constant(0), tf.zeros_like(x)])
    return {"y": y, "i": i}


def growing(x, n):
    _, y = tf.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, tf.concat([y, x * 2.0], 0)), [tf.constant(0), x],
                         shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])])
    return {"y": y}


def branches(x, n):
    a, b = v1.cond(n > 2, lambda: (x + 1.0, tf.constant(7)), lambda: (tf.zeros_like(x), n * 2))
    c = v1.cond(tf.reduce_sum(x) > 0.0, lambda: tf.constant(1.0), lambda: tf.constant(-1.0))
    return {"a": a, "b": b, "c": c}


def deep(x, n):
    def other():
        return v1.cond(n > 0, lambda: x * 10.0 + tf.cast(n, tf.float32), lambda: x - 1.0)
    y = v1.cond(n > 2, lambda: v1.cond(tf.equal(n, 3), lambda: x * 3.0, lambda: tf.ones_like(x)), other)
    return {"y": y}


def mixed(x, n):
    def body(i, y):
        return i + 1, v1.cond(tf.equal(i % 2, 0), lambda: y + x, lambda: y * tf.cast(i, tf.float32))
    y = v1.cond(n > 1, lambda: tf.while_loop(lambda i, _: i < n, body, [tf.constant(0), x])[1], lambda: -x)
    return {"y": y}


def cases(x, n):
    y = v1.case([(tf.equal(n, 0), lambda: x), (tf.equal(n, 2), lambda: x * 2.0), (n > 3, lambda: x * 4.0)], default=lambda: x * 100.0, exclusive=True)
    return {"y": y}


def searching(x, n):
    """A condition of several operands, which calls a conditional."""
    i, y, found = tf.while_loop(lambda i, y, found: tf.logical_and(i < 20, tf.logical_not(found)),
                                lambda i, y, found: (i + 1, y * 1.5, v1.cond(i > n, lambda: tf.constant(True), lambda: tf.reduce_max(y) > 40.0)),
                                [tf.constant(0), x, tf.constant(False)])
    return {"i": i, "y": y, "found": found}


def arrays(x, n):
    """tf.map_fn: arrays of tensors."""
    return {"y": tf.map_fn(lambda r: r * tf.cast(n, tf.float32), x)}


def rnn(x, n):
    """dynamic_rnn over sequences of several lengths."""
    cell = v1.nn.rnn_cell.LSTMCell(3)
    y, state = v1.nn.dynamic_rnn(cell, tf.stack([x, -x]), sequence_length=tf.stack([tf.minimum(n, 3), 2]), dtype=tf.float32)
    return {"y": y, "h": state.h}


def joined(x, n):
    """An array that grows, of elements of several lengths."""
    a = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False, element_shape=[None, 2])
    a = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, tf.repeat(x[:1], i + 1, 0))), [tf.constant(0), a])[1]
    return {"y": tf.reduce_sum(a.concat(), 0)}


def split(x, n):
    a = tf.TensorArray(tf.float32, 1, infer_shape=False).split(x, [3])
    return {"y": v1.cond(n > 0, lambda: a.read(0), lambda: x)}


def index(x, n):
    off, on = v1.raw_ops.Switch(data=x, pred=n > 2)
    y, which = v1.raw_ops.Merge(inputs=[off * 2.0, on * 3.0])
    return {"y": y, "which": tf.identity(which)}


for f in [power, nested, growing, branches, deep, mixed, cases, searching, arrays, rnn, joined, split, index]:
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        n = v1.placeholder(tf.int32, [], name="n")
        y = f(x, n)
        session.run(v1.global_variables_initializer())
        folder = os.path.join(out, f.__name__)
        v1.saved_model.simple_save(session, os.path.join(folder, "model"), {"x": x, "n": n}, y)
        ops = {o.type for o in session.graph.get_operations()}
        assert ops & {"Switch", "Enter"} and not ops & {"While", "StatelessWhile", "If", "StatelessIf"}, ops
        for i, number in enumerate([0, 1, 2, 3, 5]):
            given = {"x": np.float32([[1, -2], [0.5, 3], [4, 1]]), "n": np.int32(number)}
            exchange.save(os.path.join(folder, "feeds%d" % i), given)
            exchange.save(os.path.join(folder, "want%d" % i), session.run(y, {x: given["x"], n: given["n"]}))
