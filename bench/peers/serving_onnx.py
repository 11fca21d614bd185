"""serving_onnx.py DIR: ONNX Runtime on batches of 32 of the models in DIR/onnx."""
import glob
import os
import struct
import sys
import time

import numpy as np
import onnxruntime as ort

import link

folder = sys.argv[1]


def requests(name):
    """The inputs of the requests of 32: their contents are the last bytes of the tensor."""
    from tensorflow_serving.apis import predict_pb2
    import tensorflow as tf
    with open(os.path.join(folder, name + "-32.requests"), "rb") as f:
        raw, at = f.read(), 0
    while at < len(raw):
        n, = struct.unpack_from("<I", raw, at)
        request = predict_pb2.PredictRequest.FromString(raw[at + 4:at + 4 + n])
        yield np.ascontiguousarray(tf.make_ndarray(request.inputs["x"]))
        at += 4 + n


class Model:
    def __init__(self, name):
        options = ort.SessionOptions()
        options.intra_op_num_threads = link.THREADS
        options.log_severity_level = 3
        file, = glob.glob(os.path.join(folder, "onnx", name, "*", "model.onnx"))
        self.session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        self.input, = [i.name for i in self.session.get_inputs()]
        self.batches, self.at = list(requests(name)), 0

    def run(self):
        x = self.batches[self.at % len(self.batches)]
        self.at += 1
        return self.session.run(["probabilities"], {self.input: x})[0]


models = {name: Model(name) for name in ["mlp", "cnn"]}
values = {name: [float(v) for v in m.run().ravel()] for name, m in models.items()}


def run(steps, case):
    m = models[case]
    begun = time.perf_counter()
    for _ in range(steps):
        m.run()
    return time.perf_counter() - begun


link.serve(ort.__version__, values, run)
