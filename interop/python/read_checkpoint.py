"""read_checkpoint.py MODEL_DIR WANT: TensorFlow reads the newest checkpoint of MODEL_DIR; its values must be WANT's bits."""
import sys

import tensorflow as tf

import exchange

model_dir, want = sys.argv[1], exchange.load(sys.argv[2])
prefix = tf.train.latest_checkpoint(model_dir)
reader = tf.train.load_checkpoint(model_dir)
listed = dict(tf.train.list_variables(prefix))
assert sorted(listed) == sorted(want), set(listed) ^ set(want)
for name, value in want.items():
    got = reader.get_tensor(name)
    assert listed[name] == list(value.shape), (name, listed[name], value.shape)
    if value.dtype == object:
        got = got if isinstance(got, bytes) else got.tolist()
        assert got == value.tolist(), name
    else:
        assert got.dtype == value.dtype and got.tobytes() == value.tobytes(), name
slots = [n for n in listed if n.startswith("dense/kernel/")]
assert slots, "no slot of dense/kernel"
print(prefix.rsplit("/", 1)[1], len(listed), "tensors equal, slots", sorted(slots), "step", reader.get_tensor("global_step"))
