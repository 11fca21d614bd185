"""restore_mlp.py MODEL_DIR GIVEN: a Saver restores MODEL_DIR into TensorFlow's own mlp, whose logits must be GIVEN's."""
import sys

import numpy as np
import tensorflow.compat.v1 as tf

import exchange
import mlp

tf.disable_eager_execution()
given = exchange.load(sys.argv[2])
images = tf.placeholder(tf.uint8, [None, 28, 28, 1])
logits = mlp.logits(images)
with tf.Session() as session:
    tf.train.Saver().restore(session, tf.train.latest_checkpoint(sys.argv[1]))
    got = session.run(logits, {images: given["images"]})
difference = np.abs(got - given["logits"]).max()
assert difference <= 1e-5 * max(1, np.abs(got).max()), difference
print("largest difference of %d logits: %g, largest logit %g" % (got.size, difference, np.abs(got).max()))
