"""serving.py DIR: TensorFlow behind a gRPC server in Python, Predict and Classify of tensorflow-serving-api.

Serves DIR/models/NAME/VERSION at a free port, prints it, and ends with its input.
"""
import json
import os
import sys
from concurrent import futures

THREADS = int(os.environ.get("SERVING_THREADS", "4"))

import grpc
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, predict_pb2, prediction_service_pb2_grpc as service

v1 = tf.compat.v1
folder = os.path.join(sys.argv[1], "models")


class Model:
    """A SavedModel in a V1 session, as TensorFlow Serving runs it.

    The signatures of tf.saved_model.load take up to twenty times as long for these models.
    """

    def __init__(self, name):
        self.version = max(map(int, os.listdir(os.path.join(folder, name))))
        with tf.Graph().as_default():
            # The server has one core.
            session = v1.Session(config=v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1))
            graph = v1.saved_model.load(session, ["serve"], os.path.join(folder, name, str(self.version)))
            signature = graph.signature_def["serving_default"]
            self.names, outputs = zip(*sorted(signature.outputs.items()))
            self.inputs, inputs = zip(*sorted(signature.inputs.items()))
            self.call = session.make_callable([o.name for o in outputs], [i.name for i in inputs])

    def run(self, inputs):
        return zip(self.names, self.call(*[inputs[name] for name in self.inputs]))


models = {name: Model(name) for name in os.listdir(folder)}


class Servicer(service.PredictionServiceServicer):
    def Predict(self, request, context):
        m = models[request.model_spec.name]
        out = m.run({k: tf.make_ndarray(v) for k, v in request.inputs.items()})
        response = predict_pb2.PredictResponse()
        response.model_spec.name, response.model_spec.version.value = request.model_spec.name, m.version
        for k, v in out:
            response.outputs[k].CopyFrom(tf.make_tensor_proto(v))
        return response

    def Classify(self, request, context):
        m = models[request.model_spec.name]
        rows = [e.SerializeToString() for e in request.input.example_list.examples]
        out = dict(m.run({m.inputs[0]: rows}))
        response = classification_pb2.ClassificationResponse()
        response.model_spec.name, response.model_spec.version.value = request.model_spec.name, m.version
        for labels, scores in zip(out["classes"], out["scores"].tolist()):
            row = response.result.classifications.add()
            for label, score in zip(labels, scores):
                row.classes.add(label=label, score=score)
        return response


server = grpc.server(futures.ThreadPoolExecutor(max_workers=THREADS), options=[("grpc.max_receive_message_length", -1)])
service.add_PredictionServiceServicer_to_server(Servicer(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
sys.stdout.write("\n" + json.dumps({"grpc": "127.0.0.1:%d" % port, "version": tf.__version__}) + "\n")
sys.stdout.flush()
sys.stdin.read()
server.stop(0)
os._exit(0)
