"""quantized.py DIR make|run: models of float32 and their forms of 8 bits, as ONNX Runtime's quantizer writes them; and ONNX Runtime on them.

DIR has MODEL-FORM/1/model.onnx and MODEL.bin, the rows that are fed."""
import os
import sys
import time

import numpy as np
import onnxruntime as ort

import link

folder, what = sys.argv[1], sys.argv[2]
MODELS = {"mlp": ([1024], [1, 32]), "resnet50": ([3, 224, 224], [1]), "bert": ([128, 768], [1])}
FORMS = ["float", "dynamic", "qoperator", "qdq"]


def path(model, form):
    return os.path.join(folder, f"{model}-{form}", "1", "model.onnx")


def rows(model):
    shape, batches = MODELS[model]
    n = max(batches)
    file = os.path.join(folder, model + ".bin")
    if not os.path.exists(file):
        np.random.default_rng(1).standard_normal((n, *shape), np.float32).tofile(file)
    return np.fromfile(file, np.float32).reshape(n, *shape)


class Net:
    """Builds a graph whose nodes have one result each."""

    def __init__(self):
        self.nodes, self.constants, self.random = [], [], np.random.default_rng(2)

    def op(self, kind, *inputs, **attrs):
        from onnx import helper
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attrs))
        return name

    def const(self, value):
        from onnx import numpy_helper
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, *shape, fan):
        return self.const((self.random.standard_normal(shape, np.float32) * np.sqrt(2 / fan)).astype(np.float32))

    def zeros(self, n):
        return self.const(np.zeros(n, np.float32))

    def dense(self, x, i, o):
        return self.op("Add", self.op("MatMul", x, self.weight(i, o, fan=2 * i)), self.zeros(o))

    def conv(self, x, i, o, k, stride=1, relu=True, gain=1.0):
        y = self.op("Conv", x, self.weight(o, i, k, k, fan=i * k * k / gain ** 2), self.zeros(o), kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2] * 4)
        return self.op("Relu", y) if relu else y

    def save(self, y, shape, file):
        import onnx
        from onnx import helper
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", 1, ["n", *shape])],
                                  [helper.make_tensor_value_info(y, 1, None)], self.constants)
        os.makedirs(os.path.dirname(file))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)


def mlp(n):
    y = "x"
    for _ in range(3):
        y = n.op("Relu", n.op("Gemm", y, n.weight(1024, 1024, fan=1024), n.zeros(1024)))
    return n.op("Gemm", y, n.weight(1024, 10, fan=1024), n.zeros(10))


def resnet50(n):
    y, channels = n.op("MaxPool", n.conv("x", 3, 64, 7, 2), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
    for width, blocks, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for i in range(blocks):
            s = stride if i == 0 else 1
            z = n.conv(n.conv(n.conv(y, channels, width, 1), width, width, 3, s), width, 4 * width, 1, relu=False, gain=0.5)
            short = y if i else n.conv(y, channels, 4 * width, 1, s, relu=False)
            y, channels = n.op("Relu", n.op("Add", z, short)), 4 * width
    return n.op("Gemm", n.op("Flatten", n.op("GlobalAveragePool", y)), n.weight(2048, 1000, fan=2048), n.zeros(1000))


def bert(n):
    heads, width, length = 12, 768, 128
    split, scale = n.const(np.array([0, length, heads, width // heads])), n.const(np.float32(1 / 8))
    back, half, one, root = n.const(np.array([0, length, width])), n.const(np.float32(0.5)), n.const(np.float32(1)), n.const(np.float32(np.sqrt(0.5)))

    def norm(x):
        return n.op("LayerNormalization", x, n.const(np.ones(width, np.float32)), n.zeros(width), epsilon=1e-12)

    y = norm("x")
    for _ in range(12):
        q, k, v = (n.op("Transpose", n.op("Reshape", n.dense(y, width, width), split), perm=p) for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        seen = n.op("MatMul", n.op("Softmax", n.op("Mul", n.op("MatMul", q, k), scale)), v)
        y = norm(n.op("Add", y, n.dense(n.op("Reshape", n.op("Transpose", seen, perm=[0, 2, 1, 3]), back), width, width)))
        h = n.dense(y, width, 4 * width)
        h = n.op("Mul", n.op("Mul", h, half), n.op("Add", n.op("Erf", n.op("Mul", h, root)), one))
        y = norm(n.op("Add", y, n.dense(h, 4 * width, width)))
    return n.op("Gather", y, n.const(np.array(0)), axis=1)


def make(model):
    from onnxruntime import quantization as q
    n = Net()
    n.save({"mlp": mlp, "resnet50": resnet50, "bert": bert}[model](n), MODELS[model][0], path(model, "float"))

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.rows = iter(rows(model)[:2])

        def get_next(self):
            x = next(self.rows, None)
            return None if x is None else {"x": x[None]}

    for form in FORMS[1:]:
        os.makedirs(os.path.dirname(path(model, form)))
        if form == "dynamic":
            q.quantize_dynamic(path(model, "float"), path(model, form), weight_type=q.QuantType.QInt8)
            continue
        kind = q.QuantFormat.QOperator if form == "qoperator" else q.QuantFormat.QDQ
        q.quantize_static(path(model, "float"), path(model, form), Reader(), kind, per_channel=True, activation_type=q.QuantType.QUInt8,
                          weight_type=q.QuantType.QInt8)


if what == "make":
    for model in sys.argv[3:] or MODELS:
        make(model)
        rows(model)
    sys.exit()

sessions, values = {}, {}


def resident_kb():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def session(name):
    if name not in sessions:
        options = ort.SessionOptions()
        options.intra_op_num_threads = link.THREADS
        options.log_severity_level = 3
        sessions[name] = ort.InferenceSession(path(*name.split("-")), options, providers=["CPUExecutionProvider"])
    return sessions[name]


for case in sys.argv[3:]:
    name, batch = case.split("/")
    values[case] = [float(v) for v in session(name).run(None, {"x": rows(name.split("-")[0])[:int(batch)]})[0].ravel()[:1000]]


def run(steps, case):
    name, batch = case.split("/")
    x, s = rows(name.split("-")[0])[:int(batch)], session(name)
    begun = time.perf_counter()
    for _ in range(steps):
        s.run(None, {"x": x})
    return time.perf_counter() - begun


link.serve(ort.__version__, values, run)
