"""columns_export.py DIR...: TensorFlow runs DIR/graph.pb on batches; every tensor must be as wanted, bit for bit."""
import json
import os
import sys

import tensorflow.compat.v1 as tf

import exchange

tf.disable_eager_execution()
bad, tensors, values = [], 0, 0


def check(folder):
    global tensors, values
    with open(os.path.join(folder, "manifest.json")) as f:
        manifest = json.load(f)
    with open(os.path.join(folder, "graph.pb"), "rb") as f:
        graph = tf.GraphDef.FromString(f.read())
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph, name="")
        for _ in range(2):
            session.run(manifest["init"], manifest["assets"])
        for batch in manifest["batches"]:
            feeds = exchange.load(os.path.join(folder, batch, "feeds"))
            want = exchange.load(os.path.join(folder, batch, "want"))
            for name, got in session.run({name: name for name in want}, feeds).items():
                tensors, values = tensors + 1, values + got.size
                compare(batch + " " + name, got, want[name])
        for batch, message in manifest["refused"].items():
            try:
                session.run(list(want), exchange.load(os.path.join(folder, batch, "feeds")))
                bad.append("%s: TensorFlow computes it, expected an error with %s" % (batch, message))
            except tf.errors.InvalidArgumentError as e:
                if message not in str(e):
                    bad.append("%s: expected an error with %s, got %s" % (batch, message, e))


def compare(name, got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        bad.append("%s: TensorFlow has %s%s, we %s%s" % (name, got.dtype, got.shape, want.dtype, want.shape))
    elif got.tobytes() != want.tobytes():
        at = [i for i, (a, b) in enumerate(zip(got.ravel(), want.ravel())) if a != b]
        bad.append("%s: %d of %d values differ, first %s\nTensorFlow %s\nours %s" % (
            name, len(at), got.size, at[:3], got.ravel()[at[:8]], want.ravel()[at[:8]]))


for folder in sys.argv[1:]:
    check(folder)
print("%d tensors of %d values, %d tensors differ" % (tensors, values, len(bad)))
if bad:
    print("\n".join(bad))
    sys.exit(1)
