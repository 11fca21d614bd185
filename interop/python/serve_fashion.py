"""serve_fashion.py ADDRESS IMAGES: prints the probabilities that a server's model fashion has for a list of images."""
import json
import sys

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

with open(sys.argv[2]) as f:
    images = np.array(json.load(f), np.float32)
stub = prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel(sys.argv[1]))
out = []
for rows in np.array_split(images, max(1, len(images) // 50)):
    r = predict_pb2.PredictRequest()
    r.model_spec.name, r.model_spec.signature_name = "fashion", "serving_default"
    r.inputs["image"].CopyFrom(tf.make_tensor_proto(rows))
    answer = stub.Predict(r, 60)
    p = tf.make_ndarray(answer.outputs["probabilities"])
    assert (tf.make_ndarray(answer.outputs["class_ids"])[:, 0] == p.argmax(1)).all(), answer
    assert [int(c) for c in tf.make_ndarray(answer.outputs["classes"])[:, 0]] == p.argmax(1).tolist(), answer
    out += p.astype(float).tolist()
print(json.dumps(out))
