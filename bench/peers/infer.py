"""infer.py GIVEN float64|onnxruntime|torch CASE...: one batch to probabilities, for each NETWORK/BATCH."""
import inspect
import io
import os
import sys
import time

import numpy as np
import torch

import link
import nets

folder, kind = sys.argv[1], sys.argv[2]
torch.set_num_threads(link.THREADS)
CASES = [(n, int(b)) for n, b in (case.split("/") for case in sys.argv[3:])]


def network(name, fixtures):
    return torch.nn.Sequential(nets.build(name, fixtures, same=True), torch.nn.Softmax(-1)).eval()


def torch_runner(model, x, dtype):
    model, x = model.to(dtype), x.to(dtype) if x.is_floating_point() else x

    def run(i, n):
        with torch.inference_mode():
            return model(x[i:i + n]).numpy()
    return run


def onnx_runner(model, x):
    import onnxruntime as ort
    file = io.BytesIO()
    options = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(model, x[:1], file, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
                      opset_version=17, **options)
    options = ort.SessionOptions()
    options.intra_op_num_threads = link.THREADS
    options.log_severity_level = 3
    session = ort.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    data = x.numpy()
    return lambda i, n: session.run(None, {"x": data[i:i + n]})[0]


runners, sizes = {}, {}
for name in dict.fromkeys(n for n, _ in CASES):
    fixtures = link.Fixtures(os.path.join(folder, name))
    x, model = nets.images(name, fixtures.x), network(name, fixtures)
    sizes[name] = len(x)
    runners[name] = onnx_runner(model, x) if kind == "onnxruntime" else torch_runner(model, x, torch.float64 if kind == "float64" else torch.float32)

values = {f"{n}/{b}": [float(v) for v in runners[n](0, b)[-1]] for n, b in CASES}


def run(steps, case):
    name, batch = case.split("/")
    f, n, at = runners[name], int(batch), 0
    begun = time.perf_counter()
    for _ in range(steps):
        f(at, n)
        at = (at + n) % sizes[name]
    return time.perf_counter() - begun


version = torch.__version__
if kind == "onnxruntime":
    import onnxruntime
    version = onnxruntime.__version__
link.serve(version, values, run)
