"""Saves models of kinds that companies serve, with random weights, and beside each what TensorFlow answers.

serve_models.py DIR writes all, serve_models.py DIR NAME... some: DIR/<name>/1/ and DIR/<name>.json. Without DIR it prints names and families.
"""
import inspect
import json
import os
import sys
import traceback

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # TensorFlow's other kernels know no images with the channels first

import numpy as np
import tensorflow as tf

import models_datasets
import models_exports
import models_language
import models_layers
import models_pipelines
import models_ranking
import models_signals
import models_v1
import models_vision
from served import F, I, L, S, Served, answers, f32, keras, one, picture, r, text


def mobilenet_v2():
    return keras(tf.keras.applications.MobileNetV2(weights=None, input_shape=(64, 64, 3), classes=10), [f32(2, 64, 64, 3)])


def densenet_like():
    x = i = L.Input((32, 32, 3))
    for _ in range(3):
        x = L.Concatenate()([x, L.Conv2D(8, 3, padding="same", activation="relu")(L.BatchNormalization()(x))])
        x = L.AveragePooling2D()(x)
    return keras(tf.keras.Model(i, L.Dense(4)(L.GlobalMaxPooling2D()(x))), [f32(3, 32, 32, 3)])


def unet_any_size():
    x = i = L.Input((None, None, 3))
    a = L.Conv2D(4, 3, padding="same", activation="relu")(x)
    b = L.Conv2D(8, 3, 2, padding="same", activation="relu")(a)
    up = L.Conv2DTranspose(4, 2, 2, padding="same")(b)
    x = L.Conv2D(2, 1, activation="softmax")(L.Concatenate()([a, up]))
    return keras(tf.keras.Model(i, x), [f32(1, 16, 24, 3)], [f32(2, 8, 8, 3)])


def separable_dilated():
    x = i = L.Input((20, 20, 4))
    x = L.SeparableConv2D(6, 3, padding="same")(x)
    x = L.Conv2D(6, 3, dilation_rate=2, padding="same")(x)
    x = L.UpSampling2D(2, interpolation="bilinear")(x)
    return keras(tf.keras.Model(i, L.PReLU(shared_axes=[1, 2])(x)), [f32(2, 20, 20, 4)])


def bert_like():
    ids, mask = L.Input((None,), dtype="int32", name="ids"), L.Input((None,), dtype="int32", name="mask")
    x = L.Embedding(100, 16)(ids) + L.Embedding(64, 16)(tf.range(tf.shape(ids)[1]))
    for _ in range(2):
        bias = (1.0 - tf.cast(mask, F)[:, None, None, :]) * -1e9
        h = L.LayerNormalization()(x)
        q, k, v = (L.EinsumDense("abc,cde->abde", (None, 2, 8))(h) for _ in range(3))
        p = tf.nn.softmax(tf.einsum("abcd,aecd->acbe", q, k) / 8**0.5 + bias)
        x = x + L.EinsumDense("abcd,cde->abe", (None, 16))(tf.einsum("acbe,aecd->abcd", p, v))
        x = x + L.Dense(16)(L.Dense(32, activation="gelu")(L.LayerNormalization()(x)))
    out = L.Dense(3)(x[:, 0])
    i = r.integers(0, 100, size=(2, 9)).astype("int32")
    return keras(tf.keras.Model([ids, mask], out), [i, (i > 20).astype("int32")])


def text_vectorization():
    i = L.Input((), dtype="string")
    v = L.TextVectorization(max_tokens=30, output_sequence_length=6)
    v.adapt(["the cat sat on the mat", "a dog ran"])
    return keras(tf.keras.Model(i, L.Dense(2)(L.GlobalAveragePooling1D()(L.Embedding(30, 8)(v(i))))), [text("The cat ran!", "a mat")])


def text_ngrams():
    i = L.Input((), dtype="string")
    v = L.TextVectorization(max_tokens=30, ngrams=2, output_mode="count")
    v.adapt(["the cat sat on the mat", "a dog ran"])
    return keras(tf.keras.Model(i, L.Dense(2)(v(i))), [text("The cat ran!", "a mat")])


def preprocessing():
    s, n, x = L.Input((1,), dtype="string", name="s"), L.Input((1,), dtype="int64", name="n"), L.Input((1,), name="x")
    a = L.CategoryEncoding(6, output_mode="multi_hot")(L.StringLookup(vocabulary=["a", "b", "c"], num_oov_indices=2)(s))
    b = L.CategoryEncoding(5, output_mode="one_hot")(L.IntegerLookup(vocabulary=[10, 20, 30])(n))
    c = L.Embedding(8, 2)(L.Hashing(8)(s))
    d = L.CategoryEncoding(4, output_mode="one_hot")(L.Discretization([0.0, 1.0, 2.0])(x))
    y = L.Dense(3)(L.Concatenate()([a, b, L.Flatten()(c), d]))
    return keras(tf.keras.Model([s, n, x], y), [text(["a"], ["z"]), np.array([[20], [7]]), f32(2, 1)])


def static_table():
    t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], I)), -1)
    m = one(lambda x: t.lookup(x), {"x": ((None,), S)}, [text("a", "q", "b")])
    m.table = t
    return m


def mutable_table():
    t = tf.lookup.experimental.MutableHashTable(S, F, 0.0)
    t.insert(["a"], [3.0])

    def add(k, v):
        t.insert(k, v)
        return {"size": t.size()}

    m = Served(get=(lambda k: {"y": t.lookup(k)}, {"k": ((None,), S)}, [[text("a", "b")]]), put=(add, {"k": ((None,), S), "v": ((None,), F)}, [[text("b"), f32(1)]]))
    m.table = t
    return m


def counter():
    v = tf.Variable(5.0)
    m = Served(incr=(lambda by: {"y": v.assign_add(by)}, {"by": ((), F)}, [[np.float32(1)]]), get=(lambda: {"y": v.read_value()}, {}, [[]]))
    m.v = v
    return m


def ragged_tokens():
    w = tf.Variable(f32(50, 4))
    m = one(lambda x: tf.reduce_mean(tf.gather(w, tf.strings.to_hash_bucket_fast(tf.strings.split(x), 50)), axis=1), {"x": ((None,), S)}, [text("a b c", "d e")])
    m.w = w
    return m


def two_tower():
    w, items = tf.Variable(f32(8, 4)), tf.Variable(f32(30, 4))

    def top(x, names=tf.constant([f"item{i}" for i in range(30)])):
        s, at = tf.math.top_k(tf.matmul(tf.matmul(x, w), items, transpose_b=True), 5)
        return {"scores": s, "items": tf.gather(names, at)}

    m = Served(serving_default=(lambda x: top(x), {"x": ((None, 8), F)}, [[f32(3, 8)]]))
    m.kept = [w, items]
    return m


def deep_fm():
    e = tf.Variable(f32(100, 4))

    def f(ids, x):
        v = tf.nn.embedding_lookup(e, ids) * x[..., None]
        s = tf.square(tf.reduce_sum(v, 1)) - tf.reduce_sum(tf.square(v), 1)
        return tf.sigmoid(0.5 * tf.reduce_sum(s, 1))

    m = one(f, {"ids": ((None, 6), I), "x": ((None, 6), F)}, [r.integers(0, 100, (3, 6)), f32(3, 6)])
    m.e = e
    return m


def image_bytes():
    def f(b):
        x = tf.map_fn(lambda s: tf.image.resize(tf.image.decode_jpeg(s, 3), (8, 8)), b, fn_output_signature=F)
        return tf.reduce_mean(x, (1, 2))

    return one(f, {"b": ((None,), S)}, [text(tf.io.encode_jpeg(r.integers(0, 255, (9, 9, 3)).astype("uint8")).numpy())])


def jpeg_mobilenet():
    net = tf.keras.applications.MobileNetV2(weights=None, input_shape=(32, 32, 3), classes=5)

    def f(b):
        x = tf.map_fn(lambda s: tf.image.resize(tf.cast(tf.io.decode_jpeg(s, channels=3), F), (32, 32)), b, fn_output_signature=tf.TensorSpec((32, 32, 3), F))
        return net(x / 127.5 - 1)

    m = one(f, {"b": ((None,), S)}, [text(*[tf.io.encode_jpeg(picture(40 + 9 * i, 50, 3), progressive=i == 1).numpy() for i in range(3)])])
    m.net = net
    return m


def image_kinds():
    def f(b):
        x = tf.io.decode_image(b, channels=3, expand_animations=False)
        x.set_shape((None, None, 3))
        return tf.compat.v1.image.resize_bilinear(tf.image.convert_image_dtype(x, F)[None], (9, 11), align_corners=True)

    x = picture(13, 17, 3)
    return one(f, {"b": ((), S)}, [np.array(tf.io.encode_png(x).numpy(), object)], [np.array(tf.io.encode_jpeg(x).numpy(), object)])


def antialiased():
    methods = ["bilinear", "lanczos3", "lanczos5", "bicubic", "gaussian", "area", "mitchellcubic", "nearest"]
    return one(lambda x: tf.stack([tf.image.resize(x, (5, 6), m, antialias=True) for m in methods]), {"x": ((None, None, None, 3), F)}, [f32(2, 12, 9, 3)], [f32(1, 4, 4, 3)])


def saliency():
    net = tf.keras.Sequential([L.Conv2D(4, 3, activation="relu"), L.GlobalAveragePooling2D(), L.Dense(3)])
    net.build((None, 12, 12, 3))

    def f(x):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.reduce_max(net(tf.image.resize(x, (12, 12), "bicubic", antialias=True) + tf.image.resize(x, (12, 12), "bicubic") + tf.image.resize(x, (12, 12))))
        return tf.abs(t.gradient(y, x))

    m = one(f, {"x": ((None, 16, 16, 3), F)}, [f32(2, 16, 16, 3)])
    m.net = net
    return m


def photo_filter():
    def f(b, turn):
        x = tf.image.convert_image_dtype(tf.io.decode_png(b, 3), F)
        x = tf.image.adjust_saturation(tf.image.adjust_contrast(tf.image.adjust_hue(x, 0.1), 1.3), 0.7)
        return tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(x) * [1, 1, 0.5]) * turn

    return one(f, {"b": ((), S), "turn": ((), F)}, [np.array(tf.io.encode_png(picture(8, 9, 3)).numpy(), object), np.float32(2)])


def soft_detection():
    def f(boxes, scores, image):
        at, s = tf.image.non_max_suppression_with_scores(boxes, scores, 4, 0.5, 0.1, 0.3)
        return tf.reduce_sum(tf.image.crop_and_resize(image, tf.gather(boxes, at), tf.zeros_like(at), (3, 3)), (1, 2, 3)) * s

    return one(f, {"boxes": ((None, 4), F), "scores": ((None,), F), "image": ((1, None, None, 3), F)}, [np.abs(f32(6, 4)), np.abs(f32(6)), f32(1, 7, 8, 3)])


def detection():
    def f(boxes, scores):
        at, n = tf.image.non_max_suppression_padded(boxes, scores, 5, pad_to_max_output_size=True)
        return tf.gather(boxes, at)

    return one(f, {"boxes": ((None, 4), F), "scores": ((None,), F)}, [np.abs(f32(6, 4)), f32(6)])


def detection_combined():
    def f(boxes, scores):
        return tf.image.combined_non_max_suppression(boxes[:, :, None], scores, 3, 5).nmsed_scores

    return one(f, {"boxes": ((None, None, 4), F), "scores": ((None, None, 2), F)}, [np.abs(f32(1, 6, 4)), f32(1, 6, 2)])


def audio():
    return one(lambda x: tf.abs(tf.signal.stft(x, 16, 8)), {"x": ((None, 64), F)}, [f32(2, 64)])


def half():
    w = tf.Variable(f32(4, 3).astype("float16"))
    m = one(lambda x: tf.nn.softmax(tf.matmul(tf.cast(x, tf.float16), w)), {"x": ((None, 4), F)}, [f32(2, 4)])
    m.w = w
    return m


def brain_float():
    w = tf.Variable(tf.cast(f32(4, 3), tf.bfloat16))
    m = one(lambda x: tf.cast(tf.matmul(tf.cast(x, tf.bfloat16), w), F), {"x": ((None, 4), F)}, [f32(2, 4)])
    m.w = w
    return m


def half_storage():
    w = tf.Variable(f32(50, 4).astype("float16"))
    m = one(lambda x: tf.reduce_sum(tf.cast(tf.gather(w, x), F), -1), {"x": ((None,), I)}, [r.integers(0, 50, 5)])
    m.w = w
    return m


def mixed_precision():
    i = L.Input((8,))
    p = tf.keras.mixed_precision.Policy("mixed_float16")
    return keras(tf.keras.Model(i, L.Dense(2, dtype="float32")(L.Dense(8, dtype=p, activation="relu")(i))), [f32(2, 8)])


def bidirectional():
    i = L.Input((None, 4))
    return keras(tf.keras.Model(i, L.Dense(2)(L.Bidirectional(L.LSTM(5))(L.Masking()(i)))), [f32(2, 6, 4)])


def gru_stack():
    i = L.Input((7, 4))
    return keras(tf.keras.Model(i, L.GRU(3)(L.GRU(5, return_sequences=True)(i))), [f32(2, 7, 4)])


def branch_unknown():
    def f(b, flag):
        return tf.cond(flag, lambda: tf.cast(tf.shape(tf.image.decode_png(b))[0], F), lambda: tf.math.real(tf.signal.fft(tf.cast(tf.ones(4), tf.complex64)))[0])

    return one(f, {"b": ((), S), "flag": ((), tf.bool)}, [np.array(tf.io.encode_png(picture(5, 4, 1)).numpy(), object), np.bool_(True)], [np.array(b"", object), np.bool_(False)])


def branch_type():
    return one(lambda x, flag: tf.cond(flag, lambda: x, lambda: tf.cast(tf.matmul(tf.cast(x, tf.float16), tf.cast(x, tf.float16)), F)), {"x": ((3, 3), F), "flag": ((), tf.bool)}, [f32(3, 3), np.bool_(True)], [f32(3, 3), np.bool_(False)])


def generate():
    w = tf.Variable(f32(10, 10))

    def f(start):
        out = tf.TensorArray(I, 5)
        at = start
        for i in tf.range(5):
            at = tf.argmax(tf.gather(w, at), -1)
            out = out.write(i, at)
        return tf.transpose(out.stack())

    m = one(f, {"start": ((None,), I)}, [r.integers(0, 10, 3)])
    m.w = w
    return m


def trees():
    split, at = tf.constant(f32(4, 7)), tf.constant(r.integers(0, 5, (4, 7)).astype("int32"))
    leaf = tf.constant(f32(4, 8))

    def f(x):
        node = tf.zeros((tf.shape(x)[0], 4), tf.int32)
        for _ in range(3):
            t = tf.broadcast_to(tf.range(4)[None], tf.shape(node))
            key = tf.stack([t, node], -1)
            right = tf.gather(x, tf.gather_nd(at, key), batch_dims=1) > tf.gather_nd(split, key)
            node = 2 * node + 1 + tf.cast(right, tf.int32)
        return tf.reduce_sum(tf.gather_nd(leaf, tf.stack([tf.broadcast_to(tf.range(4)[None], tf.shape(node)), node - 7], -1)), 1)

    return one(f, {"x": ((None, 5), F)}, [f32(6, 5)])


def parsing():
    spec = {"x": tf.io.FixedLenFeature((2,), F), "w": tf.io.VarLenFeature(S), "n": tf.io.FixedLenFeature((), I, 3), "t": tf.io.RaggedFeature(I)}

    def f(e):
        p = tf.io.parse_example(e, spec)
        words = tf.sparse.to_dense(p["w"], "")
        return tf.reduce_sum(p["x"], 1) + tf.cast(p["n"], F) + tf.cast(tf.reduce_sum(tf.strings.length(words), 1), F) + tf.cast(tf.reduce_sum(p["t"], 1), F)

    e = tf.train.Example()
    e.features.feature["x"].float_list.value.extend([1, 2.5])
    e.features.feature["w"].bytes_list.value.extend([b"ab", b"c"])
    e.features.feature["t"].int64_list.value.extend([4, 5])
    return one(f, {"e": ((None,), S)}, [text(e.SerializeToString())])


def one_bad_signature():
    return Served(good=(lambda x: {"y": x + 1}, {"x": ((None,), F)}, [[f32(3)]]), bad=(lambda x: {"y": tf.linalg.inv(x)}, {"x": ((3, 3), F)}, [[f32(3, 3)]]))


def sparse_inputs():
    w = tf.Variable(f32(10, 3))

    def f(i, v, d):
        s = tf.SparseTensor(i, v, d)
        return tf.sparse.sparse_dense_matmul(tf.sparse.reorder(s), w)

    m = one(f, {"i": ((None, 2), I), "v": ((None,), F), "d": ((2,), I)}, [np.array([[0, 1], [1, 4]]), f32(2), np.array([2, 10])])
    m.w = w
    return m


def sparse_embedding():
    w = tf.Variable(f32(10, 3))

    def f(i, v, d):
        return tf.nn.safe_embedding_lookup_sparse(w, tf.SparseTensor(i, v, d), combiner="mean")

    m = one(f, {"i": ((None, 2), I), "v": ((None,), I), "d": ((2,), I)}, [np.array([[0, 0], [0, 1], [2, 0]]), np.array([3, 4, 9]), np.array([3, 2])])
    m.w = w
    return m


def conv3d():
    i = L.Input((6, 6, 6, 1))
    return keras(tf.keras.Model(i, L.MaxPooling3D()(L.Conv3D(2, 3)(i))), [f32(1, 6, 6, 6, 1)])


def resnext_like():
    x = i = L.Input((24, 24, 3))
    x = L.Conv2D(32, 3, 2, padding="same", use_bias=False)(x)
    for stride in (1, 2):
        y = L.Conv2D(32, 1, activation="relu")(L.BatchNormalization()(x))
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(32, 3, stride, padding="same", groups=8, use_bias=False)(y)))
        y = L.BatchNormalization()(L.Conv2D(32, 1, use_bias=False)(y))
        x = L.Activation("relu")(L.Add()([y, L.Conv2D(32, 1, stride)(x)]))
    x = L.Conv2D(64, 3, padding="same", groups=2, activation="relu")(x)
    return keras(tf.keras.Model(i, L.Dense(5)(L.GlobalAveragePooling2D()(x))), [f32(2, 24, 24, 3)], [f32(1, 24, 24, 3)])


def deeplab_like():
    x = i = L.Input((None, None, 3))
    x = L.Conv2D(8, 3, 2, padding="same", activation="relu")(x)
    y = [L.Conv2D(8, 3, padding="same", dilation_rate=r, activation="relu")(x) for r in (1, 3, 6)] + [L.DepthwiseConv2D(3, padding="same", dilation_rate=2)(x)]
    x = L.Conv2D(4, 1)(L.Concatenate()(y))
    return keras(tf.keras.Model(i, L.UpSampling2D(2, interpolation="bilinear")(x)), [f32(2, 32, 40, 3)], [f32(1, 16, 16, 3)])


def video_3d():
    x = i = L.Input((8, 12, 12, 3))
    x = L.Activation("relu")(L.BatchNormalization()(L.Conv3D(6, 3, padding="same")(x)))
    x = L.MaxPooling3D((1, 2, 2))(x)
    x = L.Conv3D(8, 3, (2, 1, 1), dilation_rate=1, activation="relu")(L.ZeroPadding3D(1)(x))
    x = L.AveragePooling3D(2, padding="same")(x)
    x = L.Conv3DTranspose(4, 2, 2)(L.UpSampling3D(2)(x))
    return keras(tf.keras.Model(i, L.Dense(3)(L.GlobalMaxPooling3D()(L.Cropping3D(1)(x)))), [f32(2, 8, 12, 12, 3)])


def dilated_3d():
    x = i = L.Input((9, 9, 9, 2))
    return keras(tf.keras.Model(i, L.Conv3D(4, 3, dilation_rate=2)(x)), [f32(2, 9, 9, 9, 2)])


def wavenet_like():
    x = i = L.Input((None, 4))
    x = L.Conv1D(8, 2, padding="causal")(x)
    for rate in (1, 2, 4):
        y = L.Multiply()([L.Conv1D(8, 2, padding="causal", dilation_rate=rate, activation=a)(x) for a in ("tanh", "sigmoid")])
        x = L.Add()([x, L.Conv1D(8, 1)(y)])
    return keras(tf.keras.Model(i, L.Conv1D(3, 1)(x)), [f32(2, 20, 4)], [f32(1, 33, 4)])


def sequences_1d():
    x = i = L.Input((24, 4))
    x = L.SeparableConv1D(6, 3, padding="same", activation="relu")(x)
    x = L.Conv1D(8, 3, groups=2, padding="same")(L.MaxPooling1D(2)(x))
    x = L.Conv1DTranspose(4, 3, 2, padding="same")(L.AveragePooling1D(2)(x))
    x = L.Concatenate()([L.UpSampling1D(2)(x), L.ZeroPadding1D(1)(L.Cropping1D(1)(i))])
    return keras(tf.keras.Model(i, L.Concatenate()([L.GlobalMaxPooling1D()(x), L.GlobalAveragePooling1D()(x)])), [f32(2, 24, 4)])


def transposed_kinds():
    x = i = L.Input((6, 7, 4))
    a = L.Conv2DTranspose(4, 3, 1, padding="same", dilation_rate=2)(x)
    b = L.Conv2DTranspose(4, 3, 2, padding="valid", output_padding=1)(x)
    return keras(tf.keras.Model(i, [a, b]), [f32(2, 6, 7, 4)])


def alexnet_v1():
    def f(x):
        x = tf.nn.local_response_normalization(tf.nn.relu(tf.nn.conv2d(x, w[0], 2, "SAME")), 2, 1.0, 2e-4, 0.75)
        x = tf.nn.max_pool2d(x, 3, 2, "VALID")
        parts = [tf.nn.conv2d(p, k, 1, "SAME") for p, k in zip(tf.split(x, 2, 3), w[1:])]
        return tf.nn.lrn(tf.concat(parts, 3))

    w = [tf.constant(f32(5, 5, 3, 8)), tf.constant(f32(3, 3, 4, 4)), tf.constant(f32(3, 3, 4, 4))]
    return one(f, {"x": ((None, 20, 20, 3), F)}, [f32(2, 20, 20, 3)])


def channels_first():
    def f(x):
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 2, 2], "SAME", data_format="NCHW"), b, data_format="NC.."))
        y = tf.raw_ops.FusedBatchNormV3(x=y, scale=b, offset=b, mean=b, variance=b * b + 1, data_format="NCHW", is_training=False)[0]
        y = tf.nn.max_pool2d(y, 2, 2, "VALID", data_format="NCHW")
        return tf.nn.conv2d(tf.nn.avg_pool2d(y, 2, 1, "SAME", data_format="NCHW"), g, 1, "SAME", data_format="NCHW", dilations=2)

    w, b, g = tf.constant(f32(3, 3, 3, 8)), tf.constant(f32(8)), tf.constant(f32(3, 3, 8, 8))
    return one(f, {"x": ((None, 3, 16, 16), F)}, [f32(2, 3, 16, 16)])


def quantized():
    return one(lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1, 1), {"x": ((None, 4), F)}, [f32(2, 4)])


def linear_algebra():
    return one(lambda x: tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True) + tf.eye(3)), {"x": ((None, 3, 3), F)}, [f32(2, 3, 3)])


def string_ops():
    def f(x):
        y = tf.strings.regex_replace(tf.strings.lower(x), r"[^a-z ]", "")
        return tf.strings.join([tf.strings.substr(y, 0, 3), tf.strings.as_string(tf.strings.length(y))], "-")

    return one(f, {"x": ((None,), S)}, [text("Hello, World", "a1b2")])


def string_template():
    return one(lambda x: tf.strings.format("value {}", x), {"x": ((None,), F)}, [f32(2)])


def integers():
    def f(x, u):
        return tf.cast(x // 3 + x % 5, F) + tf.cast(tf.cast(u, tf.int32) // 2, F) + tf.cast(tf.bitwise.right_shift(u, tf.ones_like(u)), F)

    return one(f, {"x": ((None,), I), "u": ((None,), tf.uint8)}, [np.array([7, -9]), np.array([200, 3], "uint8")])


def narrow_sums():
    return one(lambda x: tf.cumsum(x), {"x": ((None,), tf.int16)}, [np.array([1, 2, 3], "int16")])


def complex_numbers():
    return one(lambda x: tf.math.real(tf.complex(x, x) * tf.complex(x, -x)), {"x": ((None,), F)}, [f32(3)])


def python_function():
    return one(lambda x: tf.ensure_shape(tf.py_function(lambda v: v + 1, [x], F), (None,)), {"x": ((None,), F)}, [f32(2)])


def dataset_inside():
    return one(lambda n: tf.data.Dataset.range(n).map(lambda v: tf.cast(tf.math.bessel_i0(tf.cast(v, F)), I)).reduce(tf.constant(0, I), lambda a, b: a + b), {"n": ((), I)}, [np.int64(6)])


def asserts():
    def f(x):
        with tf.control_dependencies([tf.debugging.assert_greater(x, 100.0)]):
            return tf.sqrt(x)

    return one(f, {"x": ((None,), F)}, [np.array([400.0, 121.0], "float32")])


def dictionary_outputs():
    return Served(serving_default=(lambda x: {"n": tf.shape(x)[0], "any": tf.reduce_any(x > 0, 1), "s": tf.strings.as_string(x), "sorted": tf.sort(x), "u": tf.unique(tf.reshape(tf.cast(x, I), [-1]))[0]}, {"x": ((None, 3), F)}, [[f32(2, 3)]]))


def time_series():
    x = i = L.Input((24, 3))
    x = L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="relu")(x)
    x = L.Conv1D(4, 3, padding="same")(x) + tf.roll(x, 1, 1)
    x = L.MaxPooling1D(2)(x)
    return keras(tf.keras.Model(i, L.Dense(2)(L.Flatten()(tf.cumsum(x, 1)))), [f32(2, 24, 3)])


def group_norm():
    i = L.Input((8, 8, 4))
    return keras(tf.keras.Model(i, L.UnitNormalization()(L.GroupNormalization(2)(i))), [f32(2, 8, 8, 4)])


def bicubic():
    return one(lambda x: tf.image.resize(x, (7, 5), "bicubic"), {"x": ((None, 4, 4, 3), F)}, [f32(1, 4, 4, 3)])


def partitions():
    def f(x, at):
        a, b = tf.dynamic_partition(x, at, 2)
        i, j = tf.dynamic_partition(tf.range(tf.size(at)), at, 2)
        return tf.dynamic_stitch([i, j], [a * 2, b - 1])

    return one(f, {"x": ((None,), F), "at": ((None,), tf.int32)}, [f32(4), np.array([0, 1, 1, 0], "int32")])


def segments():
    return one(lambda x, s: tf.math.unsorted_segment_mean(x, s, 3), {"x": ((None, 2), F), "s": ((None,), I)}, [f32(4, 2), np.array([0, 2, 2, 0])])


def crop_and_resize():
    return one(lambda x, b: tf.image.crop_and_resize(x, b, [0], (4, 4)), {"x": ((None, 8, 8, 3), F), "b": ((1, 4), F)}, [f32(1, 8, 8, 3), np.abs(f32(1, 4))])


def sampling():
    def f(x, seed):
        return tf.random.stateless_categorical(x, 2, seed)

    return one(f, {"x": ((None, 4), F), "seed": ((2,), tf.int32)}, [f32(3, 4), np.array([1, 2], "int32")])


def stateful_random():
    return one(lambda x: x + tf.random.uniform(tf.shape(x), seed=3), {"x": ((None,), F)}, [f32(4)], [f32(3)])


def wide_deep_v1():
    c = tf.feature_column
    cols = [c.numeric_column("x"), c.embedding_column(c.categorical_column_with_hash_bucket("s", 10), 3), c.indicator_column(c.categorical_column_with_vocabulary_list("v", ["a", "b"]))]
    layer = tf.keras.layers.DenseFeatures(cols)
    d = L.Dense(2)

    def f(x, s, v):
        return d(layer({"x": x, "s": s, "v": v}))

    f(tf.ones((1, 1)), tf.constant([["a"]]), tf.constant([["b"]]))
    m = one(f, {"x": ((None, 1), F), "s": ((None, 1), S), "v": ((None, 1), S)}, [f32(2, 1), text(["p"], ["q"]), text(["a"], ["c"])])
    m.kept = [layer, d]
    return m


def speech_mfcc():
    w = tf.Variable(f32(13, 3))
    wav = lambda x: tf.audio.encode_wav(x, 8000).numpy()

    def f(x):
        samples, rate = tf.audio.decode_wav(x, desired_channels=1, desired_samples=1600)
        power = tf.raw_ops.AudioSpectrogram(input=samples, window_size=256, stride=128, magnitude_squared=True)
        return tf.nn.softmax(tf.reduce_mean(tf.matmul(tf.raw_ops.Mfcc(spectrogram=power, sample_rate=rate), w), 1))

    m = one(f, {"x": ((), S)}, [np.array(wav(np.clip(f32(1600, 1), -1, 0.9)), object)], [np.array(wav(np.full((900, 2), 0.3, "float32")), object)])
    m.w = w
    return m


def speech_log_mel():
    def f(x):
        power = tf.abs(tf.signal.stft(x, 256, 128, 512))
        mel = tf.tensordot(power, tf.signal.linear_to_mel_weight_matrix(40, 257, 8000, 80.0, 3800.0), 1)
        return tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(mel + 1e-6))[..., :13]

    return one(f, {"x": ((None, 2000), F)}, [f32(2, 2000)])


def spectral_filter():
    return one(lambda x: tf.signal.inverse_stft(tf.signal.stft(x, 60, 20) * tf.complex(0.5, 0.25), 60, 20), {"x": ((None, 500), F)}, [f32(2, 500)])


def image_spectrum():
    return one(lambda x: tf.math.angle(tf.signal.fft2d(tf.cast(x, tf.complex64)) + tf.complex(100.0, 1.0)), {"x": ((None, 12, 9), F)}, [f32(2, 12, 9)])


def ctc_decoders():
    def f(x, n):
        best, score = tf.nn.ctc_greedy_decoder(x, n)
        beams, chances = tf.nn.ctc_beam_search_decoder(x, n, beam_width=8, top_paths=2)
        return {"best": tf.sparse.to_dense(best[0], -1), "score": score, "beam": tf.sparse.to_dense(beams[1], -1), "chances": chances}

    return Served(serving_default=(f, {"x": ((None, None, 6), F), "n": ((None,), tf.int32)}, [[f32(9, 3, 6), np.array([9, 4, 7], "int32")]]))


def unicode_text():
    def f(x):
        letters = tf.strings.unicode_decode(x, "UTF-8")
        pairs = tf.strings.ngrams(tf.strings.unicode_split(x, "UTF-8"), 2, separator="")
        return {"codes": letters.to_tensor(-1), "pairs": pairs.to_tensor("-"), "upper": tf.strings.upper(x, "utf-8"), "again": tf.strings.unicode_encode(letters + 1, "UTF-8")}

    return Served(serving_default=(f, {"x": ((None,), S)}, [[text("straße", "", "日本 a")]]))


def sequence_ranking():
    w = tf.Variable(f32(3, 1))

    def steps(*rows):
        return tf.train.FeatureList(feature=[tf.train.Feature(float_list=tf.train.FloatList(value=r)) for r in rows])

    def tags(*rows):
        return tf.train.FeatureList(feature=[tf.train.Feature(bytes_list=tf.train.BytesList(value=r)) for r in rows])

    def query(age, **lists):
        context = {} if age is None else {"age": tf.train.Feature(int64_list=tf.train.Int64List(value=[age]))}
        return tf.train.SequenceExample(context=tf.train.Features(feature=context), feature_lists=tf.train.FeatureLists(feature_list=lists)).SerializeToString()

    def f(x):
        io = tf.io
        context, lists, lengths = io.parse_sequence_example(
            x, {"age": io.FixedLenFeature([1], tf.int64, [7])},
            {"scores": io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True), "tags": io.VarLenFeature(tf.string), "words": io.RaggedFeature(tf.string)})
        age = tf.tile(tf.cast(context["age"], tf.float32)[:, None, :], [1, tf.shape(lists["scores"])[1], 1])
        mask = tf.sequence_mask(lengths["scores"], tf.shape(lists["scores"])[1])
        rank = tf.where(mask, tf.squeeze(tf.matmul(tf.concat([lists["scores"], age], -1), tf.broadcast_to(w, [tf.shape(x)[0], 3, 1])), -1), -1e9)
        return {"rank": tf.nn.softmax(rank), "tags": tf.sparse.to_dense(lists["tags"], "-"), "words": lists["words"].to_tensor("-"), "n": lengths["scores"]}

    full = query(30, scores=steps([1, 2], [0.5, 0.25], [-1, 1]), tags=tags([b"a", b"b"], [], [b"c"]), words=tags([b"x"], [b"y", b"z"]))
    m = Served(serving_default=(f, {"x": ((None,), S)}, [[np.array([full, query(None, scores=steps([3, 4]))], object)], [np.array([query(1)], object)]]))
    m.w = w
    return m


def ragged_map():
    def f(x, splits):
        rows = tf.RaggedTensor.from_row_splits(x, splits, validate=False)
        sums = tf.map_fn(tf.reduce_sum, rows, fn_output_signature=F)
        sorted_rows = tf.map_fn(lambda r: tf.sort(r) * 2, rows, fn_output_signature=tf.RaggedTensorSpec([None], F, 0))
        words = tf.map_fn(lambda s: tf.strings.split(s, ","), tf.strings.as_string(sums), fn_output_signature=tf.RaggedTensorSpec([None], S, 0))
        return {"sums": sums, "sorted": sorted_rows.to_tensor(-1.0), "words": words.to_tensor("-")}

    return Served(serving_default=(f, {"x": ((None,), F), "splits": ((None,), tf.int64)}, [[f32(5), np.array([0, 2, 2, 5], "int64")]]))


def kinds(module):
    """The functions of a module that make a model."""
    own = lambda f: inspect.isfunction(f) and f.__module__ == module.__name__ and not inspect.signature(f).parameters
    return {k: f for k, f in vars(module).items() if own(f)}


FAMILIES = {"mixed": sys.modules[__name__], "images": models_vision, "language": models_language, "ranking, features, graphs": models_ranking,
            "signals, series, state": models_signals, "layers and functions": models_layers, "further exports": models_exports, "pipelines": models_pipelines, "datasets": models_datasets, "TensorFlow 1": models_v1}


def main():
    all_kinds = {k: (family, f) for family, m in FAMILIES.items() for k, f in kinds(m).items() if f is not main}
    if len(sys.argv) < 2:
        print("\n".join(k + " " + family for k, (family, _) in all_kinds.items()))
        return
    where, failed = sys.argv[1], False
    for name in sys.argv[2:] or all_kinds:
        try:
            write(where, name, all_kinds[name][1])
            print(name, "ok", flush=True)
        except Exception:
            failed = True
            print(name, "cannot be made:", traceback.format_exc(), file=sys.stderr)
    sys.exit(failed)


def write(where, name, kind):
    """Saves a model in WHERE/NAME/1, and what TensorFlow answers in WHERE/NAME.json."""
    tf.random.set_seed(7)
    m = kind()
    path = os.path.join(where, name, "1")
    if isinstance(m, tf.keras.Model):
        tf.saved_model.save(m, path)
    else:
        m.save(path)
    with open(os.path.join(where, name + ".json"), "w") as f:
        json.dump(answers(path, m.runs), f)
    tf.keras.backend.clear_session()


if __name__ == "__main__":
    main()
