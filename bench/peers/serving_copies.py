"""serving_copies.py DIR load|session: TensorFlow loads copies of the models in DIR/models and runs each once; all stay."""
import ctypes
import gc
import os
import struct
import sys
import time

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, predict_pb2

import link

v1 = tf.compat.v1
folder, how = sys.argv[1], sys.argv[2]
tf.config.threading.set_intra_op_parallelism_threads(link.THREADS)
tf.config.threading.set_inter_op_parallelism_threads(link.THREADS)
trim = ctypes.CDLL("libc.so.6").malloc_trim
kept = []


def row(name):
    with open(os.path.join(folder, name + "-1.requests"), "rb") as f:
        raw = f.read()
    first = raw[4:4 + struct.unpack_from("<I", raw)[0]]
    if name == "wide_deep":
        request = classification_pb2.ClassificationRequest.FromString(first)
        return np.array([request.input.example_list.examples[0].SerializeToString()], dtype=object)
    return tf.make_ndarray(predict_pb2.PredictRequest.FromString(first).inputs["x"])


def path(name):
    base = os.path.join(folder, "models", name)
    return os.path.join(base, os.listdir(base)[0])


def load(name, x):
    if how == "load":
        model = tf.saved_model.load(path(name))
        run = model.signatures["serving_default"]
        key = next(iter(run.structured_input_signature[1]))
        run(**{key: tf.constant(x)})
        return model
    with tf.Graph().as_default():
        session = v1.Session()
        signature = v1.saved_model.load(session, ["serve"], path(name)).signature_def["serving_default"]
        key, = [i.name for i in signature.inputs.values()]
        session.run([o.name for o in signature.outputs.values()], {key: x})
        return session


def resident():
    gc.collect()
    trim(0)
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


rows = {name: row(name) for name in ["mlp", "cnn", "wide_deep"]}
for name, x in rows.items():
    load(name, x)

link.send(version=tf.__version__)
for steps, case in link.commands():
    before, begun = resident(), time.perf_counter()
    for _ in range(steps):
        kept.append(load(case, rows[case]))
    seconds = time.perf_counter() - begun
    link.send(seconds=seconds, more={"MB/copy": (resident() - before) / steps / 2**20})
