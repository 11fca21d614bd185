"""write_checkpoint.py MODEL_DIR WANT: TensorFlow saves variables of many types, partitioned ones and strings; their values go to WANT."""
import os
import sys

import numpy as np
import tensorflow.compat.v1 as tf

import exchange

tf.disable_eager_execution()
random = np.random.RandomState(3)
want = {
    "table": random.randn(7, 5).astype(np.float32),
    "columns": random.randn(4, 9),
    "scalar": np.float32(0.25),
    "empty": np.zeros([0, 3], np.float32),
    "words": np.array([b"alpha", b"", b"b" * 300, "gr\u00fc\u00df".encode(), b"\x00\xff"], dtype=object),
    "flags": np.array([True, False, True]),
}
for kind in ["int8", "int16", "int32", "int64", "uint8", "uint16", "float64"]:
    want["types/" + kind] = random.randint(0, 100, [2, 3]).astype(kind)
parts = {"table": tf.fixed_size_partitioner(3), "columns": tf.fixed_size_partitioner(2, axis=1)}
for name, value in want.items():
    dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)

    def init(shape, dtype=None, partition_info=None, value=value):
        if partition_info is None:
            return tf.constant(value, dtype)
        begin = partition_info.var_offset
        return tf.constant(value[tuple(slice(b, b + int(n)) for b, n in zip(begin, shape))], dtype)

    tf.get_variable(name, value.shape, dtype, initializer=init, partitioner=parts.get(name), use_resource=name != "words")
step = tf.train.create_global_step()
want["global_step"] = np.int64(17)
os.makedirs(sys.argv[1])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(step.assign(17))
    tf.train.Saver(sharded=True).save(session, os.path.join(sys.argv[1], "model.ckpt"), global_step=step)
exchange.save(sys.argv[2], want)
print(len(want), "tensors written")
