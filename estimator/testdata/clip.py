"""Writes clip.json: what clips make of the gradients of each kind of lookup in TensorFlow 2.15.

Run with TensorFlow 2.15 (the last with tf.estimator): python clip.py
Each clip is made twice, by tf.clip_by_* around a v1 optimizer and by a Keras optimizer as tf.estimator
drives it; the script fails where they differ, and where a lookup's gradient has other rows than the
comments say.
"""
import json, os
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
rng = np.random.default_rng(17)
ROWS, WIDTH, BATCH, STEPS, RATE = 6, 2, 8, 3, 0.5
CLIPS = {"clip_value": 0.05, "clip_norm": 0.3, "global_clip_norm": 0.5}
POSITIONS = [0, 1, 1, 3]


def rounded(*shape):
    return np.round(rng.normal(size=shape), 2).astype(np.float32)


def ragged():
    """Ids of each example; most are 1, so that they come again within and between examples."""
    return [[int(rng.choice([1, 1, 1, 3, rng.integers(ROWS)])) for _ in range(rng.integers(0, 5))] for _ in range(BATCH * STEPS)]


data = {"one": ragged(), "two": ragged(), "x": np.round(rng.uniform(0.5, 2, BATCH * STEPS), 2).tolist()}
data["weights"] = [[round(float(w), 2) for w in rng.uniform(0.25, 2, len(ids))] for ids in data["two"]]
data["g"] = [[1, int(rng.choice([1, 4])), int(rng.integers(ROWS))] for _ in range(BATCH * STEPS)]
data["h"] = [[int(rng.choice([1, 5])), 2] for _ in range(BATCH * STEPS)]
data["seq"] = [[1, int(rng.integers(ROWS)), 1, 2][:n] + [-1] * (4 - n) for n in rng.integers(1, 5, BATCH * STEPS)]

# The lookups of each table, and how many numbers they make of an example.
tables = {"column": 2, "shared": 4, "gather": 6, "twice": 10, "sequence": 8, "mixed": 6, "positions": 8, "tied": 6, "dense": 2}
initial = {name: rounded(ROWS, WIDTH) for name in tables}
initial["dense"] = rounded(WIDTH)
factors = {name: np.round(rng.uniform(-2, 2, size=(n, 1)), 2).astype(np.float32) for name, n in tables.items()}


def sparse(ids, dtype):
    indices = [[i, k] for i, row in enumerate(ids) for k in range(len(row))]
    values = [v for row in ids for v in row]
    return tf.SparseTensor(np.array(indices, np.int64).reshape(-1, 2), tf.constant(values, dtype), [len(ids), 5])


def model(step):
    """Variables and the loss of a step's batch."""
    rows = slice(step * BATCH, (step + 1) * BATCH)
    with v1.variable_scope("model", reuse=step > 0, use_resource=True):
        v = {name: v1.get_variable(name, initializer=tf.constant(x)) for name, x in initial.items()}
    safe = lambda table, ids, weights=None, **o: v1.nn.safe_embedding_lookup_sparse([v[table]], ids, weights, **o)
    one, two, weights = sparse(data["one"][rows], tf.int64), sparse(data["two"][rows], tf.int64), sparse(data["weights"][rows], tf.float32)
    g, h, seq = (tf.constant(np.array(data[k][rows], np.int64)) for k in ["g", "h", "seq"])
    x = tf.constant(np.array(data["x"][rows], np.float32))[:, None]
    flat = lambda y: tf.reshape(y, [BATCH, -1])
    # A sequence column looks every step up by itself.
    steps = tf.SparseTensor(tf.stack([tf.range(BATCH * 4, dtype=tf.int64), tf.zeros([BATCH * 4], tf.int64)], 1), tf.reshape(seq, [-1]), [BATCH * 4, 1])
    out = {
        "column": safe("column", one, combiner="mean"),
        "shared": tf.concat([safe("shared", one, combiner="sum"), safe("shared", two, weights, combiner="sqrtn")], 1),
        "gather": flat(tf.nn.embedding_lookup(v["gather"], g)),
        "twice": tf.concat([flat(tf.gather(v["twice"], g)), flat(tf.gather(v["twice"], h))], 1),
        "sequence": flat(safe("sequence", steps, combiner="mean")),
        "mixed": tf.concat([safe("mixed", two, combiner="mean"), flat(tf.gather(v["mixed"], h))], 1),
        "positions": tf.reshape(tf.gather(v["positions"], POSITIONS), [1, -1]) * x,
        "tied": flat(tf.gather(v["tied"], g)),
        "dense": v["dense"] * x,
    }
    loss = 0.1 * tf.reduce_sum(tf.square(v["tied"]))
    for name, y in out.items():
        s = tf.matmul(y, factors[name])
        loss += tf.reduce_mean(s + 0.5 * tf.square(s))
    return v, loss


def check(grads, session):
    """How the rows of each gradient lie."""
    rows = {name: None if not isinstance(g, tf.IndexedSlices) else session.run(g.indices).tolist() for name, g in grads.items()}
    unique = lambda ids: len(set(ids)) == len(ids)
    # An example without ids looks row 0 up, for nothing.
    ids = lambda name: len(set(sum(data[name][:BATCH], [])) | ({0} if [] in data[name][:BATCH] else set()))
    assert unique(rows["column"]) and unique(rows["sequence"]), rows
    assert len(rows["shared"]) == ids("one") + ids("two"), rows  # one lookup behind the other
    assert len(rows["gather"]) == 3 * BATCH and len(rows["twice"]) == 5 * BATCH, rows  # each place by itself
    assert len(rows["mixed"]) == ids("two") + 2 * BATCH, rows
    assert rows["positions"] == POSITIONS and rows["tied"] is None and rows["dense"] is None, rows


def train(clip, keras):
    """The variables after the first and after the last step."""
    with tf.Graph().as_default():
        limit = CLIPS[clip]
        ops, names = [], list(initial)
        for step in range(STEPS):
            v, loss = model(step)
            each = [v[n] for n in names]
            if keras:
                option = {"clip_value": "clipvalue", "clip_norm": "clipnorm", "global_clip_norm": "global_clipnorm"}[clip]
                optimizer = tf.keras.optimizers.legacy.SGD(RATE, **{option: limit})
                optimizer.iterations = v1.train.get_or_create_global_step()
                ops.append(optimizer.get_updates(loss, each))
                continue
            optimizer = v1.train.GradientDescentOptimizer(RATE)
            grads = [g for g, _ in optimizer.compute_gradients(loss, each)]
            if step == 0:
                first = dict(zip(names, grads))
            if clip == "clip_value":
                grads = [tf.clip_by_value(g, -limit, limit) for g in grads]
            elif clip == "clip_norm":
                grads = [tf.clip_by_norm(g, limit) for g in grads]
            else:
                grads, _ = tf.clip_by_global_norm(grads, limit)
            ops.append(optimizer.apply_gradients(zip(grads, each)))
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            if not keras:
                check(first, session)
            results = []
            for op in ops:
                session.run(op)
                results.append(dict(zip(names, session.run(each))))
            return results[0], results[-1]


plain = lambda x: np.asarray(x, np.float64).ravel().tolist()
trained = {}
for clip in CLIPS:
    trained[clip] = train(clip, False)
    for ours, keras in zip(trained[clip], train(clip, True)):
        for name in initial:
            np.testing.assert_allclose(ours[name], keras[name], rtol=1e-5, atol=1e-6)
out = {"batch": BATCH, "steps": STEPS, "rate": RATE, "clips": CLIPS, "positions": POSITIONS, "data": data,
       "initial": {n: plain(x) for n, x in initial.items()}, "factors": {n: plain(x) for n, x in factors.items()},
       "trained": {c: [{n: plain(x) for n, x in v.items()} for v in both] for c, both in trained.items()}}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "clip.json"), "w") as f:
    f.write("{\n" + ",\n".join(json.dumps(k) + ": " + json.dumps(v) for k, v in out.items()) + "\n}\n")
