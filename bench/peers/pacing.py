"""Holds the training of TensorFlow's estimators up until the parent asks for steps."""
import sys
import time

import tensorflow as tf

import link

v1 = tf.compat.v1
checked = 1 if "startup" in sys.argv else 4
config = v1.ConfigProto(intra_op_parallelism_threads=link.THREADS, inter_op_parallelism_threads=link.THREADS)


class Pacer:
    """Holds training up until the parent asks for steps."""

    def __init__(self):
        self.losses, self.left, self.begun = [], 0, 0
        self.commands = link.commands()

    def after(self, loss):
        """After a step; false: no more."""
        if len(self.losses) < checked:
            self.losses.append(float(loss))
            if len(self.losses) < checked:
                return True
            link.send(version=tf.__version__, values={"": self.losses})
        else:
            self.left -= 1
            if self.left > 0:
                return True
            link.send(seconds=time.perf_counter() - self.begun, peak_kb=link.peak_kb())
        command = next(self.commands, None)
        if command is None:
            return False
        self.left, self.begun = command[0], time.perf_counter()
        return True


class PacerHook(v1.train.SessionRunHook):
    def __init__(self, pacer, loss=None):
        self.pacer, self.loss = pacer, loss

    def before_run(self, context):
        if self.loss is None:
            return v1.train.SessionRunArgs(v1.get_collection(v1.GraphKeys.LOSSES)[0])
        return v1.train.SessionRunArgs(self.loss())

    def after_run(self, context, values):
        if not self.pacer.after(values.results):
            context.request_stop()


def loss_of(graph):
    # The canned head's loss is what its summary is fed with.
    return next(op for op in graph.get_operations() if op.type == "ScalarSummary" and op.name.endswith("loss")).inputs[1]
