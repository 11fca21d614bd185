"""Trains the usual models of TensorFlow 1 on a cluster and prints the losses: a JSON object of lists.

Usage: cluster_models.py CLUSTER DIR [MODELS]: CLUSTER is as for cluster_sessions.py, DIR is not used, MODELS is a list of names with commas between.
The seed is the graph's: initializers and dropout draw the same numbers on all servers.
"""

import json
import random
import sys

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1


def features(rng, *shape):
    return tf1.constant(rng.standard_normal(shape).astype(np.float32))


def labels(rng, n, classes):
    return tf1.constant(rng.integers(0, classes, n))


def entropy(y, logits):
    return tf1.losses.sparse_softmax_cross_entropy(y, logits)


def mlp(rng):
    """Dense layers with dropout and weight decay."""
    x, y = features(rng, 16, 10), labels(rng, 16, 3)
    h = tf1.layers.dense(x, 32, tf1.nn.relu, kernel_initializer=tf1.initializers.he_normal(), kernel_regularizer=tf.keras.regularizers.l2(1e-3))
    h = tf1.layers.dropout(h, 0.3, training=True)
    h = tf1.layers.dense(h, 16, tf1.nn.elu, kernel_initializer=tf1.initializers.truncated_normal(stddev=0.2))
    h = tf1.nn.dropout(h, rate=0.2, seed=7)
    loss = entropy(y, tf1.layers.dense(h, 3)) + tf1.losses.get_regularization_loss()
    return loss, tf1.train.AdamOptimizer(0.01)


def cnn(rng):
    """Convolutions with batch normalization, pools and dropout."""
    x, y = features(rng, 8, 12, 12, 3), labels(rng, 8, 4)
    h = tf1.layers.conv2d(x, 8, 3, padding="same", use_bias=False)
    h = tf1.nn.relu(tf1.layers.batch_normalization(h, training=True))
    h = tf1.layers.max_pooling2d(h, 2, 2)
    h = tf1.layers.separable_conv2d(h, 8, 3, activation=tf1.nn.leaky_relu)
    h = tf1.layers.dropout(tf1.layers.flatten(h), 0.4, training=True)
    return entropy(y, tf1.layers.dense(h, 4)), tf1.train.MomentumOptimizer(0.01, 0.9)


def resnet(rng):
    """Residual blocks, and the second one halves the image."""
    def norm(h): return tf1.layers.batch_normalization(h, training=True, momentum=0.9, renorm=False)

    def block(h, filters, stride):
        short = norm(tf1.layers.conv2d(h, filters, 1, stride, use_bias=False)) if stride > 1 else h
        h = tf1.nn.relu(norm(tf1.layers.conv2d(h, filters, 3, stride, "same", use_bias=False)))
        return tf1.nn.relu(norm(tf1.layers.conv2d(h, filters, 3, 1, "same", use_bias=False)) + short)
    x, y = features(rng, 8, 10, 10, 4), labels(rng, 8, 3)
    h = tf1.reduce_mean(block(block(x, 4, 1), 8, 2), [1, 2])
    return entropy(y, tf1.layers.dense(h, 3)), tf1.train.RMSPropOptimizer(0.01, momentum=0.5)


def lstm(rng):
    """A recurrent net with sequences of several lengths. Dropout would draw in any order if iterations ran at the same time."""
    x, y = features(rng, 6, 7, 5), labels(rng, 6, 3)
    cell = tf1.nn.rnn_cell.DropoutWrapper(tf1.nn.rnn_cell.LSTMCell(8), output_keep_prob=0.8)
    out, state = tf1.nn.dynamic_rnn(cell, x, sequence_length=tf1.constant([7, 3, 1, 7, 5, 2]), dtype=tf1.float32, parallel_iterations=1)
    optimizer = tf1.train.AdagradOptimizer(0.1)
    return entropy(y, tf1.layers.dense(tf1.concat([state.h, tf1.reduce_max(out, 1)], 1), 3)), optimizer


def gru(rng):
    """A recurrent net that is unrolled."""
    x, y = features(rng, 6, 5, 4), labels(rng, 6, 3)
    out, state = tf1.nn.static_rnn(tf1.nn.rnn_cell.GRUCell(6), tf1.unstack(x, axis=1), dtype=tf1.float32)
    return entropy(y, tf1.layers.dense(state + tf1.add_n(out), 3)), tf1.train.AdadeltaOptimizer(1.0)


def embedding(rng):
    """Partitioned embeddings of sparse features, with sampled candidates."""
    ids = tf1.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 2], [3, 0]], tf1.constant([3, 11, 5, 0, 19], tf1.int64), [4, 3])
    parts = tf1.get_variable("embedding", [20, 6], partitioner=tf1.fixed_size_partitioner(3), initializer=tf1.initializers.random_normal(stddev=0.5))
    h = tf1.nn.embedding_lookup_sparse(parts, ids, tf1.SparseTensor(ids.indices, tf1.constant([1.0, 2, 0.5, 1, 3]), ids.dense_shape), combiner="mean")
    h = h + tf1.nn.embedding_lookup(parts, tf1.constant([1, 1, 19, 7]), max_norm=1.0)
    h = tf1.random.shuffle(h, seed=3) + tf1.random.uniform([4, 6], -0.1, 0.1)
    return entropy(labels(rng, 4, 5), tf1.layers.dense(h, 5)), tf1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01)


def attention(rng):
    """An encoder block: attention, layer normalization, GELU."""
    x, y, width = features(rng, 4, 6, 8), labels(rng, 4, 3), 8

    def norm(h, name):
        with tf1.variable_scope(name):
            scale, offset = tf1.get_variable("scale", [width], initializer=tf1.ones_initializer()), tf1.get_variable("offset", [width], initializer=tf1.zeros_initializer())
        mean, var = tf1.nn.moments(h, [-1], keep_dims=True)
        return tf1.nn.batch_normalization(h, mean, var, offset, scale, 1e-6)

    def heads(h):
        return tf1.transpose(tf1.reshape(tf1.layers.dense(h, width), [4, 6, 2, 4]), [0, 2, 1, 3])
    q, k, v = heads(x), heads(x), heads(x)
    weights = tf1.nn.dropout(tf1.nn.softmax(tf1.matmul(q, k, transpose_b=True) / 2.0), rate=0.1)
    h = norm(x + tf1.layers.dense(tf1.reshape(tf1.transpose(tf1.matmul(weights, v), [0, 2, 1, 3]), [4, 6, width]), width), "a")
    h = norm(h + tf1.layers.dense(tf1.layers.dense(h, 16, tf.nn.gelu), width), "b")
    loss = entropy(y, tf1.layers.dense(h[:, 0], 3))
    return loss, tf1.train.AdamOptimizer(0.01), 0.5


def columns(rng):
    """Feature columns, wide and deep."""
    column = tf1.feature_column
    wide = [column.categorical_column_with_hash_bucket("word", 20), column.bucketized_column(column.numeric_column("age"), [20, 40, 60])]
    deep = [column.numeric_column("age", normalizer_fn=lambda x: x / 50), column.embedding_column(wide[0], 4), column.indicator_column(column.categorical_column_with_vocabulary_list("kind", ["a", "b"]))]
    inputs = {"word": tf1.constant(["x", "y", "z", "x", "w", "v"]), "age": tf1.constant([18.0, 25, 44, 80, 33, 61]), "kind": tf1.constant(["a", "b", "c", "a", "b", "a"])}
    deep = tf1.layers.dense(tf1.layers.dense(column.input_layer(inputs, deep), 8, tf1.nn.selu), 1)
    loss = tf1.losses.sigmoid_cross_entropy(tf1.constant([[0], [1], [1], [0], [1], [0]]), column.linear_model(inputs, wide) + deep)
    return loss, tf1.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.001)


MODELS = [mlp, cnn, resnet, gru, lstm, embedding, attention, columns]


def build(model):
    """Returns the loss and what trains it by one step, on two parameter servers."""
    with tf1.device(tf1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:0")):
        step = tf1.train.get_or_create_global_step()
        random.seed(11)  # Keras draws the seeds of its initializers
        tf1.set_random_seed(11)
        loss, optimizer, *norm = model(np.random.default_rng(0))
        grads, variables = zip(*optimizer.compute_gradients(loss))
        if norm:
            grads, _ = tf1.clip_by_global_norm(grads, norm[0])
        with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
            return loss, optimizer.apply_gradients(zip(grads, variables), global_step=step)


def train(model, target, steps=10):
    """Returns the losses of the first steps of a model."""
    with tf1.Graph().as_default():
        loss, step = build(model)
        with tf1.Session(target) as s:
            s.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
            losses = [float(s.run([loss, step])[0]) for _ in range(steps)]
    tf1.Session.reset(target)
    return losses


def main():
    tf1.disable_eager_execution()
    cluster = json.loads(sys.argv[1])
    wanted = sys.argv[3].split(",") if len(sys.argv) > 3 else [m.__name__ for m in MODELS]
    print(json.dumps({m.__name__: train(m, "grpc://" + cluster["worker"][0]) for m in MODELS if m.__name__ in wanted}))


if __name__ == "__main__":
    main()
