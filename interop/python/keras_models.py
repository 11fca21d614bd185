"""Saves Keras models as SavedModels, and beside each what TensorFlow computes: DIR/<name>/ and DIR/<name>.json."""
import base64
import json
import os
import sys

import numpy as np
import tensorflow as tf

L = tf.keras.layers


def mlp():
    m = tf.keras.Sequential([L.InputLayer((20,)), L.Dense(32, activation="relu"), L.Dropout(0.3), L.Dense(16, activation="gelu"), L.Dense(5, activation="softmax")])
    return m, [r.normal(size=(7, 20)).astype("float32")]


def cnn():
    x = i = L.Input((16, 16, 3))
    for f, act in ((8, "relu"), (12, "elu")):
        x = L.Conv2D(f, 3, padding="same", activation=act)(x)
        x = L.BatchNormalization()(x)
        x = L.MaxPooling2D()(x)
    x = L.Dropout(0.5)(L.Flatten()(x))
    return tf.keras.Model(i, L.Dense(10)(x)), [r.normal(size=(5, 16, 16, 3)).astype("float32")]


def mobilenet():
    x = i = L.Input((24, 24, 3))
    x = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(8, 3, 2, padding="same", use_bias=False)(x)))
    for stride, out in ((1, 8), (2, 16), (1, 16)):
        y = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(out * 2, 1, use_bias=False)(x)))
        if stride == 2:
            y = L.ZeroPadding2D(((0, 1), (0, 1)))(y)
        y = L.DepthwiseConv2D(3, stride, padding="valid" if stride == 2 else "same", depth_multiplier=2 if out == 8 else 1, use_bias=False)(y)
        y = L.ReLU(6.0)(L.BatchNormalization()(y))
        y = L.BatchNormalization()(L.Conv2D(out, 1, use_bias=False)(y))
        x = L.Add()([x, y]) if y.shape == x.shape else y
    x = L.GlobalAveragePooling2D()(L.Activation("swish")(x))
    x = L.Reshape((1, 1, 16))(x)
    x = L.Flatten()(L.Conv2D(6, 1)(x))
    return tf.keras.Model(i, L.Softmax()(x)), [r.normal(size=(3, 24, 24, 3)).astype("float32")]


def ids():
    i = L.Input((None,), dtype="int64")
    x = L.Embedding(50, 8)(i)
    x = L.Concatenate()([L.GlobalAveragePooling1D()(x), L.GlobalMaxPooling1D()(x)])
    return tf.keras.Model(i, L.Dense(3, activation="sigmoid")(x)), [r.integers(0, 50, size=(4, 9)).astype("int64")]


def lookup():
    i = L.Input((1,), dtype="string")
    x = L.StringLookup(vocabulary=["red", "green", "blue"], num_oov_indices=2)(i)
    x = L.Flatten()(L.Embedding(8, 4)(x))
    j = L.Input((2,))
    x = L.Concatenate()([x, L.Normalization(mean=[1.0, 2.0], variance=[4.0, 9.0])(j)])
    x = L.Dense(4, activation="tanh")(x)
    return tf.keras.Model([i, j], L.Dense(2)(x)), [np.array([["red"], ["blue"], ["pink"], ["green"]]), r.normal(size=(4, 2)).astype("float32")]


def text():
    i = L.Input((), dtype="string")
    v = L.TextVectorization(max_tokens=30, output_sequence_length=6)
    v.adapt(["the cat sat on the mat", "a dog ran", "the dog sat"])
    x = L.GlobalAveragePooling1D()(L.Embedding(30, 8)(v(i)))
    x = L.Dense(8, activation="relu")(x)
    return tf.keras.Model(i, L.Dense(1)(x)), [np.array(["The cat ran!", "a mat", "nothing known here at all, really nothing"])]


def attention():
    i = L.Input((6, 16))
    x = L.LayerNormalization()(i)
    x = i + L.MultiHeadAttention(2, 8)(x, x)
    x = x + L.Dense(16)(L.Dense(32, activation="gelu")(L.LayerNormalization()(x)))
    return tf.keras.Model(i, L.Dense(3)(L.Flatten()(x))), [r.normal(size=(3, 6, 16)).astype("float32")]


def resize():
    i = L.Input((5, 7, 3))
    x = L.Rescaling(1 / 3.0)(i)
    x = L.Concatenate()([L.UpSampling2D(2)(x), L.UpSampling2D(2, interpolation="bilinear")(x)])
    x = L.Conv2D(4, 3, dilation_rate=2, activation="selu")(x)
    return tf.keras.Model(i, L.AveragePooling2D()(x)), [r.normal(size=(2, 5, 7, 3)).astype("float32")]


def lstm():
    i = L.Input((), dtype="string")
    v = L.TextVectorization(max_tokens=30, output_sequence_length=6)
    v.adapt(["the cat sat on the mat", "a dog ran", "the dog sat"])
    x = L.LSTM(9)(L.Embedding(30, 8, mask_zero=True)(v(i)))
    return tf.keras.Model(i, L.Dense(2)(x)), [np.array(["The cat ran!", "", "nothing known here at all, really nothing"])]


def gru():
    i = L.Input((None,), dtype="int64")
    x = L.Embedding(40, 6)(i)
    x = L.GRU(7, return_sequences=True)(x)
    x = L.GRU(5, reset_after=False, go_backwards=True)(x)
    return tf.keras.Model(i, L.Dense(3, activation="softmax")(x)), [r.integers(0, 40, size=(4, 11)).astype("int64")]


def recurrent():
    i = L.Input((None, 5))
    x = L.Bidirectional(L.LSTM(4, return_sequences=True, dropout=0.2, recurrent_dropout=0.1))(i)
    x = L.SimpleRNN(6, return_sequences=True, activation="relu")(L.Masking()(x))
    x = L.RNN([L.LSTMCell(4), L.GRUCell(3)])(x)
    return tf.keras.Model(i, L.Dense(2)(x)), [r.normal(size=(3, 8, 5)).astype("float32")]


class Choices(tf.Module):
    """Branches and loops of tf.function, with an accumulating list, and a branch in a loop."""

    def __init__(self):
        self.w = tf.Variable(r.normal(size=(3, 3)).astype("float32"))

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec([], tf.int32)])
    def call(self, x, n):
        parts = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[None, 3])
        for k in tf.range(n):
            x = x @ self.w
            if tf.reduce_sum(x) > 0.0:
                x = x / (1.0 + tf.reduce_max(tf.abs(x)))
            elif k % 2 == 0:
                x = tf.tanh(x)
            parts = parts.write(k, x)
        which = tf.switch_case(n % 3, [lambda: x + 1.0, lambda: x * 2.0, lambda: -x])
        return {"last": x, "which": which, "parts": parts.stack(), "count": tf.while_loop(lambda c: c * c < n, lambda c: (c + 1,), (0,))[0]}


def plain(a):
    a = np.asarray(a)
    if a.dtype.kind in "SUO":
        data = [base64.b64encode(s if isinstance(s, bytes) else s.encode()).decode() for s in a.ravel()]
        return {"dtype": "string", "shape": list(a.shape), "data": data}
    return {"dtype": str(a.dtype), "shape": list(a.shape), "data": base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()}


def record(path, fn, calls):
    """Writes what a signature answers to calls."""
    answers = [{"inputs": {k: plain(v) for k, v in c.items()}, "outputs": {k: plain(v.numpy()) for k, v in fn(**{k: tf.constant(v) for k, v in c.items()}).items()}} for c in calls]
    with open(path + ".json", "w") as f:
        json.dump(answers, f)


out, names = sys.argv[1], sys.argv[2:]
for name in names:
    r = np.random.default_rng(7)
    tf.keras.utils.set_random_seed(3)
    path = os.path.join(out, name)
    if name == "choices":
        model = Choices()
        tf.saved_model.save(model, path, signatures=model.call)
        x = r.normal(size=(4, 3)).astype("float32")
        record(path, tf.saved_model.load(path).signatures["serving_default"], [{"x": x[:rows], "n": np.int32(n)} for rows, n in ((4, 6), (1, 5), (2, 1), (4, 9))])
        print(name, "ok")
        continue
    model, inputs = globals()[name]()
    for w in model.weights:  # statistics that are not those of the start
        if "moving" in getattr(w, "name", ""):
            w.assign(r.uniform(0.5, 1.5, size=w.shape))
    tf.saved_model.save(model, path)
    fn = tf.saved_model.load(path).signatures["serving_default"]
    keys = [t.name.split(":")[0] for t in model.inputs]
    feeds = dict(zip(keys, inputs))
    record(path, fn, [{k: v[:rows] for k, v in feeds.items()} for rows in sorted({1, 2, len(inputs[0])})])
    print(name, "ok")
