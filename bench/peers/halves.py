"""halves.py FOLDER make | run CASE...: models in float32 and in 16 bits, for each MODEL_TYPE/BATCH in TensorFlow, the encoder in ONNX Runtime."""
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import link

folder, kind, cases = sys.argv[1], sys.argv[2], sys.argv[3:]
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
WIDTH = 1024
SHAPES = {"mlp": (WIDTH,), "cnn": (32, 32, 3), "encoder": (128, 512), "attention": (128, 512)}


def keras_models():
    """SavedModels of Keras under its policies, with inputs and results of float32."""
    import tensorflow as tf
    layers = tf.keras.layers
    for name, policy in POLICIES.items():
        tf.keras.mixed_precision.set_global_policy(policy)
        tf.keras.utils.set_random_seed(1)
        mlp = [layers.Dense(WIDTH, "relu") for _ in range(3)]
        cnn = []
        for channels in (32, 64, 128):
            cnn += [layers.Conv2D(channels, 3, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(), layers.MaxPool2D()]
        cnn += [layers.Flatten(), layers.Dense(10)]
        for model, stack in {"mlp": mlp, "cnn": cnn}.items():
            net = tf.keras.Sequential([tf.keras.Input(SHAPES[model]), *stack, layers.Activation("linear", dtype="float32")])
            net.export(os.path.join(folder, f"{model}_{name}", "1"))
        x = tf.keras.Input(SHAPES["attention"])
        h = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(8, 64)(x, x)]))
        y = layers.LayerNormalization()(layers.Add()([h, layers.Dense(512)(layers.Dense(2048, "relu")(h))]))
        tf.keras.Model(x, layers.Activation("linear", dtype="float32")(y)).export(os.path.join(folder, f"attention_{name}", "1"))


def encoder():
    """A layer of a transformer encoder of width 512 in ONNX, in float32 and float16."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    width, heads, inner = SHAPES["encoder"][1], 8, 2048
    for name, dtype in {"float32": np.float32, "float16": np.float16}.items():
        rng, weights, nodes = np.random.default_rng(1), [], []
        typ = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

        def weight(label, *shape, scale=None, one=0.0):
            scale = shape[0] ** -0.5 if scale is None else scale
            weights.append(numpy_helper.from_array((rng.standard_normal(shape) * scale + one).astype(dtype), label))
            return label

        def op(kind, label, *inputs, **attrs):
            nodes.append(helper.make_node(kind, inputs, [label], name=label, **attrs))
            return label

        def dense(x, label, n, m):
            return op("Add", label, op("MatMul", label + "_p", x, weight(label + "_w", n, m)), weight(label + "_b", m, scale=0.02))

        def ints(label, *v):
            weights.append(numpy_helper.from_array(np.array(v, np.int64), label))
            return label

        def split(x, label, perm):
            return op("Transpose", label + "_t", op("Reshape", label + "_r", x, "heads"), perm=perm)

        def norm(x, label):
            return op("LayerNormalization", label, x, weight(label + "_g", width, scale=0.02, one=1.0), weight(label + "_o", width, scale=0.02), axis=-1, epsilon=1e-5)

        ints("heads", 0, 0, heads, width // heads), ints("flat", 0, 0, width)
        q, k, v = (split(dense("x", s, width, width), s, p) for s, p in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])))
        weights.append(numpy_helper.from_array(np.array((width // heads) ** -0.5, dtype), "scale"))
        scores = op("Softmax", "attention", op("Mul", "scaled", op("MatMul", "scores", q, k), "scale"), axis=-1)
        mixed = op("Reshape", "joined", op("Transpose", "back", op("MatMul", "mixed", scores, v), perm=[0, 2, 1, 3]), "flat")
        h = norm(op("Add", "first", "x", dense(mixed, "o", width, width)), "norm1")
        f = op("Relu", "active", dense(h, "up", width, inner))
        y = norm(op("Add", "second", h, dense(f, "down", inner, width)), "norm2")
        nodes[-1].output[0] = "y"
        shape = ["n", *SHAPES["encoder"]]
        g = helper.make_graph(nodes, "encoder", [helper.make_tensor_value_info("x", typ, shape)], [helper.make_tensor_value_info("y", typ, shape)], weights)
        at = os.path.join(folder, f"encoder_{name}", "1")
        os.makedirs(at, exist_ok=True)
        onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), os.path.join(at, "model.onnx"))


def given(model, batch):
    n = int(batch) * int(np.prod(SHAPES[model]))
    return (np.arange(n, dtype=np.float32) % 251 / 251 - 0.5).reshape(int(batch), *SHAPES[model])


def tensorflow_runner(name, x):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(link.THREADS)
    model = tf.saved_model.load(os.path.join(folder, name, "1"))
    f, x = model.signatures["serving_default"], tf.constant(x)
    key = next(iter(f.structured_input_signature[1]))
    return lambda: next(iter(f(**{key: x}).values())).numpy(), tf.__version__, model


def onnx_runner(name, x):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = link.THREADS, 3
    s = ort.InferenceSession(os.path.join(folder, name, "1", "model.onnx"), options, providers=["CPUExecutionProvider"])
    x = x.astype(np.float16) if s.get_inputs()[0].type == "tensor(float16)" else x
    return lambda: s.run(None, {"x": x})[0], ort.__version__, s


if kind == "make":
    keras_models()
    encoder()
    sys.exit()

runners, values, versions = {}, {}, {}
for case in cases:
    name, batch = case.split("/")
    runner = onnx_runner if name.startswith("encoder") else tensorflow_runner
    run, versions[runner], *kept = runner(name, given(name.split("_")[0], batch))
    runners[case] = run, kept
    values[case] = [float(v) for v in np.ravel(run())[:64]]


def run(steps, case):
    f = runners[case][0]
    begun = time.perf_counter()
    for _ in range(steps):
        f()
    return time.perf_counter() - begun


link.serve(", ".join(versions.values()), values, run)
