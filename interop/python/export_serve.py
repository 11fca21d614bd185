"""export_serve.py CASES: TensorFlow loads exported models and serves them.

CASES lists {name, model, feeds, want}: every signature of the model, run on the
feeds by both of TensorFlow's loaders, must give what want has.
"""
import json
import sys

import numpy as np
import tensorflow as tf

import exchange

# What a signature's outputs are among the predictions.
SAME = {"scores": ["probabilities"], "outputs": ["logistic", "predictions"]}


def fitted(value, info):
    """A raw feature, which may lack the dimension of its one value."""
    rank = len(info.tensor_shape.dim)
    return value.reshape([len(value), -1]) if rank == 2 and value.ndim == 1 else value


def check(case, bad):
    feeds, want = exchange.load(case["feeds"]), exchange.load(case["want"])
    values, worst = 0, 0.0
    results = {}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.loader.load(session, ["serve"], case["model"])
        for key, sig in meta.signature_def.items():
            fed = {info.name: fitted(feeds[name], info) for name, info in sig.inputs.items()}
            results[key] = session.run({name: info.name for name, info in sig.outputs.items()}, fed)
            for name, info in sig.outputs.items():
                dims = [d.size for d in info.tensor_shape.dim]
                shape = results[key][name].shape
                if len(dims) != len(shape) or any(d not in (-1, s) for d, s in zip(dims, shape)):
                    bad.append("%s: %s of %s has shape %s, the signature says %s" % (case["name"], name, key, shape, dims))
                if name == "classes" and sig.method_name.endswith("classify"):
                    names = ["all_classes", "classes"]
                elif name == "output":
                    names = [key, "cluster_index"]
                else:
                    names = [name] + SAME.get(name, [])
                target = next(want[n] for n in names if n in want)
                worst = max(worst, exchange.compare("%s/%s/%s" % (case["name"], key, name), "TensorFlow", results[key][name], target, bad))
                values += 1
    loaded = tf.saved_model.load(case["model"])
    for key, run in loaded.signatures.items():
        sig = meta.signature_def[key]
        out = run(**{name: tf.constant(fitted(feeds[name], info)) for name, info in sig.inputs.items()})
        for name, value in out.items():
            exchange.compare("%s/%s/%s, second loader" % (case["name"], key, name), "TensorFlow", value.numpy(), np.asarray(results[key][name]), bad)
    return values, worst


def main():
    with open(sys.argv[1]) as f:
        cases = json.load(f)
    bad, values, worst = [], 0, 0.0
    for case in cases:
        try:
            n, d = check(case, bad)
            values, worst = values + n, max(worst, d)
        except Exception as e:  # the other cases tell more
            bad.append("%s: %s: %s" % (case["name"], type(e).__name__, str(e)[:1500]))
    print("%d models, %d outputs, largest difference of floats %g, %d differ" % (len(cases), values, worst, len(bad)))
    if bad:
        print("\n".join(bad))
        sys.exit(1)


main()
