"""Models as programs of many hands export them: rarer layers, tables, records and arrays."""
import zlib

import numpy as np
import tensorflow as tf

from served import Exported, F, I, L, S, Served, f32, kept, keras, r, text

M, v1 = tf.keras.Model, tf.compat.v1


def many(f, specs, *values):
    return Served(serving_default=(f, specs, values))


def lookup_layers():
    """Preprocessing layers with several rows for unknown values, salts, weights and crossings."""
    job, city, code, pay, tags = (L.Input((n,), dtype=d, name=k) for k, n, d in [("job", 1, "string"), ("city", 1, "string"), ("code", 1, "int64"), ("pay", 3, "float32"), ("tags", 4, "string")])
    scale = L.Normalization()
    scale.adapt(f32(50, 3))
    words = ["x", "y", "z"]
    out = [L.CategoryEncoding(8, "one_hot")(L.StringLookup(vocabulary=["a", "b", "é"], num_oov_indices=3, mask_token="")(job)), L.CategoryEncoding(8, "multi_hot")(L.IntegerLookup(vocabulary=[10, -5, 1 << 40], num_oov_indices=2, mask_token=0)(code)),
           L.Embedding(16, 3)(L.Hashing(16, mask_value="", salt=[1, 2])(city))[:, 0], L.CategoryEncoding(7, "count")(L.Hashing(7)(tags)), L.HashedCrossing(11, output_mode="one_hot")((job, city)), L.Embedding(9, 2)(L.HashedCrossing(9)((code, city)))[:, 0],
           L.Discretization([-1.0, 0.0, 2.5], output_mode="one_hot")(pay[:, :1]), scale(pay), L.Normalization(axis=None, mean=3.0, variance=4.0, invert=True)(pay), L.StringLookup(vocabulary=words, output_mode="multi_hot")(tags), L.StringLookup(vocabulary=words, output_mode="tf_idf", idf_weights=[0.5, 0.2, 0.9])(tags)]
    m = M([job, city, code, pay, tags], L.Concatenate()(out))
    return keras(m, [text("a", "q", "é").reshape(3, 1), text("", "日本", "x").reshape(3, 1), np.array([[10], [7], [1 << 40]]), f32(3, 3), text("x", "y", "", "q", "x", "x", "z", "w", "", "", "", "").reshape(3, 4)])


def attention_kinds():
    q, v = L.Input((None, 6)), L.Input((5, 6))
    qm, vm = L.Masking()(q), L.Masking()(v)
    out = [L.Attention(use_scale=True, score_mode="concat")([qm, vm]), L.AdditiveAttention()([qm, vm, v]), L.MultiHeadAttention(3, 4, output_shape=7)(q, v, return_attention_scores=True)[1], L.MultiHeadAttention(2, 3)(qm, vm), L.EinsumDense("...x,xy->...y", output_shape=7, bias_axes="y")(q)]
    return keras(M([q, v], out), [f32(2, 4, 6), np.where(r.random((2, 5, 1)) > 0.3, f32(2, 5, 6), 0).astype("float32")])


def export_archive():
    """Keras's ExportArchive: endpoints of one's own."""
    a, i = L.Input((2,), name="a"), L.Input((), dtype="int32", name="i")
    embed = L.Embedding(10, 4)
    m = M({"a": a, "i": i}, {"logits": L.Dense(3)(a) + L.Dense(3)(embed(i))})

    def save(path):
        archive = tf.keras.export.ExportArchive()
        archive.track(m)
        archive.add_endpoint("call", m.call, input_signature=[{"a": tf.TensorSpec((None, 2), F), "i": tf.TensorSpec((None,), tf.int32)}])
        archive.add_endpoint("embed", embed.__call__, input_signature=[tf.TensorSpec((None, None), tf.int32, "ids")])
        archive.write_out(path)

    return Exported(save, ("call", {"inputs": f32(3, 2), "inputs_1": np.array([0, 9, 4], "int32")}), ("embed", {"ids": np.array([[1, 2]], "int32")}))


def growing_tables():
    """A dense table with vectors, and a table that learns words while it is served."""
    lookup = tf.lookup.experimental
    dense, words = lookup.DenseHashTable(I, F, [0.0, 0.0], -1, -2), lookup.MutableHashTable(S, I, 0)
    dense.insert(tf.constant([5, 6], I), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    words.insert(tf.constant(["seed"]), tf.constant([77], I))

    def grow(x, n):
        with tf.control_dependencies([dense.insert(n, tf.stack([tf.cast(n, F), tf.ones_like(n, F)], 1)), words.insert(x, n)]):
            k, v = words.export()
            return {"k": tf.gather(k, tf.argsort(v)), "n": dense.size(), "rows": dense.lookup(n)}

    specs = {"x": ((None,), S), "n": ((None,), I)}
    return kept(Served(serving_default=(lambda n: {"rows": dense.lookup(n)}, {"n": ((None,), I)}, [[np.array([6, 1, 5])]]), grow=(grow, specs, [[text("p", "q"), np.array([4, 3])], [text("q", "r"), np.array([8, 9])]])), dense, words)


def calibrated_scores():
    def f(x):
        y, pools = tf.nn.isotonic_regression(x, decreasing=False)
        return {"y": y, "pools": pools, "name": tf.strings.as_string(tf.complex(x[:, 0], y[:, 0]), precision=3)}

    return many(f, {"x": ((None, None), F)}, [f32(3, 6)], [f32(0, 2)])


def narrow_scatter():
    def f(i, v):
        at, b = i[:, None], tf.cast(v, tf.uint8)
        z = tf.complex(v, -v)
        return {"bytes": tf.scatter_nd(at, b, [6]), "most": tf.tensor_scatter_nd_max(tf.zeros([6], tf.int16), at, tf.cast(v, tf.int16)), "sums": tf.math.real(tf.scatter_nd(at, z, [6]))}

    return many(f, {"i": ((None,), tf.int32), "v": ((None,), F)}, [np.array([1, 5, 1], "int32"), np.float32([200, 7, 100])])


def parsed_features():
    """Ragged features with partitions, sparse ones with two indices, and lists with defaults."""
    io = tf.io
    spec = {"f": io.FixedLenFeature([2], F, [0.5, 1.5]), "q": io.FixedLenSequenceFeature([2], F, allow_missing=True, default_value=-1.0), "r": io.RaggedFeature(S),
            "rp": io.RaggedFeature(F, value_key="rv", partitions=[io.RaggedFeature.RowLengths("rl")]), "ru": io.RaggedFeature(F, value_key="rv", partitions=[io.RaggedFeature.UniformRowLength(2)]), "sp": io.SparseFeature(["ix", "iy"], "val", F, [10, 5])}

    def example(**k):
        e = tf.train.Example()
        for name, values in k.items():
            kind = {bytes: "bytes_list", float: "float_list", int: "int64_list"}[type(values[0])]
            getattr(e.features.feature[name], kind).value.extend(values)
        return e.SerializeToString()

    def f(x):
        p = io.parse_example(x, spec)
        return {"f": p["f"], "q": p["q"], "sp": tf.sparse.to_dense(tf.sparse.reorder(p["sp"])), **{k: p[k].to_tensor() for k in ("r", "rp", "ru")}}

    return many(f, {"x": ((None,), S)}, [text(example(f=[1.0, 2.0], q=[1.0, 2.0, 3.0, 4.0], r=[b"a", b"b"], rv=[1.0, 2.0, 3.0, 4.0], rl=[1, 3], ix=[5, 2], iy=[1, 0], val=[0.5, 0.25]), example(), example(r=[b"c"]))])


def raw_bytes():
    def f(x, z):
        kinds = [(tf.int16, False), (tf.float16, True), (tf.float64, True), (I, False), (tf.bool, True)]
        return {**{t.name: tf.io.decode_raw(x, t, little_endian=e) for t, e in kinds}, "cut": tf.io.decode_raw(x[:1], tf.int16, fixed_length=12), "z": tf.io.decode_compressed(z, "ZLIB"), "text": tf.io.encode_base64(x, pad=True)}

    return many(f, {"x": ((None,), S), "z": ((None,), S)}, [text(bytes(range(16)), b"\x01\0" * 8), text(zlib.compress(b"hello"))])


def number_texts():
    def f(x, n):
        as_string, number = tf.strings.as_string, tf.strings.to_number
        return {"p": as_string(x, precision=3), "e": as_string(x, scientific=True), "g": as_string(x, shortest=True), "w": as_string(x, width=12, fill="0", precision=2), "n": as_string(n, width=6, fill="-"), "back": number(as_string(x), tf.float64), "int": number(as_string(n), I)}

    return many(f, {"x": ((None,), F), "n": ((None,), I)}, [np.float32([1.5, -0.0, 1e-7, 123456789, np.nan, -np.inf]), np.array([3, -44, 1 << 62])])


def odd_variables():
    values = [np.array([1, -2], "int8"), np.array([1, 65535], "uint16"), np.array([True, False]), np.array([1 + 2j], "complex64"), np.array([2**63], "uint64"), np.zeros([0, 4], "float32"), np.float16([1.5, -65504])]
    vs = [tf.Variable(v) for v in values] + [tf.Variable(["é", ""]), tf.Variable(f32(2, 2), shape=tf.TensorShape(None))]
    return kept(many(lambda n: {"v%d" % i: v.read_value() for i, v in enumerate(vs)} | {"n": n + 1}, {"n": ((), I)}, [np.int64(3)]), *vs)


def raw_rnn():
    """TensorFlow 1's raw_rnn, whose arrays grow, over cells with projections and peepholes."""
    def save(path):
        v1.disable_control_flow_v2()
        try:
            with v1.Graph().as_default(), v1.Session() as s:
                x, n, c = v1.placeholder(F, [None, None, 3]), v1.placeholder(tf.int32, [None]), v1.nn.rnn_cell
                y, _ = v1.nn.dynamic_rnn(c.MultiRNNCell([c.LSTMCell(4, use_peepholes=True, num_proj=3, cell_clip=1.0), c.ResidualWrapper(c.GRUCell(3))]), x, n, dtype=F)
                cell, rows = c.GRUCell(3, name="raw"), tf.shape(x)[0]
                loop = lambda t, out, state, _: (t >= n, tf.zeros([rows, 3]) if out is None else out, cell.zero_state(rows, F) if state is None else state, out, None)
                raw = v1.nn.raw_rnn(cell, loop)[0].stack()
                s.run(v1.global_variables_initializer())
                v1.saved_model.simple_save(s, path, {"x": x, "n": n}, {"y": y, "raw": raw})
        finally:
            v1.enable_control_flow_v2()

    return Exported(save, ("serving_default", {"x": f32(2, 5, 3), "n": np.array([5, 2], "int32")}), ("serving_default", {"x": f32(1, 2, 3), "n": np.array([2], "int32")}))
