"""Tensors in a folder: manifest.json and .npy files, as exchange_test.go has them."""
import base64
import json
import os

import numpy as np


def save(folder, tensors):
    os.makedirs(folder, exist_ok=True)
    entries = []
    for name, value in tensors.items():
        value = np.asarray(value)
        entry = {"name": name, "shape": list(value.shape)}
        if value.dtype.kind in "OSU":
            texts = [v if isinstance(v, bytes) else str(v).encode() for v in value.ravel().tolist()]
            entry["strings"] = [base64.b64encode(v).decode() for v in texts]
        else:
            entry["file"] = "%d.npy" % len(entries)
            flat = np.ascontiguousarray(value).reshape(value.shape)
            np.save(os.path.join(folder, entry["file"]), flat)
        entries.append(entry)
    with open(os.path.join(folder, "manifest.json"), "w") as f:
        json.dump(entries, f)


def load(folder):
    with open(os.path.join(folder, "manifest.json")) as f:
        entries = json.load(f)
    out = {}
    for e in entries:
        if "file" in e:
            out[e["name"]] = np.load(os.path.join(folder, e["file"]))
        else:
            texts = [base64.b64decode(v) for v in e.get("strings") or []]
            out[e["name"]] = np.array(texts, dtype=object).reshape(e["shape"])
    return out


def compare(what, peer, got, want, bad):
    """Appends to bad where a peer's result is not ours, to 1e-5 for floats; returns the difference."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind in "OS":
        text = lambda x: [v if isinstance(v, bytes) else str(v).encode() for v in x.ravel().tolist()]
        difference = float(got.shape != want.shape or text(got) != text(want))
    elif got.shape != want.shape or got.dtype != want.dtype:
        bad.append("%s: %s has %s%s, we %s%s" % (what, peer, got.dtype, got.shape, want.dtype, want.shape))
        return 0.0
    elif got.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            apart = np.where(got == want, 0, np.abs(got - want) / np.maximum(1, np.where(np.isfinite(want), np.abs(want), 1)))
        difference = float(np.max(apart, initial=0))
    else:
        difference = float(not np.array_equal(got, want))
    if not difference <= 1e-5:
        bad.append("%s: differs by %g\n%s %s\nours %s" % (what, difference, peer, got.ravel()[:8], want.ravel()[:8]))
    return difference
