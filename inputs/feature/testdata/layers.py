"""layers.py: prints what Keras' preprocessing layers TextVectorization, Discretization and HashedCrossing of TensorFlow 2.15 make, for ../layers_test.go."""
import json
import sys

import numpy as np
import tensorflow as tf

L = tf.keras.layers
tf.config.run_functions_eagerly(True)
TEXTS = ["The cat sat on the mat.", "the DOG ate the cat's food!", "", "  A cat;  a dog\tand a bird\n", "É t\u00a0é (no) [yes] <x> `q`", "cat", "unknown words only"]


def listed(x):
    return x.to_list() if isinstance(x, tf.RaggedTensor) else np.asarray(x).tolist()


def texts():
    out = []
    for standardize, split, ngrams, mode, limit, length in [
            ("lower_and_strip_punctuation", "whitespace", None, "int", None, None), ("lower", "whitespace", None, "int", 8, 4),
            ("strip_punctuation", "whitespace", None, "multi_hot", 8, None), (None, "whitespace", 2, "count", None, None),
            ("lower_and_strip_punctuation", "whitespace", (1, 3), "int", None, None), ("lower_and_strip_punctuation", "whitespace", 2, "tf_idf", 9, None),
            ("lower_and_strip_punctuation", "whitespace", None, "tf_idf", None, None), (None, "character", None, "int", 12, 6),
            ("lower", "character", 2, "count", 20, None), ("strip_punctuation", None, None, "int", None, None), (None, None, None, "count", None, None)]:
        l = L.TextVectorization(max_tokens=limit, standardize=standardize, split=split, ngrams=ngrams, output_mode=mode, output_sequence_length=length,
                                ragged=mode == "int" and length is None and split is not None)
        l.adapt(tf.constant(TEXTS))
        lengths = [] if ngrams is None else list(range(1, ngrams + 1)) if isinstance(ngrams, int) else list(ngrams)
        out.append(dict(standardize=standardize or "none", split=split or "none", ngrams=lengths, mode=mode, max=limit or 0, length=length or 0,
                        vocabulary=l.get_vocabulary(include_special_tokens=False), values=listed(l(tf.constant(TEXTS)[:, None] if split is None else tf.constant(TEXTS)))))
    return out


def numbers():
    rng, out = np.random.RandomState(5), []
    x = np.concatenate([rng.normal(size=300), rng.exponential(size=200)]).astype(np.float32)
    for bins, epsilon in [(4, 0.01), (10, 0.01), (7, 0.05)]:
        l = L.Discretization(num_bins=bins, epsilon=epsilon)
        l.adapt(x, batch_size=128)
        out.append(dict(bins=bins, epsilon=epsilon, boundaries=[float(b) for b in l.bin_boundaries]))
    edges = np.array([-1.5, 0.0, 0.5, 1.0, 1.2, 3.0], np.float32)
    cases = {}
    for mode in ["int", "one_hot", "multi_hot", "count"]:
        l = L.Discretization(bin_boundaries=[0.0, 0.5, 1.0], output_mode=mode)
        cases[mode] = listed(l(edges.reshape(6, 1) if mode == "int" else edges.reshape(2, 3) if mode != "one_hot" else edges.reshape(6, 1)))
    return dict(x=[float(v) for v in x], adapted=out, modes=cases)


def crosses():
    a, b = tf.constant(["a", "b", "dog", "", "é"]), tf.constant([1, -1, 7, 0, 123456789012], tf.int64)
    l = L.HashedCrossing(num_bins=1000)
    return dict(a=[v.decode() for v in a.numpy()], b=b.numpy().tolist(), bins=1000, ids=listed(l((a[:, None], b[:, None]))))


json.dump(dict(input=TEXTS, texts=texts(), numbers=numbers(), crosses=crosses()), sys.stdout, separators=(",", ":"), ensure_ascii=True)
print()
