"""What TensorFlow's loader answers for a model that writes texts: MODEL REQUESTS, a list of inputs by name; prints a list of texts."""
import json
import sys

import tensorflow as tf

model = tf.saved_model.load(sys.argv[1])
write = model.signatures["generate"]
with open(sys.argv[2]) as f:
    asked = json.load(f)
out = []
for q in asked:
    feeds = {k: tf.constant(v, dtype=write.structured_input_signature[1][k].dtype) for k, v in q.items()}
    try:
        out.append([t.decode("latin1") for t in write(**feeds)["text"].numpy()])
    except tf.errors.InvalidArgumentError as e:
        out.append(["error", "expected 0.." in str(e)])
print(json.dumps(out))
