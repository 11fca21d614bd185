"""serve_adult.py ADDRESS MODEL ROWS WANT: rows of Adult as tf.Examples, classified by a server, by TensorFlow and by us.

WANT holds a prediction for each row of the CSV file. The server and TensorFlow are also asked about rows without
the features whose value is "?", which are missing then.
"""
import csv
import json
import sys

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, predict_pb2, prediction_service_pb2_grpc, regression_pb2

COLUMNS = ["age", "workclass", None, "education", "education_num", "marital_status", "occupation", "relationship", "race", "sex",
           "capital_gain", "capital_loss", "hours_per_week", "native_country"]
NUMBERS = {"age", "education_num", "capital_gain", "capital_loss", "hours_per_week"}
BATCH = 250


def example(cells, leave_out):
    feature = {}
    for name, cell in zip(COLUMNS, cells):
        if name in NUMBERS:
            feature[name] = tf.train.Feature(float_list=tf.train.FloatList(value=[float(cell)]))
        elif name and not (leave_out and cell == "?"):
            feature[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[cell.encode()]))
    return tf.train.Example(features=tf.train.Features(feature=feature))


def far(what, got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, (what, got.shape, want.shape)
    worst = float(np.max(np.abs(got - want)))
    assert worst <= 1e-5, "%s: differs by %g" % (what, worst)
    return worst


address, model, rows_file, want_file = sys.argv[1:]
with open(rows_file) as f:
    rows = list(csv.reader(f, skipinitialspace=True))
with open(want_file) as f:
    want = json.load(f)
assert len(rows) == len(want) >= 500, (len(rows), len(want))
stub = prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel(address))
session = tf.compat.v1.Session(graph=tf.Graph())
with session.graph.as_default():
    signatures = tf.compat.v1.saved_model.loader.load(session, ["serve"], model).signature_def
classify, regress = signatures["classification"], signatures["regression"]
assert classify.method_name == "tensorflow/serving/classify" and signatures["serving_default"].method_name == classify.method_name
worst = {"TensorFlow": 0.0, "predict": 0.0, "TensorFlow, missing values left out": 0.0}
missing = sum("?" in row for row in rows)
moved = 0.0
for at in range(0, len(rows), BATCH):
    for leave_out in (False, True):
        examples = [example(r, leave_out) for r in rows[at:at + BATCH]]
        request = classification_pb2.ClassificationRequest()
        request.model_spec.name = "adult"
        request.input.example_list.examples.extend(examples)
        served = stub.Classify(request, 60).result.classifications
        scores = [[c.score for c in row.classes] for row in served]
        assert all([c.label for c in row.classes] == ["<=50K", ">50K"] for row in served), served[0]
        fed = [e.SerializeToString() for e in examples]
        peer = session.run({k: v.name for k, v in classify.outputs.items()}, {classify.inputs["inputs"].name: fed})
        assert (peer["classes"] == [b"<=50K", b">50K"]).all(), peer["classes"][0]
        key = "TensorFlow, missing values left out" if leave_out else "TensorFlow"
        worst[key] = max(worst[key], far(key, scores, peer["scores"]))
        if leave_out:
            moved = max(moved, float(np.max(np.abs(np.asarray(scores) - whole))))
            continue
        whole = np.asarray(scores)
        ours = want[at:at + BATCH]
        worst["predict"] = max(worst["predict"], far("predict", scores, [p["probabilities"] for p in ours]))
        request = regression_pb2.RegressionRequest()
        request.model_spec.name, request.model_spec.signature_name = "adult", "regression"
        request.input.example_list.examples.extend(examples)
        values = [[v.value] for v in stub.Regress(request, 60).result.regressions]
        far("regression, TensorFlow", values, session.run(regress.outputs["outputs"].name, {regress.inputs["inputs"].name: fed}))
        far("regression, predict", values, [p["logistic"] for p in ours])
        request = predict_pb2.PredictRequest()
        request.model_spec.name, request.model_spec.signature_name = "adult", "predict"
        request.inputs["examples"].CopyFrom(tf.make_tensor_proto(fed, dtype=tf.string))
        answer = stub.Predict(request, 60).outputs
        far("Predict of examples", tf.make_ndarray(answer["probabilities"]), scores)
        assert [c[0].decode() for c in tf.make_ndarray(answer["classes"])] == [p["classes"][0] for p in ours]
assert moved > 1e-3, "leaving features out changes nothing"
print("%d rows, %d with missing values; largest differences: %s" % (len(rows), missing, ", ".join("%s %.3g" % kv for kv in worst.items())))
