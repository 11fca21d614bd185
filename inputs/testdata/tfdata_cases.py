"""Records what tf.data delivers, for combine_test.go: python tfdata_cases.py > tfdata.json (TensorFlow 2.15)."""
import json

import tensorflow as tf

rng = tf.data.Dataset.range


def values(ds):
    return [x.numpy().tolist() for x in ds]


def main():
    cases = {}
    cases["concatenate"] = values(rng(5).concatenate(rng(10, 13)))
    cases["zip"] = [[a.numpy().tolist(), b.numpy().tolist()] for a, b in tf.data.Dataset.zip((rng(5), rng(10, 13)))]
    lengths = tf.constant([3, 7, 0, 5, 1, 4], tf.int64)
    for cycle in (1, 2, 3, 6, 9):
        for block in (1, 2, 4):
            ds = rng(6).interleave(lambda i: rng(100 * i, 100 * i + lengths[i]), cycle_length=cycle, block_length=block)
            cases[f"interleave {cycle} {block}"] = values(ds)
    cases["flat_map"] = values(rng(6).flat_map(lambda i: rng(10 * i, 10 * i + lengths[i])))
    for size, shift, stride in ((3, 3, 1), (3, 1, 1), (2, 5, 1), (3, 2, 2), (1, 1, 1), (4, 1, 3)):
        ds = rng(13).window(size, shift, stride, drop_remainder=True).flat_map(lambda w: w.batch(size))
        cases[f"window {size} {shift} {stride}"] = values(ds)
    cases["unbatch"] = values(rng(7).map(lambda i: tf.stack([i, -i])).unbatch())
    ragged = rng(9).map(lambda i: tf.range(i * 7 % 5))
    cases["padded_batch"] = values(ragged.padded_batch(4, padded_shapes=[6], padding_values=tf.constant(-1, tf.int64)))
    words = rng(40).map(lambda i: tf.fill([i * 7 % 11], i))
    for drop in (False, True):
        ds = words.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 6], [4, 3, 2], drop_remainder=drop)
        # a row of length 0 has no value that tells its number: lengths and numbers of the others
        cases[f"bucket {drop}"] = [[int(max(row, default=0)) for row in b] for b in values(ds)]
    ds = rng(23).group_by_window(lambda i: i * i % 5, lambda k, w: w.batch(4), window_size_func=lambda k: k % 3 + 2)
    cases["group_by_window"] = values(ds)
    cases["unique"] = values(rng(30).map(lambda i: i * i % 7).unique())
    print(json.dumps(cases, indent=0).replace(",\n", ",").replace("[\n", "[").replace("\n]", "]"))


main()
