"""write_tfrecord.py OUT: TensorFlow writes TFRecord files of examples, and parses them; what it parses goes to OUT/want."""
import os
import sys

import numpy as np
import tensorflow as tf

import exchange

out, rows = sys.argv[1], 60
random = np.random.RandomState(11)


def floats(v):
    return tf.train.Feature(float_list=tf.train.FloatList(value=v))


def ints(v):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=v))


def texts(v):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=v))


words = [b"", b"ab", "gr\u00fc\u00df".encode(), bytes(range(256)), b"x" * 300]
examples = []
for i in range(rows):
    f = {
        "float": floats([random.randn() * 10 ** random.randint(-20, 20)]),
        "int": ints([int(random.randint(-2**62, 2**62)) * (-1) ** i]),
        "text": texts([words[i % 5]]),
        "vector": floats(random.randn(6)),
        "pair": ints(random.randint(0, 3, 2)),
        "other": texts([b"passed over"]),
    }
    if i % 3 > 0:
        f["sometimes"] = floats([i])
    if i % 4 > 0:
        f["numbers"] = floats(random.randn(i % 7))
        f["ids"] = ints(random.randint(-5, 300, i % 5))
        f["words"] = texts([words[k] for k in random.randint(0, 5, i % 4)])
    elif i % 8 == 0:
        f["words"] = tf.train.Feature()  # without a list
    examples.append(tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString())

for name, codec in [("plain.tfrecord", ""), ("packed.tfrecord.gz", "GZIP")]:
    with tf.io.TFRecordWriter(os.path.join(out, name), tf.io.TFRecordOptions(compression_type=codec)) as writer:
        for e in examples:
            writer.write(e)

parsed = tf.io.parse_example(examples, {
    "float": tf.io.FixedLenFeature([], tf.float32),
    "int": tf.io.FixedLenFeature([], tf.int64),
    "text": tf.io.FixedLenFeature([], tf.string),
    "vector": tf.io.FixedLenFeature([2, 3], tf.float32),
    "pair": tf.io.FixedLenFeature([2], tf.int64),
    "sometimes": tf.io.FixedLenFeature([], tf.float32, default_value=-1.5),
    "numbers": tf.io.RaggedFeature(tf.float32),
    "ids": tf.io.RaggedFeature(tf.int64),
    "words": tf.io.RaggedFeature(tf.string),
})
want = {}
for name, value in parsed.items():
    if isinstance(value, tf.RaggedTensor):
        want[name + "/offsets"] = value.row_splits.numpy().astype(np.int32)
        value = value.values
    want[name] = value.numpy()
table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(words[1:3], np.array([0, 1], np.int64)), -1)
want["word_ids"] = table.lookup(parsed["words"].values).numpy()
exchange.save(os.path.join(out, "want"), want)
print(rows, "examples, tensorflow", tf.__version__)
