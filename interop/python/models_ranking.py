"""Models of ranking, recommendation, tables of features, graphs, and classical learning."""
import numpy as np
import tensorflow as tf

from served import F, I, L, S, Served, f32, kept, keras, one, r, text


def dlrm():
    dense, cats = L.Input((4,), name="numbers"), L.Input((3,), dtype="int32", name="cats")
    x = L.Dense(8, activation="relu")(L.Dense(16, activation="relu")(tf.math.log1p(tf.nn.relu(dense))))
    e = [L.Embedding(20, 8)(cats[:, k]) for k in range(3)]
    v = tf.stack([x] + e, 1)
    z = tf.matmul(v, v, transpose_b=True)
    pairs = tf.gather(tf.reshape(z, (-1, 16)), [4 * i + j for i in range(4) for j in range(i)], axis=1)
    return keras(tf.keras.Model([dense, cats], L.Dense(1, activation="sigmoid")(L.Concatenate()([x, pairs]))), [f32(3, 4), r.integers(0, 20, (3, 3)).astype("int32")])


def dcn_v2():
    x0 = x = i = L.Input((12,))
    for _ in range(3):
        x = x0 * L.Dense(12)(L.Dense(4, use_bias=False)(x)) + x
    deep = L.Dropout(0.1)(L.BatchNormalization()(L.Dense(8, activation="relu")(i)))
    return keras(tf.keras.Model(i, L.Dense(1, activation="sigmoid")(L.Concatenate()([x, deep]))), [f32(4, 12)])


def wide_deep():
    a, b, x = L.Input((1,), dtype="string", name="a"), L.Input((1,), dtype="int32", name="b"), L.Input((3,), name="x")
    wide = L.HashedCrossing(50, output_mode="one_hot")((a, b))
    deep = L.Concatenate()([L.Flatten()(L.Embedding(10, 4)(L.Hashing(10)(a))), x])
    y = L.Dense(1)(wide) + L.Dense(1)(L.Dense(8, activation="selu")(deep))
    return keras(tf.keras.Model([a, b, x], tf.sigmoid(y)), [text(["p"], ["q"]), np.array([[1], [7]], "int32"), f32(2, 3)])


def mmoe():
    i = L.Input((10,))
    experts = tf.stack([L.Dense(6, activation="relu")(i) for _ in range(3)], 1)
    out = []
    for task in ("click", "buy"):
        g = L.Dense(3, activation="softmax")(i)
        out.append(L.Dense(1, activation="sigmoid", name=task)(tf.einsum("be,beh->bh", g, experts)))
    return keras(tf.keras.Model(i, out), [f32(3, 10)])


def interest_network():
    items = L.Embedding(40, 8)
    d = L.Dense(1)

    def f(history, item, length):
        h, q = items(history), items(item)[:, None]
        q = tf.broadcast_to(q, tf.shape(h))
        s = d(tf.concat([h, q, h - q, h * q], -1))[..., 0]
        s = tf.where(tf.sequence_mask(length, tf.shape(history)[1]), s, -2.0**31)
        return tf.reduce_sum(tf.einsum("bt,btd->bd", tf.nn.softmax(s), h) * q[:, 0], -1)

    f(tf.constant([[1]]), tf.constant([1]), tf.constant([1]))
    return kept(one(f, {"history": ((None, None), I), "item": ((None,), I), "length": ((None,), tf.int32)}, [r.integers(0, 40, (3, 5)), r.integers(0, 40, 3), np.array([5, 2, 1], "int32")]), items, d)


def sasrec():
    i = L.Input((8,), dtype="int32")
    mask = tf.cast(i > 0, F)[..., None]
    x = (L.Embedding(30, 8)(i) * 8**0.5 + L.Embedding(8, 8)(tf.range(8))) * mask
    x = x + L.Attention(use_scale=True)([x, x], mask=[i > 0, i > 0], use_causal_mask=True)
    x = (x + L.Conv1D(8, 1)(L.Conv1D(8, 1, activation="relu")(L.LayerNormalization()(x)))) * mask
    s, at = tf.math.top_k(L.Dense(30)(x[:, -1]), 5)
    return keras(tf.keras.Model(i, [s, at]), [np.array([[0, 0, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 0, 0, 0, 9]], "int32")])


def retrieval_index():
    lookup = L.StringLookup(vocabulary=["u1", "u2", "u3"])
    users, items = L.Embedding(4, 6), tf.Variable(f32(20, 6))
    names = tf.Variable(np.array([b"item%d" % k for k in range(20)], object))

    def f(user, seen):
        s = tf.matmul(users(lookup(user)), items, transpose_b=True)
        hit = tf.reduce_any(names[None, :, None] == seen[:, None, :], -1)
        s, at = tf.math.top_k(tf.where(hit, s.dtype.min, s), 4)
        return {"scores": s, "names": tf.gather(names, at)}

    f(tf.constant(["u1"]), tf.constant([["item1"]]))
    return kept(Served(serving_default=(f, {"user": ((None,), S), "seen": ((None, None), S)}, [[text("u2", "new"), text(["item3", "item4"], ["item0", ""])]])), lookup, users, items, names)


def streaming_top_k():
    items = tf.Variable(f32(24, 6))

    def f(q):
        best, at = tf.fill((tf.shape(q)[0], 3), -1e9), tf.zeros((tf.shape(q)[0], 3), tf.int32)
        for k in tf.range(0, 24, 8):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(best, tf.TensorShape([None, 3])), (at, tf.TensorShape([None, 3]))])
            s = tf.concat([best, tf.matmul(q, items[k:k + 8], transpose_b=True)], 1)
            i = tf.concat([at, tf.broadcast_to(tf.range(k, k + 8), (tf.shape(q)[0], 8))], 1)
            best, top = tf.math.top_k(s, 3)
            at = tf.gather(i, top, batch_dims=1)
        return {"scores": best, "at": at}

    return kept(Served(serving_default=(f, {"q": ((None, 6), F)}, [[f32(3, 6)]])), items)


def xdeepfm():
    e, w1, w2 = tf.Variable(f32(30, 4)), tf.Variable(f32(5, 5, 6)), tf.Variable(f32(6, 5, 3))

    def f(x):
        x0 = tf.gather(e, x)
        x1 = tf.einsum("bid,bjd,ijk->bkd", x0, x0, w1)
        x2 = tf.einsum("bid,bjd,ijk->bkd", x1, x0, w2)
        return tf.sigmoid(tf.reduce_sum(tf.reduce_sum(x1, -1), -1) + tf.reduce_sum(x2, (1, 2)))

    return kept(one(f, {"x": ((None, 5), I)}, [r.integers(0, 30, (3, 5))]), e, w1, w2)


def autoint():
    i = L.Input((5,), dtype="int32")
    x = L.Embedding(30, 8)(i)
    x = tf.nn.relu(L.MultiHeadAttention(2, 4)(x, x) + L.Dense(8, use_bias=False)(x))
    return keras(tf.keras.Model(i, L.Dense(1, activation="sigmoid")(L.Flatten()(x))), [r.integers(0, 30, (3, 5)).astype("int32")])


def neural_cf():
    u, v = L.Input((), dtype="int32", name="u"), L.Input((), dtype="int32", name="v")
    g = L.Multiply()([L.Embedding(9, 4)(u), L.Embedding(9, 4)(v)])
    m = L.Dense(8, activation="relu")(L.Concatenate()([L.Embedding(9, 6)(u), L.Embedding(9, 6)(v)]))
    return keras(tf.keras.Model([u, v], tf.squeeze(L.Dense(1)(L.Concatenate()([g, m])), -1)), [np.array([1, 2], "int32"), np.array([3, 8], "int32")])


def listwise_ranker():
    net = tf.keras.Sequential([L.Dense(8, activation="relu"), L.Dense(1)])
    net.build((None, 3))

    def f(x, n):
        mask = tf.sequence_mask(n, tf.shape(x)[1])
        s = tf.where(mask, tf.squeeze(net(x), -1), -1e6)
        order = tf.argsort(s, direction="DESCENDING", stable=True)
        return {"order": order, "rank": tf.argsort(order) + 1, "p": tf.nn.softmax(s), "gain": tf.reduce_sum(tf.where(mask, 1 / tf.math.log1p(tf.cast(tf.argsort(order) + 1, F)), 0), 1)}

    return kept(Served(serving_default=(f, {"x": ((None, None, 3), F), "n": ((None,), tf.int32)}, [[f32(2, 5, 3), np.array([5, 3], "int32")]])), net)


def gru4rec():
    i = L.Input((None,), dtype="int64")
    x = L.GRU(8)(L.Embedding(25, 8, mask_zero=True)(i))
    s, at = tf.math.top_k(tf.nn.softmax(L.Dense(25)(x)), 3)
    return keras(tf.keras.Model(i, [s, at]), [np.array([[3, 4, 5, 0, 0], [1, 2, 3, 4, 5]])])


def linucb_bandit():
    a, b = tf.Variable(np.stack([np.eye(4) * 2] * 3).astype("float32")), tf.Variable(f32(3, 4))

    def f(x):
        theta = tf.linalg.solve(a, b[..., None])[..., 0]
        width = tf.sqrt(tf.einsum("ni,kij,nj->nk", x, tf.linalg.inv(a), x))
        return {"arm": tf.argmax(tf.matmul(x, theta, transpose_b=True) + 0.5 * width, 1), "width": width}

    return kept(Served(serving_default=(f, {"x": ((None, 4), F)}, [[f32(3, 4)]])), a, b)


def calibration():
    knots, values = tf.constant([0.0, 0.3, 0.5, 0.9, 1.0]), tf.constant([0.0, 0.1, 0.5, 0.6, 1.0])

    def f(x):
        at = tf.clip_by_value(tf.searchsorted(knots, x, side="right") - 1, 0, 3)
        low, high = tf.gather(knots, at), tf.gather(knots, at + 1)
        t = tf.clip_by_value((x - low) / (high - low), 0, 1)
        return tf.gather(values, at) * (1 - t) + tf.gather(values, at + 1) * t

    return one(f, {"x": ((None,), F)}, [np.array([-1, 0, 0.3, 0.4, 0.95, 1, 2], "float32")])


def feature_space():
    age, job, zip_, day = L.Input((1,), name="age"), L.Input((1,), dtype="string", name="job"), L.Input((1,), dtype="int64", name="zip"), L.Input((1,), dtype="string", name="day")
    n = L.Normalization()
    n.adapt(f32(50, 1))
    parts = [n(age), L.Discretization([20.0, 40.0], output_mode="one_hot")(age), L.StringLookup(vocabulary=["cook", "clerk"], output_mode="multi_hot")(job),
             L.IntegerLookup(vocabulary=[1, 2, 3], output_mode="count")(zip_), L.StringLookup(vocabulary=["mo", "tu"], output_mode="tf_idf", idf_weights=[0.5, 2.0])(day)]
    return keras(tf.keras.Model([age, job, zip_, day], L.Dense(2)(L.Concatenate()([tf.cast(p, F) for p in parts]))), [f32(2, 1) * 30, text(["cook"], ["x"]), np.array([[3], [9]]), text(["tu"], ["su"])])


def sparse_examples():
    spec = {"at": tf.io.SparseFeature("i", "v", F, 10), "tags": tf.io.VarLenFeature(S), "when": tf.io.RaggedFeature(F, value_key="t", partitions=[tf.io.RaggedFeature.RowLengths("n")])}
    w = tf.Variable(f32(10, 2))

    def f(e):
        p = tf.io.parse_example(e, spec)
        tags = tf.sparse.to_indicator(tf.SparseTensor(p["tags"].indices, tf.strings.to_hash_bucket_fast(p["tags"].values, 6), p["tags"].dense_shape), 6)
        return {"y": tf.sparse.sparse_dense_matmul(p["at"], w), "tags": tags, "when": tf.reduce_sum(tf.reduce_max(p["when"].to_tensor(), -1), -1)}

    e = tf.train.Example()
    e.features.feature["i"].int64_list.value.extend([1, 7])
    e.features.feature["v"].float_list.value.extend([0.5, 2])
    e.features.feature["tags"].bytes_list.value.extend([b"x", b"y"])
    e.features.feature["t"].float_list.value.extend([1, 2, 3])
    e.features.feature["n"].int64_list.value.extend([2, 1])
    return kept(Served(serving_default=(f, {"e": ((None,), S)}, [[text(e.SerializeToString(), e.SerializeToString())]])), w)


def sequence_examples():
    context, steps = {"id": tf.io.FixedLenFeature((), I)}, {"x": tf.io.FixedLenSequenceFeature((2,), F), "w": tf.io.VarLenFeature(S)}

    def f(e):
        c, s, n = tf.io.parse_sequence_example(e, context, steps)
        return {"id": c["id"], "x": s["x"], "words": tf.sparse.to_dense(s["w"], ""), "n": n["x"]}

    e = tf.train.SequenceExample()
    e.context.feature["id"].int64_list.value.append(4)
    for k in range(3):
        e.feature_lists.feature_list["x"].feature.add().float_list.value.extend([k, k + 0.5])
        e.feature_lists.feature_list["w"].feature.add().bytes_list.value.extend([b"a"] * k)
    return Served(serving_default=(f, {"e": ((None,), S)}, [[text(e.SerializeToString())]]))


def csv_rows():
    def f(rows):
        a, b, c = tf.io.decode_csv(rows, [[0.0], [""], tf.constant([], tf.int32)])
        return {"a": a, "b": b, "c": c + 1}

    return Served(serving_default=(f, {"rows": ((None,), S)}, [[text('1.5,"x, y",3', ",z,4")]]))


def encodings():
    def f(x):
        raw = tf.io.decode_base64(x)
        return {"numbers": tf.io.decode_raw(raw, tf.int16), "parsed": tf.io.parse_tensor(tf.io.serialize_tensor(raw), S), "again": tf.io.encode_base64(raw, pad=True)}

    return Served(serving_default=(f, {"x": ((None,), S)}, [[text(tf.io.encode_base64(b"\x01\x02\x03\x04").numpy(), tf.io.encode_base64(b"abcd").numpy())]]))


def gcn():
    w1, w2 = tf.Variable(f32(5, 8)), tf.Variable(f32(8, 3))

    def f(x, edges):
        n = tf.shape(x, I)[0]
        a = tf.sparse.reorder(tf.SparseTensor(edges, tf.ones(tf.shape(edges)[:1]), (n, n)))
        a = tf.sparse.add(a, tf.sparse.eye(n, n))
        d = tf.math.rsqrt(tf.sparse.reduce_sum(a, 1))
        conv = lambda h: d[:, None] * tf.sparse.sparse_dense_matmul(a, d[:, None] * h)
        return tf.nn.softmax(conv(tf.matmul(tf.nn.relu(conv(tf.matmul(x, w1))), w2)))

    return kept(one(f, {"x": ((None, 5), F), "edges": ((None, 2), I)}, [f32(4, 5), np.array([[0, 1], [1, 0], [2, 3], [3, 2], [1, 2]])]), w1, w2)


def graph_sage():
    w = tf.Variable(f32(10, 4))

    def f(x, source, target):
        n = tf.shape(x)[0]
        near = tf.math.unsorted_segment_mean(tf.gather(x, source), target, n)
        most = tf.math.unsorted_segment_max(tf.gather(x, source), target, n)
        return tf.math.l2_normalize(tf.matmul(tf.concat([x, near], 1), w), 1) + tf.where(most < -1e30, 0.0, most)[:, :4]

    return kept(one(f, {"x": ((None, 5), F), "source": ((None,), tf.int32), "target": ((None,), tf.int32)}, [f32(4, 5), np.array([0, 1, 1, 3], "int32"), np.array([1, 0, 2, 2], "int32")]), w)


def graph_attention():
    w, a = tf.Variable(f32(5, 6)), tf.Variable(f32(12, 1))

    def f(x, source, target):
        n, h = tf.shape(x)[0], tf.matmul(x, w)
        s = tf.nn.leaky_relu(tf.matmul(tf.concat([tf.gather(h, source), tf.gather(h, target)], 1), a)[:, 0])
        s = tf.exp(s - tf.gather(tf.math.segment_max(s, target), target))
        p = s / tf.gather(tf.math.segment_sum(s, target), target)
        return tf.nn.elu(tf.math.unsorted_segment_sum(p[:, None] * tf.gather(h, source), target, n))

    return kept(one(f, {"x": ((None, 5), F), "source": ((None,), tf.int32), "target": ((None,), tf.int32)}, [f32(4, 5), np.array([1, 2, 0, 3], "int32"), np.array([0, 0, 1, 2], "int32")]), w, a)


def page_rank():
    def f(edges, n):
        degree = tf.maximum(tf.math.bincount(edges[:, 0], minlength=n, dtype=F), 1.0)
        rank, change = tf.fill([n], 1 / tf.cast(n, F)), tf.constant(1.0)
        while change > 1e-3:
            flow = tf.gather(rank / degree, edges[:, 0])
            after = 0.15 / tf.cast(n, F) + 0.85 * tf.tensor_scatter_nd_add(tf.zeros([n]), edges[:, 1:], flow)
            change = tf.reduce_sum(tf.abs(after - rank))
            rank = after
        return rank

    return one(f, {"edges": ((None, 2), tf.int32), "n": ((), tf.int32)}, [np.array([[0, 1], [1, 2], [2, 0], [3, 2]], "int32"), np.int32(4)])


def k_nearest():
    known, labels = tf.Variable(f32(30, 4)), tf.Variable(r.integers(0, 3, 30).astype("int32"))

    def f(x):
        d = tf.reduce_sum(x * x, 1, keepdims=True) - 2 * tf.matmul(x, known, transpose_b=True) + tf.reduce_sum(known * known, 1)
        near, at = tf.math.top_k(-d, 5)
        votes = tf.math.bincount(tf.gather(labels, at), minlength=3, maxlength=3, axis=-1)
        return {"class": tf.argmax(votes, 1), "distance": tf.sqrt(-near)}

    return kept(Served(serving_default=(f, {"x": ((None, 4), F)}, [[f32(4, 4)]])), known, labels)


def mixture_and_kernel():
    mean, chol, v = tf.Variable(f32(3, 4)), tf.Variable(np.stack([np.eye(4) * s for s in (1, 2, 0.5)]).astype("float32")), tf.Variable(f32(6, 4))

    def f(x):
        z = tf.linalg.triangular_solve(chol[None], (x[:, None] - mean)[..., None])[..., 0]
        p = -0.5 * tf.reduce_sum(z * z, -1) - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)), -1)
        k = tf.exp(-0.1 * tf.reduce_sum(tf.math.squared_difference(x[:, None], v), -1))
        return {"class": tf.argmax(p, 1), "evidence": tf.reduce_logsumexp(p, 1), "margin": tf.reduce_sum(k, 1) - 1}

    return kept(Served(serving_default=(f, {"x": ((None, 4), F)}, [[f32(5, 4)]])), mean, chol, v)


def gaussian_process():
    x0, y0 = tf.constant(np.linspace(-2, 2, 7, dtype="float32")[:, None]), tf.constant(f32(7, 1))

    def f(x):
        k = lambda a, b: tf.exp(-0.5 * tf.math.squared_difference(a, tf.transpose(b)))
        chol = tf.linalg.cholesky(k(x0, x0) + 0.1 * tf.eye(7))
        s = k(x, x0)
        v = tf.linalg.triangular_solve(chol, tf.transpose(s))
        return {"mean": tf.matmul(s, tf.linalg.cholesky_solve(chol, y0)), "variance": 1 - tf.reduce_sum(v * v, 0), "log": tf.linalg.logdet(tf.matmul(chol, chol, transpose_b=True))}

    return Served(serving_default=(f, {"x": ((None, 1), F)}, [[f32(4, 1)]]))


def isolation_forest():
    feature, split, depth = tf.constant(r.integers(0, 4, (5, 7)).astype("int32")), tf.constant(f32(5, 7)), tf.constant(np.abs(f32(5, 8)))

    def f(x):
        def tree(args):
            a, s, d = args
            node = tf.zeros(tf.shape(x)[:1], tf.int32)
            for _ in tf.range(3):
                value = tf.gather(x, tf.gather(a, node), axis=1, batch_dims=1)
                node = 2 * node + 1 + tf.cast(value > tf.gather(s, node), tf.int32)
            return tf.gather(d, node - 7)

        return tf.pow(2.0, -tf.reduce_mean(tf.map_fn(tree, (feature, split, depth), fn_output_signature=F), 0))

    return one(f, {"x": ((None, 4), F)}, [f32(6, 4)])


def crossed_columns():
    def f(words, splits, numbers):
        rows = tf.RaggedTensor.from_row_splits(words, splits, validate=False)
        crossed = tf.ragged.cross_hashed([rows, numbers], num_buckets=50)
        dense = tf.sparse.reorder(crossed.to_sparse())
        return {"crossed": crossed.to_tensor(-1), "texts": tf.ragged.cross([rows, rows]).to_tensor("-"), "counts": tf.math.bincount(dense, minlength=50, maxlength=50, axis=-1),
                "near": tf.raw_ops.NearestNeighbors(points=tf.cast(numbers, F), centers=tf.constant([[0.0, 1], [5, 5], [9, 2]]), k=2).nearest_center_indices}

    return Served(serving_default=(f, {"words": ((None,), S), "splits": ((None,), tf.int64), "numbers": ((None, 2), tf.int64)},
                                   [[text("a", "b", "c", "a"), np.array([0, 2, 2, 4], "int64"), np.array([[1, 2], [3, 4], [5, 6]], "int64")]]))
