"""Runs the GraphDefs that the contract test wrote in TensorFlow and compares.

Reads cases.json in the folder given; prints one line per case that differs.
"""
import json, sys
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
folder = sys.argv[1]
bad = 0
for case in json.load(open(folder + "/cases.json")):
    try:
        definition = tf1.GraphDef()
        definition.ParseFromString(open(folder + "/" + case["graph"], "rb").read())
        with tf.Graph().as_default(), tf1.Session() as session:
            tf1.import_graph_def(definition, name="")
            feeds = {f["name"] + ":0": np.array(f["data"], f["dtype"]).reshape(f["shape"]) for f in case["feeds"]}
            got = session.run(case["fetches"], feeds)
        for name, g, w in zip(case["fetches"], got, case["expected"]):
            want = np.array(w["data"], np.float64).reshape(w["shape"])
            np.testing.assert_allclose(np.asarray(g, np.float64), want, rtol=2e-4, atol=2e-5, err_msg=name)
    except Exception as e:
        bad += 1
        print("FAIL", case["name"], type(e).__name__, " ".join(str(e).split())[:600])
print("done", bad)
