"""tf_train.py mlp|sparse_linear GIVEN estimator|keras|graph [startup]"""
import logging
import os
import sys
import tempfile

import link

import tensorflow as tf

from pacing import Pacer, PacerHook, checked, config, loss_of

v1 = tf.compat.v1
logging.disable(logging.WARNING)
v1.logging.set_verbosity(v1.logging.ERROR)

name, kind = sys.argv[1], sys.argv[3]
fixtures, batch = link.Fixtures(sys.argv[2]), link.BATCH[name]


def dataset(x):
    return tf.data.Dataset.from_tensor_slices((x, fixtures.y)).batch(batch, drop_remainder=True).cache().repeat().prefetch(2)


def estimator_mlp(features, labels, mode):
    x, kernels, biases = features["x"], fixtures.ending("/kernel"), fixtures.ending("/bias")
    for i, (k, b) in enumerate(zip(kernels, biases)):
        x = v1.layers.dense(x, k.shape[1], activation=tf.nn.relu if i < 2 else None,
                            kernel_initializer=v1.constant_initializer(k), bias_initializer=v1.constant_initializer(b))
    loss = v1.losses.sparse_softmax_cross_entropy(labels, x)
    train = v1.train.AdamOptimizer().minimize(loss, v1.train.get_global_step())
    return v1.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def run_config():
    return tf.estimator.RunConfig(model_dir=tempfile.mkdtemp(prefix="bench-tf-"), session_config=config, save_checkpoints_steps=None,
                                  save_checkpoints_secs=None, save_summary_steps=None, log_step_count_steps=None)


def estimator():
    if name == "mlp":
        est, hook = tf.estimator.Estimator(estimator_mlp, config=run_config()), PacerHook(Pacer())
    else:
        column = tf.feature_column.categorical_column_with_identity("x", 1000000)
        est = v1.estimator.LinearClassifier([column], optimizer=v1.train.AdagradOptimizer(0.1), config=run_config(),
                                            loss_reduction=v1.losses.Reduction.SUM_OVER_BATCH_SIZE)
        scope = {"linear/linear_model/x/weights": fixtures.ending("/embeddings")[0], "linear/linear_model/bias_weights": fixtures.weights["bias"]}
        hook = PacerHook(Pacer(), lambda: loss_of(v1.get_default_graph()))
        hook = WithValues(hook, scope)
    est.train(lambda: dataset({"x": fixtures.x}), hooks=[hook])


class WithValues(v1.train.SessionRunHook):
    """A pacer of a model whose variables are set to given values first."""

    def __init__(self, pacer, values):
        self.before_run, self.after_run, self.values = pacer.before_run, pacer.after_run, values

    def after_create_session(self, session, coord):
        for v in v1.global_variables():
            for name, value in self.values.items():
                if v.op.name.startswith(name) and "Adagrad" not in v.op.name:
                    v.load(value.reshape(v.shape), session)


def graph_sparse():
    """The same model, written by hand: embedding_lookup_sparse and Adagrad."""
    with tf.Graph().as_default():
        x, y = v1.data.make_one_shot_iterator(dataset(fixtures.x)).get_next()
        table = v1.get_variable("w", initializer=fixtures.ending("/embeddings")[0], use_resource=True)
        bias = v1.get_variable("b", initializer=fixtures.weights["bias"], use_resource=True)
        rows = tf.repeat(tf.range(batch, dtype=tf.int64), 40)
        at = tf.stack([rows, tf.tile(tf.range(40, dtype=tf.int64), [batch])], 1)
        ids = tf.SparseTensor(at, tf.reshape(x, [-1]), [batch, 40])
        logits = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum") + bias
        loss = v1.losses.sigmoid_cross_entropy(tf.cast(y, tf.float32)[:, None], logits)
        train = v1.train.AdagradOptimizer(0.1).minimize(loss)
        pacer = Pacer()
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            step = session.make_callable([loss, train])
            while pacer.after(step()[0]):
                pass


class PacerCallback(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.pacer, self.total = Pacer(), 0

    def on_train_batch_end(self, n, logs=None):
        # Keras tells the mean loss of the epoch so far.
        mean = logs["loss"] * (n + 1) if len(self.pacer.losses) < checked else 0
        loss, self.total = mean - self.total, mean
        if not self.pacer.after(loss):
            self.model.stop_training = True


def keras():
    tf.config.threading.set_intra_op_parallelism_threads(link.THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(link.THREADS)
    dense = tf.keras.layers.Dense
    model = tf.keras.Sequential([dense(512, "relu"), dense(256, "relu"), dense(10)])
    model.build((None, 784))
    model.set_weights([v for pair in zip(fixtures.ending("/kernel"), fixtures.ending("/bias")) for v in pair])
    model.compile(tf.keras.optimizers.Adam(epsilon=1e-8), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    # steps_per_epoch bounds a run: nobody asks for that many steps.
    model.fit(dataset(fixtures.x), steps_per_epoch=1 << 30, verbose=0, callbacks=[PacerCallback()])


{"estimator": estimator, "keras": keras, "graph": graph_sparse}[kind]()
# TensorFlow takes seconds to tear down, and nothing is left to do.
sys.stdout.flush()
os._exit(0)
