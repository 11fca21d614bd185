"""Writes golden.json: what TensorFlow 2.15 makes of feature columns and of Keras preprocessing layers.

Run with an interpreter that has tensorflow==2.15:  python generate.py > golden.json

Byte strings are base64. A feature is {"strings"|"ints"|"floats": [...], "width": n} (dense, n values a row; 0: a
scalar a row) or {..., "offsets": [...]} (ragged: row i has the values offsets[i] to offsets[i+1]-1).
"""
import base64
import hashlib
import json
import os
import random
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

fc = tf.feature_column
rnd = random.Random(7)


def b64(b):
    return base64.b64encode(b).decode()


def data(n):
    return bytes(rnd.randrange(256) for _ in range(n))


def digest_string(i):
    """The i-th string of the digests: of length 0..299, a few very long ones, from SHA-512."""
    n = 20000 + i if i % 9973 == 0 and i else (i * 7919) % 300
    if i % 5 == 4:
        return str(i * 2654435761 - 10**14).encode()
    block = hashlib.sha512(str(i).encode()).digest()
    return (block * (n // 64 + 1))[:n]


def digest(values):
    return hashlib.sha256(np.asarray(values, dtype="<i8").tobytes()).hexdigest()


def fingerprints():
    out = []
    strings = [data(n) for n in range(0, 201)] + [data(n) for n in range(0, 140)] + [data(rnd.randrange(200, 1200)) for _ in range(30)]
    for s in strings:
        v = tf.raw_ops.Fingerprint(data=tf.constant([[c for c in s]], tf.uint8, shape=[1, len(s)]), method="farmhash64").numpy()
        out.append([b64(s), str(int.from_bytes(v.tobytes(), "little"))])
    return out


class Feature:
    """A raw feature, as JSON and as a tensor."""

    def __init__(self, kind, values, width=0, offsets=None):
        self.kind, self.values, self.width, self.offsets = kind, values, width, offsets

    def json(self):
        v = [b64(x) for x in self.values] if self.kind == "strings" else self.values
        d = {self.kind: v, "width": self.width}
        if self.offsets is not None:
            d["offsets"] = self.offsets
        return d

    def tensor(self):
        t = {"strings": tf.string, "ints": tf.int64, "floats": tf.float32}[self.kind]
        v = tf.constant(self.values, t)
        if self.offsets is not None:
            return tf.RaggedTensor.from_row_splits(v, self.offsets).to_sparse()
        return tf.reshape(v, [-1, self.width]) if self.width else v


def ragged(kind, rows):
    offsets = [0]
    for r in rows:
        offsets.append(offsets[-1] + len(r))
    return Feature(kind, [x for r in rows for x in r], 0, offsets)


def build(specs):
    """Columns of the declarations of a config file, by name."""
    by = {}
    for s in specs:
        s = dict(s)
        t, key, of = s["type"], s.get("key"), by.get(s.get("of"))
        dt = tf.as_dtype(s.get("dtype", "string"))
        shape = tuple(s.get("shape", [1]))
        norm = s.get("normalize")
        fn = None
        if norm:
            def fn(x, n=norm):
                if n.get("log"):
                    x = tf.math.log(x)
                if "mean" in n:
                    x = (x - tf.constant(n["mean"], tf.float32)) / tf.constant(n.get("std", [1.0]), tf.float32)
                return x
        seq = "sequence_" if s.get("sequence") else ""
        cat = lambda name, seq=seq: getattr(fc, seq + "categorical_column_with_" + name)
        cols = None
        if t == "numeric" and seq:
            c = fc.sequence_numeric_column(key, shape=shape, default_value=s.get("default", 0.0), normalizer_fn=(
                (lambda x, f=fn: tf.SparseTensor(x.indices, f(x.values), x.dense_shape)) if fn else None))
        elif t == "numeric":
            c = fc.numeric_column(key, shape=shape, default_value=s.get("default"), normalizer_fn=fn)
        elif t == "bucketized":
            c = fc.bucketized_column(of, s["boundaries"])
        elif t == "hash_bucket":
            c = cat("hash_bucket")(key, s["buckets"], dtype=dt)
        elif t == "vocabulary":
            vocab = s["vocabulary"]
            if dt.is_integer:
                vocab = [int(v) for v in vocab]
            c = cat("vocabulary_list")(key, vocab, dtype=dt, default_value=int(s.get("default", -1)), num_oov_buckets=s.get("oov_buckets", 0))
        elif t == "vocabulary_file":
            d = s.get("default")
            c = cat("vocabulary_file")(key, s["file"], vocabulary_size=s.get("size"), dtype=dt,
                                       default_value=None if d is None else int(d), num_oov_buckets=s.get("oov_buckets", 0))
        elif t == "identity":
            d = s.get("default")
            c = cat("identity")(key, s["buckets"], default_value=None if d is None else int(d))
        elif t == "crossed":
            keys = [k["key"] if "key" in k else by[k["column"]] for k in s["keys"]]
            c = fc.crossed_column(keys, s["buckets"], hash_key=s.get("hash_key"))
        elif t == "weighted":
            c = fc.weighted_categorical_column(of, s["weight_key"])
        elif t == "indicator":
            c = fc.indicator_column(of)
        elif t == "embedding":
            c = fc.embedding_column(of, s["dimension"], combiner=s.get("combiner", "mean"), max_norm=s.get("max_norm"), initializer=table)
        elif t == "shared_embeddings":
            cols = fc.shared_embeddings([by[n] for n in s["columns"]], s["dimension"], combiner=s.get("combiner", "mean"),
                                        max_norm=s.get("max_norm"), initializer=table)
        for c in cols or [c]:
            by[s.get("name") or c.name if not cols else c.name] = c
    return by


def table(shape, dtype=tf.float32, partition_info=None, **kw):
    """The embedding tables of the tests: row r, column c holds ((r*31 + c*17) mod 64 - 32) / 16."""
    r, c = np.indices(shape)
    return tf.constant(((r * 31 + c * 17) % 64 - 32) / 16, dtype)


def nums(a):
    return [round(float(x), 7) if abs(x) < 1e6 else float(x) for x in np.asarray(a, np.float32).reshape(-1)]


def run(name, features, specs, ids=(), dense=(), sequence=()):
    by = build(specs)
    out = {"name": name, "features": {k: f.json() for k, f in features.items()}, "columns": specs, "ids": {}, "dense": {}, "sequence": {}}
    tensors = {k: f.tensor() for k, f in features.items()}
    from tensorflow.python.feature_column import feature_column_v2 as v2
    for n in ids:
        cache = v2.FeatureTransformationCache(tensors)
        sm = v2._StateManagerImpl(tf.keras.layers.Layer(), True)
        col = by[n]
        if hasattr(col, "create_state"):
            col.create_state(sm)
        p = col.get_sparse_tensors(cache, sm)
        d = {"name": col.name, "buckets": int(col.num_buckets), "indices": p.id_tensor.indices.numpy()[:, :2].tolist(), "values": p.id_tensor.values.numpy().tolist()}
        if p.weight_tensor is not None:
            d["weights"] = nums(p.weight_tensor.values)
        out["ids"][n] = d
    for n in dense:
        v = tf.keras.layers.DenseFeatures([by[n]])(tensors)
        out["dense"][n] = {"name": by[n].name, "shape": list(v.shape), "values": nums(v)}
    if len(dense) > 1 and len({by[n].name for n in dense}) == len(dense):
        v = tf.keras.layers.DenseFeatures([by[n] for n in dense])(tensors)
        out["all"] = {"columns": list(dense), "shape": list(v.shape), "values": nums(v)}
    for n in sequence:
        v, lengths = tf.keras.experimental.SequenceFeatures([by[n]])(tensors)
        out["sequence"][n] = {"name": by[n].name, "shape": list(v.shape), "values": nums(v), "lengths": lengths.numpy().tolist()}
    return out


def shared(features):
    """Shared embeddings, which need a graph."""
    specs = [dict(type="hash_bucket", key="rs", buckets=8), dict(type="hash_bucket", key="s1", buckets=8), dict(type="shared_embeddings", columns=["rs", "s1"], dimension=2)]
    out = {"name": "shared", "features": {k: f.json() for k, f in features.items()}, "columns": specs, "ids": {}, "dense": {}, "sequence": {}}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        by = build(specs)
        tensors = {k: f.tensor() for k, f in features.items()}
        names = ["rs_shared_embedding", "s1_shared_embedding"]
        values = [tf.keras.layers.DenseFeatures([by[n]])(tensors) for n in names]
        session.run([tf.compat.v1.global_variables_initializer(), tf.compat.v1.tables_initializer()])
        for n, v in zip(names, session.run(values)):
            out["dense"][n] = {"name": n, "shape": list(v.shape), "values": nums(v)}
    return out


def cases():
    words = [b"", b"a", b"bachelors", b"Masters", b"\xff\xfe\x00", "größe".encode(), b"x" * 100]
    pick = lambda n: [rnd.choice(words) for _ in range(n)]
    out = []
    s1, s2, s3 = Feature("strings", pick(40)), Feature("strings", [data(rnd.randrange(0, 40)) for _ in range(40)]), Feature("strings", pick(80), 2)
    ints = Feature("ints", [rnd.randrange(-3, 12) for _ in range(40)])
    big = Feature("ints", [rnd.randrange(-2**63, 2**63) for _ in range(38)] + [-1, 0])
    rs = ragged("strings", [pick(rnd.randrange(0, 4)) for _ in range(40)])
    ri = ragged("ints", [[rnd.randrange(-2, 9) for _ in range(rnd.randrange(0, 4))] for _ in range(40)])
    h = lambda key, n, **kw: dict(type="hash_bucket", key=key, buckets=n, **kw)
    feats = dict(s1=s1, s2=s2, s3=s3, ints=ints, big=big, rs=rs, ri=ri)
    specs = [h("s1", 10), h("s2", 1000), h("s3", 7), h("ints", 50, dtype="int64"), h("big", 1000003, dtype="int64"), h("rs", 13), h("ri", 13, dtype="int64")]
    out.append(run("hash_bucket", feats, specs, ids=["s1", "s2", "s3", "ints", "big", "rs", "ri"]))

    nine = [rnd.randrange(0, 9) for _ in range(40)]
    age = Feature("floats", [float(np.float32(rnd.uniform(-5, 90))) for _ in range(36)] + [18.0, 25.0, 30.0, -0.0])
    two = Feature("floats", [float(np.float32(rnd.uniform(-2, 2))) for _ in range(80)], 2)
    fi = dict(s1=s1, s2=s2, s3=s3, ints=ints, rs=rs, ri=ri, age=age, two=two, nine=Feature("ints", nine))
    base = [dict(type="numeric", key="age"), dict(type="numeric", key="two", shape=[2]),
            dict(type="bucketized", of="age", boundaries=[18, 25, 30, 35.5]), dict(type="bucketized", of="two", boundaries=[-1, 0, 1]),
            dict(type="identity", key="nine", buckets=9), dict(type="vocabulary", key="rs", vocabulary=["a", "Masters"], name="voc")]
    k = lambda *names: [{"column": n[1:]} if n[0] == "@" else {"key": n} for n in names]
    cross = [("c1", k("s1", "s2"), 1000), ("c2", k("s1", "s2", "s3"), 100), ("c3", k("s1", "ints"), 10**6), ("c4", k("rs", "ri"), 97),
             ("c5", k("s1", "@age_bucketized"), 5000), ("c6", k("@age_bucketized", "rs", "@nine"), 12345), ("c7", k("@two_bucketized", "s1", "rs"), 2**40),
             ("c8", k("@voc", "s2"), 1000), ("c9", k("s1", "s2", "s3", "ints"), 2**62), ("c11", k("ints", "@nine"), 50)]
    specs = base + [dict(type="crossed", name=n, keys=ks, buckets=b) for n, ks, b in cross]
    specs.append(dict(type="crossed", name="c10", keys=k("s1", "rs"), buckets=77, hash_key=12345))
    specs.append(dict(type="crossed", name="nested", keys=k("@c1", "@nine"), buckets=999))
    out.append(run("crossed", fi, specs, ids=[n for n, _, _ in cross] + ["c10", "nested", "age_bucketized", "two_bucketized"]))

    voc = ["a", "Masters", "bachelors", ""]
    specs = [dict(type="vocabulary", name="v1", key="s1", vocabulary=voc), dict(type="vocabulary", name="v2", key="rs", vocabulary=voc, oov_buckets=3),
             dict(type="vocabulary", name="v3", key="s3", vocabulary=voc[:2], default=1),
             dict(type="vocabulary", name="v4", key="ints", dtype="int64", vocabulary=["3", "5", "-2"], oov_buckets=4),
             dict(type="vocabulary", name="v5", key="ri", dtype="int64", vocabulary=["3", "5", "-2"]),
             dict(type="vocabulary_file", name="f1", key="s1", file="vocabulary.txt"),
             dict(type="vocabulary_file", name="f2", key="rs", file="vocabulary.txt", size=2, oov_buckets=5),
             dict(type="vocabulary_file", name="f3", key="rs", file="vocabulary.txt", default=1),
             dict(type="identity", name="i1", key="nine", buckets=9), dict(type="identity", name="i2", key="ri", buckets=5, default=2),
             dict(type="identity", name="i3", key="ri", buckets=9)]
    out.append(run("vocabulary", fi, specs, ids=["v1", "v2", "v3", "v4", "v5", "f1", "f2", "f3", "i1", "i2", "i3"]))

    edges = [0.1, 0.2, 0.30000001, 1e10]
    near = [float(x) for e in edges for x in (np.nextafter(np.float32(e), np.float32(-9)), np.float32(e), np.nextafter(np.float32(e), np.float32(2e38)))]
    near += [float(rnd.uniform(-0.5, 0.5)) for _ in range(6)] + [3.4e38, -3.4e38]
    near = [float(np.float32(x)) for x in near]
    f = dict(x=Feature("floats", near), n=Feature("ints", [rnd.randrange(-5, 40) for _ in range(20)]), m=Feature("floats", [float(np.float32(rnd.uniform(0.1, 9))) for _ in range(40)], 2))
    specs = [dict(type="numeric", key="x"), dict(type="bucketized", of="x", boundaries=edges), dict(type="numeric", key="n"),
             dict(type="bucketized", of="n", boundaries=[0, 7, 20]), dict(type="numeric", key="m", shape=[2], normalize=dict(log=True, mean=[0.5, 1.5], std=[2.0, 3.0])),
             dict(type="bucketized", of="m", boundaries=[-0.5, 0.1])]
    out.append(run("numeric", f, specs, ids=["x_bucketized", "n_bucketized", "m_bucketized"], dense=["n", "m", "x_bucketized", "n_bucketized", "m_bucketized"]))

    nw = rs.offsets[-1]
    fw = dict(fi, w=Feature("floats", [float(np.float32(rnd.uniform(-1, 2))) for _ in range(nw)], 0, rs.offsets))
    specs = [dict(type="vocabulary", name="v", key="rs", vocabulary=voc[:3]), dict(type="hash_bucket", name="h", key="rs", buckets=6),
             dict(type="weighted", name="wv", of="v", weight_key="w"), dict(type="weighted", name="wh", of="h", weight_key="w"),
             dict(type="indicator", name="ind", of="v"), dict(type="indicator", name="indh", of="h"),
             dict(type="indicator", name="indwh", of="wh")]
    emb = []
    for comb in ("mean", "sqrtn", "sum"):
        for of in ("v", "h", "wv", "wh"):
            for norm in (None, 1.5):
                d = dict(type="embedding", name="e_%s_%s_%s" % (comb, of, norm), of=of, dimension=3, combiner=comb)
                if norm:
                    d["max_norm"] = norm
                emb.append(d)
    out.append(run("embedding", dict(rs=rs, w=fw["w"]), specs + emb, ids=["wv", "wh"], dense=["ind", "indh", "indwh"] + [e["name"] for e in emb]))

    out.append(shared(dict(rs=rs, s1=s1)))

    sn = ragged("floats", [[float(np.float32(rnd.uniform(1, 3))) for _ in range(2 * rnd.randrange(0, 4))] for _ in range(12)] + [[1.0, 2.0, 3.0]])
    ss = ragged("strings", [pick(rnd.randrange(0, 4)) for _ in range(12)] + [[b"a"]])
    si = ragged("ints", [[rnd.randrange(0, 5) for _ in range(rnd.randrange(0, 4))] for _ in range(12)] + [[]])
    q = lambda **kw: dict(sequence=True, **kw)
    specs = [q(type="numeric", key="sn"), q(type="numeric", key="sn", name="sn2", shape=[2], default=-7.0, normalize=dict(mean=[2.0], std=[4.0])),
             q(type="hash_bucket", name="qh", key="ss", buckets=9), q(type="vocabulary", name="qv", key="ss", vocabulary=voc[:2]),
             q(type="identity", name="qi", key="si", buckets=5), q(type="vocabulary_file", name="qf", key="ss", file="vocabulary.txt", oov_buckets=2),
             dict(type="embedding", name="qhe", of="qh", dimension=2), dict(type="embedding", name="qve", of="qv", dimension=2),
             dict(type="indicator", name="qii", of="qi"), dict(type="indicator", name="qvi", of="qv"), dict(type="embedding", name="qfe", of="qf", dimension=2, combiner="sqrtn")]
    out.append(run("sequence", dict(sn=sn, ss=ss, si=si), specs, sequence=["sn", "sn2", "qhe", "qve", "qii", "qvi", "qfe"]))

    full = lambda n: [rnd.choice(words[1:]) for _ in range(n)]
    dw = Feature("strings", full(24), 2)
    ww = Feature("floats", [float(np.float32(rnd.uniform(0.1, 2))) for _ in range(24)], 2)
    sd = Feature("strings", pick(36), 3)
    specs = [dict(type="hash_bucket", key="dw", buckets=6), dict(type="weighted", name="w", of="dw", weight_key="ww"), dict(type="indicator", name="i", of="w"),
             dict(type="embedding", name="e", of="w", dimension=2, combiner="sqrtn"),
             q(type="hash_bucket", name="s", key="sd", buckets=5), dict(type="embedding", name="se", of="s", dimension=2), dict(type="indicator", name="sc", of="s")]
    out.append(run("dense", dict(dw=dw, ww=ww, sd=sd), specs, ids=["w"], dense=["i", "e"], sequence=["se", "sc"]))
    return out


def keras():
    L = tf.keras.layers
    words = [b"", b"a", b"b", b"c", b"zz", b"[UNK]", b"\xff\x01", b"dog", b"a"]
    s = tf.constant(words)
    i = tf.constant([0, 1, 2, 7, -1, -5, 42, 10**12, 3], tf.int64)
    out = {"words": [b64(w) for w in words], "ints": i.numpy().tolist(), "cases": []}

    def add(layer, x, **kw):
        v = layer(x).numpy()
        out["cases"].append(dict(layer=type(layer).__name__, input="words" if x is s else "ints", shape=list(v.shape), values=[float(y) for y in v.reshape(-1)], **kw))
    for oov in (1, 3):
        for mask in (None, ""):
            for mode in ("int", "one_hot"):
                add(L.StringLookup(vocabulary=["a", "b", "dog"], num_oov_indices=oov, mask_token=mask, output_mode=mode), s, oov=oov, mask=mask, mode=mode)
        for mask in (None, 7):
            add(L.IntegerLookup(vocabulary=[1, 2, 42], num_oov_indices=oov, mask_token=mask), i, oov=oov, mask=mask, mode="int")
    for bins, mask, salt in ((5, None, None), (5, "a", None), (1000, None, [133, 137]), (7, "", 99)):
        add(L.Hashing(bins, mask_value=mask, salt=salt), s, bins=bins, mask=mask, salt=salt)
    for bins, mask, salt in ((5, None, None), (50, 7, None), (1000, None, [1, 2])):
        add(L.Hashing(bins, mask_value=mask, salt=salt), i, bins=bins, mask=mask, salt=salt)
    ids = [[0, 1, 1], [3, 3, 3], [2, 0, 4]]
    out["encoding"] = {"ids": ids, "depth": 5}
    for mode in ("multi_hot", "count"):
        out["encoding"][mode] = L.CategoryEncoding(5, output_mode=mode)(tf.constant(ids)).numpy().tolist()
    out["encoding"]["one_hot"] = L.CategoryEncoding(5, output_mode="one_hot")(tf.constant([0, 3, 4])).numpy().tolist()
    x = np.asarray([[rnd.uniform(-3, 3), rnd.uniform(100, 200), 5.0] for _ in range(30)], np.float32)
    n = L.Normalization(axis=-1)
    n.adapt(x, batch_size=7)
    out["normalization"] = dict(x=nums(x), mean=nums(n.mean), variance=nums(n.variance), y=nums(n(x)))
    a = L.StringLookup(num_oov_indices=1)
    text = [rnd.choice(["b", "a", "cc", "d", "é", ""]) for _ in range(50)]
    a.adapt(np.asarray(text))
    out["adapt"] = dict(text=text, vocabulary=a.get_vocabulary())
    a = L.IntegerLookup()
    numbers = [rnd.randrange(-3, 5) for _ in range(50)]
    a.adapt(np.asarray(numbers))
    out["adapt_ints"] = dict(ints=numbers, vocabulary=[int(v) for v in a.get_vocabulary()])
    a = L.StringLookup(max_tokens=3)
    a.adapt(np.asarray(text))
    out["adapt_max"] = dict(max=3, vocabulary=a.get_vocabulary())
    return out


def variables():
    """The variables of tf.estimator's wide and deep model, by name."""
    cat = fc.categorical_column_with_hash_bucket("job", 10)
    num = fc.numeric_column("two", shape=(2,))
    buck = fc.bucketized_column(fc.numeric_column("age"), [1, 2])
    voc = fc.categorical_column_with_vocabulary_list("sex", ["f", "m"])
    cross = fc.crossed_column(["job", buck], 20)
    weighted = fc.weighted_categorical_column(voc, "w")
    other = fc.categorical_column_with_hash_bucket("task", 10)
    wide = [cat, num, buck, cross, weighted]
    with tf.Graph().as_default():
        shared = fc.shared_embeddings([cat, other], 4)
    deep = [num, buck, fc.indicator_column(voc), fc.embedding_column(cat, 3)] + shared
    e = tf.estimator.DNNLinearCombinedClassifier(linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[5])

    def input_fn():
        f = {"job": ["a", "b"], "two": [[1.0, 2.0]] * 2, "age": [1.0, 2.0], "sex": ["f", "m"], "w": [1.0, 2.0], "task": ["x", "y"]}
        return tf.data.Dataset.from_tensors(({k: tf.constant(v) for k, v in f.items()}, tf.constant([[0], [1]])))
    e.train(input_fn, steps=1)
    return {n: list(map(int, np.shape(e.get_variable_value(n)))) for n in e.get_variable_names() if "/t_0/" not in n}


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    strings = [digest_string(i) for i in range(100000)]
    ints = [(i * 0x9E3779B97F4A7C15 + 2**63) % 2**64 - 2**63 for i in range(100000)]
    t, n = tf.constant(strings), tf.constant(ints, tf.int64)
    crossed = tf.raw_ops.SparseCross(indices=[], values=[], shapes=[], dense_inputs=[t[:, None], n[:, None]], hashed_output=True, num_buckets=2**61 - 1,
                                     hash_key=0xDECAFCAFFE, out_type=tf.int64, internal_type=tf.int64).output_values
    golden = {
        "fingerprints": fingerprints(),
        "digests": {"count": len(strings), "hash": digest(tf.strings.to_hash_bucket_fast(t, 2**62 + 1).numpy()),
                    "hash_ints": digest(tf.strings.to_hash_bucket_fast(tf.strings.as_string(n), 1000003).numpy()), "cross": digest(crossed.numpy())},
        "cases": cases(),
        "keras": keras(),
        "variables": variables(),
    }
    json.dump(golden, sys.stdout, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
