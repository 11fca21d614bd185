"""Records models of TensorFlow Decision Forests, and what they answer, for machines that do not have that package.

    python interop/python/forests.py internal/imported/session/testdata/forests.tar.bz2 [NAME...]

It needs tensorflow_decision_forests 1.8.1, which fits TensorFlow 2.15, in an environment of its own. The archive has NAME/1/, a SavedModel, and
NAME.json, as serve_models.py writes them. With names, those models alone are made again, and the others stay.
"""
import io
import json
import os
import sys
import tarfile
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import tensorflow_decision_forests as tfdf

from served import F, S, Served, answers

K, Task = tfdf.keras, tfdf.keras.Task
rng = np.random.default_rng(17)
ROWS = 400


def mixed(n, missing=True):
    """Features of all scalar kinds, some of them missing."""
    a, b = rng.normal(size=n).astype("float32"), rng.normal(2, 3, size=n).astype("float32")
    if missing:
        a[::7] = np.nan
        b[::11] = np.nan
    word = rng.choice(["red", "green", "blue", "black", "white", ""] if missing else ["red", "green", "blue", "black", "white"], n).astype(object)
    return {"a": a, "b": b, "n": rng.integers(-2, 9, n), "word": word}


def odd(x):
    """Values as no model has seen them in training: unknown words, infinities, ends."""
    x = {k: v[:24].copy() for k, v in x.items()}
    for k, v in x.items():
        if v.dtype == np.float32:
            v[:4] = [np.inf, -np.inf, 0, np.nan]
        elif v.dtype == object:
            v[:3] = ["", "not seen", "gré"]
        else:
            v[:3] = [-1, -7, 1000]
    return x


def score(x):
    a, b = np.nan_to_num(x["a"]), np.nan_to_num(x["b"])
    return a + 0.5 * b * (x["word"] == "red") - (x["n"] > 4) + 0.3 * rng.normal(size=len(a))


def fit(model, x, y, **more):
    ds = tf.data.Dataset.from_tensor_slices((x, y) if not more else (x, y, more["weights"])).batch(100)
    model.fit(ds, verbose=0)
    return model


def kept(model, x):
    """The model, with what to ask it: odd values, and values as in training."""
    model.runs = [("serving_default", odd(x)), ("serving_default", {k: v[30:51] for k, v in x.items()})]
    return model


def binary(make, labels=2, **more):
    x = mixed(ROWS)
    y = np.digitize(score(x), np.linspace(-1, 1, labels - 1) if labels > 2 else [0.3])
    return kept(fit(make(verbose=0, **more), x, y), x)


def regression(make, **more):
    x = mixed(ROWS)
    return kept(fit(make(task=Task.REGRESSION, verbose=0, **more), x, score(x).astype("float32")), x)


RF, GBT, CART = K.RandomForestModel, K.GradientBoostedTreesModel, K.CartModel


def rf_binary(): return binary(RF, num_trees=7)


def rf_averaged(): return binary(RF, num_trees=7, winner_take_all=False, max_depth=5)


def rf_classes(): return binary(RF, 4, num_trees=5, max_depth=5)


def rf_classes_averaged(): return binary(RF, 3, num_trees=5, winner_take_all=False, max_depth=4)


def rf_regression(): return regression(RF, num_trees=7, max_depth=5)


def cart_binary(): return binary(CART)


def cart_regression(): return regression(CART)


def gbt_binary(): return binary(GBT, num_trees=12, max_depth=4)


def gbt_classes(): return binary(GBT, 4, num_trees=5, max_depth=3)


def gbt_logits(): return binary(GBT, num_trees=6, max_depth=3, apply_link_function=False)


def gbt_logits_wide(): return binary(GBT, num_trees=2, max_depth=-1, growing_strategy="BEST_FIRST_GLOBAL", max_num_nodes=150, min_examples=1, apply_link_function=False, early_stopping="NONE")


def gbt_class_logits(): return binary(GBT, 3, num_trees=4, max_depth=3, apply_link_function=False)


def gbt_wide(): return binary(GBT, num_trees=3, max_depth=-1, growing_strategy="BEST_FIRST_GLOBAL", max_num_nodes=150, min_examples=1, early_stopping="NONE")


def gbt_wide_regression(): return regression(GBT, num_trees=1, max_depth=-1, growing_strategy="BEST_FIRST_GLOBAL", max_num_nodes=140, min_examples=1, early_stopping="NONE")


def gbt_focal(): return binary(GBT, num_trees=5, max_depth=3, loss="BINARY_FOCAL_LOSS")


def gbt_regression(): return regression(GBT, num_trees=12, max_depth=4)


def gbt_absolute(): return regression(GBT, num_trees=6, max_depth=3, loss="MEAN_AVERAGE_ERROR")


def gbt_poisson():
    x = mixed(ROWS)
    y = rng.poisson(np.exp(np.clip(score(x), -2, 2))).astype("float32")
    return kept(fit(GBT(task=Task.REGRESSION, loss="POISSON", num_trees=10, max_depth=4, verbose=0), x, y), x)


def rank(make, **more):
    x = mixed(ROWS)
    x["group"] = np.array(["q%d" % (i // 10) for i in range(ROWS)], object)
    y = np.clip(score(x) + 2, 0, 4).round().astype("float32")
    return kept(fit(make(task=Task.RANKING, ranking_group="group", num_trees=8, max_depth=4, verbose=0, **more), x, y), x)


def gbt_ranking(): return rank(GBT)


def gbt_ranking_cross_entropy(): return rank(GBT, loss="XE_NDCG_MART")


def gbt_oblique(): return binary(GBT, num_trees=6, max_depth=4, split_axis="SPARSE_OBLIQUE", sparse_oblique_num_projections_exponent=1.0)


def rf_oblique(): return binary(RF, num_trees=4, max_depth=4, split_axis="SPARSE_OBLIQUE", winner_take_all=False, missing_value_policy="LOCAL_IMPUTATION")


def gbt_local(): return binary(GBT, num_trees=6, max_depth=4, missing_value_policy="LOCAL_IMPUTATION")


def rf_local(): return binary(RF, num_trees=4, max_depth=5, missing_value_policy="RANDOM_LOCAL_IMPUTATION")


def rf_local_classes(): return binary(RF, 3, num_trees=4, max_depth=5, missing_value_policy="LOCAL_IMPUTATION", winner_take_all=False)


def rf_local_regression(): return regression(RF, num_trees=4, max_depth=5, missing_value_policy="LOCAL_IMPUTATION")


def gbt_local_regression(): return regression(GBT, num_trees=4, max_depth=5, missing_value_policy="LOCAL_IMPUTATION")


def gbt_local_poisson():
    x = mixed(ROWS)
    y = rng.poisson(np.exp(np.clip(score(x), -2, 2))).astype("float32")
    return kept(fit(GBT(task=Task.REGRESSION, loss="POISSON", num_trees=4, max_depth=4, verbose=0, missing_value_policy="LOCAL_IMPUTATION"), x, y), x)


def semantics(make, labels=2, **more):
    """Discretized numbers, and categories that are integers."""
    x = mixed(ROWS)
    y = np.digitize(score(x), np.linspace(0, 1.5, labels - 1) if labels > 2 else [0.5])
    U, T = K.FeatureUsage, K.FeatureSemantic
    uses = [U("a", T.DISCRETIZED_NUMERICAL), U("b", T.NUMERICAL), U("n", T.CATEGORICAL), U("word", T.CATEGORICAL)]
    return kept(fit(make(verbose=0, features=uses, **more), x, y), x)


def rf_semantics(): return semantics(RF, num_trees=5, max_depth=5)


def gbt_semantics(): return semantics(GBT, num_trees=8, max_depth=4)


def gbt_semantics_local(): return semantics(GBT, num_trees=8, max_depth=4, missing_value_policy="LOCAL_IMPUTATION")


def gbt_semantics_classes(): return semantics(GBT, 3, num_trees=4, max_depth=3)


def many_words(make, **more):
    """A category of more values than a word has bits."""
    x = mixed(ROWS)
    x["many"] = np.array(["w%d" % i for i in rng.integers(0, 60, ROWS)], object)
    y = (score(x) + np.array([int(w[1:]) % 5 - 2 for w in x["many"]]) > 0).astype(int)
    return kept(fit(make(verbose=0, features=[K.FeatureUsage("many", K.FeatureSemantic.CATEGORICAL, min_vocab_frequency=1)], **more), x, y), x)


def rf_many_words(): return many_words(RF, num_trees=4, max_depth=5)


def gbt_random_words(): return many_words(GBT, num_trees=5, max_depth=4, categorical_algorithm="RANDOM")


def sets(make, task=Task.CLASSIFICATION, **more):
    """A feature that is a set of words, beside others."""
    words = np.array(["sun", "rain", "wind", "snow", "fog", "hail"], object)
    lists = [list(rng.choice(words, rng.integers(0, 5), replace=False)) for _ in range(ROWS)]
    text = np.array([" ".join(v) for v in lists], object)
    a = rng.normal(size=ROWS).astype("float32")
    y = ((np.array(["sun" in v or "fog" in v for v in lists]) + a * 0.5) > 0.4).astype(int)
    split = lambda x: {"text": tf.strings.split(x["text"]), "a": x["a"]}
    ds = tf.data.Dataset.from_tensor_slices(({"text": text, "a": a}, y if task == Task.CLASSIFICATION else y.astype("float32"))).batch(100).map(lambda x, y: (split(x), y))
    model = make(task=task, verbose=0, features=[K.FeatureUsage("text", K.FeatureSemantic.CATEGORICAL_SET, min_vocab_frequency=1), K.FeatureUsage("a", K.FeatureSemantic.NUMERICAL)], **more)
    model.fit(ds, verbose=0)
    odd = np.array(["", "storm", "sun sun storm", "fog hail", "rain"], object)
    m = Served(serving_default=(lambda text, a: {"y": model(split({"text": text, "a": a}))}, {"text": ((None,), S), "a": ((None,), F)},
                                [[text[:20], a[:20]], [odd, np.array([np.nan, 0, 1, -1, 0], "float32")]]))
    m.model = model
    return m


def rf_sets(): return sets(RF, num_trees=4, max_depth=5)


def gbt_sets(): return sets(GBT, num_trees=6, max_depth=4)


def gbt_sets_local(): return sets(GBT, num_trees=4, max_depth=4, task=Task.REGRESSION, missing_value_policy="LOCAL_IMPUTATION", split_axis="SPARSE_OBLIQUE")


def uplift(task, make):
    x = mixed(ROWS)
    x["treated"] = rng.integers(0, 2, ROWS)
    s = score(x) + x["treated"] * (x["n"] > 3)
    m = RF(task=task, uplift_treatment="treated", num_trees=5, max_depth=5, verbose=0)
    return kept(fit(m, x, make(s)), x)


def uplift_classes(): return uplift(Task.CATEGORICAL_UPLIFT, lambda s: (s > 0.4).astype(int))


def uplift_numbers(): return uplift(Task.NUMERICAL_UPLIFT, lambda s: s.astype("float32"))


def leaves(make):
    """What predict_get_leaves answers, beside the predictions."""
    x = {k: v for k, v in mixed(ROWS).items() if k in ("a", "b")}
    model = make(num_trees=5, max_depth=4, verbose=0)
    fit(model, x, (np.nan_to_num(x["a"]) + np.nan_to_num(x["b"]) > 2).astype(int))
    model.predict_get_leaves(tf.data.Dataset.from_tensor_slices(odd(x)).batch(100))
    specs = {"a": ((None,), F), "b": ((None,), F)}
    m = Served(serving_default=(lambda a, b: {"y": model({"a": a, "b": b})}, specs, [list(odd(x).values())]),
               leaves=(lambda a, b: {"leaves": model.call_get_leaves({"a": a, "b": b})}, specs, [list(odd(x).values()), [v[30:40] for v in x.values()]]))
    m.model = model
    return m


def rf_leaves(): return leaves(RF)


def gbt_leaves(): return leaves(GBT)


def vectors():
    """Features that are vectors, and a network before the trees."""
    v = rng.normal(size=(ROWS, 3)).astype("float32")
    w = rng.normal(size=ROWS).astype("float32")
    y = (v[:, 0] + v[:, 1] * w > 0).astype(int)
    inputs = {"v": tf.keras.layers.Input((3,), name="v"), "w": tf.keras.layers.Input((1,), name="w")}
    before = tf.keras.Model(inputs, {"product": inputs["v"] * inputs["w"], "w": inputs["w"]})
    m = fit(GBT(preprocessing=before, num_trees=6, max_depth=4, verbose=0), {"v": v, "w": w[:, None]}, y)
    m.runs = [("serving_default", {"v": v[:12], "w": w[:12, None]})]
    return m


def several_tasks():
    """Two labels of one model."""
    x = mixed(ROWS, missing=False)
    s = score(x)
    ds = tf.data.Dataset.from_tensor_slices((x, {"bought": (s > 0).astype(int), "paid": s.astype("float32")})).batch(100)
    M = K.MultiTaskItem
    m = GBT(multitask=[M(label="bought", task=Task.CLASSIFICATION), M(label="paid", task=Task.REGRESSION)], num_trees=5, max_depth=3, verbose=0)
    m.fit(ds, verbose=0)
    return kept(m, x)


def kinds():
    return {k: f for k, f in globals().items() if callable(f) and getattr(f, "__module__", "") == "__main__" and not f.__code__.co_argcount and k not in ("main", "kinds")}


def record(where, name, make):
    """Writes a model and its answers. Names of files are those of the training's process: what answers do not depend on stays as it is."""
    model = make()
    path = os.path.join(where, name, "1")
    model.save(path)
    for extra in ("keras_metadata.pb", "fingerprint.pb"):
        if os.path.exists(os.path.join(path, extra)):
            os.remove(os.path.join(path, extra))
    with open(os.path.join(where, name + ".json"), "w") as f:
        json.dump(answers(path, model.runs), f)
    tf.keras.backend.clear_session()


def pack(where, archive):
    with tarfile.open(archive, "w:bz2") as tar:
        files = [(f, root) for root, _, files in os.walk(where) for f in files]
        for f, root in sorted(files):  # files that are much alike lie beside each other
            full = os.path.join(root, f)
            with open(full, "rb") as r:
                data = r.read()
            info = tarfile.TarInfo(os.path.relpath(full, where))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def main():
    archive, names = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as where:
        if names and os.path.exists(archive):
            with tarfile.open(archive) as tar:
                tar.extractall(where)
        for name, make in kinds().items():
            if names and name not in names:
                continue
            record(where, name, make)
            print(name, "ok", flush=True)
        pack(where, archive)
    print(os.path.getsize(archive), "bytes")


if __name__ == "__main__":
    main()
