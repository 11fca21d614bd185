"""read_events.py LOGDIR WANT: TensorBoard's EventAccumulator reads the events of LOGDIR; they must be WANT's.

WANT holds per step i: loss/i, histogram/i (the tensor; TensorFlow makes its own histogram of it), image/i (pixels).
"""
import sys

import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import exchange

logdir, want = sys.argv[1], exchange.load(sys.argv[2])
everything = {k: 0 for k in ["scalars", "histograms", "images", "tensors", "graph"]}
events = EventAccumulator(logdir, size_guidance=everything)
events.Reload()
tags = events.Tags()
steps = want["steps"].tolist()

losses = events.Scalars("loss")
assert [e.step for e in losses] == steps
for e in losses:
    assert np.float32(e.value) == np.float32(want["loss/%d" % e.step]), e
assert {"loss", "learning_rate", "mean_logit"} <= set(tags["scalars"]), tags

for e in events.Histograms("logits"):
    own = tf.compat.v1.Summary.FromString(tf.raw_ops.HistogramSummary(tag="h", values=want["histogram/%d" % e.step]).numpy())
    a, b = e.histogram_value, own.value[0].histo
    assert (a.min, a.max, a.num) == (b.min, b.max, b.num), (a, b)
    np.testing.assert_allclose([a.sum, a.sum_squares], [b.sum, b.sum_squares], rtol=1e-12)
    assert list(a.bucket_limit) == list(b.bucket_limit) and list(a.bucket) == list(b.bucket)
assert len(events.Histograms("logits")) == len(steps)

for e in events.Images("input/image"):
    pixels = tf.io.decode_png(e.encoded_image_string).numpy()
    assert (e.width, e.height) == (28, 28)
    np.testing.assert_array_equal(pixels, want["image/%d" % e.step])
assert len(events.Images("input/image")) == len(steps)

text = events.Tensors("note/text_summary") if "note/text_summary" in tags["tensors"] else events.Tensors("note")
assert tf.make_ndarray(text[0].tensor_proto).tolist() == b"trained by *Go*", text
nodes = {n.name: n.op for n in events.Graph().node}
assert nodes.get("dense/MatMul") == "MatMul", sorted(nodes)
with tf.Graph().as_default():
    tf.import_graph_def(tf.compat.v1.GraphDef.FromString(events.Graph().SerializeToString()), name="")  # TensorFlow checks ops, types and shapes
written = [e for f in tf.io.gfile.glob(logdir + "/events*") for e in tf.compat.v1.train.summary_iterator(f)]
assert written[0].file_version == "brain.Event:2"
print(len(written), "events:", {k: v for k, v in tags.items() if v}, len(nodes), "nodes of the graph")
