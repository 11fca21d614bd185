"""Models whose requests make datasets and pass over them."""
import numpy as np
import tensorflow as tf

from served import F, I, S, Served, f32, kept, text

D = tf.data.Dataset


def dataset_loops():
    def loop(n):
        t = tf.constant(0, I)
        for i in D.range(n).filter(lambda i: i % 3 != 0).take(50):
            t = t * 2 % 1000003 + i
        return {"t": t}

    def until(x):
        s, n = 0.0, 0
        for v in D.from_tensor_slices(x):
            if v > 1:
                break
            s += v
            n += 1
        return {"s": s, "n": n}

    return Served(loop=(loop, {"n": ((), I)}, [[np.int64(10)], [np.int64(0)], [np.int64(1000)]]),
                  until=(until, {"x": ((None,), F)}, [[np.array([0.1, 0.2, 3, 0.4], "float32")], [np.array([], "float32")]]))


def dataset_iterators():
    def pair(x):
        it = iter(D.from_tensor_slices(x).map(lambda v: v + 1))
        a, b = next(it), next(it)
        return {"a": a, "b": b}

    def first(x):
        o = iter(D.from_tensor_slices(x)).get_next_as_optional()
        some = tf.experimental.Optional.from_value(x * 2)
        none = tf.experimental.Optional.empty(tf.TensorSpec([None], F))
        return {"y": tf.cond(o.has_value(), lambda: o.get_value(), lambda: -1.0), "some": some.get_value(), "has": some.has_value(), "none": none.has_value()}

    return Served(pair=(pair, {"x": ((None,), F)}, [[f32(3)], [f32(2)]]), first=(first, {"x": ((None,), F)}, [[f32(2)], [f32(0)]]))


def dataset_words():
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1.0, 2.0], F)), -1.0)
    w = tf.Variable(f32(4))

    def padded(s):
        rows = D.from_tensor_slices(s).map(lambda v: tf.strings.split(v)).padded_batch(3, [None], "-")
        return {"y": rows.reduce(tf.constant(""), lambda a, b: a + "|" + tf.strings.reduce_join(b))}

    def looked_up(s):
        rows = D.from_tensor_slices(s).map(lambda k: table.lookup(k) * w, num_parallel_calls=4)
        return {"y": rows.interleave(lambda r: D.from_tensor_slices(r), cycle_length=2, num_parallel_calls=2).reduce(0.0, lambda a, b: a * 0.9 + b)}

    return kept(Served(padded=(padded, {"s": ((None,), S)}, [[text("a b", "c", "", "d e f", "ü x")], [text("a")]]),
                       looked_up=(looked_up, {"s": ((None,), S)}, [[text("a", "b", "q")], [text("q")]])), table, w)


def dataset_orders():
    def shuffled(n):
        return {"y": D.range(n).shuffle(5, seed=3).repeat(2).reduce(tf.constant(0, I), lambda a, b: (a * 7 + b) % 1000003)}

    def windows(x):
        rows = D.range(4).flat_map(lambda i: D.range(i)).map(lambda i: tf.gather(x, i)).window(2, drop_remainder=True).flat_map(lambda w: w.batch(2))
        return {"y": rows.reduce(tf.zeros(2), lambda a, b: a * 0.5 + b)}

    def grouped(x):
        groups = D.from_tensor_slices(x).group_by_window(lambda v: tf.cast(v > 0, I), lambda k, w: w.batch(3), window_size=3)
        sums = D.from_tensor_slices(x).scan(0.0, lambda s, v: (s + v, s * v)).take_while(lambda v: v < 50)
        return {"y": groups.reduce(0.0, lambda a, b: a * 0.7 + tf.reduce_sum(b)), "n": sums.reduce(0, lambda a, _: a + 1), "s": sums.reduce(0.0, lambda a, b: a + b)}

    return Served(shuffled=(shuffled, {"n": ((), I)}, [[np.int64(20)], [np.int64(3)]]), windows=(windows, {"x": ((None,), F)}, [[f32(5)], [f32(3)]]),
                  grouped=(grouped, {"x": ((None,), F)}, [[f32(11)], [f32(0)]]))


def dataset_counts():
    v = tf.Variable(0.0)

    def count(x):
        D.from_tensor_slices(x).reduce(0.0, lambda a, b: (v.assign_add(b), a + b)[1])
        pairs = D.from_tensor_slices(tf.reshape(tf.cast(10 * x, I), [-1, 1])).unbatch().unique()
        return {"v": v.read_value(), "n": pairs.reduce(tf.constant(0, I), lambda a, _: a + 1), "c": D.from_tensor_slices(x).batch(3).cardinality()}

    return kept(Served(serving_default=(count, {"x": ((None,), F)}, [[np.ones(3, "float32")], [f32(2)], [f32(0)]])), v)


def dataset_ragged():
    def rows(x):
        n = tf.size(x)
        r = tf.RaggedTensor.from_nested_row_splits(x, [tf.stack([0, 1, 3]), tf.stack([0, n // 3, n // 2, n])])
        again = D.from_tensors(r).unbatch().batch(1).unbatch().batch(5).map(lambda t: tf.reduce_sum(t.to_tensor(-1.0)))
        sliced = D.from_tensor_slices((r[0], tf.range(1.0))).map(lambda t, w: tf.reduce_sum(t) + w)
        sparse = D.from_tensor_slices(tf.sparse.from_dense(tf.stack([x, -2 * x]))).map(tf.sparse.reduce_sum)
        fold = lambda a, b: a * 0.6 + b
        return {"again": again.reduce(0.0, fold), "sliced": sliced.reduce(0.0, fold), "sparse": sparse.reduce(0.0, fold)}

    def batched(x):
        d = D.range(4).map(lambda i: x[:tf.cast(i, tf.int32)]).ragged_batch(3).map(lambda t: tf.reduce_sum(t.to_tensor(-1.0)))
        return {"y": d.reduce(0.0, lambda a, b: a * 0.6 + b)}

    return Served(rows=(rows, {"x": ((None,), F)}, [[f32(7)], [f32(3)]]), batched=(batched, {"x": ((None,), F)}, [[f32(5)], [f32(0)]]))
