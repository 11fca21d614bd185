"""Models of language: transformers, tokens, text to classes, generation in loops."""
import os
import tempfile

import numpy as np
import tensorflow as tf

from served import F, I, L, S, Served, f32, kept, keras, one, r, text


def ids(n, *shape):
    return r.integers(0, n, shape).astype("int32")


def bert_keras():
    x, mask = L.Input((None,), dtype="int32", name="input_word_ids"), L.Input((None,), dtype="int32", name="input_mask")
    h = L.LayerNormalization(epsilon=1e-12)(L.Embedding(60, 16)(x) + L.Embedding(40, 16)(tf.range(tf.shape(x)[1])))
    for _ in range(2):
        a = L.MultiHeadAttention(2, 8)(h, h, attention_mask=tf.cast(mask, tf.bool)[:, None])
        h = L.LayerNormalization(epsilon=1e-12)(h + a)
        h = L.LayerNormalization(epsilon=1e-12)(h + L.Dense(16)(L.Dense(32, activation=lambda v: tf.nn.gelu(v, approximate=True))(h)))
    return keras(tf.keras.Model([x, mask], {"pooled": L.Dense(16, activation="tanh")(h[:, 0]), "sequence": h}), [ids(60, 2, 9), np.array([[1] * 9, [1] * 5 + [0] * 4], "int32")])


def rms(x, w):
    return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6) * w


def heads(x, w, n):
    y = tf.matmul(x, w)
    return tf.transpose(tf.reshape(y, (tf.shape(x)[0], -1, n, w.shape[1] // n)), (0, 2, 1, 3))


def attend(q, k, v, bias):
    y = tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / tf.sqrt(tf.cast(q.shape[-1], F)) + bias), v)
    y = tf.transpose(y, (0, 2, 1, 3))
    return tf.reshape(y, (tf.shape(y)[0], -1, y.shape[2] * y.shape[3]))


def variables(**shapes):
    return {k: tf.Variable(f32(*s) * 0.3, name=k) for k, s in shapes.items()}


def t5():
    v = variables(e=(30, 16), q=(16, 16), k=(16, 16), v=(16, 16), q2=(16, 16), k2=(16, 16), v2=(16, 16), wi=(16, 32), wo=(32, 16), n=(16,), rel=(8, 2))

    def bias(n, m):
        d = tf.range(m)[None] - tf.range(n)[:, None]
        small = tf.abs(d)
        big = 2 + tf.cast(tf.math.log(tf.cast(tf.maximum(small, 1), F) / 2) / np.log(8.0) * 2, tf.int32)
        at = tf.cast(d > 0, tf.int32) * 4 + tf.minimum(tf.where(small < 2, small, big), 3)
        return tf.transpose(tf.gather(v["rel"], at), (2, 0, 1))[None]

    def encode(x):
        h = tf.gather(v["e"], x)
        y = rms(h, v["n"])
        n = tf.shape(x)[1]
        h += attend(*(heads(y, v[k], 2) for k in "qkv"), bias(n, n) + tf.where(x == 0, -1e9, 0.0)[:, None, None])
        return h + tf.matmul(tf.nn.relu(tf.matmul(rms(h, v["n"]), v["wi"])), v["wo"])

    def f(x):
        memory = encode(x)
        out = tf.zeros((tf.shape(x)[0], 1), tf.int32)
        done = tf.zeros((tf.shape(x)[0],), tf.bool)
        while tf.shape(out)[1] < 7 and not tf.reduce_all(done):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(out, tf.TensorShape([None, None]))])
            y = tf.gather(v["e"], out)
            y += attend(heads(y, v["q2"], 2), heads(memory, v["k2"], 2), heads(memory, v["v2"], 2), 0.0)
            at = tf.argmax(tf.matmul(rms(y[:, -1], v["n"]), v["e"], transpose_b=True), -1, tf.int32)
            at = tf.where(done, 0, at)
            done |= at == 1
            out = tf.concat([out, at[:, None]], 1)
        return out

    m = one(f, {"x": ((None, None), tf.int32)}, [ids(30, 2, 6)], [ids(30, 1, 3)])
    return kept(m, v)


def gpt_cached():
    v = variables(e=(20, 16), p=(12, 16), q=(16, 16), k=(16, 16), v=(16, 16), a=(16, 32), b=(32, 16))

    def f(prompt):
        n, size = tf.shape(prompt)[0], tf.shape(prompt)[1]
        keys, values, tokens = tf.zeros((n, 2, 12, 8)), tf.zeros((n, 2, 12, 8)), tf.pad(prompt, [[0, 0], [0, 12 - size]])
        tokens = tf.ensure_shape(tokens, (None, 12))

        def step(i, keys, values, tokens):
            x = tf.gather(v["e"], tokens[:, i])[:, None] + v["p"][i]
            here = tf.one_hot(i, 12)[None, None, :, None]
            keys, values = keys * (1 - here) + heads(x, v["k"], 2) * here, values * (1 - here) + heads(x, v["v"], 2) * here
            x += attend(heads(x, v["q"], 2), keys, values, tf.where(tf.range(12) > i, -1e9, 0.0))
            x += tf.matmul(tf.nn.gelu(tf.matmul(x, v["a"])), v["b"])
            at = tf.argmax(tf.matmul(x[:, 0], v["e"], transpose_b=True), -1, tf.int32)
            at = tf.where(i + 1 < size, tokens[:, tf.minimum(i + 1, 11)], at)
            tokens = tf.transpose(tf.tensor_scatter_nd_update(tf.transpose(tokens), [[i + 1]], at[None]))
            return i + 1, keys, values, tf.ensure_shape(tokens, (None, 12))

        return tf.while_loop(lambda i, *_: i < 11, step, (0, keys, values, tokens), shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2, 12, 8]), tf.TensorShape([None, 2, 12, 8]), tf.TensorShape([None, 12])))[3]

    return kept(one(f, {"prompt": ((None, None), tf.int32)}, [ids(20, 2, 3)], [ids(20, 1, 5)]), v)


def gpt_logits():
    x = i = L.Input((None,), dtype="int32")
    x = L.Embedding(20, 16)(i) + L.Embedding(32, 16)(tf.range(tf.shape(i)[1]))
    for _ in range(2):
        h = L.LayerNormalization()(x)
        x = x + L.MultiHeadAttention(4, 4)(h, h, use_causal_mask=True)
        x = x + L.Dense(16)(L.Dense(64, activation="gelu")(L.LayerNormalization()(x)))
    return keras(tf.keras.Model(i, tf.nn.log_softmax(L.Dense(20, use_bias=False)(L.LayerNormalization()(x)))), [ids(20, 2, 8)])


def llama():
    v = variables(e=(20, 16), q=(16, 16), k=(16, 8), v=(16, 8), o=(16, 16), up=(16, 40), gate=(16, 40), down=(40, 16), n=(16,))

    def rotate(x):
        n = tf.shape(x)[2]
        angle = tf.cast(tf.range(n), F)[:, None] / tf.pow(10000.0, tf.range(0, 4, 2, dtype=F) / 4)
        a, b = tf.split(x, 2, -1)
        return tf.concat([a * tf.cos(angle) - b * tf.sin(angle), b * tf.cos(angle) + a * tf.sin(angle)], -1)

    def f(x):
        h = tf.gather(v["e"], x)
        y = rms(h, v["n"])
        q, k, w = rotate(heads(y, v["q"], 4)), rotate(heads(y, v["k"], 2)), heads(y, v["v"], 2)
        n = tf.shape(x)[1]
        mask = (1 - tf.linalg.band_part(tf.ones((n, n)), -1, 0)) * -1e9
        h += tf.matmul(attend(q, tf.repeat(k, 2, 1), tf.repeat(w, 2, 1), mask), v["o"])
        y = rms(h, v["n"])
        h += tf.matmul(tf.nn.silu(tf.matmul(y, v["gate"])) * tf.matmul(y, v["up"]), v["down"])
        return tf.matmul(rms(h, v["n"]), v["e"], transpose_b=True)

    return kept(one(f, {"x": ((None, None), tf.int32)}, [ids(20, 2, 7)]), v)


def transformer_ragged():
    v = variables(e=(40, 16), q=(16, 16), k=(16, 16), v=(16, 16), o=(16, 3))

    def f(x):
        words = tf.strings.split(tf.strings.regex_replace(tf.strings.lower(x), "[^a-z ]", ""))
        rows = tf.ragged.map_flat_values(lambda w: tf.strings.to_hash_bucket_fast(w, 40), words)
        dense = rows.to_tensor(0)
        mask = tf.sequence_mask(rows.row_lengths())
        h = tf.gather(v["e"], dense)
        h += attend(*(heads(h, v[k], 2) for k in "qkv"), tf.where(mask, 0.0, -1e9)[:, None, None])
        h = tf.RaggedTensor.from_tensor(h, lengths=rows.row_lengths())
        return {"y": tf.matmul(tf.reduce_mean(h, 1), v["o"]), "lengths": rows.row_lengths(), "words": words.to_tensor("")}

    return kept(Served(serving_default=(f, {"x": ((None,), S)}, [[text("The cat, sat", "on", "a mat of mine today")]])), v)


def wordpiece():
    words = ["[UNK]", "un", "##aff", "##able", "##a", "a", "the", "run", "##ning", "##s"]
    t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(words, tf.range(len(words), dtype=tf.int32)), -1)

    def pieces(word):
        out, at, n = tf.TensorArray(tf.int32, 0, dynamic_size=True, element_shape=()), 0, tf.strings.length(word)
        while at < n:
            end, found = n, -1
            while end > at and found < 0:
                piece = tf.strings.substr(word, at, end - at)
                found = t.lookup(tf.where(at > 0, "##" + piece, piece))
                end = tf.where(found < 0, end - 1, end)
            out = out.write(out.size(), tf.maximum(found, 0))
            at = tf.where(found < 0, n, end)
        return tf.RaggedTensor.from_tensor(out.stack()[None])[0]

    def f(x):
        flat = tf.strings.split(x).flat_values
        return tf.map_fn(pieces, flat, fn_output_signature=tf.RaggedTensorSpec([None], tf.int32)).to_tensor(-1)

    return kept(one(f, {"x": ((None,), S)}, [text("the unaffable runs", "running xyz a")]), t)


def text_tfidf():
    i = L.Input((1,), dtype="string")
    v = L.TextVectorization(max_tokens=20, output_mode="tf_idf", standardize="lower_and_strip_punctuation")
    v.adapt(["the cat sat on the mat", "a dog ran", "the dog sat"])
    return keras(tf.keras.Model(i, L.Dense(3, activation="softmax")(v(i))), [text(["The cat ran!"], ["dog dog bird"])])


def text_multi_hot():
    i = L.Input((1,), dtype="string")
    v = L.TextVectorization(max_tokens=20, output_mode="multi_hot", split="character", standardize="lower")
    v.adapt(["the cat sat on the mat", "a dog ran"])
    return keras(tf.keras.Model(i, L.Dense(3)(v(i))), [text(["The cat ran!"], ["zq"])])


def char_cnn():
    i = L.Input((), dtype="string")
    x = tf.strings.unicode_decode(i, "UTF-8").to_tensor(0, shape=(None, 12))
    x = L.Embedding(64, 8)(tf.math.floormod(x, 64))
    parts = [L.GlobalMaxPooling1D()(L.Conv1D(4, k, activation="relu")(x)) for k in (2, 3, 4)]
    return keras(tf.keras.Model(i, L.Dense(2)(L.Concatenate()(parts))), [text("Grüße aus", "日本", "")])


def fasttext():
    e = tf.Variable(f32(64, 6))

    def f(x):
        padded = tf.strings.join(["<", tf.strings.lower(x), ">"])
        grams = tf.strings.ngrams(tf.strings.unicode_split(padded, "UTF-8"), [3, 4], separator="")
        rows = tf.ragged.map_flat_values(lambda g: tf.strings.to_hash_bucket_strong(g, 64, [3, 5]), grams)
        return tf.reduce_mean(tf.ragged.map_flat_values(lambda v: tf.gather(e, v), rows), 1)

    return kept(one(f, {"x": ((None,), S)}, [text("apple", "Äpfel", "cd")]), e)


def seq2seq_attention():
    enc, dec, e, out = L.GRU(8, return_sequences=True, return_state=True), L.GRUCell(8), L.Embedding(15, 8), L.Dense(15)
    att = L.AdditiveAttention()

    def f(x):
        memory, state = enc(e(x))
        tokens, words = tf.zeros((tf.shape(x)[0],), tf.int32), tf.TensorArray(tf.int32, 5)
        for i in tf.range(5):
            c = att([state[:, None], memory])[:, 0]
            y, (state,) = dec(tf.concat([e(tokens), c], 1), [state])
            tokens = tf.argmax(out(y), -1, tf.int32)
            words = words.write(i, tokens)
        return tf.transpose(words.stack())

    f(tf.constant([[1, 2]]))
    return kept(one(f, {"x": ((None, None), tf.int32)}, [ids(15, 2, 6)]), enc, dec, e, out, att)


def beam_search():
    w = tf.Variable(f32(9, 9))

    def f(start):
        n = tf.shape(start)[0]
        seq, score = tf.tile(start[:, None, None], (1, 3, 1)), tf.tile(tf.constant([[0.0, -1e9, -1e9]]), (n, 1))
        for _ in range(4):
            p = score[..., None] + tf.nn.log_softmax(tf.gather(w, seq[..., -1]))
            score, at = tf.math.top_k(tf.reshape(p, (n, -1)), 3)
            seq = tf.concat([tf.gather(seq, at // 9, batch_dims=1), (at % 9)[..., None]], -1)
        return {"sequences": seq, "scores": score}

    return kept(Served(serving_default=(f, {"start": ((None,), tf.int32)}, [[ids(9, 4)]])), w)


def ner_crf():
    i = L.Input((None,), dtype="int32")
    net = tf.keras.Model(i, L.Dense(4)(L.Bidirectional(L.LSTM(6, return_sequences=True))(L.Embedding(20, 8, mask_zero=True)(i))))
    trans, names = tf.Variable(f32(4, 4)), tf.constant(["O", "B", "I", "E"])

    def f(x):
        y = tf.transpose(net(x), (1, 0, 2))
        alpha, back = y[0], tf.TensorArray(tf.int32, tf.shape(y)[0], element_shape=(None, 4))
        for t in tf.range(1, tf.shape(y)[0]):
            s = alpha[:, :, None] + trans
            back = back.write(t, tf.argmax(s, 1, tf.int32))
            alpha = tf.reduce_max(s, 1) + y[t]
        tags = tf.TensorArray(tf.int32, tf.shape(y)[0], element_shape=(None,))
        best = tf.argmax(alpha, 1, tf.int32)
        for t in tf.range(tf.shape(y)[0] - 1, -1, -1):
            tags = tags.write(t, best)
            if t > 0:
                best = tf.gather(back.read(t), best, batch_dims=1)
        return {"tags": tf.gather(names, tf.transpose(tags.stack())), "score": tf.reduce_max(alpha, 1)}

    return kept(Served(serving_default=(f, {"x": ((None, None), tf.int32)}, [[ids(20, 2, 6)]])), net, trans)


def sentence_encoder():
    """As TensorFlow Hub has them: a callable with a vocabulary among its assets."""
    file = os.path.join(tempfile.mkdtemp(), "vocabulary.txt")
    with open(file, "w") as f:
        f.write("the\ncat\nsat\ndog\n")
    init = tf.lookup.TextFileInitializer(file, S, tf.lookup.TextFileIndex.WHOLE_LINE, I, tf.lookup.TextFileIndex.LINE_NUMBER)
    table, e = tf.lookup.StaticVocabularyTable(init, 3), tf.Variable(f32(7, 8))

    def f(x):
        words = tf.strings.split(tf.strings.lower(x)).to_sparse()
        rows = tf.SparseTensor(words.indices, table.lookup(words.values), words.dense_shape)
        return tf.nn.safe_embedding_lookup_sparse(e, rows, combiner="sqrtn")

    m = one(f, {"text": ((None,), S)}, [text("the cat sat", "", "a dog barks at the cat")])
    m.__call__ = tf.function(f, input_signature=[tf.TensorSpec((None,), S)])
    return kept(m, table, e)


def sentence_pairs():
    e = L.Embedding(50, 8, mask_zero=True)
    pool = L.GlobalAveragePooling1D()

    def vector(x):
        y = e(x)
        return tf.math.l2_normalize(pool(y, mask=e.compute_mask(x)), -1)

    def f(a, b):
        return tf.reduce_sum(vector(a) * vector(b), -1)

    f(tf.constant([[1]]), tf.constant([[1]]))
    return kept(one(f, {"a": ((None, None), tf.int32), "b": ((None, None), tf.int32)}, [ids(50, 3, 5), ids(50, 3, 7)]), e)


def answer_spans():
    w = tf.Variable(f32(8, 2))

    def f(x):
        a, b = tf.unstack(tf.matmul(x, w), axis=-1)
        p = tf.nn.softmax(a)[:, :, None] * tf.nn.softmax(b)[:, None]
        p = tf.linalg.band_part(p, 0, 3)
        return {"start": tf.argmax(tf.reduce_max(p, 2), 1), "end": tf.argmax(tf.reduce_max(p, 1), 1), "p": tf.reduce_max(p, (1, 2))}

    return kept(Served(serving_default=(f, {"x": ((None, None, 8), F)}, [[f32(2, 9, 8)]])), w)


def mixture_of_experts():
    gate, a, b = tf.Variable(f32(8, 4)), tf.Variable(f32(4, 8, 16)), tf.Variable(f32(4, 16, 8))

    def f(x):
        p, at = tf.math.top_k(tf.nn.softmax(tf.matmul(x, gate)), 2)
        mask = tf.one_hot(at, 4)
        place = tf.cumsum(tf.reshape(mask, (-1, 4)), 0, exclusive=True)
        fits = tf.reshape(tf.cast(place < 5, F), (-1, 2, 4)) * mask
        y = tf.einsum("teh,eho->teo", tf.nn.relu(tf.einsum("ti,eih->teh", x, a)), b)
        return tf.einsum("tke,tk,teo->to", fits, p, y)

    return kept(one(f, {"x": ((None, 8), F)}, [f32(7, 8)]), gate, a, b)


def linear_attention():
    v = variables(q=(8, 8), k=(8, 8), v=(8, 8))

    def f(x):
        q, k = (tf.nn.elu(tf.matmul(x, v[n])) + 1 for n in "qk")
        kv = tf.cumsum(tf.einsum("bti,btj->btij", k, tf.matmul(x, v["v"])), 1)
        return tf.einsum("bti,btij->btj", q, kv) / tf.einsum("bti,bti->bt", q, tf.cumsum(k, 1))[..., None]

    return kept(one(f, {"x": ((None, None, 8), F)}, [f32(2, 6, 8)]), v)


def window_attention():
    v = variables(q=(8, 8), k=(8, 8), v=(8, 8))

    def f(x):
        near = lambda y: tf.signal.frame(tf.pad(y, [[0, 0], [2, 2], [0, 0]]), 5, 1, axis=1)
        s = tf.einsum("bti,btki->btk", tf.matmul(x, v["q"]), near(tf.matmul(x, v["k"])))
        return tf.einsum("btk,btki->bti", tf.nn.softmax(s), near(tf.matmul(x, v["v"])))

    return kept(one(f, {"x": ((None, None, 8), F)}, [f32(2, 9, 8)]), v)


def elmo():
    i = L.Input((None, 6), dtype="int32")
    x = L.TimeDistributed(L.GlobalMaxPooling1D())(L.TimeDistributed(L.Conv1D(8, 3, activation="tanh"))(L.Embedding(30, 4)(i)))
    t = L.Dense(8, activation="sigmoid")(x)
    x = t * L.Dense(8, activation="relu")(x) + (1 - t) * x
    for _ in range(2):
        x = L.Bidirectional(L.LSTM(4, return_sequences=True))(x)
    return keras(tf.keras.Model(i, x), [ids(30, 2, 5, 6)])


def token_sampling():
    def f(logits, seed):
        p = tf.nn.softmax(logits / 0.8)
        ordered = tf.sort(p, direction="DESCENDING")
        least = tf.reduce_min(tf.where(tf.cumsum(ordered, -1, exclusive=True) < 0.9, ordered, 2.0), -1, keepdims=True)
        kept = tf.where(p >= least, logits, -1e9)
        noise = -tf.math.log(-tf.math.log(tf.random.stateless_uniform(tf.shape(logits), seed, 1e-6, 1.0)))
        return {"categorical": tf.random.stateless_categorical(kept, 3, seed), "gumbel": tf.argmax(kept + noise, -1)}

    return Served(serving_default=(f, {"logits": ((None, 12), F), "seed": ((2,), tf.int32)}, [[f32(4, 12) * 2, np.array([5, 6], "int32")]]))


def spelling():
    known = tf.constant(["apple", "orange", "banana"])

    def f(x):
        a, b = tf.strings.unicode_split(x, "UTF-8"), tf.strings.unicode_split(known, "UTF-8")
        n = tf.shape(x)[0]
        left = tf.gather(a, tf.repeat(tf.range(n), 3)).to_sparse()
        right = tf.tile(b.to_tensor(""), (n, 1))
        right = tf.sparse.from_dense(right)
        d = tf.reshape(tf.edit_distance(left, right, normalize=False), (n, 3))
        return {"word": tf.gather(known, tf.argmin(d, 1)), "distance": d}

    return Served(serving_default=(f, {"x": ((None,), S)}, [[text("aple", "bananas")]]))


def log_lines():
    def f(line):
        parts = tf.strings.split(line, "|").to_tensor("", shape=(None, 3))
        code = tf.strings.to_number(parts[:, 1], tf.int32)
        host = tf.strings.regex_replace(parts[:, 0], r"^(\w+)\..*$", r"\1")
        return {"host": tf.strings.upper(host), "failed": code >= 500, "slow": tf.strings.regex_full_match(parts[:, 2], r"\d{3,}ms"), "key": tf.strings.to_hash_bucket(parts[:, 0], 100), "joined": tf.strings.reduce_join(parts, 1, separator="/")}

    return Served(serving_default=(f, {"line": ((None,), S)}, [[text("a.example|200|12ms", "b.example|503|1200ms")]]))
