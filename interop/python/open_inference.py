"""Asks a server for half_plus_two by Triton's clients, over both ports: open_inference.py REST GRPC."""

import sys

import numpy as np
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http


def check(m, address):
    client = m.InferenceServerClient(address)
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("m") and client.is_model_ready("m", "1") and not client.is_model_ready("none")
    metadata = client.get_model_metadata("m")
    first = metadata["inputs"][0]["name"] if m is over_http else metadata.inputs[0].name
    assert first == "x", metadata
    for binary in (True, False) if m is over_http else (True,):
        extra = {"binary_data": binary} if m is over_http else {}
        x = m.InferInput("x", [3, 1], "FP32")
        x.set_data_from_numpy(np.array([[1], [2], [5]], np.float32), **extra)
        answer = client.infer("m", [x], outputs=[m.InferRequestedOutput("y", **extra)], request_id="7")
        assert answer.as_numpy("y").tolist() == [[2.5], [3.0], [4.5]], answer.get_response()
        assert client.infer("m", [x]).as_numpy("y").shape == (3, 1)
    if m is over_http:
        packed = client.infer("m", [x], request_compression_algorithm="gzip", response_compression_algorithm="gzip")
        assert packed.as_numpy("y").tolist() == [[2.5], [3.0], [4.5]]
    wrong = m.InferInput("x", [1, 1], "INT32")
    wrong.set_data_from_numpy(np.array([[1]], np.int32))
    for model in ("m", "none"):
        try:
            client.infer(model, [wrong])
        except over_http.InferenceServerException as e:
            print(e)
        else:
            raise AssertionError("answered")
    client.unload_model("m")
    assert not client.is_model_ready("m")
    client.load_model("m")
    assert client.is_model_ready("m")


check(over_http, sys.argv[1])
check(over_grpc, sys.argv[2])
print("done")
