"""embedding.py GIVEN: the chief of a tf.estimator cluster with two parameter servers, which it starts itself."""
import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

import link

import tensorflow as tf

v1 = tf.compat.v1
logging.disable(logging.WARNING)
v1.logging.set_verbosity(v1.logging.ERROR)

ROWS, WIDTH, BATCH, CHECKED, SERVERS = 10000000, 16, 512, 4, 2


class Pacer(v1.train.SessionRunHook):
    """Holds training up until the parent asks for steps."""

    def __init__(self):
        self.losses, self.left, self.begun, self.commands = [], 0, 0, link.commands()

    def before_run(self, context):
        return v1.train.SessionRunArgs(v1.get_collection(v1.GraphKeys.LOSSES)[0])

    def after_run(self, context, values):
        if len(self.losses) < CHECKED:
            self.losses.append(float(values.results))
            if len(self.losses) < CHECKED:
                return
            link.send(version=tf.__version__, values={"": self.losses})
        else:
            self.left -= 1
            if self.left > 0:
                return
            link.send(seconds=time.perf_counter() - self.begun, peak_kb=link.peak_kb())
        command = next(self.commands, None)
        if command is None:
            end()
        self.left, self.begun = command[0], time.perf_counter()

    # The coordinator copies the estimator with its hooks.
    def __deepcopy__(self, memo):
        return self


def end():
    # TensorFlow takes seconds to tear down, and nothing is left to do.
    for p in servers:
        p.kill()
    os._exit(0)


def model(features, labels, mode):
    table = v1.get_variable("table", [ROWS, WIDTH], initializer=v1.zeros_initializer(), partitioner=v1.fixed_size_partitioner(SERVERS))
    x = tf.reduce_sum(tf.nn.embedding_lookup(table, features["x"]), 1)
    kernel = v1.get_variable("kernel", [WIDTH, 1], initializer=v1.constant_initializer(fixtures.weights["kernel"]))
    bias = v1.get_variable("bias", [1], initializer=v1.zeros_initializer())
    logits = tf.matmul(x, kernel) + bias
    loss = v1.losses.sigmoid_cross_entropy(tf.cast(labels, tf.float32)[:, None], logits)
    train = v1.train.AdagradOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step())
    return v1.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def dataset():
    return tf.data.Dataset.from_tensor_slices(({"x": fixtures.x}, fixtures.y)).batch(BATCH, drop_remainder=True).cache().repeat().prefetch(2)


def train():
    threads = v1.ConfigProto(intra_op_parallelism_threads=link.THREADS, inter_op_parallelism_threads=link.THREADS)
    config = tf.estimator.RunConfig(
        model_dir=tempfile.mkdtemp(prefix="bench-tf-"), session_config=threads, save_checkpoints_steps=None, save_checkpoints_secs=None,
        save_summary_steps=None, log_step_count_steps=None,
        train_distribute=v1.distribute.experimental.ParameterServerStrategy())
    tf.estimator.train_and_evaluate(tf.estimator.Estimator(model, config=config),
                                    tf.estimator.TrainSpec(dataset, hooks=[Pacer()]), tf.estimator.EvalSpec(dataset))


def ports(n):
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


fixtures, servers = link.Fixtures(sys.argv[1]), []
if "TF_CONFIG" not in os.environ:
    free = ports(SERVERS + 1)
    cluster = {"chief": free[:1], "ps": free[1:]}
    for i in range(SERVERS):
        task = json.dumps({"cluster": cluster, "task": {"type": "ps", "index": i}})
        servers.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        env=dict(os.environ, TF_CONFIG=task)))
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}})
else:
    threading.Thread(target=follow, daemon=True).start()
try:
    train()
finally:
    for p in servers:
        p.kill()
