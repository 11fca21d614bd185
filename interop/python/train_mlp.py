"""train_mlp.py RULE DATA MODEL_DIR WANT: trains an epoch of 20 steps, saves, gives the logits, trains another whose losses go to WANT."""
import os
import sys

import numpy as np
import tensorflow.compat.v1 as tf

import exchange
import mlp

tf.disable_eager_execution()
rule, data = sys.argv[1], exchange.load(sys.argv[2])
images, labels = tf.placeholder(tf.uint8, [None, 28, 28, 1]), tf.placeholder(tf.int64, [None])
logits = mlp.logits(images)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
step = tf.train.create_global_step()
optimizer = {"adam": tf.train.AdamOptimizer(0.01), "momentum": tf.train.MomentumOptimizer(0.01, 0.9)}[rule]
update = optimizer.minimize(loss, global_step=step)
with tf.Session() as session:

    def epoch():
        out = []
        for i in range(0, len(data["labels"]), 32):
            feed = {images: data["images"][i:i + 32], labels: data["labels"][i:i + 32]}
            out.append(session.run([loss, update], feed)[0])
        return np.array(out, np.float64)

    session.run(tf.global_variables_initializer())
    epoch()
    os.makedirs(sys.argv[3])
    tf.train.Saver().save(session, os.path.join(sys.argv[3], "model.ckpt"), global_step=step)
    want = {"logits": session.run(logits, {images: data["images"]})}
    want["losses"] = epoch()
exchange.save(sys.argv[4], want)
print("losses", want["losses"][0], "...", want["losses"][-1])
