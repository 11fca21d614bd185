"""export_modes.py MODEL FEEDS WANT: the graphs of evaluation and training, and saved_model_cli."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import fingerprint_pb2
from tensorflow.python.saved_model.pywrap_saved_model import fingerprinting

import exchange

model, feeds, want = sys.argv[1], exchange.load(sys.argv[2]), exchange.load(sys.argv[3])

fingerprint = fingerprint_pb2.FingerprintDef.FromString(open(os.path.join(model, "fingerprint.pb"), "rb").read())
theirs = fingerprint_pb2.FingerprintDef.FromString(fingerprinting.CreateFingerprintDef(model))
assert fingerprint == theirs, "fingerprint %s, TensorFlow's %s" % (fingerprint, theirs)


def close(what, got, want):
    difference = float(np.max(np.abs(np.asarray(got, np.float64) - want)))
    if not difference <= 1e-5:
        sys.exit("%s: differs by %g: TensorFlow %s, ours %s" % (what, difference, got, want))


def run(tag):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.loader.load(session, [tag], model)
        sig = meta.signature_def[tag]
        out = session.run({k: v.name for k, v in sig.outputs.items()}, {v.name: feeds[k] for k, v in sig.inputs.items()})
        step = session.run(tf.compat.v1.train.get_global_step())
        # What was restored can be saved again and restored.
        saver = tf.compat.v1.train.Saver()
        with tempfile.TemporaryDirectory() as tmp:
            saver.restore(session, saver.save(session, os.path.join(tmp, "again")))
        session.run(tf.compat.v1.global_variables_initializer())
        return sig.method_name, out, step


method, out, step = run("eval")
assert method == "tensorflow/supervised/eval", method
label = feeds["label_number"].reshape([-1, 1])
close("eval loss", out["loss"], np.mean((want["y"] - label) ** 2))
close("eval predictions", out["predictions/y"], want["y"])
method, out, _ = run("train")
assert method == "tensorflow/supervised/training", method
assert np.isfinite(out["loss"]), out


def cli(*args):
    tool = os.path.join(os.path.dirname(sys.executable), "saved_model_cli")
    done = subprocess.run([sys.executable, tool, *args], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit("saved_model_cli %s: %s" % (" ".join(args), done.stderr[-2000:]))
    return done.stdout


shown = cli("show", "--dir", model, "--all")
for part in ("tag-set: 'serve'", "signature_def['serving_default']", "Method name is: tensorflow/serving/predict"):
    assert part in shown, "saved_model_cli show lacks %s:\n%s" % (part, shown)
with tempfile.TemporaryDirectory() as tmp:
    np.save(os.path.join(tmp, "pair.npy"), feeds["pair"])
    cli("run", "--dir", model, "--tag_set", "serve", "--signature_def", "serving_default", "--inputs", "pair=" + os.path.join(tmp, "pair.npy"), "--outdir", tmp)
    close("saved_model_cli run", np.load(os.path.join(tmp, "y.npy")), want["y"])
print("eval, train and saved_model_cli agree, global_step %d" % step)
