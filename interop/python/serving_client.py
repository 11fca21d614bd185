"""Calls a model server through the generated client of tensorflow-serving-api, as users do."""
import sys

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf import text_format, wrappers_pb2
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import (classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2,
                                     model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc, regression_pb2)

TIMEOUT = 60
channel = grpc.insecure_channel(sys.argv[1], options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
predictions = prediction_service_pb2_grpc.PredictionServiceStub(channel)
models = model_service_pb2_grpc.ModelServiceStub(channel)


def predict(signature, **inputs):
    r = predict_pb2.PredictRequest()
    r.model_spec.name, r.model_spec.signature_name = "m", signature
    for name, value in inputs.items():
        r.inputs[name].CopyFrom(value if isinstance(value, tensor_pb2.TensorProto) else tf.make_tensor_proto(value))
    return predictions.Predict(r, TIMEOUT)


def expect(code, text, call):
    try:
        call()
    except grpc.RpcError as e:
        assert e.code() == code and e.details() == text, (e.code(), e.details())
        return
    raise AssertionError("no error: " + text)


def same(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape and (got == want).all(), (got, want)


# Tensors of every type, as make_tensor_proto writes and make_ndarray reads them.
for name in ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bool", "complex64"]:
    for shape in [(), (1,), (3,), (2, 3), (0, 4)]:
        x = np.arange(int(np.prod(shape))).reshape(shape).astype(name)
        same(tf.make_ndarray(predict(name, x=x).outputs["x"]), x)
x = tf.constant([1.5, -2.25], tf.bfloat16)
same(tf.make_ndarray(predict("bfloat16", x=tf.make_tensor_proto(x)).outputs["x"]), x.numpy())
words = np.array([[b"a", b"\xff\x00"], [b"", b"long" * 1000]], dtype=object)
same(tf.make_ndarray(predict("string", x=words).outputs["x"]), words)
big = np.random.default_rng(1).standard_normal((1 << 20, 3)).astype(np.float32)  # 12 MiB
same(tf.make_ndarray(predict("float32", x=big).outputs["x"]), big)
full = np.full((2, 5), 3.0, np.float32)  # written as one value
same(tf.make_ndarray(predict("float32", x=full).outputs["x"]), full)

r = predict("", x=np.array([1, 2, 5], np.float32))
assert list(tf.make_ndarray(r.outputs["y"])) == [2.5, 3, 4.5], r
assert r.model_spec.name == "m" and r.model_spec.version.value == 2 and r.model_spec.signature_name == "serving_default", r

# Examples.
example = tf.train.Example(features=tf.train.Features(feature={"a": tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))}))
size = float(example.ByteSize())
r = classification_pb2.ClassificationRequest()
r.model_spec.name, r.model_spec.signature_name = "m", "classify"
r.input.example_list.examples.extend([example, tf.train.Example()])
c = predictions.Classify(r, TIMEOUT).result.classifications
assert [[(k.label, k.score) for k in row.classes] for row in c] == [[("long", size), ("short", 0.5)], [("long", 0), ("short", 0.5)]], c
r = regression_pb2.RegressionRequest()
r.model_spec.name, r.model_spec.signature_name = "m", "regress"
r.input.example_list_with_context.examples.extend([example])
r.input.example_list_with_context.context.CopyFrom(example)
assert [v.value for v in predictions.Regress(r, TIMEOUT).result.regressions] == [2 * size]
r = inference_pb2.MultiInferenceRequest()
for signature, kind in [("only_scores", "classify"), ("regress", "regress")]:
    t = r.tasks.add(method_name="tensorflow/serving/" + kind)
    t.model_spec.name, t.model_spec.signature_name = "m", signature
r.input.example_list.examples.extend([example])
m = predictions.MultiInference(r, TIMEOUT).results
assert m[0].classification_result.classifications[0].classes[0].score == size and m[1].regression_result.regressions[0].value == size, m

# Metadata, status, errors.
r = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
r.model_spec.name = "m"
signatures = get_model_metadata_pb2.SignatureDefMap()
assert predictions.GetModelMetadata(r, TIMEOUT).metadata["signature_def"].Unpack(signatures)
s = signatures.signature_def["serving_default"]
assert isinstance(s, meta_graph_pb2.SignatureDef) and s.inputs["x"].name == "x:0" and s.inputs["x"].dtype == tf.float32.as_datatype_enum, s
r = get_model_status_pb2.GetModelStatusRequest()
r.model_spec.name = "m"
versions = models.GetModelStatus(r, TIMEOUT).model_version_status
assert [(v.version, v.state, v.status.error_code) for v in versions] == [(2, 30, 0), (1, 30, 0)], versions
r.model_spec.version.CopyFrom(wrappers_pb2.Int64Value(value=9))
expect(grpc.StatusCode.NOT_FOUND, "Could not find version 9 of model m", lambda: models.GetModelStatus(r, TIMEOUT))
expect(grpc.StatusCode.INVALID_ARGUMENT, "Missing ModelSpec", lambda: predictions.Predict(predict_pb2.PredictRequest(), TIMEOUT))
expect(grpc.StatusCode.FAILED_PRECONDITION, 'Serving signature key "nothing" not found.', lambda: predict("nothing"))
expect(grpc.StatusCode.INVALID_ARGUMENT, "Expects arg[0] to be float but double is provided", lambda: predict("", x=np.array([1.0])))
r = regression_pb2.RegressionRequest()
r.model_spec.name, r.model_spec.signature_name = "m", "only_scores"
text = text_format.MessageToString(signatures.signature_def["only_scores"])
expect(grpc.StatusCode.INVALID_ARGUMENT, "No regression outputs found in SignatureDef: " + text, lambda: predictions.Regress(r, TIMEOUT))
print("all calls answered")
