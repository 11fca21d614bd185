"""Writes lookup.json: what TensorFlow 2.15's lookups of sparse ids give, and the gradients of their tables."""
import json, os
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(5)
cases = []
for function in ["embedding_lookup_sparse", "safe_embedding_lookup_sparse"]:
    for combiner in ["mean", "sqrtn", "sum"]:
        for weighted in [False, True]:
            for max_norm in [None, 1.25]:
                for width in [1, 3]:
                    rows, batch = 7, 6
                    safe = function.startswith("safe")
                    lengths = [3, 0, 1, 4, 2, 0] if safe else [3, 1, 1, 4, 2, 2]
                    ids, indices = [], []
                    for i, n in enumerate(lengths):
                        for k in range(n):
                            indices.append([i, k])
                            ids.append(int(rng.integers(-2 if safe else 0, rows)))
                    weights = np.round(rng.uniform(-0.5 if safe else 0.25, 2, len(ids)), 2).astype(np.float32)
                    table = np.round(rng.normal(size=(rows, width)), 2).astype(np.float32)
                    cot = np.round(rng.normal(size=(batch, width)), 2).astype(np.float32)
                    shape = [batch, 5]
                    v = tf.Variable(table)
                    with tf.GradientTape() as tape:
                        sp = tf.SparseTensor(indices, tf.constant(ids, tf.int64), shape)
                        sw = tf.SparseTensor(indices, weights, shape) if weighted else None
                        if safe:
                            y = tf.nn.safe_embedding_lookup_sparse([v], sp, sw, combiner=combiner, max_norm=max_norm)
                        else:
                            y = tf.nn.embedding_lookup_sparse([v], sp, sw, combiner=combiner, max_norm=max_norm)
                        loss = tf.reduce_sum(y * cot)
                    grad = tf.convert_to_tensor(tape.gradient(loss, v))
                    offsets = [0] + [int(x) for x in np.cumsum(lengths)]
                    flat = lambda a: [float(x) for x in np.asarray(a).ravel()]
                    cases.append({"function": function, "combiner": combiner, "max_norm": max_norm or 0, "width": width,
                                  "ids": ids, "offsets": offsets, "weights": flat(weights) if weighted else None,
                                  "table": flat(table), "cot": flat(cot), "y": flat(y), "grad": flat(grad)})
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lookup.json"), "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
