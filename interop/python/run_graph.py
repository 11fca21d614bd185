"""run_graph.py DIR: TensorFlow runs DIR/graph.pb on DIR/feeds; every tensor of DIR/want must agree."""
import os
import sys

import numpy as np
import tensorflow.compat.v1 as tf

import exchange

tf.disable_eager_execution()
graph_def = tf.GraphDef.FromString(open(os.path.join(sys.argv[1], "graph.pb"), "rb").read())
feeds = exchange.load(os.path.join(sys.argv[1], "feeds"))
want = exchange.load(os.path.join(sys.argv[1], "want"))
tf.import_graph_def(graph_def, name="")
bad, worst = [], 0.0
with tf.Session() as session:
    for name, value in want.items():
        got = session.run(name, feeds)
        if got.dtype != value.dtype or got.shape != value.shape:
            bad.append("%s: TensorFlow has %s%s, we %s%s" % (name, got.dtype, got.shape, value.dtype, value.shape))
            continue
        uniform = name.startswith("StatelessRandomUniform")
        if got.dtype.kind != "f" or uniform:
            difference, allowed = float(got.tobytes() != value.tobytes()), 0
        else:
            difference = float(np.abs(got.astype(np.float64) - value).max()) / max(1, float(np.abs(got).max()))
            allowed = 1e-5
            worst = max(worst, difference)
        if not difference <= allowed:
            bad.append("%s: differs by %g\nTensorFlow %s\nours %s" % (name, difference, got.ravel()[:8], value.ravel()[:8]))
print("%d outputs, largest difference of floats %g, %d differ" % (len(want), worst, len(bad)))
if bad:
    print("\n".join(bad))
    sys.exit(1)
