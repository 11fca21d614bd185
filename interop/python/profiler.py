"""Captures a server's work by TensorFlow's own client and prints what the profile has, as JSON: address, logdir, milliseconds."""
import glob
import json
import os
import sys

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

address, logdir, millis = sys.argv[1], sys.argv[2], int(sys.argv[3])
tf.profiler.experimental.client.trace("grpc://" + address, logdir, millis)
text = tf.profiler.experimental.client.monitor("grpc://" + address, 200, level=2)

files = glob.glob(os.path.join(logdir, "plugins", "profile", "*", "*.xplane.pb"))
lines, overlaps = {}, 0
for file in files:
    space = xplane_pb2.XSpace()
    with open(file, "rb") as f:
        space.ParseFromString(f.read())
    for plane in space.planes:
        for line in plane.lines:
            names, stack = set(), []
            for e in line.events:
                names.add(plane.event_metadata[e.metadata_id].name)
                begin, end = e.offset_ps, e.offset_ps + e.duration_ps
                while stack and stack[-1] <= begin:
                    stack.pop()
                if stack and end > stack[-1]:
                    overlaps += 1
                stack.append(end)
            lines.setdefault(plane.name, {})[line.name] = sorted(names)
print(json.dumps({"files": [os.path.basename(f) for f in files], "lines": lines, "overlaps": overlaps, "monitor": text}))
