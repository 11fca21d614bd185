"""Models of layers with their rarer options, and modules of functions that models are written with."""
import numpy as np
import tensorflow as tf

from served import F, I, L, S, Served, f32, kept, keras, r, text

M = tf.keras.Model


def functions(specs, values, **calls):
    """A module of one signature that answers with the result of each function."""
    return Served(serving_default=(lambda *a, **k: {n: f(*a, **k) for n, f in calls.items()}, specs, values))


def masked_rnn_options():
    x = i = L.Input((None, 4))
    h = L.Masking()(x)
    y = [L.LSTM(3, go_backwards=True)(h), L.GRU(3, reset_after=False, implementation=1)(h), L.SimpleRNN(3, activation="relu")(h), *L.LSTM(2, return_state=True)(h)[1:]]
    y += [L.RNN([L.LSTMCell(3), L.GRUCell(2)])(h), L.Lambda(lambda v: v[:, 0])(L.LSTM(3, return_sequences=True, zero_output_for_mask=True)(h))]
    y += [L.Bidirectional(L.GRU(2), merge_mode=m)(h) for m in ("sum", "mul", "ave")]
    v = np.where(r.random((3, 6, 1)) > 0.4, f32(3, 6, 4), 0).astype("float32")
    return keras(M(i, L.Concatenate()(y)), [v], [np.zeros((2, 3, 4), "float32")], [f32(1, 1, 4)])


def time_distributed():
    x = i = L.Input((None, 8, 8, 2))
    x = L.TimeDistributed(L.BatchNormalization())(L.TimeDistributed(L.Conv2D(4, 3, activation="relu"))(x))
    x = L.TimeDistributed(L.GlobalMaxPooling2D())(x)
    return keras(M(i, L.LSTM(3, unroll=False)(x)), [f32(2, 3, 8, 8, 2)], [f32(0, 3, 8, 8, 2)])


def locally_connected():
    x = i = L.Input((9, 8, 3))
    x = L.LocallyConnected2D(4, (2, 3), implementation=2)(x)
    x = L.LocallyConnected2D(4, (2, 3), implementation=3)(x)
    return keras(M(i, L.LocallyConnected1D(3, 3, strides=2)(L.Reshape((-1, 4))(L.LocallyConnected2D(4, 2)(x)))), [f32(2, 9, 8, 3)], [f32(0, 9, 8, 3)])


def conv3d_groups():
    x = i = L.Input((5, 4, 5, 4))
    x = L.Conv3D(8, 2, groups=2, activation="relu", padding="same")(x)
    return keras(M(i, L.Conv3DTranspose(2, 3, strides=2, padding="same", output_padding=1)(L.Conv3D(4, 2, groups=4)(x))), [f32(2, 5, 4, 5, 4)], [f32(0, 5, 4, 5, 4)])


def conv_lstm_kinds():
    a, b = L.Input((3, 7, 2)), L.Input((3, 4, 4, 4, 1))
    y = L.ConvLSTM1D(3, 3, strides=2, go_backwards=True)(a), L.ConvLSTM3D(2, 2, padding="same")(b)
    return keras(M([a, b], [L.Flatten()(v) for v in y]), [f32(2, 3, 7, 2), f32(2, 3, 4, 4, 4, 1)])


def normalization_layers():
    x = i = L.Input((6, 7, 4))
    y = [L.UnitNormalization(axis=[1, -1]), L.LayerNormalization(axis=[1, 2], center=False), L.GroupNormalization(groups=2), L.GroupNormalization(groups=3, axis=1), L.BatchNormalization(axis=1, center=False)]
    return keras(M(i, L.Concatenate()([n(x) for n in y])), [f32(2, 6, 7, 4)], [f32(0, 6, 7, 4)])


def random_layers():
    x = i = L.Input((12, 10, 3))
    y = [L.RandomCrop(5, 7), L.RandomFlip(), L.RandomRotation(0.2), L.RandomTranslation(0.2, 0.1), L.RandomZoom(0.2), L.RandomContrast(0.2), L.RandomBrightness(0.2), L.GaussianDropout(0.3), L.AlphaDropout(0.3), L.GaussianNoise(0.3)]
    y += [L.Resizing(7, 9, crop_to_aspect_ratio=True), L.CenterCrop(5, 7), L.CenterCrop(20, 7)]
    return keras(M(i, L.Concatenate()([L.Flatten()(n(x)) for n in y])), [(r.random((2, 12, 10, 3)) * 255).astype("float32")])


def tensor_arrays():
    def parts(x):
        ta = tf.TensorArray(F, 0, dynamic_size=True, infer_shape=False).split(x, tf.ones([tf.shape(x)[0]], tf.int32) * 1)
        return ta.concat()

    def scattered(x):
        ta = tf.TensorArray(F, 0, dynamic_size=True).unstack(x)
        ta = ta.scatter([0], x[:1] * 2)
        return ta.write(ta.size(), tf.ones(3)).stack()

    def loop(x):
        n = tf.shape(x)[0]
        ta = tf.TensorArray(F, n, infer_shape=False)
        return tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t.write(i, tf.repeat(x[i : i + 1], i + 1, 0))), (0, ta))[1].concat()

    return functions({"x": ((None, 3), F)}, [[f32(4, 3)], [f32(1, 3)]], parts=parts, scattered=scattered, loop=loop)


def slice_updates():
    def f(x):
        y = tf.raw_ops.TensorStridedSliceUpdate(input=x, begin=[0, 1], end=[0, 3], strides=[1, 1], value=x[:, 1:3] * 2, begin_mask=1, end_mask=1)
        return {"y": y, "z": tf.tensor_scatter_nd_max(y, [[0, 0]], [9.0])}

    return Served(serving_default=(f, {"x": ((None, 4), F)}, [[f32(3, 4)]]))


def approximate_retrieval():
    items = tf.Variable(f32(200, 8))

    def f(x):
        s, at = tf.math.approx_max_k(tf.matmul(x, items, transpose_b=True), 10)
        return {"scores": s, "items": at}

    return kept(Served(serving_default=(f, {"x": ((None, 8), F)}, [[f32(3, 8)]])), items)


def cubic_spline():
    def f(y):
        n = tf.shape(y)[1]
        rhs = tf.pad((y[:, 2:] - 2 * y[:, 1:-1] + y[:, :-2]) * 6, [[0, 0], [1, 1]])
        ones = tf.ones_like(y)
        diagonals = tf.stack([tf.pad(ones[:, 1:-1], [[0, 0], [1, 1]]), tf.pad(4 * ones[:, 1:-1], [[0, 0], [1, 1]], constant_values=1), tf.pad(ones[:, 1:-1], [[0, 0], [1, 1]])], 1)
        second = tf.linalg.tridiagonal_solve(diagonals, rhs, diagonals_format="compact")
        return {"second": second, "back": tf.linalg.tridiagonal_matmul(diagonals, second[..., None], diagonals_format="compact"), "n": n}

    return Served(serving_default=(f, {"y": ((None, None), F)}, [[f32(2, 9)], [f32(1, 3)]]))


def distinct_rows():
    def f(x):
        y, at, n = tf.raw_ops.UniqueWithCountsV2(x=x, axis=tf.constant([0], I))
        return {"y": y, "at": at, "n": n}

    return Served(serving_default=(f, {"x": ((None, 2), F)}, [[f32(5, 2)[[0, 1, 0, 2, 1]]], [f32(0, 2)]]))


def dense_words():
    def f(x):
        w = tf.strings.unicode_split(x, "UTF-8")
        return {"n": tf.strings.length(x, "UTF8_CHAR"), "grams": tf.strings.ngrams(w, (1, 3), pad_values=("<", ">"), separator="_").to_tensor("-"), "upper": tf.strings.upper(x, encoding="utf-8"), "codes": tf.strings.unicode_decode(x, "UTF-8").to_tensor(-1),
                "scripts": tf.strings.unicode_script(tf.strings.unicode_decode(x, "UTF-8").flat_values), "joined": tf.strings.reduce_join(w, axis=-1, separator="."), "swapped": tf.strings.regex_replace(x, r"(\w)(\s)", r"\2\1"), "strong": tf.strings.to_hash_bucket_strong(x, 100, [3, 4])}

    return Served(serving_default=(f, {"x": ((None,), S)}, [[text("Hello World", "", "äÖß straße", " a  b ")]]))


def sparse_functions():
    def f(i, v):
        s = tf.SparseTensor(i, v, tf.constant([4, 5], I))
        dense = lambda t: tf.sparse.to_dense(tf.sparse.reorder(t))
        ids = tf.SparseTensor(i, tf.cast(tf.abs(v) * 3, I), s.dense_shape)
        return {"sum": dense(tf.sparse.add(s, tf.sparse.eye(4, 5))), "joined": dense(tf.sparse.concat(1, [s, s])), "filled": dense(tf.sparse.fill_empty_rows(s, -1.0)[0]), "most": tf.sparse.reduce_max(s, 1), "shape": dense(tf.sparse.reshape(s, [2, -1])), "part": dense(tf.sparse.slice(s, [0, 1], [3, 3])),
                "soft": dense(tf.sparse.softmax(s)), "turned": dense(tf.sparse.transpose(s)), "product": tf.sparse.sparse_dense_matmul(s, tf.ones((4, 2)), adjoint_a=True), "counts": tf.sparse.bincount(ids, axis=-1).dense_shape, "indicator": tf.sparse.to_indicator(ids, 12)}

    return Served(serving_default=(f, {"i": ((None, 2), I), "v": ((None,), F)}, [[np.array([[0, 1], [1, 0], [1, 3], [3, 2]]), f32(4)], [np.zeros((0, 2), "int64"), f32(0)]]))


def ragged_functions():
    def f(v, splits):
        x = tf.RaggedTensor.from_row_splits(v, splits)
        flat = lambda t: t.to_tensor(-9.0)
        return {"mean": tf.reduce_mean(x, 1), "std": tf.math.reduce_std(x, 1), "any": tf.reduce_any(x > 0, 1), "joined": flat(tf.concat([x, x], 1)), "tiled": flat(tf.tile(x, [1, 2])), "masked": flat(tf.ragged.boolean_mask(x, x > 0)), "soft": flat(tf.nn.softmax(x)), "mapped": flat(tf.map_fn(lambda t: t * 2, x)),
                "added": flat(x + tf.expand_dims(tf.reduce_sum(x, 1), 1)), "backwards": flat(x[:, ::-1]), "cut": flat(x[:, :2]), "steps": tf.ragged.range(x.row_lengths()).to_tensor(-1), "sparse": tf.sparse.to_dense(x.to_sparse())}

    return Served(serving_default=(f, {"v": ((None,), F), "splits": ((None,), I)}, [[f32(6), np.array([0, 2, 2, 6])], [f32(0), np.array([0, 0])]]))


def nested_control():
    def inner(a, n):
        return tf.cond(tf.reduce_sum(a) > 0, lambda: a * 2, lambda: tf.cond(n > 2, lambda: -a, lambda: a + 1))

    def slope(x, n):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, tf.cond(n > 2, lambda: tf.sin(a), lambda: a * a)), (0, x))[1]
        return t.gradient(y, x)

    def jacobian(x, n):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.sin(x) * x
        return t.batch_jacobian(y, x)

    loop = lambda x, n: tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, inner(a, n)), (0, x), maximum_iterations=4)[1]
    return functions({"x": ((None, 3), F), "n": ((), tf.int32)}, [[f32(2, 3), np.int32(3)], [f32(1, 3), np.int32(0)], [f32(2, 3), np.int32(9)]], loop=loop, slope=slope, jacobian=jacobian, scan=lambda x, n: tf.scan(lambda a, b: a * 0.5 + b, x, tf.zeros(3)),
                     vectors=lambda x, n: tf.vectorized_map(lambda v: tf.linalg.matvec(tf.tensordot(v, v, 0), v), x), choice=lambda x, n: tf.switch_case(n, [lambda: x, lambda: x * 2, lambda: x * 3]))


def compiled_by_xla():
    @tf.function(jit_compile=True)
    def attention(x):
        return tf.matmul(tf.nn.softmax(tf.matmul(x, x, transpose_b=True)), x)

    return functions({"x": ((None, 4), F)}, [[f32(3, 4)]], y=attention)


def defaults():
    """A signature whose second input is a constant that the function captured, and one that answers without inputs."""
    scale = tf.constant(f32(4))
    return Served(serving_default=(lambda x: {"y": x * scale}, {"x": ((None, 4), F)}, [[f32(0, 4)], [f32(2, 4)]]), version=(lambda: {"v": tf.constant("1.2"), "n": tf.constant(3, tf.int8)}, {}, [[]]))
