"""What scripts that save models for serving share: random values, modules with signatures, and what TensorFlow answers."""
import base64

import numpy as np
import tensorflow as tf

L = tf.keras.layers
r = np.random.default_rng(7)
F, I, S = tf.float32, tf.int64, tf.string


def f32(*shape):
    return r.normal(size=shape).astype("float32")


def text(*values):
    return np.array(values, dtype=object)


class Served(tf.Module):
    """A module with signatures: SIGS maps a name to a function, its input specs, and values to compare with."""

    def __init__(self, **sigs):
        super().__init__()
        self.sigs = {k: tf.function(f, input_signature=[tf.TensorSpec(s, d, n) for n, (s, d) in specs.items()]) for k, (f, specs, _) in sigs.items()}
        self.runs = [(k, dict(zip(specs, v))) for k, (_, specs, values) in sigs.items() for v in values]

    def save(self, path):
        tf.saved_model.save(self, path, signatures=self.sigs)


class Exported:
    """A model that SAVE writes, as programs of TensorFlow 1 do; RUNS are signatures with values by the names of their inputs."""

    def __init__(self, save, *runs):
        self.save, self.runs = save, list(runs)


def one(f, specs, *values):
    return Served(serving_default=(lambda *a, **k: {"y": f(*a, **k)}, specs, values))


def kept(module, *parts):
    """The module with PARTS among what is saved."""
    module.kept = list(parts)
    return module


def keras(model, *values):
    model.runs = [("serving_default", dict(zip(model.input_names, v))) for v in values]
    return model


def picture(*shape):
    y, x = np.mgrid[0:shape[0], 0:shape[1]]
    return (128 + 90 * np.sin(x[..., None] / 5 + np.arange(shape[2])) * np.cos(y[..., None] / 7)).astype("uint8")


def tensor(x):
    a = np.asarray(x.numpy() if hasattr(x, "numpy") else x)
    if a.dtype.kind in "OSU":
        flat = [v if isinstance(v, bytes) else str(v).encode() for v in a.reshape(-1)]
        return {"dtype": "string", "shape": list(a.shape), "data": [base64.b64encode(v).decode() for v in flat]}
    name = "bfloat16" if a.dtype == tf.bfloat16.as_numpy_dtype else a.dtype.name
    return {"dtype": name, "shape": list(a.shape), "data": base64.b64encode(a.tobytes()).decode()}


def answers(path, runs):
    """What TensorFlow answers RUNS of the model in PATH with."""
    loaded, record = tf.saved_model.load(path), []
    for sig, values in runs:
        fed = {k: tf.constant(v) if np.asarray(v).dtype != object else tf.constant(v.tolist(), S, v.shape) for k, v in values.items()}
        out = loaded.signatures[sig](**fed)
        record.append({"signature": sig, "inputs": {k: tensor(v) for k, v in fed.items()}, "outputs": {k: tensor(v) for k, v in out.items()}})
    return record
