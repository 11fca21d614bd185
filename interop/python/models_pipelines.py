"""Whole pipelines in one graph: features as tf.Transform exports them, texts, policies, what goes before and after a network."""
import numpy as np
import tensorflow as tf

from served import F, I, L, S, Served, f32, kept, r, text


def many(f, specs, *values):
    return Served(serving_default=(f, specs, values))


def transformed_features():
    words = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a", "b", "c"], tf.constant([0, 1, 2], I)), 2)

    def f(age, city, words_of, index):
        scaled = (age - 30.0) / 5.0
        ids = words.lookup(tf.strings.lower(tf.strings.strip(city)))
        parts = tf.strings.split(tf.strings.regex_replace(words_of, r"[^\w\s]", " "))
        counts = tf.math.bincount(parts.with_flat_values(words.lookup(parts.flat_values)), minlength=5, maxlength=5, axis=-1)
        return {"scaled": tf.where(tf.math.is_finite(scaled), scaled, 0.0), "bucket": tf.raw_ops.Bucketize(input=age, boundaries=[10.0, 20.0, 30.0]), "ids": ids, "counts": counts,
                "hot": tf.one_hot(ids, 5), "fast": tf.strings.to_hash_bucket_fast(tf.strings.as_string(index), 11), "strong": tf.strings.to_hash_bucket_strong(city, 7, [1, 2])}

    m = many(f, {"age": ((None, 1), F), "city": ((None, 1), S), "words_of": ((None,), S), "index": ((None,), I)},
             [np.float32([[5], [30], [np.nan]]), text(" A", "B ", "zz").reshape(3, 1), text("a b, c! a", "", "x y z"), np.array([1, -5, 1 << 40])],
             [f32(0, 1), text().reshape(0, 1), text(), np.zeros(0, "int64")], [np.float32([[np.inf], [-np.inf]]), text("ÄÖ", "").reshape(2, 1), text("Ä ö\u00a0b", "a\tb\nc"), np.array([0, 1])])
    return kept(m, words)


def word_pieces_by_hand():
    """The longest pieces first, in loops of TensorFlow's ops."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "the", "fox", "##es", "!", "a", "##b"]
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(pieces, tf.range(len(pieces), dtype=I)), -1)

    def word(w):
        n, start, bad, ids = tf.strings.length(w, "UTF8_CHAR"), 0, False, tf.TensorArray(I, 0, dynamic_size=True, element_shape=[])
        while start < n and not bad:
            end, now = n, tf.constant(-1, I)
            while end > start and now < 0:
                part = tf.strings.substr(w, start, end - start, "UTF8_CHAR")
                if start > 0:
                    part = "##" + part
                now = table.lookup(part)
                if now < 0:
                    end -= 1
            if now < 0:
                bad = True
            else:
                ids, start = ids.write(ids.size(), now), end
        found = ids.stack()
        return tf.cond(bad, lambda: tf.constant([1], I), lambda: found)

    def f(x):
        words = tf.strings.split(tf.strings.regex_replace(tf.strings.lower(x, encoding="utf-8"), r"([\p{P}])", r" \1 "))
        ids = tf.RaggedTensor.from_row_splits(tf.map_fn(word, words.values, fn_output_signature=tf.RaggedTensorSpec([None], I)), words.row_splits).merge_dims(1, 2)
        edge = lambda v: tf.fill([tf.shape(x)[0], 1], tf.constant(v, I))
        ids = tf.concat([edge(2), ids[:, :8], edge(3)], 1)
        return {"ids": ids.to_tensor(0, shape=[None, 10]), "mask": tf.sequence_mask(ids.row_lengths(), 10, tf.int32)}

    return kept(many(f, {"x": ((None,), S)}, [text("The foxes!", "unaffable", "")], [text("zzz ab " + "the " * 8)], [text()], [text("ÄB", "a" * 50)]), table)


def agent_policy():
    """A step of an agent: actions that are allowed, a state that begins anew, a random action now and then."""
    w, h = tf.Variable(f32(5, 3)), tf.Variable(f32(4, 4))

    def f(seen, allowed, state, step, seed):
        state = tf.tanh(tf.where(tf.equal(step, 0)[:, None], 0.0, state) @ h + seen[:, :4])
        q = tf.where(allowed, seen @ w, -np.inf)
        any_ = tf.random.stateless_categorical(tf.where(allowed, 0.0, -np.inf), 1, seed, tf.int32)[:, 0]
        best = tf.argmax(q, -1, output_type=tf.int32)
        return {"action": tf.where(tf.random.stateless_uniform(tf.shape(best), seed) < 0.3, any_, best), "state": state, "p": tf.nn.softmax(q), "entropy": -tf.reduce_sum(tf.math.multiply_no_nan(tf.nn.log_softmax(q), tf.nn.softmax(q)), -1)}

    specs = {"seen": ((None, 5), F), "allowed": ((None, 3), tf.bool), "state": ((None, 4), F), "step": ((None,), tf.int32), "seed": ((2,), I)}
    return kept(many(f, specs, [f32(3, 5), np.array([[1, 1, 1], [1, 0, 0], [0, 1, 1]], bool), f32(3, 4), np.array([0, 1, 2], "int32"), np.array([1, 2])],
                     [f32(0, 5), np.zeros((0, 3), bool), f32(0, 4), np.zeros(0, "int32"), np.array([1, 2])], [f32(1, 5), np.zeros((1, 3), bool), f32(1, 4), np.array([1], "int32"), np.array([7, 2])]), w, h)


def boxes_of_all_kinds():
    def f(boxes, scores, image):
        nms, first = tf.image.combined_non_max_suppression(boxes[:, :, None], scores, 5, 10, 0.5, 0.1), scores[0, :, 0]
        soft = tf.image.non_max_suppression_with_scores(boxes[0], first, 6, 0.5, 0.05, soft_nms_sigma=0.5)
        padded = tf.image.non_max_suppression_padded(boxes[0], first, 6, 0.5, 0.1, pad_to_max_output_size=True)
        return {**{f"nms{i}": v for i, v in enumerate(nms)}, "soft": soft[0], "soft_scores": soft[1], "padded": padded[0], "valid": padded[1],
                "crops": tf.image.crop_and_resize(image, boxes[0, :3], [0, 0, 0], [5, 7]), "drawn": tf.image.draw_bounding_boxes(image, boxes[:, :3], [[1.0, 0.0, 0.0]])}

    b = np.sort(r.random((2, 9, 2, 2)).astype("float32"), 2).reshape(2, 9, 4)
    u = lambda *shape: r.random(shape).astype("float32")
    return many(f, {"boxes": ((None, None, 4), F), "scores": ((None, None, 3), F), "image": ((None, None, None, 3), F)}, [b, u(2, 9, 3), u(2, 16, 20, 3)],
                [b * 1.4 - 0.2, np.ones((2, 9, 3), "float32"), u(2, 8, 9, 3)], [b[:1, :3], np.full((1, 3, 3), np.nan, "float32"), u(1, 8, 9, 3)])


def loops_of_all_kinds():
    def f(x, n):
        sums, i, total = tf.TensorArray(F, 0, dynamic_size=True), 0, tf.zeros([2])
        while tf.reduce_sum(total) < 10.0 and i < n:
            for j in tf.range(i % 3):
                if j == 1:
                    continue
                total += x[j]
            total += tf.abs(x[0]) + 0.1
            sums, i = sums.write(i, total), i + 1
            if total[0] > 5.0:
                break
        grow = tf.while_loop(lambda k, v: k < 3, lambda k, v: (k + 1, tf.concat([v, v[:1] * 2], 0)), [0, x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])])[1]
        pick = tf.switch_case(n % 4, [lambda: x * 2, lambda: x[:1], lambda: tf.zeros([0, 2])], default=lambda: -x)
        return {"sums": sums.stack(), "i": i, "scan": tf.scan(lambda p, c: p * 0.5 + c, x), "fold": tf.foldr(lambda p, c: p - c, x), "grow": grow, "pick": pick, "slope": tf.gradients(tf.scan(lambda p, c: p * c, x), x)[0]}

    return many(f, {"x": ((None, 2), F), "n": ((), tf.int32)}, [f32(4, 2), np.int32(5)], [f32(3, 2) * 5, np.int32(2)], [f32(3, 2), np.int32(0)], [f32(3, 2) * 0.1, np.int32(7)])


def slopes_of_images():
    k = tf.keras.Sequential([L.Conv2D(4, 3, activation="swish", input_shape=(12, 12, 3)), L.DepthwiseConv2D(3), L.AveragePooling2D(), L.Flatten(), L.Dense(3)])

    def f(x):
        with tf.GradientTape() as t:
            t.watch(x)
            best = tf.reduce_sum(tf.reduce_max(k(x), -1))
        g = t.gradient(best, x)
        with tf.GradientTape() as t:
            t.watch(x)
            p = tf.nn.softmax(k(x))
        return {"g": g, "salient": tf.reduce_max(tf.abs(g), -1), "jacobian": t.batch_jacobian(p, x)}

    return kept(many(f, {"x": ((None, 12, 12, 3), F)}, [f32(2, 12, 12, 3)]), k)
